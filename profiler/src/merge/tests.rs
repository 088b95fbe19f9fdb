//! Sums of recordings against arithmetic: recordings of programs as other processes would have
//! written them, and recordings that are made up here.

use super::*;
use crate::diff::{Diff, DiffOptions, Identity, Recording as Named, write_markdown};
use crate::profile::{FIGURES, Figures, Frames, Measure, Profile, State};
use crate::report::{self, ReportOptions};
use crate::table::{By, rows};
use crate::{OpenOptions, open};
use tempfile::TempDir;
use tracking_alloc_recording::{
    CHECKSUM_OFFSET, EncodedStrings, FrameValue, Header, ModuleValue, Recording, RowValue, Sampled,
    SamplesValue, ScopeValue, SiteValue, SizesValue, StackValue, arch, file_checksum, lane_kind,
    mode, module_id, scope_kind, unwinder,
};

/// A folder with recordings.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }

    fn profile(&self, bytes: &[u8]) -> Profile {
        opened(&self.write("sum.hg", bytes))
    }
}

fn opened(path: &Path) -> Profile {
    open(path, &OpenOptions::default(), &|_| ()).expect("a recording")
}

fn merged(paths: &[&Path]) -> Result<MergedRecording, Error> {
    let mut merge = Merge::new();
    for path in paths {
        merge.add(path)?;
    }
    merge.finish()
}

fn refused(paths: &[&Path]) -> String {
    merged(paths).expect_err("refused").to_string()
}

