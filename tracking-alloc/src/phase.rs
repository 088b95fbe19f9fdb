//! Phases: where in the program's work we are.

use crate::current_scope::{current, set};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Enters a phase until the guard is dropped. Phases nest; everything allocated within is counted in them.
///
/// Costs a look-up under a lock; without a recording it costs nothing and does nothing. Guards may be dropped in any order (up to 32 of them
/// at once in a thread; those beyond innermost first): the thread is in the phase whose guard was made last of those that
/// still stand.
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let input = "[1, 2, 3]";
/// let phase = tracking_alloc::phase("load").input_bytes(input.len() as u64);
/// // ... deserialize ...
/// drop(phase.records(3));
/// ```
#[must_use = "the phase ends when the guard is dropped"]
pub fn phase(name: &str) -> Phase {
    let before = current();
    let scope = enter(before, name);
    set(scope.unwrap_or(before));
    Phase {
        number: scope.and_then(|_| crate::thread::with(|thread| thread.guards.push(before))),
        scope,
        since: scope.and_then(Since::enter),
        before,
        _not_send: PhantomData,
    }
}

/// The guard of a [`phase`]. Belongs to its thread; for futures use [`phase_async`].
pub struct Phase {
    /// Among the guards of its thread; `None` when it changed nothing.
    number: Option<u32>,
    /// `None` when it found no room, or nothing records.
    scope: Option<u32>,
    since: Option<Since>,
    before: u32,
    /// Another thread's scope must not be put back on drop.
    _not_send: PhantomData<*const ()>,
}

impl Phase {
    /// Says how many bytes of input the phase works on. Adds up over entries of the phase.
    pub fn input_bytes(self, bytes: u64) -> Self {
        report(self.scope, bytes, 0);
        self
    }

    /// Says how many records the phase works on. Adds up over entries of the phase.
    pub fn records(self, records: u64) -> Self {
        report(self.scope, 0, records);
        self
    }
}

impl fmt::Debug for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Phase").finish_non_exhaustive()
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        leave(self.scope, self.since);
        let back = self.number.and_then(|number| {
            crate::thread::with(|thread| thread.guards.drop(number, self.before)).flatten()
        });
        if let Some(scope) = back {
            set(scope);
        }
    }
}

/// Counts what stays of a scope that its thread leaves.
fn leave(scope: Option<u32>, since: Option<Since>) {
    if let (Some(scope), Some(since)) = (scope, since) {
        since.leave(scope);
    }
}

/// Runs a future in a phase: it is entered at each poll and left after it, whichever thread polls.
///
/// The phase nests in the one that calls `phase_async`.
pub fn phase_async<F: Future>(name: &str, future: F) -> PhaseFuture<F> {
    let parent = current();
    PhaseFuture {
        scope: enter(parent, name),
        parent,
        future,
    }
}

/// A future in a phase: see [`phase_async`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct PhaseFuture<F> {
    /// `None` when it found no room, or nothing records: then it runs in `parent`.
    scope: Option<u32>,
    parent: u32,
    future: F,
}

impl<F> PhaseFuture<F> {
    /// Says how many bytes of input the phase works on.
    pub fn input_bytes(self, bytes: u64) -> Self {
        report(self.scope, bytes, 0);
        self
    }

    /// Says how many records the phase works on.
    pub fn records(self, records: u64) -> Self {
        report(self.scope, 0, records);
        self
    }
}

impl<F: Future> Future for PhaseFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (scope, parent) = (self.scope, self.parent);
        // SAFETY: the future is pinned with the whole; it is never moved out, and there is no Drop or Unpin of ours.
        let future = unsafe { self.map_unchecked_mut(|whole| &mut whole.future) };
        let _polled = PollGuard {
            before: current(),
            scope,
            since: scope.and_then(Since::enter),
        };
        set(scope.unwrap_or(parent));
        future.poll(context)
    }
}

/// Puts the scope back and counts what the poll left, also when it panics.
struct PollGuard {
    before: u32,
    scope: Option<u32>,
    since: Option<Since>,
}

impl Drop for PollGuard {
    fn drop(&mut self) {
        leave(self.scope, self.since);
        set(self.before);
    }
}

#[cfg(any(recording, in_memory))]
pub(crate) use crate::scopes::Since;
#[cfg(any(recording, in_memory))]
use crate::scopes::enter;

#[cfg(any(recording, in_memory))]
fn report(scope: Option<u32>, bytes: u64, records: u64) {
    if let Some(scope) = scope {
        crate::scopes::report(scope, bytes, records);
    }
}

#[cfg(not(any(recording, in_memory)))]
fn enter(_parent: u32, _name: &str) -> Option<u32> {
    None
}

#[cfg(not(any(recording, in_memory)))]
fn report(_scope: Option<u32>, _bytes: u64, _records: u64) {}

/// Nothing records here: nothing is retained.
#[cfg(not(any(recording, in_memory)))]
#[derive(Clone, Copy)]
pub(crate) enum Since {}

#[cfg(not(any(recording, in_memory)))]
impl Since {
    pub(crate) fn enter(_scope: u32) -> Option<Since> {
        None
    }

    pub(crate) fn leave(self, _scope: u32) {
        match self {}
    }
}
