//! The figures of blocks in addition to their holders, against slow oracles: texts in inputs,
//! pages, tables and slices.

use super::*;
use proptest::prelude::*;

const TEXT: u32 = 1;
const TABLE: u32 = 2;
const SLICE: u32 = 3;
const STACK: u64 = 1 << 20;
const ORDERS: ([u8; 3], [u8; 4]) = ([0, 1, 2], [0, 1, 2, 3]);

fn layouts() -> SiteShapes {
    let orders = WordOrders::new(ORDERS.0, ORDERS.1, ORDERS.1, 16);
    let shapes = vec![
        Shape::default(),
        Shape::new(BlockKind::List, Some(1), 7),
        Shape::new(BlockKind::Table, None, 0),
        Shape::new(BlockKind::Slice, Some(1), 8),
    ];
    SiteShapes::new(shapes, orders)
}

/// Blocks with contents, and a segment of words that point to them.
#[derive(Default)]
struct Made {
    memory: Ranges,
    heap: HeapBuilder,
    segment: Vec<u64>,
    stack: Vec<u64>,
    next: u64,
    /// The birth of the next block, less one.
    birth: u64,
}

impl Made {
    fn block(&mut self, site: u32, bytes: Vec<u8>) -> u64 {
        let address = (1 << 24) + self.next;
        self.next += (bytes.len() as u64).next_multiple_of(16) + 16;
        let birth = self.birth + 1;
        self.heap.block(address, bytes.len() as u64, site, birth);
        self.memory.put(address, bytes);
        address
    }

    /// A string with some capacity more.
    fn text(&mut self, text: &[u8], spare: usize) -> u64 {
        let at = self.block(TEXT, [text, &vec![b'a'; spare]].concat());
        let capacity = (text.len() + spare) as u64;
        self.segment.extend([capacity, at, text.len() as u64]);
        at
    }

    fn analyse(mut self) -> Analysis {
        let words = le(&self.segment);
        self.heap
            .root(RootKind::Segment, 0, 4096..4096 + words.len() as u64);
        self.memory.put(4096, words);
        let words = le(&self.stack);
        self.heap
            .root(RootKind::Stack, 1, STACK..STACK + words.len() as u64);
        self.memory.put(STACK, words);
        analyse(self.heap.finish(), &self.memory, &layouts(), &|_| ())
    }
}

/// Bytes of few kinds, so that texts occur again.
fn bytes(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&b"ab\0"[..]), length)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn texts_in_inputs(
        inputs in prop::collection::vec((bytes(4080..4400), 0..40_usize), 0..4),
        texts in prop::collection::vec((bytes(0..14), 0..9_usize), 0..40),
        parts in prop::collection::vec((0..4_usize, 0..4400_usize, 0..5000_usize, 0..9_usize), 0..20),
        slices in any::<bool>(),
    ) {
        let mut made = Made::default();
        // By address, the text in use.
        let mut all = BTreeMap::new();
        for (text, spare) in inputs.iter().chain(&texts) {
            if text.len() + spare > 0 {
                all.insert(made.text(text, *spare), text.clone());
            }
        }
        for &(input, start, length, spare) in &parts {
            if let Some((text, _)) = inputs.get(input) {
                let part = &text[start.min(text.len())..];
                let part = part[..length.min(part.len())].to_vec();
                if slices && !part.is_empty() {
                    all.insert(made.block(SLICE, part.clone()), part);
                } else if part.len() + spare > 0 {
                    all.insert(made.text(&part, spare), part);
                }
            }
        }
        let analysis = made.analyse();
        prop_assert_eq!(analysis.losses().unknown_lengths, 0);
        let mut found = BTreeMap::new();
        for (&address, text) in &all {
            let others = all.iter().filter(|&(_, other)| {
                let is_part = other.windows(text.len().max(1)).any(|part| part == text.as_slice());
                let is_text = text.len() >= 8 && !text.starts_with(&[0; 8]);
                other.len() >= 4096 && other.len() > text.len() && is_text && is_part
            });
            let largest = others.max_by_key(|&(at, other)| (other.len(), std::cmp::Reverse(at)));
            let block = analysis.heap().find(address).expect("a block");
            prop_assert_eq!(analysis.lies_in_input(block), largest.is_some(), "{:?}", text);
            if let Some((&input, _)) = largest {
                let input = analysis.heap().find(input).expect("a block");
                let found: &mut (u64, u64) = found.entry(input).or_default();
                found.0 += 1;
                found.1 += analysis.heap().block(block).size;
            }
        }
        let inputs = analysis.inputs().iter();
        let inputs = inputs.map(|input| (input.block, (input.texts, input.text_bytes)));
        prop_assert!(inputs.eq(found));
        let by_site: u64 = analysis.by_site().values().map(|site| site.in_input_blocks).sum();
        prop_assert_eq!(by_site, analysis.inputs().iter().map(|input| input.texts).sum::<u64>());
    }
}