/// Changes the header of a recording, as another process would have written it.
fn with_header(bytes: &[u8], change: impl FnOnce(&mut HeaderValue)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut header = HeaderValue::parse(&bytes);
    change(&mut header);
    header.checksum = 0;
    header.write(&mut bytes[..HeaderValue::SIZE]);
    let checksum = file_checksum(bytes.as_slice(), header.file_bytes).expect("bytes in memory");
    bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn real(name: &str) -> Vec<u8> {
    let file = heapglass_fixture::recording(name);
    std::fs::read(file.as_ref()).expect("a recording")
}

/// The figures of all rows by what they say.
fn figures_by(profiles: &[&Profile], by: By) -> BTreeMap<[String; 3], Figures> {
    let mut sums: BTreeMap<[String; 3], Figures> = BTreeMap::new();
    for profile in profiles {
        for row in rows(profile, by, Measure::Peak, Frames::Folded) {
            let identity = Identity::of(profile, &row);
            let key = [identity.key(), &identity.location, &identity.owner].map(str::to_owned);
            sums.entry(key).or_default().add(&row.figures);
        }
    }
    sums.retain(|_, figures| *figures != Figures::default());
    sums
}

/// Checks that the report of a sum has the sums of the reports.
fn check_sums(parts: &[&Profile], sum: &Profile) {
    let mut totals = Figures::default();
    parts.iter().for_each(|part| totals.add(part.totals()));
    assert_eq!(*sum.totals(), totals);
    for by in By::COUNTED {
        assert_eq!(
            figures_by(&[sum], by),
            figures_by(parts, by),
            "{}",
            by.name()
        );
    }
    let sum_of = |of: fn(&Profile) -> u64| parts.iter().map(|part| of(part)).sum::<u64>();
    for of in [
        (|profile| profile.capture().peak_error_bytes) as fn(&Profile) -> u64,
        |profile| profile.process().duration_ns,
        |profile| profile.failed_request_count(),
        |profile| profile.lost().unknown_frees,
        |profile| profile.scopes().iter().map(|scope| scope.entered).sum(),
        |profile| profile.scopes().iter().map(|scope| scope.input_bytes).sum(),
        |profile| profile.threads().iter().map(|thread| thread.count).sum(),
        |profile| {
            profile
                .arenas()
                .iter()
                .map(|arena| arena.figures.total_used_bytes)
                .sum()
        },
        |profile| {
            let sites = profile.sites().iter();
            sites.map(|site| site.distribution.sized_blocks()).sum()
        },
        |profile| {
            profile
                .sites()
                .iter()
                .map(|site| site.distribution.lifetime)
                .sum()
        },
    ] {
        assert_eq!(of(sum), sum_of(of));
    }
    assert_eq!(sum.lost().damaged, 0, "{:?}", sum.losses());
}

#[test]
fn the_report_of_a_sum_has_the_sums_of_the_reports_of_real_programs() {
    for (name, _) in heapglass_fixture::REAL {
        let folder = Folder::new();
        let bytes = real(name);
        let paths = [0, 1, 2].map(|number| {
            let bytes = with_header(&bytes, |header| header.pid += number);
            folder.write(&format!("{number}.hg"), &bytes)
        });
        let paths = paths.each_ref().map(PathBuf::as_path);
        let sum = merged(&paths).expect("one build");
        assert!(sum.notes.is_empty(), "{:?}", sum.notes);
        let parts = paths.map(opened);
        let profile = folder.profile(&sum.bytes);
        check_sums(&parts.each_ref(), &profile);
        let process = profile.process();
        assert_eq!((process.state, process.pid), (State::Merged, 0));
        assert_eq!(process.program, parts[0].process().program);
        assert_eq!(
            process.merged.as_ref().map(|merged| merged.recordings),
            Some(3)
        );
    }
}

/// A row of a site that is made up: the number of the site, and bytes and blocks.
struct Row(u32, u64, u64);

/// A made-up program with a stack for each site, in the order of `sites`, so that numbers differ
/// between recordings. Sites with an odd number are in a phase.
fn made_up(pid: u32, sites: &[Row], change: impl FnOnce(&mut HeaderValue)) -> Vec<u8> {
    let mut strings = EncodedStrings::default();
    let executable = strings.put(b"/opt/app");
    let phase = strings.put(b"load");
    let build_id = ModuleValue {
        path: executable,
        id_kind: module_id::BUILD_ID,
        id_bytes: 8,
        id: [7, 0, 0, 0],
        ..ModuleValue::default()
    };
    let scopes = [
        ScopeValue::default(),
        ScopeValue {
            kind: scope_kind::PHASE,
            name: phase,
            depth: 1,
            entered: 2,
            input_bytes: 100,
            value_bytes: 1_000,
            ..ScopeValue::default()
        },
    ];
    let mut frames = Vec::new();
    let mut stacks = vec![StackValue::default()];
    let mut site_values = vec![SiteValue::default(); 3];
    let mut table = Vec::new();
    let mut sizes = Vec::new();
    for (index, Row(site, bytes, blocks)) in (0..).zip(sites) {
        frames.push(FrameValue {
            module: 1,
            offset: u64::from(0x1000 + 16 * site),
            ..FrameValue::default()
        });
        stacks.push(StackValue {
            parent: 0,
            frame: index,
        });
        site_values.push(SiteValue {
            stack: index + 1,
            scope: site % 2,
            ..SiteValue::default()
        });
        table.push(RowValue {
            total_bytes: *bytes,
            total_blocks: *blocks,
            freed_bytes: bytes / 4,
            freed_blocks: blocks / 4,
            saved_bytes: (bytes / 2) as i64,
            saved_blocks: (blocks / 2) as i64,
            clock: PEAK,
            site: index + 3,
            ..RowValue::default()
        });
        sizes.push(SizesValue {
            row: index,
            pairs: [
                24 << 48 | (blocks / 2),
                30 << 48 | (blocks / 3),
                0,
                0,
                0,
                0,
                0,
            ],
            ..SizesValue::default()
        });
    }
    let all = table.iter().fold(RowValue::default(), |mut all, row| {
        all.total_bytes += row.total_bytes;
        all.total_blocks += row.total_blocks;
        all.freed_bytes += row.freed_bytes;
        all.freed_blocks += row.freed_blocks;
        all
    });
    let mut header = HeaderValue {
        state: state::FINISHED,
        mode: mode::EXACT,
        unwinder: unwinder::FRAME_POINTERS,
        arch: arch::X86_64,
        pid,
        started_unix_ns: 1_000 + u64::from(pid),
        elapsed_ns: 500,
        executable,
        lanes: 1,
        most_lanes: 1,
        clock: PEAK,
        peak_bytes: table.iter().map(|row| row.saved_bytes).sum(),
        modules_len: 2,
        frames_len: frames.len() as u32,
        stacks_len: stacks.len() as u32,
        scopes_len: 2,
        sites_len: site_values.len() as u32,
        strings_len: strings.table().len() as u64,
        ..HeaderValue::default()
    };
    change(&mut header);
    let samples: Vec<SamplesValue> = (0..)
        .zip(&table)
        .map(|(index, row)| samples_of(index, row, header.sample_bytes))
        .collect();
    let has_samples = header.mode == mode::SAMPLE;
    let lane = LaneValue {
        kind: lane_kind::OWNED,
        rows_len: table.len() as u32,
        sizes_len: sizes.len() as u32,
        samples_len: if has_samples { samples.len() as u32 } else { 0 },
        tenancies: 1,
        name: [u64::from_le_bytes(*b"main\0\0\0\0"), 0],
        checked_bytes: all.sums().net().0,
        checked_blocks: all.total_blocks,
        ..LaneValue::default()
    };
    use tracking_alloc_recording::table as tables;
    let mut file = Encoder::default();
    file.bytes(tables::STRINGS, strings.table());
    file.records(tables::MODULES, &[ModuleValue::default(), build_id]);
    file.records(tables::FRAMES, &frames);
    file.records(tables::STACKS, &stacks);
    file.records(tables::SCOPES, &scopes);
    file.records(tables::SITES, &site_values);
    file.records(tables::LANES, &[lane]);
    file.records(
        tables::FIXED_ROWS,
        &[all, RowValue::default(), RowValue::default()],
    );
    file.records(tables::ROWS, &table);
    file.records(tables::SIZES, &sizes);
    if has_samples {
        file.records(tables::SAMPLES, &samples);
    }
    file.finish(header)
}

/// Samples that explain all of a row, with variances that are no whole numbers.
fn samples_of(index: u32, row: &RowValue, mean: u64) -> SamplesValue {
    let of = |bytes: u64, blocks: u64| Sampled {
        hits: u64::from(bytes > 0),
        blocks,
        bytes,
        seen_bytes: bytes / 10,
        variance: bytes as f64 * mean as f64 * 0.9 + 0.3,
    };
    let (live_bytes, live_blocks) = row.sums().net();
    let (allocated, live) = (
        of(row.total_bytes, row.total_blocks),
        of(live_bytes as u64, live_blocks as u64),
    );
    SamplesValue {
        row: index,
        allocated,
        freed: allocated.minus(live),
        saved: of(row.saved_bytes as u64, row.saved_blocks as u64),
        clock: PEAK,
        least_bytes: 16 + u64::from(index),
        ..SamplesValue::default()
    }
}

/// Three recordings of one program with different sites and figures.
fn three(folder: &Folder, change: impl Fn(u32, &mut HeaderValue)) -> [PathBuf; 3] {
    let sites: [&[Row]; 3] = [
        &[Row(1, 80_000, 40), Row(2, 5_000, 16), Row(4, 999, 3)],
        &[
            Row(4, 7_001, 9),
            Row(1, 12, 1),
            Row(3, 4_096, 8),
            Row(6, 31, 2),
        ],
        &[Row(6, 1 << 40, 1 << 20), Row(2, 77, 7)],
    ];
    [0_u32, 1, 2].map(|number| {
        let sites = sites[number as usize];
        let bytes = made_up(100 + number, sites, |header| change(number, header));
        folder.write(&format!("{number}.hg"), &bytes)
    })
}

#[test]
fn recordings_with_different_sites_add_up_in_any_order_and_grouping() {
    let folder = Folder::new();
    let paths = three(&folder, |_, _| ());
    let [a, b, c] = paths.each_ref().map(PathBuf::as_path);
    let sum = merged(&[a, b, c]).expect("one build").bytes;
    check_sums(&[&opened(a), &opened(b), &opened(c)], &folder.profile(&sum));
    for order in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
        assert!(merged(&order).expect("one build").bytes == sum, "{order:?}");
    }
    for [one, two, three] in [[a, b, c], [b, c, a], [c, a, b]] {
        let pair = merged(&[one, two]).expect("one build").bytes;
        let pair = folder.write("pair.hg", &pair);
        assert!(merged(&[&pair, three]).expect("one build").bytes == sum);
        assert!(merged(&[three, &pair]).expect("one build").bytes == sum);
    }
    let alone = folder.write("whole.hg", &sum);
    assert!(merged(&[&alone]).expect("one build").bytes == sum);
}

