//! Workloads counted by several instruments over the same window: heapglass, dhat-rs, stats_alloc,
//! and arithmetic.
//!
//! Each runs in a process of its own. Its input is prepared before the window, and its result lives
//! longer than the window.

use crate::data::Fleet;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::any::Any;
use std::collections::{BTreeMap, HashMap};

/// A workload: its name, and a function of the input.
pub type Workload = (&'static str, fn(&[u8]) -> Box<dyn Any>);

/// All workloads.
pub const WORKLOADS: &[Workload] = &[
    ("vec_growth", vec_growth),
    ("hash_map", hash_map),
    ("b_tree_map", b_tree_map),
    ("boxes", boxes),
    ("realloc_up", realloc_up),
    ("realloc_down", realloc_down),
    ("realloc_same", realloc_same),
    ("realloc_failed", realloc_failed),
    ("zeroed", zeroed),
    ("aligned", aligned),
    ("zero_sized", zero_sized),
    ("equal_peaks", equal_peaks),
    ("large_blocks", large_blocks),
    ("json", json),
];

/// Returns the input of every workload: JSON of a small fleet.
///
/// # Panics
/// Never, because a fleet is JSON.
pub fn input() -> Vec<u8> {
    serde_json::to_vec(&Fleet::generate(40, 7)).expect("a fleet is JSON")
}

/// Returns the workload of that name.
///
/// # Panics
/// If there is none.
pub fn workload(name: &str) -> fn(&[u8]) -> Box<dyn Any> {
    WORKLOADS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap_or_else(|| panic!("no workload is called {name:?}"))
        .1
}

fn vec_growth(_: &[u8]) -> Box<dyn Any> {
    let mut kept = Vec::new();
    for length in 0..200usize {
        let mut numbers = Vec::new();
        (0..length).for_each(|number| numbers.push(number));
        if length % 3 == 0 {
            kept.push(numbers);
        }
    }
    kept.truncate(40);
    Box::new(kept)
}

fn hash_map(_: &[u8]) -> Box<dyn Any> {
    let mut map = HashMap::new();
    (0..3_000u32).for_each(|number| {
        map.insert(number, number.to_string());
    });
    (0..2_500).for_each(|number| {
        map.remove(&number);
    });
    map.shrink_to_fit();
    Box::new(map)
}

fn b_tree_map(_: &[u8]) -> Box<dyn Any> {
    let mut map = BTreeMap::new();
    (0..3_000u64).for_each(|number| {
        map.insert(
            number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            format!("{number:>20}"),
        );
    });
    while map.len() > 100 {
        map.pop_first();
    }
    Box::new(map)
}

fn boxes(_: &[u8]) -> Box<dyn Any> {
    let mut kept: Vec<Box<dyn Any>> = Vec::new();
    for number in 0..1_000u64 {
        kept.push(Box::new(number));
        kept.push(Box::new([number; 7]));
        if number % 5 == 0 {
            kept.pop();
            kept.remove(0);
        }
    }
    Box::new(kept)
}

/// A block as the allocator sees it. It is freed on drop.
struct Raw(*mut u8, Layout);

impl Raw {
    fn new(bytes: usize, align: usize, zeroed: bool) -> Raw {
        let layout = Layout::from_size_align(bytes, align).expect("a layout");
        // SAFETY: the layout is not empty.
        let block = unsafe {
            if zeroed {
                alloc_zeroed(layout)
            } else {
                alloc(layout)
            }
        };
        assert!(!block.is_null());
        Raw(block, layout)
    }

    /// Returns `false` if the allocator refused. Then nothing has changed.
    fn resize(&mut self, bytes: usize) -> bool {
        // SAFETY: the block has this layout, and the new size is not 0.
        let new = unsafe { realloc(self.0, self.1, bytes) };
        if new.is_null() {
            return false;
        }
        self.0 = new;
        self.1 = Layout::from_size_align(bytes, self.1.align()).expect("a layout");
        true
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the block is live and has this layout.
        unsafe { dealloc(self.0, self.1) };
    }
}

fn realloc_up(_: &[u8]) -> Box<dyn Any> {
    let mut blocks: Vec<Raw> = (1..100).map(|bytes| Raw::new(bytes, 8, false)).collect();
    for round in 2..20 {
        blocks
            .iter_mut()
            .for_each(|block| assert!(block.resize(block.1.size() + round * 13)));
    }
    blocks.truncate(50);
    Box::new(blocks)
}

fn realloc_down(_: &[u8]) -> Box<dyn Any> {
    let mut blocks: Vec<Raw> = (1..100)
        .map(|bytes| Raw::new(bytes * 100, 8, false))
        .collect();
    blocks
        .iter_mut()
        .for_each(|block| assert!(block.resize(block.1.size() / 2)));
    blocks.truncate(50);
    blocks.iter_mut().for_each(|block| assert!(block.resize(1)));
    Box::new(blocks)
}

fn realloc_same(_: &[u8]) -> Box<dyn Any> {
    let mut blocks: Vec<Raw> = (1..100)
        .map(|bytes| Raw::new(bytes * 3, 8, false))
        .collect();
    blocks
        .iter_mut()
        .for_each(|block| assert!(block.resize(block.1.size())));
    Box::new(blocks)
}

fn realloc_failed(_: &[u8]) -> Box<dyn Any> {
    let mut blocks: Vec<Raw> = (1..50).map(|bytes| Raw::new(bytes * 3, 8, false)).collect();
    // More than any address space holds.
    blocks
        .iter_mut()
        .for_each(|block| assert!(!block.resize(1 << 60)));
    blocks.truncate(20);
    blocks
        .iter_mut()
        .for_each(|block| assert!(block.resize(500)));
    Box::new(blocks)
}

fn zeroed(_: &[u8]) -> Box<dyn Any> {
    let small: Vec<Raw> = (1..100).map(|bytes| Raw::new(bytes * 5, 1, true)).collect();
    let large = vec![0u64; 100_000];
    drop(vec![0u8; 1 << 20]);
    Box::new((small, large))
}

fn aligned(_: &[u8]) -> Box<dyn Any> {
    let mut kept = Vec::new();
    for align in [1, 2, 4, 8, 16, 64, 512, 4096] {
        (1..20).for_each(|bytes| kept.push(Raw::new(bytes * 7, align, bytes % 2 == 0)));
        kept.iter_mut()
            .rev()
            .take(5)
            .for_each(|block: &mut Raw| assert!(block.resize(block.1.size() * 2)));
        kept.truncate(kept.len() - 3);
    }
    Box::new(kept)
}

fn zero_sized(_: &[u8]) -> Box<dyn Any> {
    let nothing: Vec<Box<()>> = (0..100).map(|_| Box::new(())).collect();
    Box::new((nothing, vec![(); 1000], String::new()))
}

fn equal_peaks(_: &[u8]) -> Box<dyn Any> {
    let floor = vec![1u8; 5_000];
    for round in 0..50 {
        // The same maximum several times, made of different blocks. The latest counts.
        let pieces: Vec<Vec<u8>> = (0..10)
            .map(|piece| vec![0u8; if (piece + round) % 2 == 0 { 100 } else { 300 }])
            .collect();
        drop(pieces);
        drop(vec![0u8; 2_240]);
    }
    Box::new(floor)
}

fn large_blocks(_: &[u8]) -> Box<dyn Any> {
    let mut kept = Vec::new();
    for round in 1..40usize {
        kept.push(vec![0u8; round * 10_000]);
        if round % 4 == 0 {
            kept.remove(0);
            kept.iter_mut()
                .for_each(|block| block.reserve_exact(50_000));
            kept.iter_mut().for_each(Vec::shrink_to_fit);
        }
    }
    kept.truncate(3);
    Box::new(kept)
}

fn json(input: &[u8]) -> Box<dyn Any> {
    let fleet: Fleet = serde_json::from_slice(input).expect("JSON of a fleet");
    let value: serde_json::Value = serde_json::from_slice(input).expect("JSON");
    drop(value);
    Box::new(fleet)
}
