//! Phases: where in the program's work we are.

use crate::current_scope::{ScopeGuard, current, set};
use crate::scope_records::{self, Retained};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Enters a phase until the guard is dropped. Phases nest; everything that this thread allocates
/// within is counted in them.
///
/// A thread that is started inside a phase is not in it, and neither are threads of a pool that
/// work for this one: enter the phase in each of them. Two threads that enter a phase of the same
/// name inside the same phase share its row.
///
/// Costs a look-up under a lock; without a recording it costs nothing and does nothing. Guards may
/// be dropped in any order: the thread is in the phase of the youngest guard that still exists.
/// Beyond 32 guards at once in a thread, drop the youngest first.
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
    let scope = scope_records::enter(before, name);
    set(scope.unwrap_or(before));
    Phase {
        number: scope.and_then(|_| crate::thread::with(|thread| thread.guards.push(before))),
        scope,
        before,
        _retained: scope.and_then(Retained::enter),
        _not_send: PhantomData,
    }
}

/// The guard of a [`phase`]. Belongs to its thread; for futures use [`phase_async`].
pub struct Phase {
    /// Among the guards of its thread; `None` when it changed nothing.
    number: Option<u32>,
    /// `None` when it found no room, or nothing records.
    scope: Option<u32>,
    before: u32,
    _retained: Option<Retained>,
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
        let back = self.number.and_then(|number| {
            crate::thread::with(|thread| thread.guards.drop(number, self.before)).flatten()
        });
        if let Some(scope) = back {
            set(scope);
        }
    }
}

/// Runs a future in a phase: it is entered at each poll and left after it, whichever thread polls.
///
/// The phase nests in the one that calls `phase_async`. A [`phase`] guard that the future holds
/// across an await counts until the end of that poll only: use `phase_async` for what goes on.
pub fn phase_async<F: Future>(name: &str, future: F) -> PhaseFuture<F> {
    let parent = current();
    PhaseFuture {
        scope: scope_records::enter(parent, name),
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
        // SAFETY: the future is pinned with the whole; it is never moved out, and there is no Drop
        // or Unpin of ours.
        let future = unsafe { self.map_unchecked_mut(|whole| &mut whole.future) };
        let _polled = Polled {
            mark: crate::thread::with(|thread| thread.guards.mark()),
            _back: ScopeGuard { back: current() },
        };
        let _retained = scope.and_then(Retained::enter);
        set(scope.unwrap_or(parent));
        future.poll(context)
    }
}

/// One poll. When it is dropped, also when the future panics, the thread is where it was before:
/// outside of all phases that the future entered and still holds.
struct Polled {
    /// `None` where the thread has no guards any more.
    mark: Option<u32>,
    _back: ScopeGuard,
}

impl Drop for Polled {
    fn drop(&mut self) {
        if let Some(mark) = self.mark {
            crate::thread::with(|thread| thread.guards.suspend_since(mark));
        }
    }
}

fn report(scope: Option<u32>, bytes: u64, records: u64) {
    if let Some(scope) = scope {
        scope_records::report(scope, bytes, records);
    }
}