/// A text that begins in one window and ends in the next, at each place around the boundary.
#[test]
fn texts_across_windows() {
    let mixed = |at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8;
    let input: Vec<u8> = (0..3 << 20).map(mixed).collect();
    let mut made = Made::default();
    let mut texts = Vec::new();
    for start in (1 << 20) - 40..(1 << 20) + 8 {
        texts.push(made.text(&input[start..start + 33], 5));
    }
    texts.push(made.text(&input[(1 << 20) - 9..][..1 << 16], 0));
    let mut other = input[77..100].to_vec();
    other[22] ^= 1;
    let other = made.text(&other, 0);
    made.text(&input, 100);
    let analysis = made.analyse();
    let lies = |address| analysis.lies_in_input(analysis.heap().find(address).expect("a block"));
    assert!(texts.iter().all(|&text| lies(text)));
    assert!(!lies(other));
    assert_eq!(analysis.inputs().len(), 1);
    assert_eq!(analysis.losses().unsearched_bytes, 0);
}

/// Equal texts of all lengths that begin at each byte: the search gives up and says so.
#[test]
fn texts_that_look_alike() {
    let mut made = Made::default();
    for length in 8..600 {
        made.text(&vec![b'x'; length], 0);
    }
    made.text(&vec![b'x'; 1 << 20], 0);
    let analysis = made.analyse();
    assert_eq!(analysis.inputs()[0].texts, 592);
    let left = analysis.losses().unsearched_bytes;
    assert!(left > 1 << 19 && left < 1 << 20, "{left}");
}

/// A text of 100 lines.
fn lines() -> Vec<u8> {
    let line = |number| format!("line {number:03} of a text with a hundred lines of some length\n");
    (0..100).map(line).collect::<String>().into_bytes()
}

/// Returns the texts that each input has, and `true` for those that were read from it.
fn texts_of(analysis: &Analysis) -> Vec<(u32, u64, bool)> {
    let texts = analysis.texts_in_inputs().iter();
    let texts = texts.map(|texts| (texts.site, texts.texts, texts.is_read));
    texts.collect()
}

/// Optimised code keeps the header of a local in registers, or leaves an old one on the stack.
#[test]
fn an_input_is_searched_as_a_whole_where_only_a_stack_or_nothing_has_its_header() {
    let text = lines();
    let capacity = text.len() as u64 + 4096;
    // A flag lies beside the pointer in the last one.
    for words in [[0, 0], [capacity, 0], [capacity, 16], [1 << 63, 16]] {
        let mut made = Made::default();
        let input = made.block(TEXT, [text.as_slice(), &[0; 4096]].concat());
        made.stack = vec![words[0], input, words[1]];
        made.birth += 1;
        for line in text.chunks(text.len() / 100) {
            made.text(line, 0);
        }
        // Zeros lie at the end of the block, but not in the text.
        made.text(&[0; 32], 0);
        let analysis = made.analyse();
        assert_eq!(texts_of(&analysis), [(TEXT, 100, true)], "{words:x?}");
        assert_eq!(analysis.inputs()[0].texts, 100);
        assert_ne!(
            analysis.reach(analysis.inputs()[0].block),
            Reach::NotReached
        );
    }
}

/// A length that the heap knows counts: what lies behind it is no text.
#[test]
fn an_emptied_input_of_a_known_length_is_none() {
    let mut made = Made::default();
    let text = lines();
    let input = made.block(TEXT, text.clone());
    made.segment.extend([text.len() as u64, input, 0]);
    made.birth += 1;
    made.text(&text[..40], 0);
    assert_eq!(texts_of(&made.analyse()), []);
}

#[test]
fn a_buffer_that_is_used_again_was_not_read_as_a_whole() {
    let mut made = Made::default();
    let text = lines();
    let buffer = made.block(TEXT, text.clone());
    made.stack.push(buffer);
    made.birth += 1;
    for number in 0..101 {
        made.text(format!("an earlier line, number {number}").as_bytes(), 0);
    }
    // Of another call: it has no part in it.
    for number in 0..900 {
        made.block(
            SLICE,
            format!("a text of the program, number {number}").into(),
        );
    }
    for line in text.chunks(text.len() / 100) {
        made.text(line, 0);
    }
    assert_eq!(texts_of(&made.analyse()), [(TEXT, 100, false)]);
}

