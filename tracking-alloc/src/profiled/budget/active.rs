//! Budgets in force in a thread: a list on its stack, compared with what the thread has allocated since.

use super::Limits;
use super::path::{Path, is_at};
use crate::profiled::tree::Node;
use crate::{count, thread};
use serde::de::Error;
use std::cell::Cell;
use std::fmt;
use std::ptr::null;

/// A budget in force, on the stack of whoever set it.
pub(crate) struct Active {
    limits: Limits,
    /// The field it is for; `None` = everything.
    path: Option<*const str>,
    fields: *const [(String, Limits)],
    /// Net and total bytes when it began.
    live: i64,
    total: u64,
    /// The one further out.
    outer: Cell<*const Active>,
}

/// A budget about to be in force.
pub(super) struct Watching<'a> {
    active: Active,
    _borrowed: std::marker::PhantomData<&'a str>,
}

impl<'a> Watching<'a> {
    pub(super) fn budget(limits: Limits, fields: &'a [(String, Limits)]) -> Watching<'a> {
        Watching::new(limits, None, fields)
    }

    fn field(limits: Limits, path: &'a str) -> Watching<'a> {
        Watching::new(limits, Some(path), &[])
    }

    fn new(limits: Limits, path: Option<&'a str>, fields: &'a [(String, Limits)]) -> Watching<'a> {
        let (live, total) = count::measured_so_far();
        Watching {
            active: Active {
                limits,
                path: path.map(std::ptr::from_ref),
                fields,
                live,
                total,
                outer: Cell::new(null()),
            },
            _borrowed: std::marker::PhantomData,
        }
    }

    /// In force until the guard is dropped, also when something panics.
    pub(super) fn begin(&self) -> Running<'_> {
        let before = thread::with(|thread| {
            thread
                .budget
                .replace(std::ptr::from_ref(&self.active).cast())
        })
        .unwrap_or(null())
        .cast();
        self.active.outer.set(before);
        Running(&self.active)
    }
}

pub(super) struct Running<'a>(&'a Active);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        thread::with(|thread| thread.budget.set(self.0.outer.get().cast()));
    }
}

/// Whether any budget is in force in this thread.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(in super::super) fn is_running() -> bool {
    thread::with(|thread| !thread.budget.get().is_null()).unwrap_or(false)
}

fn innermost() -> *const Active {
    thread::with(|thread| thread.budget.get())
        .unwrap_or(null())
        .cast()
}

/// Compares what the thread has allocated with every budget in force.
///
/// # Errors
/// When one is exceeded, with the path and the figure.
#[inline(never)]
pub(in super::super) fn check<E: Error>(node: &'static Node) -> Result<(), E> {
    match exceeded(node) {
        None => Ok(()),
        Some(excess) => Err(E::custom(excess)),
    }
}

fn exceeded(node: &'static Node) -> Option<Excess> {
    let (live_now, total_now) = count::measured_so_far();
    let mut next = innermost();
    // SAFETY: whoever put a budget into the list takes it out before its stack frame ends.
    while let Some(active) = unsafe { next.as_ref() } {
        next = active.outer.get();
        let live = u64::try_from(live_now.wrapping_sub(active.live)).unwrap_or(0);
        let total = total_now.wrapping_sub(active.total);
        let excess = match active.limits {
            Limits {
                live: Some(allowed),
                ..
            } if live > allowed => (live, "live", allowed),
            Limits {
                total: Some(allowed),
                ..
            } if total > allowed => (total, "allocated", allowed),
            _ => continue,
        };
        let (bytes, what, allowed) = excess;
        return Some(Excess {
            node,
            path: active.path,
            bytes,
            what,
            allowed,
        });
    }
    None
}

/// The message of a budget that is exceeded.
struct Excess {
    node: &'static Node,
    path: Option<*const str>,
    bytes: u64,
    what: &'static str,
    allowed: u64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory budget exceeded at ")?;
        match self.path {
            // SAFETY: the path of a budget in force, which outlives this message: it is written before the budget ends.
            Some(path) => f.write_str(unsafe { &*path })?,
            None => Path(self.node).fmt(f)?,
        }
        let Excess {
            bytes,
            what,
            allowed,
            ..
        } = self;
        write!(f, ": {bytes} bytes {what}, {allowed} allowed")
    }
}

/// Runs `work` at a place, within the budgets that are for it, and compares before and after.
#[inline(never)]
pub(in super::super) fn in_field<R, E: Error>(
    node: &'static Node,
    work: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    check(node)?;
    let value = within(innermost(), node, work)?;
    Ok(value)
}

/// Puts the budgets for this place into force, of each budget from `next` outwards, then runs `work`.
fn within<R, E: Error>(
    mut next: *const Active,
    node: &'static Node,
    work: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    // SAFETY: as in `exceeded`: all of them stay in force while this runs.
    while let Some(active) = unsafe { next.as_ref() } {
        next = active.outer.get();
        // SAFETY: the fields of a budget outlive its being in force.
        let fields = unsafe { &*active.fields };
        if let Some((path, limits)) = fields.iter().find(|(path, _)| is_at(node, path)) {
            let watching = Watching::field(*limits, path);
            let _running = watching.begin();
            return within(next, node, work);
        }
    }
    let value = work()?;
    check(node)?;
    Ok(value)
}
