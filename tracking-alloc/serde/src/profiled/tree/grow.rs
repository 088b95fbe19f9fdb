//! Creating a new place, on a cold path. Recursion folds into the nearest place of the same type,
//! names beyond the limit share one place, and places without room in the recording are counted at
//! their parent.

use super::edges::Found;
use super::label::{Label, Step};
use super::write_lock::WriteLock;
use super::{AWAITS_TYPE, Node, Type, TypeOf};
use heapglass_recorder::leaked::{self, Link};
use heapglass_recorder::scopes;
use heapglass_recorder::scopes::Added;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{scope_flags, scope_kind};

/// Maximum number of different places under one place.
const MOST_CHILDREN: u32 = 4096;

impl Node {
    /// Returns the child for a step, or the place at which it must be counted. With `fold`, a type
    /// inside itself is counted at its outermost place.
    #[cold]
    #[inline(never)]
    pub(super) fn new_child(&'static self, step: Step<'_>, of: TypeOf, fold: bool) -> Found {
        let ty = of();
        if let Some(other) = self.other.get()
            && self.children_len.load(Relaxed) >= MOST_CHILDREN
            && self.known(ty, &step).is_none()
        {
            return other.found();
        }
        let Some(_lock) = WriteLock::acquire() else {
            return self.at_parent();
        };
        if let Some(found) = self.find(&step, of) {
            return found;
        }
        let found = match self.ancestor(ty, &step).filter(|_| fold) {
            Some(ancestor) => {
                ancestor.set_flag(scope_flags::RECURSIVE);
                ancestor.found()
            }
            None => match self.known(ty, &step) {
                Some(child) => child.found(),
                None if self.children_len.load(Relaxed) >= MOST_CHILDREN => {
                    return self.only(&self.other, scope_kind::OTHER);
                }
                None => match self.add(ty, &step) {
                    Some(child) => child.found(),
                    None => return self.at_parent(),
                },
            },
        };
        self.remember(&step, of, found);
        found
    }

    /// Returns the only child of a kind.
    #[cold]
    #[inline(never)]
    pub(super) fn new_single(&'static self, place: &Link<Node>, kind: u32) -> Found {
        match WriteLock::acquire() {
            Some(_lock) => self.only(place, kind),
            None => self.at_parent(),
        }
    }

    /// Handles a place below that cannot be created now. Each use is counted as a loss, not as a
    /// visit.
    fn at_parent(&'static self) -> Found {
        scopes::lost();
        Found {
            visit: 0,
            ..self.found()
        }
    }

    fn only(&'static self, place: &Link<Node>, kind: u32) -> Found {
        if let Some(known) = place.get() {
            return known.found();
        }
        let Some(made) = self.make(Type::default(), &Step::Single(kind)) else {
            return self.at_parent();
        };
        place.set(made);
        made.found()
    }

    /// Returns the nearest place of the same type, including the node itself.
    fn ancestor(&'static self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        if ty.name.is_empty() {
            return None;
        }
        // All functions of one struct have the same name, so the field must match too.
        let any_field = !is_with(ty.name);
        std::iter::successors(Some(self), |node| node.parent)
            .find(|node| node.ty.name == ty.name && (any_field || node.label().is(step)))
    }

    fn known(&self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        // A name that was just proved, while another thread still used the index.
        let proved = match step {
            Step::Index(_, Some(guess)) if !self.proved.load(Relaxed).is_null() => {
                Some(Step::Field(guess, 0))
            }
            _ => None,
        };
        self.children().find(|child| {
            let label = child.label();
            child.ty.name == ty.name
                && child.ty.is_in_place == ty.is_in_place
                && (label.is(step) || proved.is_some_and(|step| label.is(&step)))
        })
    }

    fn children(&self) -> impl Iterator<Item = &'static Node> {
        std::iter::successors(self.children.get(), |node| node.next_sibling.get())
    }

    fn add(&'static self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        let child = self.make(ty, step)?;
        child.next_sibling.set(self.children.get());
        self.children.set(child);
        self.children_len.fetch_add(1, Relaxed);
        Some(child)
    }

    fn make(&'static self, ty: Type, step: &Step<'_>) -> Option<&'static Node> {
        let mut node = Node::new(Some(self), Label::of(step)?, ty);
        let mut shown = ty;
        if is_with(ty.name) {
            shown.name = WITH;
            node.flags_set.store(AWAITS_TYPE, Relaxed);
        }
        // Below a folded place nothing has a scope of its own. Without a recording, no place has
        // one.
        if self.visit != 0 {
            match node.add_scope(shown) {
                Added::Scope(_) => {}
                Added::NotNow => return None,
                Added::Deep | Added::Full => self.set_flag(scope_flags::FOLDED),
            }
        } else {
            node.lost = self.lost;
        }
        leaked::leak(node)
    }

    /// Returns `Some(true)` if `names` are known to be in the order of elements, `Some(false)` if
    /// they are known not to be, and `None` if that is unknown.
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

    /// Settles if the names are in the order of elements. Places that had only an index get their
    /// name, or lose their guess.
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
                Step::Field(label.guess, label.index)
            } else {
                Step::Index(label.index, None)
            };
            let Some(label) = Label::of(&step) else {
                return;
            };
            child.label.set(label);
            if child.visit == child.scope && child.scope != 0 {
                scopes::rename(child.scope, label.kind, label.name);
            }
        }
        // Labels have changed, so every place is looked up again.
        self.edges.set(None);
        let settled = if proved {
            &self.proved
        } else {
            &self.disproved
        };
        settled.store(names.as_ptr().cast_mut(), Relaxed);
    }
}

/// The type shown until the type that a `deserialize_with` function reads is known.
const WITH: &str = "(deserialize_with)";

/// Returns `true` for the wrapper that serde_derive creates for `deserialize_with`. Its function
/// decides what is deserialized.
fn is_with(name: &str) -> bool {
    name.ends_with("::__DeserializeWith") || name.contains("::__DeserializeWith<")
}
