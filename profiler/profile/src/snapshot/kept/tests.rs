//! Snapshots that are kept, against the arrays that they were made of.

use super::super::tests::{ByWord, OWNING};
use super::super::{Analysis, Heap, HeapBuilder, Holder, Mark, Memory, analyse};
use super::make::pruned;
use super::*;
use proptest::prelude::*;
use std::io;

/// A heap whose block `n` is at `64 * (n + 1)` and has the words of its edges, one block each.
struct Edges(Vec<Vec<usize>>);

impl Edges {
    fn address(block: usize) -> u64 {
        0x1000 + 256 * block as u64
    }

    fn word(&self, address: u64) -> u64 {
        let at = |list: &[usize], from: u64| {
            let target = list.get(((address - from) / 8) as usize);
            target.map_or(0, |&target| Edges::address(target))
        };
        if address < 0x1000 {
            // The root holds the first block and the last one.
            return at(&[0, self.0.len() - 1], 0x100);
        }
        let block = ((address - 0x1000) / 256) as usize;
        self.0
            .get(block)
            .map_or(0, |list| at(list, Edges::address(block)))
    }
}

impl Memory for Edges {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (place, byte) in (address..).zip(buffer) {
            *byte = if place < 0x100 {
                0
            } else {
                self.word(place & !7).to_le_bytes()[(place & 7) as usize]
            };
        }
        Ok(())
    }
}

fn analysed(edges: Vec<Vec<usize>>, sites: &[u32]) -> Analysis {
    let mut heap = HeapBuilder::default();
    heap.root(RootKind::Segment, 0, 0x100..0x110);
    for (block, list) in edges.iter().enumerate() {
        let size = (8 * list.len() as u64).max(8);
        let site = sites[block % sites.len()];
        heap.block(Edges::address(block), size, site, block as u64 + 1);
    }
    let heap: Heap = heap.finish();
    analyse(heap, &Edges(edges), &OWNING, &|_| ())
}

fn kept(analysis: &Analysis) -> Snapshot {
    let outside = [Outside::new("statics")];
    Snapshot::of(analysis, &OWNING, &outside, Moment::default(), Basis::Types)
}

/// Retained bytes of a group by the definition: the bytes of all blocks that have a holder of the
/// group, or belong to it.
fn retained(analysis: &Analysis, is_member: impl Fn(u32) -> bool) -> u64 {
    let heap = analysis.heap();
    let is_below = |block: usize| {
        let mut at = block;
        loop {
            if is_member(heap.block(at).site) {
                return true;
            }
            match analysis.holder(at) {
                Holder::Block(holder) => at = holder,
                _ => return false,
            }
        }
    };
    let blocks = (0..heap.len()).filter(|&block| is_below(block));
    blocks.map(|block| heap.block(block).size).sum()
}

proptest! {
    #[test]
    fn retained_bytes_of_any_groups_of_sites_are_those_of_the_blocks(
        edges in prop::collection::vec(prop::collection::vec(0..40_usize, 0..4), 1..40),
        sites in prop::collection::vec(0..6_u32, 1..8),
        most in 4..60_usize,
    ) {
        let blocks = edges.len();
        let edges: Vec<Vec<usize>> = edges
            .into_iter()
            .map(|list| list.into_iter().filter(|&to| to < blocks).collect())
            .collect();
        let analysis = analysed(edges, &sites);
        let snapshot = kept(&analysis);
        let groups: [fn(u32) -> Option<usize>; 2] =
            [|site| Some(site as usize), |site| (site < 4).then_some(site as usize / 2)];
        for group in groups {
            for (number, bytes) in snapshot.retained_bytes(6, group).into_iter().enumerate() {
                prop_assert_eq!(bytes, retained(&analysis, |site| group(site) == Some(number)));
            }
        }
        let total: u64 = snapshot.by_site(6).iter().map(|held| held.bytes).sum();
        prop_assert_eq!(total, snapshot.bytes());
        prop_assert_eq!(snapshot.held()[0].bytes, snapshot.bytes());
        // A table of a recording is the snapshot again.
        let again = Snapshot::parse(&Snapshot::table(std::slice::from_ref(&snapshot)));
        prop_assert_eq!(again.as_ref().map(Vec::as_slice), Ok(std::slice::from_ref(&snapshot)));
        // Without small holders, figures by site stay and retained bytes are bounds.
        let cut = Snapshot {
            holders: pruned(snapshot.holders.clone(), most),
            ..snapshot.clone()
        };
        prop_assert!(cut.holders.len() <= most + 2);
        prop_assert_eq!(cut.by_site(6), snapshot.by_site(6));
        let all = |site: u32| Some(site as usize);
        let (bounds, exact) = (cut.retained_bytes(6, all), snapshot.retained_bytes(6, all));
        prop_assert!(bounds.iter().zip(&exact).all(|(bound, exact)| bound <= exact));
        for (number, node) in cut.holders.iter().enumerate().skip(1) {
            prop_assert!((node.parent as usize) < number);
        }
    }
}

