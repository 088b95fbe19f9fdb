//! Random structures of containers, laid out byte by byte. The truth is counted while they are
//! laid out.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A value, as a program would have it.
#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    /// Text with its capacity beyond the length.
    Text(Vec<u8>, u8),
    /// `None` of an `Option<String>`, with what it held before.
    NoText(Vec<u8>),
    Boxed(Box<Value>),
    Counted(Box<Value>),
    List(Vec<Value>, u8),
    Slice(Vec<Value>),
    /// The head of the deque.
    Deque(Vec<Value>, u8, u8),
    /// The logarithm of the buckets, and what chooses the full ones.
    Table(Vec<Value>, u64),
    /// A reference to the text of a string held beside it.
    Borrowed(Vec<u8>),
}

/// Words of an element: enough for the largest value.
const ELEMENT: usize = 8;
const SITES: u32 = 8;
const GROUP: usize = 16;

fn values() -> impl Strategy<Value = Value> {
    let text = || prop::collection::vec(any::<u8>(), 0..20);
    let leaf = prop_oneof![
        (0..1000_u64).prop_map(Value::Number),
        (text(), any::<u8>()).prop_map(|(text, spare)| Value::Text(text, spare % 40)),
        text().prop_map(Value::NoText),
        text().prop_map(Value::Borrowed),
    ];
    leaf.prop_recursive(6, 120, 9, |value| {
        let many = || prop::collection::vec(value.clone(), 0..9);
        prop_oneof![
            value.clone().prop_map(|value| Value::Boxed(value.into())),
            value.clone().prop_map(|value| Value::Counted(value.into())),
            (many(), 0..9_u8).prop_map(|(all, spare)| Value::List(all, spare)),
            many().prop_map(Value::Slice),
            (many(), 0..9_u8, any::<u8>())
                .prop_map(|(all, spare, head)| Value::Deque(all, spare, head)),
            (many(), any::<u64>()).prop_map(|(all, seed)| Value::Table(all, seed)),
        ]
    })
}

struct Program {
    memory: Ranges,
    blocks: Vec<(u64, u64, u32)>,
    /// By address; the holder by its address too.
    truth: BTreeMap<u64, (Option<u64>, Option<u64>, Reach)>,
    /// Entries of tables, by address.
    items: BTreeMap<u64, u32>,
    next: u64,
    step: u64,
    orders: WordOrders,
    /// Words that look like pointers, for places that nobody uses.
    stale: Vec<u64>,
}

impl Program {
    fn new(orders: WordOrders, down: bool) -> Program {
        Program {
            memory: Ranges::default(),
            blocks: Vec::new(),
            truth: BTreeMap::new(),
            items: BTreeMap::new(),
            next: 1 << 30,
            step: if down { u64::MAX } else { 1 },
            orders,
            stale: Vec::new(),
        }
    }

    /// Reserves a block, whose contents come later.
    fn block(&mut self, size: u64, site: u32, holder: Option<u64>, unused: Option<u64>) -> u64 {
        let place = (size.max(1).next_multiple_of(16) + 16).wrapping_mul(self.step);
        let address = if self.step == 1 {
            self.next
        } else {
            self.next.wrapping_add(place)
        };
        self.next = self.next.wrapping_add(place);
        if size > 0 {
            self.blocks.push((address, size, site));
            let reach = Reach::Owned;
            self.truth.insert(address, (holder, unused, reach));
        }
        address
    }

    /// A capacity and its block.
    fn room(&self, words: &[u64], order: &[u8]) -> Vec<u64> {
        let mut header = vec![0; words.len()];
        for (&word, &index) in words.iter().zip(order) {
            header[index as usize] = word;
        }
        header
    }

    fn junk(&self, at: usize) -> u64 {
        let count = self.stale.len();
        self.stale.get(at % count.max(1)).copied().unwrap_or(0)
    }

    /// Element `index` of unused room: a header that was right once.
    fn dead(&self, index: usize) -> Vec<u64> {
        (0..ELEMENT)
            .map(|word| self.junk(index * ELEMENT + word))
            .collect()
    }

