//! Elements: of a sequence all one place, of a tuple one each, of a struct in a format without names its fields.

use super::{Buffer, Inside, Seed};
use crate::profiled::known;
use crate::profiled::tree::{Found, Step, Type, key};
use crate::profiled::visitor::{Context, Kind};
use serde::de::{DeserializeSeed, SeqAccess};
use std::cell::Cell;

pub(in super::super) struct Seq<'a, A> {
    access: A,
    context: Context,
    index: usize,
    /// Elements the visitor asked for, for whoever made this.
    asked: &'a Cell<usize>,
    /// The names of the struct are known to be in the order of elements.
    ordered: bool,
}

impl<'a, A> Seq<'a, A> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn new(access: A, context: Context, asked: &'a Cell<usize>) -> Self {
        Seq {
            access,
            context,
            index: 0,
            asked,
            ordered: context.kind == Kind::Struct
                && context.at.node.is_order(context.names) == Some(true),
        }
    }
}

/// The place of an element. `fold`: a type inside itself is counted at its outermost place.
#[cfg_attr(not(debug_assertions), inline(always))]
fn place(context: Context, ordered: &mut bool, index: usize, ty: Type, fold: bool) -> Found {
    let Context { at, names, kind } = context;
    match kind {
        Kind::Struct => match names.get(index) {
            Some(name) if *ordered && fold => at
                .node
                .child(index, key::field(name), ty, || Step::Field(name)),
            _ => unordered(context, ordered, index, ty, fold),
        },
        Kind::Tuple => at
            .node
            .child(index, key::index(index), ty, || Step::Index(index, None)),
        _ => at.node.child(0, key::ELEMENT, ty, || Step::Element),
    }
}

/// Fields without names of a type whose names may be more than its fields (aliases): the guess is proved as soon as the
/// visitor asks for as many elements as there are names.
#[inline(never)]
fn unordered(context: Context, ordered: &mut bool, index: usize, ty: Type, fold: bool) -> Found {
    let Context { at, names, .. } = context;
    prove(context, *ordered, index);
    let order = at.node.is_order(names);
    let (key, step) = match (order, names.get(index)) {
        (Some(true), Some(name)) => {
            *ordered = true;
            (key::field(name), Step::Field(name))
        }
        (order, name) => {
            let guess = name.copied().filter(|_| order.is_none());
            (key::index(index), Step::Index(index, guess))
        }
    };
    at.node.child_folded(index, key, ty, fold, || step)
}

/// The last of the names is asked for: there are as many fields as names, so none has two.
#[cfg_attr(not(debug_assertions), inline(always))]
fn prove(context: Context, ordered: bool, index: usize) {
    let Context { at, names, kind } = context;
    if kind == Kind::Struct
        && index + 1 == names.len()
        && !ordered
        && at.node.is_order(names).is_none()
    {
        at.node.settle_order(names, true);
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Seq<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let index = self.index;
        self.index += 1;
        let at = self.context.at;
        if self.context.kind == Kind::Struct {
            self.asked.set(self.index);
        }
        let Some(ty) = known::seeded::<S>() else {
            prove(self.context, self.ordered, index);
            return at.checked(|| self.access.next_element_seed(seed));
        };
        if self.context.kind == Kind::Buffer {
            return self.access.next_element_seed(Inside { seed, at });
        }
        if known::is_buffer::<S::Value>() {
            return self.access.next_element_seed(Buffer { seed, at });
        }
        let (context, ordered) = (self.context, &mut self.ordered);
        let fold = !(known::is_content_seed::<S>() && ty.name == at.node.type_name());
        self.access.next_element_seed(Seed {
            seed,
            at,
            back: at.node.scope(),
            place: || place(context, ordered, index, ty, fold),
        })
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.access.size_hint()
    }
}
