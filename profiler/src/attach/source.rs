//! The memory that a snapshot is read from: a copy that the program made of itself, or one that was
//! made of it because it did not allocate.

use super::copy::{Copy, Waits};
use crate::image::{Image, maps, roots, unwind};
use crate::snapshot::Memory;
use std::io;
use std::ops::Range;
use tracking_alloc_recording::LaneValue;

/// A paused copy of the program.
#[derive(Debug)]
pub(super) enum Source {
    /// The program made it of itself.
    Own(Copy),
    /// The reader made it.
    Frozen(Box<Image>),
}

/// The known state of the threads of a copy.
pub(super) enum Running<'a> {
    /// Only the thread that made the copy is known.
    Own(Option<Waits>),
    /// All threads are known.
    Frozen(&'a Image),
}

impl Source {
    /// Returns `true` if the reader made the copy.
    pub(super) fn is_frozen(&self) -> bool {
        matches!(self, Source::Frozen(_))
    }

    /// Returns the memory, which ends the copy when its contents were read.
    pub(super) fn memory(&self) -> &dyn Memory {
        match self {
            Source::Own(copy) => copy.memory(),
            Source::Frozen(image) => &**image,
        }
    }

    /// Returns the mappings.
    pub(super) fn mappings(&self) -> io::Result<Vec<maps::Mapping>> {
        match self {
            Source::Own(copy) => copy.mappings(),
            Source::Frozen(image) => Ok(image.mappings_with_flags()),
        }
    }

    /// Returns what is known of the threads. Waits for a short time until the copy waits.
    pub(super) fn running(&self) -> Running<'_> {
        match self {
            Source::Own(copy) => Running::Own(copy.waits()),
            Source::Frozen(image) => Running::Frozen(image),
        }
    }

    /// Returns the places at which the registers of threads are read as memory, with the names of
    /// the threads.
    pub(super) fn registers_as_memory(&self) -> Vec<(String, Range<u64>)> {
        match self {
            Source::Own(_) => Vec::new(),
            Source::Frozen(image) => image.registers_as_memory(),
        }
    }

    /// Returns notes about the copy.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Source::Own(_) => Vec::new(),
            Source::Frozen(image) => image.notes().to_vec(),
        }
    }
}

impl Running<'_> {
    /// Returns the threads: those of the lanes, and those that never allocated if they are known.
    pub(super) fn threads(&self, lanes: &[LaneValue]) -> Vec<roots::Thread> {
        let (own, stacks) = match self {
            Running::Own(waits) => (waits.map(|waits| waits.stack_pointer), Vec::new()),
            Running::Frozen(image) => (None, image.stacks()),
        };
        let pointers = stacks.iter().filter_map(|thread| thread.stack_pointer);
        let pointers: Vec<u64> = own.into_iter().chain(pointers).collect();
        let lane = |lane| thread_of(lane, &pointers);
        let mut threads: Vec<roots::Thread> = lanes.iter().map(lane).collect();
        let has_lane = |thread: &roots::Thread| {
            let pointer = thread.stack_pointer;
            pointer.is_some_and(|pointer| threads.iter().any(|lane| lane.stack.contains(&pointer)))
        };
        let others = stacks.into_iter().filter(|thread| !has_lane(thread));
        let others: Vec<roots::Thread> = others.collect();
        threads.extend(others);
        threads
    }

    /// Returns the registers of threads, where they are known.
    pub(super) fn registers(
        &self,
        memory: &dyn Memory,
        threads: &[roots::Thread],
    ) -> Vec<unwind::Registers> {
        match self {
            Running::Own(waits) => waits
                .and_then(|waits| waits.registers(memory, threads))
                .into_iter()
                .collect(),
            Running::Frozen(image) => image.registers(),
        }
    }
}

/// Returns the thread of a lane. `pointers` has the stack pointers that are known.
fn thread_of(lane: &LaneValue, pointers: &[u64]) -> roots::Thread {
    let bytes = lane.name.map(u64::to_le_bytes).concat();
    let end = bytes.iter().position(|byte| *byte == 0);
    let name = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
    let stack = lane.stack_low..lane.stack_high;
    roots::Thread {
        name: if name.is_empty() {
            "a thread without a name".to_owned()
        } else {
            name.into_owned()
        },
        stack_pointer: pointers
            .iter()
            .copied()
            .find(|pointer| stack.contains(pointer)),
        stack,
        thread_pointer: lane.thread_pointer,
    }
}
