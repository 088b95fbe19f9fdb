//! Entering a place: two stores in the thread's words, and one visit.

use super::tree::Node;
use crate::profiled::budget;
use heapglass_recorder::scopes::ScopeGuard;
use serde::de::Error;

/// A place that travels with the deserializer. The lowest bits of its address tell how it is
/// entered.
///
/// PERF: one word, so that a wrapper around a reference travels in two registers. It is also never
/// copied as a whole just after its parts were written, which is slow on processors.
#[derive(Clone, Copy)]
pub(super) struct At(*const Node);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Places are entered.
    Recording = 0,
    /// In addition, budgets are checked at each boundary.
    Budget = 1,
    /// Budgets are checked while serde buffers. The buffer is one place.
    BufferingInBudget = 2,
}

const HOW: usize = 3;
const _: () = assert!(align_of::<Node>() > HOW);

impl At {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(node: &'static Node, how: How) -> At {
        At(std::ptr::from_ref(node).map_addr(|address| address | how as usize))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn node(self) -> &'static Node {
        // SAFETY: made from a reference, whose address had none of these bits.
        unsafe { &*self.0.map_addr(|address| address & !HOW) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_budgeted(self) -> bool {
        self.0.addr() & HOW != How::Recording as usize
    }

    /// Returns `true` if serde buffers within a budget: there are boundaries, but no places.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_buffering(self) -> bool {
        self.0.addr() & How::BufferingInBudget as usize != 0
    }

    /// Runs `work`, which enters no place, between two boundaries.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn checked<R, E: Error>(self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        // PERF: the condition is checked twice, so that `work` is called, and compiled, in one
        // place.
        if self.is_budgeted() {
            budget::check(self.node())?;
        }
        let value = work()?;
        if self.is_budgeted() {
            budget::check(self.node())?;
        }
        Ok(value)
    }

    /// Deserializes in a place below that was already entered, while serde does not buffer. The
    /// thread is in `back` afterwards, however the call ends.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn within<R, E: Error>(
        self,
        entered: &'static Node,
        back: u32,
        work: impl FnOnce(At) -> Result<R, E>,
    ) -> Result<R, E> {
        let _entered = ScopeGuard { back };
        if self.is_budgeted() {
            return budget::in_field(entered, || work(At::new(entered, How::Budget)));
        }
        work(At::new(entered, How::Recording))
    }

    /// Runs `work` while serde buffers. The buffer is one place with all its contents. Afterwards
    /// the thread is in the place of values built from the buffer, until the enclosing place is
    /// left.
    #[inline]
    pub(super) fn buffering<R, E: Error>(
        self,
        work: impl FnOnce(Option<At>) -> Result<R, E>,
    ) -> Result<R, E> {
        let buffered = self.node().buffered();
        buffered.enter();
        let _entered = ScopeGuard {
            back: self.node().rebuilt().scope,
        };
        if !self.is_budgeted() {
            return work(None);
        }
        let at = At::new(buffered.node, How::BufferingInBudget);
        at.checked(|| work(Some(at)))
    }
}
