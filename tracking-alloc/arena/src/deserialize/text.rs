//! Strings and bytes, copied into the arena.

use super::sequences::fill;
use super::{ArenaDeserialize, ArenaVisitor};
use crate::Arena;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt;

read_as!(<> &'a str = &'a mut str, |text| &*text;);

impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for &'a mut str {
    const MAY_BYPASS: bool = false;

    #[inline]
    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ArenaVisitor::<Self, A>::new(arena))
    }
}

impl<'de, 'a, A: Arena> Visitor<'de> for ArenaVisitor<'a, &'a mut str, A> {
    type Value = &'a mut str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    #[inline]
    fn visit_str<E: Error>(self, text: &str) -> Result<&'a mut str, E> {
        self.arena.try_alloc_str(text).map_err(E::custom)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<&'a mut str, E> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.visit_str(text),
            Err(_) => Err(E::invalid_value(Unexpected::Bytes(bytes), &self)),
        }
    }
}

impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for u8 {
    const MAY_BYPASS: bool = false;
    const SCALAR: bool = true;

    #[inline]
    fn deserialize_in<D: Deserializer<'de>>(deserializer: D, _: &'a A) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    /// Reads bytes, as serde does for `&[u8]`. Formats without bytes give a string or a sequence.
    #[inline]
    fn slice_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<&'a mut [u8], D::Error> {
        deserializer.deserialize_bytes(ArenaVisitor::<&mut [u8], A>::new(arena))
    }
}

impl<'de, 'a, A: Arena> Visitor<'de> for ArenaVisitor<'a, &'a mut [u8], A> {
    type Value = &'a mut [u8];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    #[inline]
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<&'a mut [u8], E> {
        self.arena.try_alloc_slice_copy(bytes).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<&'a mut [u8], E> {
        self.visit_bytes(text.as_bytes())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<&'a mut [u8], S::Error> {
        let bytes = fill(self.arena, sequence.size_hint(), || sequence.next_element())?;
        Ok(bytes.into_slice())
    }
}