    /// Lays out a value, and returns its words.
    fn value(&mut self, value: &Value, holder: Option<u64>) -> Vec<u64> {
        let list = self.orders.list;
        let mut words = match value {
            Value::Number(number) => vec![0, *number, 0, 0],
            Value::Text(text, spare) => {
                let capacity = text.len() as u64 + u64::from(*spare);
                let at = self.block(capacity, 1, holder, Some(u64::from(*spare)));
                let mut bytes = text.clone();
                while bytes.len() < capacity as usize {
                    bytes.extend(self.junk(bytes.len()).to_le_bytes());
                }
                bytes.truncate(capacity as usize);
                if capacity > 0 {
                    self.memory.put(at, bytes);
                }
                let header = self.room(&[capacity, at, text.len() as u64], &list);
                self.stale.extend(&header);
                header
            }
            Value::NoText(text) => {
                // The old text is still there, and lives elsewhere. The word before its pointer may
                // as well be that of a neighbour, so the text counts as reached, and as held by
                // nothing that is known.
                // No other list has it in its unused part: it would keep it.
                let stale = self.stale.len();
                let words = self.value(&Value::Text(text.clone(), 1), holder);
                self.stale.truncate(stale);
                let at = words[list[1] as usize];
                self.truth.insert(at, (None, None, Reach::Referred));
                let length = text.len() as u64;
                self.room(&[1 << 63, at, length], &list)
            }
            Value::Boxed(inner) => {
                let at = self.block(ELEMENT as u64 * 8, 2, holder, None);
                let inner = self.value(inner, Some(at));
                self.memory.put(at, le(&inner));
                vec![7, at, 0]
            }
            Value::Counted(inner) => {
                let at = self.block(ELEMENT as u64 * 8 + 16, 3, holder, None);
                let inner = self.value(inner, Some(at));
                self.memory
                    .put(at, le(&[&[1, 1], inner.as_slice()].concat()));
                vec![at]
            }
            Value::List(all, spare) => {
                let capacity = all.len() as u64 + u64::from(*spare);
                let unused = u64::from(*spare) * ELEMENT as u64 * 8;
                let at = self.block(capacity * ELEMENT as u64 * 8, 4, holder, Some(unused));
                let mut words: Vec<u64> = Vec::new();
                for value in all {
                    words.extend(self.value(value, Some(at)));
                }
                (0..usize::from(*spare)).for_each(|index| words.extend(self.dead(index)));
                if capacity > 0 {
                    self.memory.put(at, le(&words));
                }
                let header = self.room(&[capacity, at, all.len() as u64], &list);
                self.stale.extend(&header);
                header
            }
            Value::Slice(all) => {
                let at = self.block((all.len() * ELEMENT * 8) as u64, 5, holder, Some(0));
                let mut words: Vec<u64> = Vec::new();
                for value in all {
                    words.extend(self.value(value, Some(at)));
                }
                if !all.is_empty() {
                    self.memory.put(at, le(&words));
                }
                vec![at, all.len() as u64]
            }
            Value::Deque(all, spare, head) => {
                let capacity = all.len() + usize::from(*spare);
                let unused = (usize::from(*spare) * ELEMENT * 8) as u64;
                let at = self.block((capacity * ELEMENT * 8) as u64, 6, holder, Some(unused));
                let head = usize::from(*head) % capacity.max(1);
                let mut places = vec![None; capacity];
                for (index, value) in all.iter().enumerate() {
                    places[(head + index) % capacity] = Some(self.value(value, Some(at)));
                }
                let words = places.into_iter().enumerate();
                let words =
                    words.flat_map(|(index, place)| place.unwrap_or_else(|| self.dead(index)));
                let words: Vec<u64> = words.collect();
                if capacity > 0 {
                    self.memory.put(at, le(&words));
                }
                let header = [capacity as u64, at, head as u64, all.len() as u64];
                let header = self.room(&header, &self.orders.deque);
                self.stale.extend(&header);
                header
            }
            Value::Table(all, seed) => {
                let buckets = (all.len() * 8 / 7 + 1).next_power_of_two().max(4) << (seed % 2);
                let control = buckets * ELEMENT * 8;
                let size = control + buckets + GROUP;
                let unused = ((buckets - all.len()) * ELEMENT * 8) as u64;
                let at = self.block(size as u64, 7, holder, Some(unused));
                self.items.insert(at, all.len() as u32);
                let mut places = vec![None; buckets];
                let mut place = *seed as usize;
                for value in all {
                    place = place.wrapping_mul(31).wrapping_add(17);
                    while places[place % buckets].is_some() {
                        place = place.wrapping_add(1);
                    }
                    places[place % buckets] = Some(self.value(value, Some(at)));
                }
                let controls = places
                    .iter()
                    .map(|place| if place.is_some() { 5 } else { 0xff });
                let mut controls: Vec<u8> = controls.collect();
                controls.extend_from_within(..buckets.min(GROUP));
                controls.resize(buckets + GROUP, 0xff);
                let words = places.into_iter().enumerate().rev();
                let words =
                    words.flat_map(|(index, place)| place.unwrap_or_else(|| self.dead(index)));
                let words: Vec<u64> = words.collect();
                self.memory.put(at, [le(&words), controls].concat());
                let header = [
                    at + control as u64,
                    buckets as u64 - 1,
                    (buckets * 7 / 8 - all.len().min(buckets * 7 / 8)) as u64,
                    all.len() as u64,
                ];
                let header = self.room(&header, &self.orders.table);
                self.stale.extend(&header);
                header
            }
            Value::Borrowed(text) => {
                let mut words = self.value(&Value::Text(text.clone(), 3), holder);
                let at = words[list[1] as usize];
                // A small number before the reference: no capacity of this block.
                words.extend([3, at, text.len() as u64]);
                words
            }
        };
        words.resize(ELEMENT, 0);
        words
    }
}

