//! The wrapping visitor: scalars pass, everything that leads further in keeps the place.

use super::access::{Enum, Map, Seq};
use super::deserializer::De;
use super::enter::At;
use serde::de::{Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;

/// What is being visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Struct,
    Tuple,
    /// Whatever the data is: sequences are `[]`, maps `{key}` and `{value}`.
    Any,
    /// serde's buffer, within a budget: boundaries, no places.
    Buffer,
}

/// Where the visitor is and how things below are called.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) at: At,
    pub(super) names: &'static [&'static str],
    pub(super) kind: Kind,
}

/// A visitor at a place.
pub(super) struct Vis<V> {
    v: V,
    context: Context,
}

impl<V> Vis<V> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(v: V, at: At, names: &'static [&'static str], kind: Kind) -> Vis<V> {
        Vis {
            v,
            context: Context { at, names, kind },
        }
    }
}

macro_rules! forward {
    ($($method:ident $ty:ty),* $(,)?) => {$(
        #[inline]
        fn $method<E: Error>(self, value: $ty) -> Result<V::Value, E> {
            self.v.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Vis<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.v.expecting(f)
    }

    forward! {
        visit_bool bool, visit_i8 i8, visit_i16 i16, visit_i32 i32, visit_i64 i64, visit_i128 i128,
        visit_u8 u8, visit_u16 u16, visit_u32 u32, visit_u64 u64, visit_u128 u128, visit_f32 f32, visit_f64 f64,
        visit_char char, visit_str &str, visit_borrowed_str &'de str, visit_string String,
        visit_bytes &[u8], visit_borrowed_bytes &'de [u8], visit_byte_buf Vec<u8>,
    }

    #[inline]
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.v.visit_unit()
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.v.visit_none()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.v.visit_some(De::new(d, self.context.at))
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.v.visit_newtype_struct(De::new(d, self.context.at))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let Context { at, names, kind } = self.context;
        let asked = Cell::new(0);
        let visited = self.v.visit_seq(Seq::new(access, self.context, &asked));
        // A visitor of a struct asks once for each of its fields: if it is content with fewer than there are names,
        // some fields have several, and names are not in the order of elements.
        if kind == Kind::Struct
            && visited.is_ok()
            && asked.get() < names.len()
            && at.node.is_order(names).is_none()
        {
            at.node.settle_order(names, false);
        }
        visited
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.v.visit_map(Map::new(access, self.context))
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.v.visit_enum(Enum::new(access, self.context))
    }

    #[doc(hidden)]
    #[inline]
    fn __private_visit_untagged_option<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, ()> {
        self.v
            .__private_visit_untagged_option(De::new(d, self.context.at))
    }
}
