//! The arenas' own collections. Their memory is allocated through the handle, so a tracked arena
//! counts it as allocated. The collection then holds the arena behind the handle, so its later
//! growth bypasses the handle.

/// Implements the trait for lists that are read as a sequence and take over its piece.
macro_rules! read_as_sequence {
    ($($list:ty, in $arena:ty;)*) => {$(
        impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, $arena> for $list
        where
            A: Arena,
            T: ArenaDeserialize<'de, 'a, $arena>,
        {
            const MAY_BYPASS: bool = false;

            fn deserialize_in<D: Deserializer<'de>>(deserializer: D, arena: &'a $arena) -> Result<Self, D::Error> {
                sequences::sequence(deserializer, arena)
            }
        }
    )*};
}

#[cfg(feature = "bumpalo")]
mod bumpalo {
    use super::super::{ArenaDeserialize, sequences};
    use crate::{Arena, FromGrowing, Growing};
    use bumpalo::boxed::Box;
    use bumpalo::collections::{String, Vec};
    use serde::de::{Deserializer, Error};

    const NEEDED: &str =
        "a bumpalo collection needs a `bumpalo::Bump` arena (with the default minimum alignment)";

    impl<'a, T: 'a, A: Arena> FromGrowing<'a, A> for Vec<'a, T> {
        type Item = T;

        fn from_growing(values: Growing<'a, T, A>) -> Result<Self, &'static str> {
            let bump = values.arena().bumpalo().ok_or(NEEDED)?;
            let (start, len, room) = values.into_parts();
            // SAFETY: `start` is a piece of this same arena with room for `room` values, `len` of
            // which are there, or dangling without room. Nobody else knows it.
            Ok(unsafe { Vec::from_raw_parts_in(start.as_ptr(), len, room, bump) })
        }
    }

    read_as_sequence!(Vec<'a, T>, in A;);

    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for String<'a> {
        const MAY_BYPASS: bool = false;

        #[inline]
        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let bump = arena.bumpalo().ok_or_else(|| D::Error::custom(NEEDED))?;
            let text = <&'a mut str>::deserialize_in(deserializer, arena)?;
            // SAFETY: a string that was just created in this same arena. Nobody else knows it, and
            // it has room for its bytes.
            Ok(unsafe {
                String::from_raw_parts_in(text.as_mut_ptr(), text.len(), text.len(), bump)
            })
        }
    }

    read_as! {
        <T> Box<'a, T> = &'a mut T, |value| {
            // SAFETY: a value in the arena that nobody else knows, so the box may drop it.
            unsafe { Box::from_raw(value) }
        };
    }
}

#[cfg(feature = "bump-scope")]
mod bump_scope {
    use super::super::{ArenaDeserialize, sequences};
    use crate::{Arena, FromGrowing, Growing};
    use bump_scope::{Bump, BumpBox, BumpString, BumpVec, FixedBumpString, FixedBumpVec};
    use serde::de::{Deserializer, Error};
    use std::ptr::NonNull;

    const NEEDED: &str =
        "a bump-scope collection needs a `bump_scope::Bump` arena (with the default settings)";

    impl<'a, T, A: Arena> FromGrowing<'a, A> for BumpBox<'a, [T]> {
        type Item = T;

        fn from_growing(mut values: Growing<'a, T, A>) -> Result<Self, &'static str> {
            values.fit();
            let (start, len, _) = values.into_parts();
            // SAFETY: `len` values lie there, and nobody else knows them, so the box may drop them.
            Ok(unsafe { BumpBox::from_raw(NonNull::slice_from_raw_parts(start, len)) })
        }
    }

    impl<'a, T, A: Arena> FromGrowing<'a, A> for BumpVec<T, &'a Bump> {
        type Item = T;

        fn from_growing(values: Growing<'a, T, A>) -> Result<Self, &'static str> {
            let bump = values.arena().bump_scope().ok_or(NEEDED)?;
            let values = FixedBumpVec::from_init(BumpBox::from_growing(values)?);
            Ok(BumpVec::from_parts(values, bump))
        }
    }

    read_as_sequence! {
        BumpBox<'a, [T]>, in A;
        BumpVec<T, &'a Bump>, in A;
    }

    /// Boxes a value in the arena that nobody else knows, so the box may drop it.
    fn boxed<T: ?Sized>(value: &mut T) -> BumpBox<'_, T> {
        // SAFETY: the reference is the only one for as long as the arena is borrowed.
        unsafe { BumpBox::from_raw(NonNull::from(value)) }
    }

    read_as! {
        <> BumpBox<'a, str> = &'a mut str, boxed;
        <T> BumpBox<'a, T> = &'a mut T, boxed;
    }

    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for BumpString<&'a Bump> {
        const MAY_BYPASS: bool = false;

        fn deserialize_in<D: Deserializer<'de>>(
            deserializer: D,
            arena: &'a A,
        ) -> Result<Self, D::Error> {
            let bump = arena.bump_scope().ok_or_else(|| D::Error::custom(NEEDED))?;
            let text = FixedBumpString::from_init(BumpBox::deserialize_in(deserializer, arena)?);
            Ok(BumpString::from_parts(text, bump))
        }
    }
}

/// allocator-api2's vector in a handle. All its allocations go through the handle.
mod allocator_api {
    use super::super::{ArenaDeserialize, sequences};
    use crate::{Arena, FromGrowing, Growing, Tracked};
    use serde::de::Deserializer;

    macro_rules! vec {
        ($version:ident) => {
            impl<'a, T, A: Arena> FromGrowing<'a, Tracked<A>>
                for $version::vec::Vec<T, &'a Tracked<A>>
            {
                type Item = T;

                fn from_growing(values: Growing<'a, T, Tracked<A>>) -> Result<Self, &'static str> {
                    let arena = values.arena();
                    let (start, len, room) = values.into_parts();
                    // SAFETY: `start` is a piece of this same allocator with room for `room`
                    // values, `len` of which are there, or dangling without room. Nobody else knows
                    // it.
                    Ok(unsafe { Self::from_raw_parts_in(start.as_ptr(), len, room, arena) })
                }
            }

            read_as_sequence!($version::vec::Vec<T, &'a Tracked<A>>, in Tracked<A>;);
        };
    }

    vec![allocator_api2_02];
    vec![allocator_api2_04];
}
