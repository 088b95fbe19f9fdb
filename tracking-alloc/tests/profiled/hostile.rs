//! Data that tries to exhaust the table of scopes.

use crate::recorded::recorded;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;
use std::hint::black_box;
use std::marker::PhantomData;
use tracking_alloc::{Profiled, phase};
use tracking_alloc_recording::scope_flags;

/// Reads a tuple of 5,000 strings.
struct Wide;

impl<'de> Deserialize<'de> for Wide {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_tuple(5000, Wide)
    }
}

impl<'de> Visitor<'de> for Wide {
    type Value = Wide;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Wide, A::Error> {
        while let Some(text) = access.next_element::<String>()? {
            black_box(text);
        }
        Ok(Wide)
    }
}

#[test]
fn places_beyond_four_thousand_under_one_are_counted_together() {
    let recorded = recorded(
        "hostile::places_beyond_four_thousand_under_one_are_counted_together",
        || {
            let text = serde_json::to_string(&vec!["x"; 5000]).expect("JSON");
            black_box(serde_json::from_str::<Profiled<Wide>>(&text).expect("a tuple"));
            std::process::exit(0);
        },
    );
    assert!(recorded.recording.scopes.len() < 4200);
    let indexed: u64 = recorded
        .places
        .iter()
        .filter(|(path, _)| path.starts_with("Wide#"))
        .map(|(_, place)| place.total_blocks)
        .sum();
    let other = recorded.at("Wide(other)");
    assert_eq!(indexed + other.total_blocks, 5000);
    assert!((900..=1100).contains(&other.total_blocks), "{other:?}");
}

#[test]
fn a_million_keys_of_a_map_are_two_places() {
    let recorded = recorded("hostile::a_million_keys_of_a_map_are_two_places", || {
        let text = (0..50_000)
            .map(|key| format!("\"{key}\\u0007\":\"\""))
            .collect::<Vec<_>>();
        let text = format!("{{\"{}\":\"\",{}}}", "k".repeat(65_536), text.join(","));
        let map = serde_json::from_str::<Profiled<HashMap<String, String>>>(&text);
        assert_eq!(map.expect("a map").0.len(), 50_001);
        std::process::exit(0);
    });
    assert_eq!(recorded.at("String>{key}").visits, 50_001);
    assert!(recorded.recording.scopes.len() < 10);
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Long {
    #[serde(
        rename = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaéé"
    )]
    odd: String,
    #[serde(
        rename = "ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééxé"
    )]
    even: String,
    #[serde(flatten)]
    rest: HashMap<String, String>,
}

#[test]
fn long_names_are_cut_at_a_character() {
    let recorded = recorded("hostile::long_names_are_cut_at_a_character", || {
        let text = serde_json::to_string(&Long {
            odd: "x".to_owned(),
            even: "y".to_owned(),
            rest: HashMap::new(),
        });
        black_box(serde_json::from_str::<Profiled<Long>>(&text.expect("JSON")).expect("a value"));
        std::process::exit(0);
    });
    let mut names: Vec<String> = recorded
        .recording
        .scopes
        .iter()
        .filter(|scope| scope.flags & scope_flags::CUT_NAME != 0)
        .filter_map(|scope| recorded.recording.string(scope.name))
        .collect();
    names.sort();
    assert_eq!(names, ["a".repeat(255), "é".repeat(128)]);
}