fn orders() -> impl Strategy<Value = WordOrders> {
    let list = Just([0, 1, 2]).prop_shuffle();
    let deque = Just([0, 1, 2, 3]).prop_shuffle();
    let table = Just([0, 1, 2, 3]).prop_shuffle();
    (list, deque, table)
        .prop_map(|(list, deque, table)| WordOrders::new(list, deque, table, GROUP as u64))
}

fn shapes(element: Option<u64>) -> Vec<Shape> {
    let kinds = [
        (BlockKind::Unknown, None),
        (BlockKind::List, Some(1)),
        (BlockKind::Boxed, None),
        (BlockKind::Counted, None),
        (BlockKind::List, element),
        (BlockKind::Slice, element),
        (BlockKind::Deque, element),
        (BlockKind::Table, element),
    ];
    assert_eq!(kinds.len(), SITES as usize);
    let shape = |(index, (kind, element))| Shape::new(kind, element, index);
    (0..).zip(kinds).map(shape).collect()
}

/// Lays out values, which a root of some kind holds, and analyses the heap.
fn analysed(
    all: &[Value],
    orders: WordOrders,
    down: bool,
    is_known: bool,
    kind: RootKind,
) -> (Program, Analysis) {
    let mut program = Program::new(orders, down);
    let words = all.iter().flat_map(|value| program.value(value, None));
    let words: Vec<u64> = words.collect();
    program.memory.put(4096, le(&words));
    let mut heap = HeapBuilder::default();
    for (birth, &(address, size, site)) in (1..).zip(&program.blocks) {
        heap.block(address, size, site, birth);
    }
    heap.root(kind, 0, 4096..4096 + words.len() as u64 * 8);
    // Headers vote for a size that is not known.
    let element = is_known.then_some(ELEMENT as u64 * 8);
    let layouts = SiteShapes::new(shapes(element), orders);
    let snapshot = analyse(heap.finish(), &program.memory, &layouts, &|_| ());
    (program, snapshot)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn containers_are_as_the_program_knows(
        all in prop::collection::vec(values(), 1..4),
        orders in orders(),
        down in any::<bool>(),
        is_known in any::<bool>(),
        kind in prop::sample::select(vec![RootKind::Segment, RootKind::ThreadLocals]),
    ) {
        let (program, snapshot) = analysed(&all, orders, down, is_known, kind);
        let heap = snapshot.heap();
        prop_assert_eq!(heap.rejected(), 0);
        let mut retained: BTreeMap<u64, u64> = BTreeMap::new();
        for index in 0..heap.len() {
            let block = heap.block(index);
            let (holder, unused, reach) = program.truth[&block.address];
            let holder = match (holder, reach) {
                (_, Reach::NotReached) => Holder::Nothing,
                (None, Reach::Referred) if snapshot.holder(index) == Holder::NotKnown => {
                    Holder::NotKnown
                }
                (Some(address), _) => Holder::Block(heap.find(address).expect("a block")),
                (None, _) => Holder::Root(0),
            };
            prop_assert_eq!(snapshot.reach(index), reach, "{:?}", block);
            prop_assert_eq!(snapshot.holder(index), holder, "{:?}", block);
            prop_assert_eq!(snapshot.unused_bytes(index), unused, "{:?}", block);
            let items = program.items.get(&block.address).copied();
            prop_assert_eq!(snapshot.table_items(index), items, "{:?}", block);
            let is_empty = items == Some(0) || unused == Some(block.size);
            prop_assert_eq!(snapshot.is_empty(index), is_empty, "{:?}", block);
            let mut at = Some(block.address);
            while let Some(address) = at {
                *retained.entry(address).or_default() += block.size;
                at = program.truth[&address].0;
            }
        }
        for (&address, &bytes) in &retained {
            let index = heap.find(address).expect("a block");
            prop_assert_eq!(snapshot.retained_bytes(index), bytes);
        }
        prop_assert_eq!(snapshot.losses().ambiguous_headers, 0);
        // No header tells the length of the old text of an option that is `None` now.
        let old = program.truth.values();
        let old = old.filter(|truth| matches!(truth, (None, None, Reach::Referred))).count();
        prop_assert_eq!(snapshot.losses().unknown_lengths, old as u64);
    }

    /// A stack does not prove the length of a list. Blocks that are held are reached all the same,
    /// and the figures of other containers are right.
    #[test]
    fn containers_on_a_stack(
        all in prop::collection::vec(values(), 1..4),
        orders in orders(),
        down in any::<bool>(),
        is_known in any::<bool>(),
    ) {
        let (program, snapshot) = analysed(&all, orders, down, is_known, RootKind::Stack);
        let heap = snapshot.heap();
        for index in 0..heap.len() {
            let block = heap.block(index);
            let (_, unused, reach) = program.truth[&block.address];
            if reach == Reach::NotReached {
                // The unused part of a list may lead to it.
                continue;
            }
            prop_assert_ne!(snapshot.reach(index), Reach::NotReached, "{:?}", block);
            let found = snapshot.unused_bytes(index);
            prop_assert!(found.is_none() || found == unused, "{:?} {:?}", block, found);
        }
    }
}

