//! Scopes: the phases of the program and the fields of its data, one tree.

use super::{Profile, ScopeId, TypeId};
use std::iter::successors;

/// A phase of the program, or a place in the data it deserializes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Scope {
    /// The scope around it; the root is its own parent.
    pub parent: u32,
    /// The kind of scope.
    pub kind: ScopeKind,
    /// A phase's, field's or variant's name, the index of an element; else empty.
    pub name: String,
    /// The type of its values; `None` for phases.
    pub value_type: Option<TypeId>,
    /// Size of such a value, bytes.
    pub value_bytes: u64,
    /// The type contains itself: inner values are counted here, at the outermost place.
    pub recursive: bool,
    /// `true` if scopes below it were counted here, because they were too deep or did not fit.
    pub folded: bool,
    /// A root whose values are built in an arena: what they own outside of it is never dropped.
    pub in_arena: bool,
    /// A place whose values were overwritten in place. Those made anew have another scope.
    pub in_place: bool,
    /// Number of times that it was entered; for fields, the number of values.
    pub entered: u64,
    /// Input bytes reported by the program, 0 = not reported.
    pub input_bytes: u64,
    /// Records reported by the program, 0 = not reported.
    pub records: u64,
    /// Phases: nanoseconds from entry to exit, summed over all times. Threads that entered it by a
    /// handle add nothing. `None` if it is not known, or if an entry has not ended.
    pub elapsed_ns: Option<u64>,
    /// Phases: number of entries that have not ended.
    pub running: u64,
    /// Phases and roots: net bytes that their threads allocated while in them, summed over all
    /// entries that ended. What stays of a phase when it ends; negative where it frees more than it
    /// allocates. `None` where it is not known of all of them.
    pub stayed_bytes: Option<i64>,
}

/// The kind of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScopeKind {
    /// The root of all scopes, or a phase named by the program.
    #[default]
    Phase,
    /// A value deserialized as `Profiled<T>`: a path begins here, with the name of its type.
    Root,
    /// `.name`
    Field,
    /// `[]`
    Element,
    /// `{key}`
    Key,
    /// `{value}`
    Value,
    /// `::Name`
    Variant,
    /// `#3`: an element of a tuple, or a field whose name the format does not tell.
    Index,
    /// `(buffered)`: what serde buffers below flatten, untagged and internally tagged.
    Buffered,
    /// `(from buffer)`: what is built from the buffer, failed variants included.
    FromBuffer,
    /// `(other)`: names without a place of their own, because they did not fit.
    Other,
}

impl ScopeKind {
    /// Returns `true` if it is a place in data.
    pub fn is_field(self) -> bool {
        self != ScopeKind::Phase
    }

    /// Returns one step of a path: `.first`, `[]`, `{key}`, `::Variant`; for a root, the name of
    /// its type.
    pub(crate) fn step(self, name: &str, type_name: Option<&str>) -> String {
        match self {
            ScopeKind::Phase => name.to_owned(),
            ScopeKind::Root => type_name.unwrap_or("?").to_owned(),
            ScopeKind::Field => format!(".{name}"),
            ScopeKind::Element => "[]".to_owned(),
            ScopeKind::Key => "{key}".to_owned(),
            ScopeKind::Value => "{value}".to_owned(),
            ScopeKind::Variant => format!("::{name}"),
            ScopeKind::Index => format!("#{name}"),
            ScopeKind::Buffered => "(buffered)".to_owned(),
            ScopeKind::FromBuffer => "(from buffer)".to_owned(),
            ScopeKind::Other => "(other)".to_owned(),
        }
    }
}

impl Profile {
    /// A scope and those around it, the innermost first; nothing where there is no such scope.
    pub fn scopes_around(&self, scope: ScopeId) -> impl Iterator<Item = (ScopeId, &Scope)> {
        let known = |id: ScopeId| Some((id, self.scopes.get(id.0 as usize)?));
        successors(known(scope), move |&(at, scope)| {
            // Parents come before children; anything else is a damaged recording, and might be a
            // circle.
            known(ScopeId(scope.parent)).filter(|(parent, _)| *parent < at)
        })
    }
}

/// Longer paths are written with their last step only.
const PATH_BYTES: usize = 4_096;

/// The path of a place by the path around it and its own step.
pub(super) fn inside(outer: &str, step: &str) -> String {
    if outer.len() > PATH_BYTES {
        format!("...{step}")
    } else {
        format!("{outer}{step}")
    }
}

/// The mean of a sum over entries, rounded to the nearest whole; `None` if there are no entries.
pub(crate) fn per_entry(sum: i64, entries: u64) -> Option<i64> {
    let (sum, entries) = (i128::from(sum), i128::from(entries));
    // Half an entry is added away from 0, so that the division rounds to the nearest.
    let rounded = (2 * sum + sum.signum() * entries).checked_div(2 * entries)?;
    i64::try_from(rounded).ok()
}

/// The sum of two figures when both are known.
pub fn both(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    Some(one?.saturating_add(other?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_by_entry_is_rounded_to_the_nearest() {
        let cases = [
            (7, 2, 4),
            (-7, 2, -4),
            (5, 4, 1),
            (-5, 4, -1),
            (0, 9, 0),
            (i64::MIN, 1, i64::MIN),
        ];
        for (sum, entries, mean) in cases {
            assert_eq!(per_entry(sum, entries), Some(mean), "{sum} / {entries}");
        }
        assert_eq!(per_entry(7, 0), None);
        assert_eq!(per_entry(i64::MAX, u64::MAX), Some(0));
    }

    #[test]
    fn every_kind_of_place_has_its_own_step() {
        let steps: Vec<String> = [
            ScopeKind::Phase,
            ScopeKind::Root,
            ScopeKind::Field,
            ScopeKind::Element,
            ScopeKind::Key,
            ScopeKind::Value,
            ScopeKind::Variant,
            ScopeKind::Index,
            ScopeKind::Buffered,
            ScopeKind::FromBuffer,
            ScopeKind::Other,
        ]
        .map(|kind| kind.step("n", Some("T")))
        .to_vec();
        let expected = [
            "n",
            "T",
            ".n",
            "[]",
            "{key}",
            "{value}",
            "::n",
            "#n",
            "(buffered)",
            "(from buffer)",
            "(other)",
        ];
        assert_eq!(steps, expected);
        assert_eq!(ScopeKind::Root.step("", None), "?");
    }
}
