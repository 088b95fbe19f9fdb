//! The memory of a process that was stopped while it was read, for programs that cannot be copied.

use super::super::copied::read_exact;
use super::Mapping;
use crate::snapshot::{Memory, Page, PageMap};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Pages that are asked for at a time, and the size of a page.
const PAGES: u64 = 1 << 14;
const PAGE: u64 = 4096;

/// The memory that a program could write at one moment. Other memory is read from the program itself,
/// which goes on: code and constants stay as they are.
pub(super) struct HeldMemory {
    file: File,
    /// In the order of their addresses; none overlap.
    parts: Vec<Part>,
    /// Memory without a file. What no part has of it is zeros.
    anonymous: Vec<Range<u64>>,
}

/// Memory that was touched.
struct Part {
    start: u64,
    bytes: Vec<u8>,
}

impl Part {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl HeldMemory {
    /// Reads all touched memory that the process can write.
    pub(super) fn read(
        file: File,
        pages: Option<&PageMap>,
        mappings: &[Mapping],
    ) -> io::Result<HeldMemory> {
        let mut parts = Vec::new();
        let own = mappings.iter().filter(|of| of.is_writable && of.is_private);
        for mapping in own {
            for range in touched(pages, &mapping.range) {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                // Memory of devices cannot be read, and has no blocks.
                if read_exact(&file, range.start, &mut bytes).is_ok() {
                    parts.push(Part {
                        start: range.start,
                        bytes,
                    });
                }
            }
        }
        let anonymous = mappings.iter().filter(|mapping| mapping.is_anonymous());
        Ok(HeldMemory {
            file,
            parts,
            anonymous: anonymous.map(|mapping| mapping.range.clone()).collect(),
        })
    }
}

/// Returns the parts of a mapping that were touched.
fn touched(map: Option<&PageMap>, range: &Range<u64>) -> Vec<Range<u64>> {
    let map = map.filter(|map| map.page_bytes() == PAGE);
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut add = |part: Range<u64>| match found.last_mut() {
        Some(last) if last.end == part.start => last.end = part.end,
        _ => found.push(part),
    };
    let mut start = range.start;
    let mut pages = Vec::new();
    while start < range.end {
        let end = range.end.min(start + PAGES * PAGE);
        let count = ((end - start) / PAGE) as usize;
        pages.clear();
        let is_known = map.is_some_and(|map| {
            let is_told = map.pages(start, count, &mut pages).is_ok();
            is_told && pages.len() == count
        });
        if is_known {
            for (page, number) in pages.iter().zip(0..) {
                if *page != Page::Untouched {
                    let at = start + number * PAGE;
                    add(at..at + PAGE);
                }
            }
        } else {
            add(start..end);
        }
        start = end;
    }
    found
}

impl Memory for HeldMemory {
    fn read(&self, mut at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut rest = buffer;
        while !rest.is_empty() {
            let next = self.parts.partition_point(|part| part.end() <= at);
            let next = self.parts.get(next);
            let part = next.filter(|part| part.start <= at);
            let anonymous = self.anonymous.partition_point(|range| range.end <= at);
            let anonymous = self.anonymous.get(anonymous);
            let anonymous = anonymous.filter(|range| range.start <= at);
            let end = match (part, anonymous) {
                (Some(part), _) => part.end(),
                (None, of) => {
                    let end = of.map_or(u64::MAX, |range| range.end);
                    end.min(next.map_or(u64::MAX, |part| part.start))
                }
            };
            let count = usize::try_from(end - at).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(count.min(rest.len()));
            if let Some(part) = part {
                let inside = (at - part.start) as usize;
                now.copy_from_slice(&part.bytes[inside..inside + now.len()]);
            } else if anonymous.is_some() {
                now.fill(0);
            } else {
                read_exact(&self.file, at, now)?;
            }
            at += now.len() as u64;
            rest = later;
        }
        Ok(())
    }
}
