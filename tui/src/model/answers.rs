//! The answers of a profile to the questions of several views, and the other thread that computes
//! them if the profile is large. A view that needs a result of its own uses [`Later`], which has
//! it computed here too.
//!
//! [`Later`]: super::Later

use std::any::Any;
use std::collections::HashMap;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Builder;

/// The last answer of each subject, with its question. Keeping every answer would multiply the
/// memory of a large recording.
#[derive(Debug)]
pub(crate) struct Answers<S, Q, A>(Mutex<HashMap<S, (Q, Arc<A>)>>);

impl<S, Q, A> Default for Answers<S, Q, A> {
    fn default() -> Self {
        Answers(Mutex::default())
    }
}

impl<S: Copy + Eq + Hash, Q: PartialEq, A> Answers<S, Q, A> {
    /// Locks the answers. The lock is never held while an answer is computed, because the thread
    /// that reads keys must not wait for it. A thread that panicked left nothing behind.
    fn lock(&self) -> MutexGuard<'_, HashMap<S, (Q, Arc<A>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answer if it is the last one of its subject.
    pub(super) fn known(&self, subject: S, question: &Q) -> Option<Arc<A>> {
        let known = self.lock();
        let (asked, answer) = known.get(&subject)?;
        (asked == question).then(|| Arc::clone(answer))
    }

    /// Returns the last answer of a subject with its question, and forgets it.
    pub(super) fn take(&self, subject: S) -> Option<(Q, Arc<A>)> {
        self.lock().remove(&subject)
    }

    /// Keeps an answer as the last one of its subject.
    pub(super) fn keep(&self, subject: S, question: Q, answer: A) -> Arc<A> {
        let answer = Arc::new(answer);
        self.lock().insert(subject, (question, Arc::clone(&answer)));
        answer
    }

    /// Returns the answer, and computes it if it is not the last one of its subject.
    pub(super) fn now(&self, subject: S, question: Q, answer: impl FnOnce() -> A) -> Arc<A> {
        match self.known(subject, &question) {
            Some(known) => known,
            None => self.keep(subject, question, answer()),
        }
    }
}

/// The other thread of a profile.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Called after each job, with its panic if it panicked; not set for small profiles and in
    /// tests, where everything is computed when it is asked for.
    done: OnceLock<Arc<Done>>,
    /// `true` while a job runs.
    is_busy: Arc<AtomicBool>,
}

/// A function that tells the main loop that a job is done.
type Done = dyn Fn(Result<(), String>) + Send + Sync;

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl Elsewhere {
    /// Makes jobs run on another thread from now on, and `done` be called there after each.
    pub(super) fn tell(&self, done: impl Fn(Result<(), String>) + Send + Sync + 'static) {
        // It is set once, by the loader.
        let _ = self.done.set(Arc::new(done));
    }

    /// Returns `true` if jobs run on another thread.
    pub(super) fn is_used(&self) -> bool {
        self.done.get().is_some()
    }

    /// Returns `true` while a job runs.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    /// Starts a thread that does `work`. Gives `work` back if the caller has to do it.
    ///
    /// Only one thread works at a time, because results may take much memory. While it does, this
    /// drops `work`: the view is refreshed when the thread is done, and asks again for what it then
    /// needs.
    pub(super) fn start<R, F>(&self, work: F) -> Result<(), F>
    where
        F: FnOnce() -> R + Send + 'static,
    {
        let Some(done) = self.done.get().cloned() else {
            return Err(work);
        };
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let is_busy = Arc::clone(&self.is_busy);
        let work = Arc::new(Mutex::new(Some(work)));
        let take = |work: &Mutex<Option<F>>| work.lock().ok()?.take();
        let taken = Arc::clone(&work);
        let job = move || {
            let result = catch_unwind(AssertUnwindSafe(|| take(&taken).map(|work| work())));
            is_busy.store(false, Ordering::Release);
            done(result.map(drop).map_err(|panic| panic_text(&*panic)));
        };
        let thread = Builder::new().name("heapglass-compute".into());
        if thread.spawn(job).is_err() {
            self.is_busy.store(false, Ordering::Release);
            return take(&work).map_or(Ok(()), Err);
        }
        Ok(())
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").to_owned()
}
