//! The subject of a limit: the whole program, or the rows that a pattern matches.

use std::fmt;

use super::Pattern;
use crate::table::{By, Detail, Row};
use crate::units::printable;

/// The subject of a limit. A pattern limits the sum of all rows that it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The whole program.
    Total,
    /// Rows of one of [`Subject::GROUPINGS`]: phases and fields by path, with the phases or places
    /// inside them; types with or without module paths.
    Rows(By, Pattern),
}

impl Subject {
    /// The groupings whose rows can be limited.
    pub const GROUPINGS: [By; 4] = [By::Phase, By::Owner, By::Type, By::Field];
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Total => f.write_str("total"),
            Subject::Rows(by, pattern) => {
                write!(f, "{} \"{}\"", by.name(), printable(pattern.text()))
            }
        }
    }
}

/// Returns `true` if a row is meant: a type by either name, an owner with or without the word
/// behind it.
pub(super) fn is_match(row: &Row, pattern: &Pattern) -> bool {
    let full = match &row.detail {
        Detail::Type(detail) => detail.full_name.as_deref(),
        Detail::Owner { .. } => row.key.strip_suffix(DEPENDENCY),
        _ => None,
    };
    pattern.matches(&row.key) || full.is_some_and(|full| pattern.matches(full))
}

/// Behind owners of other crates.
pub(super) const DEPENDENCY: &str = " (dependency)";
