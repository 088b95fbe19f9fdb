//! Being in a place: two stores in the thread's words, and one visit.

use super::register;
use super::tree::{Found, Node};
use crate::current_scope::set;
use crate::profiled::budget;
use serde::de::Error;

/// What travels with the deserializer.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) node: &'static Node,
    pub(super) how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Places are entered.
    Recording,
    /// A budget is compared at each boundary, too.
    Budget,
    /// A budget is compared; serde buffers, which is one place.
    BufferingInBudget,
}

impl At {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn to(self, node: &'static Node) -> At {
        At { node, ..self }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_budgeted(self) -> bool {
        self.how != How::Recording
    }

    /// Something that enters no place: `work` between two boundaries.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn checked<R, E: Error>(self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        if !self.is_budgeted() {
            return work();
        }
        budget::check(self.node)?;
        let value = work()?;
        budget::check(self.node)?;
        Ok(value)
    }

    /// Deserializes in a place below; the thread is in `back` afterwards, however it ends.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn within<R, E: Error>(
        self,
        found: Found,
        back: u32,
        work: impl FnOnce(At) -> Result<R, E>,
    ) -> Result<R, E> {
        let _entered = Entered::new(found, back);
        let at = self.to(found.node);
        if self.is_budgeted() {
            return budget::in_field(found.node, || work(at));
        }
        work(at)
    }

    /// serde buffers: one place, whatever lies inside. Afterwards the thread is where things are built from the buffer,
    /// until the place around it is left.
    #[inline]
    pub(super) fn buffering<R, E: Error>(
        self,
        work: impl FnOnce(Option<At>) -> Result<R, E>,
    ) -> Result<R, E> {
        let buffered = self.node.buffered();
        let _entered = Entered::new(buffered, self.node.rebuilt().scope);
        if !self.is_budgeted() {
            return work(None);
        }
        let at = At {
            node: buffered.node,
            how: How::BufferingInBudget,
        };
        at.checked(|| work(Some(at)))
    }
}

/// While it lives the thread is in a place; then, also when a visitor panics, in the one it came from.
pub(super) struct Entered {
    back: u32,
}

impl Entered {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(found: Found, back: u32) -> Entered {
        if found.visit != 0 {
            register::visit(found.visit);
        } else if found.node.is_lost() {
            register::lost();
        }
        set(found.scope);
        Entered { back }
    }

    /// Without counting a value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn unvisited(found: Found, back: u32) -> Entered {
        set(found.scope);
        Entered { back }
    }
}

impl Drop for Entered {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        set(self.back);
    }
}
