//! Lengths of lists: on stacks, in contradiction, and while a list is filled or emptied.

use super::*;
use proptest::prelude::*;

const BOX: u32 = 0;
const LIST: u32 = 1;
const NUMBERS: u32 = 2;
/// A box of a list: a capacity, a pointer and a length.
const HOLDER: u32 = 3;

/// Lists of boxes and of numbers, each element a word. Both are known by their types.
struct Typed;

impl Typed {
    fn headers(view: &View<'_>, words: &mut Words) {
        for (at, word) in view.words() {
            let Some(to) = view.heap.find(word) else {
                continue;
            };
            let site = view.heap.block(to).site;
            let around = (
                view.word(at.wrapping_sub(WORD)),
                view.word(at.wrapping_add(WORD)),
            );
            match around {
                (Some(capacity), Some(length)) if site == LIST || site == NUMBERS => {
                    words.header(at, to, Header::List { capacity, length });
                }
                _ => words.owns(at, to),
            }
        }
    }
}

impl Layouts for Typed {
    fn needs_header(&self, site: u32) -> bool {
        site == LIST || site == NUMBERS
    }

    fn element_bytes(&self, site: u32) -> Option<u64> {
        self.needs_header(site).then_some(WORD)
    }

    fn value_type(&self, site: u32) -> u64 {
        u64::from(site)
    }

    fn is_plain(&self, heap: &Heap, block: usize) -> bool {
        heap.block(block).site == NUMBERS
    }

    fn walk(&self, view: &View<'_>, words: &mut Words) {
        match view.source {
            Source::Block(block) if view.heap.block(block).site == LIST => {
                for (at, word) in view.words() {
                    match view.heap.find(word) {
                        Some(to) => words.owns(at, to),
                        None => words.no_value(),
                    }
                }
            }
            Source::Block(block) if view.heap.block(block).site == NUMBERS => {}
            _ => Typed::headers(view, words),
        }
    }
}

const LISTS: u64 = 0x10_0000;
const BOXES: u64 = 0x20_0000;
const HOLDERS: u64 = 0x30_0000;
const STACK: u64 = 0x7000_0000;

fn boxed(number: u64) -> u64 {
    BOXES + 64 * number
}

/// A heap with a list of so many places at [`LISTS`], and boxes.
#[derive(Default)]
struct Made {
    memory: Ranges,
    heap: HeapBuilder,
    roots: u32,
}

impl Made {
    fn block(&mut self, address: u64, site: u32, words: &[u64]) {
        self.heap.block(address, words.len() as u64 * WORD, site, 1);
        self.memory.put(address, le(words));
    }

    fn boxes(&mut self, count: u64) {
        (0..count).for_each(|number| self.block(boxed(number), BOX, &[7, 7]));
    }

    /// Adds a root of some words.
    fn root(&mut self, kind: RootKind, words: &[u64]) {
        let start = STACK + 0x1000 * u64::from(self.roots);
        self.heap
            .root(kind, self.roots, start..start + words.len() as u64 * WORD);
        self.memory.put(start, le(words));
        self.roots += 1;
    }

    fn analyse(self) -> Analysis {
        analyse(self.heap.finish(), &self.memory, &Typed, &|_| ())
    }
}

fn find(analysis: &Analysis, address: u64) -> usize {
    analysis.heap().find(address).expect("a block")
}

fn not_reached(analysis: &Analysis) -> usize {
    let blocks = 0..analysis.heap().len();
    blocks
        .filter(|&block| analysis.reach(block) == Reach::NotReached)
        .count()
}

/// A full list whose length on the stack is another number.
#[test]
fn a_number_on_a_stack_is_no_length() {
    for length in 0..8 {
        let mut made = Made::default();
        made.boxes(8);
        let places: Vec<u64> = (0..8).map(boxed).collect();
        made.block(LISTS, LIST, &places);
        made.root(RootKind::Stack, &[8, LISTS, length]);
        let analysis = made.analyse();
        let list = find(&analysis, LISTS);
        assert_eq!(analysis.unused_bytes(list), None, "{length}");
        assert!(!analysis.is_empty(list));
        assert_eq!(not_reached(&analysis), 0);
        assert_eq!(analysis.holder(list), Holder::Root(0));
        assert_eq!(analysis.retained_bytes(list), 64 + 8 * 16);
        assert_eq!(analysis.losses().unknown_lengths, 1);
        assert_eq!(analysis.losses().unknown_length_bytes, 64);
        assert_eq!(analysis.losses().ambiguous_headers, 0);
    }
}

