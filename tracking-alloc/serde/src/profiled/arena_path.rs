//! The place in the data of an arena's pieces, entered around each field, element, key and value
//! that the derive for arenas reads.
//!
//! The place is kept in a thread-local word, because foreign seeds and visitors lie between one
//! level and the next. While nothing records there is no place, and entering one is a load and a
//! comparison. It never allocates through the observed allocator.

use super::tree::{self, Node, Step};
pub use super::tree::{Type, TypeOf};
use heapglass_recorder::scopes::Stayed;
use heapglass_recorder::scopes::{self, ScopeGuard};
use std::cell::Cell;
use tracking_alloc_recording::scope_kind;

thread_local! {
    /// The current place of the thread, if a derived decode runs and something records.
    static PLACE: Cell<Option<&'static Node>> = const { Cell::new(None) };
}

/// A step from a place to one below it.
#[derive(Clone, Copy, Debug)]
pub enum PathStep {
    /// A field, by its name and number.
    Field(&'static str, usize),
    /// All elements of a sequence.
    Element,
    /// All keys of a map.
    Key,
    /// All values of a map.
    Value,
    /// The content of a variant, by its name and number.
    Variant(&'static str, usize),
    /// An element of a tuple.
    Index(usize),
}

/// A guard during which the thread is at the start of a path. When it is dropped, the bytes that
/// stayed are counted.
pub struct Rooted {
    // NOTE: fields are dropped in this order: bytes that stayed are counted, then the place is left.
    _stayed: Option<Stayed>,
    _entered: ScopeGuard,
}

impl Drop for Rooted {
    fn drop(&mut self) {
        PLACE.set(None);
    }
}

/// A guard during which the thread is in a place. When it is dropped, also if a visitor panics, the
/// thread returns to its previous place.
// PERF: one word, and the same for all types, because a decode enters millions of places.
pub struct Entered(Option<&'static Node>);

impl Drop for Entered {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            scopes::set(before.scope);
            PLACE.set(Some(before));
        }
    }
}

/// Begins a path of values of `T` built in an arena. Returns `None` if nothing records, or if the
/// thread is already inside of such a path. A seed used inside of another decode belongs to the
/// place where it is used.
#[inline]
pub fn root<T>() -> Option<Rooted> {
    let generation = scopes::generation();
    if generation == 0 || PLACE.get().is_some() {
        return None;
    }
    new_root(Type::of::<T>(), generation)
}

#[cold]
fn new_root(ty: Type, generation: u32) -> Option<Rooted> {
    let back = scopes::current();
    let node = tree::root(ty, back, generation, true)?;
    let found = node.found();
    let rooted = Rooted {
        _stayed: Stayed::enter(found.visit),
        _entered: ScopeGuard { back },
    };
    found.enter();
    PLACE.set(Some(node));
    Some(rooted)
}

/// Returns `true` if the thread is in a place.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn is_inside() -> bool {
    PLACE.get().is_some()
}

/// Enters a place below the current one, with values of `ty`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn enter(ty: TypeOf, below: &'static PathStep) -> Entered {
    let before = PLACE.get();
    if let Some(place) = before {
        let step = match *below {
            PathStep::Field(name, number) => Step::Field(name, number),
            PathStep::Element => Step::Single(scope_kind::ELEMENT),
            PathStep::Key => Step::Single(scope_kind::KEY),
            PathStep::Value => Step::Single(scope_kind::VALUE),
            PathStep::Variant(name, number) => Step::Variant(name, number),
            PathStep::Index(index) => Step::Index(index, None),
        };
        let found = place.child(step, ty, true);
        found.enter();
        PLACE.set(Some(found.node));
    }
    Entered(before)
}
