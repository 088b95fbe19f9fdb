//! Elements. All elements of a sequence share one place, each element of a tuple has one, and the
//! elements of a struct in a format without names are its fields.

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
    pub(in super::super) index: usize,
    pub(in super::super) progress: &'a Progress,
}

/// The progress in a sequence that may contain the fields of a struct, and the knowledge about
/// their names. There may be more names than fields (aliases).
///
/// PERF: this is not part of the sequence, so that the sequence's address is never taken and it
/// stays in registers.
pub(in super::super) struct Progress {
    node: &'static Node,
    names: &'static [&'static str],
    /// Number of elements that the visitor requested.
    asked: Cell<usize>,
    /// `true` if the names of the struct are known to be in the order of elements.
    ordered: Cell<bool>,
}

impl Progress {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn new<const KIND: Kind>(
        node: &'static Node,
        names: &'static [&'static str],
    ) -> Progress {
        Progress {
            node,
            names,
            asked: Cell::new(0),
            ordered: Cell::new(KIND == STRUCT && node.is_order(names) == Some(true)),
        }
    }

    /// Enters the place of a field.
    ///
    /// PERF: the same as [`Node::enter_field`], which this usually calls.
    #[inline(never)]
    fn enter_field<const HERE: bool>(&self, index: usize, ty: TypeOf) -> &'static Node {
        match self.names.get(index) {
            Some(name) if self.ordered.get() => self.node.enter_known_field(index, name, ty),
            _ => self.enter_unordered::<true>(index, ty),
        }
    }

    /// Enters the place of a field if the names may not be in the order of elements. The guess is
    /// proved when the visitor requests as many elements as there are names.
    #[inline(never)]
    fn enter_unordered<const FOLD: bool>(&self, index: usize, ty: TypeOf) -> &'static Node {
        self.prove(index);
        let order = self.node.is_order(self.names);
        let step = match (order, self.names.get(index)) {
            (Some(true), Some(name)) => {
                self.ordered.set(true);
                Step::Field(name, index)
            }
            (order, name) => Step::Index(index, name.copied().filter(|_| order.is_none())),
        };
        self.node.enter(step, ty, FOLD)
    }

    /// Proves the order when the last name is requested: there are as many fields as names, so no
    /// field has two.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn prove(&self, index: usize) {
        if index + 1 == self.names.len() && !self.ordered.get() {
            self.settle_order(true);
        }
    }

    /// Disproves the order. A struct's visitor requests each field once. If it requested fewer
    /// elements than there are names, some fields have several names, and the names are not in the
    /// order of elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn disprove(&self) {
        if self.asked.get() < self.names.len() {
            self.settle_order(false);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn settle_order(&self, proved: bool) {
        if self.node.is_order(self.names).is_none() {
            self.node.settle_order(self.names, proved);
        }
    }
}

impl<'de, A: SeqAccess<'de>, const KIND: Kind> SeqAccess<'de> for Seq<'_, A, KIND> {
    type Error = A::Error;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, A::Error> {
        // PERF: serde's own method is not always inlined. Then each value is moved once more while
        // parts of it are still being written, which costs more than everything else here.
        self.next_element_seed(PhantomData)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let index = self.index;
        self.index += 1;
        let (at, progress) = (self.at, self.progress);
        if KIND == STRUCT {
            progress.asked.set(self.index);
        }
        let Some(ty) = known::seeded::<S>() else {
            if KIND == STRUCT && !at.is_buffering() {
                progress.prove(index);
            }
            return at.checked(|| self.access.next_element_seed(seed));
        };
        if known::is_buffer::<S::Value>() && !at.is_buffering() {
            return self.access.next_element_seed(Buffer { seed, at });
        }
        let node = at.node();
        // A type inside itself is counted at its outermost place.
        let fold = !(known::is_content_seed::<S>() && ty().name == node.ty.name);
        self.access.next_element_seed(Seed {
            seed,
            at,
            back: node.scope,
            enter: move || match KIND {
                STRUCT if fold => progress.enter_field::<true>(index, ty),
                STRUCT => progress.enter_unordered::<false>(index, ty),
                TUPLE => node.enter(Step::Index(index, None), ty, true),
                _ => node.enter_only::<{ scope_kind::ELEMENT }>(ty),
            },
        })
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.access.size_hint()
    }
}
