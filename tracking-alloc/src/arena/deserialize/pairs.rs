//! Maps read as pairs: an arena's maps would need hashing, which most readers do not.

use super::sequences::fill;
use super::{ArenaDeserialize, derived};
use crate::arena::{Arena, Growing};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads a map (or a sequence of pairs) as a collection of pairs, in the input's order; duplicate keys are kept.
///
/// For `#[arena(deserialize_with = "map_as_pairs")]` on a field such as `&'a [(u16, &'a str)]` or
/// `bumpalo::collections::Vec<'a, (u16, &'a str)>`.
///
/// # Errors
/// Those of the format, and "the arena has no room".
pub fn map_as_pairs<'de, 'a, A, D, C>(deserializer: D, arena: &'a A) -> Result<C, D::Error>
where
    A: Arena,
    D: Deserializer<'de>,
    C: FromPairs<'de, 'a, A>,
{
    deserializer
        .deserialize_map(Pairs {
            arena,
            pair: PhantomData::<fn() -> (C::Key, C::Value)>,
        })
        .and_then(|pairs| C::from_pairs(pairs).map_err(D::Error::custom))
}

/// A collection of pairs that [`map_as_pairs`] can give.
pub trait FromPairs<'de, 'a, A: Arena>: Sized {
    /// First of each pair.
    type Key: ArenaDeserialize<'de, 'a, A>;
    /// Second of each pair.
    type Value: ArenaDeserialize<'de, 'a, A>;

    /// Takes the pairs over.
    ///
    /// # Errors
    /// Says why the arena is not one for this collection.
    fn from_pairs(pairs: Growing<'a, (Self::Key, Self::Value), A>) -> Result<Self, &'static str>;
}

impl<'de, 'a, A, K, V> FromPairs<'de, 'a, A> for &'a [(K, V)]
where
    A: Arena,
    K: ArenaDeserialize<'de, 'a, A>,
    V: ArenaDeserialize<'de, 'a, A>,
{
    type Key = K;
    type Value = V;

    fn from_pairs(pairs: Growing<'a, (K, V), A>) -> Result<Self, &'static str> {
        Ok(pairs.into_slice())
    }
}

struct Pairs<'a, P, A> {
    arena: &'a A,
    pair: PhantomData<P>,
}

impl<'de, 'a, K, V, A> Visitor<'de> for Pairs<'a, fn() -> (K, V), A>
where
    A: Arena,
    K: ArenaDeserialize<'de, 'a, A>,
    V: ArenaDeserialize<'de, 'a, A>,
{
    type Value = Growing<'a, (K, V), A>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let arena = self.arena;
        fill(arena, map.size_hint(), || {
            let Some(key) = map.next_key_seed(derived::key(arena))? else {
                return Ok(None);
            };
            let value = map.next_value_seed(derived::value(arena))?;
            Ok(Some((key, value)))
        })
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<Self::Value, S::Error> {
        let arena = self.arena;
        fill(arena, sequence.size_hint(), || {
            sequence.next_element_seed(derived::element(arena))
        })
    }
}
