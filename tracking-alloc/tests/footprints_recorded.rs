//! Footprints as the recording keeps them.
#![cfg(all(target_os = "linux", target_env = "gnu", feature = "serde"))]

use serde::Serialize;
use std::collections::BTreeMap;
use tracking_alloc::{Recorder, footprint};
use tracking_alloc_recording::{FootprintNodeValue, Recording, footprint_kind, scope_kind};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

#[derive(Serialize)]
struct Fleet {
    name: String,
    vessels: Vec<Vessel>,
    ports: BTreeMap<u32, String>,
}

#[derive(Serialize)]
struct Vessel {
    name: String,
    home: (f64, f64),
    cargo: Cargo,
}

#[derive(Serialize)]
enum Cargo {
    Nothing,
    Goods { weights: Vec<u32> },
    Note(String),
}

fn fleet() -> Fleet {
    let vessel = |cargo| Vessel {
        name: "Beagle".to_owned(),
        home: (1.0, 2.0),
        cargo,
    };
    Fleet {
        name: "Royal".to_owned(),
        vessels: vec![
            vessel(Cargo::Nothing),
            vessel(Cargo::Goods {
                weights: vec![1, 2, 3],
            }),
            vessel(Cargo::Note("fragile".to_owned())),
        ],
        ports: (0..5).map(|n| (n, "port".to_owned())).collect(),
    }
}

/// Returns the paths with count, blocks and bytes, spelled as by `Profiled`.
fn paths(recording: &Recording, nodes: &[FootprintNodeValue]) -> Vec<(String, u64, u64, u64)> {
    let mut paths: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for node in nodes {
        let name = recording.string(node.name).unwrap_or_default();
        let step = match node.kind {
            scope_kind::ROOT => "Fleet".to_owned(),
            scope_kind::FIELD => format!(".{name}"),
            scope_kind::ELEMENT => "[]".to_owned(),
            scope_kind::KEY => "{key}".to_owned(),
            scope_kind::VALUE => "{value}".to_owned(),
            scope_kind::VARIANT => format!("::{name}"),
            scope_kind::INDEX => format!("#{name}"),
            other => panic!("no footprint has a node of kind {other}"),
        };
        let around = paths.get(node.parent as usize).cloned().unwrap_or_default();
        paths.push(around + &step);
        rows.push((
            paths[paths.len() - 1].clone(),
            node.count,
            node.blocks,
            node.block_bytes,
        ));
    }
    rows
}

