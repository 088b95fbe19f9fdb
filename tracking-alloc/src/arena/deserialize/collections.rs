//! The arenas' own collections. Their memory is taken through the handle, so a tracked arena counts it as allocated;
//! the collection is then given the arena behind the handle, and what it grows later bypasses it.

#[cfg(feature = "bumpalo")]
mod bumpalo {
    use super::super::{ArenaDeserialize, FromPairs, sequences};
    use crate::arena::{Arena, Growing};
    use bumpalo::boxed::Box;
    use bumpalo::collections::{String, Vec};
    use serde::de::{Deserializer, Error};

    const NEEDED: &str =
        "a bumpalo collection needs a `bumpalo::Bump` arena (with the default minimum alignment)";

    /// Takes a finished sequence over.
    fn vec<'a, T, A: Arena>(values: Growing<'a, T, A>) -> Result<Vec<'a, T>, &'static str> {
        let bump = values.arena().bumpalo().ok_or(NEEDED)?;
        let (start, len, room) = values.into_parts();
        // SAFETY: `start` is a piece of that very arena with room for `room` values, of which `len` are there, or a
        // dangling one without room; nobody else knows it.
        Ok(unsafe { Vec::from_raw_parts_in(start.as_ptr(), len, room, bump) })
    }

    impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for Vec<'a, T>
    where
        A: Arena,
        T: ArenaDeserialize<'de, 'a, A> + 'a,
    {
        const MAY_BYPASS: bool = false;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            vec(sequences::sequence(deserializer, arena)?).map_err(D::Error::custom)
        }
    }

    impl<'de, 'a, A, K, V> FromPairs<'de, 'a, A> for Vec<'a, (K, V)>
    where
        A: Arena,
        K: ArenaDeserialize<'de, 'a, A> + 'a,
        V: ArenaDeserialize<'de, 'a, A> + 'a,
    {
        type Key = K;
        type Value = V;

        fn from_pairs(pairs: Growing<'a, (K, V), A>) -> Result<Self, &'static str> {
            vec(pairs)
        }
    }

    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for String<'a> {
        const MAY_BYPASS: bool = false;

        #[inline]
        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let bump = arena.bumpalo().ok_or_else(|| D::Error::custom(NEEDED))?;
            let text = <&'a mut str>::deserialize_in(deserializer, arena)?;
            // SAFETY: a string of that very arena, just made: nobody else knows it, and it has room for its bytes.
            Ok(unsafe {
                String::from_raw_parts_in(text.as_mut_ptr(), text.len(), text.len(), bump)
            })
        }
    }

    impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for Box<'a, T>
    where
        A: Arena,
        T: ArenaDeserialize<'de, 'a, A>,
    {
        const MAY_BYPASS: bool = T::MAY_BYPASS;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let value = <&'a mut T>::deserialize_in(deserializer, arena)?;
            // SAFETY: a value in the arena that nobody else knows: the box may drop it.
            Ok(unsafe { Box::from_raw(value) })
        }
    }
}

#[cfg(feature = "bump-scope")]
mod bump_scope {
    use super::super::{ArenaDeserialize, FromPairs, sequences};
    use crate::arena::{Arena, Growing};
    use bump_scope::{Bump, BumpBox, BumpString, BumpVec, FixedBumpString, FixedBumpVec};
    use serde::de::{Deserializer, Error};
    use std::ptr::NonNull;

    const NEEDED: &str =
        "a bump-scope collection needs a `bump_scope::Bump` arena (with the default settings)";