/// A segment at 4096 with some words, and blocks with their site, words and birth.
fn heap(segment: &[u64], blocks: &[(u64, u32, &[u64], u64)]) -> Analysis {
    let mut memory = Ranges::default();
    let mut heap = HeapBuilder::default();
    memory.put(4096, le(segment));
    heap.root(RootKind::Segment, 0, 4096..4096 + segment.len() as u64 * 8);
    for &(address, site, words, birth) in blocks {
        memory.put(address, le(words));
        heap.block(address, words.len() as u64 * 8, site, birth);
    }
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], GROUP as u64);
    let layouts = SiteShapes::new(shapes(None), orders);
    analyse(heap.finish(), &memory, &layouts, &|_| ())
}

/// Neither the counts of an `Rc` nor what lies behind the length of a text is part of a value.
#[test]
fn strings_behind_counters_are_equal() {
    let text = u64::from_le_bytes(*b"equal   ");
    let other = u64::from_le_bytes(*b"other   ");
    let snapshot = heap(
        &[0x10000, 0x10100, 0x10200],
        &[
            (0x10000, 3, &[1, 1, 16, 0x20000, 5], 1),
            (0x10100, 3, &[9, 2, 24, 0x20100, 5], 2),
            (0x10200, 3, &[1, 1, 16, 0x20200, 5], 3),
            (0x20000, 1, &[text, 77], 4),
            (0x20100, 1, &[text | 0xff << 56, 88, 99], 5),
            (0x20200, 1, &[other, 77], 6),
        ],
    );
    let repeated: Vec<usize> = (0..6)
        .filter(|&at| snapshot.equal_values().is_repeated(at))
        .collect();
    assert_eq!(repeated, [1, 4]);
    assert_eq!(snapshot.equal_values().repeated_bytes, 40 + 24);
    assert_eq!(snapshot.unused_bytes(4), Some(19));
}

