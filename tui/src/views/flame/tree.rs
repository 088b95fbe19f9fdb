//! Which call tree is shown, made on the loader's thread where it can be, and how a place is found again in the next one.

use std::sync::Arc;

use heapglass_profiler::calltree::{CallTree, Label, NodeId, Options};
use heapglass_profiler::profile::{FunctionId, Measure, Profile};
use heapglass_profiler::retold::{Retold, What};

use super::regroup::By;
use crate::app::Data;
use crate::views::Context;

/// Everything a shown tree depends on besides the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeSpec {
    pub(crate) inverted: bool,
    pub(crate) phases: bool,
    pub(crate) all_frames: bool,
    /// What the frames are.
    pub(crate) by: By,
    /// The order of children.
    pub(crate) measure: Measure,
}

impl TreeSpec {
    /// What decides the nodes of the tree; the measure only sorts them.
    pub(super) fn shape(self) -> (bool, bool, bool, By) {
        (self.inverted, self.phases, self.all_frames, self.by)
    }

    /// The tree.
    pub(crate) fn build(self, data: &Data) -> Shown {
        let options = Options {
            inverted: self.inverted,
            keep_all: self.all_frames,
            scopes: self.phases,
            within: None,
        };
        let retold = match self.by {
            By::Stack => None,
            By::Field => Some(data.retold(Retold::by_field)),
            By::Type => Some(data.retold(Retold::by_type)),
        };
        let (names, whats) = retold
            .map(|told| (Arc::new(Data::new(told.profile)), told.whats))
            .unzip();
        let profile = names.as_ref().map_or(&data.profile, |names| &names.profile);
        let mut calls = CallTree::build(profile, &options);
        calls.sort(self.measure);
        Shown {
            calls,
            names,
            whats: whats.unwrap_or_default(),
        }
    }
}

/// A tree, and what names its frames where that is not the profile.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(super) calls: CallTree,
    /// The profile told again by fields or types, which names the tree's frames.
    names: Option<Arc<Data>>,
    /// What its functions stand for.
    whats: Vec<What>,
}

impl Shown {
    /// The profile that names the tree's frames, which was made of `data`.
    pub(super) fn names<'a>(&'a self, data: &'a Data) -> &'a Profile {
        let names = self.names.as_ref();
        names.map_or(&data.profile, |names| &names.profile)
    }

    /// What a function of a graph by field or type stands for; `None` by stack.
    pub(super) fn what(&self, function: FunctionId) -> Option<What> {
        self.whats.get(function.0 as usize).copied()
    }

    /// `cx` with the functions the tree's frames are.
    pub(super) fn context<'a>(&'a self, cx: &Context<'a>) -> Context<'a> {
        Context {
            data: self.names.as_ref().unwrap_or(cx.data),
            ..*cx
        }
    }
}

/// The node of `new` with the same path of names as `id` has in `old`, or the last of the path that is still there.
pub(super) fn same_place(
    (old, old_profile): (&CallTree, &Profile),
    id: NodeId,
    (new, new_profile): (&CallTree, &Profile),
) -> Option<NodeId> {
    let mut at = NodeId::ROOT;
    for step in old.path(id) {
        let name = old.name(step, old_profile);
        let kind = std::mem::discriminant::<Label>(&old.node(step).label);
        let next = new.children(at).iter().copied().find(|child| {
            std::mem::discriminant::<Label>(&new.node(*child).label) == kind
                && new.name(*child, new_profile) == name
        });
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    (at != NodeId::ROOT).then_some(at)
}