#[test]
fn a_text_that_is_written_is_later_than_most_of_what_lies_in_it() {
    let mut made = Made::default();
    let text = lines();
    let lines: Vec<&[u8]> = text.chunks(text.len() / 100).collect();
    for line in &lines[..60] {
        made.text(line, 0);
    }
    made.birth += 1;
    let written = made.block(TEXT, text.clone());
    made.stack.push(written);
    made.birth += 1;
    for line in &lines[60..] {
        made.text(line, 0);
    }
    assert_eq!(texts_of(&made.analyse()), [(TEXT, 40, false)]);
}

/// Memory of which every fifth page is untouched and every seventh swapped.
struct Paged;

impl Paged {
    fn page(number: u64) -> Page {
        if number.is_multiple_of(5) {
            Page::Untouched
        } else if number.is_multiple_of(7) {
            Page::Swapped
        } else {
            Page::Resident
        }
    }
}

impl Memory for Paged {
    fn read(&self, _: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }

    fn page_bytes(&self) -> u64 {
        64
    }

    fn pages(&self, address: u64, count: usize, pages: &mut Vec<Page>) -> Option<()> {
        assert!(address.is_multiple_of(64));
        pages.extend((address / 64..).take(count).map(Paged::page));
        Some(())
    }
}

proptest! {
    #[test]
    fn pages_of_blocks(
        blocks in prop::collection::vec((1..300_u64, 1..400_u64, 0..3_u32), 0..60),
        far in 0..3_u64,
    ) {
        let mut heap = HeapBuilder::default();
        let mut at = 0;
        for &(gap, size, site) in &blocks {
            at += gap;
            if size == 399 {
                at += far << 24;
            }
            heap.block(at, size, site, 1);
            at += size;
        }
        let analysis = analyse(heap.finish(), &Paged, &layouts(), &|_| ());
        let heap = analysis.heap();
        // By page: the live bytes of each site, and whether a block is small.
        let mut pages: BTreeMap<u64, (BTreeMap<u32, u64>, bool)> = BTreeMap::new();
        for block in 0..heap.len() {
            let range = heap.range(block);
            let mut untouched = 0;
            for number in range.start / 64..range.end.div_ceil(64) {
                let live = range.end.min(number * 64 + 64) - range.start.max(number * 64);
                match Paged::page(number) {
                    Page::Resident => {
                        let page = pages.entry(number).or_default();
                        *page.0.entry(heap.site(block)).or_default() += live;
                        page.1 |= heap.size(block) < 64;
                    }
                    Page::Untouched => untouched += u32::from(live == 64),
                    Page::Swapped => {}
                }
            }
            prop_assert_eq!(analysis.untouched_pages(block), Some(untouched));
        }
        pages.retain(|_, page| page.1);
        let all = analysis.pinned_pages().unwrap_or_default();
        prop_assert_eq!(all.pages, pages.len() as u64);
        prop_assert_eq!(all.page_bytes, 64 * all.pages);
        let sites = analysis.by_site();
        let sum = |of: fn(&PinnedPages) -> u64| sites.values().map(|site| of(&site.pinned)).sum();
        let (bytes, live, own): (u64, u64, u64) =
            (sum(|of| of.page_bytes), sum(|of| of.live_bytes), sum(|of| of.own_pages));
        prop_assert_eq!((bytes, live, own), (all.page_bytes, all.live_bytes, all.own_pages));
        for (number, site) in &sites {
            let own = pages.values().filter_map(|page| Some((page, *page.0.get(number)?)));
            let (mut count, mut alone, mut live, mut share) = (0, 0, 0, 0.0);
            for (page, bytes) in own {
                count += 1;
                alone += u64::from(page.0.len() == 1);
                live += bytes;
                share += 64.0 * bytes as f64 / page.0.values().sum::<u64>() as f64;
            }
            let pinned = site.pinned;
            prop_assert_eq!((pinned.pages, pinned.own_pages), (count, alone));
            prop_assert_eq!(pinned.live_bytes, live);
            prop_assert!((pinned.page_bytes as f64 - share).abs() <= count as f64);
        }
    }
}

/// A block of more pages than are asked for at once, and a small one behind it.
#[test]
fn pages_of_a_large_block() {
    let (start, pages) = (64_u64, 100_000_u64);
    let mut heap = HeapBuilder::default();
    heap.block(start + 5, pages * 64, 1, 1);
    heap.block(start + pages * 64 + 20, 8, 2, 2);
    let analysis = analyse(heap.finish(), &Paged, &layouts(), &|_| ());
    // The first page and the one behind the last are not its own alone.
    let untouched = (2..=pages).filter(|&number| Paged::page(number) == Page::Untouched);
    let untouched = untouched.count() as u32;
    assert_eq!(analysis.untouched_pages(0), Some(untouched));
    assert_eq!(
        analysis.by_site()[&1].untouched_bytes,
        u64::from(untouched) * 64
    );
    // Page 100,001 is resident: 5 bytes of the large block and 8 of the small one.
    let pinned = analysis.pinned_pages().unwrap_or_default();
    assert_eq!(
        (pinned.pages, pinned.page_bytes, pinned.live_bytes),
        (1, 64, 13)
    );
    assert_eq!(pinned.unused_bytes(), 51);
}

