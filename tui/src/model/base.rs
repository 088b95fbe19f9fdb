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
}

impl Base {
    pub(crate) fn recording(&self) -> Recording<'_> {
        Recording {
            name: &self.name,
            profile: &self.profile,
        }
    }
}
