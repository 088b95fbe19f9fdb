//! Phases: named parts of the program's work.

mod guards;

use guards::Guards;
use heapglass_recorder::scopes::{self, Retained, ScopeGuard, current, set};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

thread_local! {
    /// The phase guards of the thread. It has no destructor, so it exists until the thread's end.
    static GUARDS: Guards = const { Guards::new() };
}

/// Enters a phase, which ends when the guard is dropped. Phases nest. Everything that this thread
/// allocates in the meantime is counted in the phase.
///
/// A thread that is started inside a phase is not in the phase, and neither are the threads of a
/// pool that work for this thread. Enter the phase in each of them. Two threads that enter a phase
/// of the same name inside the same phase share its row.
///
/// Entering a phase costs a look-up under a lock; while nothing records, it does nothing. Guards
/// may be dropped in any order: the thread is in the phase of the youngest guard that still exists.
/// If a thread holds more than 32 guards at once, drop the youngest first.
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
    let scope = scopes::enter(before, name);
    set(scope.unwrap_or(before));
    Phase {
        number: scope.map(|_| GUARDS.with(|guards| guards.push(before))),
        scope,
        before,
        _retained: scope.and_then(Retained::enter),
        _not_send: PhantomData,
    }
}

/// The guard of a [`phase`]. It belongs to its thread; for futures use [`phase_async`].
pub struct Phase {
    /// Its number among the guards of its thread; `None` if entering changed nothing.
    number: Option<u32>,
    /// `None` if the scope table is full or nothing records.
    scope: Option<u32>,
    before: u32,
    _retained: Option<Retained>,
    /// Another thread's scope must not be put back on drop.
    _not_send: PhantomData<*const ()>,
}

impl Phase {
    /// Reports the bytes of input that the phase works on. They add up over entries of the phase.
    pub fn input_bytes(self, bytes: u64) -> Self {
        report(self.scope, bytes, 0);
        self
    }

    /// Reports the number of records that the phase works on. They add up over entries of the
    /// phase.
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
        let back = self
            .number
            .and_then(|number| GUARDS.with(|guards| guards.drop(number, self.before)));
        if let Some(scope) = back {
            set(scope);
        }
    }
}

/// Runs a future in a phase. Each poll enters the phase and leaves it afterwards, in whichever
/// thread it runs.
///
/// The phase nests in the phase that calls `phase_async`. A [`phase`] guard that the future holds
/// across an await counts only until the end of that poll; use `phase_async` for work that spans
/// polls.
pub fn phase_async<F: Future>(name: &str, future: F) -> PhaseFuture<F> {
    let parent = current();
    PhaseFuture {
        scope: scopes::enter(parent, name),
        parent,
        future,
    }
}

/// A future in a phase. See [`phase_async`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct PhaseFuture<F> {
    /// `None` if the scope table is full or nothing records; the future then runs in `parent`.
    scope: Option<u32>,
    parent: u32,
    future: F,
}

impl<F> PhaseFuture<F> {
    /// Reports the bytes of input that the phase works on.
    pub fn input_bytes(self, bytes: u64) -> Self {
        report(self.scope, bytes, 0);
        self
    }

    /// Reports the number of records that the phase works on.
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
            mark: GUARDS.with(Guards::mark),
            _back: ScopeGuard { back: current() },
        };
        let _retained = scope.and_then(Retained::enter);
        set(scope.unwrap_or(parent));
        future.poll(context)
    }
}

/// One poll. Dropping it, also after a panic of the future, returns the thread to its earlier
/// scope: it leaves all phases that the future entered and still holds.
struct Polled {
    mark: u32,
    _back: ScopeGuard,
}

impl Drop for Polled {
    fn drop(&mut self) {
        GUARDS.with(|guards| guards.suspend_since(self.mark));
    }
}

fn report(scope: Option<u32>, bytes: u64, records: u64) {
    if let Some(scope) = scope {
        scopes::report(scope, bytes, records);
    }
}