#[test]
fn hits_estimates_and_variances_of_samples_are_added_and_intervals_hold() {
    let folder = Folder::new();
    let means = [64 << 10, 512 << 10, 512 << 10];
    let paths = three(&folder, |number, header| {
        header.mode = mode::SAMPLE;
        header.sample_bytes = means[number as usize];
        header.most_sample_bytes = means[number as usize];
        header.sample_counts = [1, 2, 1][number as usize];
        header.sampled_total_bytes = 1_000 + u64::from(number);
        header.sampled_total_blocks = 10;
    });
    let [a, b, c] = paths.each_ref().map(PathBuf::as_path);
    // Of one mean, sums are exact.
    let pair = folder.profile(&merged(&[b, c]).expect("one build").bytes);
    check_sums_of_samples(&[&opened(b), &opened(c)], &pair);
    let sum = merged(&[a, b, c]).expect("one build").bytes;
    let pair = folder.write("pair.hg", &merged(&[c, a]).expect("one build").bytes);
    assert!(merged(&[&pair, b]).expect("one build").bytes == sum);
    let profile = folder.profile(&sum);
    let sampling = profile.capture().sampling.clone().expect("samples");
    assert_eq!(sampling.total_bytes, 3_003);
    assert_eq!(
        (sampling.total_blocks, sampling.freed_bytes),
        (Some(30), None)
    );
    assert_eq!(sampling.most_sample_bytes, 512 << 10);
    assert!(
        profile
            .losses()
            .iter()
            .any(|loss| loss.contains("64.0 KiB to 512.0 KiB"))
    );
    let parts = [a, b, c].map(opened);
    let hits = |of: &Profile| of.totals().samples().expect("samples").hits();
    assert_eq!(hits(&profile), parts.iter().map(hits).sum::<u64>());
    for key in ["total_bytes", "live_bytes", "peak_bytes"] {
        let interval = profile.totals().interval(key).expect("an interval");
        let of_parts = parts
            .iter()
            .map(|part| part.totals().interval(key).expect("an interval"));
        let high = |of: crate::profile::Interval| of.high.expect("an upper end");
        let ends = of_parts.fold((0, 0), |ends, of| (ends.0 + of.low, ends.1 + high(of)));
        // Errors of several recordings partly cancel out.
        assert!(
            interval.low >= ends.0 && high(interval) <= ends.1 * 2,
            "{key}"
        );
    }
}

