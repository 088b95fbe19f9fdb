//! pprof: decoded again and checked against the rules of `go tool pprof` and Parca.

use std::fmt::Write as _;
use std::io::Read;

use flate2::read::GzDecoder;
use heapglass_profiler::profile::Thread;
use prost::Message;

use super::*;

/// The messages of pprof, as the export writes them.
#[path = "../../../src/export/pprof/message.rs"]
mod message;

pub(super) fn decode(profile: &Profile, options: &ReportOptions<'_>) -> message::Profile {
    let packed = bytes(profile, Format::Pprof, options);
    let mut plain = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut plain).unwrap();
    message::Profile::decode(&plain[..]).expect("a message")
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
    let string = |index: i64| profile.string_table[index as usize].as_str();
    let mut text = String::new();
    let types = profile.sample_type.iter();
    let types = types.map(|of| format!("{}/{}", string(of.r#type), string(of.unit)));
    let types: Vec<String> = types.collect();
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
