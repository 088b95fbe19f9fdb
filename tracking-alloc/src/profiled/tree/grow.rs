//! Making a place that was not known yet: cold. Recursion folds on the nearest place of the same type, names beyond
//! the bound are one place, what finds no room in the recording is counted at its parent.

use super::edges::Found;
use super::label::{Label, Step};
use super::write_lock::WriteLock;
use super::{AWAITS_TYPE, FOLDED, Node, RECURSIVE, Type, TypeOf, memory};
use crate::current_scope::Added;
use crate::profiled::known;
use crate::profiled::register;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::{scope_flags, scope_kind};

/// Different places under one.
const MOST_CHILDREN: u32 = 4096;

impl Node {
    /// The child for a step, wherever it must be counted. `fold`: a type inside itself is counted at its outermost place.
    #[cold]
    #[inline(never)]
    pub(super) fn new_child(
        &'static self,
        at: (usize, usize),
        of: TypeOf,
        step: &Step<'_>,
        fold: bool,
    ) -> Found {
        let ty = of();
        // SAFETY: null or a node, which is never given back.
        let other = unsafe { self.other.load(Acquire).as_ref() };
        if let Some(other) = other
            && self.children_len.load(Relaxed) >= MOST_CHILDREN
            && self.known(ty, step).is_none()
        {
            return other.found();
        }
        let Some(_lock) = WriteLock::acquire() else {
            return self.at_parent();
        };
        if let Some(found) = self.find(at.0, at.1, of) {
            return found;
        }
        let found = match self.ancestor(ty, step).filter(|_| fold) {
            Some(ancestor) => {
                ancestor.set_flag(RECURSIVE, scope_flags::RECURSIVE);
                ancestor.found()
            }
            None => match self.known(ty, step) {
                Some(child) => child.found(),
                None if self.children_len.load(Relaxed) >= MOST_CHILDREN => {
                    return self
                        .only(&self.other, &Step::Other)
                        .map_or_else(|| self.at_parent(), Node::found);
                }
                None => match self.add(ty, step) {
                    Some(child) => child.found(),
                    None => return self.at_parent(),
                },
            },
        };
        self.remember(at, of, found);
        found
    }

    /// The one child of its kind.
    #[cold]
    #[inline(never)]
    pub(super) fn new_single(&'static self, place: &AtomicPtr<Node>, step: &Step<'_>) -> Found {
        let Some(_lock) = WriteLock::acquire() else {
            return self.at_parent();
        };
        self.only(place, step)
            .map_or_else(|| self.at_parent(), Node::found)
    }

    /// For a place below that cannot be made now: a loss, each time.
    fn at_parent(&'static self) -> Found {
        register::lost();
        self.unvisited()
    }

    fn only(&'static self, place: &AtomicPtr<Node>, step: &Step<'_>) -> Option<&'static Node> {
        // SAFETY: null or a node, which is never given back.
        if let Some(known) = unsafe { place.load(Acquire).as_ref() } {
            return Some(known);
        }
        let made = self.make(Type::UNKNOWN, step)?;
        place.store(std::ptr::from_ref(made).cast_mut(), Release);
        Some(made)
    }

    /// The nearest place of the same type, itself included.
    fn ancestor(&'static self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        if ty.name.is_empty() {
            return None;
        }
        // All functions of one struct have one name: of those the field decides.
        let any_field = !known::is_with(ty.name);
        let mut next = Some(self);
        while let Some(node) = next {
            if node.ty.name == ty.name && (any_field || node.label().is(step)) {
                return Some(node);
            }
            next = node.parent;
        }
        None
    }

    fn known(&self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        // A name that was proved a moment ago, while another thread still went by the index.
        let proved = match step {
            Step::Index(_, Some(guess)) if !self.proved.load(Relaxed).is_null() => {
                Some(Step::Field(guess))
            }
            _ => None,
        };
        self.children().find(|child| {
            let label = child.label();
            child.ty.name == ty.name
                && (label.is(step) || proved.is_some_and(|step| label.is(&step)))
        })
    }

    fn children(&self) -> impl Iterator<Item = &'static Node> {
        // SAFETY: null or a node, which is never given back.
        let first = unsafe { self.children.load(Acquire).as_ref() };
        // SAFETY: likewise.
        std::iter::successors(first, |node| unsafe {
            node.next_sibling.load(Acquire).as_ref()
        })
    }

    fn add(&'static self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        let child = self.make(ty, step)?;
        child
            .next_sibling
            .store(self.children.load(Relaxed), Relaxed);
        self.children
            .store(std::ptr::from_ref(child).cast_mut(), Release);
        self.children_len.fetch_add(1, Relaxed);
        Some(child)
    }

    fn make(&'static self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        let label = Label::of(step)?;
        let mut node = Node::new(Some(self), std::ptr::from_ref(label).cast_mut(), ty);
        let mut shown = ty;
        if known::is_with(ty.name) {
            shown.name = known::WITH;
            node.flags_set.store(AWAITS_TYPE, Relaxed);
        }
        // Below a folded place nothing has a scope of its own, and without a recording nothing at all.
        if self.visit != 0 {
            match register::add(self.scope, label, shown) {
                Added::Scope(scope) => (node.scope, node.visit) = (scope, scope),
                Added::NotNow => return None,
                refused => {
                    node.lost = matches!(refused, Added::Full);
                    self.set_flag(FOLDED, scope_flags::FOLDED);
                }
            }
        } else {
            node.lost = self.lost;
        }
        memory::keep(node)
    }

    /// Whether the order of `names` is known to be the order of elements (`Some(true)`), or not to be.
    #[inline]
    pub(in super::super) fn is_order(&self, names: &'static [&'static str]) -> Option<bool> {
        let list = names.as_ptr().cast_mut();
        if std::ptr::eq(self.proved.load(Relaxed), list) {
            Some(true)
        } else if std::ptr::eq(self.disproved.load(Relaxed), list) {
            Some(false)
        } else {
            None
        }
    }

    /// The names are (or are not) in the order of elements: places that had only an index get their name (or lose
    /// their guess).
    #[cold]
    #[inline(never)]
    pub(in super::super) fn settle_order(
        &'static self,
        names: &'static [&'static str],
        proved: bool,
    ) {
        let Some(_lock) = WriteLock::acquire() else {
            return;
        };
        for child in self.children() {
            let label = child.label();
            let guessed = label.kind == scope_kind::INDEX
                && !label.guess.is_empty()
                && names.get(label.index) == Some(&label.guess);
            if !guessed {
                continue;
            }
            let step = if proved {
                Step::Field(label.guess)
            } else {
                Step::Index(label.index, None)
            };
            let Some(label) = Label::of(&step) else {
                return;
            };
            child
                .label
                .store(std::ptr::from_ref(label).cast_mut(), Release);
            if child.visit == child.scope && child.scope != 0 {
                register::rename(child.scope, label);
            }
        }
        self.forget_edges();
        let settled = if proved {
            &self.proved
        } else {
            &self.disproved
        };
        settled.store(names.as_ptr().cast_mut(), Relaxed);
    }
}
