//! Goes through the bytes of a block or root that are in use: its pointers, its hash, and its pages
//! of zeros.

use super::super::hash::{Hash, Rolling};
use super::super::inputs;
use super::super::layout::{Mark, Source, View, WORD};
use super::{PAGE, Part, REFERS, Reader, TARGET, WINDOW};
use std::iter::Peekable;
use std::ops::Range;

/// Bytes around a window, so that a header at its end is seen as a whole.
const AROUND: u64 = 8 * WORD;
/// More bytes are never kept around a window, however large a value is.
const MOST_AROUND: u64 = 16 << 20;

/// The reading of one block or root.
pub(super) struct Scan<'a, 'b> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) node: Source,
    pub(super) all: Range<u64>,
    /// All bytes, if they are read already.
    pub(super) bytes: Option<&'a [u8]>,
    pub(super) hash: Hash,
    pub(super) zero_pages: u32,
    pub(super) is_readable: bool,
    /// The value was dropped, and `Weak` pointers keep the block.
    pub(super) is_dropped: bool,
    /// All bytes so far are 0.
    pub(super) is_zero: bool,
    /// The knowledge about the block if it is a text that may lie in an input.
    pub(super) text: Option<Text>,
    pub(super) part: &'b mut Part,
}

pub(super) struct Text {
    /// The seed of its hash.
    pub(super) seed: u64,
    pub(super) start: u64,
    pub(super) hash: Option<u64>,
}

impl Scan<'_, '_> {
    /// Goes through addresses that are in use.
    pub(super) fn range(&mut self, range: Range<u64>) {
        if let Some(bytes) = self.bytes {
            let within = (range.start - self.all.start) as usize;
            let bytes = &bytes[within..within + (range.end - range.start) as usize];
            return self.window(bytes, range.start, range);
        }
        let mut buffer = Vec::new();
        let span = self.reader.layouts.span(self.node).min(MOST_AROUND);
        // A value larger than a window is not read once for each window.
        let window = span.next_multiple_of(PAGE).max(WINDOW);
        let around = span.max(AROUND);
        let mut start = range.start;
        while start < range.end {
            // Windows end with a page, so that no page is seen in two parts.
            let end = (start / PAGE * PAGE).saturating_add(window).min(range.end);
            let before = start.saturating_sub(around).max(range.start);
            let after = end.saturating_add(around).min(range.end);
            buffer.resize((after - before) as usize, 0);
            if self.reader.memory.read(before, &mut buffer).is_ok() {
                self.window(&buffer, before, start..end);
            } else {
                // The size may be as wrong as the address.
                self.is_readable = false;
                break;
            }
            start = end;
        }
    }

    /// Goes through the full buckets of a table, and returns their number.
    pub(super) fn table(&mut self, buckets: u64, control: u64, bucket: u64) -> u64 {
        let within = control as usize..(control + buckets) as usize;
        let mut buffer = Vec::new();
        let controls = if let Some(bytes) = self.bytes {
            &bytes[within]
        } else {
            // In steps: a size that is wrong must not cost memory.
            while buffer.len() < within.len() {
                let read = buffer.len();
                buffer.resize(within.len().min(read + WINDOW as usize), 0xff);
                let start = self.all.start + control + read as u64;
                if self.reader.memory.read(start, &mut buffer[read..]).is_err() {
                    self.is_readable = false;
                    return 0;
                }
            }
            &buffer
        };
        let is_full = |index: &u64| controls[*index as usize] < 0x80;
        let full = (0..buckets).filter(is_full).count() as u64;
        if bucket > 0 {
            // The bucket with the highest number lies first. Neighbours are one range.
            let end = self.all.start + control;
            let start = |index: u64| end - (index + 1) * bucket;
            let mut open: Option<Range<u64>> = None;
            for index in (0..buckets).rev().filter(is_full) {
                let range = start(index)..start(index) + bucket;
                if let Some(open) = &mut open
                    && open.end == range.start
                {
                    open.end = range.end;
                } else if let Some(whole) = open.replace(range) {
                    self.range(whole);
                }
            }
            if let Some(whole) = open {
                self.range(whole);
            }
        }
        full
    }

