//! The wrapping accesses: each element, key, value and variant is a boundary where a place is entered and left.

mod enums;
mod map;
mod seq;

pub(super) use enums::Enum;
pub(super) use map::Map;
pub(super) use seq::{Progress, Seq};

use super::deserializer::De;
use super::enter::At;
use super::tree::Node;
use serde::de::{DeserializeSeed, Deserializer};

/// A seed whose value has a place: entered only when there is a value, so that the end of a sequence is none.
struct Seed<S, F> {
    seed: S,
    at: At,
    /// The scope afterwards.
    back: u32,
    /// Enters the place.
    enter: F,
}

impl<'de, S: DeserializeSeed<'de>, F: FnOnce() -> &'static Node> DeserializeSeed<'de>
    for Seed<S, F>
{
    type Value = S::Value;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.at.within((self.enter)(), self.back, |at| {
            self.seed.deserialize(De::new(d, at))
        })
    }
}

/// A seed of serde's buffer.
struct Buffer<S> {
    seed: S,
    at: At,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Buffer<S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.at.buffering(|inside| match inside {
            None => self.seed.deserialize(d),
            Some(at) => self.seed.deserialize(De::new(d, at)),
        })
    }
}

/// A seed inside serde's buffer, within a budget: no place, but a boundary.
struct Inside<S> {
    seed: S,
    at: At,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Inside<S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.at
            .checked(|| self.seed.deserialize(De::new(d, self.at)))
    }
}
