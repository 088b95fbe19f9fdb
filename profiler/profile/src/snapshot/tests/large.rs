//! Hostile and large heaps: no recursion, no quadratic time, no panic.

use super::*;
use proptest::prelude::*;
use std::time::Instant;

/// Memory that is computed: the words of the block with each number.
struct Computed<F> {
    start: u64,
    words_each: u64,
    word: F,
}

/// The same with pages, of which all are resident.
struct Paged<F>(Computed<F>);

impl<F: Fn(u64, u64) -> u64 + Sync> Memory for Paged<F> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read(address, buffer)
    }

    fn pages(&self, _: u64, count: usize, pages: &mut Vec<Page>) -> Option<()> {
        pages.resize(pages.len() + count, Page::Resident);
        Some(())
    }
}

impl<F: Fn(u64, u64) -> u64 + Sync> Memory for Computed<F> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (at, bytes) in (address / 8..).zip(buffer.chunks_mut(8)) {
            let word = match (at * 8).checked_sub(self.start) {
                Some(offset) => {
                    let index = offset / 8;
                    (self.word)(index / self.words_each, index % self.words_each)
                }
                None => self.start,
            };
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

const START: u64 = 1 << 32;

/// Analyses blocks of some words each, without gaps. A segment points to the first.
fn computed(
    blocks: u64,
    words_each: u64,
    root: bool,
    layouts: &dyn Layouts,
    site: impl Fn(u64) -> u32,
    word: impl Fn(u64, u64) -> u64 + Sync,
) -> Analysis {
    let mut heap = HeapBuilder::default();
    for block in 0..blocks {
        let address = START + block * words_each * 8;
        heap.block(address, words_each * 8, site(block), block + 1);
    }
    if root {
        heap.root(RootKind::Segment, 0, 4096..4104);
    }
    let memory = Computed {
        start: START,
        words_each,
        word,
    };
    analyse(heap.finish(), &memory, layouts, &|_| ())
}

fn list(blocks: u64) {
    let next = |block: u64, word: u64| match word {
        0 if block + 1 < blocks => START + (block + 1) * 16,
        _ => block,
    };
    let snapshot = computed(blocks, 2, true, &BY_OFFSET, |_| 0, next);
    assert_eq!(snapshot.retained_bytes(0), blocks * 16);
    assert_eq!(snapshot.retained_by_root(0), blocks * 16);
    assert_eq!(
        snapshot.holder(blocks as usize - 1),
        Holder::Block(blocks as usize - 2)
    );
    assert_eq!(snapshot.equal_values().repeated_blocks, 0);
}

#[test]
fn a_linked_list_of_a_million() {
    list(1_000_000);
}

#[test]
#[ignore = "some seconds when optimized"]
fn a_linked_list_of_ten_million() {
    list(10_000_000);
}

/// `prev` and `next` that both own: each node has two holders.
#[test]
fn a_doubly_linked_list_of_a_million() {
    let blocks = 1_000_000;
    let links = |block: u64, word: u64| {
        let to = if word == 0 {
            block + 1
        } else {
            block.wrapping_sub(1)
        };
        if to < blocks { START + to * 16 } else { 0 }
    };
    let snapshot = computed(blocks, 2, true, &BY_OFFSET, |_| 0, links);
    assert_eq!(snapshot.retained_bytes(1), (blocks - 1) * 16);
    assert_eq!(snapshot.holder(5000), Holder::Block(4999));
}

#[test]
fn a_cycle_of_a_million() {
    let blocks = 1_000_000;
    let next = |block: u64, _: u64| START + (block + 1) % blocks * 8;
    let snapshot = computed(blocks, 1, false, &BY_OFFSET, |_| 0, next);
    assert_eq!(snapshot.reach(0), Reach::NotReached);
    assert_eq!(snapshot.cycles().count, 1);
    assert_eq!(snapshot.cycles().blocks, blocks);
    assert_eq!(
        snapshot.unreachable_since(&snapshot.not_reached()).len(),
        blocks as usize
    );
    assert_eq!(snapshot.equal_values().repeated_blocks, 0);
}

/// Each list holds the header of the next one: a million rounds of one block.
#[test]
fn lists_inside_lists() {
    let blocks = 300_000;
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
    let shapes = vec![
        Shape::new(BlockKind::Boxed, None, 0),
        Shape::new(BlockKind::List, None, 1),
    ];
    let layouts = SiteShapes::new(shapes, orders);
    let header = |block: u64, word: u64| match word {
        0 | 2 => 1,
        1 if block + 1 < blocks => START + (block + 1) * 24,
        _ => 0,
    };
    let site = |block| u32::from(block > 0);
    let snapshot = computed(blocks, 3, true, &layouts, site, header);
    assert_eq!(snapshot.retained_bytes(0), blocks * 24);
    assert_eq!(snapshot.unused_bytes(blocks as usize - 1), Some(0));
    assert_eq!(snapshot.losses().unknown_lengths, 0);
}

/// A graph on which every block has several holders.
#[test]
fn a_ladder() {
    let blocks = 400_000;
    let next = |block: u64, word: u64| {
        let to = (block / 2 * 2) + 2 + word;
        if to < blocks { START + to * 16 } else { 0 }
    };
    let snapshot = computed(blocks, 2, true, &BY_OFFSET, |_| 0, next);
    assert_eq!(snapshot.holder(blocks as usize - 1), Holder::Block(0));
    assert_eq!(snapshot.retained_bytes(0), (blocks - 1) * 16);
}

/// A block larger than what is read at once, with a pointer in each page and one header across two
/// windows.
#[test]
fn a_large_block_is_read_in_windows() {
    let words = (3 << 20) / 8;
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
    let shapes = vec![Shape::default(), Shape::new(BlockKind::List, Some(1), 0)];
    let layouts = SiteShapes::new(shapes, orders);
    let large = START + words * 8;
    let mut heap = HeapBuilder::default();
    heap.root(RootKind::Segment, 0, 4096..4104);
    heap.block(START, words * 8, 0, 1);
    heap.block(large, 64, 1, 2);
    let across = (1 << 20) / 8;
    let memory = Computed {
        start: START,
        words_each: u64::MAX,
        word: |_, word| match word {
            _ if word == across - 1 => 64,
            _ if word == across => large,
            _ if word == across + 1 => 5,
            _ => 0,
        },
    };
    let snapshot = analyse(heap.finish(), &memory, &layouts, &|_| ());
    assert_eq!(snapshot.unused_bytes(1), Some(59));
    assert_eq!(snapshot.holder(1), Holder::Block(0));
    assert_eq!(snapshot.zero_pages(0), 3 * 256 - 2);
    assert_eq!(snapshot.zero_pages(1), 0);
}

/// Memory of which some parts cannot be read, and others say anything.
struct Hostile(u64);

impl Memory for Hostile {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        if (address / 4096 + self.0).is_multiple_of(7) {
            return Err(io::ErrorKind::Other.into());
        }
        for (at, byte) in (address..).zip(buffer) {
            let word = (at / 8 + self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            // Mostly addresses of blocks, small numbers and large ones.
            let word = match word % 5 {
                0 => word % 40_000,
                1 => word % 32,
                2 => u64::MAX - word % 8,
                3 => 1 << (word % 64),
                _ => word % 20_000 / 16 * 16,
            };
            *byte = word.to_le_bytes()[(at % 8) as usize];
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn whatever_a_heap_says(
        blocks in prop::collection::vec((0..40_000_u64, 0..600_u64, 0..10_u32), 0..300),
        strange in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u32>()), 0..5),
        elements in prop::collection::vec(prop::option::of(0..40_u64), 8),
        roots in prop::collection::vec((0..50_000_u64, 0..50_000_u64), 0..4),
        seed in 0..1000_u64,
    ) {
        let mut heap = HeapBuilder::default();
        for &(address, size, site) in &blocks {
            heap.block(address, size, site, 1);
        }
        for &(address, size, site) in &strange {
            heap.block(address, size, site, 1);
        }
        for &(start, end) in &roots {
            heap.root(RootKind::Stack, 0, start..end);
        }
        let kinds = [
            BlockKind::Unknown, BlockKind::List, BlockKind::Slice, BlockKind::Deque, BlockKind::Table, BlockKind::Boxed,
            BlockKind::Counted, BlockKind::Table,
        ];
        let shapes = kinds.iter().zip(elements);
        let shapes = shapes.map(|(&kind, element)| Shape::new(kind, element, 0)).collect();
        let orders = WordOrders::new([0, 1, 255], [3, 2, 1, 0], [0, 1, 2, 3], u64::MAX);
        let some = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
        let layouts = SiteShapes::new(shapes, if seed % 4 == 0 { orders } else { some });
        let heap = heap.finish();
        let snapshot = analyse(heap, &Hostile(seed), &layouts, &|_| ());
        let heap = snapshot.heap();
        let mut total = 0;
        for block in 0..heap.len() {
            let size = heap.block(block).size;
            total += size;
            prop_assert!(snapshot.unused_bytes(block).is_none_or(|bytes| bytes <= size));
            prop_assert!(snapshot.retained_bytes(block) >= size);
        }
        let alone = (0..heap.len()).filter(|&at| !matches!(snapshot.holder(at), Holder::Block(_)));
        let retained: u64 = alone.map(|at| snapshot.retained_bytes(at)).sum();
        prop_assert_eq!(retained, total);
    }
}

/// The benchmark: ten million blocks, of which most are lists, with a twentieth of the blocks held
/// from several places. The texts, which all differ, lie in an input behind the blocks.
#[test]
#[ignore = "a benchmark, to be run optimized"]
fn ten_million_blocks() {
    let blocks: u64 = std::env::var("HEAPGLASS_BLOCKS")
        .map_or(10_000_000, |blocks| blocks.parse().expect("a number"));
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
    let shapes = vec![
        Shape::new(BlockKind::Boxed, None, 0),
        Shape::new(BlockKind::List, Some(1), 1),
        Shape::new(BlockKind::Counted, None, 2),
        Shape::new(BlockKind::Slice, Some(1), 3),
    ];
    let layouts = SiteShapes::new(shapes, orders);
    // Blocks of 64 bytes. Each tenth is a record: it holds the record after next one and, by its
    // number, three texts; each twentieth record's texts are shared.
    let place = |block: u64| START + block % blocks * 64;
    let mixed = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let is_record = |block: u64| block.is_multiple_of(4);
    let word = |block: u64, word: u64| {
        if block >= blocks {
            return mixed((block - blocks) * 8 + word);
        }
        if block % 4 == 1 {
            return mixed(block / 4 * 8 + word);
        }
        if !is_record(block) {
            return mixed(block % 1000 + word);
        }
        match word {
            // A tree of records, ..
            0 | 1 => {
                let child = (block / 4 * 2 + 1 + word) * 4;
                if child < blocks { place(child) } else { 0 }
            }
            // .. a text, ..
            2 => 64,
            3 => place(block + 1),
            4 => 17 + block % 40,
            // .. and two counted values, often those of others.
            5 => place(block + 2),
            6 => place(block + 3),
            _ if block.is_multiple_of(20) => place(mixed(block) % (blocks / 4) * 4 + 2),
            _ => block,
        }
    };
    let site = |block: u64| {
        if is_record(block) {
            0
        } else {
            1 + u32::from(block % 4 > 1)
        }
    };
    let start = Instant::now();
    let stages = Mutex::new(Vec::new());
    let mut heap = HeapBuilder::default();
    for block in 0..blocks {
        heap.block(place(block), 64, site(block), block + 1);
    }
    heap.block(START + blocks * 64, blocks * 16, 3, blocks + 1);
    heap.root(RootKind::Segment, 0, 4096..4104);
    let heap = heap.finish();
    let memory = Paged(Computed {
        start: START,
        words_each: 8,
        word,
    });
    let snapshot = analyse(heap, &memory, &layouts, &|step| {
        let mut stages = stages.lock().expect("stages");
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let most = status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .unwrap_or("");
        stages.push(format!("{step:?} {:?} {most}", start.elapsed()));
    });
    let stat = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = stat
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or("");
    for stage in stages.into_inner().expect("stages") {
        println!("{stage}");
    }
    println!("{blocks} blocks in {:?}, {most}", start.elapsed());
    println!("{:?}", snapshot.losses());
    println!("{:?}, {:?}", snapshot.inputs(), snapshot.pinned_pages());
    let sites = Instant::now();
    println!("{:?}", snapshot.by_site());
    println!("sites in {:?}", sites.elapsed());
    println!(
        "root {}, repeated {}, several {}",
        snapshot.retained_by_root(0),
        snapshot.equal_values().repeated_blocks,
        (0..blocks as usize)
            .filter(|&at| snapshot.holder(at) == Holder::Several)
            .count(),
    );
}
