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

use super::data::Data;

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
    fn known(&self, subject: S, question: &Q) -> Option<Arc<A>> {
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
    is_busy: AtomicBool,
}

/// A function that tells the main loop that a job is done.
type Done = dyn Fn(Result<(), String>) + Send + Sync;

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
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

/// The number of sites from which answers are computed on another thread.
pub(super) const LARGE: usize = 50_000;

impl Data {
    /// Makes the answers of a large profile be computed on other threads from now on. `done` is
    /// called there when an answer is known, or with the message of a panic.
    pub(crate) fn compute_elsewhere(
        &self,
        done: impl Fn(Result<(), String>) + Send + Sync + 'static,
    ) {
        if self.profile.sites().len() >= LARGE {
            // It is set once, by the loader.
            let _ = self.elsewhere.done.set(Arc::new(done));
        }
    }

    /// Returns `true` if answers are computed on other threads.
    pub(crate) fn computes_elsewhere(&self) -> bool {
        self.elsewhere.done.get().is_some()
    }

    /// Returns `true` while another thread computes what a view has asked for.
    pub(crate) fn is_computing(&self) -> bool {
        self.elsewhere.is_busy.load(Ordering::Acquire)
    }

    /// Starts a thread that does `work`. Gives `work` back if the caller has to do it.
    ///
    /// Only one thread works at a time, because results may take much memory. While it does, this
    /// drops `work`: the view is refreshed when the thread is done, and asks again for what it then
    /// needs. If no thread can be started, that is reported as the end of the job.
    pub(super) fn start<R, F>(self: &Arc<Self>, work: F) -> Result<(), F>
    where
        F: FnOnce(&Data) -> R + Send + 'static,
    {
        let Some(done) = self.elsewhere.done.get().cloned() else {
            return Err(work);
        };
        if self.elsewhere.is_busy.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let data = Arc::clone(self);
        let report = Arc::clone(&done);
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(|| drop(work(&data))));
            data.elsewhere.is_busy.store(false, Ordering::Release);
            report(result.map_err(|panic| panic_text(&*panic)));
        };
        let thread = Builder::new().name("heapglass-compute".into());
        if let Err(error) = thread.spawn(work) {
            self.elsewhere.is_busy.store(false, Ordering::Release);
            done(Err(format!("no thread could be started: {error}")));
        }
        Ok(())
    }

    /// Returns the answer to a question about a subject: the last one of the subject if it was
    /// asked the same, else a new one. `None` while another thread computes it. The last one is
    /// dropped before, because each may take much memory.
    pub(super) fn ask<S, Q, A>(
        self: &Arc<Self>,
        answers: fn(&Data) -> &Answers<S, Q, A>,
        (subject, question): (S, Q),
        answer: impl FnOnce(&Data) -> A + Send + 'static,
    ) -> Option<Arc<A>>
    where
        S: Copy + Eq + Hash + Send + 'static,
        Q: PartialEq + Send + 'static,
        A: Send + Sync + 'static,
    {
        if let Some(known) = answers(self).known(subject, &question) {
            return Some(known);
        }
        let compute = move |data: &Data| {
            drop(answers(data).take(subject));
            let answer = answer(data);
            answers(data).keep(subject, question, answer)
        };
        let compute = self.start(compute).err()?;
        Some(compute(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_profiler::calltree::CallTreeOptions;
    use heapglass_profiler::profile::{Frames, Measure};
    use heapglass_profiler::table::{By, Row};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn what_takes_long_is_computed_on_another_thread_and_is_the_same() {
        let profile = heapglass_fixture::sized(LARGE as u32, 2);
        let here = Arc::new(Data::new(profile.clone(), None));
        let data = Arc::new(Data::new(profile, None));
        let (done, finished) = channel();
        data.compute_elsewhere(move |result| done.send(result).expect("the test waits"));
        let key = (By::Crate, Measure::Total, Frames::Folded);
        let options = CallTreeOptions::default();
        let wait = || {
            let result = finished.recv_timeout(Duration::from_secs(60));
            result.expect("a job ends").expect("no panic");
            assert!(!data.is_computing());
        };
        assert!(data.rows_or_none(key).is_none() && data.is_computing());
        assert!(data.take_tree(options, None).is_none(), "one at a time");
        wait();
        assert!(data.take_tree(options, None).is_none() && data.is_computing());
        wait();
        let keys =
            |rows: Arc<Vec<Arc<Row>>>| rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>();
        let rows = data.rows_or_none(key).expect("computed");
        assert_eq!(
            keys(rows),
            keys(here.rows_or_none(key).expect("computed at once"))
        );
        let tree = data.take_tree(options, None).expect("built");
        let same = here.take_tree(options, None).expect("built at once");
        assert_eq!(tree.ids().count(), same.ids().count());
    }

    #[test]
    fn a_panic_of_a_job_ends_it_and_is_reported() {
        let data = Arc::new(Data::new(heapglass_fixture::sized(LARGE as u32, 2), None));
        let (done, finished) = channel();
        data.compute_elsewhere(move |result| done.send(result).expect("the test waits"));
        assert!(data.start(|_| panic!("out of luck")).is_ok());
        let result = finished.recv_timeout(Duration::from_secs(60));
        assert_eq!(result.expect("the job ends"), Err("out of luck".to_owned()));
        assert!(!data.is_computing());
    }
}
