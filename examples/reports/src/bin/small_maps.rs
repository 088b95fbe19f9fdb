//! Every entity has its own map of attributes, nearly always with one entry.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use std::collections::{BTreeMap, HashMap};

struct Entity {
    attrs: BTreeMap<String, String>,
    index: HashMap<u64, [u8; 40]>,
}
fn entity(n: u64) -> Entity {
    let mut e = Entity {
        attrs: BTreeMap::new(),
        index: HashMap::new(),
    };
    e.attrs.insert("k".into(), format!("{n}"));
    e.index.insert(n, [0; 40]);
    e
}
fn world(n: u64) -> Vec<Entity> {
    (0..n).map(entity).collect()
}
fn main() {
    let w = world(60_000);
    println!(
        "{} {}",
        w.len(),
        w.iter()
            .map(|e| e.attrs.len() + e.index.len())
            .sum::<usize>()
    );
}
