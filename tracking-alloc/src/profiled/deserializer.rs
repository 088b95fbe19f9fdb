//! The wrapping deserializer: each call goes to the format's own, with a visitor that keeps the place.

use super::enter::At;
use super::known;
use super::tree::Type;
use super::visitor::{ANY, STRUCT, TUPLE, Vis};
use serde::de::{Deserializer, Visitor};

/// A format's deserializer at a place.
pub(super) struct De<D> {
    d: D,
    at: At,
}

impl<D> De<D> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(d: D, at: At) -> De<D> {
        De { d, at }
    }

    /// What the function of a `deserialize_with` deserializes is the type of its place.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn learn<T>(&self) {
        let node = self.at.node();
        if node.awaits_type() {
            node.retype(Type::of::<T>());
        }
    }
}

macro_rules! forward {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.learn::<V::Value>();
            self.d.$method(visitor)
        }
    )*};
}

macro_rules! wrap {
    ($($method:ident($($arg:ident: $ty:ty),*) $names:expr, $kind:expr;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $($arg: $ty,)* visitor: V) -> Result<V::Value, D::Error> {
            self.learn::<V::Value>();
            let visitor = Vis::<V, $kind>::new(visitor, self.at, $names);
            self.d.$method($($arg,)* visitor)
        }
    )*};
}

type Names = &'static [&'static str];

impl<'de, D: Deserializer<'de>> Deserializer<'de> for De<D> {
    type Error = D::Error;

    forward! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    wrap! {
        deserialize_bytes() &[], ANY;
        deserialize_byte_buf() &[], ANY;
        deserialize_option() &[], ANY;
        deserialize_seq() &[], ANY;
        deserialize_tuple_struct(name: &'static str, len: usize) &[], TUPLE;
        deserialize_map() &[], ANY;
        deserialize_struct(name: &'static str, fields: Names) fields, STRUCT;
        deserialize_enum(name: &'static str, variants: Names) variants, ANY;
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.learn::<V::Value>();
        if known::is_array::<V::Value, V>() {
            let visitor = Vis::<V, ANY>::new(visitor, self.at, &[]);
            return self.d.deserialize_tuple(len, visitor);
        }
        let visitor = Vis::<V, TUPLE>::new(visitor, self.at, &[]);
        self.d.deserialize_tuple(len, visitor)
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.learn::<V::Value>();
        self.d.deserialize_unit_struct(name, visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.learn::<V::Value>();
        // A format's own secrets, `$serde_json::private::RawValue` for one, are its own affair.
        if name.starts_with('$') {
            return self.d.deserialize_newtype_struct(name, visitor);
        }
        let visitor = Vis::<V, ANY>::new(visitor, self.at, &[]);
        self.d.deserialize_newtype_struct(name, visitor)
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.learn::<V::Value>();
        if known::is_buffer::<V::Value>() && !self.at.is_buffering() {
            return self.at.buffering(|inside| match inside {
                None => self.d.deserialize_any(visitor),
                Some(at) => self.d.deserialize_any(Vis::<V, ANY>::new(visitor, at, &[])),
            });
        }
        let visitor = Vis::<V, ANY>::new(visitor, self.at, &[]);
        self.d.deserialize_any(visitor)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.d.is_human_readable()
    }
}
