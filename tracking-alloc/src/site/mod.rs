//! Sites: from the key of a stack and scope to a number, and the frames behind it to the recording.
//!
//! Finding a known site takes no lock. A new one is interned under the write lock: its return addresses are checked
//! against known code, repeated cycles are folded, and what had to be cut is counted.
//!
//! A site is a stack's frames and a scope; a key is only a hash of them. Interning compares the frames: if another stack
//! has the key, all keys are changed. A known key is looked at the first time a lane meets its site, and now and then.

mod cut;
mod map;

pub(crate) use map::{KeyMap, Maps, forget_sites};

use crate::hook::Lane;
use crate::session::{self, Writer};
use crate::stack::{self, Start};
use crate::{module, scopes, sys};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Frame, MAX_SITES, SITE_TABLE_FULL, Site, Stack, site_flags};

/// The site of a key, interning the stack in the lane's scratch when it is new.
#[cold]
#[inline(never)]
pub(crate) fn find(
    lane: &'static Lane,
    frame_pointer: usize,
    stack_pointer: usize,
    pc: u64,
    key: u64,
    scope: u32,
) -> u32 {
    module::check_now_and_then();
    if let Some(site) = map::find_site(key)
        && lane.trusts(site)
    {
        return site;
    }
    let errno = sys::Errno::keep();
    let start = Start::from_registers((frame_pointer, stack_pointer, pc));
    let site = intern(lane, start, key, scope);
    drop(errno);
    site
}

fn intern(lane: &'static Lane, start: Start, key: u64, scope: u32) -> u32 {
    let Some(session) = session::current() else {
        return SITE_TABLE_FULL;
    };
    // SAFETY: the scratch belongs to the lane's owner, who is calling.
    let scratch = unsafe { &mut *lane.scratch.get() };
    let mut walked = stack::walk_into(lane, start, scratch);
    let mut writer = session.write.hold();
    if !writer
        .images
        .is_unchanged(scratch.get(..walked.len).unwrap_or_default())
    {
        writer.code_changed();
        drop(writer);
        // It was perhaps walked by the rules of what had been there before.
        walked = stack::walk_into(lane, start, scratch);
        writer = session.write.hold();
    }
    let addresses = &mut scratch[..walked.len];
    // Not so when keys were changed meanwhile, or when code became known between the two walks.
    let is_key = stack::key(stack::hash(addresses), scope) == key;
    let mut flags = walked.flags;
    if writer.disagrees(start, lane.stack.get(), addresses) {
        writer
            .store
            .header()
            .unwinder_disagreements
            .fetch_add(1, Relaxed);
    }
    let tidied = cut::tidy(&mut writer.images, addresses, &mut flags);
    if tidied.read_modules {
        writer.record_modules();
    }
    // The many keys that lead to one tidied stack are not kept.
    let kept_key = (is_key && !tidied.changed).then_some(key);
    // A scope of the parent's recording, in a forked child, is none.
    let number = scopes::number(scope);
    let site = writer.site_of(kept_key, number, flags, &addresses[tidied.kept()]);
    drop(writer);
    if tidied.cut {
        note_cut(lane, &addresses[tidied.kept()]);
    }
    site
}

/// Gives every stack another key: old ones lead nowhere. Under the write lock.
pub(crate) fn change_keys() {
    stack::change_seed();
    map::clear_sites();
}

/// A stack that left known code: its outermost good frame called through code that keeps data in the frame pointer.
fn note_cut(lane: &Lane, kept: &[u64]) {
    if let Some(outermost) = kept.last() {
        lane.cut_after.count(*outermost);
    }
}

impl Writer {
    /// The site of a stack in a scope, or "(table full)". Its frames decide; under `key` it is found next time.
    fn site_of(&mut self, key: Option<u64>, scope: u32, flags: u32, addresses: &[u64]) -> u32 {
        let Some(stack) = self.add_stack(addresses) else {
            return SITE_TABLE_FULL;
        };
        let place = u64::from(stack) << 32 | u64::from(scope);
        let known = key.and_then(map::find_site);
        let site = self.maps.sites.find(place).or_else(|| {
            let flags = flags | known.map_or(0, |_| site_flags::COLLIDED);
            self.add_site(place, stack, scope, flags, key.unwrap_or(0))
        });
        let Some(site) = site else {
            return SITE_TABLE_FULL;
        };
        match (key, known) {
            (Some(key), None) if map::has_room(&mut self.bump) => map::add_site(key, site),
            // Two stacks of one key. With other keys they are told apart; what was counted up to now stays.
            (Some(_), Some(known)) if known != site => change_keys(),
            _ => {}
        }
        site
    }

