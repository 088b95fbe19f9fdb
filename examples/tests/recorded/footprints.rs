//! Live values, measured by their addresses and compared with the recorder's count of their
//! creation. They agree to the byte, even where deepsize is far off.

use crate::common::places::{Place, Places, step, total};
use crate::common::{Target, assert_consistent, number};
use heapglass_examples::recorded;
use heapglass_limits::Command;
use std::collections::BTreeMap;
use tracking_alloc_recording::{FootprintValue, Recording};

/// Returns the cargo metadata of this workspace, which is the input of the demo.
fn metadata() -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The dependencies of other platforms may not have been fetched.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    command
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", &platform]);
    let output = command.output().expect("cargo starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    output.stdout
}

/// Compares the same places by both methods: the bytes that stayed there according to `Profiled`,
/// and the bytes that the value retains. Prints the differences, which are values that serialize as
/// text.
fn by_field(recording: &Recording, read: &[Place]) {
    let mut live: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    for place in read {
        live.entry(&place.path).or_default()[0] += place.own.live_bytes();
    }
    let label = |footprint: &&FootprintValue| {
        recording.string(footprint.label).as_deref() == Some("metadata")
    };
    let footprint = recording
        .footprints
        .iter()
        .find(label)
        .expect("a footprint");
    let first = footprint.first_node as usize;
    let nodes = &recording.footprint_nodes[first..first + footprint.nodes as usize];
    let mut paths: Vec<String> = Vec::new();
    for node in nodes {
        let text = |string| recording.string(string).unwrap_or_default();
        let step = step(node.kind, &text(node.name), "Metadata");
        let outer = paths.get(node.parent as usize).cloned().unwrap_or_default();
        paths.push(outer + &step);
    }
    for (path, node) in paths.iter().zip(nodes) {
        live.entry(path).or_default()[1] += node.block_bytes as i64;
    }
    for (path, [read, found]) in live {
        if read != found {
            println!("{read:>9} {found:>9}  {path}");
        }
    }
}

#[test]
fn what_values_retain_is_found_to_the_byte() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), metadata()).expect("written");
    let path = file.path().to_str().expect("a path in UTF-8");
    let mut target = Target::new(env!("CARGO_BIN_EXE_footprints"), &[path]);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    let places = Places::of(&recording);
    let line = |label: &str| {
        let found = printed
            .lines()
            .find(|line| line.split(' ').next() == Some(label));
        found.unwrap_or_else(|| panic!("{label} is not in {printed}"))
    };
    let live = |label: &str| {
        let live = total(&places.within(places.phase(label)));
        (live.live_bytes() as u64, live.live_blocks() as u64)
    };
    println!(
        "{:<12} {:>9} {:>9} {:>9}  off by",
        "value", "retained", "footprint", "deepsize"
    );
    for label in ["b_tree_map", "hash_map", "shared_arc", "rc_str", "slack"] {
        let found = (
            number(line(label), "block_bytes"),
            number(line(label), "blocks"),
        );
        let estimate = number(line(&format!("{label}-estimate")), "block_bytes");
        let off = (estimate as f64 / live(label).0 as f64 - 1.0) * 100.0;
        println!(
            "{label:<12} {:>9} {:>9} {estimate:>9}  {off:+.1} %",
            live(label).0,
            found.0
        );
        assert_eq!(found, live(label), "{label}: found (left) and live (right)");
        assert!(number(line(label), "usable_bytes") >= found.0, "{label}");
    }
    // deepsize is known to be off here, so its column must differ.
    for label in ["b_tree_map", "hash_map", "rc_str"] {
        let estimate = number(line(&format!("{label}-estimate")), "block_bytes");
        assert!(estimate * 10 < live(label).0 * 9, "{label}: {estimate}");
    }
    // Each of ten texts is met a hundred times: its shared block and the text's own.
    assert_eq!(
        number(line("shared_arc"), "shared_blocks"),
        2 * (1_000 - 10)
    );
    for label in ["metadata", "city", "fleet", "value"] {
        let found = number(line(label), "block_bytes");
        let (bytes, blocks) = live(label);
        println!(
            "{label:<12} {bytes:>9} {found:>9} {:>9}  {:.3} % of bytes, {} of {blocks} blocks",
            "-",
            found as f64 / bytes as f64 * 100.0,
            number(line(label), "blocks")
        );
        assert!(found <= bytes, "{label}: {found} of {bytes}");
        let hidden_values = number(line(label), "hidden_values");
        if label == "metadata" {
            // Version requirements serialize as text. So they are hidden, and the figure says so.
            assert!(hidden_values > 0, "{label}");
            assert!(found * 100 >= bytes * 93, "{label}: {found} of {bytes}");
        } else {
            assert_eq!(found == bytes, hidden_values == 0, "{label}");
            assert!(found * 100 >= bytes * 99, "{label}: {found} of {bytes}");
        }
    }
    assert_eq!(recording.header.lost_records, 0);
    by_field(&recording, &places.within(places.phase("metadata")));
}