/// A block that moved, one that came later, and one of unknown birth may each be in use.
#[test]
fn unreachable_is_what_two_snapshots_agree_on() {
    let earlier = heap(
        &[0],
        &[
            (0x10000, 0, &[0], 1),
            (0x10100, 0, &[0], 2),
            (0x10200, 0, &[0], 0),
            (0x10300, 0, &[0], 4),
        ],
    );
    let later = heap(
        &[0x10300],
        &[
            (0x10000, 0, &[0], 1),
            (0x10100, 0, &[0], 9),
            (0x10200, 0, &[0], 0),
            (0x10300, 0, &[0], 4),
            (0x10400, 0, &[0], 8),
        ],
    );
    assert_eq!(earlier.not_reached().len(), 3);
    assert_eq!(later.unreachable_since(&earlier.not_reached()), [0]);
}

/// Optimised code spills the pointer of a list beside any other word. On a stack, that is no dead
/// value of an enum.
#[test]
fn a_pointer_counts_whatever_lies_beside_it() {
    for kind in [RootKind::Stack, RootKind::Segment] {
        for site in [1, 6] {
            let mut memory = Ranges::default();
            memory.put(4096, le(&[1 << 63 | 5, 0x20000, 3, 3]));
            let mut heap = HeapBuilder::default();
            heap.root(kind, 0, 4096..4096 + 32);
            heap.block(0x20000, 16, site, 1);
            let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], GROUP as u64);
            let layouts = SiteShapes::new(shapes(None), orders);
            let snapshot = analyse(heap.finish(), &memory, &layouts, &|_| ());
            assert_eq!(snapshot.reach(0), Reach::Referred, "{kind:?} {site}");
        }
    }
}

/// Two headers of one list disagree, as while it is moved: neither tells its length. The list is
/// held by both.
#[test]
fn headers_that_disagree() {
    let snapshot = heap(
        &[16, 0x20000, 3, 16, 0x20000, 4],
        &[(0x10000, 0, &[16, 0x20000, 5], 1), (0x20000, 1, &[1, 2], 2)],
    );
    assert_eq!(snapshot.unused_bytes(1), None);
    assert_eq!(snapshot.losses().ambiguous_headers, 1);
    assert_eq!(snapshot.losses().unknown_lengths, 1);
    assert_eq!(snapshot.reach(1), Reach::Owned);
    assert_eq!(snapshot.holder(1), Holder::Root(0));
}

/// Words behind those of neighbours are not known to be dead, so nothing is called unreachable
/// that a pointer leads to.
#[test]
fn a_pointer_behind_a_word_that_is_no_capacity_still_leads_to_its_block() {
    let tag = 0xd8 << 56 | 16;
    let snapshot = heap(
        &[0x10000],
        // Texts as pointer, length, and capacity with a tag; the first is behind the list's start.
        &[
            (
                0x10000,
                0,
                &[0x20000, 9, tag, 0x20100, 9, tag, 0x20200, 9, tag],
                1,
            ),
            (0x20000, 1, &[1, 2], 2),
            (0x20100, 1, &[1, 2], 3),
            (0x20200, 1, &[1, 2], 4),
        ],
    );
    for block in 1..4 {
        assert_eq!(snapshot.reach(block), Reach::Referred, "{block}");
    }
    assert!(snapshot.not_reached().is_empty());
}

/// Lists that became boxed slices: a pointer and a length. The word before is that of a neighbour.
#[test]
fn boxed_slices_of_any_length_are_held_by_their_list() {
    let snapshot = heap(
        &[0x10000, 0x10100],
        &[
            (
                0x10000,
                0,
                &[0x20000, 2, 0x20100, 3, 0x20200, 1, 0x20300, 2],
                1,
            ),
            // Another pointer to the last one: nothing tells which of both owns it.
            (0x10100, 0, &[0x20300, 2], 2),
            (0x20000, 4, &[0x30000, 9], 3),
            (0x20100, 4, &[0x30100, 9, 9], 4),
            (0x20200, 4, &[9], 5),
            (0x20300, 4, &[9, 9], 6),
            (0x30000, 2, &[9, 9], 7),
            (0x30100, 2, &[9, 9], 8),
        ],
    );
    for block in 2..5 {
        assert_eq!(snapshot.holder(block), Holder::Block(0), "{block}");
        assert_eq!(snapshot.reach(block), Reach::Owned, "{block}");
        // The number may as well be a capacity.
        assert_eq!(snapshot.unused_bytes(block), None, "{block}");
    }
    assert_eq!(snapshot.holder(6), Holder::Block(2));
    assert_eq!(snapshot.holder(7), Holder::Block(3));
    assert_eq!(snapshot.reach(5), Reach::Referred);
    assert_eq!(snapshot.retained_bytes(0), 64 + 16 + 24 + 8 + 16 + 16);
}

