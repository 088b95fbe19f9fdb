//! Deserializing into an arena: the trait, the seed that passes the arena to each level, and the
//! implementations.
//!
//! Nothing here depends on a format: everything goes through serde's own traits. Types that own
//! global memory have no implementation, because an arena never drops its values.

/// Implements the trait for types that are read as a `$source` and converted with `$convert`.
macro_rules! read_as {
    ($($(#[$doc:meta])* <$($T:ident)?> $target:ty = $source:ty, $convert:expr;)*) => {$(
        $(#[$doc])*
        impl<'de, 'a, A, $($T)?> ArenaDeserialize<'de, 'a, A> for $target
        where
            A: Arena,
            $($T: ArenaDeserialize<'de, 'a, A> + 'a,)?
        {
            const MAY_BYPASS: bool = <$source as ArenaDeserialize<'de, 'a, A>>::MAY_BYPASS;

            #[inline]
            fn deserialize_in<D: Deserializer<'de>>(deserializer: D, arena: &'a A) -> Result<Self, D::Error> {
                <$source>::deserialize_in(deserializer, arena).map($convert)
            }
        }
    )*};
}

#[cfg(feature = "allocator-api2")]
mod collections;
pub(super) mod derived;
mod pairs;
mod scalars;
mod sequences;
mod text;

pub use pairs::map_as_pairs;

use super::Arena;
use serde::de::{DeserializeSeed, Deserializer, Error};
use std::fmt;
use std::marker::PhantomData;
use tracking_alloc_serde::arena_path;

/// A value that can be deserialized into an arena.
///
/// Derive it, or implement it for a leaf type of your own:
///
/// ```
/// # #[cfg(feature = "bumpalo")] {
/// use tracking_alloc::arena::{Arena, ArenaDeserialize};
/// # use serde::Deserializer;
/// /// A string that is UTF-8 by convention only.
/// struct Text<'a>(&'a [u8]);
///
/// impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for Text<'a> {
///     fn deserialize_in<D: Deserializer<'de>>(deserializer: D, arena: &'a A) -> Result<Self, D::Error> {
///         ArenaDeserialize::deserialize_in(deserializer, arena).map(Text)
///     }
/// }
/// # }
/// ```
///
/// A type that owns global memory has no implementation, even if an alias hides its name:
///
/// ```compile_fail,E0277
/// use tracking_alloc::arena::ArenaDeserialize;
/// type Name = String;
/// #[derive(ArenaDeserialize)]
/// struct City {
///     name: Name,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be deserialized into an arena",
    label = "has no `ArenaDeserialize`",
    note = "types that own global memory (`String`, `Vec`, `Box`, `HashMap`, ..) are left out on purpose: an arena never drops them, so their blocks would leak",
    note = "use `&'a str`, `&'a [T]` or the arena's own collections; derive `ArenaDeserialize` for your own types",
    note = "a field that must own global memory can say so: `#[arena(global)]`"
)]
pub trait ArenaDeserialize<'de, 'a, A: Arena>: Sized {
    /// Reads a value, and takes the memory beyond its own size from `arena`.
    ///
    /// # Errors
    /// The errors of the format, and "the arena has no room".
    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error>;

    /// Returns the value of a field that is missing in the input.
    ///
    /// # Errors
    /// "missing field", except for `Option`.
    fn absent<E: Error>(field: &'static str) -> Result<Self, E> {
        Err(E::missing_field(field))
    }

    /// `true` if values take nothing from the arena. Such values get no scope of their own.
    const SCALAR: bool = false;

    /// `true` if reading a value may allocate in the arena without a [`Tracked`](super::Tracked)
    /// handle; `false` only if it is certain not to.
    const MAY_BYPASS: bool = true;

    /// Reads a slice of values of this type. Bytes are read as bytes.
    ///
    /// # Errors
    /// The same as for [`deserialize_in`](ArenaDeserialize::deserialize_in).
    fn slice_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<&'a mut [Self], D::Error>
    where
        Self: 'a,
    {
        sequences::sequence(deserializer, arena)
    }
}

/// A visitor that reads a `T` into an arena.
struct ArenaVisitor<'a, T, A> {
    arena: &'a A,
    value: PhantomData<fn() -> T>,
}

impl<'a, T, A> ArenaVisitor<'a, T, A> {
    fn new(arena: &'a A) -> Self {
        ArenaVisitor {
            arena,
            value: PhantomData,
        }
    }
}

/// A `DeserializeSeed` that reads a `T` into an arena.
///
/// ```
/// # #[cfg(feature = "bumpalo")] {
/// use serde::de::DeserializeSeed;
/// use tracking_alloc::arena::ArenaSeed;
/// # let mut deserializer = serde_json::Deserializer::from_str(r#"["Ulm", "Bonn"]"#);
/// let bump = bumpalo::Bump::new();
/// let names = ArenaSeed::<&[&str]>::new(&bump).deserialize(&mut deserializer)?;
/// assert_eq!(names, ["Ulm", "Bonn"]);
/// # }
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct ArenaSeed<'a, T, A = ()> {
    arena: &'a A,
    value: PhantomData<fn() -> T>,
}

impl<T> ArenaSeed<'_, T> {
    /// Creates a seed for `arena`, which may be a bare or a [`Tracked`](super::Tracked) arena.
    // NOTE: on `ArenaSeed<T, ()>`, so that `ArenaSeed::<T>::new(&arena)` needs no second type.
    pub fn new<A: Arena>(arena: &A) -> ArenaSeed<'_, T, A> {
        ArenaSeed {
            arena,
            value: PhantomData,
        }
    }
}

impl<T, A> fmt::Debug for ArenaSeed<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaSeed").finish_non_exhaustive()
    }
}

impl<'de, 'a, T, A> DeserializeSeed<'de> for ArenaSeed<'a, T, A>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let _rooted = arena_path::root::<T>();
        // Bytes that bypassed a tracked arena's handle are counted at the place where they did. So
        // they are counted whenever foreign code ends.
        self.arena.detect_bypass();
        let value = T::deserialize_in(deserializer, self.arena);
        self.arena.detect_bypass();
        value
    }
}
