//! Places for a decode that is not wrapped: the derive for arenas says itself where it is.
//!
//! Never allocates through the hooked allocator; while nothing records there is no place, and nothing to enter.

use super::tree::{self, Node, Step, Type, TypeOf};
use crate::current_scope::{self, ScopeGuard};
use crate::scope_records::{self, Retained};

/// A place in the data.
#[derive(Clone, Copy)]
pub(crate) struct Place(&'static Node);

/// A step from a place to one below it. Numbers are hints where the place was found last.
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
    /// What a variant holds, by its name and number.
    Variant(&'static str, usize),
    /// An element of a tuple.
    Index(usize),
}

/// While it lives the thread is where a path begins; then what stayed is counted.
pub(crate) struct Rooted {
    // NOTE: dropped in this order: what stayed is counted, then the place is left.
    _retained: Option<Retained>,
    _entered: ScopeGuard,
}

impl Place {
    /// Begins a path of values of `T` built in an arena. `None` when nothing records.
    #[inline]
    pub(crate) fn root<T>() -> Option<(Place, Rooted)> {
        let generation = scope_records::generation();
        if generation == 0 {
            return None;
        }
        Place::new_root(Type::of::<T>(), generation)
    }

    #[cold]
    fn new_root(ty: Type, generation: u32) -> Option<(Place, Rooted)> {
        let back = current_scope::current();
        let node = tree::root(ty, back, generation, true)?;
        let found = node.found();
        let rooted = Rooted {
            _retained: Retained::enter(found.visit),
            _entered: ScopeGuard { back },
        };
        found.enter();
        Some((Place(node), rooted))
    }

    /// Enters a place below this one, whose values are `T`s. It is left by [`resume`](Place::resume) of this one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn enter<T>(self, below: PathStep) -> Place {
        self.enter_typed(Type::of::<T>, below)
    }

    /// Enters a place below this one that has no type of its own: a variant's with several fields.
    #[inline]
    pub(crate) fn enter_untyped(self, below: PathStep) -> Place {
        self.enter_typed(Type::default, below)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn enter_typed(self, ty: TypeOf, below: PathStep) -> Place {
        let (hint, step) = match below {
            PathStep::Field(name, hint) => (hint, Step::Field(name)),
            PathStep::Element => (0, Step::Element),
            PathStep::Key => (1, Step::Key),
            PathStep::Value => (2, Step::Value),
            PathStep::Variant(name, hint) => (hint, Step::Variant(name)),
            PathStep::Index(index) => (index, Step::Index(index, None)),
        };
        let found = self.0.child(hint, step, ty, true);
        found.enter();
        Place(found.node)
    }

    /// The thread is in this place again.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn resume(self) {
        current_scope::set(self.0.scope);
    }
}