/// Without a word of the memory's pages, nothing is said of them.
#[test]
fn pages_that_are_not_known() {
    let mut made = Made::default();
    made.text(b"text", 9000);
    let analysis = made.analyse();
    assert_eq!(analysis.untouched_pages(0), None);
    assert_eq!(analysis.pinned_pages(), None);
}

/// A full table, an emptied one and a small one, and an emptied list.
#[test]
fn tables_and_lists_that_hold_little() {
    let mut made = Made::default();
    let mut tables = Vec::new();
    for (buckets, items) in [(8_usize, 7), (64, 0), (16, 3)] {
        let mut bytes = vec![0; buckets * 24];
        let controls = (0..buckets + 16).map(|at| if at < items { 9 } else { 0xff });
        bytes.extend(controls);
        let at = made.block(TABLE, bytes);
        made.segment.extend([
            at + buckets as u64 * 24,
            buckets as u64 - 1,
            (buckets * 7 / 8 - items) as u64,
            items as u64,
        ]);
        tables.push(at);
    }
    let list = made.text(b"", 300);
    let analysis = made.analyse();
    let find = |address| analysis.heap().find(address).expect("a block");
    let items = tables.iter().map(|&at| analysis.table_items(find(at)));
    assert!(items.eq([Some(7), Some(0), Some(3)]));
    let is_empty = tables.iter().map(|&at| analysis.is_empty(find(at)));
    assert!(is_empty.eq([false, true, false]));
    assert!(analysis.is_empty(find(list)));
    assert_eq!(analysis.table_items(find(list)), None);
    let sites = analysis.by_site();
    let site = &sites[&TABLE];
    assert_eq!((site.tables, site.table_items), (3, 10));
    assert_eq!((site.empty_blocks, site.empty_bytes), (1, 64 * 24 + 80));
    assert_eq!(site.small_tables, [0, 0, 1, 0, 0, 0, 1, 0]);
    assert_eq!(site.small_table_bytes, 24 * 24 + 24 + 32);
    assert_eq!(site.small_table_item_bytes, 240);
    assert_eq!(site.unused_bytes, (1 + 64 + 13) * 24);
    assert_eq!(sites[&TEXT].empty_bytes, 300);
    let json = serde_json::to_string(&sites).expect("JSON");
    let read: BTreeMap<u32, SiteFigures> = serde_json::from_str(&json).expect("figures");
    assert_eq!(read, sites);
}

#[test]
fn large_blocks_of_which_slices_cover_a_part() {
    let mut made = Made::default();
    let block = |made: &mut Made, site| made.block(site, vec![b'-'; 8192]);
    // Like `Bytes`: the capacity beside the start, and two slices that overlap.
    let shared = block(&mut made, TEXT);
    made.segment
        .extend([shared, 8192, 1, 0, shared + 100, 50, 0, shared + 120, 80]);
    // The end of an iterator is no length.
    let iterated = block(&mut made, TEXT);
    made.segment
        .extend([0, iterated, 8192, 0, iterated + 8, iterated + 16]);
    // A pointer alone may lead anywhere.
    let unknown = block(&mut made, TEXT);
    made.segment
        .extend([0, unknown + 100, 50, 0, unknown + 4000, 1 << 40]);
    // All of it is referred to, apart from the owner.
    let whole = block(&mut made, TEXT);
    made.segment
        .extend([0, whole, 8192, 0, whole, 8192, 0, whole + 9, 1]);
    // A string owns this one.
    let owned = made.text(&[b'.'; 8000], 192);
    made.segment.extend([0, owned + 7000, 1000]);
    let analysis = made.analyse();
    let find = |address| analysis.heap().find(address).expect("a block");
    let sliced = analysis.sliced().iter();
    let sliced = sliced.map(|sliced| (sliced.block, sliced.covered_bytes, sliced.has_list));
    let expected = [(find(shared), 100, false), (find(owned), 1000, true)];
    assert!(sliced.eq(expected));
    let sites = analysis.by_site();
    assert_eq!(sites[&TEXT].sliced_blocks, 1);
    assert_eq!(sites[&TEXT].slice_bytes, 100);
}
