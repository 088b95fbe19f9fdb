//! Owners: what a site is charged to.
//!
//! A recording without stacks has nothing but phases and fields to tell sites apart by: its sites are charged to their
//! place. Must never look like a stack: a place is in parentheses, of no file and no known code.

use super::{FunctionId, Group, Profile, ScopeId, Site};
use std::borrow::Cow;

/// What a site is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Charged {
    /// A function.
    Function(FunctionId),
    /// A phase or field, in a recording without stacks.
    Place(ScopeId),
    /// No code of the program.
    Group(Group),
}

impl Charged {
    /// The whole name: a function's, or `(in load > Fleet.vessels[].name)`. Not safe for a terminal before
    /// [`crate::units::printable`].
    pub fn name(self, profile: &Profile) -> Cow<'_, str> {
        match self {
            Charged::Function(id) => Cow::Borrowed(profile.function_name(id)),
            Charged::Group(group) => Cow::Borrowed(group.name()),
            Charged::Place(scope) => {
                let phase = phase_path(profile, scope);
                match (phase, field_path(profile, scope)) {
                    (Some(phase), Some(field)) => format!("(in {phase} > {field})").into(),
                    (phase, field) => {
                        let one = field.or(phase.as_deref()).unwrap_or_default();
                        format!("(in {one})").into()
                    }
                }
            }
        }
    }

    /// The name for narrow cells: `Vec::push`, `(in Fleet.vessels[].name)`.
    pub fn short_name(self, profile: &Profile) -> Cow<'_, str> {
        match self {
            Charged::Function(id) => match profile.functions.get(id.0 as usize) {
                Some(function) if !function.short.is_empty() => Cow::Borrowed(&function.short),
                _ => self.name(profile),
            },
            Charged::Group(_) => self.name(profile),
            Charged::Place(scope) => match field_path(profile, scope) {
                Some(field) => format!("(in {field})").into(),
                None => self.name(profile),
            },
        }
    }
}

fn phase_path(profile: &Profile, scope: ScopeId) -> Option<String> {
    let phases = profile.phases();
    (phases.phase_of(scope).0 != 0).then(|| phases.path(profile, scope))
}

fn field_path(profile: &Profile, scope: ScopeId) -> Option<&str> {
    let fields = profile.fields();
    Some(&fields.get(fields.field_of(scope))?.path)
}

impl Profile {
    /// The place of a site that has no stack, because none were recorded; `None` outside all phases and fields.
    pub fn place_of(&self, site: &Site) -> Option<Charged> {
        let stackless =
            !self.capture.has_stacks() && !self.has_stack(site) && !site.marks.synthetic;
        let inside =
            self.phases().phase_of(site.scope).0 != 0 || self.fields().field_of(site.scope) != 0;
        (stackless && inside).then_some(Charged::Place(site.scope))
    }

    /// What a site is charged to; `None` where nothing is known.
    pub fn charged_to(&self, site: &Site) -> Option<Charged> {
        if let Some(group) = site.group {
            return Some(Charged::Group(group));
        }
        let frame = site.owner;
        let frame = frame.and_then(|frame| self.frames.get(frame.0 as usize));
        let function = frame.map(|frame| Charged::Function(frame.function));
        function.or_else(|| self.place_of(site))
    }
}
