//! What walking stacks takes from the tables: known code, and the rules of `.eh_frame` found in it.

use super::{Session, current};
use crate::stack::{self, Frame, Rule};
use crate::sys::{Errno, Stack};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{mode, unwinder};

/// The rule of a frame that the cache has none for.
pub(crate) fn find_rule(frame: Frame, bounds: Stack) -> Rule {
    let Some(session) = current() else {
        return Rule::UNKNOWN;
    };
    let _errno = Errno::keep();
    let mut writer = session.write.lock();
    let rule = writer.code.fill(frame, bounds);
    writer.record_modules();
    rule
}

/// Chooses how stacks are walked in a session that begins, and says so in its recording: frame pointers if our own
/// functions keep them, else the rules of `.eh_frame` if a walk by them finds what it must, else nothing; nothing too where
/// the mode counts alone. With `at_once`, files of what is loaded now are not looked into later.
pub(crate) fn choose_unwinder(session: &Session, at_once: bool) {
    let header = session.header();
    let counts = header.mode.load(Relaxed) == mode::COUNT;
    if at_once && !counts {
        session.write.lock().read_modules();
    }
    let unwinder = if counts {
        unwinder::NONE
    } else if stack::keeps_frame_pointers() {
        if !at_once {
            session.write.lock().code.check_early_stacks();
        }
        unwinder::FRAME_POINTERS
    } else if stack::IS_SUPPORTED
        && stack::prepare(&mut session.write.lock().bump)
        && stack::finds_callers(find_rule)
    {
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
