//! Values that take nothing from the arena. They are read by serde's own `Deserialize`.

use super::{ArenaDeserialize, ArenaVisitor};
use crate::Arena;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Implements the trait by serde's `Deserialize`.
macro_rules! scalars {
    ($($scalar:ty),* $(,)?) => {$(
        impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for $scalar {
            const MAY_BYPASS: bool = false;
            const SCALAR: bool = true;

            #[inline]
            fn deserialize_in<D: Deserializer<'de>>(deserializer: D, _: &'a A) -> Result<Self, D::Error> {
                Deserialize::deserialize(deserializer)
            }
        }
    )*};
}

scalars! {
    (), bool, char, f32, f64,
    i8, i16, i32, i64, i128, isize,
    u16, u32, u64, u128, usize,
    std::num::NonZeroI8, std::num::NonZeroI16, std::num::NonZeroI32, std::num::NonZeroI64,
    std::num::NonZeroI128, std::num::NonZeroIsize,
    std::num::NonZeroU8, std::num::NonZeroU16, std::num::NonZeroU32, std::num::NonZeroU64,
    std::num::NonZeroU128, std::num::NonZeroUsize,
    std::time::Duration, std::time::SystemTime,
    std::net::IpAddr, std::net::Ipv4Addr, std::net::Ipv6Addr,
    std::net::SocketAddr, std::net::SocketAddrV4, std::net::SocketAddrV6,
}

impl<'de, 'a, A: Arena, T: ?Sized> ArenaDeserialize<'de, 'a, A> for PhantomData<T> {
    const MAY_BYPASS: bool = false;
    const SCALAR: bool = true;

    fn deserialize_in<D: Deserializer<'de>>(deserializer: D, _: &'a A) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer)
    }
}

impl<'de, 'a, A, T> ArenaDeserialize<'de, 'a, A> for Option<T>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    const MAY_BYPASS: bool = T::MAY_BYPASS;
    const SCALAR: bool = T::SCALAR;

    #[inline]
    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_option(ArenaVisitor::<Self, A>::new(arena))
    }

    /// Returns `None`, as serde does for a missing field.
    fn absent<E: Error>(_: &'static str) -> Result<Self, E> {
        Ok(None)
    }
}

impl<'de, 'a, A, T> Visitor<'de> for ArenaVisitor<'a, Option<T>, A>
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("option")
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        T::deserialize_in(deserializer, self.arena).map(Some)
    }
}
