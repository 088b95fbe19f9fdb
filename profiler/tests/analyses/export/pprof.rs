//! pprof: decoded again and checked against the rules of `go tool pprof` and Parca.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use heapglass_profiler::profile::{Figures, State, Thread};

use super::*;

#[path = "../../decoded/mod.rs"]
#[expect(dead_code, reason = "other crates need the rest")]
mod decoded;

use decoded::{decode as unpack, message, string};

pub(super) fn decode(profile: &Profile, options: &ReportOptions<'_>) -> message::Profile {
    unpack(&bytes(profile, Format::Pprof, options)).0
}

const KEYS: [&str; 6] = [
    "total_blocks",
    "total_bytes",
    "live_blocks",
    "live_bytes",
    "peak_bytes",
    "temporary_bytes",
];

pub(super) fn totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let decoded = decode(profile, options);
    let sum = |at: usize| decoded.sample.iter().map(|s| s.value[at]).sum::<i64>();
    let keys = KEYS.into_iter().enumerate();
    keys.map(|(at, key)| (key.to_owned(), sum(at) as u64))
        .collect()
}

/// Formats the profile as text, one line per entry.
fn render(profile: &message::Profile) -> String {
    let string = |index: i64| string(profile, index);
    let mut text = String::new();
    let types: Vec<String> = profile
        .sample_type
        .iter()
        .map(|of| format!("{}/{}", string(of.r#type), string(of.unit)))
        .collect();
    writeln!(text, "types {}", types.join(" ")).unwrap();
    writeln!(text, "default {}", string(profile.default_sample_type)).unwrap();
    let period = profile.period_type.as_ref().unwrap();
    let (name, unit) = (string(period.r#type), string(period.unit));
    writeln!(text, "period {} {name}/{unit}", profile.period).unwrap();
    writeln!(
        text,
        "time {} duration {}",
        profile.time_nanos, profile.duration_nanos
    )
    .unwrap();
    for &comment in &profile.comment {
        writeln!(text, "comment {}", string(comment)).unwrap();
    }
    for m in &profile.mapping {
        let (file, build_id) = (string(m.filename), string(m.build_id));
        let flags = [
            m.has_functions,
            m.has_filenames,
            m.has_line_numbers,
            m.has_inline_frames,
        ];
        writeln!(
            text,
            "mapping {} {file} build-id {build_id} has {flags:?}",
            m.id
        )
        .unwrap();
    }
    for location in &profile.location {
        let (id, mapping) = (location.id, location.mapping_id);
        writeln!(
            text,
            "location {id} mapping {mapping} 0x{:x}",
            location.address
        )
        .unwrap();
        for line in &location.line {
            let function = &profile.function[line.function_id as usize - 1];
            let (name, file) = (string(function.name), string(function.filename));
            writeln!(text, "    {name} {file}:{}", line.line).unwrap();
        }
    }
    for sample in &profile.sample {
        let label = |label: &message::Label| format!("{}={}", string(label.key), string(label.str));
        let labels: Vec<String> = sample.label.iter().map(label).collect();
        let (values, locations) = (&sample.value, &sample.location_id);
        writeln!(text, "sample {values:?} at {locations:?} {labels:?}").unwrap();
    }
    text
}

#[test]
fn the_shop_as_pprof() {
    golden(
        "pprof",
        &render(&decode(&shop(), &options(Format::Pprof)))
            .replace(env!("CARGO_PKG_VERSION"), "VERSION"),
    );
}

#[test]
fn the_thread_is_a_label_where_there_was_one() {
    for (count, expected) in [(1, true), (2, false)] {
        let mut profile = shop();
        *profile.parts().threads = vec![fixture::made!(Thread {
            name: "main".into(),
            count,
        })];
        let text = render(&decode(&profile, &options(Format::Pprof)));
        let mut samples = text.lines().filter(|line| line.starts_with("sample "));
        assert!(
            samples.all(|line| line.contains("thread=main") == expected),
            "{text}"
        );
    }
}

#[test]
fn ids_are_in_sequence_string_0_is_empty_and_nothing_leads_nowhere() {
    for profile in profiles() {
        for frames in Frames::ALL {
            let options = ReportOptions {
                frames,
                ..options(Format::Pprof)
            };
            let made = decode(&profile, &options);
            assert_eq!(made.string_table[0], "");
            let known = |index: i64| (0..made.string_table.len() as i64).contains(&index);
            for (at, function) in (1..).zip(&made.function) {
                assert_eq!(function.id, at);
                assert!(known(function.name) && function.name > 0 && known(function.filename));
                assert_eq!(function.system_name, 0);
            }
            for (at, mapping) in (1..).zip(&made.mapping) {
                assert_eq!((mapping.id, mapping.memory_start), (at, 0));
            }
            for (at, location) in (1..).zip(&made.location) {
                assert_eq!(location.id, at);
                assert!(location.mapping_id <= made.mapping.len() as u64);
                assert!(!location.line.is_empty());
                let functions = location.line.iter().map(|line| line.function_id);
                let count = made.function.len() as u64;
                assert!(functions.into_iter().all(|id| (1..=count).contains(&id)));
            }
            for sample in &made.sample {
                let count = made.location.len() as u64;
                assert!(!sample.location_id.is_empty());
                assert!(sample.location_id.iter().all(|id| (1..=count).contains(id)));
                assert_eq!(sample.value.len(), made.sample_type.len());
            }
        }
    }
}

#[test]
fn the_measure_is_the_default_sample_type_where_there_is_one() {
    let default = |measure| {
        let options = ReportOptions {
            measure,
            ..options(Format::Pprof)
        };
        let made = decode(&shop(), &options);
        made.string_table[made.default_sample_type as usize].clone()
    };
    assert_eq!(default(Measure::Peak), "peak_space");
    assert_eq!(default(Measure::Total), "alloc_space");
    assert_eq!(default(Measure::Live), "inuse_space");
    assert_eq!(default(Measure::Grows), "peak_space");
}

/// Makes a profile of three sites with these figures, and numbers as in a recording.
fn sites(numbered: &[(u32, Figures)]) -> Profile {
    let mut builder = Builder::new();
    let mut numbers = Vec::new();
    for (number, figures) in numbered {
        let name = format!("app::site{number}");
        let function = builder.function(&name, "app", Origin::User);
        let frame = builder.frame(function, Some("src/main.rs"), *number);
        builder.site(&[frame], ScopeId(0), figures.clone());
        numbers.push(*number);
    }
    let parts = builder.parts();
    *parts.site_numbers = numbers;
    parts.process.command = vec!["app".to_owned(), "--password=secret".to_owned()];
    builder.build()
}

/// A function, and its values that are not 0 by sample type.
type FunctionValues = (String, Vec<(String, i64)>);

/// Decodes the profile of a window of two seconds: by function, the values by sample type.
fn window(
    before: &Profile,
    after: &Profile,
    since: Since,
    max_samples: usize,
) -> (message::Profile, Vec<FunctionValues>) {
    let begin = UNIX_EPOCH + Duration::from_secs(100);
    let moment = Moment::of(before, begin);
    let mut packed = Vec::new();
    let end = begin + Duration::from_secs(2);
    let options = PprofOptions {
        window: Some(Window {
            begin: &moment,
            end,
            since,
        }),
        max_samples,
        is_for_services: true,
        ..PprofOptions::default()
    };
    let size = write_pprof(after, &options, &mut packed).unwrap();
    let merged = size.merged_stacks;
    let (made, plain_bytes) = unpack(&packed);
    assert_eq!((size.samples, size.bytes), (made.sample.len(), plain_bytes));
    let string = |index: i64| string(&made, index).to_owned();
    let samples = made.sample.iter().map(|sample| {
        let location = &made.location[sample.location_id[0] as usize - 1];
        let function = &made.function[location.line[0].function_id as usize - 1];
        let types = made.sample_type.iter().map(|of| string(of.r#type));
        let values = types
            .zip(sample.value.iter().copied())
            .filter(|(_, value)| *value != 0);
        (string(function.name), values.collect())
    });
    let samples: Vec<_> = samples.collect();
    assert!(samples.len() <= max_samples);
    let has_others = samples.iter().any(|(name, _)| name == "[other stacks]");
    assert_eq!(has_others, merged > 0);
    (made, samples)
}

#[test]
fn a_window_ends_with_the_recording() {
    let mut after = sites(&[(3, figures(1, 8, 1))]);
    let second = 1_000_000_000;
    let duration_ns =
        |after: &Profile| window(after, after, Since::Change, 9).0.duration_nanos as u64;
    let process = after.parts().process;
    // The program ends half a second after the window has begun, or before.
    (process.state, process.started_unix_ns) = (State::Finished, 99 * second);
    process.duration_ns = second + second / 2;
    assert_eq!(duration_ns(&after), second / 2);
    after.parts().process.duration_ns = second / 2;
    assert_eq!(duration_ns(&after), 2 * second);
    let process = after.parts().process;
    (process.state, process.duration_ns) = (State::Running, second + second / 2);
    assert_eq!(duration_ns(&after), 2 * second);
}

#[test]
fn a_window_has_the_difference_of_two_moments() {
    let before = sites(&[
        (3, figures(10, 8, 4)),
        (5, figures(2, 100, 2)),
        (6, figures(1, 1, 0)),
    ]);
    // Site 4 is new, 5 lost both blocks, and 6 did nothing.
    let after = sites(&[
        (3, figures(15, 8, 6)),
        (4, figures(1, 50, 1)),
        (5, figures(2, 100, 0)),
        (6, figures(1, 1, 0)),
    ]);
    let value = |name: &str, value: i64| (name.to_owned(), value);
    let temporary = figures(15, 8, 6).temporary_bytes - figures(10, 8, 4).temporary_bytes;
    let temporary = value("temporary_space", temporary as i64);
    let site4 = (
        "app::site4".to_owned(),
        vec![
            value("alloc_objects", 1),
            value("alloc_space", 50),
            value("inuse_objects", 1),
            value("inuse_space", 50),
        ],
    );
    let (made, samples) = window(&before, &after, Since::Change, 100);
    assert_eq!(
        samples,
        [
            (
                "app::site3".to_owned(),
                vec![
                    value("alloc_objects", 5),
                    value("alloc_space", 40),
                    value("inuse_objects", 2),
                    value("inuse_space", 16),
                    temporary.clone(),
                ]
            ),
            site4.clone(),
            (
                "app::site5".to_owned(),
                vec![value("inuse_objects", -2), value("inuse_space", -200)]
            ),
        ]
    );
    assert_eq!(
        (made.time_nanos, made.duration_nanos),
        (100_000_000_000, 2_000_000_000)
    );
    let text = render(&made);
    assert!(
        text.contains("allocations in 2.00 s; live blocks are their change"),
        "{text}"
    );
    assert!(
        !text.contains("secret") && !text.contains("peak_space"),
        "{text}"
    );
    let (_, samples) = window(&before, &after, Since::Allocations, 100);
    assert_eq!(
        samples,
        [
            (
                "app::site3".to_owned(),
                vec![
                    value("alloc_objects", 5),
                    value("alloc_space", 40),
                    value("inuse_objects", 6),
                    value("inuse_space", 48),
                    temporary,
                ]
            ),
            site4,
        ]
    );
}

#[test]
fn a_window_with_too_many_stacks_keeps_its_totals() {
    let before = sites(&[]);
    let all: Vec<(u32, Figures)> = (1..=50).map(|n| (n, figures(u64::from(n), 8, 1))).collect();
    let after = sites(&all);
    let totals = |samples: &[FunctionValues]| {
        let mut totals: HashMap<String, i64> = HashMap::new();
        for (name, value) in samples.iter().flat_map(|(_, values)| values) {
            *totals.entry(name.clone()).or_default() += value;
        }
        totals
    };
    let (_, whole) = window(&before, &after, Since::Change, 50);
    assert_eq!(whole.len(), 50);
    for most in [1, 2, 10, 49] {
        let (made, samples) = window(&before, &after, Since::Change, most);
        assert_eq!(samples.len(), most);
        assert_eq!(totals(&samples), totals(&whole));
        // The largest are kept.
        let kept: Vec<&str> = samples
            .iter()
            .filter(|(name, _)| name != "[other stacks]")
            .map(|(name, _)| name.as_str())
            .collect();
        let largest: Vec<String> = (0..most - 1)
            .map(|n| format!("app::site{}", 50 - n))
            .collect();
        assert_eq!(kept, largest);
        let stated = format!("{} stacks with the fewest bytes are one sample", 51 - most);
        assert!(render(&made).contains(&stated), "{}", render(&made));
    }
}

#[test]
fn a_window_over_two_recordings_is_refused() {
    let before = sites(&[(1, figures(1, 8, 1))]);
    let mut after = sites(&[(1, figures(2, 8, 1))]);
    after.parts().process.pid += 1;
    let moment = Moment::of(&before, UNIX_EPOCH);
    assert!(!moment.is_of(&after));
    let options = PprofOptions {
        window: Some(Window {
            begin: &moment,
            end: UNIX_EPOCH,
            since: Since::Change,
        }),
        ..PprofOptions::default()
    };
    let error = write_pprof(&after, &options, io::sink());
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn services_get_no_arguments_and_no_label_with_many_values() {
    let profile = shop();
    let options = PprofOptions {
        is_for_services: true,
        ..PprofOptions::default()
    };
    let mut packed = Vec::new();
    write_pprof(&profile, &options, &mut packed).unwrap();
    let text = render(&unpack(&packed).0);
    assert!(
        text.contains("phase=") && !text.contains("command: "),
        "{text}"
    );
    assert!(
        !text.contains("type=") && !text.contains("field=") && !text.contains("thread="),
        "{text}"
    );
}
