//! The look-up of known places: a small table in each node, read without a lock.
//!
//! An entry is compared by the addresses of the step's name and of the function that returns the
//! type. Addresses are only hints: the same name or function may have several, one for each codegen
//! unit, and each gets an entry. The content was compared when the entry was made.

use super::{Node, Step, TypeOf};
use heapglass_recorder::leaked::{self, Link};
use heapglass_recorder::scopes;
use std::ptr::fn_addr_eq;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// A place that was found, and the scope at which the recording counts it.
#[derive(Clone, Copy)]
pub(in super::super) struct Found {
    pub(in super::super) node: &'static Node,
    pub(in super::super) scope: u32,
    /// The scope whose visits are counted, or 0 for none.
    pub(in super::super) visit: u32,
}

impl Found {
    /// Counts a visit, or a loss, and sets the thread's scope.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn enter(self) {
        if self.visit != 0 {
            scopes::visit(self.visit);
        } else if self.node.lost {
            scopes::lost();
        }
        scopes::set(self.scope);
    }
}

pub(super) struct Edge {
    key: usize,
    ty: TypeOf,
    found: Found,
}

impl Edge {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_for(&self, key: usize, ty: TypeOf) -> bool {
        self.key == key && fn_addr_eq(self.ty, ty)
    }

    /// Does the same as [`Found::enter`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn enter(&'static self) -> &'static Node {
        let Found { node, scope, visit } = self.found;
        let counted = match visit {
            0 => !node.lost,
            _ => scopes::visit_again(visit),
        };
        if !counted {
            return self.enter_slowly();
        }
        scopes::set(scope);
        node
    }

    /// PERF: the edge contains everything that this needs, so it is a tail call and nothing must be
    /// kept.
    #[cold]
    #[inline(never)]
    fn enter_slowly(&'static self) -> &'static Node {
        self.found.enter();
        self.found.node
    }
}

/// A table of edges, replaced by a larger one when it fills. Slots are never emptied.
pub(super) struct Edges {
    mask: usize,
    used: AtomicUsize,
    slots: *const Link<Edge>,
}

// SAFETY: the slots are atomic and are never freed.
unsafe impl Sync for Edges {}

/// Number of slots to search.
const PROBES: usize = 8;
/// The maximum size of a table.
const MOST: usize = 1 << 14;

impl Edges {
    fn new(size: usize) -> Option<&'static Edges> {
        let slots = leaked::zeroed::<Link<Edge>>(size)?;
        leaked::leak(Edges {
            mask: size - 1,
            used: AtomicUsize::new(0),
            slots: slots.as_ptr(),
        })
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slot(&self, at: usize) -> &Link<Edge> {
        // SAFETY: there are `mask + 1` slots, which were zeroed when they were made and are never
        // freed.
        unsafe { &*self.slots.add(at & self.mask) }
    }

    fn is_half_full(&self) -> bool {
        2 * self.used.load(Relaxed) > self.mask
    }

    /// Puts an edge into the first free slot from `hint` on. Returns `false` if none of the
    /// searched slots is free.
    fn put(&self, hint: usize, edge: &'static Edge) -> bool {
        for probe in 0..PROBES.min(self.mask + 1) {
            let slot = self.slot(hint.wrapping_add(probe));
            if slot.get().is_none() {
                slot.set(edge);
                self.used.fetch_add(1, Relaxed);
                return true;
            }
        }
        false
    }
}

impl Node {
    /// Returns the edge in its usual slot.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn first(&self, step: Step<'_>, ty: TypeOf) -> Option<&'static Edge> {
        let edge = self.edges.get()?.slot(step.hint()).get()?;
        edge.is_for(step.key(), ty).then_some(edge)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn find(&self, step: &Step<'_>, ty: TypeOf) -> Option<Found> {
        let (hint, key) = (step.hint(), step.key());
        let edges = self.edges.get()?;
        for probe in 0..PROBES {
            let edge = edges.slot(hint.wrapping_add(probe)).get()?;
            if edge.is_for(key, ty) {
                return Some(edge.found);
            }
        }
        None
    }

    /// Remembers the place for a step and type. Call only under the write lock.
    pub(super) fn remember(&self, step: &Step<'_>, ty: TypeOf, found: Found) {
        let (hint, key) = (step.hint(), step.key());
        let Some(edge) = leaked::leak(Edge { key, ty, found }) else {
            return;
        };
        let old = self.edges.get();
        if old.is_some_and(|old| old.put(hint, edge)) {
            return;
        }
        let size = match old {
            None => 4,
            // NOTE: the table is crowded only near this hint, or has its maximum size. This edge is
            // then looked up in the slow way.
            Some(old) if !old.is_half_full() || old.mask >= MOST - 1 => return,
            Some(old) => 2 * (old.mask + 1),
        };
        // NOTE: hints are not kept, so users fill the larger table again, one edge at a time.
        let Some(edges) = Edges::new(size.max((hint.min(64) + 1).next_power_of_two())) else {
            return;
        };
        edges.put(hint, edge);
        self.edges.set(edges);
    }
}
