//! Maps read as pairs. The maps of an arena would need hashing, and most readers do not need maps.

use super::sequences::fill;
use super::{ArenaDeserialize, ArenaVisitor, derived};
use crate::{Arena, FromGrowing, Growing};
use derived::PathStep;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Reads a map (or a sequence of pairs) as a collection of pairs, in the order of the input.
/// Duplicate keys are kept.
///
/// Use it as `#[arena(deserialize_with = "map_as_pairs")]` on a field such as `&'a [(u16, &'a
/// str)]` or `bumpalo::collections::Vec<'a, (u16, &'a str)>`.
///
/// # Errors
/// The errors of the format, and "the arena has no room".
pub fn map_as_pairs<'de, 'a, A, D, C, K, V>(deserializer: D, arena: &'a A) -> Result<C, D::Error>
where
    A: Arena,
    D: Deserializer<'de>,
    C: FromGrowing<'a, A, Item = (K, V)>,
    K: ArenaDeserialize<'de, 'a, A>,
    V: ArenaDeserialize<'de, 'a, A>,
{
    let pairs = deserializer.deserialize_map(ArenaVisitor::<Pairs<K, V>, A>::new(arena))?;
    C::from_growing(pairs).map_err(D::Error::custom)
}

/// The entries of a map.
struct Pairs<K, V>(K, V);

impl<'de, 'a, K, V, A> Visitor<'de> for ArenaVisitor<'a, Pairs<K, V>, A>
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
            let Some(key) = map.next_key_seed(derived::at(arena, &PathStep::Key))? else {
                return Ok(None);
            };
            let value = map.next_value_seed(derived::at(arena, &PathStep::Value))?;
            Ok(Some((key, value)))
        })
    }

    fn visit_seq<S: SeqAccess<'de>>(self, sequence: S) -> Result<Self::Value, S::Error> {
        ArenaVisitor::<Self::Value, A>::new(self.arena).visit_seq(sequence)
    }
}
