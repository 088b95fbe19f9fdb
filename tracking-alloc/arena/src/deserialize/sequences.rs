//! Slices, references, arrays and tuples.

use super::{ArenaDeserialize, ArenaVisitor, derived};
use crate::{Arena, FromGrowing, Growing};
use derived::PathStep;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for &'a mut [T]
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    const MAY_BYPASS: bool = false;

    #[inline]
    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error> {
        T::slice_in(deserializer, arena)
    }
}

/// A value in a piece of its own, which makes recursive types possible.
impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for &'a mut T
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    const MAY_BYPASS: bool = T::MAY_BYPASS;

    #[inline]
    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error> {
        let value = T::deserialize_in(deserializer, arena)?;
        arena.try_place(value).map_err(D::Error::custom)
    }
}

read_as! {
    <T> &'a [T] = &'a mut [T], |slice| &*slice;
    <T> &'a T = &'a mut T, |value| &*value;
}

/// Reads a sequence into one piece of the arena, which becomes a list.
pub(super) fn sequence<'de, 'a, C, A, D>(deserializer: D, arena: &'a A) -> Result<C, D::Error>
where
    A: Arena,
    C: FromGrowing<'a, A, Item: ArenaDeserialize<'de, 'a, A>>,
    D: Deserializer<'de>,
{
    let visitor = ArenaVisitor::<Growing<'a, C::Item, A>, A>::new(arena);
    C::from_growing(deserializer.deserialize_seq(visitor)?).map_err(D::Error::custom)
}

impl<'de, 'a, T, A> Visitor<'de> for ArenaVisitor<'a, Growing<'a, T, A>, A>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    type Value = Growing<'a, T, A>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<Self::Value, S::Error> {
        let arena = self.arena;
        let expected = sequence.size_hint();
        // PERF: asked once for all elements, as in derived code.
        if derived::is_inside() {
            fill(arena, expected, || {
                sequence.next_element_seed(derived::at(arena, &PathStep::Element))
            })
        } else {
            fill(arena, expected, || {
                sequence.next_element_seed(derived::here(arena))
            })
        }
    }
}

/// Reads values into one piece of the arena, until there are no more.
pub(super) fn fill<T, A: Arena, E: Error>(
    arena: &A,
    expected: Option<usize>,
    mut next: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Growing<'_, T, A>, E> {
    let mut values = Growing::expecting(arena, expected.unwrap_or(0)).map_err(E::custom)?;
    while let Some(value) = next()? {
        values.push(value).map_err(E::custom)?;
    }
    Ok(values)
}

impl<'de, 'a, A, T, const N: usize> ArenaDeserialize<'de, 'a, A> for [T; N]
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    const MAY_BYPASS: bool = false;
    const SCALAR: bool = T::SCALAR;

    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(N, ArenaVisitor::<Self, A>::new(arena))
    }
}

impl<'de, 'a, T, A, const N: usize> Visitor<'de> for ArenaVisitor<'a, [T; N], A>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    type Value = [T; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of length {N}")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<[T; N], S::Error> {
        let mut values = [const { None }; N];
        for (index, value) in values.iter_mut().enumerate() {
            *value = sequence.next_element_seed(derived::at(self.arena, &PathStep::Element))?;
            if value.is_none() {
                return Err(S::Error::invalid_length(index, &self));
            }
        }
        Ok(values.map(|value| match value {
            Some(value) => value,
            None => unreachable!("each was just filled"),
        }))
    }
}

macro_rules! tuples {
    ($($len:literal => ($($name:ident $value:ident $index:literal),+))*) => {$(
        impl<'de, 'a, A, $($name),+> ArenaDeserialize<'de, 'a, A> for ($($name,)+)
        where
            A: Arena,
            $($name: ArenaDeserialize<'de, 'a, A>,)+
        {
            const MAY_BYPASS: bool = false;
            const SCALAR: bool = true $(&& $name::SCALAR)+;

            fn deserialize_in<De: Deserializer<'de>>(deserializer: De, arena: &'a A) -> Result<Self, De::Error> {
                deserializer.deserialize_tuple($len, ArenaVisitor::<Self, A>::new(arena))
            }
        }

        impl<'de, 'a, A, $($name),+> Visitor<'de> for ArenaVisitor<'a, ($($name,)+), A>
        where
            A: Arena,
            $($name: ArenaDeserialize<'de, 'a, A>,)+
        {
            type Value = ($($name,)+);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!("a tuple of size ", $len))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<Self::Value, S::Error> {
                $(
                    let seed = derived::at(self.arena, &PathStep::Index($index));
                    let Some($value) = sequence.next_element_seed(seed)? else {
                        return Err(S::Error::invalid_length($index, &self));
                    };
                )+
                Ok(($($value,)+))
            }
        }
    )*};
}

tuples! {
    1 => (T0 v0 0)
    2 => (T0 v0 0, T1 v1 1)
    3 => (T0 v0 0, T1 v1 1, T2 v2 2)
    4 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3)
    5 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4)
    6 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5)
    7 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5, T6 v6 6)
    8 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5, T6 v6 6, T7 v7 7)
    9 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5, T6 v6 6, T7 v7 7, T8 v8 8)
    10 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5, T6 v6 6, T7 v7 7, T8 v8 8, T9 v9 9)
    11 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5, T6 v6 6, T7 v7 7, T8 v8 8, T9 v9 9, T10 v10 10)
    12 => (T0 v0 0, T1 v1 1, T2 v2 2, T3 v3 3, T4 v4 4, T5 v5 5, T6 v6 6, T7 v7 7, T8 v8 8, T9 v9 9, T10 v10 10, T11 v11 11)
}
