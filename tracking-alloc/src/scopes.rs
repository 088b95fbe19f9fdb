//! The table of scopes in the recording: bounded, phases found by parent and name, fields added by the tree that
//! already found they are new.
//!
//! Never allocates through the hooked allocator. A scope without room is counted at its parent, and said so.
//!
//! Scopes go about the program in guards, futures and thread-locals, and may outlive their recording. So they carry its
//! generation: in a forked child's own recording its parent's scopes are [`number`] 0. And a record is reached with
//! [`Inside`] alone, which there is none of once a recording is finished, nor in a child.

use crate::hash::{fnv1a, next_key};
use crate::hook::Inside;
#[cfg(feature = "serde")]
use crate::scope::{Added, NewScope};
use crate::scope::{MOST_DEPTH, MOST_SCOPES};
use crate::session::{self, Writer};
use crate::{hook, state, sys};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{Scope, scope_kind};

/// Records by number, to count entries without the lock.
const PAGE: usize = 1024;

struct Known {
    record: AtomicPtr<Scope>,
    name: AtomicPtr<u8>,
}

static PAGES: [AtomicPtr<Known>; MOST_SCOPES / PAGE] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_SCOPES / PAGE];

/// Names of types written lately, so that the fields of one type share its string. Under the write lock.
static TYPES: [(AtomicPtr<u8>, AtomicU32); 256] =
    [const { (AtomicPtr::new(std::ptr::null_mut()), AtomicU32::new(0)) }; 256];

/// The present recording, by a number that a forked child's own recording does not share; 0 = nothing records.
#[cfg(feature = "serde")]
#[inline]
pub(crate) fn generation() -> u32 {
    if state::get() & state::RECORD == 0 {
        return 0;
    }
    session::current().map_or(0, session::Session::tag)
}

/// Bits of a scope that are its number; those above are the low bits of its recording's generation.
const NUMBER_BITS: u32 = MOST_SCOPES.trailing_zeros();

/// The generation of the present recording, where scopes have it.
fn present_bits() -> u32 {
    let tag = session::current().map_or(0, session::Session::tag);
    (tag / state::GENERATION) << NUMBER_BITS
}

/// The number of a scope in the present recording; 0 (the root) when it is of another.
pub(crate) fn number(scope: u32) -> u32 {
    const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
    match scope & !NUMBER == present_bits() {
        true => scope & NUMBER,
        false => 0,
    }
}

/// The scope called `name` under `parent`, entered once more. `None` when there is no room or no recording: then the
/// thread stays in `parent`.
pub(crate) fn enter(parent: u32, name: &str) -> Option<u32> {
    let inside = Inside::enter()?;
    let session = session::current()?;
    let errno = sys::Errno::keep();
    let found = session.write.hold().phase(number(parent), name.as_bytes());
    drop(errno);
    let Some(found) = found else {
        count_lost(&inside);
        return None;
    };
    let scope = found | present_bits();
    if let Some(record) = record(&inside, scope) {
        record.entered.fetch_add(1, Relaxed);
    }
    Some(scope)
}

/// Adds the scope of a field.
#[cfg(feature = "serde")]
pub(crate) fn add(new: &NewScope<'_>) -> Added {
    let (Some(_inside), Some(session)) = (Inside::enter(), session::current()) else {
        return Added::NotNow;
    };
    if depth_under(number(new.parent)) > MOST_DEPTH {
        return Added::Deep;
    }
    let errno = sys::Errno::keep();
    let added = session.write.hold().add_field(new);
    drop(errno);
    added.map_or(Added::Full, |added| Added::Scope(added | present_bits()))
}

/// Sets flags of a scope.
#[cfg(feature = "serde")]
pub(crate) fn flag(scope: u32, flags: u32) {
    change(scope, |record, _| {
        record.flags.fetch_or(flags, Relaxed);
    });
}

/// Gives a scope another kind and name: what it is was proved after it was entered.
#[cfg(feature = "serde")]
pub(crate) fn rename(scope: u32, kind: u32, name: &str) {
    change(scope, |record, writer| {
        let reference = writer.string(name.as_bytes());
        if reference != 0 {
            record.name.store(reference, Relaxed);
            record.kind.store(kind, Relaxed);
        }
    });
}

/// Gives a scope the type of its values: it was found out after it was entered.
#[cfg(feature = "serde")]
pub(crate) fn retype(scope: u32, type_name: &'static str, value_bytes: u64) {
    change(scope, |record, writer| {
        record.type_name.store(writer.type_name(type_name), Relaxed);
        record.value_bytes.store(value_bytes, Relaxed);
    });
}

