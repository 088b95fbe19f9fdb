//! The memory of a core file.

use crate::snapshot::Memory;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Memory that is in the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) range: Range<u64>,
    /// The place of its bytes in the core.
    pub(super) offset: u64,
}

/// A file that stands for memory which the core lacks.
#[derive(Clone, Debug)]
pub(super) struct Backing {
    pub(super) range: Range<u64>,
    pub(super) offset: u64,
    pub(super) file: Arc<File>,
}

/// The memory of a core file, with the files behind it.
#[derive(Debug)]
pub(super) struct CoreMemory {
    file: File,
    /// In the order of their addresses; none overlap.
    loads: Vec<Load>,
    backings: Vec<Backing>,
}

impl CoreMemory {
    pub(super) fn new(file: File, loads: Vec<Load>) -> CoreMemory {
        CoreMemory {
            file,
            loads,
            backings: Vec::new(),
        }
    }

    /// Sets the files behind the memory, in the order of their addresses.
    pub(super) fn set_backings(&mut self, backings: Vec<Backing>) {
        self.backings = backings;
    }

    /// Reads memory that is in the core itself.
    pub(super) fn read_own(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_from(address, buffer, &[])
    }

    fn read_from(&self, mut at: u64, buffer: &mut [u8], backings: &[Backing]) -> io::Result<()> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "the core lacks this memory");
        let mut rest = buffer;
        while !rest.is_empty() {
            let next = self.loads.partition_point(|load| load.range.end <= at);
            let next = self.loads.get(next);
            let (file, range, offset) = match next.filter(|load| load.range.start <= at) {
                Some(load) => (&self.file, load.range.clone(), load.offset),
                None => {
                    let found = backings.partition_point(|backing| backing.range.end <= at);
                    let found = backings.get(found);
                    let backing = found.filter(|backing| backing.range.start <= at);
                    let backing = backing.ok_or_else(missing)?;
                    let end = next.map_or(u64::MAX, |load| load.range.start);
                    let range = backing.range.start..backing.range.end.min(end);
                    (&*backing.file, range, backing.offset)
                }
            };
            let count = usize::try_from(range.end - at).unwrap_or(usize::MAX);
            let count = count.min(rest.len());
            let (now, later) = rest.split_at_mut(count);
            let place = offset.checked_add(at - range.start).ok_or_else(missing)?;
            file.read_exact_at(now, place)?;
            at += count as u64;
            rest = later;
        }
        Ok(())
    }
}

impl Memory for CoreMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_from(address, buffer, &self.backings)
    }
}