    fn window(&mut self, bytes: &[u8], start: u64, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let view = View {
            heap: self.reader.heap,
            source: self.node,
            bytes,
            start,
            range: range.clone(),
            is_probe: false,
        };
        let words = &mut self.part.words;
        words.clear();
        self.reader.layouts.walk(&view, words);
        self.is_dropped |= words.is_dropped;
        let used = (range.start - start) as usize..(range.end - start) as usize;
        self.is_zero = self.is_zero && bytes[used].iter().all(|byte| *byte == 0);
        // They usually are in order.
        words.marks.sort_by_key(|mark| mark.0);
        words.headers.sort_by_key(|header| header.0);
        words.notes.sort_by_key(|note| note.0);
        words.slices.sort_by_key(|slice| slice.0);
        words.gaps.sort_by_key(|gap| gap.0);
        let mut gaps = words.gaps.iter().copied().peekable();
        let mut notes = words.notes.iter().peekable();
        let mut headers = words.headers.iter().peekable();
        let mut slices = words.slices.iter().peekable();
        let mut marks = words.marks.iter().peekable();
        let head = first_multiple(&range, WORD);
        let at = |address: u64| (address - start) as usize;
        if let Some(text) = &mut self.text
            && marks.len() == 0
        {
            // A text is small enough for one window.
            let bytes = &bytes[at(range.start)..at(range.end)];
            let first = bytes.first_chunk::<8>().copied().unwrap_or_default();
            text.start = inputs::start_of(u64::from_le_bytes(first), bytes.len() as u64);
            text.hash = Some(Rolling::of(bytes) ^ text.seed);
            return self.zero_pages(bytes, &range);
        }
        while marks.next_if(|mark| mark.0 < range.start).is_some() {}
        // The plain data up to here counts in the hash. Fields of packed structs lie at any
        // address, so the words that are marked need not be aligned.
        let mut hashed = range.start;
        let mut last = None;
        let mut plain = |hash: &mut Hash, from: u64, to: u64| {
            values(from..to, &mut gaps, |part| {
                let head = head.clamp(part.start, part.end);
                hash.bytes(&bytes[at(part.start)..at(head)]);
                hash.words(&bytes[at(head)..at(part.end)]);
            });
        };
        while let Some(&(address, mark)) = marks.next_if(|mark| mark.0 < range.end) {
            let Some(word) = view.word(address).filter(|_| last != Some(address)) else {
                continue;
            };
            last = Some(address);
            plain(&mut self.hash, hashed, address);
            hashed = hashed.max(address.saturating_add(WORD).min(range.end));
            let target = match mark {
                Mark::Skip => continue,
                Mark::Owns(target) | Mark::Refers(target) => target,
            };
            while headers.next_if(|header| header.0 < address).is_some() {}
            while notes.next_if(|note| note.0 < address).is_some() {}
            while slices.next_if(|slice| slice.0 < address).is_some() {}
            // The target counts later, when its own hash is known.
            let offset = word.wrapping_sub(self.reader.heap.range(target as usize).start);
            self.hash.word(offset);
            let slice = self.reader.slice(&view, address, word, target as usize);
            if let Some((_, header)) = headers.next_if(|header| header.0 == address) {
                let edge = self.part.edges.len();
                self.part.headers.push((edge, *header));
                let slice = slice.map(|slice| (edge, slice));
                self.part.header_slices.extend(slice);
            } else {
                self.part.slices.extend(slice);
            }
            if let Some(&(_, note)) = notes.next_if(|note| note.0 == address) {
                self.part.notes.push((self.part.edges.len(), note));
            }
            if let Some(&(_, length)) = slices.next_if(|slice| slice.0 == address)
                && length > 0
            {
                self.part.lengths.push((self.part.edges.len(), length));
            }
            let refers = if matches!(mark, Mark::Refers(_)) {
                REFERS
            } else {
                0
            };
            self.part.edges.push(target & TARGET | refers);
        }
        plain(&mut self.hash, hashed, range.end);
        self.zero_pages(&bytes[at(range.start)..at(range.end)], &range);
    }

    /// Counts the pages of zeros among the bytes of a range.
    fn zero_pages(&mut self, bytes: &[u8], range: &Range<u64>) {
        let first = first_multiple(range, PAGE) - range.start;
        let (pages, _) = bytes[first as usize..].as_chunks::<4096>();
        let zero = pages.iter().filter(|page| **page == [0; 4096]).count();
        self.zero_pages += zero as u32;
    }
}

/// Calls `each` with the parts of a range that lie in no gap. The ranges of several calls are in
/// order, as the gaps are.
fn values(
    range: Range<u64>,
    gaps: &mut Peekable<impl Iterator<Item = (u64, u64)>>,
    mut each: impl FnMut(Range<u64>),
) {
    let mut from = range.start;
    while from < range.end {
        let Some(&(start, end)) = gaps.peek().filter(|gap| gap.0 < range.end) else {
            return each(from..range.end);
        };
        if from < start {
            each(from..start);
        }
        from = from.max(end);
        if end <= range.end {
            gaps.next();
        }
    }
}

/// Returns the first multiple in a range, or the range's end.
fn first_multiple(range: &Range<u64>, of: u64) -> u64 {
    let first = range.start.checked_next_multiple_of(of);
    first.map_or(range.end, |first| first.min(range.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_left_out_wherever_ranges_end() {
        let gaps = [(3, 4), (4, 8), (9, 9), (18, 25), (30, 31)];
        let mut gaps = gaps.into_iter().peekable();
        let mut found = Vec::new();
        // One ends in a gap, the next one begins there, and the last one is in none.
        for range in [5..5, 5..20, 20..28, 28..30] {
            values(range, &mut gaps, |part| found.push(part));
        }
        assert_eq!(found, [8..9, 9..18, 25..28, 28..30]);
        assert_eq!(gaps.next(), Some((30, 31)));
    }
}
