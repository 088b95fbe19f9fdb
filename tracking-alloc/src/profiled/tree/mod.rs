//! The tree of places in the data: one for all threads, kept beside the recording so that a known place is found
//! without a lock, by comparing addresses.
//!
//! Its memory comes from the system's allocator, never from the hooked one, and is never given back. Never panics.

mod edges;
mod grow;
mod label;
mod memory;
mod roots;
mod write_lock;

pub(super) use edges::Found;
pub(super) use label::{Label, Step, cut, key};
pub(super) use roots::root;

use super::register;
use edges::Edges;
use std::any::type_name;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// The type of the values at a place.
#[derive(Clone, Copy)]
pub(super) struct Type {
    /// Full name; empty where nothing is known.
    pub(super) name: &'static str,
    /// `size_of`.
    #[cfg_attr(
        not(any(recording, in_memory)),
        expect(dead_code, reason = "only whole platforms record")
    )]
    pub(super) bytes: usize,
}

impl Type {
    pub(super) const UNKNOWN: Type = Type { name: "", bytes: 0 };

    pub(super) fn unknown() -> Type {
        Type::UNKNOWN
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of<T>() -> Type {
        Type {
            name: type_name::<T>(),
            bytes: size_of::<T>(),
        }
    }
}

/// Says the type of the values at a place. PERF: one word, by which places are compared.
pub(super) type TypeOf = fn() -> Type;

/// A place in the data: all values at one path under one phase.
pub(super) struct Node {
    /// Where the recording counts it: its own scope, or its parent's when it is folded.
    scope: u32,
    /// The scope whose visits are counted; 0 = none.
    visit: u32,
    /// The table was full when it was made: each visit is a loss.
    lost: bool,
    ty: Type,
    label: AtomicPtr<Label>,
    parent: Option<&'static Node>,
    edges: AtomicPtr<Edges>,
    /// First of the places below, and the next one beside.
    children: AtomicPtr<Node>,
    next_sibling: AtomicPtr<Node>,
    children_len: AtomicU32,
    other: AtomicPtr<Node>,
    buffered: AtomicPtr<Node>,
    from_buffer: AtomicPtr<Node>,
    /// [`RECURSIVE`], [`FOLDED`]: set in the scope already. [`AWAITS_TYPE`]: not set yet.
    flags_set: AtomicU32,
    /// The last list of names whose order was proved to be the order of elements, and the last one disproved.
    proved: AtomicPtr<&'static str>,
    disproved: AtomicPtr<&'static str>,
}

const RECURSIVE: u32 = 1;
const FOLDED: u32 = 2;
const AWAITS_TYPE: u32 = 4;

impl Node {
    /// Enters the child reached by `key` with values of `ty`, made when there is none; `hint` is where it usually is.
    /// `fold`: a type inside itself is counted at its outermost place.
    #[inline]
    pub(super) fn enter<'a>(
        &'static self,
        hint: usize,
        key: usize,
        ty: TypeOf,
        fold: bool,
        step: impl FnOnce() -> Step<'a>,
    ) -> &'static Node {
        let found = self.child(hint, key, ty, fold, step);
        found.enter();
        found.node
    }

    /// The same for a field.
    ///
    /// PERF: this and the next are never inlined: leaves without a frame of their own, once for all types, so that what
    /// calls them stays small enough to be inlined. Generic, so that they are compiled with the program, which knows
    /// better where its thread-locals are.
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
        match self.first(index, key::field(name), ty) {
            Some(edge) => edge.enter(),
            None => self.enter_new_field(index, name, ty),
        }
    }

    /// The same for a place that is the only one of its kind: elements, keys or values, by its key.
    #[inline(never)]
    pub(super) fn enter_only<const KEY: usize>(&'static self, ty: TypeOf) -> &'static Node {
        match self.first(KEY - 1, KEY, ty) {
            Some(edge) => edge.enter(),
            None => self.enter_new_only(KEY, ty),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_new_field(
        &'static self,
        index: usize,
        name: &'static str,
        ty: TypeOf,
    ) -> &'static Node {
        self.enter(index, key::field(name), ty, true, || Step::Field(name))
    }

    #[cold]
    #[inline(never)]
    fn enter_new_only(&'static self, key: usize, ty: TypeOf) -> &'static Node {
        self.enter(key - 1, key, ty, true, || match key {
            key::ELEMENT => Step::Element,
            key::KEY => Step::Key,
            _ => Step::Value,
        })
    }

    /// The same child, not entered.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn child<'a>(
        &'static self,
        hint: usize,
        key: usize,
        ty: TypeOf,
        fold: bool,
        step: impl FnOnce() -> Step<'a>,
    ) -> Found {
        match self.find(hint, key, ty) {
            Some(found) => found,
            None => self.new_child((hint, key), ty, &step(), fold),
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

    /// The node without counting a visit.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn unvisited(&'static self) -> Found {
        Found {
            visit: 0,
            ..self.found()
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn scope(&self) -> u32 {
        self.scope
    }

    /// Whether visits of it are lost: it found no room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Where serde's buffering below it is counted.
    pub(super) fn buffered(&'static self) -> Found {
        self.single(&self.buffered, Step::Buffered)
    }

    /// Where what is built from that buffer is counted.
    pub(super) fn rebuilt(&'static self) -> Found {
        self.single(&self.from_buffer, Step::FromBuffer)
    }

    fn single(&'static self, place: &AtomicPtr<Node>, step: Step<'_>) -> Found {
        // SAFETY: null or a node, which is never given back.
        match unsafe { place.load(Acquire).as_ref() } {
            Some(node) => node.found(),
            None => self.new_single(place, &step),
        }
    }

    /// What it is called.
    pub(super) fn label(&self) -> &'static Label {
        // SAFETY: null or a label, which is never given back.
        unsafe { self.label.load(Acquire).as_ref() }.unwrap_or(&Label::NONE)
    }

    pub(super) fn parent(&self) -> Option<&'static Node> {
        self.parent
    }

    pub(super) fn type_name(&self) -> &'static str {
        self.ty.name
    }

    /// Sets a flag of the scope, once.
    fn set_flag(&self, what: u32, flags: u32) {
        if self.flags_set.fetch_or(what, Relaxed) & what == 0 {
            register::flag(self.scope, flags);
        }
    }

    /// Whether it is the place of a `deserialize_with` whose type is not known yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn awaits_type(&self) -> bool {
        self.flags_set.load(Relaxed) & AWAITS_TYPE != 0
    }

    /// What that function really deserializes: the first time it is seen, it becomes the type of the scope.
    #[cold]
    #[inline(never)]
    pub(super) fn retype(&self, ty: Type) {
        if self.flags_set.fetch_and(!AWAITS_TYPE, Relaxed) & AWAITS_TYPE != 0 && self.visit != 0 {
            register::retype(self.scope, ty);
        }
    }

    fn new(parent: Option<&'static Node>, label: *mut Label, ty: Type) -> Node {
        Node {
            scope: parent.map_or(0, Node::scope),
            visit: 0,
            lost: false,
            ty,
            label: AtomicPtr::new(label),
            parent,
            edges: AtomicPtr::new(null_mut()),
            children: AtomicPtr::new(null_mut()),
            next_sibling: AtomicPtr::new(null_mut()),
            children_len: AtomicU32::new(0),
            other: AtomicPtr::new(null_mut()),
            buffered: AtomicPtr::new(null_mut()),
            from_buffer: AtomicPtr::new(null_mut()),
            flags_set: AtomicU32::new(0),
            proved: AtomicPtr::new(null_mut()),
            disproved: AtomicPtr::new(null_mut()),
        }
    }
}
