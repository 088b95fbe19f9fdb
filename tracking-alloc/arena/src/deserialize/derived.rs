//! The building blocks of `#[derive(ArenaDeserialize)]` and of the implementations here: seeds that
//! enter a place in the data, and identifiers of fields and variants. Do not use them directly.

use super::{Arena, ArenaDeserialize};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;
use std::marker::PhantomData;
use tracking_alloc_serde::arena_path::{self, Type};
pub use tracking_alloc_serde::arena_path::{PathStep, is_inside};

/// A seed that reads a `T` one step below the current place.
pub struct PlaceSeed<'a, T, A> {
    here: HereSeed<'a, T, A>,
    below: &'static PathStep,
}

/// Creates a seed that reads a `T` one step below the current place.
#[inline(always)]
pub fn at<'a, T, A: Arena>(arena: &'a A, below: &'static PathStep) -> PlaceSeed<'a, T, A> {
    PlaceSeed {
        here: here(arena),
        below,
    }
}

impl<'de, 'a, T, A> DeserializeSeed<'de> for PlaceSeed<'a, T, A>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    type Value = T;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        // PERF: numbers take nothing from the arena. Entering a place for each would double the
        // time to read many of them.
        if !T::SCALAR && is_inside() {
            entered(deserializer, self)
        } else {
            self.here.deserialize(deserializer)
        }
    }
}

/// Reads a value one step below the current place.
// PERF: out of line, because its guard would keep a format's deserializer from inlining the seed
// where nothing records.
#[inline(never)]
fn entered<'de, 'a, T, A, D>(deserializer: D, seed: PlaceSeed<'a, T, A>) -> Result<T, D::Error>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
    D: Deserializer<'de>,
{
    // Bytes that bypassed the arena's handle count at this place too.
    let _entered = arena_path::enter(Type::of::<T>, seed.below);
    seed.here.deserialize(deserializer)
}

/// A seed that reads a `T` at the current place, if there is one, as for the content of a newtype.
pub struct HereSeed<'a, T, A> {
    arena: &'a A,
    value: PhantomData<fn() -> T>,
}

/// Creates a seed that reads a `T` at the current place, if there is one.
#[inline(always)]
pub fn here<T, A: Arena>(arena: &A) -> HereSeed<'_, T, A> {
    HereSeed {
        arena,
        value: PhantomData,
    }
}

impl<'de, 'a, T, A> DeserializeSeed<'de> for HereSeed<'a, T, A>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    type Value = T;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let value = T::deserialize_in(deserializer, self.arena);
        if T::MAY_BYPASS {
            self.arena.detect_bypass();
        }
        value
    }
}

/// A seed that reads a field, or the content of a variant, in a custom way (`deserialize_with`,
/// `global`).
pub struct CustomSeed<'a, S, A> {
    arena: &'a A,
    below: &'static PathStep,
    seed: S,
}

/// Creates a seed that reads a value by `seed`, one step below the current place.
pub fn by<'a, S, A: Arena>(
    arena: &'a A,
    below: &'static PathStep,
    seed: S,
) -> CustomSeed<'a, S, A> {
    CustomSeed { arena, below, seed }
}

impl<'de, S: DeserializeSeed<'de>, A: Arena> DeserializeSeed<'de> for CustomSeed<'_, S, A> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        // Bytes that foreign code took earlier without the handle belong to the enclosing place.
        self.arena.detect_bypass();
        let _entered = arena_path::enter(Type::of::<S::Value>, self.below);
        let value = self.seed.deserialize(deserializer);
        self.arena.detect_bypass();
        value
    }
}

/// Reads a variant with several fields. Their places are below that of the variant, which has no
/// type of its own.
pub fn in_variant<R>(variant: &'static PathStep, read: impl FnOnce() -> R) -> R {
    let _entered = arena_path::enter(Type::default, variant);
    read()
}

/// Creates a seed that reads a value by serde's `Deserialize`. The value may own global memory, or
/// borrow from the input.
pub fn by_serde<'de, T: Deserialize<'de>>() -> PhantomData<T> {
    PhantomData
}

/// Returns the value of a missing field that serde's `Deserialize` would read, by serde's own
/// rules.
///
/// # Errors
/// "missing field", except for `Option`.
pub fn absent_by_serde<'de, T: Deserialize<'de>, E: Error>(name: &'static str) -> Result<T, E> {
    T::deserialize(MissingField(name, PhantomData))
}

/// A missing field: `None` for an option, an error for all other types.
struct MissingField<E>(&'static str, PhantomData<E>);

impl<'de, E: Error> Deserializer<'de> for MissingField<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The number of an unknown field or variant.
pub const UNKNOWN: usize = usize::MAX;

/// A seed that identifies a type's field or variant, by name or number.
pub struct Identifier<F> {
    /// Returns the number of a name, or [`UNKNOWN`].
    pub find: F,
    /// The number of fields or variants.
    pub count: usize,
    /// The names of variants, for which an unknown name is an error. `None` for fields, for which
    /// an unknown name gives [`UNKNOWN`].
    pub variants: Option<&'static [&'static str]>,
}

/// The number of variants, for an error message.
struct VariantNumber(usize);

impl Expected for VariantNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variant index 0 <= i < {}", self.0)
    }
}

impl<'de, F: Fn(&str) -> usize> DeserializeSeed<'de> for Identifier<F> {
    type Value = usize;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, F: Fn(&str) -> usize> Visitor<'de> for Identifier<F> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.variants {
            Some(_) => "variant identifier",
            None => "field identifier",
        })
    }

    #[inline]
    fn visit_u64<E: Error>(self, number: u64) -> Result<usize, E> {
        match usize::try_from(number) {
            Ok(number) if number < self.count => Ok(number),
            _ if self.variants.is_none() => Ok(UNKNOWN),
            _ => Err(E::invalid_value(
                Unexpected::Unsigned(number),
                &VariantNumber(self.count),
            )),
        }
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let number = (self.find)(name);
        match self.variants {
            Some(variants) if number == UNKNOWN => Err(E::unknown_variant(name, variants)),
            _ => Ok(number),
        }
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<usize, E> {
        match std::str::from_utf8(name) {
            Ok(name) => self.visit_str(name),
            Err(_) if self.variants.is_none() => Ok(UNKNOWN),
            Err(_) => Err(E::invalid_value(Unexpected::Bytes(name), &self)),
        }
    }
}
