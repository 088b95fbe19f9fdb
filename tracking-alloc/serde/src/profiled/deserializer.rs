//! The wrapping deserializer. It forwards each call to the format's own deserializer, with a
//! visitor that keeps the place.

use super::enter::At;
use super::forward::deserialize;
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

    /// Returns the format's deserializer. First notes the type that the function of a
    /// `deserialize_with` reads.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_inner<T>(self) -> D {
        let node = self.at.node();
        if node.awaits_type() {
            node.retype(Type::of::<T>());
        }
        self.d
    }
}

type Names = &'static [&'static str];

impl<'de, D: Deserializer<'de>> Deserializer<'de> for De<D> {
    type Error = D::Error;

    deserialize! {
        self, visitor => self.into_inner::<V::Value>(), visitor;
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128() deserialize_f32()
        deserialize_f64() deserialize_char() deserialize_str() deserialize_string() deserialize_unit()
        deserialize_unit_struct(name: &'static str) deserialize_identifier() deserialize_ignored_any()
    }

    deserialize! {
        self, visitor => self.into_inner::<V::Value>(), Vis::<V, ANY>::new(visitor, self.at, &[]);
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_seq() deserialize_map()
    }

    deserialize! {
        self, visitor => self.into_inner::<V::Value>(), Vis::<V, TUPLE>::new(visitor, self.at, &[]);
        deserialize_tuple_struct(name: &'static str, len: usize)
    }

    deserialize! {
        self, visitor => self.into_inner::<V::Value>(), Vis::<V, STRUCT>::new(visitor, self.at, fields);
        deserialize_struct(name: &'static str, fields: Names)
    }

    deserialize! {
        self, visitor => self.into_inner::<V::Value>(), Vis::<V, ANY>::new(visitor, self.at, variants);
        deserialize_enum(name: &'static str, variants: Names)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (at, d) = (self.at, self.into_inner::<V::Value>());
        if known::is_array::<V::Value, V>() {
            d.deserialize_tuple(len, Vis::<V, ANY>::new(visitor, at, &[]))
        } else {
            d.deserialize_tuple(len, Vis::<V, TUPLE>::new(visitor, at, &[]))
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (at, d) = (self.at, self.into_inner::<V::Value>());
        // Internals of a format, such as `$serde_json::private::RawValue`, are not changed.
        if name.starts_with('$') {
            d.deserialize_newtype_struct(name, visitor)
        } else {
            d.deserialize_newtype_struct(name, Vis::<V, ANY>::new(visitor, at, &[]))
        }
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let (at, d) = (self.at, self.into_inner::<V::Value>());
        if known::is_buffer::<V::Value>() && !at.is_buffering() {
            return at.buffering(|inside| match inside {
                None => d.deserialize_any(visitor),
                Some(at) => d.deserialize_any(Vis::<V, ANY>::new(visitor, at, &[])),
            });
        }
        d.deserialize_any(Vis::<V, ANY>::new(visitor, at, &[]))
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.d.is_human_readable()
    }
}
