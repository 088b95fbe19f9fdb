//! The table of scopes in the recording: bounded, found by parent and name.

use crate::session::{self, Writer};
use crate::{hook, sys};
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::{Scope, scope_kind};

/// Scopes deeper than this are counted at their ancestor.
const MOST_DEPTH: u32 = 64;
/// Scopes in all; further ones are counted at their parent.
const MOST_SCOPES: usize = 1 << 16;
/// Records by number, to count entries without the lock.
const PAGE: usize = 1024;

struct Known {
    record: AtomicPtr<Scope>,
    name: AtomicPtr<u8>,
}

static PAGES: [AtomicPtr<Known>; MOST_SCOPES / PAGE] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_SCOPES / PAGE];

/// The scope called `name` under `parent`, entered once more. `parent` itself when there is no room or no recording.
pub(crate) fn enter(parent: u32, name: &str) -> u32 {
    let Some(_inside) = hook::Inside::enter() else {
        return parent;
    };
    let Some(session) = session::current() else {
        return parent;
    };
    let errno = sys::Errno::keep();
    let scope = session
        .write
        .hold()
        .scope(parent, name.as_bytes())
        .unwrap_or(parent);
    drop(errno);
    if let Some(record) = record(scope) {
        record.entered.fetch_add(1, Relaxed);
    }
    scope
}

/// Adds to what the program says of a scope.
pub(crate) fn report(scope: u32, bytes: u64, records: u64) {
    let Some(_inside) = hook::Inside::enter() else {
        return;
    };
    if let Some(record) = record(scope) {
        record.input_bytes.fetch_add(bytes, Relaxed);
        record.records.fetch_add(records, Relaxed);
    }
}

fn known(scope: u32) -> Option<&'static Known> {
    let page = PAGES.get(scope as usize / PAGE)?.load(Acquire);
    // SAFETY: null or a page of PAGE entries that is never unmapped.
    (!page.is_null()).then(|| unsafe { &*page.add(scope as usize % PAGE) })
}

fn record(scope: u32) -> Option<&'static Scope> {
    // SAFETY: null or a record mapped until the process ends.
    unsafe { known(scope)?.record.load(Acquire).as_ref() }
}

/// Forgets all scopes: for a forked child that begins a recording of its own.
pub(crate) fn forget() {
    PAGES
        .iter()
        .for_each(|page| page.store(std::ptr::null_mut(), Release));
}

impl Writer {
    fn scope(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let mut key = name
            .iter()
            .fold(u64::from(parent) ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            });
        // The content decides; another name of the same hash moves on to the next key.
        while let Some(found) = self.maps.scopes.find(key) {
            if self.is_scope(found, parent, name) {
                return Some(found);
            }
            key = key.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        }
        self.add_scope(key, parent, name)
    }

    fn is_scope(&self, scope: u32, parent: u32, name: &[u8]) -> bool {
        let (Some(known), Some(record)) = (known(scope), record(scope)) else {
            return false;
        };
        let place = known.name.load(Acquire);
        if record.parent.load(Relaxed) != parent || place.is_null() {
            return false;
        }
        // SAFETY: a name is kept as its length and that many bytes, in memory that is never given back.
        let kept = unsafe {
            let length = place.cast::<u64>().read() as usize;
            std::slice::from_raw_parts(place.add(8), length)
        };
        kept == name
    }

    fn add_scope(&mut self, key: u64, parent: u32, name: &[u8]) -> Option<u32> {
        let depth = record(parent).map_or(0, |record| record.depth.load(Relaxed)) + 1;
        if depth > MOST_DEPTH
            || self.scopes.len() >= MOST_SCOPES as u64
            || !self.maps.scopes.reserve(&mut self.bump)
        {
            return None;
        }
        let page = PAGES.get(self.scopes.len() as usize / PAGE)?;
        if page.load(Acquire).is_null() {
            page.store(self.bump.take::<Known>(PAGE)?.as_ptr(), Release);
        }
        let kept = self.bump.take::<u64>(1 + name.len().div_ceil(8))?;
        // SAFETY: memory for the length and the bytes was just taken.
        unsafe {
            kept.write(name.len() as u64);
            std::ptr::copy_nonoverlapping(name.as_ptr(), kept.as_ptr().add(1).cast(), name.len());
        }
        let reference = self.string(name);
        let (index, place) = self.scopes.push::<Scope>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let record: &'static Scope = unsafe { place.as_ref() };
        record.parent.store(parent, Relaxed);
        record.kind.store(scope_kind::PHASE, Relaxed);
        record.name.store(reference, Relaxed);
        record.depth.store(depth, Relaxed);
        let known = known(index as u32)?;
        known.name.store(kept.as_ptr().cast(), Release);
        known.record.store(place.as_ptr(), Release);
        self.store
            .header()
            .scopes_len
            .store(index as u32 + 1, Release);
        self.maps.scopes.add(key, index as u32);
        Some(index as u32)
    }
}
