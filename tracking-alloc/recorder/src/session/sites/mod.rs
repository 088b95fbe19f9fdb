//! Sites: finds the number of a stack and scope by their key, and adds the frames of new stacks to
//! the recording.
//!
//! Finding a known site takes no lock. A new site is interned under the write lock: its return
//! addresses are checked against known code, repeated cycles are folded, and stacks that had to be
//! cut are marked.
//!
//! A site is defined by the frames of a stack and a scope; a key is only a hash of them. Interning
//! compares the frames. If another stack has the same key, all keys are changed. A known key is
//! compared the first time that a lane meets its site, and now and then after that.

mod tidy;

use super::key_map::KeyMap;
use super::walking::{FINDERS, follow_rules};
use super::{Writer, current, scope_number};
use crate::stack::{self, Limits, Start};
use crate::{images, sys};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{
    FrameValue, MAX_FRAMES, MAX_SITES, SITE_TABLE_FULL, SiteValue, StackValue, site_flags, table,
};

/// Maximum number of walks of a stack, if code or the method of walking changes meanwhile.
const MOST_WALKS: u32 = 4;

/// The map from key to site.
static SITES: KeyMap = KeyMap::new();

/// A site found by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownSite {
    pub(crate) site: u32,
    /// `true` if other code may later lie at the addresses of its stack. Then the same addresses
    /// are a different stack.
    pub(crate) can_go: bool,
}

impl KnownSite {
    const CAN_GO: u64 = 1 << 32;

    fn lasting(site: u32) -> KnownSite {
        KnownSite {
            site,
            can_go: false,
        }
    }

    fn from_word(word: u64) -> KnownSite {
        KnownSite {
            site: word as u32,
            can_go: word & Self::CAN_GO != 0,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.site) | if self.can_go { Self::CAN_GO } else { 0 }
    }
}

/// Returns the site of a key. This takes no lock, so it may miss a site that is just being added.
/// Such a site is looked up again under the lock.
pub(crate) fn find_site(key: u64) -> Option<KnownSite> {
    SITES.find(key).map(KnownSite::from_word)
}

/// Forgets all sites, for a forked child that begins a recording of its own.
pub(crate) fn forget_sites() {
    SITES.forget();
}

/// Returns the site of the calling stack in a scope, and interns it if it is new. The stack is
/// walked into `scratch`. `key` is its key in the first walk.
pub(crate) fn intern(
    limits: &Limits,
    start: Start,
    scratch: &mut [u64; MAX_FRAMES],
    key: u64,
    scope: u32,
) -> KnownSite {
    let Some(session) = current() else {
        return KnownSite::lasting(SITE_TABLE_FULL);
    };
    let _errno = sys::Errno::keep();
    let mut walked_by = stack::walked_with();
    let mut walked = stack::walk_into(limits, start, &FINDERS, scratch);
    let mut writer = session.write.lock();
    for _ in 0..MOST_WALKS {
        let addresses = scratch.get(..walked.len).unwrap_or_default();
        if !writer.code.images.is_unchanged(addresses) {
            // The stack may have been walked by the rules of code that lay there before.
            writer.code_changed();
            drop(writer);
        } else if walked_by != stack::walked_with() {
            drop(writer);
        } else if writer.code.differs(start, limits, addresses) {
            drop(writer);
            if !follow_rules(session) {
                writer = session.write.lock();
                let header = writer.store.header();
                header.unwinder_disagreements.fetch_add(1, Relaxed);
                break;
            }
        } else {
            break;
        }
        walked_by = stack::walked_with();
        walked = stack::walk_into(limits, start, &FINDERS, scratch);
        writer = session.write.lock();
    }
    let addresses = &mut scratch[..walked.len];
    // The key differs if keys were changed meanwhile, or if code became known between the two
    // walks.
    let is_key = stack::key(addresses, scope) == key;
    let (kept, tidied) = tidy::tidy(&mut writer.code.images, addresses);
    writer.record_modules();
    let kept = &addresses[..kept];
    // Many keys may lead to one tidied stack, so they are not kept.
    let kept_key = (is_key && tidied == 0).then_some(key);
    // In a forked child, a scope of the parent's recording counts as the root.
    let number = scope_number(scope);
    let flags = walked.flags | tidied;
    let is_cut = flags & site_flags::CUT != 0;
    if is_cut {
        writer.code.images.note_cut();
    }
    let can_go = is_cut || writer.code.images.can_go(kept);
    let site = writer.site_of(kept_key, number, flags, can_go, kept);
    drop(writer);
    if tidied & site_flags::CUT != 0
        && let Some(outermost) = kept.last()
    {
        // The outermost frame was called by code that keeps data in the frame pointer register.
        limits.count_cut(*outermost);
    }
    KnownSite { site, can_go }
}

/// Checks now and then if code that can be unloaded has changed. Returns `true` if it did; then all
/// keys changed too. The caller must not hold the write lock.
#[inline]
pub(crate) fn check_modules() -> bool {
    images::is_check_due() && check()
}