#[test]
fn sites_that_alternate_are_one_path() {
    // 0 holds 1, which holds 2, which holds 3: sites 7, 8, 7, 8; the last block is alone.
    let edges = vec![vec![1], vec![2], vec![3], vec![], vec![]];
    let snapshot = kept(&analysed(edges, &[7, 8]));
    let names: Vec<_> = snapshot
        .holders()
        .iter()
        .map(|node| node.name.clone())
        .collect();
    let site = |site, label: &str| HolderName::Site(Some(site), label.to_owned());
    let root = HolderName::Outside(RootKind::Segment, "statics".to_owned());
    assert_eq!(
        names,
        [HolderName::Whole, root, site(7, "even"), site(8, "odd")]
    );
    let held = snapshot.held();
    assert_eq!((held[2].blocks, held[2].bytes), (5, 40));
    assert_eq!((held[3].blocks, held[3].bytes), (3, 24));
}

#[test]
fn hostile_tables_are_errors() {
    for (text, what) in [
        ("", "EOF"),
        ("{}", "missing field"),
        (r#"{"format":9,"snapshots":[]}"#, "format 9"),
        (
            r#"{"format":1,"snapshots":[{"holders":[{"parent":0},{"parent":1}]}]}"#,
            "holder 1 has holder 1",
        ),
        (
            r#"{"format":1,"snapshots":[{"holders":[{"parent":4000000000}]}]}"#,
            "holder 0 has holder 4000000000",
        ),
    ] {
        let error = Snapshot::parse(text.as_bytes()).expect_err(text);
        assert!(error.contains(what), "{text}: {error}");
    }
    let sums = r#"{"format":1,"snapshots":[{"holders":[{"own":[
        {"site":4000000000,"bytes":18446744073709551615},
        {"site":0,"bytes":18446744073709551615}]}]}, {}]}"#;
    let snapshots = Snapshot::parse(sums.as_bytes()).expect("readable");
    assert_eq!(snapshots[0].held()[0].bytes, u64::MAX);
    assert_eq!(snapshots[0].by_site(1)[0].bytes, u64::MAX);
    assert_eq!(snapshots[0].retained_bytes(1, |_| Some(0)), [u64::MAX]);
    assert_eq!(snapshots[1].held().len(), 1);
}

#[test]
fn a_neighbour_is_the_block_that_is_visited_before() {
    // The first block owns blocks 3, 1 and 2 in this order; block 2 owns a block of its own site.
    let edges = vec![vec![3, 1, 2], vec![], vec![4], vec![], vec![], vec![]];
    let analysis = analysed(edges, &[0, 1, 1, 1, 1, 0]);
    let held = kept(&analysis).by_site(2);
    let of = |site: u32| {
        let found = held.iter().find(|held| held.site == Some(site));
        found.expect("a site").neighbours
    };
    assert_eq!(of(0), Neighbours::default());
    // Blocks lie 256 bytes apart.
    let expected = Neighbours {
        pairs: 4,
        line: 0,
        page: 4,
        backwards: 1,
    };
    assert_eq!(of(1), expected);
}

#[test]
fn the_first_block_of_a_list_comes_after_the_list() {
    let list = |from: usize| vec![from, from + 2, from + 4];
    let edges = vec![vec![1, 3], list(5), vec![], list(11), vec![]];
    let edges: Vec<Vec<usize>> = edges.into_iter().chain(vec![vec![]; 13]).collect();
    let sites: Vec<u32> = (0..18)
        .map(|block| [0, 1, 0, 1, 0].get(block).copied().unwrap_or(2))
        .collect();
    let held = kept(&analysed(edges, &sites)).by_site(3);
    let pairs = |site: u32| {
        let found = held.iter().find(|held| held.site == Some(site));
        found.expect("a site").neighbours.pairs
    };
    assert_eq!((pairs(1), pairs(2)), (2, 6));
}

