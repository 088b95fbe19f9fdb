//! The wrapping visitor: scalars pass, everything that leads further in keeps the place.

use super::access::{Enum, Map, Progress, Seq};
use super::deserializer::De;
use super::enter::At;
use serde::de::{Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// What is being visited, unless serde buffers. PERF: part of the types, so that nobody asks at run time.
pub(super) type Kind = u8;
/// Whatever the data is: sequences are `[]`, maps `{key}` and `{value}`.
pub(super) const ANY: Kind = 0;
pub(super) const STRUCT: Kind = 1;
pub(super) const TUPLE: Kind = 2;

/// A visitor at a place; `names` are those of a struct's fields or an enum's variants.
pub(super) struct Vis<V, const KIND: Kind> {
    v: V,
    at: At,
    names: &'static [&'static str],
}

impl<V, const KIND: Kind> Vis<V, KIND> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(v: V, at: At, names: &'static [&'static str]) -> Self {
        Vis { v, at, names }
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

impl<'de, V: Visitor<'de>, const KIND: Kind> Visitor<'de> for Vis<V, KIND> {
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
        self.v.visit_some(De::new(d, self.at))
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.v.visit_newtype_struct(De::new(d, self.at))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let (at, names) = (self.at, self.names);
        let progress = Progress::new::<KIND>(at.node(), names);
        let visited = self
            .v
            .visit_seq(Seq::<A, KIND>::new(access, at, names, &progress));
        // A visitor of a struct asks once for each of its fields: if it is content with fewer than there are names,
        // some fields have several, and names are not in the order of elements.
        let node = at.node();
        if KIND == STRUCT
            && !at.is_buffering()
            && visited.is_ok()
            && progress.asked.get() < names.len()
            && node.is_order(names).is_none()
        {
            node.settle_order(names, false);
        }
        visited
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.v
            .visit_map(Map::<A, KIND>::new(access, self.at, self.names))
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.v.visit_enum(Enum::new(access, self.at, self.names))
    }

    #[doc(hidden)]
    #[inline]
    fn __private_visit_untagged_option<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, ()> {
        self.v.__private_visit_untagged_option(De::new(d, self.at))
    }
}
