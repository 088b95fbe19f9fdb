//! Random graphs against oracles that follow the definitions.

use super::*;
use proptest::prelude::*;

const START: u64 = 1 << 20;
const SIZE: u64 = 64;

fn address(block: usize) -> u64 {
    START + block as u64 * 80
}

/// A graph: for each block and then each root, its pointers, and whether each owns.
#[derive(Clone, Debug)]
struct Graph {
    blocks: usize,
    kinds: Vec<RootKind>,
    pointers: Vec<Vec<(usize, bool)>>,
    data: Vec<u64>,
}

fn graphs() -> impl Strategy<Value = Graph> {
    let kinds = [
        RootKind::Stack,
        RootKind::DeadStack,
        RootKind::ThreadLocals,
        RootKind::Segment,
    ];
    let kinds = prop::collection::vec(prop::sample::select(kinds.to_vec()), 0..3);
    (1..24_usize, kinds).prop_flat_map(|(blocks, kinds)| {
        let pointer = (0..blocks, prop::bool::weighted(0.75));
        let most = prop_oneof![Just(2_usize), Just(3), Just(6)];
        let nodes = blocks + kinds.len();
        let pointers = most.prop_flat_map(move |most| {
            prop::collection::vec(prop::collection::vec(pointer.clone(), 0..most), nodes)
        });
        let data = prop::collection::vec(0..3_u64, blocks);
        let all = (Just(blocks), Just(kinds), pointers, data);
        all.prop_map(|(blocks, kinds, pointers, data)| Graph {
            blocks,
            kinds,
            pointers,
            data,
        })
    })
}

impl Graph {
    fn analysed(&self) -> Analysis {
        let mut memory = Ranges::default();
        let mut heap = HeapBuilder::default();
        for (node, pointers) in self.pointers.iter().enumerate() {
            let mut words: Vec<u64> = pointers
                .iter()
                .map(|&(to, owns)| address(to) + u64::from(!owns))
                .collect();
            if node < self.blocks {
                words.push(self.data[node]);
                words.resize(SIZE as usize / 8, 0);
                heap.block(address(node), SIZE, 0, node as u64 + 1);
                memory.put(address(node), le(&words));
            } else {
                let at = node - self.blocks;
                let start = 4096 + at as u64 * 256;
                let range = start..start + words.len() as u64 * 8;
                heap.root(self.kinds[at], 0, range);
                memory.put(start, le(&words));
            }
        }
        let snapshot = analyse(heap.finish(), &memory, &BY_OFFSET, &|_| ());
        for block in 0..self.blocks {
            assert_eq!(memory.reads(address(block)), 1, "a block is read once");
            let pointers: Vec<_> = snapshot.pointers(block).collect();
            assert_eq!(pointers, self.pointers[block]);
        }
        snapshot
    }

