//! The answer of a running program to a request, or the time for which it has been quiet.

use tracking_alloc_recording::HeaderValue;

/// The answer of a running program to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed<T> {
    /// It has followed.
    Yes(T),
    /// It has not followed yet. It does so at one of its next allocations.
    NotYet {
        /// The time in the recording since which no allocation of the program was seen, if none was
        /// seen while it was waited for.
        quiet_since_ns: Option<u64>,
    },
}

/// A wait for a program.
///
/// A program stores the time in its recording at least ten times a second while it allocates. So a
/// time that stands still is that of its last allocations.
pub(super) struct Quiet {
    began_ns: u64,
}

impl Quiet {
    /// Begins the wait.
    pub(super) fn begin(header: &HeaderValue) -> Quiet {
        let began_ns = header.elapsed_ns;
        Quiet { began_ns }
    }

    /// Returns the time in the recording since which the program has been quiet, if nothing was
    /// seen of it since the wait began.
    pub(super) fn since_ns(&self, header: &HeaderValue) -> Option<u64> {
        (header.elapsed_ns == self.began_ns).then_some(self.began_ns)
    }

    /// Returns the answer at the end of the wait.
    pub(super) fn not_yet<T>(&self, header: &HeaderValue) -> Followed<T> {
        let quiet_since_ns = self.since_ns(header);
        Followed::NotYet { quiet_since_ns }
    }
}
