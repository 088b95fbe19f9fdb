//! The tree of places in the data. There is one tree for all threads, separate from the recording,
//! so that a known place is found without a lock, by comparing addresses.
//!
//! Its memory is [leaked](heapglass_recorder::leaked). It never panics.

mod edges;
mod grow;
mod label;
mod roots;
mod write_lock;

pub(super) use edges::Found;
pub(super) use label::{Step, Text};
pub(super) use roots::root;

use edges::Edges;
use heapglass_recorder::leaked::Link;
use heapglass_recorder::scopes;
use heapglass_recorder::scopes::{Added, NewScope};
use label::Label;
use std::any::type_name;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{scope_flags, scope_kind};

/// The type of the values at a place. The default is unknown.
#[derive(Clone, Copy, Default)]
pub struct Type {
    /// The full name, or empty if nothing is known.
    pub(super) name: &'static str,
    /// The size of the type.
    pub(super) bytes: usize,
    /// `true` if the values are overwritten in place. They have places of their own at the same
    /// path, so the recording tells what is allocated although it is visited in place.
    pub(super) is_in_place: bool,
}

impl Type {
    #[cfg_attr(not(debug_assertions), inline(always))]
    /// Returns the name and size of `T`.
    pub fn of<T>() -> Type {
        Type {
            name: type_name::<T>(),
            bytes: size_of::<T>(),
            is_in_place: false,
        }
    }
}

/// A function that returns the type of the values at a place.
///
/// PERF: one word, by which places are compared.
pub type TypeOf = fn() -> Type;

/// A place in the data: all values at one path under one phase.
#[derive(Default)]
pub(super) struct Node {
    /// The scope in the recording: its own, or its parent's if it is folded.
    pub(super) scope: u32,
    /// The scope whose visits are counted, or 0 for none.
    visit: u32,
    /// `true` if the table was full when the node was made. Each visit is then a loss.
    lost: bool,
    pub(super) ty: Type,
    label: Link<Label>,
    pub(super) parent: Option<&'static Node>,
    edges: Link<Edges>,
    /// The first of the places below, and the next sibling.
    children: Link<Node>,
    next_sibling: Link<Node>,
    children_len: AtomicU32,
    other: Link<Node>,
    buffered: Link<Node>,
    from_buffer: Link<Node>,
    /// Flags of the scope that are already set, and [`AWAITS_TYPE`].
    flags_set: AtomicU32,
    /// The last list of names that was proved to be in the order of elements, and the last list
    /// for which this was disproved.
    proved: AtomicPtr<&'static str>,
    disproved: AtomicPtr<&'static str>,
}

/// Marks the place of a `deserialize_with` whose type is not known yet. No scope has this flag.
const AWAITS_TYPE: u32 = 1 << 31;

