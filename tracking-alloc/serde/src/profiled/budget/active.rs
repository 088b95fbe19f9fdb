//! Budgets in force in a thread. They form a list on its stack and are compared with the thread's
//! allocations since they began.

use super::Limits;
use super::path::{Path, is_at};
use crate::profiled::tree::Node;
use heapglass_recorder::counting;
use serde::de::Error;
use std::cell::Cell;
use std::fmt::Display;
use std::ptr::null;

thread_local! {
    /// The innermost budget in force. It has no destructor, so it exists until the thread's end.
    static INNERMOST: Cell<*const Active> = const { Cell::new(null()) };
}

/// A budget in force, on the stack of the function that set it.
struct Active {
    limits: Limits,
    /// The field to which it applies, or `None` for everything.
    path: Option<*const str>,
    fields: *const [(String, Limits)],
    /// Net and total bytes at its beginning.
    live: i64,
    total: u64,
    /// The next outer budget.
    outer: *const Active,
}

/// A guard that ends a budget when it is dropped, also after a panic.
struct Running<'a>(&'a Active);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        INNERMOST.set(self.0.outer);
    }
}

/// Runs `work` with a budget in force, of a field or of everything, including its budgets for
/// fields.
pub(super) fn in_force<R>(
    limits: Limits,
    path: Option<&str>,
    fields: &[(String, Limits)],
    work: impl FnOnce() -> R,
) -> R {
    let (live, total) = counting::measured_so_far();
    let active = Active {
        limits,
        path: path.map(std::ptr::from_ref),
        fields,
        live,
        total,
        outer: innermost(),
    };
    INNERMOST.set(&active);
    let _running = Running(&active);
    work()
}

/// Returns `true` if any budget is in force in this thread.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(in super::super) fn is_running() -> bool {
    !innermost().is_null()
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn innermost() -> *const Active {
    INNERMOST.get()
}

/// Compares the thread's allocations with every budget in force.
///
/// # Errors
/// If one is exceeded, with the path and the figure.
#[inline(never)]
pub(in super::super) fn check<E: Error>(node: &'static Node) -> Result<(), E> {
    let (live_now, total_now) = counting::measured_so_far();
    let mut next = innermost();
    // SAFETY: a function that adds a budget to the list removes it before its stack frame ends.
    while let Some(active) = unsafe { next.as_ref() } {
        next = active.outer;
        let live = u64::try_from(live_now.wrapping_sub(active.live)).unwrap_or(0);
        let total = total_now.wrapping_sub(active.total);
        let amplified = active.limits.amplified;
        let input = amplified.map(|amplified| amplified.input_bytes);
        for (bytes, what, limit, input) in [
            (live, "live", active.limits.live, None),
            (total, "allocated", active.limits.total, None),
            (
                live,
                "live",
                amplified.map(|amplified| amplified.live),
                input,
            ),
        ] {
            if let Some(allowed) = limit
                && bytes > allowed
            {
                // SAFETY: the path of a budget in force.
                let path = active.path.map(|path| unsafe { &*path });
                let place: &dyn Display = match &path {
                    Some(path) => path,
                    None => &Path(node),
                };
                return Err(match input {
                    Some(input) => E::custom(format_args!(
                        "memory budget exceeded at {place}: {bytes} bytes {what} for {input} bytes of input, {allowed} allowed"
                    )),
                    None => E::custom(format_args!(
                        "memory budget exceeded at {place}: {bytes} bytes {what}, {allowed} allowed"
                    )),
                });
            }
        }
    }
    Ok(())
}

/// Runs `work` at a place with the budgets for that place, and checks before and after.
#[inline(never)]
pub(in super::super) fn in_field<R, E: Error>(
    node: &'static Node,
    work: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    check(node)?;
    within(innermost(), node, work)
}

/// Puts the budgets for this place into force, from each budget from `next` outwards, then runs
/// `work`.
fn within<R, E: Error>(
    mut next: *const Active,
    node: &'static Node,
    work: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    // SAFETY: as in `check`. All of them stay in force while this runs.
    while let Some(active) = unsafe { next.as_ref() } {
        next = active.outer;
        // SAFETY: the fields of a budget live longer than the budget is in force.
        let fields = unsafe { &*active.fields };
        if let Some((path, limits)) = fields.iter().find(|(path, _)| is_at(node, path)) {
            return in_force(*limits, Some(path), &[], || within(next, node, work));
        }
    }
    let value = work()?;
    check(node)?;
    Ok(value)
}
