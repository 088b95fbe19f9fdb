//! Random structures of containers, laid out byte by byte. The truth is counted while they are
//! laid out.

use super::*;
use proptest::prelude::*;

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
                // The old text is still there, and lives elsewhere.
                let words = self.value(&Value::Text(text.clone(), 1), holder);
                let at = words[list[1] as usize];
                self.truth.insert(at, (None, None, Reach::NotReached));
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
        (Kind::Unknown, None),
        (Kind::List, Some(1)),
        (Kind::Boxed, None),
        (Kind::Counted, None),
        (Kind::List, element),
        (Kind::Slice, element),
        (Kind::Deque, element),
        (Kind::Table, element),
    ];
    assert_eq!(kinds.len(), SITES as usize);
    let shape = |(index, (kind, element))| Shape::new(kind, element, index);
    (0..).zip(kinds).map(shape).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn containers_are_as_the_program_knows(
        all in prop::collection::vec(values(), 1..4),
        orders in orders(),
        down in any::<bool>(),
        is_known in any::<bool>(),
        kind in prop::sample::select(vec![RootKind::Segment, RootKind::ThreadLocals, RootKind::Stack]),
    ) {
        let mut program = Program::new(orders, down);
        let words: Vec<u64> = all.iter().flat_map(|value| program.value(value, None)).collect();
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
        let heap = snapshot.heap();
        prop_assert_eq!(heap.rejected(), 0);
        let mut retained: BTreeMap<u64, u64> = BTreeMap::new();
        for index in 0..heap.len() {
            let block = heap.block(index);
            let (holder, unused, reach) = program.truth[&block.address];
            let holder = match (holder, reach) {
                (_, Reach::NotReached) => Holder::Nothing,
                (Some(address), _) => Holder::Block(heap.find(address).expect("a block")),
                (None, _) => Holder::Root(0),
            };
            // On a stack, a box is referred to; so is all that only the box holds.
            let is_reached = snapshot.reach(index) != Reach::NotReached;
            prop_assert_eq!(is_reached, reach != Reach::NotReached, "{:?}", block);
            if kind != RootKind::Stack {
                prop_assert_eq!(snapshot.reach(index), reach, "{:?}", block);
            }
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

/// Two headers of one list disagree, as while it is moved: the first that is read counts.
#[test]
fn headers_that_disagree() {
    let snapshot = heap(
        &[16, 0x20000, 3, 16, 0x20000, 4],
        &[(0x10000, 0, &[16, 0x20000, 5], 1), (0x20000, 1, &[1, 2], 2)],
    );
    assert_eq!(snapshot.unused_bytes(1), Some(11));
    assert_eq!(snapshot.losses().ambiguous_headers, 2);
    // Nothing reaches the block that holds it, so the segment's references do.
    assert_eq!(snapshot.reach(1), Reach::Referred);
    assert_eq!(snapshot.holder(1), Holder::Root(0));
}
