//! Variants of externally tagged enums: `::Variant`.

use super::{Inside, Seed};
use crate::profiled::enter::At;
use crate::profiled::identifier::{Capture, Identifier, Named};
use crate::profiled::known;
use crate::profiled::tree::{Found, Step, Type, key};
use crate::profiled::variants;
use crate::profiled::visitor::{Context, Kind, Vis};
use serde::de::{DeserializeSeed, EnumAccess, Error, VariantAccess, Visitor};

pub(in super::super) struct Enum<A> {
    access: A,
    context: Context,
}

impl<A> Enum<A> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn new(access: A, context: Context) -> Enum<A> {
        Enum { access, context }
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Enum<A> {
    type Error = A::Error;
    type Variant = Variant<A::Variant>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Variant<A::Variant>), A::Error> {
        let names = self.context.names;
        let capture = Capture::new(names, 0);
        let (value, access) = self.access.variant_seed(Identifier {
            inner: seed,
            capture: &capture,
        })?;
        let mut named = capture.named();
        if let Named::Index(index) = named
            && index < names.len()
            && variants::are_in_order::<S>(self.context.at.node, names)
        {
            named = Named::Name(index);
        }
        let context = self.context;
        Ok((
            value,
            Variant {
                access,
                context,
                named,
            },
        ))
    }
}

pub(in super::super) struct Variant<A> {
    access: A,
    context: Context,
    named: Named,
}

impl<A> Variant<A> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self) -> At {
        self.context.at
    }

    /// A variant with several fields: their places lie below its own, which has no type.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn with_fields<R, E: Error>(
        self,
        kind: Kind,
        read: impl FnOnce(A, At, Kind) -> Result<R, E>,
    ) -> Result<R, E> {
        let at = self.at();
        if self.context.kind == Kind::Buffer {
            return read(self.access, at, Kind::Buffer);
        }
        let found = place(self.context, self.named, Type::UNKNOWN);
        at.within(found, at.node.scope(), |at| read(self.access, at, kind))
    }
}

/// The place of a variant's content.
#[cfg_attr(not(debug_assertions), inline(always))]
fn place(context: Context, named: Named, ty: Type) -> Found {
    let node = context.at.node;
    match named {
        Named::Name(index) => {
            let name = context.names.get(index).copied().unwrap_or("");
            node.child(index, key::variant(name), ty, || Step::Variant(name))
        }
        Named::Index(index) => {
            node.child(index, !key::index(index), ty, || Step::VariantIndex(index))
        }
        _ => node.child(0, !key::KEY, ty, || Step::Variant("?")),
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
        let at = self.at();
        let Some(ty) = known::seeded::<S>() else {
            return at.checked(|| self.access.newtype_variant_seed(seed));
        };
        if self.context.kind == Kind::Buffer {
            return self.access.newtype_variant_seed(Inside { seed, at });
        }
        let (context, named) = (self.context, self.named);
        self.access.newtype_variant_seed(Seed {
            seed,
            at,
            back: at.node.scope(),
            place: || place(context, named, ty),
        })
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.with_fields(Kind::Tuple, |access, at, kind| {
            access.tuple_variant(len, Vis::new(visitor, at, &[], kind))
        })
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.with_fields(Kind::Struct, |access, at, kind| {
            access.struct_variant(fields, Vis::new(visitor, at, fields, kind))
        })
    }
}