#[test]
fn footprints_of_one_label_are_a_series_with_a_place_for_each_path() {
    assert_eq!(footprint("too early", &fleet()), None);
    let recorder = Recorder::start_in_memory().expect("a recording in memory");
    let mut value = fleet();
    let first = footprint("fleet", &value).expect("something records");
    value.name.push_str(&"!".repeat(100));
    let second = footprint("fleet", &value).expect("something records");
    #[cfg(feature = "deepsize")]
    let estimate = tracking_alloc::footprint_estimate("names", &vec!["Ada".to_owned()]);
    // Both footprints of a decoded value, in one call.
    #[cfg(feature = "deepsize")]
    let decoded = {
        let text = br#"["Ada","Grace"]"#;
        let decoded = serde_json::from_slice::<tracking_alloc::Profiled<Vec<String>>>(text);
        decoded.expect("names").footprint_estimate("decoded")
    };
    let bytes = recorder.finish_to_bytes().expect("a recording");
    assert_eq!(footprint("too late", &value), None);

    let recording = Recording::read(bytes.as_slice()).expect("readable");
    assert_eq!((recording.damage, recording.header.lost_records), (0, 0));
    assert_eq!(second.block_bytes, first.block_bytes + 100);
    let exact: Vec<_> = recording
        .footprints
        .iter()
        .filter(|footprint| {
            let fleet = recording.string(footprint.label).as_deref() == Some("fleet");
            fleet && footprint.kind == footprint_kind::EXACT
        })
        .collect();
    let [one, two] = exact.as_slice() else {
        panic!("two footprints: {}", exact.len())
    };
    assert!(one.time_ns <= two.time_ns && one.live_bytes >= first.block_bytes);
    assert_eq!((one.folded, two.folded), (0, 0));
    for footprint in [one, two] {
        assert_eq!(recording.string(footprint.label).as_deref(), Some("fleet"));
        let type_name = recording.string(footprint.type_name).unwrap_or_default();
        assert!(type_name.ends_with("::Fleet"), "{type_name}");
    }
    // Names are written once for the whole series.
    let names = |footprint: &tracking_alloc_recording::FootprintValue| {
        let own = &recording.footprint_nodes[footprint.first_node as usize..];
        let own = &own[..footprint.nodes as usize];
        own.iter()
            .map(|node| (node.name, node.type_name))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(one), names(two));
    let nodes = &recording.footprint_nodes[two.first_node as usize..][..two.nodes as usize];
    let (string, vessel) = (size_of::<String>() as u64, size_of::<Vessel>() as u64);
    let sum: u64 = nodes.iter().map(|node| node.block_bytes).sum();
    assert_eq!(sum, second.block_bytes);
    let leaf = nodes
        .iter()
        .find(|node| node.kind == scope_kind::KEY)
        .map(|key| key.parent);
    let tree = leaf.map_or(0, |parent| nodes[parent as usize].block_bytes);
    let row = |path: &str, count, blocks, bytes| (path.to_owned(), count, blocks, bytes);
    assert_eq!(
        paths(&recording, nodes),
        [
            row("Fleet", 1, 0, 0),
            row("Fleet.name", 1, 1, 105),
            row("Fleet.vessels", 1, 1, 3 * vessel),
            row("Fleet.vessels[]", 3, 0, 0),
            row("Fleet.vessels[].name", 3, 3, 18),
            row("Fleet.vessels[].home", 3, 0, 0),
            row("Fleet.vessels[].home#0", 3, 0, 0),
            row("Fleet.vessels[].home#1", 3, 0, 0),
            row("Fleet.vessels[].cargo", 3, 0, 0),
            row("Fleet.vessels[].cargo::Goods", 1, 0, 0),
            row("Fleet.vessels[].cargo::Goods.weights", 1, 1, 12),
            row("Fleet.vessels[].cargo::Goods.weights[]", 3, 0, 0),
            row("Fleet.vessels[].cargo::Note", 1, 1, 7),
            row("Fleet.ports", 1, 1, tree),
            row("Fleet.ports{key}", 5, 0, 0),
            row("Fleet.ports{value}", 5, 5, 20),
        ]
    );
    let inline = |path: &str| {
        let rows = paths(&recording, nodes);
        let index = rows.iter().position(|row| row.0 == path);
        nodes[index.unwrap_or_else(|| panic!("no place is called {path}"))].inline_bytes
    };
    assert_eq!(inline("Fleet.vessels[]"), 3 * vessel);
    assert_eq!(inline("Fleet.vessels[].home"), 3 * 16);
    assert_eq!(inline("Fleet.ports{value}"), 5 * string);
    assert_eq!(inline("Fleet.ports{key}"), 5 * 4);
    #[cfg(feature = "deepsize")]
    {
        let estimate = estimate.expect("something recorded");
        let kept = &recording.footprints[2];
        let node = recording.footprint_nodes[kept.first_node as usize];
        assert_eq!((kept.kind, kept.nodes), (footprint_kind::ESTIMATE, 1));
        assert_eq!(
            (node.block_bytes, node.inline_bytes),
            (estimate.block_bytes, 24)
        );
        assert_eq!(estimate.block_bytes, 24 + 3);

        let (exact, estimate) = decoded.expect("something recorded");
        // Room for four strings, and two texts. deepsize also counts the list by its capacity.
        assert_eq!((exact.blocks, exact.block_bytes), (3, 4 * 24 + 3 + 5));
        assert_eq!(estimate.block_bytes, 4 * 24 + 3 + 5);
        let kept = &recording.footprints[3..];
        let kinds: Vec<u32> = kept.iter().map(|kept| kept.kind).collect();
        assert_eq!(kinds, [footprint_kind::EXACT, footprint_kind::ESTIMATE]);
        for kept in kept {
            assert_eq!(recording.string(kept.label).as_deref(), Some("decoded"));
        }
    }
}
