//! The recording that the shown one is compared with.

use heapglass_profiler::diff::Recording;
use heapglass_profiler::profile::Profile;

/// A recording beside which another one is shown.
#[derive(Clone, Debug)]
pub struct Base {
    /// What to call it: its path.
    pub name: String,
    /// What it holds.
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