/// Without types, the fields of packed structs are not known. They lie at any address.
#[test]
fn a_pointer_at_an_odd_address_leads_to_its_block() {
    const HEAP: u64 = 0x10_0000_0000;
    let mut memory = Ranges::default();
    let mut builder = HeapBuilder::default();
    memory.put(4096, le(&[HEAP]));
    builder.root(RootKind::Segment, 0, 4096..4104);
    let mut packed = vec![1_u8];
    packed.extend((HEAP + 0x100).to_le_bytes());
    packed.extend([2, 3]);
    packed.extend((HEAP + 0x200).to_le_bytes());
    builder.block(HEAP, packed.len() as u64, 0, 1);
    memory.put(HEAP, packed);
    for (address, birth) in [(HEAP + 0x100, 2), (HEAP + 0x200, 3), (HEAP + 0x300, 4)] {
        memory.put(address, le(&[7, 7]));
        builder.block(address, 16, 2, birth);
    }
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], GROUP as u64);
    let layouts = SiteShapes::new(shapes(None), orders);
    let snapshot = analyse(builder.finish(), &memory, &layouts, &|_| ());
    let reached = [1, 2, 3].map(|block| snapshot.reach(block));
    assert_eq!(
        reached,
        [Reach::Referred, Reach::Referred, Reach::NotReached]
    );
}

/// All references that the counts of a block tell of lie in the block itself.
#[test]
fn a_value_that_holds_itself_is_a_cycle() {
    let table = 0x70_0000;
    let snapshot = heap(
        &[0],
        &[
            // `Rc`: strong and weak count, and a value with an `Rc` of itself.
            (0x10000, 3, &[1, 1, 0x10000, 5], 1),
            // With a `Weak` of itself as well; with that alone.
            (0x10100, 3, &[1, 2, 0x10100, 0x10100], 2),
            (0x10200, 3, &[1, 2, 0x10200, 5], 3),
            // `shared_ptr` of libstdc++ and of libc++.
            (0x20000, 0, &[table, 1 << 32 | 1, 9, 0x20010, 0x20000], 4),
            (0x20100, 0, &[table, 0, 0, 9, 0x20118, 0x20100], 5),
            // An object that keeps a `weak_ptr` to itself, and a list without elements.
            (0x20200, 0, &[table, 2 << 32 | 1, 9, 0x20210, 0x20200], 6),
            (0x20300, 0, &[0x20300, 0x20300, 0], 7),
        ],
    );
    let cycles = snapshot.cycles();
    let first: Vec<usize> = cycles.largest.iter().map(|cycle| cycle.first).collect();
    assert_eq!((cycles.count, cycles.blocks), (4, 4), "{cycles:?}");
    assert_eq!(BTreeSet::from_iter(first), BTreeSet::from([0, 1, 3, 4]));
    assert_eq!(snapshot.not_reached().len(), 7);
}

/// Counters that are equal now are changed one by one later.
#[test]
fn values_that_may_change_equal_nothing() {
    let mut memory = Ranges::default();
    let mut builder = HeapBuilder::default();
    let addresses: Vec<u64> = (0..6).map(|number| 0x10000 + 0x100 * number).collect();
    memory.put(4096, le(&addresses));
    builder.root(RootKind::Segment, 0, 4096..4096 + 48);
    for (&address, birth) in addresses.iter().zip(1..) {
        memory.put(address, le(&[1, 1, 0, 5]));
        builder.block(address, 32, u32::from(birth > 3), birth);
    }
    let counted = Shape::new(BlockKind::Counted, None, 7);
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], GROUP as u64);
    let layouts = SiteShapes::new(vec![counted, counted.changing()], orders);
    let snapshot = analyse(builder.finish(), &memory, &layouts, &|_| ());
    let values = snapshot.equal_values();
    let repeated: Vec<usize> = (0..6).filter(|&at| values.is_repeated(at)).collect();
    assert_eq!(repeated, [1, 2]);
}
