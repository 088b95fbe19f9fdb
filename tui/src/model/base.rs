//! The recording to compare with.

use heapglass_profiler::diff::Recording;
use heapglass_profiler::profile::Profile;

/// A recording to compare the shown one with.
#[derive(Clone, Debug)]
pub struct Base {
    /// Name to show: its path, or the moment at which it was taken.
    pub name: String,
    /// Its profile.
    pub profile: Profile,
    /// `true` if it was taken of the shown program while the UI ran.
    pub is_taken_here: bool,
}

impl Base {
    /// Returns `true` if this is the program of `profile` at an earlier moment. Another program may
    /// have taken its place since.
    pub(crate) fn is_earlier_than(&self, profile: &Profile) -> bool {
        let start = |profile: &Profile| (profile.process().pid, profile.process().started_unix_ns);
        self.is_taken_here && start(&self.profile) == start(profile)
    }

    pub(crate) fn recording(&self) -> Recording<'_> {
        Recording {
            name: &self.name,
            profile: &self.profile,
        }
    }
}
