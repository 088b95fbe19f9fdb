//! Hostile data: the table of scopes stays bounded, losses are reported, no name reaches a terminal
//! unescaped, and sums are unchanged.

use crate::common::places::{Place, Places, at, total};
use crate::common::{Target, assert_consistent, number};
use heapglass_examples::recorded;
use heapglass_profiler::calltree::{CallTreeOptions, Levels};
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::report::{self, ReportOptions};
use heapglass_profiler::table::By;
use tracking_alloc_recording::{Recording, scope_flags, scope_kind};

/// The maximum number of scopes in a recording, as documented.
const MOST_SCOPES: usize = 65_536;
/// The maximum number of places directly inside one place.
const MOST_INSIDE: usize = 4_096;

fn record(words: &[&str]) -> (Recording, Profile, String) {
    let mut target = Target::new(env!("CARGO_BIN_EXE_fields"), words);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    assert!(
        recording.scopes.len() <= MOST_SCOPES,
        "{} scopes",
        recording.scopes.len()
    );
    let mut inside = vec![0; recording.scopes.len()];
    for scope in recording
        .scopes
        .iter()
        .skip(1)
        .filter(|scope| scope.kind != scope_kind::PHASE)
    {
        inside[scope.parent as usize] += 1;
    }
    // One more, for "(other)".
    assert!(inside.iter().all(|inside| *inside <= MOST_INSIDE + 1));
    let options = heapglass_profiler::OpenOptions::default();
    let profile = heapglass_profiler::open(&target.recording(), &options, &|_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_is_harmless(&profile);
    (recording, profile, printed)
}

/// Checks that no text made of the profile contains anything that a terminal or a browser would
/// obey.
fn assert_is_harmless(profile: &Profile) {
    let harmless = |text: &[u8], what: &str| {
        let text = std::str::from_utf8(text).expect("UTF-8");
        let bad = text.chars().find(|character| {
            character.is_control() && *character != '\n'
                || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(bad, None, "{what}");
    };
    for by in By::COUNTED {
        let options = ReportOptions {
            by,
            measure: Measure::Total,
            ..ReportOptions::default()
        };
        let mut text = Vec::new();
        report::write_text(profile, &options, &mut text).expect("a text");
        harmless(&text, by.name());
        if by == By::Site && profile.scopes().len() > 50 {
            // It is long, and its names are those of functions.
            continue;
        }
        let mut json = Vec::new();
        report::write_json(profile, &options, &mut json).expect("JSON");
        // The text is escaped as JSON, and stands for the recorded name.
        assert!(
            json.iter().all(|byte| *byte >= b' ' || *byte == b'\n'),
            "{}",
            by.name()
        );
        serde_json::from_slice::<serde_json::Value>(&json).expect("JSON");
    }
    for levels in Levels::ALL {
        let options = CallTreeOptions {
            levels,
            measure: Measure::Total,
            scopes: true,
            ..CallTreeOptions::default()
        };
        let mut picture = Vec::new();
        flamegraph::write_svg(profile, &options.into(), &mut picture).expect("a picture");
        let text = String::from_utf8(picture)
            .expect("UTF-8")
            .replace('\t', " ");
        harmless(text.as_bytes(), levels.name());
    }
}

fn within(recording: &Recording, phase: &str) -> Vec<Place> {
    let places = Places::of(recording);
    places.within(places.phase(phase))
}

#[test]
fn nesting_to_nine_tenths_of_what_a_format_bears_is_folded() {
    for format in ["json", "rmp-array", "cbor", "toml", "yaml"] {
        let (recording, _, printed) = record(&["deep", format]);
        let levels = number(&printed, "levels");
        println!(
            "{format}: gives up at {}, read at {levels}",
            number(&printed, "limit")
        );
        let within = within(&recording, "deep");
        let nest = at(&within, "Nest");
        assert_eq!(nest.flags & scope_flags::RECURSIVE, scope_flags::RECURSIVE);
        assert_eq!(nest.values, levels + 1);
        assert_eq!(at(&within, "Nest.inner").values, levels + 1);
        assert_eq!(at(&within, "Nest.name").values, levels + 1);
        assert_eq!(within.len(), 4, "{within:?}");
        assert_eq!(recording.header.lost_scopes, 0);
    }
}

#[test]
fn eighty_types_in_each_other_are_counted_at_the_deepest_there_is_room_for() {
    let (recording, _, printed) = record(&["types"]);
    let within = within(&recording, "types");
    let sums = total(&within);
    let found = (sums.total_bytes, sums.total_blocks);
    assert_eq!(
        found,
        (
            number(&printed, "total_bytes"),
            number(&printed, "total_blocks")
        )
    );
    assert!((60..=65).contains(&within.len()), "{} places", within.len());
    let deepest = within.last().expect("places");
    assert_eq!(
        deepest.flags & scope_flags::FOLDED,
        scope_flags::FOLDED,
        "{deepest:?}"
    );
    // The innermost text and the lists around it, as they were allocated.
    assert!(deepest.own.total_blocks > 10, "{deepest:?}");
}

#[test]
fn more_keys_than_there_may_be_scopes_and_one_of_64_kib_take_few_scopes_and_sum_up() {
    const KEYS: usize = 100_000;
    const { assert!(KEYS > MOST_SCOPES) };
    let (recording, _, printed) = record(&["keys", &KEYS.to_string()]);
    assert!(
        recording.scopes.len() < 100,
        "{} scopes",
        recording.scopes.len()
    );
    assert_eq!(recording.header.lost_scopes, 0);
    for phase in ["map", "flattened"] {
        let sums = total(&within(&recording, phase));
        let expected = ["bytes", "blocks"].map(|what| number(&printed, &format!("{phase}_{what}")));
        assert_eq!([sums.total_bytes, sums.total_blocks], expected, "{phase}");
        assert_eq!(sums.live_bytes(), 0, "{phase}");
    }
    let map = within(&recording, "map");
    assert_eq!(
        at(&map, "BTreeMap<String, String>{key}").values,
        KEYS as u64 + 2
    );
    let typed = within(&recording, "typed");
    assert!(typed.len() < 10, "{typed:?}");
}

#[test]
fn names_that_would_command_a_terminal_are_kept_and_shown_escaped() {
    let (recording, profile, _) = record(&["names"]);
    let places = Places::of(&recording);
    let within = places.within(places.phase("phase\n\u{1b}[2Jcleared"));
    let names: Vec<&str> = within.iter().map(|place| place.path.as_str()).collect();
    assert!(names.contains(&"Named.\u{1b}]0;title\u{7}"), "{names:?}");
    let long = within
        .iter()
        .find(|place| place.flags & scope_flags::CUT_NAME != 0);
    let long = long.expect("a name that was cut");
    assert!(
        long.path.len() <= "Named.".len() + 256,
        "{} bytes",
        long.path.len()
    );
    assert!(long.own.total_blocks >= 1, "{long:?}");
    assert!(
        profile
            .scopes()
            .iter()
            .any(|scope| scope.name.contains('\u{202e}'))
    );
}

#[test]
fn more_scopes_than_there_may_be_are_counted_further_out_and_told() {
    let (outer, inner) = (7, 3_000);
    let (recording, profile, printed) = record(&["phases", &outer.to_string(), &inner.to_string()]);
    assert!(recording.header.lost_scopes > 0);
    assert_eq!(profile.lost().scopes, recording.header.lost_scopes);
    let told = profile.losses().join("\n");
    assert!(
        told.contains("a phase or field did not fit in the recording"),
        "{told}"
    );
    // All bytes are there. Those without a scope of their own count further out, at last in no
    // phase.
    let bytes = total(&Places::of(&recording).within(0)).total_bytes;
    // The names of the inner phases are allocated in the outer ones.
    let names: usize = (0..inner).map(|inner| format!("inner-{inner}").len()).sum();
    let least =
        outer as u64 * inner as u64 * number(&printed, "person_bytes") + (outer * names) as u64;
    assert!(
        (least..least * 11 / 10).contains(&bytes),
        "{bytes} for {least}"
    );
}

/// Tests are built without optimization. With optimization it is a few hundred bytes; see the
/// documentation of `Profiled`.
#[test]
fn a_level_takes_little_more_stack_with_profiled_than_without() {
    let (_, _, printed) = record(&["stack", "2000"]);
    let (bare, profiled) = (number(&printed, "bare"), number(&printed, "profiled"));
    println!("bytes of stack a level: bare {bare}, profiled {profiled}");
    assert!(
        bare > 0 && profiled >= bare && profiled < bare * 4,
        "{printed}"
    );
}
