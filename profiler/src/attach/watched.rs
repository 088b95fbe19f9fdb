//! Memory of a copy that is given up when it is no longer wanted.

use crate::snapshot::{Memory, Page};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// Number of reads from one question whether the copy is still wanted to the next.
const OFTEN: u32 = 64;

/// The memory of a copy. Once it is no longer wanted, every read fails, so that what reads it comes
/// to an end soon.
pub(super) struct Watched<'a> {
    memory: &'a dyn Memory,
    is_wanted: &'a (dyn Fn() -> bool + Sync),
    reads: AtomicU32,
    is_given_up: AtomicBool,
}

impl<'a> Watched<'a> {
    pub(super) fn new(
        memory: &'a dyn Memory,
        is_wanted: &'a (dyn Fn() -> bool + Sync),
    ) -> Watched<'a> {
        Watched {
            memory,
            is_wanted,
            reads: AtomicU32::new(0),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Returns `true` if reads have failed because the copy is no longer wanted.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }
}

impl Memory for Watched<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let reads = self.reads.fetch_add(1, Relaxed);
        if reads.is_multiple_of(OFTEN) && !(self.is_wanted)() {
            self.is_given_up.store(true, Relaxed);
        }
        if self.is_given_up() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.memory.read(address, buffer)
    }

    fn page_bytes(&self) -> u64 {
        self.memory.page_bytes()
    }

    fn pages(&self, address: u64, count: usize, pages: &mut Vec<Page>) -> Option<()> {
        self.memory.pages(address, count, pages)
    }

    fn finished(&self) {
        self.memory.finished();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Zeros;

    impl Memory for Zeros {
        fn read(&self, _: u64, buffer: &mut [u8]) -> io::Result<()> {
            buffer.fill(0);
            Ok(())
        }
    }

    #[test]
    fn memory_that_is_no_longer_wanted_cannot_be_read() {
        let wanted = AtomicBool::new(true);
        let is_wanted = || wanted.load(Relaxed);
        let memory = Watched::new(&Zeros, &is_wanted);
        let reads = || {
            (0..OFTEN)
                .filter(|_| memory.read(0, &mut [0; 8]).is_ok())
                .count()
        };
        assert_eq!(reads(), OFTEN as usize);
        assert!(!memory.is_given_up());
        wanted.store(false, Relaxed);
        assert_eq!(reads(), 0);
        assert!(memory.is_given_up());
    }
}
