//! Variants of externally tagged enums: `::Variant`.

use super::Seed;
use crate::profiled::enter::At;
use crate::profiled::identifier::{Capture, Identifier, Named};
use crate::profiled::known;
use crate::profiled::tree::{Step, Type};
use crate::profiled::variants;
use crate::profiled::visitor::{STRUCT, TUPLE, Vis};
use serde::de::{DeserializeSeed, EnumAccess, Error, VariantAccess, Visitor};

pub(in super::super) struct Enum<A> {
    pub(in super::super) access: A,
    pub(in super::super) at: At,
    pub(in super::super) names: &'static [&'static str],
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Enum<A> {
    type Error = A::Error;
    type Variant = Variant<A::Variant>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Variant<A::Variant>), A::Error> {
        let (at, names) = (self.at, self.names);
        let capture = Capture::new(Some(names), 0);
        let (value, access) = self.access.variant_seed(Identifier {
            inner: seed,
            capture: &capture,
        })?;
        let step = match capture.named() {
            Named::Name(index) => Step::Variant(names.get(index).copied().unwrap_or(""), index),
            Named::Index(index) => match names.get(index) {
                Some(name) if variants::are_in_order::<S>(at.node(), names) => {
                    Step::Variant(name, index)
                }
                _ => Step::VariantIndex(index),
            },
            Named::Kept | Named::Unknown => Step::Variant("?", 0),
        };
        Ok((value, Variant { access, at, step }))
    }
}

pub(in super::super) struct Variant<A> {
    access: A,
    at: At,
    step: Step<'static>,
}

impl<A> Variant<A> {
    /// Reads a variant with several fields. Their places are below that of the variant, which has
    /// no type.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn with_fields<R, E: Error>(self, read: impl FnOnce(A, At) -> Result<R, E>) -> Result<R, E> {
        let at = self.at;
        if at.is_buffering() {
            return read(self.access, at);
        }
        let entered = at.node().enter(self.step, Type::default, true);
        at.within(entered, at.node().scope, |at| read(self.access, at))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Variant<A> {
    type Error = A::Error;

    #[inline]
    fn unit_variant(self) -> Result<(), A::Error> {
        self.access.unit_variant()
    }

    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let at = self.at;
        let Some(ty) = known::seeded::<S>() else {
            return at.checked(|| self.access.newtype_variant_seed(seed));
        };
        let (node, step) = (at.node(), self.step);
        self.access.newtype_variant_seed(Seed {
            seed,
            at,
            back: node.scope,
            enter: move || node.enter(step, ty, true),
        })
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.with_fields(|access, at| {
            access.tuple_variant(len, Vis::<V, TUPLE>::new(visitor, at, &[]))
        })
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.with_fields(|access, at| {
            access.struct_variant(fields, Vis::<V, STRUCT>::new(visitor, at, fields))
        })
    }
}