/// The elements prove it: three boxes, and words behind them that are none.
#[test]
fn elements_prove_a_length() {
    for (length, is_proven) in [(0, false), (2, false), (3, true), (4, false), (8, false)] {
        let mut made = Made::default();
        made.boxes(3);
        let places = [boxed(0), boxed(1), boxed(2), 0, 0x99, boxed(9), 0, 0];
        made.block(LISTS, LIST, &places);
        made.root(RootKind::Stack, &[8, LISTS, length]);
        let analysis = made.analyse();
        let unused = analysis.unused_bytes(find(&analysis, LISTS));
        assert_eq!(unused, is_proven.then_some(40), "{length}");
        assert_eq!(not_reached(&analysis), 0);
    }
}

/// Numbers prove nothing, on a stack. In a live value their length counts.
#[test]
fn plain_numbers_prove_nothing() {
    let of = |kind: RootKind| {
        let mut made = Made::default();
        made.block(LISTS, NUMBERS, &[1, 2, 3, 0, 0, 0]);
        made.root(kind, &[6, LISTS, 3]);
        let analysis = made.analyse();
        analysis.unused_bytes(find(&analysis, LISTS))
    };
    assert_eq!(of(RootKind::Stack), None);
    assert_eq!(of(RootKind::Segment), Some(24));
}

/// Headers disagree: the length is not known, wherever the one or the other lies.
#[test]
fn headers_that_disagree_in_any_order() {
    for site in [LIST, NUMBERS] {
        for lengths in [[2, 6], [6, 2]] {
            let mut made = Made::default();
            made.boxes(6);
            let places: Vec<u64> = (0..6).map(boxed).collect();
            made.block(LISTS, site, &places);
            made.block(HOLDERS, HOLDER, &[6, LISTS, lengths[0]]);
            made.block(HOLDERS + 64, HOLDER, &[6, LISTS, lengths[1]]);
            made.root(RootKind::Segment, &[HOLDERS, HOLDERS + 64]);
            let analysis = made.analyse();
            let list = find(&analysis, LISTS);
            assert_eq!(analysis.unused_bytes(list), None, "{lengths:?}");
            assert_eq!(analysis.losses().ambiguous_headers, 1);
            if site == LIST {
                assert_eq!(not_reached(&analysis), 0);
            }
        }
    }
}

/// Words that are left on a stack say nothing against a live value.
#[test]
fn a_stack_does_not_contradict_a_live_value() {
    for length in [0, 1, 6] {
        let mut made = Made::default();
        made.block(LISTS, NUMBERS, &[1, 2, 3, 0, 0, 0]);
        made.block(HOLDERS, HOLDER, &[6, LISTS, 3]);
        made.root(RootKind::Stack, &[6, LISTS, length, HOLDERS]);
        let analysis = made.analyse();
        let list = find(&analysis, LISTS);
        assert_eq!(analysis.unused_bytes(list), Some(24), "{length}");
        let holder = find(&analysis, HOLDERS);
        assert_eq!(analysis.holder(list), Holder::Block(holder));
    }
}

/// A list is emptied: its length is 0, and some of its elements are not dropped yet. Another one
/// has really nothing in it.
#[test]
fn values_beyond_the_length_are_kept() {
    for length in [0, 1] {
        let mut made = Made::default();
        made.boxes(5);
        // The first was dropped, and its memory is another's.
        let places = [boxed(0), 0x66, boxed(2), boxed(3), boxed(4), 0x55, 0, 0];
        made.block(LISTS, LIST, &places);
        made.block(LISTS + 0x1000, LIST, &[0x44, 0, 0, 0]);
        made.root(
            RootKind::Segment,
            &[
                8,
                LISTS,
                length,
                0,
                4,
                LISTS + 0x1000,
                0,
                boxed(0),
                boxed(1),
            ],
        );
        let analysis = made.analyse();
        let list = find(&analysis, LISTS);
        assert_eq!(not_reached(&analysis), 0);
        assert_eq!(analysis.unused_bytes(list), None);
        assert!(!analysis.is_empty(list));
        for number in 2..5 {
            let block = find(&analysis, boxed(number));
            assert_eq!(analysis.reach(block), Reach::Referred);
            assert_eq!(analysis.holder(block), Holder::NotKnown);
        }
        let other = find(&analysis, LISTS + 0x1000);
        assert!(analysis.is_empty(other));
        assert_eq!(analysis.unused_bytes(other), Some(32));
        assert_eq!(analysis.losses().unknown_lengths, 1);
    }
}

