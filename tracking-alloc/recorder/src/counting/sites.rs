//! The sites of allocations while a limit is asserted: stacks of return addresses, with the bytes
//! and blocks allocated there.
//!
//! It is called in the hook. So it never allocates and never waits, and it keeps only as many
//! stacks as fit. The tables are never freed, because a thread may still count after the asserted
//! block has ended.

use crate::hash::{GOLDEN, mix};
use crate::leaked::{self, Link};
use crate::thread;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Maximum number of stacks of one assertion.
const SITES: usize = 2048;
/// Maximum number of return addresses of a stack, innermost first, including those of this crate.
/// Stacks that differ further out count as one.
const FRAMES: usize = 64;
/// Number of places to search for one stack.
const PROBES: usize = 64;

/// The allocations of one stack.
struct Site {
    blocks: AtomicU64,
    bytes: AtomicU64,
    /// The number of addresses, or 0 while the site is being written.
    len: AtomicUsize,
    addresses: [AtomicUsize; FRAMES],
}

/// The table of an assertion. All-zero bytes are an empty table.
pub(crate) struct Sites {
    /// The hashes of stacks. 0 means unused.
    hashes: [AtomicU64; SITES],
    sites: [Site; SITES],
}

/// A stack, with the bytes and blocks allocated there.
#[derive(Debug)]
pub struct Stack {
    /// Number of blocks.
    pub blocks: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The return addresses, innermost first.
    pub addresses: Vec<usize>,
}

/// A table and its state.
pub(crate) struct Slot {
    state: AtomicU32,
    /// The table, or null until it is needed.
    sites: Link<Sites>,
}

/// The state of a table: unused, used by a block in progress, or read by a block that has ended.
const FREE: u32 = 0;
const CAPTURING: u32 = 1;
const READ: u32 = 2;

/// The table of an assertion. Dropping this frees the table for the next assertion.
pub struct Stacks {
    slot: &'static Slot,
}

impl Slot {
    pub(super) const fn new() -> Self {
        Slot {
            state: AtomicU32::new(FREE),
            sites: Link::new(),
        }
    }

    /// Begins to capture. Returns `None` if stacks are captured already, or if memory ran out.
    pub(crate) fn begin(&'static self) -> Option<Stacks> {
        let taken = self.state.compare_exchange(FREE, READ, Acquire, Relaxed);
        taken.ok()?;
        let stacks = Stacks { slot: self };
        if self.sites.get().is_none() {
            // SAFETY: zeros are an empty table, and nobody else has this one.
            self.sites
                .set(unsafe { leaked::zeroed::<Sites>(1)?.as_ref() });
        }
        self.sites.get()?.clear();
        self.state.store(CAPTURING, Release);
        Some(stacks)
    }

    /// Counts a block of the calling stack while stacks are captured.
    #[inline(always)]
    pub(super) fn count(&self, bytes: u64) {
        if self.state.load(Acquire) == CAPTURING
            && let Some(sites) = self.sites.get()
        {
            sites.count(bytes);
        }
    }
}

impl Stacks {
    /// Ends the capture after the block has ended.
    pub fn end(&self) {
        self.slot.state.store(READ, Release);
    }

    /// Returns the stacks in no particular order. This allocates.
    pub fn read(&self) -> Vec<Stack> {
        self.slot.sites.get().map(Sites::read).unwrap_or_default()
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        self.slot.state.store(FREE, Release);
    }
}

impl Sites {
    fn clear(&self) {
        for (hash, site) in self.hashes.iter().zip(&self.sites) {
            // Do not touch pages that were never written.
            if hash.load(Relaxed) != 0 {
                site.blocks.store(0, Relaxed);
                site.bytes.store(0, Relaxed);
                site.len.store(0, Relaxed);
                hash.store(0, Release);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self, bytes: u64) {
        // Allocations of a signal handler in the meantime are not captured.
        if thread::with(|thread| thread.captures.replace(true)) != Some(false) {
            return;
        }
        let (mut addresses, mut len) = ([0; FRAMES], 0);
        let keep = |frame: &backtrace::Frame| {
            addresses[len] = frame.ip() as usize;
            len += 1;
            len < FRAMES
        };
        // SAFETY: a lock is needed only on Windows. The walk uses libgcc, which allocates nothing
        // through Rust.
        unsafe { backtrace::trace_unsynchronized(keep) };
        if let Some(site) = self.site(&addresses[..len]) {
            site.bytes.fetch_add(bytes, Relaxed);
            site.blocks.fetch_add(1, Relaxed);
        }
        thread::with(|thread| thread.captures.set(false));
    }

    /// Returns the site of a stack, or `None` if it does not fit.
    fn site(&self, addresses: &[usize]) -> Option<&Site> {
        let hash = addresses
            .iter()
            .fold(GOLDEN, |hash, address| mix(hash, *address as u64))
            .max(1);
        for probe in 0..PROBES {
            let place = (hash as usize).wrapping_add(probe) % SITES;
            match self.hashes[place].compare_exchange(0, hash, AcqRel, Acquire) {
                Ok(_) => {
                    let site = &self.sites[place];
                    for (kept, address) in site.addresses.iter().zip(addresses) {
                        kept.store(*address, Relaxed);
                    }
                    site.len.store(addresses.len(), Release);
                    return Some(site);
                }
                Err(other) if other == hash => return Some(&self.sites[place]),
                Err(_) => {}
            }
        }
        None
    }

    fn read(&self) -> Vec<Stack> {
        let used = self.hashes.iter().zip(&self.sites);
        used.filter(|(hash, _)| hash.load(Acquire) != 0)
            .map(|(_, site)| {
                let addresses = site.addresses.iter().take(site.len.load(Acquire));
                Stack {
                    blocks: site.blocks.load(Relaxed),
                    bytes: site.bytes.load(Relaxed),
                    addresses: addresses.map(|address| address.load(Relaxed)).collect(),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_counted_elsewhere_and_a_cleared_table_is_empty() {
        static SLOT: Slot = Slot::new();
        let stacks = SLOT.begin().expect("free");
        assert!(SLOT.begin().is_none(), "one at a time");
        let sites = SLOT.sites.get().expect("memory");
        let fitted = (1..=4 * SITES)
            .filter(|address| {
                let site = sites.site(&[*address, 7]);
                site.is_some_and(|site| site.bytes.fetch_add(*address as u64, Relaxed) == 0)
            })
            .count();
        assert!(fitted > SITES * 9 / 10 && fitted <= SITES, "{fitted}");
        let read = stacks.read();
        assert_eq!(read.len(), fitted);
        for stack in &read {
            assert_eq!(stack.addresses, [stack.bytes as usize, 7]);
        }
        drop(stacks);
        assert!(SLOT.begin().expect("free").read().is_empty());
    }
}