#[cfg(feature = "serde")]
fn change(scope: u32, change: impl FnOnce(&Scope, &mut Writer)) {
    let (Some(inside), Some(session)) = (Inside::enter(), session::current()) else {
        return;
    };
    let Some(record) = record(&inside, scope) else {
        return;
    };
    let errno = sys::Errno::keep();
    change(record, &mut session.write.hold());
    drop(errno);
}

/// A scope found no room; counted each time one was asked for.
#[cfg(feature = "serde")]
pub(crate) fn lost() {
    if let Some(inside) = Inside::enter() {
        count_lost(&inside);
    }
}

fn count_lost(_: &Inside) {
    if let Some(header) = hook::header() {
        header.lost_scopes.fetch_add(1, Relaxed);
    }
}

/// Adds to what the program says of a scope.
pub(crate) fn report(scope: u32, bytes: u64, records: u64) {
    let Some(inside) = Inside::enter() else {
        return;
    };
    if let Some(record) = record(&inside, scope) {
        record.input_bytes.fetch_add(bytes, Relaxed);
        record.records.fetch_add(records, Relaxed);
    }
}

/// The net of the calling thread when it entered a scope.
#[derive(Clone, Copy)]
pub(crate) struct Since(hook::Net);

impl Since {
    /// The thread enters a scope. `None` when nothing records; also when the thread has no lane of its own, and then the
    /// scope says that what it retained is not known.
    pub(crate) fn enter(scope: u32) -> Option<Since> {
        let net = hook::net_here();
        if net.is_none() {
            Since::unknown(scope);
        }
        net.map(Since)
    }

    #[cold]
    fn unknown(scope: u32) {
        let Some(inside) = Inside::enter() else {
            return;
        };
        if let Some(record) = record(&inside, scope) {
            record.flags.fetch_or(
                tracking_alloc_recording::scope_flags::RETAINED_UNKNOWN,
                Relaxed,
            );
        }
    }

    /// The thread leaves the scope: what it allocated and did not free meanwhile was retained.
    pub(crate) fn leave(self, scope: u32) {
        // Of another lane when the process was forked meanwhile: then there is no difference to be told.
        let Some(retained) = hook::net_here().and_then(|now| now.since(self.0)) else {
            return;
        };
        let Some(inside) = Inside::enter() else {
            return;
        };
        if let Some(record) = record(&inside, scope) {
            record.retained_bytes.fetch_add(retained, Relaxed);
        }
    }
}

/// The record of a scope other than the root, to be written while one is inside.
pub(crate) fn record(_: &Inside, scope: u32) -> Option<&Scope> {
    Some(number(scope))
        .filter(|number| *number != 0)
        .and_then(numbered)
}

fn known(number: u32) -> Option<&'static Known> {
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
pub(crate) fn forget() {
    PAGES
        .iter()
        .for_each(|page| page.store(std::ptr::null_mut(), Release));
    TYPES
        .iter()
        .for_each(|(name, _)| name.store(std::ptr::null_mut(), Release));
}

impl Writer {
    fn phase(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let mut key = fnv1a(parent.into(), name.iter().copied());
        // The content decides; another name of the same hash moves on to the next key.
        while let Some(found) = self.maps.scopes.find(key) {
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
        if depth > MOST_DEPTH || !self.maps.scopes.reserve(&mut self.bump) {
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
        self.maps.scopes.add(key, index);
        Some(index)
    }

    #[cfg(feature = "serde")]
    fn add_field(&mut self, new: &NewScope<'_>) -> Option<u32> {
        self.add_scope(number(new.parent), |record, writer| {
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
        })
    }

    /// The string of a type's name, written once as long as it is remembered.
    #[cfg(feature = "serde")]
    fn type_name(&mut self, name: &'static str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        // NOTE: a name's address decides; two names at one address differ in length, so that is mixed in.
        let place = name.as_ptr().wrapping_add(name.len()).cast_mut();
        let slot = (place as usize).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> 40;
        let (known, reference) = &TYPES[slot % TYPES.len()];
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
        if self.scopes.len() >= MOST_SCOPES as u64 {
            return None;
        }
        let page = PAGES.get(self.scopes.len() as usize / PAGE)?;
        if page.load(Acquire).is_null() {
            page.store(self.bump.take::<Known>(PAGE)?.as_ptr(), Release);
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