/// Blocks that others own were left behind by values that moved: they say nothing about the list.
#[test]
fn stale_values_beyond_the_length_are_nothing() {
    let mut made = Made::default();
    made.boxes(3);
    made.block(LISTS, LIST, &[boxed(0), boxed(1), boxed(2), 0]);
    made.root(RootKind::Segment, &[4, LISTS, 1, 0, boxed(1), 0, boxed(2)]);
    let analysis = made.analyse();
    let list = find(&analysis, LISTS);
    assert_eq!(analysis.unused_bytes(list), Some(24));
    assert_eq!(analysis.holder(find(&analysis, boxed(1))), Holder::Root(0));
}

/// Two blocks hold each other, and a list that was emptied still points to one of them.
#[test]
fn a_cycle_that_a_list_has_left_is_a_cycle() {
    let mut made = Made::default();
    made.block(boxed(0), BOX, &[boxed(1), 0]);
    made.block(boxed(1), BOX, &[boxed(0), 0]);
    made.block(LISTS, LIST, &[boxed(0), 0, 0, 0]);
    made.root(RootKind::Segment, &[4, LISTS, 0]);
    let analysis = made.analyse();
    assert_eq!(analysis.cycles().blocks, 2);
    assert!(analysis.is_empty(find(&analysis, LISTS)));
}

/// A text that a stack points to may be owned by a register.
#[test]
fn a_pointer_on_a_stack_is_no_small_part() {
    for kind in [RootKind::Segment, RootKind::Stack] {
        let mut made = Made::default();
        made.block(LISTS, NUMBERS, &[5; 1024]);
        made.block(HOLDERS, BOX, &[LISTS + 80, 3, LISTS + 800, 2]);
        // Like `bytes::Shared`: the capacity beside the pointer.
        made.root(kind, &[LISTS, 1024, 1]);
        made.root(RootKind::Segment, &[HOLDERS]);
        let analysis = made.analyse();
        let expected = usize::from(kind == RootKind::Segment);
        assert_eq!(analysis.sliced().len(), expected, "{kind:?}");
    }
}

/// One list with its elements: as they were made, which of them are gone, and the number on the
/// stack beside it.
#[derive(Clone, Debug)]
struct Case {
    room: usize,
    length: usize,
    said: u64,
    junk: Vec<u64>,
}

fn case() -> impl Strategy<Value = Case> {
    let junk = prop::sample::select(vec![0, 1, 0x77, boxed(40), boxed(41) + 8]);
    (
        1..12_usize,
        0..12_usize,
        0..14_u64,
        prop::collection::vec(junk, 12),
    )
        .prop_map(|(room, length, said, junk)| Case {
            room,
            length: length.min(room),
            said,
            junk,
        })
}

proptest! {
    /// Whatever number lies beside a list on a stack: no block is lost, and a length that is told
    /// is the truth.
    #[test]
    fn lengths_on_stacks_are_true_or_not_known(case in case()) {
        let mut made = Made::default();
        made.boxes(case.length as u64);
        let mut places: Vec<u64> = (0..case.length as u64).map(boxed).collect();
        places.extend(&case.junk[case.length..case.room]);
        made.block(LISTS, LIST, &places);
        made.root(RootKind::Stack, &[case.room as u64, LISTS, case.said]);
        let analysis = made.analyse();
        let list = find(&analysis, LISTS);
        prop_assert_eq!(not_reached(&analysis), 0);
        let unused = ((case.room - case.length) * 8) as u64;
        let found = analysis.unused_bytes(list);
        prop_assert!(found.is_none_or(|found| found == unused), "{:?}", found);
        if case.said == case.length as u64 && case.length > 0 {
            prop_assert_eq!(found, Some(unused));
        }
    }
}
