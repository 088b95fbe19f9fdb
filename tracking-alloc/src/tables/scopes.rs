//! The table of scopes: bounded, phases found by parent and name, fields added by the tree that already found they are new.
//!
//! A scope without room is counted at its parent. Scopes go about the program in guards, futures and thread-locals, and
//! may outlive their recording. So they carry its generation: in a forked child's own recording its parent's scopes are
//! [number](scope_number) 0.

use super::{Writer, current};
#[cfg(feature = "serde")]
use crate::current_scope::{Added, NewScope};
#[cfg(feature = "serde")]
use crate::hash::spread;
use crate::hash::{fnv1a, next_key};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{MAX_SCOPE_DEPTH, MAX_SCOPES, Scope, scope_kind};

/// Records by number, to count entries without the lock.
const PAGE: usize = 1024;

struct ScopeKey {
    record: AtomicPtr<Scope>,
    name: AtomicPtr<u8>,
}

static PAGES: [AtomicPtr<ScopeKey>; MAX_SCOPES / PAGE] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_SCOPES / PAGE];

/// Names of types written lately, so that the fields of one type share its string. Under the write lock.
static TYPES: [(AtomicPtr<u8>, AtomicU32); 256] =
    [const { (AtomicPtr::new(std::ptr::null_mut()), AtomicU32::new(0)) }; 256];

/// Bits of a scope that are its number; those above are the low bits of its recording's tag.
const NUMBER_BITS: u32 = MAX_SCOPES.trailing_zeros();

/// The tag of the present recording, where scopes have it: it differs by the generation, of which 12 bits fit.
fn generation_bits() -> u32 {
    current().map_or(0, super::Session::tag) << NUMBER_BITS
}

/// The number of a scope in the present recording; 0 (the root) when it is of another.
pub(crate) fn scope_number(scope: u32) -> u32 {
    const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
    match scope & !NUMBER == generation_bits() {
        true => scope & NUMBER,
        false => 0,
    }
}

/// The record of a scope other than the root. Only who is counted as inside the hook may write it.
pub(crate) fn scope_record(scope: u32) -> Option<&'static Scope> {
    Some(scope_number(scope))
        .filter(|number| *number != 0)
        .and_then(numbered)
}

fn known(number: u32) -> Option<&'static ScopeKey> {
    let page = PAGES.get(number as usize / PAGE)?.load(Acquire);
    // SAFETY: null or a page of PAGE entries that is never unmapped.
    (!page.is_null()).then(|| unsafe { &*page.add(number as usize % PAGE) })
}

fn numbered(number: u32) -> Option<&'static Scope> {
    // SAFETY: null or a record mapped until the process ends.
    unsafe { known(number)?.record.load(Acquire).as_ref() }
}

fn depth_under(parent: u32) -> u32 {
    numbered(parent).map_or(0, |record| record.depth.load(Relaxed)) + 1
}

/// Forgets all scopes: for a forked child that begins a recording of its own.
pub(crate) fn forget_scopes() {
    PAGES
        .iter()
        .for_each(|page| page.store(std::ptr::null_mut(), Release));
    TYPES
        .iter()
        .for_each(|(name, _)| name.store(std::ptr::null_mut(), Release));
}

impl Writer {
    /// The phase called `name` under `parent`. `None` when there is no room.
    pub(crate) fn phase(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let number = self.phase_number(scope_number(parent), name)?;
        Some(number | generation_bits())
    }

    fn phase_number(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let mut key = fnv1a(parent.into(), name.iter().copied());
        // The content decides; another name of the same hash moves on to the next key.
        while let Some(found) = self.phases.find(key) {
            if self.is_phase(found, parent, name) {
                return Some(found);
            }
            key = next_key(key);
        }
        self.add_phase(key, parent, name)
    }

    fn is_phase(&self, scope: u32, parent: u32, name: &[u8]) -> bool {
        let (Some(known), Some(record)) = (known(scope), numbered(scope)) else {
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

    fn add_phase(&mut self, key: u64, parent: u32, name: &[u8]) -> Option<u32> {
        let depth = depth_under(parent);
        if depth > MAX_SCOPE_DEPTH || !self.phases.reserve(&mut self.bump) {
            return None;
        }
        let kept = self.bump.take::<u64>(1 + name.len().div_ceil(8))?;
        // SAFETY: memory for the length and the bytes was just taken.
        unsafe {
            kept.write(name.len() as u64);
            std::ptr::copy_nonoverlapping(name.as_ptr(), kept.as_ptr().add(1).cast(), name.len());
        }
        let index = self.add_scope(parent, |record, writer| {
            record.kind.store(scope_kind::PHASE, Relaxed);
            record.name.store(writer.string(name), Relaxed);
        })?;
        known(index)?.name.store(kept.as_ptr().cast(), Release);
        self.phases.add(key, index);
        Some(index)
    }

    /// Adds the scope of a field.
    #[cfg(feature = "serde")]
    pub(crate) fn add_field(&mut self, new: &NewScope<'_>) -> Added {
        let parent = scope_number(new.parent);
        if depth_under(parent) > MAX_SCOPE_DEPTH {
            return Added::Deep;
        }
        let added = self.add_scope(parent, |record, writer| {
            record.kind.store(new.kind, Relaxed);
            record.flags.store(new.flags, Relaxed);
            record.value_bytes.store(new.value_bytes, Relaxed);
            if !new.name.is_empty() {
                let reference = writer.string(new.name.as_bytes());
                record.name.store(reference, Relaxed);
            }
            record
                .type_name
                .store(writer.type_name(new.type_name), Relaxed);
        });
        added.map_or(Added::Full, |added| Added::Scope(added | generation_bits()))
    }

    /// The string of a type's name, written once as long as it is remembered.
    #[cfg(feature = "serde")]
    pub(crate) fn type_name(&mut self, name: &'static str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        // NOTE: a name's address decides; two names at one address differ in length, so that is mixed in.
        let place = name.as_ptr().wrapping_add(name.len()).cast_mut();
        let (known, reference) = &TYPES[spread(place.addr() as u64) % TYPES.len()];
        if known.load(Relaxed) == place {
            return reference.load(Relaxed);
        }
        let written = self.string(name.as_bytes());
        if written != 0 {
            known.store(place, Relaxed);
            reference.store(written, Relaxed);
        }
        written
    }

    /// A new scope, filled in before anybody can see it.
    fn add_scope(&mut self, parent: u32, fill: impl FnOnce(&Scope, &mut Writer)) -> Option<u32> {
        if self.scopes.len() >= MAX_SCOPES as u64 {
            return None;
        }
        let page = PAGES.get(self.scopes.len() as usize / PAGE)?;
        if page.load(Acquire).is_null() {
            page.store(self.bump.take::<ScopeKey>(PAGE)?.as_ptr(), Release);
        }
        let (index, place) = self.scopes.push::<Scope>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let record: &'static Scope = unsafe { place.as_ref() };
        record.parent.store(parent, Relaxed);
        record.depth.store(depth_under(parent), Relaxed);
        fill(record, self);
        known(index as u32)?.record.store(place.as_ptr(), Release);
        self.store
            .header()
            .scopes_len
            .store(index as u32 + 1, Release);
        Some(index as u32)
    }
}
