//! The memory outside the heap that may point into it.
//!
//! The stack and the thread pointer of each thread are known from the recorder or from its
//! registers; segments are those that the images
//! in memory describe. Other writable memory without blocks (stacks of threads that never
//! allocated, memory that the program mapped itself) reaches blocks, and owns none: nothing tells
//! what of it is in use.

use super::maps::{Images, Mapping};
use crate::snapshot::{self, HeapBuilder, RootKind};
use std::io;
use std::ops::Range;

/// Bytes of thread-local memory beyond the variables: glibc's surplus for libraries that are loaded
/// later. On a thread's own stack, its first functions follow right below.
const SURPLUS: u64 = 4096;
/// Bytes of an entry in glibc's list of the thread-local variables of a thread: their address, and
/// a word for their block if they have one.
const ENTRY: u64 = 16;
/// Entries of that list that are read.
const MOST_ENTRIES: u64 = 4096;
/// Bytes after the thread pointer that belong to libc's description of a thread.
const DESCRIPTION: u64 = 4096;
/// Other memory that is read of one mapping, and of all.
const MOST_OF_ONE: u64 = 64 << 20;
const MOST_OF_ALL: u64 = 1 << 30;

/// A thread: its stack, and where its thread-local variables are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thread {
    /// The name for people.
    pub(crate) name: String,
    /// The stack. Thread-local variables may lie at its end.
    pub(crate) stack: Range<u64>,
    /// The stack pointer, if it is known.
    pub(crate) stack_pointer: Option<u64>,
    /// The thread pointer; 0 if it is not known.
    pub(crate) thread_pointer: u64,
}

/// A root with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) kind: RootKind,
    pub(crate) name: String,
    pub(crate) range: Range<u64>,
}

/// The sources of roots.
pub(crate) struct Outside<'a> {
    pub(crate) mappings: &'a [Mapping],
    pub(crate) images: &'a Images,
    pub(crate) threads: &'a [Thread],
    /// The ranges of blocks, in order.
    pub(crate) blocks: &'a [Range<u64>],
    /// Reads memory of the program.
    pub(crate) read: &'a dyn Fn(u64, &mut [u8]) -> io::Result<()>,
}

/// The roots, and the bytes of other memory that was left out.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    pub(crate) roots: Vec<Named>,
    pub(crate) left_out_bytes: u64,
}