impl Node {
    /// Enters the child of a step with values of `ty`, creating it if there is none. With `fold`, a
    /// type inside itself is counted at its outermost place.
    #[inline]
    pub(super) fn enter(&'static self, step: Step<'_>, ty: TypeOf, fold: bool) -> &'static Node {
        let found = self.child(step, ty, fold);
        found.enter();
        found.node
    }

    /// Enters the child for a field.
    ///
    /// PERF: this function and the next are never inlined. They are leaves without a frame of their
    /// own, once for all types, so their callers stay small enough to be inlined. They are generic,
    /// so that they are compiled with the program, whose compiler knows better where its
    /// thread-locals are.
    #[inline(never)]
    pub(super) fn enter_field<const HERE: bool>(
        &'static self,
        index: usize,
        name: &'static str,
        ty: TypeOf,
    ) -> &'static Node {
        self.enter_known_field(index, name, ty)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn enter_known_field(
        &'static self,
        index: usize,
        name: &'static str,
        ty: TypeOf,
    ) -> &'static Node {
        match self.first(Step::Field(name, index), ty) {
            Some(edge) => edge.enter(),
            None => self.enter_new_field(index, name, ty),
        }
    }

    /// Enters the only child of its kind: elements, keys or values.
    #[inline(never)]
    pub(super) fn enter_only<const KIND: u32>(&'static self, ty: TypeOf) -> &'static Node {
        match self.first(Step::Single(KIND), ty) {
            Some(edge) => edge.enter(),
            None => self.enter_new_only(KIND, ty),
        }
    }

    // PERF: these functions get the parts of a step, because a whole step would need a frame in
    // their callers.
    #[cold]
    #[inline(never)]
    fn enter_new_field(
        &'static self,
        index: usize,
        name: &'static str,
        ty: TypeOf,
    ) -> &'static Node {
        self.enter(Step::Field(name, index), ty, true)
    }

    #[cold]
    #[inline(never)]
    fn enter_new_only(&'static self, kind: u32, ty: TypeOf) -> &'static Node {
        self.enter(Step::Single(kind), ty, true)
    }

    /// Returns the child without entering it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn child(&'static self, step: Step<'_>, ty: TypeOf, fold: bool) -> Found {
        match self.find(&step, ty) {
            Some(found) => found,
            None => self.new_child(step, ty, fold),
        }
    }

    /// Returns the node itself, as if it had been looked up.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn found(&'static self) -> Found {
        Found {
            node: self,
            scope: self.scope,
            visit: self.visit,
        }
    }

    /// Returns the place for serde's buffers below it.
    pub(super) fn buffered(&'static self) -> Found {
        self.single(&self.buffered, scope_kind::BUFFERED)
    }

    /// Returns the place for values built from that buffer.
    pub(super) fn rebuilt(&'static self) -> Found {
        self.single(&self.from_buffer, scope_kind::FROM_BUFFER)
    }

    fn single(&'static self, place: &Link<Node>, kind: u32) -> Found {
        match place.get() {
            Some(node) => node.found(),
            None => self.new_single(place, kind),
        }
    }

    /// Returns the node's label.
    pub(super) fn label(&self) -> &'static Label {
        self.label.get().unwrap_or(&Label::NONE)
    }

    /// Sets a flag of the scope, once.
    fn set_flag(&self, flag: u32) {
        if self.flags_set.fetch_or(flag, Relaxed) & flag == 0 {
            scopes::flag(self.scope, flag);
        }
    }

    /// Returns `true` if it is the place of a `deserialize_with` whose type is not known yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn awaits_type(&self) -> bool {
        self.flags_set.load(Relaxed) & AWAITS_TYPE != 0
    }

    /// Notes the type that the function of a `deserialize_with` really reads. The first such type
    /// becomes the type of the scope.
    #[cold]
    #[inline(never)]
    pub(super) fn retype(&self, ty: Type) {
        if self.flags_set.fetch_and(!AWAITS_TYPE, Relaxed) & AWAITS_TYPE != 0 && self.visit != 0 {
            scopes::retype(self.scope, ty.name, ty.bytes as u64);
        }
    }

    fn new(parent: Option<&'static Node>, label: &'static Label, ty: Type) -> Node {
        let node = Node {
            scope: parent.map_or(0, |parent| parent.scope),
            ty,
            parent,
            ..Node::default()
        };
        node.label.set(label);
        node
    }

    /// Gives the node a scope of its own, with values of `shown`, below the scope at which it is
    /// counted so far. Otherwise, returns the reason why it has none.
    fn add_scope(&mut self, shown: Type) -> Added {
        let label = self.label();
        let added = scopes::add(&NewScope {
            parent: self.scope,
            kind: label.kind,
            flags: label.flags
                | if shown.is_in_place {
                    scope_flags::IN_PLACE
                } else {
                    0
                },
            name: label.name,
            type_name: shown.name,
            value_bytes: shown.bytes as u64,
        });
        match added {
            Added::Scope(scope) => (self.scope, self.visit) = (scope, scope),
            _ => self.lost = added == Added::Full,
        }
        added
    }
}