    /// What the edges from some nodes reach, without those that are left out.
    fn reached(
        &self,
        from: &[usize],
        edges: &dyn Fn(usize) -> Vec<usize>,
        without: usize,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.blocks + self.kinds.len() + 2];
        let mut open = from.to_vec();
        while let Some(node) = open.pop() {
            if node != without && !std::mem::replace(&mut seen[node], true) {
                open.extend(edges(node));
            }
        }
        seen
    }

    fn all(&self, node: usize) -> Vec<usize> {
        let pointers = self.pointers.get(node).into_iter().flatten();
        pointers.map(|pointer| pointer.0).collect()
    }

    fn owned(&self, node: usize) -> Vec<usize> {
        let pointers = self.pointers.get(node).into_iter().flatten();
        pointers
            .filter(|pointer| pointer.1)
            .map(|pointer| pointer.0)
            .collect()
    }

    fn roots(&self) -> Vec<usize> {
        (self.blocks..self.pointers.len()).collect()
    }

    /// Blocks of a set, each with those of the set that it reaches and that reach it.
    fn component(&self, block: usize, set: &[bool]) -> Vec<usize> {
        let within = |node: usize| -> Vec<usize> {
            let mut owned = self.owned(node);
            owned.retain(|&to| set[to]);
            owned
        };
        let reached = |from: usize| self.reached(&[from], &within, usize::MAX);
        let own = reached(block);
        (0..self.blocks)
            .filter(|&to| set[to] && own[to] && reached(to)[block])
            .collect()
    }

    fn is_head(&self, component: &[usize], set: &[bool]) -> bool {
        let others = (0..self.blocks).filter(|&from| set[from] && !component.contains(&from));
        !others
            .flat_map(|from| self.owned(from))
            .any(|to| component.contains(&to))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn holders_are_those_of_the_definition(graph in graphs()) {
        let snapshot = graph.analysed();
        let (not_known, nothing) = (graph.pointers.len(), graph.pointers.len() + 1);
        let nodes = graph.pointers.len() + 2;
        let roots = graph.roots();
        let owned = graph.reached(&roots, &|node| graph.owned(node), usize::MAX);
        let any = graph.reached(&roots, &|node| graph.all(node), usize::MAX);
        let class: Vec<Reach> = (0..graph.blocks)
            .map(|block| match (owned[block], any[block]) {
                (true, _) => Reach::Owned,
                (_, true) => Reach::Referred,
                _ => Reach::NotReached,
            })
            .collect();
        let reaches: Vec<Reach> = (0..graph.blocks).map(|block| snapshot.reach(block)).collect();
        prop_assert_eq!(&reaches, &class);

        // The edges that count: owning ones between blocks that are reached in one way, and those
        // to the heads of components without a known owner.
        let mut edges = vec![Vec::new(); nodes];
        for (from, all) in edges.iter_mut().enumerate() {
            let of = class.get(from).copied().unwrap_or(Reach::Owned);
            all.extend(graph.owned(from).into_iter().filter(|&to| class[to] == of));
        }
        let (mut cycles, mut seen) = (Cycles::default(), Vec::new());
        for block in 0..graph.blocks {
            let set: Vec<bool> = class.iter().map(|&of| of == class[block]).collect();
            if class[block] == Reach::Owned {
                continue;
            }
            let component = graph.component(block, &set);
            let is_cycle = component.len() > 1 || graph.owned(block).contains(&block);
            if class[block] == Reach::NotReached && is_cycle && !seen.contains(&component) {
                cycles.count += 1;
                cycles.blocks += component.len() as u64;
                cycles.bytes += component.len() as u64 * SIZE;
                seen.push(component.clone());
            }
            if !graph.is_head(&component, &set) {
                continue;
            }
            if class[block] == Reach::NotReached {
                if component[0] == block {
                    edges[nothing].push(block);
                }
                continue;
            }
            for from in 0..graph.pointers.len() {
                let refers = graph.pointers[from].contains(&(block, false)) && from != block;
                let is_alive = class.get(from).is_none_or(|&of| of != Reach::NotReached);
                if refers && is_alive {
                    let kind = from.checked_sub(graph.blocks).map(|root| graph.kinds[root]);
                    let is_named = kind.is_some_and(|kind| kind != RootKind::DeadStack);
                    edges[if is_named { from } else { not_known }].push(block);
                }
            }
        }
        prop_assert_eq!(snapshot.cycles().count, cycles.count);
        prop_assert_eq!(snapshot.cycles().blocks, cycles.blocks);
        prop_assert_eq!(snapshot.cycles().bytes, cycles.bytes);
        prop_assert_eq!(snapshot.cycles().largest.len(), seen.len());

        // What is no longer reached without a node is what it dominates.
        let starts: Vec<usize> = (graph.blocks..nodes).collect();
        let without = |node: usize| graph.reached(&starts, &|from| edges[from].clone(), node);
        let lost: Vec<Vec<bool>> = (0..nodes)
            .map(|node| without(node).into_iter().map(|is_reached| !is_reached).collect())
            .collect();
        for (node, lost) in lost.iter().enumerate().take(graph.pointers.len()) {
            let bytes = (0..graph.blocks).filter(|&block| lost[block]).count() as u64 * SIZE;
            let found = match node.checked_sub(graph.blocks) {
                None => snapshot.retained_bytes(node),
                Some(root) => snapshot.retained_by_root(root),
            };
            prop_assert_eq!(found, bytes, "node {}", node);
        }
        for block in 0..graph.blocks {
            // The innermost dominator is the one that all others dominate.
            let dominators: Vec<usize> =
                (0..nodes).filter(|&node| node != block && lost[node][block]).collect();
            let depth = |node: &usize| dominators.iter().filter(|&&of| lost[of][*node]).count();
            let holder = match dominators.iter().copied().max_by_key(depth) {
                None => Holder::Several,
                Some(node) if node < graph.blocks => Holder::Block(node),
                Some(node) if node < not_known => Holder::Root(node - graph.blocks),
                Some(node) if node == not_known => Holder::NotKnown,
                Some(_) => Holder::Nothing,
            };
            prop_assert_eq!(snapshot.holder(block), holder, "block {}", block);
        }
        let same = snapshot.unreachable_since(&snapshot.not_reached());
        let expected: Vec<usize> =
            (0..graph.blocks).filter(|&at| class[at] == Reach::NotReached).collect();
        prop_assert_eq!(same, expected);
        prop_assert!(snapshot.unreachable_since(&[]).is_empty());
    }

    #[test]
    fn equal_values_are_those_of_the_definition(graph in graphs()) {
        let snapshot = graph.analysed();
        let set = vec![true; graph.blocks];
        let is_cyclic: Vec<bool> = (0..graph.blocks)
            .map(|block| graph.component(block, &set).len() > 1 || graph.owned(block).contains(&block))
            .collect();
        let mut firsts: Vec<usize> = Vec::new();
        let (mut repeated, mut groups) = (0, BTreeMap::<usize, u64>::new());
        for block in 0..graph.blocks {
            let first = firsts.iter().find(|&&first| is_equal(&graph, &is_cyclic, first, block));
            prop_assert_eq!(snapshot.equal_values().is_repeated(block), first.is_some());
            match first {
                Some(&first) => {
                    repeated += 1;
                    *groups.entry(first).or_insert(1) += 1;
                }
                None => firsts.push(block),
            }
        }
        prop_assert_eq!(snapshot.equal_values().repeated_blocks, repeated);
        prop_assert_eq!(snapshot.equal_values().repeated_bytes, repeated * SIZE);
        let found: BTreeMap<usize, u64> =
            snapshot.equal_values().groups.iter().map(|group| (group.first, group.blocks)).collect();
        prop_assert_eq!(found, groups);
    }
}

fn is_equal(graph: &Graph, is_cyclic: &[bool], one: usize, other: usize) -> bool {
    if one == other {
        return true;
    }
    if is_cyclic[one] || is_cyclic[other] || graph.data[one] != graph.data[other] {
        return false;
    }
    let (left, right) = (&graph.pointers[one], &graph.pointers[other]);
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            left.1 == right.1
                && if left.1 {
                    is_equal(graph, is_cyclic, left.0, right.0)
                } else {
                    left.0 == right.0
                }
        })
}
