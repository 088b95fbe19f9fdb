//! The wrapping visitor. Scalars pass through. Everything that leads further in keeps the place.

use super::access::{Enum, Map, Progress, Seq};
use super::deserializer::De;
use super::enter::At;
use super::forward::{visit, visit_access};
use serde::de::{Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The kind of the visited data, unless serde buffers.
///
/// PERF: a const parameter, so that there is no check at run time.
pub(super) type Kind = u8;
/// Any data: sequences are `[]`, maps `{key}` and `{value}`.
pub(super) const ANY: Kind = 0;
pub(super) const STRUCT: Kind = 1;
pub(super) const TUPLE: Kind = 2;

/// A visitor at a place. `names` are those of a struct's fields or an enum's variants.
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

impl<'de, V: Visitor<'de>, const KIND: Kind> Visitor<'de> for Vis<V, KIND> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.v.expecting(f)
    }

    visit! {
        self => self.v;
        visit_bool(value: bool) visit_i8(value: i8) visit_i16(value: i16) visit_i32(value: i32) visit_i64(value: i64)
        visit_i128(value: i128) visit_u8(value: u8) visit_u16(value: u16) visit_u32(value: u32) visit_u64(value: u64)
        visit_u128(value: u128) visit_f32(value: f32) visit_f64(value: f64) visit_char(value: char)
        visit_str(value: &str) visit_borrowed_str(value: &'de str) visit_string(value: String)
        visit_bytes(value: &[u8]) visit_borrowed_bytes(value: &'de [u8]) visit_byte_buf(value: Vec<u8>)
        visit_unit() visit_none()
    }

    visit_access! {
        self, d => self.v, De::new(d, self.at);
        visit_some: Deserializer visit_newtype_struct: Deserializer
    }

    visit_access! {
        self, access => self.v, Map::<A, KIND>::new(access, self.at, self.names);
        visit_map: MapAccess
    }

    visit_access! {
        self, access => self.v, Enum { access, at: self.at, names: self.names };
        visit_enum: EnumAccess
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let at = self.at;
        let progress = Progress::new::<KIND>(at.node(), self.names);
        let visited = self.v.visit_seq(Seq::<A, KIND> {
            access,
            at,
            index: 0,
            progress: &progress,
        });
        if KIND == STRUCT && !at.is_buffering() && visited.is_ok() {
            progress.disprove();
        }
        visited
    }

    #[doc(hidden)]
    #[inline]
    fn __private_visit_untagged_option<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, ()> {
        self.v.__private_visit_untagged_option(De::new(d, self.at))
    }
}
