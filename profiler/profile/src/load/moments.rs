//! The parts that do not belong to sites: the settings of the recording, threads, the timeline and
//! marks.

use super::CountedSites;
use super::counters::{self, LANE_DRIFT, Peak, figures, mark_rows, sample_mean, sums_of};
use crate::profile::{
    Attached, Capture, Figures, Group, LinearMemory, Mark, PAGE_BYTES, Profile, ResidentParts,
    Samples, Sampling, Thread, TimelinePoint,
};
use std::collections::BTreeMap;
use tracking_alloc_recording::{
    HeaderValue, MarkValue, MergedPartValue, Recording, Sums, arch, lane_kind, mode, sample_counts,
    state, unwinder,
};

/// Returns the settings of the recording, and the error bound of the peak.
pub(super) fn capture(recording: &Recording, peak: &Peak) -> Capture {
    let header = &recording.header;
    let mut discrepancy = peak.bytes.abs_diff(peak.register);
    let mut error = peak_error(header, peak.bound, peak.bytes);
    if header.state == state::MERGED {
        // A sum is off by at most the sum of the errors.
        let sum = |of: fn(&MergedPartValue) -> u64| {
            let parts = recording.merged.iter().map(of);
            parts.fold(0, u64::saturating_add)
        };
        error = sum(|part| part.peak_error_bytes);
        discrepancy = discrepancy.max(sum(|part| part.peak_discrepancy_bytes));
    }
    let most_resident = resident_parts(&header.most_resident, header.most_resident_unread);
    let last_resident = resident_parts(&header.last_resident, header.last_resident_unread);
    // The sum over mappings can be larger than what the kernel counts cheaply for the timeline.
    let taken_apart = [most_resident, last_resident].into_iter().flatten();
    let most_resident_bytes = taken_apart
        .map(|parts| parts.rss_bytes)
        .fold(header.peak_rss_bytes, u64::max);
    Capture {
        mode: match mode::name(header.mode) {
            Some(name) => name.to_owned(),
            None => format!("unknown ({})", header.mode),
        },
        sampling: sampling(header),
        unwinder: match header.unwinder {
            unwinder::FRAME_POINTERS => "frame-pointers",
            unwinder::EH_FRAME => "eh-frame",
            _ => "none",
        }
        .to_owned(),
        architecture: arch::name(header.arch).unwrap_or_default().to_owned(),
        linear_memory: linear_memory(header),
        peak_error_bytes: error.max(discrepancy),
        peak_discrepancy_bytes: discrepancy,
        peak_time_ns: peak.time_ns,
        rss_bytes: header.rss_bytes,
        peak_rss_bytes: most_resident_bytes,
        own_bytes: header.own_bytes,
        most_resident,
        last_resident,
        recording_bytes: recording.file_bytes,
        allocator: recording.string(header.allocator).unwrap_or_default(),
        attached: (header.attached != 0).then(|| Attached {
            in_use_bytes: Some(header.attached).filter(|bytes| *bytes != 1),
            is_detached: header.detached != 0,
        }),
        own_crates: own_crates(recording),
    }
}

/// Returns the samples of a recording, with what was counted exactly.
fn sampling(header: &HeaderValue) -> Option<Sampling> {
    let mean = sample_mean(header);
    let counts = |of: bool, sampled: u64, exact: u64| of.then(|| sampled.saturating_add(exact));
    let blocks = header.sample_counts != sample_counts::NOTHING;
    let bytes = header.sample_counts == sample_counts::BLOCKS_AND_BYTES;
    (mean > 0).then(|| Sampling {
        sample_bytes: header.sample_bytes,
        most_sample_bytes: mean,
        changes: header.sample_changes,
        since_ns: header.sampled_since_ns,
        total_bytes: header
            .sampled_total_bytes
            .saturating_add(header.exact_total_bytes),
        total_blocks: counts(
            blocks,
            header.sampled_total_blocks,
            header.exact_total_blocks,
        ),
        freed_bytes: counts(bytes, header.sampled_freed_bytes, header.exact_freed_bytes),
        freed_blocks: counts(
            blocks,
            header.sampled_freed_blocks,
            header.exact_freed_blocks,
        ),
    })
}

/// Gives figures whose sums alone are known the widest intervals, if they are estimates.
/// `least_bytes` is the size of the smallest block that was sampled anywhere.
fn estimated(figures: Figures, header: &HeaderValue, least_bytes: u64) -> Figures {
    match sample_mean(header) {
        0 => figures,
        mean => at_most(figures, mean, least_bytes),
    }
}

