//! Owners: the functions that sites are charged to.
//!
//! A recording without stacks tells sites apart only by phases and fields, so its sites are charged
//! to their place. A place must never look like a stack: it is in parentheses, and has no file and
//! no known code.

use super::{Label, Profile, Site};

impl Profile {
    /// The place of a site that has no stack, because none were recorded; `None` outside all phases
    /// and fields.
    pub fn place_of(&self, site: &Site) -> Option<Label> {
        let stackless =
            !self.capture.has_stacks() && !self.has_stack(site) && !site.marks.synthetic;
        let inside =
            self.phases().phase_of(site.scope).0 != 0 || self.fields().field_of(site.scope) != 0;
        (stackless && inside).then_some(Label::Place(site.scope))
    }

    /// Returns the label that a site is charged to; `None` if nothing is known.
    pub fn charged_to(&self, site: &Site) -> Option<Label> {
        if let Some(group) = site.group {
            return Some(Label::Group(group));
        }
        let frame = site.owner;
        let frame = frame.and_then(|frame| self.frames.get(frame.0 as usize));
        let function = frame.map(|frame| Label::Function(frame.function));
        function.or_else(|| self.place_of(site))
    }
}
