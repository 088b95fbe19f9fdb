//! The data for stack walks: known code, and its `.eh_frame` rules.

use super::{Session, Writer, current};
use crate::stack::{self, Frame, Rule};
use crate::sys::{Errno, Stack, on_own_stack, read_own_memory};
use std::sync::atomic::{AtomicBool, Ordering::*};
use tracking_alloc_recording::{mode, unwinder};

/// Finds the rule of a frame that is not in the cache.
fn find_rule(frame: Frame, bounds: Stack) -> Rule {
    let Some(session) = current() else {
        return Rule::UNKNOWN;
    };
    let _errno = Errno::keep();
    let mut writer = session.write.lock();
    let rule = writer.code.fill(frame, bounds);
    writer.record_modules();
    rule
}

/// Finds a stack that is not the thread's own: the mapping that contains an address.
fn find_stack(address: usize) -> Option<Stack> {
    /// `true` if rules were tried for such stacks.
    static ASKED: AtomicBool = AtomicBool::new(false);
    let _errno = Errno::keep();
    let session = current()?;
    let stack = mapping_of(&mut session.write.lock(), address)?;
    if !ASKED.swap(true, Relaxed) && are_rules_ready(session) {
        stack::may_follow_rules();
    }
    Some(stack)
}

/// Finds the stack that contains the place of a return address.
fn find_stack_before(place: usize) -> Option<Stack> {
    let _errno = Errno::keep();
    let mut address = [0; 8];
    if !place.is_multiple_of(8) || !read_own_memory(place as u64, &mut address) {
        return None;
    }
    let mut writer = current()?.write.lock();
    let code = stack::without_signature(u64::from_le_bytes(address)).wrapping_sub(1);
    let is_known = writer.code.images.is_code(code);
    is_known.then(|| mapping_of(&mut writer, place)).flatten()
}

fn mapping_of(writer: &mut Writer, address: usize) -> Option<Stack> {
    let (low, high) = writer.code.images.mapping_of(address as u64)?;
    Some(Stack {
        low: low as usize,
        high: high as usize,
    })
}

/// Prepares rules in a program whose stacks are walked by frame pointers. Returns `false` if the
/// rules fail their self-test. The caller must not hold the write lock.
fn are_rules_ready(session: &Session) -> bool {
    stack::prepare(&mut session.write.lock().bump)
        && on_own_stack(|| stack::finds_callers(&FINDERS)) == Some(true)
}

/// The data that walks use.
pub(crate) static FINDERS: stack::Find = stack::Find {
    rule: find_rule,
    stack: find_stack,
    stack_before: find_stack_before,
};

/// `true` if any code of the process may allocate, built with or without frame pointers.
static HAS_ANY_CALLERS: AtomicBool = AtomicBool::new(false);

/// Sets whether any code of the process may allocate, for the next [`choose_unwinder`].
pub(crate) fn have_any_callers(any: bool) {
    HAS_ANY_CALLERS.store(any, Relaxed);
}

/// Returns `true` if any code of the process may allocate, through functions of C. They free blocks
/// without their size.
pub(crate) fn any_callers() -> bool {
    HAS_ANY_CALLERS.load(Relaxed)
}

/// Chooses how stacks are walked in a new session, and notes the method in its recording. It is
/// frame pointers if our own functions keep them and tell about their callers. Otherwise it is the
/// rules of `.eh_frame`, if they
/// pass their self-test. Otherwise, and in the mode that only counts, stacks are not walked. With
/// `at_once`, the files of loaded images are read now and never later.
pub(crate) fn choose_unwinder(session: &Session, at_once: bool) {
    let header = session.header();
    let counts = header.mode.load(Relaxed) == mode::COUNT;
    stack::learn_address_bits();
    let has_any_callers = HAS_ANY_CALLERS.load(Relaxed);
    if has_any_callers {
        session.write.lock().code.images.read_first();
    }
    if at_once && !counts {
        session.write.lock().read_modules();
    }
    let unwinder = if counts {
        unwinder::NONE
    } else if !has_any_callers && stack::keeps_frame_pointers() {
        if !at_once {
            session.write.lock().code.check_early_stacks();
        }
        unwinder::FRAME_POINTERS
    } else if are_rules_ready(session) {
        if at_once {
            session.write.lock().code.read_tables();
        }
        unwinder::EH_FRAME
    } else {
        unwinder::NONE
    };
    if at_once || counts {
        session.write.lock().code.images.close();
    }
    header.unwinder.store(unwinder, Relaxed);
    stack::walk_with(unwinder);
}

/// Switches to the rules of `.eh_frame`, in a program in which walks by frame pointers missed
/// frames because some code keeps none. Returns `false` if that is not possible. The caller must
/// not hold the write lock.
pub(super) fn follow_rules(session: &Session) -> bool {
    session.write.lock().code.end_checks();
    if !are_rules_ready(session) {
        return false;
    }
    let header = session.header();
    header.unwinder.store(unwinder::EH_FRAME, Relaxed);
    stack::walk_with(unwinder::EH_FRAME);
    true
}
