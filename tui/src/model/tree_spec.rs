//! Which call tree is shown: made on the loader's thread where it can be.

use heapglass_profiler::calltree::{By, CallTree, Options};
use heapglass_profiler::profile::{Frames, Measure, Profile};

/// Everything a shown tree depends on besides the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeSpec {
    pub(crate) inverted: bool,
    pub(crate) phases: bool,
    pub(crate) frames: Frames,
    /// What the frames are.
    pub(crate) by: By,
    /// The order of children.
    pub(crate) measure: Measure,
}

impl TreeSpec {
    /// What decides the nodes of the tree; the measure only sorts them.
    pub(crate) fn shape(self) -> (bool, bool, Frames, By) {
        (self.inverted, self.phases, self.frames, self.by)
    }

    /// The tree.
    pub(crate) fn build(self, profile: &Profile) -> CallTree {
        let options = Options {
            by: self.by,
            inverted: self.inverted,
            frames: self.frames,
            scopes: self.phases,
            ..Options::default()
        };
        let mut tree = CallTree::build(profile, &options);
        tree.sort(self.measure);
        tree
    }
}