    fn add_site(
        &mut self,
        place: u64,
        stack: u32,
        scope: u32,
        flags: u32,
        key: u64,
    ) -> Option<u32> {
        if self.sites.len() >= u64::from(MAX_SITES) || !self.maps.sites.reserve(&mut self.bump) {
            return None;
        }
        let (index, record) = self.sites.push::<Site>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let site = unsafe { record.as_ref() };
        site.stack.store(stack, Relaxed);
        site.scope.store(scope, Relaxed);
        site.flags.store(flags, Relaxed);
        site.key.store(key, Relaxed);
        self.store
            .header()
            .sites_len
            .store(index as u32 + 1, Release);
        self.maps.sites.add(place, index as u32);
        Some(index as u32)
    }

    /// The node of a stack, given innermost first.
    fn add_stack(&mut self, addresses: &[u64]) -> Option<u32> {
        let mut node = 0;
        for address in addresses.iter().rev() {
            let frame = self.add_frame(*address)?;
            node = self.add_node(node, frame)?;
        }
        Some(node)
    }

    fn add_frame(&mut self, address: u64) -> Option<u32> {
        let (module, offset) = self.images.locate(address);
        let key = u64::from(module) << 48 | offset & ((1 << 48) - 1);
        if let Some(known) = self.maps.frames.find(key) {
            return Some(known);
        }
        if !self.maps.frames.reserve(&mut self.bump) {
            return None;
        }
        let (index, place) = self.frames.push::<Frame>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let frame = unsafe { place.as_ref() };
        frame.module.store(module, Relaxed);
        frame.offset.store(offset, Relaxed);
        self.store
            .header()
            .frames_len
            .store(index as u32 + 1, Release);
        self.maps.frames.add(key, index as u32);
        Some(index as u32)
    }

    fn add_node(&mut self, parent: u32, frame: u32) -> Option<u32> {
        let key = u64::from(parent) << 32 | u64::from(frame);
        if let Some(known) = self.maps.stacks.find(key) {
            return Some(known);
        }
        if !self.maps.stacks.reserve(&mut self.bump) {
            return None;
        }
        let (index, place) = self.stacks.push::<Stack>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let stack = unsafe { place.as_ref() };
        stack.parent.store(parent, Relaxed);
        stack.frame.store(frame, Relaxed);
        self.store
            .header()
            .stacks_len
            .store(index as u32 + 1, Release);
        self.maps.stacks.add(key, index as u32);
        Some(index as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_share_a_key_are_two_sites_and_get_other_keys() {
        crate::start::to_memory().expect("a recording in memory");
        let session = session::current().expect("a session");
        let mut writer = session.write.hold();
        let key = |addresses: &[u64]| stack::key(stack::hash(addresses), 0);
        let (one, other) = ([10, 20, 30], [11, 20, 30]);
        // As if both had the key of the first: a weaker hash than there is.
        let (shared, seed_before) = (key(&one), key(&[]));
        let first = writer.site_of(Some(shared), 0, 0, &one);
        assert_eq!(map::find_site(shared), Some(first));
        assert_eq!(
            writer.site_of(Some(shared), 0, 0, &one),
            first,
            "the same stack"
        );
        assert_eq!(key(&[]), seed_before);

        let second = writer.site_of(Some(shared), 0, 0, &other);
        assert_ne!(second, first);
        assert_ne!(key(&[]), seed_before, "all keys are changed");
        assert_eq!(map::find_site(shared), None, "old keys lead nowhere");
        assert_eq!(writer.site_of(Some(key(&one)), 0, 0, &one), first);
        assert_eq!(writer.site_of(Some(key(&other)), 0, 0, &other), second);
        assert_eq!(map::find_site(key(&one)), Some(first));
        assert_eq!(map::find_site(key(&other)), Some(second));
        drop(writer);

        let bytes = crate::Recorder::current()
            .expect("it records")
            .finish_to_bytes()
            .expect("bytes");
        let recording =
            tracking_alloc_recording::Recording::read(bytes.as_slice()).expect("a recording");
        let collided = |site: u32| recording.sites[site as usize].flags & site_flags::COLLIDED;
        assert_eq!(collided(first), 0);
        assert_ne!(collided(second), 0, "said of the one that came later");
    }
}
