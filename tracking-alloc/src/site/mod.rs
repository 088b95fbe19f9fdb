//! Sites: from the key of a stack and scope to a number, and the frames behind it to the recording.
//!
//! Finding a known site takes no lock. A new one is interned under the write lock: its return addresses are checked
//! against known code, repeated cycles are folded, and what had to be cut is counted.

mod cut;
mod map;

pub(crate) use map::{KeyMap, Maps, forget_sites};

use crate::hook::Lane;
use crate::session::{self, Writer};
use crate::stack::{self, Start};
use crate::sys;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Frame, MAX_SITES, SITE_TABLE_FULL, Site, Stack};

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
    if let Some(site) = map::find_site(key) {
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
    let walked = stack::walk_into(lane, start, scratch);
    let addresses = &mut scratch[..walked.len];
    let mut writer = session.write.hold();
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
    let canonical = if tidied.changed {
        stack::key(stack::hash(&addresses[tidied.kept()]), scope)
    } else {
        key
    };
    let known = if tidied.changed {
        map::find_site(canonical)
    } else {
        None
    };
    let site = known
        .or_else(|| map::find_site(key))
        .unwrap_or_else(|| writer.add_site(canonical, scope, flags, &addresses[tidied.kept()]));
    drop(writer);
    if tidied.cut {
        note_cut(lane, &addresses[tidied.kept()]);
    }
    site
}

/// A stack that left known code: its outermost good frame called through code that keeps data in the frame pointer.
fn note_cut(lane: &Lane, kept: &[u64]) {
    if let Some(outermost) = kept.last() {
        lane.cut_after.count(*outermost);
    }
}

impl Writer {
    /// A new site, or "(table full)".
    fn add_site(&mut self, key: u64, scope: u32, flags: u32, addresses: &[u64]) -> u32 {
        if self.sites.len() >= u64::from(MAX_SITES) {
            return SITE_TABLE_FULL;
        }
        let Some(stack) = self.add_stack(addresses) else {
            return SITE_TABLE_FULL;
        };
        if !map::has_room(&mut self.bump) {
            return SITE_TABLE_FULL;
        }
        let Some((index, place)) = self.sites.push::<Site>(&mut self.store) else {
            return SITE_TABLE_FULL;
        };
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let site = unsafe { place.as_ref() };
        site.stack.store(stack, Relaxed);
        site.scope.store(scope, Relaxed);
        site.flags.store(flags, Relaxed);
        site.key.store(key, Relaxed);
        self.store
            .header()
            .sites_len
            .store(index as u32 + 1, Release);
        map::add_site(key, index as u32);
        index as u32
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
