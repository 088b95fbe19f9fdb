//! The start of a recording: at the first event of the process for which the environment is there,
//! at the latest in the [constructor](crate::constructor) of this library.

use crate::{environment, exec, images, inner, linked, slots};
use heapglass_recorder::{Callers, InnerAllocator, Source};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// The source of the events: the functions of [`exported`](crate::exported).
pub(crate) struct Malloc;

impl Source for Malloc {
    fn inner() -> InnerAllocator {
        if inner::is_libc() && linked::name().is_none() {
            InnerAllocator::System
        } else {
            InnerAllocator::Other
        }
    }

    fn inner_name() -> &'static str {
        match linked::name() {
            _ if !inner::is_libc() => "",
            Some(name) => name,
            None => "libc malloc",
        }
    }

    fn callers() -> Callers {
        Callers::Any
    }

    fn may_record() -> Option<bool> {
        may_record()
    }
}

/// Not examined yet.
const UNKNOWN: u32 = 0;
/// A thread examines the process.
const EXAMINING: u32 = 1;
const MAY: u32 = 2;
const MAY_NOT: u32 = 3;
static ANSWER: AtomicU32 = AtomicU32::new(UNKNOWN);
/// `true` if the process records because the environment asks for it.
static RECORDS: AtomicBool = AtomicBool::new(false);

/// Returns `true` after [`may_record`] if the process records.
pub(crate) fn records() -> bool {
    RECORDS.load(Acquire)
}

/// Notes that this library was loaded into a program that runs already. Whatever the environment
/// asks for, nothing is recorded until [`attach`](crate::attach) starts it.
pub(crate) fn is_late() -> bool {
    let own = is_late as *const () as usize;
    let is_late = images::is_after(own, inner::of_libc());
    if is_late {
        ANSWER.store(MAY_NOT, Release);
    }
    is_late
}

/// Examines the process, once. Returns `None` before the environment is there, and for events
/// during the examination.
#[cold]
pub(crate) fn may_record() -> Option<bool> {
    if !environment::is_there() {
        return None;
    }
    match ANSWER.compare_exchange(UNKNOWN, EXAMINING, AcqRel, Acquire) {
        Ok(_) => {}
        Err(MAY) => return Some(true),
        Err(MAY_NOT) => return Some(false),
        Err(_) => return None,
    }
    let _errno = crate::Errno::keep();
    inner::find();
    let is_wanted = environment::wants_recording();
    // Such a program records itself. All its blocks would be counted twice.
    let is_recorded = images::links_tracking_alloc();
    if is_wanted {
        exec::prepare(environment::take_out());
    }
    let may = !is_recorded;
    if is_wanted && may {
        RECORDS.store(true, Release);
        if inner::is_in_front() {
            slots::begin();
        }
        linked::find();
    }
    ANSWER.store(if may { MAY } else { MAY_NOT }, Release);
    Some(may)
}

/// Returns 1 if this library records. A library with tracking-alloc that is loaded later asks
/// before it starts a recording of its own.
#[unsafe(no_mangle)]
extern "C" fn heapglass_preload_records() -> libc::c_int {
    heapglass_recorder::Recording::current().is_some().into()
}
