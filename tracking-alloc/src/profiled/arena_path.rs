//! Places for a decode that is not wrapped: the derive for arenas says itself where it is.
//!
//! Never allocates through the hooked allocator; while nothing records there is no place, and nothing to enter.

use super::enter::Entered;
use super::register;
use super::root::Retained;
use super::tree::{self, Found, Node, Step, Type, TypeOf, key};
use crate::current_scope;

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
    _retained: Retained,
    _entered: Entered,
}

impl Place {
    /// Begins a path of values of `T` built in an arena. `None` when nothing records.
    #[inline]
    pub(crate) fn root<T>() -> Option<(Place, Rooted)> {
        let generation = register::generation();
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
            _entered: Entered::new(found, back),
        };
        Some((Place(node), rooted))
    }

    /// Enters a place below this one, whose values are `T`s. It is left by [`resume`](Place::resume) of this one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn enter<T>(self, below: PathStep) -> Place {
        Place::come_to(self.find(Type::of::<T>, below))
    }

    /// Enters a place below this one that has no type of its own: a variant's with several fields.
    #[inline]
    pub(crate) fn enter_untyped(self, below: PathStep) -> Place {
        Place::come_to(self.find(Type::unknown, below))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn come_to(found: Found) -> Place {
        // It is left by the place around it, not by a guard of its own.
        std::mem::forget(Entered::new(found, 0));
        Place(found.node)
    }

    /// The thread is in this place again.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn resume(self) {
        current_scope::set(self.0.scope());
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find(self, ty: TypeOf, below: PathStep) -> Found {
        let Place(node) = self;
        match below {
            PathStep::Field(name, hint) => {
                node.child(hint, key::field(name), ty, true, || Step::Field(name))
            }
            PathStep::Element => node.child(0, key::ELEMENT, ty, true, || Step::Element),
            PathStep::Key => node.child(1, key::KEY, ty, true, || Step::Key),
            PathStep::Value => node.child(2, key::VALUE, ty, true, || Step::Value),
            PathStep::Variant(name, hint) => {
                node.child(hint, key::variant(name), ty, true, || Step::Variant(name))
            }
            PathStep::Index(index) => node.child(index, key::index(index), ty, true, || {
                Step::Index(index, None)
            }),
        }
    }
}
