//! The global allocator sees only the chunks of a load into an arena.

use super::source::{self, arena};
use serde::de::DeserializeSeed;
use tracking_alloc::arena::{ArenaSeed, Tracked};
use tracking_alloc::measure;

#[test]
fn the_global_allocator_sees_only_chunks() {
    let json = serde_json::to_string(&source::city(2000)).unwrap();
    let bump = bumpalo::Bump::new();
    let (stats, delta) = measure(|| {
        let tracked = Tracked::new("cities", &bump);
        let mut json = serde_json::Deserializer::from_str(&json);
        let city = ArenaSeed::<arena::City>::new(&tracked)
            .deserialize(&mut json)
            .unwrap();
        assert_eq!(city.citizens.len(), 2000);
        let stats = tracked.stats();
        drop(city);
        (stats, bump.allocated_bytes_including_metadata())
    });
    let (stats, with_metadata) = stats;
    // serde_json unescapes the city's name in a buffer of its own: one block, which grows and is
    // freed.
    let chunks =
        delta.total_blocks - delta.grows - delta.freed_blocks + delta.grows + delta.shrinks;
    assert_eq!(chunks, stats.chunks);
    assert_eq!(delta.live_bytes, with_metadata as i64);
    assert_eq!(delta.live_blocks, stats.chunks as i64);
    assert!(delta.freed_blocks <= 4, "{delta:?}");
}

#[test]
fn a_million_strings_are_tens_of_blocks() {
    let count = if cfg!(debug_assertions) {
        100_000
    } else {
        1_000_000
    };
    let strings: Vec<String> = (0..count)
        .map(|number| format!("string {number}"))
        .collect();
    let bytes = postcard::to_allocvec(&strings).unwrap();
    let (owned, global) = measure(|| postcard::from_bytes::<Vec<String>>(&bytes).unwrap());
    let bump = bumpalo::Bump::new();
    let (read, inside) = measure(|| {
        ArenaSeed::<bumpalo::collections::Vec<&str>>::new(&bump)
            .deserialize(&mut postcard::Deserializer::from_bytes(&bytes))
            .unwrap()
    });
    assert!(read.iter().eq(owned.iter()));
    assert!(global.total_blocks > count, "{global:?}");
    assert!(inside.total_blocks < 40, "{inside:?}");
}
