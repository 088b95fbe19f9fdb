//! Phases: named parts of the program's work.

mod guards;

use guards::Guards;
use heapglass_recorder::scopes::{self, Running, ScopeGuard, Stayed, current, set};
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
/// pool that work for this thread. Enter the phase in each of them with a
/// [`handle`](Phase::handle). Two threads that enter a phase of the same name inside the same phase
/// share its row.
///
/// The time of a phase is the time from its entry to the drop of its guard, summed over entries.
/// Reports divide the input by it. While an entry lasts, the time of the phase is unknown.
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
    Phase {
        _running: scope.and_then(Running::begin),
        entered: PhaseEntered::enter(scope, before),
    }
}

/// The guard of a [`phase`]. It belongs to its thread; for futures use [`phase_async`].
pub struct Phase {
    /// The time of this entry; dropped first.
    _running: Option<Running>,
    entered: PhaseEntered,
}

impl Drop for Phase {
    fn drop(&mut self) {
        if let (Some(scope), 0) = (self.entered.scope, self.entered.before) {
            scopes::outermost_ended(scope);
        }
    }
}

impl Phase {
    /// Reports the bytes of input that the phase works on. They add up over entries of the phase.
    pub fn input_bytes(self, bytes: u64) -> Self {
        report(self.entered.scope, bytes, 0);
        self
    }

    /// Reports the number of records that the phase works on. They add up over entries of the
    /// phase.
    pub fn records(self, records: u64) -> Self {
        report(self.entered.scope, 0, records);
        self
    }

    /// Creates a handle, with which other threads enter the phase.
    ///
    /// Their allocations in the meantime count in the phase, so its figures are those of several
    /// threads. Its time and its entries remain those of the phase itself: eight threads that work
    /// for a second take one second, not eight.
    ///
    /// ```
    /// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
    /// # let parts = ["a,b", "c"];
    /// let phase = tracking_alloc::phase("load");
    /// std::thread::scope(|scope| {
    ///     for part in parts {
    ///         let handle = phase.handle();
    ///         scope.spawn(move || {
    ///             let _entered = handle.enter();
    ///             part.split(',').map(str::to_owned).collect::<Vec<String>>()
    ///         });
    ///     }
    /// });
    /// ```
    pub fn handle(&self) -> PhaseHandle {
        let around = Some(self.entered.before).filter(|around| *around != 0);
        PhaseHandle {
            scope: self.entered.scope.or(around),
        }
    }
}

impl fmt::Debug for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Phase").finish_non_exhaustive()
    }
}

/// A handle of a [`Phase`] for other threads. See [`Phase::handle`].
///
/// A handle may outlive its phase. What is allocated through it then still counts in the phase, but
/// the time of the phase has ended. A handle that was created while nothing recorded enters
/// nothing.
#[derive(Clone, Debug)]
pub struct PhaseHandle {
    /// The phase, or the scope around it if the scope table is full. `None` if there is none, or
    /// nothing records.
    scope: Option<u32>,
}

impl PhaseHandle {
    /// Enters the phase on the calling thread until the guard is dropped, also by a panic. The
    /// thread then returns to the phase that it was in.
    ///
    /// Guards nest as those of [`phase`] do, and may be dropped in any order.
    pub fn enter(&self) -> PhaseEntered {
        PhaseEntered::enter(self.scope, current())
    }
}

/// The guard of a thread that entered a phase by its [handle](PhaseHandle::enter).
#[must_use = "the thread leaves the phase when the guard is dropped"]
pub struct PhaseEntered {
    /// Its number among the guards of its thread; `None` if entering changed nothing.
    number: Option<u32>,
    /// `None` if the scope table is full or nothing records.
    scope: Option<u32>,
    before: u32,
    _stayed: Option<Stayed>,
    /// Another thread's scope must not be put back on drop.
    _not_send: PhantomData<*const ()>,
}

impl PhaseEntered {
    /// Enters a scope from the scope `before`.
    fn enter(scope: Option<u32>, before: u32) -> PhaseEntered {
        set(scope.unwrap_or(before));
        // A thread that is in the phase already retains its bytes only once.
        let is_new = |scope: &u32| *scope != before && !GUARDS.with(|guards| guards.has(*scope));
        let stayed = scope.filter(is_new).and_then(Stayed::enter);
        PhaseEntered {
            number: scope.map(|scope| GUARDS.with(|guards| guards.push(scope, before))),
            scope,
            before,
            _stayed: stayed,
            _not_send: PhantomData,
        }
    }
}

impl fmt::Debug for PhaseEntered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhaseEntered").finish_non_exhaustive()
    }
}

impl Drop for PhaseEntered {
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
/// The time of the phase is that of its polls, summed up: a future that waits takes no time.
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

/// The phase of a call that returns a future: of the call itself and of the future.
#[cfg(feature = "tower")]
pub(crate) struct PhaseCall {
    scope: Option<u32>,
    parent: u32,
}

#[cfg(feature = "tower")]
impl PhaseCall {
    pub(crate) fn new(name: Option<&str>) -> Self {
        let parent = current();
        PhaseCall {
            scope: name.and_then(|name| scopes::enter(parent, name)),
            parent,
        }
    }

    pub(crate) fn call<F>(self, make: impl FnOnce() -> F) -> PhaseFuture<F> {
        let PhaseCall { scope, parent } = self;
        let entered = PhaseEntered::enter(scope, parent);
        let future = make();
        drop(entered);
        PhaseFuture {
            scope,
            parent,
            future,
        }
    }
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
        let _stayed = scope.and_then(Stayed::enter);
        let _running = scope.and_then(Running::begin);
        set(scope.unwrap_or(parent));
        let polled = future.poll(context);
        if let (Poll::Ready(_), Some(scope), 0) = (&polled, scope, parent) {
            scopes::outermost_ended(scope);
        }
        polled
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
