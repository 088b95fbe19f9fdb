//! The tree of places in the data: one for all threads, kept beside the recording so that a known
//! place is found without a lock, by comparing addresses.
//!
//! Its memory is [leaked](heapglass_recorder::leaked). Never panics.

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
use tracking_alloc_recording::scope_kind;

/// The type of the values at a place; by default unknown.
#[derive(Clone, Copy, Default)]
pub struct Type {
    /// Full name; empty where nothing is known.
    pub(super) name: &'static str,
    /// `size_of`.
    pub(super) bytes: usize,
}

impl Type {
    #[cfg_attr(not(debug_assertions), inline(always))]
    /// Returns the name and size of `T`.
    pub fn of<T>() -> Type {
        Type {
            name: type_name::<T>(),
            bytes: size_of::<T>(),
        }
    }
}

/// Says the type of the values at a place. PERF: one word, by which places are compared.
pub type TypeOf = fn() -> Type;

/// A place in the data: all values at one path under one phase.
#[derive(Default)]
pub(super) struct Node {
    /// The scope in the recording: its own, or its parent's if it is folded.
    pub(super) scope: u32,
    /// The scope whose visits are counted; 0 = none.
    visit: u32,
    /// The table was full when it was made: each visit is a loss.
    lost: bool,
    pub(super) ty: Type,
    label: Link<Label>,
    pub(super) parent: Option<&'static Node>,
    edges: Link<Edges>,
    /// First of the places below, and the next one beside.
    children: Link<Node>,
    next_sibling: Link<Node>,
    children_len: AtomicU32,
    other: Link<Node>,
    buffered: Link<Node>,
    from_buffer: Link<Node>,
    /// Flags of the scope that are set already; [`AWAITS_TYPE`].
    flags_set: AtomicU32,
    /// The last list of names whose order was proved to be the order of elements, and the last one
    /// disproved.
    proved: AtomicPtr<&'static str>,
    disproved: AtomicPtr<&'static str>,
}

/// The place of a `deserialize_with` whose type is not known yet. No scope has this flag.
const AWAITS_TYPE: u32 = 1 << 31;

impl Node {
    /// Enters the child of a step with values of `ty`, made when there is none. `fold`: a type
    /// inside itself is counted at its outermost place.
    #[inline]
    pub(super) fn enter(&'static self, step: Step<'_>, ty: TypeOf, fold: bool) -> &'static Node {
        let found = self.child(step, ty, fold);
        found.enter();
        found.node
    }

    /// The same for a field.
    ///
    /// PERF: this and the next are never inlined: leaves without a frame of their own, once for all
    /// types, so that what calls them stays small enough to be inlined. Generic, so that they are
    /// compiled with the program, which knows better where its thread-locals are.
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

    /// The same for a place that is the only one of its kind: elements, keys or values.
    #[inline(never)]
    pub(super) fn enter_only<const KIND: u32>(&'static self, ty: TypeOf) -> &'static Node {
        match self.first(Step::Single(KIND), ty) {
            Some(edge) => edge.enter(),
            None => self.enter_new_only(KIND, ty),
        }
    }

    // PERF: these get what a step is made of: a whole one would need a frame in their callers.
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

    /// The same child, not entered.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn child(&'static self, step: Step<'_>, ty: TypeOf, fold: bool) -> Found {
        match self.find(&step, ty) {
            Some(found) => found,
            None => self.new_child(step, ty, fold),
        }
    }

    /// The node itself, as if it had been looked for.
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

    /// Returns its label.
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

    /// What that function really deserializes: the first time it is seen, it becomes the type of
    /// the scope.
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

    /// Gives it a scope of its own below the one it is counted at so far, with values of `shown`,
    /// or says why it has none.
    fn add_scope(&mut self, shown: Type) -> Added {
        let label = self.label();
        let added = scopes::add(&NewScope {
            parent: self.scope,
            kind: label.kind,
            flags: label.flags,
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