/// As [`check_sums`], where variances are rounded once for each recording.
fn check_sums_of_samples(parts: &[&Profile], sum: &Profile) {
    let strip = |figures: &Figures| FIGURES.map(|(_, figure)| figure(figures));
    for by in [By::Site, By::Phase, By::Owner] {
        let (found, expected) = (figures_by(&[sum], by), figures_by(parts, by));
        assert_eq!(found.len(), expected.len());
        for (key, figures) in &found {
            let wanted = &expected[key];
            assert_eq!(strip(figures), strip(wanted), "{key:?}");
            let samples = |of: &Figures| *of.samples().expect("samples");
            let (found, wanted) = (samples(figures), samples(wanted));
            let plain = |samples: crate::profile::Samples| {
                let sums = [samples.total, samples.live, samples.peak];
                (
                    samples.least_bytes,
                    sums.map(|sum| (sum.estimate, sum.seen, sum.hits)),
                )
            };
            assert_eq!(plain(found), plain(wanted), "{key:?}");
            for (found, wanted) in [
                (found.total, wanted.total),
                (found.live, wanted.live),
                (found.peak, wanted.peak),
            ] {
                let off = found.variance.abs_diff(wanted.variance);
                assert!(off <= 4 * parts.len() as u64, "{key:?}: {off}");
            }
        }
    }
}

