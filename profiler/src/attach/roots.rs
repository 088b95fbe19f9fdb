//! The memory outside the heap that may point into it.
//!
//! The recorder publishes stack and thread pointer of each lane; segments are those that the images
//! in memory describe. Other writable memory without blocks (stacks of threads that never
//! allocated, memory that the program mapped itself) reaches blocks, and owns none: nothing tells
//! what of it is in use.

use super::maps::{Images, Mapping};
use crate::snapshot::RootKind;
use std::ops::Range;
use tracking_alloc_recording::LaneValue;

/// Bytes of thread-local memory beyond the variables: glibc's surplus for libraries that are loaded
/// later.
const SURPLUS: u64 = 4096;
/// Bytes after the thread pointer that belong to libc's description of a thread.
const DESCRIPTION: u64 = 4096;
/// Other memory that is read of one mapping, and of all.
const MOST_OF_ONE: u64 = 64 << 20;
const MOST_OF_ALL: u64 = 1 << 30;

/// A root with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: RootKind,
    pub(super) name: String,
    pub(super) range: Range<u64>,
}

/// The sources of roots.
#[derive(Debug)]
pub(super) struct Outside<'a> {
    pub(super) mappings: &'a [Mapping],
    pub(super) images: &'a Images,
    pub(super) lanes: &'a [LaneValue],
    /// The ranges of blocks, in order.
    pub(super) blocks: &'a [Range<u64>],
    /// The stack pointer of the thread that made the copy.
    pub(super) stack_pointer: Option<u64>,
}

/// The roots, and the bytes of other memory that was left out.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) roots: Vec<Named>,
    pub(super) left_out_bytes: u64,
}

impl Outside<'_> {
    /// Returns the roots. None of them overlap.
    pub(super) fn roots(&self) -> Roots {
        let mut found = Roots::default();
        for lane in self.lanes {
            self.thread(lane, &mut found.roots);
        }
        for (range, file) in &self.images.segments {
            let parts = self.writable(range.clone());
            self.add(RootKind::Segment, file, parts, &mut found.roots);
        }
        let mut left = MOST_OF_ALL;
        let other = self.mappings.iter();
        let other = other.filter(|mapping| mapping.is_anonymous() && !mapping.is_recorders);
        for mapping in other {
            let range = mapping.range.clone();
            if self.blocks_in(&range).next().is_some() {
                continue;
            }
            let bytes = range.end - range.start;
            if bytes > MOST_OF_ONE || bytes > left {
                found.left_out_bytes = found.left_out_bytes.saturating_add(bytes);
                continue;
            }
            left -= bytes;
            // Nobody's stack: it has no name.
            self.add(RootKind::DeadStack, "", vec![range], &mut found.roots);
        }
        found
    }

    /// Adds the stack and the thread-local variables of a lane's thread.
    fn thread(&self, lane: &LaneValue, roots: &mut Vec<Named>) {
        let name = thread_name(lane);
        let (low, high) = (lane.stack_low, lane.stack_high);
        let pointer = lane.thread_pointer;
        // Above the variables on x86-64, below them on aarch64: what is around is libc's.
        let around = self.images.tls_bytes.saturating_add(SURPLUS);
        let before = pointer.saturating_sub(around.max(DESCRIPTION));
        let after = pointer.saturating_add(around.max(DESCRIPTION));
        let is_in_stack = low < pointer && pointer < high;
        let end = if is_in_stack { before.max(low) } else { high };
        if low < end {
            let used = self.stack_pointer.filter(|used| (low..end).contains(used));
            let dead = self.writable(low..used.unwrap_or(low));
            self.add(RootKind::DeadStack, &name, dead, roots);
            // NOTE: without the stack pointer, all of it counts as in use. What is stale is of the
            // same thread most often, and then the name is right.
            let live = self.writable(used.unwrap_or(low)..end);
            self.add(RootKind::Stack, &name, live, roots);
        }
        if pointer != 0 {
            let range = if is_in_stack {
                end..high
            } else {
                before..after
            };
            let parts = self.writable(range);
            // The variables of a first thread lie in a mapping of its loader: only that one.
            let parts = parts.into_iter().filter(|part| {
                is_in_stack
                    || self
                        .mapping_of(pointer)
                        .is_some_and(|of| of.contains(&part.start))
            });
            self.add(RootKind::ThreadLocals, &name, parts.collect(), roots);
        }
    }

    fn mapping_of(&self, address: u64) -> Option<&Range<u64>> {
        let mut ranges = self.mappings.iter().map(|mapping| &mapping.range);
        ranges.find(|range| range.contains(&address))
    }

    /// Returns the parts of a range that the program can write, without the recorder's own.
    fn writable(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mappings = self.mappings.iter();
        let mappings = mappings
            .filter(|mapping| mapping.is_writable && mapping.is_private && !mapping.is_recorders);
        let parts = mappings
            .map(|mapping| mapping.range.start.max(range.start)..mapping.range.end.min(range.end));
        parts.filter(|part| part.start < part.end).collect()
    }

    /// Returns the ranges of blocks that overlap a range.
    fn blocks_in(&self, range: &Range<u64>) -> impl Iterator<Item = &Range<u64>> {
        let first = self
            .blocks
            .partition_point(|blocks| blocks.end <= range.start);
        let end = range.end;
        let blocks = self.blocks[first..].iter();
        blocks.take_while(move |blocks| blocks.start < end)
    }

    /// Adds ranges without what blocks or earlier roots occupy.
    fn add(&self, kind: RootKind, name: &str, parts: Vec<Range<u64>>, roots: &mut Vec<Named>) {
        for part in parts {
            let earlier = roots.iter().map(|root| root.range.clone());
            let earlier = earlier.filter(|of| of.start < part.end && part.start < of.end);
            let mut taken: Vec<Range<u64>> = earlier.collect();
            taken.extend(self.blocks_in(&part).cloned());
            taken.sort_unstable_by_key(|range| range.start);
            let mut start = part.start;
            let mut push = |range: Range<u64>| {
                if range.start < range.end {
                    roots.push(Named {
                        kind,
                        name: name.to_owned(),
                        range,
                    });
                }
            };
            for taken in taken {
                push(start..taken.start.min(part.end));
                start = start.max(taken.end);
            }
            push(start..part.end);
        }
    }
}

