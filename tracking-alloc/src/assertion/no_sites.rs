//! Without the feature `assert-sites`, or where stacks cannot be walked: nothing is captured.

use super::Counted;
use crate::figures::Stats;

pub(super) struct Capture;

impl Capture {
    pub(super) fn begin(_: &Counted<'_>) -> Self {
        Capture
    }

    pub(super) fn run<R>(&self, block: impl FnOnce() -> R) -> R {
        block()
    }

    pub(super) fn end(&self) {}

    pub(super) fn describe(&self, _: &Stats, _: bool) -> String {
        String::new()
    }
}