/// Gives figures the widest intervals for samples that are this many bytes apart.
fn at_most(mut figures: Figures, mean: u64, least_bytes: u64) -> Figures {
    let sums = [figures.total_bytes, figures.live_bytes, figures.peak_bytes];
    figures.samples = Some(Box::new(Samples {
        least_bytes,
        ..Samples::at_most(mean, sums)
    }));
    figures
}

/// Returns the size of the smallest block that was sampled; 0 = not known.
fn least_sampled_bytes(recording: &Recording) -> u64 {
    let samples = recording.lanes.iter().flat_map(|lane| &lane.samples);
    let sizes = samples.map(|of_row| of_row.least_bytes);
    sizes.filter(|bytes| *bytes > 0).min().unwrap_or(0)
}

/// Returns the largest error of a peak of `bytes`, by the records of the recorder.
fn peak_error(header: &HeaderValue, bound: i64, bytes: i64) -> u64 {
    let most = u64::from(header.most_lanes.max(header.lanes.min(1))) * LANE_DRIFT;
    let error = bound.saturating_sub(bytes).max(0) as u64;
    error.min(most)
}

/// The crates that who recorded called the program's own.
fn own_crates(recording: &Recording) -> Vec<String> {
    let named = recording
        .string(recording.header.own_crates)
        .unwrap_or_default();
    let names = named
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Linear memory, of a module that has any.
fn linear_memory(header: &HeaderValue) -> Option<LinearMemory> {
    let pages = header.memory_pages.saturating_sub(header.own_pages);
    (header.arch == arch::WASM32).then_some(LinearMemory {
        pages,
        bytes: pages.saturating_mul(PAGE_BYTES),
        first_pages: header.first_pages,
        grows: header.memory_grows,
        own_pages: header.own_pages,
    })
}

/// A resident set that was taken apart; `None` = none was.
fn resident_parts(words: &[u64; 5], unread_bytes: u64) -> Option<ResidentParts> {
    let [time_ns, rss_bytes, heap_bytes, live_bytes, own_bytes] = *words;
    (time_ns > 0).then_some(ResidentParts {
        time_ns,
        rss_bytes,
        heap_bytes,
        live_bytes,
        own_bytes,
        unread_bytes,
    })
}

/// A thread name as bytes, up to its NUL.
fn thread_name(words: [u64; 2]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// Threads merged by name, those that ended and those that had a lane at the end.
pub(super) fn threads(recording: &Recording) -> Vec<Thread> {
    let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
    let least_bytes = least_sampled_bytes(recording);
    let mut add = |name: String, count: u64, sums: &Sums| {
        let thread = threads.entry(name.clone()).or_default();
        thread.name = name;
        thread.count = thread.count.saturating_add(count);
        // What is live of it is not known: another thread may free its blocks.
        let counted = figures(sums, (0, 0), (0, 0));
        thread
            .figures
            .add(&estimated(counted, &recording.header, least_bytes));
    };
    for (name, count, sums) in thread_sums(recording) {
        let name = name.map_or_else(|| "(further threads)".to_owned(), thread_name);
        add(name, count, &sums);
    }
    threads.into_values().collect()
}

/// Returns the name of threads, their number and their counters, for those that ended and those
/// that had a lane at the end. Threads that had no lane of their own are together and have no name.
pub fn thread_sums(recording: &Recording) -> impl Iterator<Item = (Option<[u64; 2]>, u64, Sums)> {
    let ended = recording.threads.iter();
    let ended = ended.map(|ended| (Some(ended.name), ended.count, ended.sums));
    let lanes = recording.lanes.iter().filter_map(|lane| {
        let sums = lane.all.sums().zip(lane.lane.since, u64::saturating_sub);
        if lane.lane.kind != lane_kind::SHARED {
            Some((Some(lane.lane.name), 1, sums))
        } else if sums != Sums::default() {
            Some((None, u64::from(lane.lane.tenancies.max(1)), sums))
        } else {
            None
        }
    });
    ended.chain(lanes)
}

/// The figures of the threads of a lane at each site, by the site's position.
#[derive(Clone)]
pub(super) struct LaneRows {
    /// The name of the only thread that had the lane. `None` if there were several, or if it is not
    /// known.
    only: Option<String>,
    rows: Vec<(u32, Sums)>,
}

/// Returns the rows of each lane, which tell the sites of a thread. Empty if there is one thread.
pub(super) fn lane_rows(recording: &Recording, counted: &CountedSites) -> Vec<LaneRows> {
    if thread_sums(recording).nth(1).is_none() {
        return Vec::new();
    }
    let is_merged = recording.header.state == state::MERGED;
    let lanes = recording.lanes.iter().map(|lane| {
        let is_only = lane.lane.kind != lane_kind::SHARED && lane.lane.tenancies == 1 && !is_merged;
        let rows = counters::rows(lane)
            .filter(|(_, row, _)| !counters::is_empty(row))
            .filter_map(|(site, row, _)| {
                let position = counted.position(site)?;
                Some((u32::try_from(position).ok()?, row.sums()))
            });
        LaneRows {
            only: is_only.then(|| thread_name(lane.lane.name)),
            rows: rows.collect(),
        }
    });
    lanes.collect()
}

/// Makes the standard library's backtraces a row beside the threads: the first one of a program
/// reads all its debug information, whichever thread asks for it.
///
/// If several threads had a lane one after another, it is not known which of them allocated what. A
/// thread then surely allocated what all others together cannot have.
pub(super) fn split_backtraces(profile: &mut Profile, lanes: &[LaneRows]) {
    let sites = profile.sites.iter();
    let of_backtraces: Vec<bool> = sites
        .map(|site| site.group == Some(Group::Backtrace))
        .collect();
    if lanes.is_empty() || !of_backtraces.contains(&true) {
        return;
    }
    let (mut all, mut left) = (Sums::default(), Sums::default());
    for lane in lanes {
        let rows = lane
            .rows
            .iter()
            .filter(|(site, _)| of_backtraces.get(*site as usize) == Some(&true));
        for (site, sums) in rows {
            all = all.zip(*sums, u64::saturating_add);
            let only = lane.only.as_ref();
            let thread = match only {
                Some(name) => (profile.threads.iter()).position(|thread| thread.name == *name),
                None => test_of(profile, *site as usize),
            };
            match thread {
                Some(thread) => {
                    let figures = &mut profile.threads[thread].figures;
                    *figures = without(figures, *sums);
                }
                None => left = left.zip(*sums, u64::saturating_add),
            }
        }
    }
    // What a thread did on lanes of its own, it did on no other.
    let own_lanes = lanes.iter().filter_map(|lane| {
        let rows = lane.rows.iter();
        let others = rows.filter(|(site, _)| of_backtraces.get(*site as usize) != Some(&true));
        let sums = others.fold(Sums::default(), |sum, (_, row)| {
            sum.zip(*row, u64::saturating_add)
        });
        Some((lane.only.as_ref()?, sums))
    });
    let own_lanes: Vec<_> = own_lanes.collect();
    let on_shared_lanes = |thread: &Thread| {
        let own = own_lanes.iter().filter(|(name, _)| **name == thread.name);
        own.fold(sums_of(&thread.figures), |sum, (_, own)| {
            sum.zip(*own, u64::saturating_sub)
        })
    };
    let of_each: Vec<Sums> = profile.threads.iter().map(on_shared_lanes).collect();
    let of_all = of_each
        .iter()
        .fold(Sums::default(), |sum, of| sum.zip(*of, u64::saturating_add));
    let mut found = 0_u64;
    for (thread, own) in profile.threads.iter_mut().zip(of_each) {
        let of_others = of_all.zip(own, u64::saturating_sub);
        let certain = left.zip(of_others, u64::saturating_sub).zip(own, u64::min);
        found = found.saturating_add(certain.total_bytes);
        thread.figures = without(&thread.figures, certain);
    }
    profile.backtrace_bytes_of_threads = left.total_bytes.saturating_sub(found);
    let mut figures = figures(&all, (0, 0), (0, 0));
    if let Some(mean) = profile.sample_mean() {
        let samples = Samples::at_most(mean, [figures.total_bytes, 0, 0]);
        figures.samples = Some(Box::new(samples));
    }
    profile.threads.push(Thread {
        name: Group::Backtrace.name().to_owned(),
        count: 0,
        figures,
    });
}

/// Bytes of a thread's name that Linux keeps.
const NAME_BYTES: usize = 15;

/// Returns the only thread that has the name of a function on the stack of a site. A test runs in a
/// thread of its name.
fn test_of(profile: &Profile, site: usize) -> Option<usize> {
    let site = profile.sites.get(site)?;
    let functions = profile
        .innermost_first(site)
        .filter_map(|id| Some(profile.lookup(id)?.1.name.as_str()));
    let paths: Vec<&str> = functions
        .filter_map(|name| Some(name.split_once("::")?.1))
        .collect();
    let is_named = |thread: &Thread| {
        paths.iter().any(|path| {
            let rest = path.strip_prefix(thread.name.as_str());
            let is_cut = thread.name.len() == NAME_BYTES;
            rest.is_some_and(|rest| is_cut || rest.is_empty() || rest.starts_with("::"))
        })
    };
    let threads = profile.threads.iter().enumerate();
    let mut named = threads.filter(|(_, thread)| !thread.name.is_empty() && is_named(thread));
    let (found, _) = named.next()?;
    named.next().is_none().then_some(found)
}

/// Returns figures of a thread less those of some of its sites.
fn without(of: &Figures, less: Sums) -> Figures {
    let sums = sums_of(of).zip(less, u64::saturating_sub);
    let rest = figures(&sums, (0, 0), (0, 0));
    match of.samples() {
        Some(samples) => at_most(rest, samples.mean, samples.least_bytes),
        None => rest,
    }
}

/// The timeline.
pub(super) fn timeline(recording: &Recording) -> Vec<TimelinePoint> {
    let point = |point: &tracking_alloc_recording::PointValue| TimelinePoint {
        time_ns: point.time_ns,
        live_bytes: point.live_bytes,
        live_blocks: point.live_blocks,
        total_bytes: point.total_bytes,
        rss_bytes: point.rss_bytes,
        own_bytes: point.own_bytes,
    };
    recording.timeline.iter().map(point).collect()
}

/// The marks, with the peak of the window each one ended.
pub(super) fn marks(recording: &Recording) -> Vec<Mark> {
    let peak_error_bytes = |mark: &MarkValue| {
        let rows = mark_rows(recording, mark).iter();
        let in_rows = rows.fold(0, |sum: i64, row| sum.saturating_add(row.peak_bytes));
        let error = peak_error(&recording.header, mark.peak_bound_bytes, mark.peak_bytes);
        (mark.has_rows == 1).then(|| error.max(in_rows.abs_diff(mark.peak_bytes)))
    };
    let least_bytes = least_sampled_bytes(recording);
    let mark = |mark: &MarkValue| Mark {
        peak_error_bytes: peak_error_bytes(mark),
        name: recording.string(mark.name).unwrap_or_default(),
        time_ns: mark.time_ns,
        figures: estimated(
            figures(
                &mark.sums,
                mark.sums.net(),
                (mark.peak_bytes, mark.peak_blocks),
            ),
            &recording.header,
            least_bytes,
        ),
    };
    recording.marks.iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::counters::PeakAt;
    use tracking_alloc_recording::MarkRowValue;

    #[test]
    fn figures_of_samples_without_some_have_the_interval_of_the_rest() {
        let of_bytes = |bytes: u64| {
            let figures = Figures {
                total_bytes: bytes,
                ..Figures::default()
            };
            at_most(figures, 1 << 19, 16)
        };
        let (whole, part) = (of_bytes(100_000_000), of_bytes(90_000_000));
        let rest = without(&whole, sums_of(&part));
        assert_eq!(rest, of_bytes(10_000_000));
        assert_ne!(rest.samples, whole.samples);
    }

    #[test]
    fn the_bound_of_a_peak_is_never_below_what_was_measured() {
        let mut recording = Recording::default();
        recording.header.lanes = 4;
        for (bytes, register, bound, expected) in [
            (1_000, 1_128, 1_000, 128),
            (1_128, 1_000, 1_000, 128),
            (1_000, 1_128, 1_500, 500),
            (1_000, 1_000, 1_000, 0),
            (0, 1 << 20, 0, 1 << 20),
        ] {
            let peak = Peak {
                at: PeakAt::Epoch,
                bytes,
                register,
                bound,
                time_ns: 0,
            };
            let capture = capture(&recording, &peak);
            assert_eq!(capture.peak_error_bytes, expected);
            assert!(capture.peak_error_bytes >= capture.peak_discrepancy_bytes);
        }
    }

    #[test]
    fn marks_have_the_bound_of_their_peaks() {
        let row = |peak_bytes: i64| MarkRowValue {
            peak_bytes,
            ..MarkRowValue::default()
        };
        let mark = |has_rows: u32, peak_bytes: i64, peak_bound_bytes: i64| MarkValue {
            has_rows,
            rows: 2,
            peak_bytes,
            peak_bound_bytes,
            ..MarkValue::default()
        };
        let mut recording = Recording::default();
        recording.header.lanes = 1;
        recording.mark_rows = vec![row(600), row(400)];
        recording.marks = vec![
            mark(1, 1_000, 1_000),
            mark(1, 1_000, 1_200),
            mark(1, 1_010, 1_010),
            mark(1, 1_000, 1 << 30),
            mark(0, 0, 0),
        ];
        let errors: Vec<Option<u64>> = marks(&recording)
            .into_iter()
            .map(|mark| mark.peak_error_bytes)
            .collect();
        let expected = [Some(0), Some(200), Some(10), Some(LANE_DRIFT), None];
        assert_eq!(errors, expected);
        let json = serde_json::to_value(&marks(&recording)[1]).expect("JSON");
        assert_eq!(json["peak_error_bytes"], 200);
    }
}
