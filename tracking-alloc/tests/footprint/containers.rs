//! Maps, sets and the other containers of the standard library.

use super::{bounded, exact, text};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

#[test]
fn btree_maps_count_with_their_inner_nodes() {
    exact(|| {
        (0..5_000u32)
            .map(|n| (n, n.to_string()))
            .collect::<BTreeMap<_, _>>()
    });
    exact(|| {
        (0..3_000u32)
            .map(|n| (text(n as usize % 40), [n; 3]))
            .collect::<BTreeMap<_, _>>()
    });
    exact(|| (0..999u64).collect::<BTreeSet<_>>());
    exact(BTreeMap::<String, String>::new);
}

#[test]
fn hash_maps_count_with_spare_buckets() {
    let found = exact(|| {
        let mut map: HashMap<u64, u64> = HashMap::with_capacity(1_000);
        map.extend((0..500).map(|n| (n, n)));
        map
    });
    assert_eq!((found.blocks, found.used_bytes), (1, 500 * 16));
    exact(|| {
        (0..2_000u32)
            .map(|n| (n.to_string(), vec![n; 3]))
            .collect::<HashMap<_, _>>()
    });
    exact(|| (0..700).map(|n| text(n % 90)).collect::<HashSet<_>>());
    // Nothing in it is shown.
    bounded(0, 1, || HashMap::<String, u32>::with_capacity(64));
    exact(HashMap::<String, String>::new);
}

#[test]
fn other_containers_count() {
    exact(|| {
        let mut queue: VecDeque<String> = (0..40).map(text).collect();
        queue.rotate_left(7);
        queue.pop_front();
        queue
    });
    exact(|| (0..40).map(text).collect::<LinkedList<_>>());
    exact(|| (0..40).map(text).collect::<BinaryHeap<_>>());
    exact(|| [text(3), text(30), text(300)]);
    exact(|| [[1u8; 40]; 3].map(Vec::from));
}

#[test]
fn bytes_seen_are_counted_by_the_size_of_what_was_seen() {
    #[derive(Serialize)]
    struct Row {
        name: String,
        age: u16,
        tags: Vec<String>,
    }
    let found = exact(|| {
        let mut rows = Vec::with_capacity(64);
        rows.extend((0..10).map(|n| Row {
            name: text(10),
            age: n,
            tags: vec![text(4)],
        }));
        rows
    });
    let each = size_of::<Row>() as u64;
    assert_eq!(found.block_bytes, 64 * each + 10 * (10 + 24 + 4));
    assert_eq!(found.used_bytes, 10 * each + 10 * (10 + 24 + 4));
}

#[test]
fn a_million_numbers_are_one_step() {
    let found = exact(|| vec![1u8; 50_000_000]);
    assert_eq!((found.blocks, found.used_bytes), (1, 50_000_000));
    // A table so large that a search for each bucket would take minutes.
    let found = exact(|| (0..300_000u64).map(|n| (n, n)).collect::<HashMap<_, _>>());
    assert_eq!(found.blocks, 1);
}
