//! The wrapping accesses. Each element, key, value and variant is a boundary at which a place is
//! entered and left.

mod enums;
mod map;
mod seq;

pub(super) use enums::Enum;
pub(super) use map::Map;
pub(super) use seq::{Progress, Seq};

use super::deserializer::De;
use super::enter::{At, How};
use super::tree::Node;
use heapglass_recorder::scopes::ScopeGuard;
use serde::de::{DeserializeSeed, Deserializer};

/// A seed whose value has a place. The place is entered only if there is a value, so the end of a
/// sequence does not enter one.
struct Seed<S, F> {
    seed: S,
    at: At,
    /// The scope after the value.
    back: u32,
    /// Enters the place.
    enter: F,
}

impl<'de, S: DeserializeSeed<'de>, F: FnOnce() -> &'static Node> Seed<S, F> {
    /// Inside serde's buffer there is a boundary, but no place.
    #[cold]
    #[inline(never)]
    fn deserialize_in_budget<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        let Seed { seed, at, .. } = self;
        if at.is_buffering() {
            return at.checked(|| seed.deserialize(De::new(d, at)));
        }
        at.within((self.enter)(), self.back, |at| {
            seed.deserialize(De::new(d, at))
        })
    }
}

impl<'de, S: DeserializeSeed<'de>, F: FnOnce() -> &'static Node> DeserializeSeed<'de>
    for Seed<S, F>
{
    type Value = S::Value;

    /// PERF: the code for budgets is elsewhere, so that this is small enough to be inlined into the
    /// format's code.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        if self.at.is_budgeted() {
            return self.deserialize_in_budget(d);
        }
        let at = At::new((self.enter)(), How::Recording);
        let _entered = ScopeGuard { back: self.back };
        self.seed.deserialize(De::new(d, at))
    }
}

/// A seed for serde's buffer.
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
