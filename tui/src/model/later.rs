//! A result that a view waits for, because another thread computes it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::data::Data;

/// The state of a result that takes long in a large profile. Until it is there, the view shows the
/// one before. A result that is no longer wanted is dropped.
#[derive(Debug, Default)]
pub(crate) enum Later<R> {
    /// The view has taken the last result that it wanted.
    #[default]
    Taken,
    /// The view wants a result that no thread computes yet.
    Wanted,
    /// Another thread computes the result.
    Asked(Receiver<R>),
}

impl<R: Send + 'static> Later<R> {
    /// Asks for a new result, and drops the one that was asked for before.
    pub(crate) fn want(&mut self) {
        *self = Later::Wanted;
    }

    /// Returns `true` until the wanted result is taken.
    pub(crate) fn is_wanted(&self) -> bool {
        !matches!(self, Later::Taken)
    }

    /// Returns the wanted result once. Starts a thread that computes it if the profile is large,
    /// and returns `None` until it is there. For a small profile, computes it now.
    ///
    /// Only one thread computes at a time: the result that is wanted now is computed after an
    /// outdated one. The view is refreshed when a thread is done, and calls this again.
    pub(crate) fn take(
        &mut self,
        data: &Arc<Data>,
        compute: impl Fn() -> R + Clone + Send + 'static,
    ) -> Option<R> {
        if let Later::Asked(result) = self {
            match result.try_recv() {
                Ok(result) => {
                    *self = Later::Taken;
                    return Some(result);
                }
                Err(TryRecvError::Empty) => return None,
                // A thread was busy with something else, so this one was never started.
                Err(TryRecvError::Disconnected) => self.want(),
            }
        }
        if !self.is_wanted() {
            return None;
        }
        let (sender, result) = channel();
        let elsewhere = compute.clone();
        // Sending fails if the result is outdated.
        if data.start(move || sender.send(elsewhere())).is_ok() {
            *self = Later::Asked(result);
            return None;
        }
        *self = Later::Taken;
        Some(compute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Duration;

    /// Returns data whose jobs run on other threads, and the channel that tells when one is done.
    fn large() -> (Arc<Data>, Receiver<()>) {
        let profile = heapglass_fixture::sized(super::super::data::LARGE as u32, 2);
        let data = Arc::new(Data::new(profile, None));
        let (done, finished) = channel();
        data.compute_elsewhere(move |result| {
            result.expect("no panic");
            done.send(()).expect("the test waits");
        });
        (data, finished)
    }

    #[test]
    fn an_outdated_result_is_dropped_and_the_wanted_one_comes_after_it() {
        let (data, finished) = large();
        let wait = || {
            finished
                .recv_timeout(Duration::from_secs(60))
                .expect("done")
        };
        let (go, gate) = channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let first = move || {
            let gate = gate.lock().expect("one thread");
            gate.recv().expect("the test opens the gate");
            1
        };
        let mut later = Later::default();
        assert_eq!(later.take(&data, || 0), None, "nothing is wanted");
        later.want();
        assert_eq!(later.take(&data, first), None);
        later.want();
        assert_eq!(later.take(&data, || 2), None, "one at a time");
        go.send(()).expect("the first thread waits");
        wait();
        assert_eq!(later.take(&data, || 2), None, "started only now");
        wait();
        assert_eq!(later.take(&data, || 2), Some(2));
        assert!(!later.is_wanted() && !data.is_computing());
    }

    #[test]
    fn the_result_of_a_small_profile_is_there_at_once() {
        let data = Arc::new(Data::new(heapglass_fixture::profile(), None));
        let mut later = Later::Wanted;
        assert_eq!(later.take(&data, || 1), Some(1));
        assert_eq!(later.take(&data, || 1), None, "taken already");
    }
}