#[test]
fn what_cannot_be_added_up_is_refused_with_the_file_and_the_reason() {
    let folder = Folder::new();
    let paths = three(&folder, |_, _| ());
    let [a, ..] = paths.each_ref().map(PathBuf::as_path);
    let bytes = std::fs::read(&paths[1]).expect("there");
    let other = |name: &str, change: &dyn Fn(&mut HeaderValue)| {
        folder.write(name, &with_header(&bytes, |header| change(header)))
    };
    let module = Recording::read(bytes.as_slice()).expect("readable").modules[1];
    let place = (0..bytes.len() - ModuleValue::SIZE)
        .step_by(4)
        .find(|at| ModuleValue::parse(&bytes[*at..]) == module)
        .expect("the module");
    let mut other_build = bytes.clone();
    other_build[place + 16] ^= 1;
    let other_build = with_header(&other_build, |_| ());
    let mut damaged = bytes.clone();
    let half = damaged.len() / 2;
    damaged[half] ^= 1;
    let version = std::mem::offset_of!(Header, version);
    let mut old = bytes.clone();
    old[version] -= 1;
    for (path, why) in [
        (
            other("mode.hg", &|header| header.mode = mode::COUNT),
            "its mode is `count`, and that of",
        ),
        (
            other("walk.hg", &|header| header.unwinder = unwinder::EH_FRAME),
            "its way to walk stacks is .eh_frame",
        ),
        (
            other("arch.hg", &|header| header.arch = arch::AARCH64),
            "its architecture is aarch64",
        ),
        (
            folder.write("build.hg", &other_build),
            "its build is 0600000000000000, and that of",
        ),
        (folder.write("damaged.hg", &damaged), "damaged"),
        (folder.write("old.hg", &old), "written in layout version"),
        (
            folder.write("same.hg", &std::fs::read(a).expect("there")),
            "count twice",
        ),
        (folder.0.path().join("gone.hg"), "cannot read the file"),
    ] {
        let said = refused(&[a, &path]);
        let name = path.display().to_string();
        assert!(said.starts_with(&name) && said.contains(why), "{said}");
    }
    // A recording inside a sum counts twice too.
    let pair = folder.write(
        "pair.hg",
        &merged(&[a, &paths[1]]).expect("one build").bytes,
    );
    assert!(refused(&[&pair, a]).contains("count twice"));
    assert!(refused(&[a, &pair]).contains("count twice"));
}

#[test]
fn peaks_of_a_sum_are_called_sums_of_peaks() {
    let folder = Folder::new();
    let paths = three(&folder, |_, _| ());
    let paths = paths.each_ref().map(PathBuf::as_path);
    let sum = folder.profile(&merged(&paths).expect("one build").bytes);
    let text = |of: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        of(&mut out);
        String::from_utf8(out).expect("UTF-8")
    };
    let options = ReportOptions {
        details: true,
        ..ReportOptions::default()
    };
    let report = text(&|out| report::write_text(&sum, &options, out).expect("in memory"));
    for words in [
        "app (sums of 3 recordings): sum of peaks ",
        "app: sums of 3 recordings, 1.5 us recorded together",
        "  sum of peaks ",
        "Sites by sums of peaks",
        "share sum of peaks",
        "The peaks are sums of peaks",
        "Left out, because they are of single programs:",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    let json = text(&|out| report::write_json(&sum, &options, out).expect("in memory"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["state"], "merged");
    assert_eq!(json["peaks"], "sums of peaks");
    assert_eq!(json["merged"]["recordings"], 3);
    assert_eq!(json["finished"], false);
    let one = opened(paths[0]);
    let [base, new] =
        [("one.hg", &one), ("sum.hg", &sum)].map(|(name, profile)| [Named { name, profile }]);
    let diff = Diff::new(&base, &new, DiffOptions::default());
    assert!(diff.warnings[0].contains("different numbers of recordings (1, 3)"));
    let diff = text(&|out| write_markdown(&diff.clone().into(), None, out).expect("in memory"));
    assert!(diff.starts_with("### heapglass: sum of peaks"), "{diff}");
}

#[test]
fn the_size_of_a_sum_depends_on_its_sites_and_not_on_the_number_of_recordings() {
    let folder = Folder::new();
    let bytes = real("server");
    let mut merge = Merge::new();
    let mut sizes = Vec::new();
    for number in 0..12 {
        let bytes = with_header(&bytes, |header| header.pid = 1 + number);
        let path = folder.write("one.hg", &bytes);
        merge.add(&path).expect("one build");
        sizes.push(merge.tables.in_order().stacks.len());
    }
    assert_eq!(sizes[0], sizes[11]);
    let sum = merge.finish().expect("bytes");
    assert_eq!(sum.recordings, 12);
    assert!(sum.bytes.len() < bytes.len() + 12 * MergedPartValue::SIZE + 4096);
}