/// Notes that code was unloaded or is about to be loaded: the next [`check_modules`] checks.
pub(crate) fn expect_changes() {
    images::expect_changes();
}

#[cold]
#[inline(never)]
fn check() -> bool {
    let Some(session) = current() else {
        return false;
    };
    images::checked();
    let _errno = sys::Errno::keep();
    let mut writer = session.write.lock();
    let code = &mut writer.code;
    let is_changed = code.has_replaced_generated() || !code.images.is_all_unchanged();
    if is_changed {
        writer.code_changed();
    }
    is_changed
}

/// Gives every stack a new key, so that no old key is found. The caller holds the write lock.
fn change_keys() {
    stack::change_seed();
    SITES.clear();
}

impl Writer {
    /// Handles code that was unloaded, and perhaps replaced by other code.
    fn code_changed(&mut self) {
        self.read_modules();
        stack::forget_rules();
        change_keys();
    }

    /// Returns the site of a stack in a scope, or "(table full)". The frames identify the site.
    /// `key` is how it will be found next time.
    fn site_of(
        &mut self,
        key: Option<u64>,
        scope: u32,
        flags: u32,
        can_go: bool,
        addresses: &[u64],
    ) -> u32 {
        let Some(stack) = self.add_stack(addresses) else {
            return SITE_TABLE_FULL;
        };
        let known = key.and_then(find_site).map(|known| known.site);
        let collided = known.map_or(0, |_| site_flags::COLLIDED);
        let Some(site) = self.add_site(stack, scope, flags | collided) else {
            return SITE_TABLE_FULL;
        };
        match (key, known) {
            (Some(key), None) if SITES.reserve(&mut self.bump) => {
                SITES.add(key, KnownSite { site, can_go }.word());
            }
            // Two stacks have the same key. New keys distinguish them. Events counted so far stay
            // where they are.
            (Some(_), Some(known)) if known != site => change_keys(),
            _ => {}
        }
        site
    }

    /// Returns the site of a stack in a scope. If the site is new, it gets these flags.
    fn add_site(&mut self, stack: u32, scope: u32, flags: u32) -> Option<u32> {
        let key = u64::from(stack) << 32 | u64::from(scope);
        let known = self.find(table::SITES, key);
        if known.is_some() || self.len(table::SITES) >= u64::from(MAX_SITES) {
            return known;
        }
        let site = SiteValue {
            stack,
            scope,
            flags,
            ..SiteValue::default()
        };
        self.add_keyed(key, site).map(|(number, _)| number)
    }

    /// Returns the node of a stack, whose addresses are given innermost first.
    fn add_stack(&mut self, addresses: &[u64]) -> Option<u32> {
        let mut node = 0;
        for address in addresses.iter().rev() {
            let frame = self.add_frame(*address)?;
            node = self.add_node(node, frame)?;
        }
        Some(node)
    }

    fn add_frame(&mut self, address: u64) -> Option<u32> {
        let (module, offset) = self.code.images.locate(address);
        let key = u64::from(module) << 48 | offset & ((1 << 48) - 1);
        let frame = FrameValue {
            module,
            offset,
            ..FrameValue::default()
        };
        self.intern(key, frame)
    }

    fn add_node(&mut self, parent: u32, frame: u32) -> Option<u32> {
        let key = u64::from(parent) << 32 | u64::from(frame);
        self.intern(key, StackValue { parent, frame })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_share_a_key_are_two_sites_and_get_other_keys() {
        crate::start::to_memory(crate::Settings::default()).expect("a recording in memory");
        let session = current().expect("a session");
        let mut writer = session.write.lock();
        let key = |addresses: &[u64]| stack::key(addresses, 0);
        let (one, other) = ([10, 20, 30], [11, 20, 30]);
        // This pretends that both have the key of the first, as with a weaker hash.
        let (shared, seed_before) = (key(&one), key(&[]));
        let first = writer.site_of(Some(shared), 0, 0, false, &one);
        assert_eq!(find_site(shared), Some(KnownSite::lasting(first)));
        assert_eq!(
            writer.site_of(Some(shared), 0, 0, false, &one),
            first,
            "the same stack"
        );
        assert_eq!(key(&[]), seed_before);

        let second = writer.site_of(Some(shared), 0, 0, false, &other);
        assert_ne!(second, first);
        assert_ne!(key(&[]), seed_before, "all keys are changed");
        assert_eq!(find_site(shared), None, "old keys lead nowhere");
        assert_eq!(writer.site_of(Some(key(&one)), 0, 0, false, &one), first);
        assert_eq!(
            writer.site_of(Some(key(&other)), 0, 0, false, &other),
            second
        );
        assert_eq!(find_site(key(&one)), Some(KnownSite::lasting(first)));
        assert_eq!(find_site(key(&other)), Some(KnownSite::lasting(second)));
        drop(writer);

        let bytes = crate::Recording::current()
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