#[test]
fn usable_bytes_are_summed_by_the_size_class_of_the_allocator() {
    let mut heap = HeapBuilder::default();
    for (number, size) in [20, 24, 25, 1 << 20].into_iter().enumerate() {
        heap.block(0x1000 + number as u64 * 0x1000, size, 0, 1);
    }
    let usable = Usable::of(&heap.finish(), crate::allocator::Allocator::Glibc);
    let class = |block_bytes, blocks, requested_bytes| UsableClass {
        block_bytes,
        blocks,
        requested_bytes,
    };
    assert_eq!(usable.classes, [class(24, 2, 44), class(40, 1, 25)]);
    assert_eq!((usable.requested_bytes(), usable.usable_bytes()), (69, 88));
    assert_eq!((usable.large_blocks, usable.large_bytes), (1, 1 << 20));
    assert_eq!(usable.allocator, "glibc");
}

/// Every pointer owns, but those to blocks of site 9.
const REFERRING: ByWord = ByWord(|block, _| match block.site {
    9 => Mark::Refers(0),
    _ => Mark::Owns(0),
});

/// Returns the node of the blocks of a site.
fn node_of(snapshot: &Snapshot, site: u32) -> &HolderNode {
    let mut nodes = snapshot.holders().iter();
    nodes
        .find(|node| node.site() == Some(site))
        .expect("a node")
}

#[test]
fn several_holders_have_names() {
    // One root holds the first block, another one the last. Both hold 1, and 1 holds 2.
    let edges = vec![vec![1], vec![2], vec![], vec![1, 1]];
    let mut heap = HeapBuilder::default();
    heap.root(RootKind::Segment, 0, 0x100..0x108);
    heap.root(RootKind::Segment, 1, 0x108..0x110);
    for (block, site) in [5, 6, 7, 8].into_iter().enumerate() {
        let size = (8 * edges[block].len() as u64).max(8);
        heap.block(Edges::address(block), size, site, block as u64 + 1);
    }
    let analysis = analyse(heap.finish(), &Edges(edges), &OWNING, &|_| ());
    let outside = [Outside::new("one"), Outside::new("other")];
    let moment = Moment::default();
    let snapshot = Snapshot::of(&analysis, &OWNING, &outside, moment, Basis::Types);
    let names = |site: u32| -> Vec<(Option<u32>, u64)> {
        let by = node_of(&snapshot, site).held_by.iter();
        by.map(|&(node, pointers)| (snapshot.holders()[node as usize].site(), pointers))
            .collect()
    };
    assert_eq!(names(6), [(Some(8), 2), (Some(5), 1)]);
    // These have one holder.
    for site in [5, 7, 8] {
        assert_eq!(names(site), []);
    }
    // Numbers that are none are rejected, and those of nodes that are summed up lead there.
    let mut damaged = snapshot.clone();
    damaged.holders[1].held_by = vec![(100, 1)];
    assert!(Snapshot::parse(&Snapshot::table(&[damaged])).is_err());
    let parsed = Snapshot::parse(&Snapshot::table(std::slice::from_ref(&snapshot)));
    assert_eq!(parsed.expect("a table"), std::slice::from_ref(&snapshot));
    let few = pruned(snapshot.holders.clone(), 2);
    let mut named = few.iter().flat_map(|node| &node.held_by);
    assert!(named.all(|&(node, _)| (node as usize) < few.len()));
}

#[test]
fn what_a_block_may_hold_unseen_is_counted_at_its_holders() {
    // Block 0 holds 1, which refers to 2 twice; 4 refers to 2 as well. 2 holds 3.
    let edges = vec![vec![1], vec![2, 2], vec![3], vec![], vec![2]];
    let sites = [1, 2, 9, 4, 5];
    let mut heap = HeapBuilder::default();
    heap.root(RootKind::Segment, 0, 0x100..0x110);
    for (block, list) in edges.iter().enumerate() {
        let size = (8 * list.len() as u64).max(8);
        heap.block(Edges::address(block), size, sites[block], block as u64 + 1);
    }
    let analysis = analyse(heap.finish(), &Edges(edges), &REFERRING, &|_| ());
    let outside = [Outside::new("statics")];
    let moment = Moment::default();
    let snapshot = Snapshot::of(&analysis, &REFERRING, &outside, moment, Basis::Types);
    let unseen = |site: u32| node_of(&snapshot, site).own[0].unseen_bytes;
    // The block of 8 bytes and the one that it holds.
    assert_eq!((unseen(2), unseen(5)), (16, 16));
    assert_eq!((unseen(1), unseen(9), unseen(4)), (0, 0, 0));
    // What holds the block that refers may retain as much.
    let retained = snapshot.retained(10, |site| Some(site as usize));
    assert_eq!((retained[1].bytes, retained[1].unseen_bytes), (8 + 16, 16));
    assert_eq!((retained[5].bytes, retained[5].unseen_bytes), (8, 16));
    assert_eq!((retained[9].bytes, retained[9].unseen_bytes), (16, 0));
}