    fn boxed<'a, T, A: Arena>(mut values: Growing<'a, T, A>) -> BumpBox<'a, [T]> {
        values.fit();
        let (start, len, _) = values.into_parts();
        // SAFETY: `len` values lie there, and nobody else knows them: the box may drop them.
        unsafe { BumpBox::from_raw(NonNull::slice_from_raw_parts(start, len)) }
    }

    fn vec<'a, T, A: Arena>(
        values: Growing<'a, T, A>,
    ) -> Result<BumpVec<T, &'a Bump>, &'static str> {
        let bump = values.arena().bump_scope().ok_or(NEEDED)?;
        Ok(BumpVec::from_parts(
            FixedBumpVec::from_init(boxed(values)),
            bump,
        ))
    }

    impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for BumpBox<'a, [T]>
    where
        A: Arena,
        T: ArenaDeserialize<'de, 'a, A>,
    {
        const MAY_BYPASS: bool = false;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            sequences::sequence(deserializer, arena).map(boxed)
        }
    }

    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for BumpBox<'a, str> {
        const MAY_BYPASS: bool = false;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let text = <&'a mut str>::deserialize_in(deserializer, arena)?;
            // SAFETY: a string in the arena that nobody else knows.
            Ok(unsafe { BumpBox::from_raw(NonNull::from(text)) })
        }
    }

    impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for BumpBox<'a, T>
    where
        A: Arena,
        T: ArenaDeserialize<'de, 'a, A> + 'a,
    {
        const MAY_BYPASS: bool = T::MAY_BYPASS;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let value = <&'a mut T>::deserialize_in(deserializer, arena)?;
            // SAFETY: a value in the arena that nobody else knows: the box may drop it.
            Ok(unsafe { BumpBox::from_raw(NonNull::from(value)) })
        }
    }

    impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for BumpVec<T, &'a Bump>
    where
        A: Arena,
        T: ArenaDeserialize<'de, 'a, A>,
    {
        const MAY_BYPASS: bool = false;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            vec(sequences::sequence(deserializer, arena)?).map_err(D::Error::custom)
        }
    }

    impl<'de, 'a, A, K, V> FromPairs<'de, 'a, A> for BumpVec<(K, V), &'a Bump>
    where
        A: Arena,
        K: ArenaDeserialize<'de, 'a, A>,
        V: ArenaDeserialize<'de, 'a, A>,
    {
        type Key = K;
        type Value = V;

        fn from_pairs(pairs: Growing<'a, (K, V), A>) -> Result<Self, &'static str> {
            vec(pairs)
        }
    }

    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for BumpString<&'a Bump> {
        const MAY_BYPASS: bool = false;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let bump = arena.bump_scope().ok_or_else(|| D::Error::custom(NEEDED))?;
            let text = BumpBox::<str>::deserialize_in(deserializer, arena)?;
            Ok(BumpString::from_parts(
                FixedBumpString::from_init(text),
                bump,
            ))
        }
    }
}

/// allocator-api2's vector in a handle: all it ever takes goes through it.
#[cfg(feature = "allocator-api2")]
mod allocator_api {
    use super::super::{ArenaDeserialize, FromPairs, sequences};
    use crate::arena::{Arena, Growing, Tracked};
    use serde::de::Deserializer;

    macro_rules! vec {
        ($version:ident) => {
            impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, Tracked<A>>
                for $version::vec::Vec<T, &'a Tracked<A>>
            where
                A: Arena,
                T: ArenaDeserialize<'de, 'a, Tracked<A>>,
            {
                const MAY_BYPASS: bool = false;

                fn deserialize_in<D: Deserializer<'de>>(
                    deserializer: D,
                    arena: &'a Tracked<A>,
                ) -> Result<Self, D::Error> {
                    sequences::sequence(deserializer, arena).map(|values| {
                        let (start, len, room) = values.into_parts();
                        // SAFETY: a piece of that very allocator with room for `room` values, of which `len` are there,
                        // or a dangling one without room; nobody else knows it.
                        unsafe { Self::from_raw_parts_in(start.as_ptr(), len, room, arena) }
                    })
                }
            }

            impl<'de, 'a, A, K, V> FromPairs<'de, 'a, Tracked<A>>
                for $version::vec::Vec<(K, V), &'a Tracked<A>>
            where
                A: Arena,
                K: ArenaDeserialize<'de, 'a, Tracked<A>>,
                V: ArenaDeserialize<'de, 'a, Tracked<A>>,
            {
                type Key = K;
                type Value = V;

                fn from_pairs(
                    pairs: Growing<'a, (K, V), Tracked<A>>,
                ) -> Result<Self, &'static str> {
                    let arena = pairs.arena();
                    let (start, len, room) = pairs.into_parts();
                    // SAFETY: as above.
                    Ok(unsafe { Self::from_raw_parts_in(start.as_ptr(), len, room, arena) })
                }
            }
        };
    }

    vec![allocator_api2_02];
    vec![allocator_api2_04];
}