/// Returns the name of a lane's thread for people.
fn thread_name(lane: &LaneValue) -> String {
    let bytes = lane.name.map(u64::to_le_bytes).concat();
    let end = bytes.iter().position(|byte| *byte == 0);
    let name = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
    if name.is_empty() {
        "a thread without a name".to_owned()
    } else {
        name.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(range: Range<u64>, inode: u64) -> Mapping {
        Mapping {
            range,
            is_writable: true,
            is_private: true,
            inode,
            ..Mapping::default()
        }
    }

    fn range(start: u64, end: u64) -> Range<u64> {
        start..end
    }

    #[test]
    fn roots_do_not_overlap_each_other_or_blocks() {
        let own = Mapping {
            is_recorders: true,
            ..mapping(0x50_0000..0x60_0000, 0)
        };
        let mappings = [
            mapping(0x1_0000..0x1_4000, 7),
            mapping(0x1_4000..0x1_8000, 0),
            // The heap, a stack, the recorder's memory, and something else.
            mapping(0x20_0000..0x30_0000, 0),
            mapping(0x40_0000..0x48_0000, 0),
            own,
            mapping(0x70_0000..0x70_1000, 0),
            mapping(0x80_0000..0x80_0000 + MOST_OF_ONE + 1, 0),
        ];
        let images = Images {
            files: Vec::new(),
            segments: vec![(0x1_1000..0x1_7000, "app".to_owned())],
            tls_bytes: 0x100,
        };
        let lane = LaneValue {
            stack_low: 0x3f_0000,
            stack_high: 0x48_0000,
            thread_pointer: 0x47_f000,
            name: [u64::from_le_bytes(*b"main\0\0\0\0"), 0],
            ..LaneValue::default()
        };
        let outside = Outside {
            mappings: &mappings,
            images: &images,
            lanes: &[lane, lane],
            blocks: &[0x1_2000..0x1_3000, 0x20_0010..0x2f_0000],
            stack_pointer: Some(0x44_0000),
        };
        let found = outside.roots();
        assert_eq!(found.left_out_bytes, MOST_OF_ONE + 1);
        let ranges = |kind| -> Vec<Range<u64>> {
            let of_kind = found.roots.iter().filter(|root| root.kind == kind);
            of_kind.map(|root| root.range.clone()).collect()
        };
        assert_eq!(ranges(RootKind::Stack)[..], [range(0x44_0000, 0x47_df00)]);
        assert_eq!(
            ranges(RootKind::ThreadLocals)[..],
            [range(0x47_df00, 0x48_0000)]
        );
        let segments = [0x1_1000..0x1_2000, 0x1_3000..0x1_4000, 0x1_4000..0x1_7000];
        assert_eq!(ranges(RootKind::Segment), segments);
        let dead = ranges(RootKind::DeadStack);
        assert!(dead.contains(&(0x40_0000..0x44_0000)) && dead.contains(&(0x70_0000..0x70_1000)));
        let mut all: Vec<_> = found.roots.iter().map(|root| root.range.clone()).collect();
        all.sort_unstable_by_key(|range| range.start);
        assert!(all.windows(2).all(|two| two[0].end <= two[1].start));
        let blocks = outside.blocks;
        let is_free = |root: &Range<u64>| {
            let mut blocks = blocks.iter();
            blocks.all(|block| block.end <= root.start || root.end <= block.start)
        };
        assert!(all.iter().all(is_free));
        assert_eq!(found.roots[0].name, "main");
    }

    #[test]
    fn hostile_addresses_of_a_lane_are_no_roots() {
        let mappings = [mapping(0x1000..0x2000, 0)];
        for word in [0, 1, u64::MAX, 1 << 63] {
            let lane = LaneValue {
                stack_low: word,
                stack_high: u64::MAX,
                thread_pointer: word.wrapping_sub(1),
                ..LaneValue::default()
            };
            let outside = Outside {
                mappings: &mappings,
                images: &Images::default(),
                lanes: &[lane],
                blocks: &[],
                stack_pointer: Some(word),
            };
            for root in outside.roots().roots {
                assert!(0x1000 <= root.range.start && root.range.end <= 0x2000);
            }
        }
    }
}
