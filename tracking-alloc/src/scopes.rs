//! The table of scopes in the recording: bounded, phases found by parent and name, fields added by the tree that
//! already found they are new.
//!
//! Never allocates through the hooked allocator. A scope without room is counted at its parent, and said so.

use crate::session::{self, Writer};
#[cfg(feature = "serde")]
use crate::state;
use crate::{hook, sys};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
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

/// Names of types written lately, so that the fields of one type share its string. Under the write lock.
static TYPES: [(AtomicPtr<u8>, AtomicU32); 256] =
    [const { (AtomicPtr::new(std::ptr::null_mut()), AtomicU32::new(0)) }; 256];

/// A scope of a field, to be added.
#[cfg(feature = "serde")]
pub(crate) struct NewScope<'a> {
    pub(crate) parent: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    /// Empty for kinds that have none.
    pub(crate) name: &'a str,
    /// Empty where nothing is known.
    pub(crate) type_name: &'static str,
    pub(crate) value_bytes: u64,
}

/// What came of adding one.
#[cfg(feature = "serde")]
pub(crate) enum Added {
    Scope(u32),
    /// It would lie too deep.
    Deep,
    /// The table is full.
    Full,
    /// Nothing records, or the hook is at work in this very thread.
    NotNow,
}

/// The present recording, by a number that a forked child's own recording does not share; 0 = nothing records.
#[cfg(feature = "serde")]
#[inline]
pub(crate) fn generation() -> u32 {
    if state::get() & state::RECORD == 0 {
        return 0;
    }
    session::current().map_or(0, session::Session::tag)
}

/// The scope called `name` under `parent`, entered once more. `None` when there is no room or no recording: then the
/// thread stays in `parent`.
pub(crate) fn enter(parent: u32, name: &str) -> Option<u32> {
    let _inside = hook::Inside::enter()?;
    let session = session::current()?;
    let errno = sys::Errno::keep();
    let scope = session.write.hold().phase(parent, name.as_bytes());
    drop(errno);
    let Some(scope) = scope else {
        count_lost();
        return None;
    };
    if let Some(record) = record(scope) {
        record.entered.fetch_add(1, Relaxed);
    }
    Some(scope)
}

/// Adds the scope of a field.
#[cfg(feature = "serde")]
pub(crate) fn add(new: &NewScope<'_>) -> Added {
    let (Some(_inside), Some(session)) = (hook::Inside::enter(), session::current()) else {
        return Added::NotNow;
    };
    if depth_under(new.parent) > MOST_DEPTH {
        return Added::Deep;
    }
    let errno = sys::Errno::keep();
    let added = session.write.hold().add_field(new);
    drop(errno);
    added.map_or(Added::Full, Added::Scope)
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
    if scope == 0 {
        return;
    }
    let (Some(_inside), Some(session)) = (hook::Inside::enter(), session::current()) else {
        return;
    };
    let Some(record) = record(scope) else { return };
    let errno = sys::Errno::keep();
    change(record, &mut session.write.hold());
    drop(errno);
}

/// A scope found no room; counted each time one was asked for.
#[cfg(feature = "serde")]
pub(crate) fn lost() {
    if let Some(_inside) = hook::Inside::enter() {
        count_lost();
    }
}

fn count_lost() {
    if let Some(header) = hook::header() {
        header.lost_scopes.fetch_add(1, Relaxed);
    }
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
        if let Some(record) = record(scope) {
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
        let Some(_inside) = hook::Inside::enter() else {
            return;
        };
        if let Some(record) = record(scope) {
            record.retained_bytes.fetch_add(retained, Relaxed);
        }
    }
}

fn known(scope: u32) -> Option<&'static Known> {
    let page = PAGES.get(scope as usize / PAGE)?.load(Acquire);
    // SAFETY: null or a page of PAGE entries that is never unmapped.
    (!page.is_null()).then(|| unsafe { &*page.add(scope as usize % PAGE) })
}

/// The record of a scope.
pub(crate) fn record(scope: u32) -> Option<&'static Scope> {
    // SAFETY: null or a record mapped until the process ends.
    unsafe { known(scope)?.record.load(Acquire).as_ref() }
}

fn depth_under(parent: u32) -> u32 {
    record(parent).map_or(0, |record| record.depth.load(Relaxed)) + 1
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
        let mut key = name
            .iter()
            .fold(u64::from(parent) ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            });
        // The content decides; another name of the same hash moves on to the next key.
        while let Some(found) = self.maps.scopes.find(key) {
            if self.is_phase(found, parent, name) {
                return Some(found);
            }
            key = key.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        }
        self.add_phase(key, parent, name)
    }

    fn is_phase(&self, scope: u32, parent: u32, name: &[u8]) -> bool {
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
        self.add_scope(new.parent, |record, writer| {
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