impl Outside<'_> {
    /// Adds the roots to a heap. `registers` has the places at which the registers of threads are
    /// read as memory, with the names of the threads. Returns the names of the roots, and the bytes
    /// of other memory that was left out.
    pub(crate) fn add_roots(
        &self,
        heap: &mut HeapBuilder,
        registers: Vec<(String, Range<u64>)>,
    ) -> (Vec<snapshot::Outside>, u64) {
        let found = self.roots();
        let roots = found.roots.into_iter();
        let roots = roots.map(|root| (root.kind, root.name, root.range));
        // A register may have the only pointer to a block, or an old one: what it reaches is in
        // use, and it owns nothing.
        let registers = registers
            .into_iter()
            .map(|(name, range)| (RootKind::DeadStack, name, range));
        let mut names = Vec::new();
        for (kind, name, range) in roots.chain(registers) {
            heap.root(kind, names.len() as u32, range);
            names.push(snapshot::Outside::new(name));
        }
        (names, found.left_out_bytes)
    }

    /// Returns the roots. None of them overlap.
    pub(crate) fn roots(&self) -> Roots {
        let mut found = Roots::default();
        for thread in self.threads {
            self.thread(thread, &mut found.roots);
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

    /// Adds the stack and the thread-local variables of a thread.
    fn thread(&self, thread: &Thread, roots: &mut Vec<Named>) {
        let name = &thread.name;
        let (low, high) = (thread.stack.start, thread.stack.end);
        let pointer = thread.thread_pointer;
        // Above the variables on x86-64, below them on aarch64: what is around is libc's.
        let around = self.images.tls_bytes.saturating_add(SURPLUS);
        let before = pointer.saturating_sub(around.max(DESCRIPTION));
        let after = pointer.saturating_add(around.max(DESCRIPTION));
        let is_in_stack = low < pointer && pointer < high;
        let end = if is_in_stack {
            self.thread_locals_start(pointer).max(low)
        } else {
            high
        };
        if low < end {
            let used = thread
                .stack_pointer
                .filter(|used| (low..end).contains(used));
            let dead = self.writable(low..used.unwrap_or(low));
            self.add(RootKind::DeadStack, name, dead, roots);
            // NOTE: without the stack pointer, all of it counts as in use. What is stale is of the
            // same thread most often, and then the name is right.
            let live = self.writable(used.unwrap_or(low)..end);
            self.add(RootKind::Stack, name, live, roots);
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
            self.add(RootKind::ThreadLocals, name, parts.collect(), roots);
        }
    }

    /// Returns the address at which the thread-local variables on a thread's own stack begin.
    ///
    /// On x86-64, they end at the thread pointer. The images say how many bytes they take at most:
    /// those of libraries that were loaded later may lie elsewhere.
    fn thread_locals_start(&self, pointer: u64) -> u64 {
        if !cfg!(target_arch = "x86_64") {
            return pointer.saturating_sub(DESCRIPTION);
        }
        let lowest = pointer.saturating_sub(self.images.tls_bytes);
        self.first_variables(lowest..pointer).unwrap_or(lowest)
    }

    /// Returns the lowest address in a range that ends at a thread pointer at which the variables
    /// of an image begin, by the list that glibc keeps of them (the `dtv`).
    fn first_variables(&self, range: Range<u64>) -> Option<u64> {
        let word = |address: u64| {
            let mut bytes = [0; 8];
            (self.read)(address, &mut bytes).ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        // The second word behind the thread pointer leads to the list. Its number of entries is in
        // the entry before it.
        let list = word(range.end.checked_add(8)?)?;
        let count = word(list.checked_sub(ENTRY)?)?.min(MOST_ENTRIES);
        let mut bytes = vec![0; (count * ENTRY) as usize];
        (self.read)(list.checked_add(ENTRY)?, &mut bytes).ok()?;
        let (words, _) = bytes.as_chunks::<8>();
        let starts = words.iter().step_by(2);
        let starts = starts.map(|start| u64::from_le_bytes(*start));
        starts.filter(|start| range.contains(start)).min()
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
        let thread = Thread {
            name: "main".to_owned(),
            stack: 0x3f_0000..0x48_0000,
            stack_pointer: Some(0x44_0000),
            thread_pointer: 0x47_f000,
        };
        let outside = Outside {
            mappings: &mappings,
            images: &images,
            threads: &[thread.clone(), thread],
            blocks: &[0x1_2000..0x1_3000, 0x20_0010..0x2f_0000],
            read: &|_, _| Err(io::ErrorKind::NotFound.into()),
        };
        let found = outside.roots();
        assert_eq!(found.left_out_bytes, MOST_OF_ONE + 1);
        let ranges = |kind| -> Vec<Range<u64>> {
            let of_kind = found.roots.iter().filter(|root| root.kind == kind);
            of_kind.map(|root| root.range.clone()).collect()
        };
        let first = if cfg!(target_arch = "x86_64") {
            0x47_ef00
        } else {
            0x47_e000
        };
        assert_eq!(ranges(RootKind::Stack)[..], [range(0x44_0000, first)]);
        let locals = [range(first, 0x48_0000)];
        assert_eq!(ranges(RootKind::ThreadLocals)[..], locals);
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

    /// Two libraries that were loaded later have their variables elsewhere: the sizes alone would
    /// take the first functions of the thread for variables.
    #[test]
    fn the_first_functions_of_a_thread_are_on_its_stack() {
        let mappings = [mapping(0x40_0000..0x48_0000, 0)];
        let images = Images {
            tls_bytes: 0x4000,
            ..Images::default()
        };
        let thread = Thread {
            stack: 0x40_0000..0x48_0000,
            thread_pointer: 0x47_f000,
            ..Thread::default()
        };
        let words = |address: u64| match address {
            0x47_f008 => 0x10_0000,
            // The number of entries, then their addresses.
            0x0f_fff0 => 4,
            0x10_0010 => 0x47_ef40,
            0x10_0020 => 0x47_eec0,
            0x10_0030 => 0x20_0000,
            0x10_0040 => u64::MAX,
            // What follows is no entry.
            0x10_0050 => 0x47_c000,
            _ => 0,
        };
        let outside = Outside {
            mappings: &mappings,
            images: &images,
            threads: &[thread],
            blocks: &[],
            read: &|address, bytes| {
                for (at, word) in (address..).step_by(8).zip(bytes.chunks_mut(8)) {
                    word.copy_from_slice(&words(at).to_le_bytes());
                }
                Ok(())
            },
        };
        let of_kind = |kind| -> Vec<Range<u64>> {
            let roots = outside.roots().roots.into_iter();
            let roots = roots.filter(|root| root.kind == kind);
            roots.map(|root| root.range).collect()
        };
        let first = if cfg!(target_arch = "x86_64") {
            0x47_eec0
        } else {
            0x47_e000
        };
        assert_eq!(of_kind(RootKind::Stack), [range(0x40_0000, first)]);
        assert_eq!(of_kind(RootKind::ThreadLocals), [range(first, 0x48_0000)]);
    }

    #[test]
    fn hostile_addresses_of_a_thread_are_no_roots() {
        let mappings = [mapping(0x1000..0x2000, 0)];
        for word in [0, 1, u64::MAX, 1 << 63] {
            let thread = Thread {
                stack: word..u64::MAX,
                stack_pointer: Some(word),
                thread_pointer: word.wrapping_sub(1),
                ..Thread::default()
            };
            let outside = Outside {
                mappings: &mappings,
                images: &Images::default(),
                threads: &[thread],
                blocks: &[],
                read: &|_, bytes| {
                    bytes.fill(word as u8);
                    Ok(())
                },
            };
            for root in outside.roots().roots {
                assert!(0x1000 <= root.range.start && root.range.end <= 0x2000);
            }
        }
    }
}
