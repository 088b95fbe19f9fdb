//! Rare variants that make enums large: what is predicted is what a program with boxes has less.

use super::*;
use crate::snapshot::LargeVariants;

const VARIANTS: &str = include_str!("programs/variants.rs");
/// Values of each list.
const COUNT: u64 = 2000;

/// Returns the enums with large variants, and the bytes of all blocks.
fn found(flags: &[&str]) -> (Vec<LargeVariants>, u64) {
    let run = Run::new(VARIANTS, COUNT as usize, flags);
    let (analysis, layouts) = run.analysed(run.dump.heap(), &[]);
    let heap = analysis.heap();
    let bytes = (0..heap.len()).map(|block| heap.size(block)).sum();
    let found = layouts.large_variants(heap);
    for large in &found {
        let name = match large.type_name.as_str() {
            "Message" => "messages",
            "Event" => "events",
            "Node" => "nodes",
            _ => continue,
        };
        assert_eq!(large.value_bytes, run.truth(name), "{large:?}");
    }
    (found, bytes)
}

fn assert_true(level: &str) {
    let (large, before) = found(&[level]);
    let (left, after) = found(&[level, "--cfg", "remedy"]);
    assert_eq!(left, [], "{level}");
    let of = |name: &str| {
        let found = large.iter().find(|large| large.type_name == name);
        found.unwrap_or_else(|| panic!("{level} {name}: {large:#?}"))
    };
    let message = of("Message");
    assert_eq!(
        (message.krate.as_str(), &message.variants[..]),
        ("program", &["Video".to_owned()][..])
    );
    assert_eq!((message.variant_bytes, message.others_bytes), (160, 24));
    assert_eq!((message.values, message.large_values), (COUNT, COUNT / 100));
    assert_eq!(message.places, COUNT / 4 * 5);
    // The compiler hides the tag of the smaller one in the text.
    assert_eq!((message.value_bytes, message.boxed_bytes), (168, 32));
    let event = of("Event");
    assert_eq!((event.large_values, event.others_bytes), (COUNT / 50, 16));
    assert_eq!((event.value_bytes, event.boxed_bytes), (160, 24));
    let node = of("Node");
    assert_eq!(node.variants, ["Wide", "Half"]);
    assert_eq!((node.value_bytes, node.boxed_bytes), (244, 16));
    assert_eq!(node.large_values, COUNT / 100 * 3);
    let maybe = of("Option<[u64; 30]>");
    assert_eq!((maybe.value_bytes, maybe.boxed_bytes), (248, 8));
    assert_eq!(large.len(), 4, "{level}: {large:#?}");

    // Only the messages may get smaller than is said, by the tag.
    let predicted: u64 = large.iter().map(|large| large.saves_bytes).sum();
    let saved = before - after;
    let less = (message.boxed_bytes - 24) * message.places;
    assert_eq!(predicted + less, saved, "{level}");
}

#[test]
fn boxes_of_large_variants_save_what_is_said() {
    assert_true("-Copt-level=0");
}

#[test]
fn boxes_of_large_variants_save_what_is_said_in_optimized_code() {
    assert_true("-Copt-level=2");
}
