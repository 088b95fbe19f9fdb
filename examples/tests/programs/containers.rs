//! Containers of crates outside of the standard library, with their computed bytes. Built by
//! `tests/recorded/types.rs`.

use std::collections::BTreeMap;
use std::hint::black_box;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

#[derive(Clone, Hash, PartialEq, Eq)]
struct Sailor {
    id: u64,
    rank: u32,
}

fn sailor(at: usize) -> Sailor {
    Sailor {
        id: at as u64,
        rank: 1,
    }
}

/// Returns the bytes of a hash table that was created for `count` entries of `size` bytes.
fn table(count: usize, size: usize) -> usize {
    let buckets = (count * 8 / 7).next_power_of_two();
    (buckets * size).next_multiple_of(16) + buckets + 16
}

fn main() {
    let n = std::env::args().count() * 1000;
    let phase = tracking_alloc::phase("load");

    let mut map = indexmap::IndexMap::with_capacity(n);
    (0..n).for_each(|at| drop(map.insert(at as u64, sailor(at))));
    let mut set = indexmap::IndexSet::with_capacity(n);
    (0..n).for_each(|at| drop(set.insert(sailor(at))));
    let mut brown = hashbrown::HashMap::with_capacity(n);
    (0..n).for_each(|at| drop(brown.insert(at as u64, sailor(at))));
    let mut brown_set = hashbrown::HashSet::with_capacity(n);
    (0..n).for_each(|at| drop(brown_set.insert(sailor(at))));
    let mut small: smallvec::SmallVec<[Sailor; 4]> = smallvec::SmallVec::new();
    (0..n).for_each(|at| small.push(sailor(at)));
    let bump = bumpalo::Bump::new();
    (0..n).for_each(|at| drop(black_box(bump.alloc(sailor(at)))));
    black_box((&map, &set, &brown, &brown_set, &small));
    drop(phase);
    let spilled: usize = (3..)
        .map(|shift| 16 << shift)
        .take_while(|bytes| *bytes < 32 * n)
        .sum();
    let types = BTreeMap::from([
        (
            "indexmap::map::IndexMap<u64, containers::Sailor>",
            32 * n + table(n, 8),
        ),
        (
            "indexmap::set::IndexSet<containers::Sailor>",
            24 * n + table(n, 8),
        ),
        (
            "hashbrown::map::HashMap<u64, containers::Sailor>",
            table(n, 24),
        ),
        ("hashbrown::set::HashSet<containers::Sailor>", table(n, 16)),
        ("smallvec::SmallVec<[containers::Sailor; 4]>", spilled),
        ("bumpalo::Bump", bump.allocated_bytes_including_metadata()),
    ]);
    println!("{{\"types\": {types:?}}}");
}
