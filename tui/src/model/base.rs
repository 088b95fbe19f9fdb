//! The recording that the shown one is compared with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use heapglass_profiler::diff::{self, Beside, Recording};
use heapglass_profiler::profile::{Frames, Measure, Profile};
use heapglass_profiler::report::By;

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

/// Rows of the base beside those of one profile, each grouping made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct BesideRows {
    made: Mutex<HashMap<(By, Measure, Frames), Arc<Beside>>>,
}

impl BesideRows {
    pub(crate) fn get(
        &self,
        base: &Base,
        new: &Profile,
        (by, measure, frames): (By, Measure, Frames),
    ) -> Arc<Beside> {
        let make = || {
            let options = diff::Options {
                by,
                measure,
                per: None,
            };
            Arc::new(Beside::new(&base.profile, new, options, frames))
        };
        // One that panicked while it made rows left none behind.
        let mut made = (self.made.lock()).unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = made.entry((by, measure, frames)).or_insert_with(make);
        Arc::clone(known)
    }
}
