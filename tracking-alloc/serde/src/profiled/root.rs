//! The start of a path: `Profiled<T>`.

use super::deserializer::De;
use super::enter::{At, How};
use super::tree::{self, Type};
use super::{Profiled, budget, known};
use heapglass_recorder::scopes::Stayed;
use heapglass_recorder::scopes::{self, ScopeGuard};
use serde::de::{Deserialize, Deserializer, Error};

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Profiled<T> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let observed = |d, at| T::deserialize(De::new(d, at));
        within(d, Type::of::<T>(), T::deserialize, observed).map(Profiled)
    }

    #[doc(hidden)]
    #[inline]
    fn deserialize_in_place<D: Deserializer<'de>>(d: D, place: &mut Self) -> Result<(), D::Error> {
        let place = &std::cell::RefCell::new(&mut place.0);
        let ty = Type {
            is_in_place: true,
            ..Type::of::<T>()
        };
        within(
            d,
            ty,
            |d| T::deserialize_in_place(d, *place.borrow_mut()),
            |d, at| T::deserialize_in_place(De::new(d, at), *place.borrow_mut()),
        )
    }
}

/// Deserializes values of a type at their root: with `plain` if there is nothing to observe,
/// otherwise with `observed`.
#[inline]
fn within<'de, D: Deserializer<'de>, R>(
    d: D,
    ty: Type,
    plain: impl FnOnce(D) -> Result<R, D::Error>,
    observed: impl FnOnce(D, At) -> Result<R, D::Error>,
) -> Result<R, D::Error> {
    let generation = scopes::generation();
    let budgeted = budget::is_running();
    // PERF: these two loads are the cost if nothing records.
    if generation == 0 && !budgeted || known::is_ours::<D>() {
        return plain(d);
    }
    let back = scopes::current();
    let root = |generation| tree::root(ty, back, generation, false);
    let recorded = (generation != 0).then(|| root(generation)).flatten();
    let Some(node) = recorded.or_else(|| budgeted.then(|| root(0)).flatten()) else {
        if budgeted {
            return Err(D::Error::custom(
                "the memory budget cannot be watched: no memory for the tree of fields",
            ));
        }
        scopes::lost();
        return plain(d);
    };
    let found = node.found();
    let _stayed = Stayed::enter(found.visit);
    found.enter();
    let _entered = ScopeGuard { back };
    if budgeted {
        budget::in_field(node, || observed(d, At::new(node, How::Budget)))
    } else {
        observed(d, At::new(node, How::Recording))
    }
}