#[test]
fn a_full_table_loses_places_and_no_bytes() {
    let recorded = recorded("hostile::a_full_table_loses_places_and_no_bytes", || {
        for number in 0..65_600 {
            drop(phase(&format!("{number}")));
        }
        let (before, text) = (tracking_alloc::stats(), r#"["one", "two", "three"]"#);
        black_box(serde_json::from_str::<Profiled<Vec<String>>>(text).expect("a list"));
        let blocks = tracking_alloc::stats().total_blocks - before.total_blocks;
        assert_eq!(blocks, 4);
        std::process::exit(0);
    });
    assert_eq!(recorded.recording.scopes.len(), 65_536);
    assert!(!recorded.places.keys().any(|path| path.contains("String")));
    // 65 phases, the root, and each of its three elements.
    assert_eq!(recorded.recording.header.lost_scopes, 65 + 1 + 3);
}

/// A chain of different types, nested in each other.
struct Chain<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Chain<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_seq(Chain(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Chain<T> {
    type Value = Chain<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chain")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self, A::Error> {
        while access.next_element::<T>()?.is_some() {}
        Ok(Chain(PhantomData))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self, A::Error> {
        Ok(Chain(PhantomData))
    }
}

type Two<T> = Chain<(Chain<T>,)>;
type Eight<T> = Two<Two<T>>;
type Deep = Eight<Eight<Eight<Eight<Eight<Eight<Eight<Eight<Eight<Eight<String>>>>>>>>>>;

#[test]
fn what_lies_too_deep_is_counted_at_its_ancestor() {
    let recorded = recorded(
        "hostile::what_lies_too_deep_is_counted_at_its_ancestor",
        || {
            let text = format!("{}\"deep\"{}", "[".repeat(60), "]".repeat(60));
            let _phase = phase("one");
            let _phase = phase("two");
            let _phase = phase("three");
            let _phase = phase("four");
            let _phase = phase("five");
            let _phase = phase("six");
            black_box(serde_json::from_str::<Profiled<Deep>>(&text).expect("a chain"));
            std::process::exit(0);
        },
    );
    let deepest = recorded
        .recording
        .scopes
        .iter()
        .map(|scope| scope.depth)
        .max();
    assert_eq!(deepest, Some(64));
    assert_eq!(recorded.recording.header.lost_scopes, 0);
    let folded: Vec<_> = recorded
        .places
        .values()
        .filter(|place| place.flags & scope_flags::FOLDED != 0)
        .collect();
    assert_eq!(folded.len(), 1, "{}", recorded.table());
    assert_eq!((folded[0].total_bytes, folded[0].visits), (4, 1));
}

/// Returns the path of a forked child's recording, next to that of its parent.
fn beside(parent: &std::path::Path) -> std::path::PathBuf {
    parent.with_extension("child")
}

#[test]
fn a_forked_childs_recording_has_types_and_fields_of_its_own() {
    const TEST: &str = "hostile::a_forked_childs_recording_has_types_and_fields_of_its_own";
    fn read() {
        black_box(serde_json::from_str::<Profiled<Vec<String>>>(r#"["a", "b"]"#).expect("JSON"));
    }
    let recorded = recorded(TEST, || {
        // This makes strings of the two recordings lie at different places.
        drop(phase("only in the parent"));
        read();
        let out = std::env::var_os("HEAPGLASS_OUT").expect("a path");
        // SAFETY: the child ends here, and the other thread waits for this one.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let path = beside(out.as_ref());
                let recorder = tracking_alloc::Recorder::start(path).expect("it records");
                read();
                recorder.finish().expect("it was recording");
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert_eq!(status, 0, "the child failed");
        }
    });
    let name = format!(
        "profiled-{}-{}.hg",
        std::process::id(),
        TEST.replace(':', "-")
    );
    let path = beside(&std::env::temp_dir().join(name));
    let child = tracking_alloc_recording::Recording::open(&path).expect("a recording");
    std::fs::remove_file(&path).expect("its file");
    let fields = |recording: &tracking_alloc_recording::Recording| -> Vec<_> {
        let scopes = recording.scopes[1..].iter();
        let of_data =
            scopes.filter(|scope| scope.kind != tracking_alloc_recording::scope_kind::PHASE);
        of_data
            .map(|scope| {
                (
                    recording.string(scope.type_name),
                    scope.depth,
                    scope.entered,
                )
            })
            .collect()
    };
    let (parent, child) = (fields(&recorded.recording), fields(&child));
    assert!(parent.len() >= 2, "{parent:?}");
    assert_eq!(parent, child);
}

#[test]
fn values_read_during_a_pause_are_not_counted() {
    let recorded = recorded(
        "hostile::values_read_during_a_pause_are_not_counted",
        || {
            let read =
                |text| black_box(serde_json::from_str::<Profiled<Vec<u8>>>(text).expect("JSON"));
            read("[1, 2, 3]");
            let recorder = tracking_alloc::Recorder::current().expect("it records");
            recorder.pause();
            read("[4, 5]");
            recorder.resume();
            read("[6]");
        },
    );
    assert_eq!(recorded.at("Vec<u8>").visits, 2);
}
