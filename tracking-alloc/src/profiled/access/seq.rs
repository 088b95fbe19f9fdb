//! Elements: of a sequence all one place, of a tuple one each, of a struct in a format without names its fields.

use super::{Buffer, Seed};
use crate::profiled::enter::At;
use crate::profiled::known;
use crate::profiled::tree::{Node, Step, TypeOf};
use crate::profiled::visitor::{Kind, STRUCT, TUPLE};
use serde::de::{Deserialize, DeserializeSeed, SeqAccess};
use std::cell::Cell;
use std::marker::PhantomData;
use tracking_alloc_recording::scope_kind;

pub(in super::super) struct Seq<'a, A, const KIND: Kind> {
    pub(in super::super) access: A,
    pub(in super::super) at: At,
    pub(in super::super) names: &'static [&'static str],
    pub(in super::super) index: usize,
    pub(in super::super) progress: &'a Progress,
}

/// What whoever visits a sequence wants to know afterwards.
///
/// PERF: not in the sequence itself, so that the address of that is never taken and it stays in registers.
pub(in super::super) struct Progress {
    /// Elements the visitor asked for.
    pub(in super::super) asked: Cell<usize>,
    /// The names of the struct are known to be in the order of elements.
    ordered: Cell<bool>,
}

impl Progress {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn new<const KIND: Kind>(
        node: &'static Node,
        names: &'static [&'static str],
    ) -> Progress {
        Progress {
            asked: Cell::new(0),
            ordered: Cell::new(KIND == STRUCT && node.is_order(names) == Some(true)),
        }
    }
}

/// Enters the place of an element. `fold`: a type inside itself is counted at its outermost place.
#[cfg_attr(not(debug_assertions), inline(always))]
fn enter<const KIND: Kind>(
    node: &'static Node,
    names: &'static [&'static str],
    progress: &Progress,
    index: usize,
    ty: TypeOf,
    fold: bool,
) -> &'static Node {
    match KIND {
        STRUCT if fold => enter_field::<true>(node, names, progress, index, ty),
        STRUCT => enter_unordered::<false>(node, names, progress, index, ty),
        TUPLE => node.enter(index, Step::Index(index, None), ty, true),
        _ => node.enter_only::<{ scope_kind::ELEMENT }>(ty),
    }
}

/// PERF: as [`Node::enter_field`], which this is mostly.
#[inline(never)]
fn enter_field<const HERE: bool>(
    node: &'static Node,
    names: &'static [&'static str],
    progress: &Progress,
    index: usize,
    ty: TypeOf,
) -> &'static Node {
    match names.get(index) {
        Some(name) if progress.ordered.get() => node.enter_known_field(index, name, ty),
        _ => enter_unordered::<true>(node, names, progress, index, ty),
    }
}

/// Fields without names of a type whose names may be more than its fields (aliases): the guess is proved as soon as the
/// visitor asks for as many elements as there are names.
#[inline(never)]
fn enter_unordered<const FOLD: bool>(
    node: &'static Node,
    names: &'static [&'static str],
    progress: &Progress,
    index: usize,
    ty: TypeOf,
) -> &'static Node {
    prove(node, names, progress, index);
    let order = node.is_order(names);
    let step = match (order, names.get(index)) {
        (Some(true), Some(name)) => {
            progress.ordered.set(true);
            Step::Field(name)
        }
        (order, name) => Step::Index(index, name.copied().filter(|_| order.is_none())),
    };
    node.enter(index, step, ty, FOLD)
}

/// The last of the names is asked for: there are as many fields as names, so none has two.
#[cfg_attr(not(debug_assertions), inline(always))]
fn prove(node: &'static Node, names: &'static [&'static str], progress: &Progress, index: usize) {
    if index + 1 == names.len() && !progress.ordered.get() && node.is_order(names).is_none() {
        node.settle_order(names, true);
    }
}

impl<'de, A: SeqAccess<'de>, const KIND: Kind> SeqAccess<'de> for Seq<'_, A, KIND> {
    type Error = A::Error;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, A::Error> {
        // PERF: serde's own is not inlined always; then each value is moved once more, while parts of it are just
        // being written, which costs more than all the rest here.
        self.next_element_seed(PhantomData)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let index = self.index;
        self.index += 1;
        let (at, names) = (self.at, self.names);
        if KIND == STRUCT {
            self.progress.asked.set(self.index);
        }
        let Some(ty) = known::seeded::<S>() else {
            if KIND == STRUCT && !at.is_buffering() {
                prove(at.node(), names, self.progress, index);
            }
            return at.checked(|| self.access.next_element_seed(seed));
        };
        if known::is_buffer::<S::Value>() && !at.is_buffering() {
            return self.access.next_element_seed(Buffer { seed, at });
        }
        let (node, progress) = (at.node(), self.progress);
        let fold = !(known::is_content_seed::<S>() && ty().name == node.ty.name);
        self.access.next_element_seed(Seed {
            seed,
            at,
            back: node.scope,
            enter: move || enter::<KIND>(node, names, progress, index, ty, fold),
        })
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.access.size_hint()
    }
}
