//! Paths of places, as reports spell them: `Fleet.vessels[].crew`.

use crate::profiled::tree::Node;
use std::fmt::{self, Display, Write};
use tracking_alloc_recording::scope_kind;

/// The path of a place. Control characters are escaped, because some names come from the data.
pub(super) struct Path(pub(super) &'static Node);

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Path(node) = *self;
        if let Some(parent) = node.parent {
            Path(parent).fmt(f)?;
        }
        let label = node.label();
        if label.kind == scope_kind::ROOT {
            return ShortName(node.ty.name).fmt(f);
        }
        f.write_str(mark(label.kind))?;
        for character in label.name.chars() {
            if character.is_control() {
                character.escape_default().fmt(f)?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

/// Returns the text before the name of a step, or for a step without a name.
fn mark(kind: u32) -> &'static str {
    match kind {
        scope_kind::FIELD => ".",
        scope_kind::VARIANT => "::",
        scope_kind::INDEX => "#",
        scope_kind::ELEMENT => "[]",
        scope_kind::KEY => "{key}",
        scope_kind::VALUE => "{value}",
        scope_kind::BUFFERED => "(buffered)",
        scope_kind::FROM_BUFFER => "(from buffer)",
        _ => "(other)",
    }
}

/// Returns `true` if a place has this path. A guessed name also counts as its name.
pub(super) fn is_at(node: &'static Node, path: &str) -> bool {
    let (mut node, mut rest) = (node, path);
    loop {
        let label = node.label();
        if label.kind == scope_kind::ROOT {
            return EqualText::is(&ShortName(node.ty.name), rest);
        }
        // A step with a name is found only by that name.
        let named = |name: &str, mark: &str| match name {
            "" => None,
            name => rest.strip_suffix(name)?.strip_suffix(mark),
        };
        let mark = mark(label.kind);
        let step = match label.kind {
            scope_kind::FIELD | scope_kind::VARIANT | scope_kind::INDEX => {
                named(label.name, mark).or_else(|| named(label.guess, "."))
            }
            _ => rest.strip_suffix(mark),
        };
        let (Some(before), Some(parent)) = (step, node.parent) else {
            return false;
        };
        (node, rest) = (parent, before);
    }
}

/// A type's name as in reports: without module paths and without lifetimes.
struct ShortName(&'static str);

impl Display for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(next) = rest.chars().next() {
            if next.is_alphanumeric() || "_:".contains(next) {
                let path = up_to(rest, |c| !(c.is_alphanumeric() || "_:".contains(c)));
                f.write_str(path.rsplit("::").next().unwrap_or(path))?;
                rest = &rest[path.len()..];
            } else if let Some(after) = lifetime(rest).or_else(|| only_lifetimes(rest)) {
                rest = after;
            } else {
                f.write_char(next)?;
                rest = &rest[next.len_utf8()..];
            }
        }
        Ok(())
    }
}

/// Returns the beginning of a text, up to the first character that `is_end` accepts.
fn up_to(text: &str, is_end: impl Fn(char) -> bool) -> &str {
    text.split_once(&is_end).map_or(text, |(before, _)| before)
}

/// Returns the text after a lifetime, `'a, ` or `'_ `, at its start.
fn lifetime(text: &str) -> Option<&str> {
    let name = text.strip_prefix('\'')?;
    let len = up_to(name, |c| !(c.is_alphanumeric() || c == '_')).len();
    Some(name[len..].trim_start_matches([',', ' ']))
}

/// Returns the text after a list of only lifetimes, `<'_>`, at its start.
fn only_lifetimes(text: &str) -> Option<&str> {
    let mut rest = lifetime(text.strip_prefix('<')?)?;
    while let Some(after) = lifetime(rest) {
        rest = after;
    }
    rest.strip_prefix('>')
}

/// Compares a text with another while that is written, without storing it.
struct EqualText<'a>(&'a str);

impl EqualText<'_> {
    fn is(written: &impl Display, text: &str) -> bool {
        let mut same = EqualText(text);
        write!(same, "{written}").is_ok() && same.0.is_empty()
    }
}

impl Write for EqualText<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(piece).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_spelled_as_in_reports() {
        for (name, spelled) in [
            ("app::model::City", "City"),
            ("app::Bor<'_>", "Bor"),
            ("app::G<alloc::borrow::Cow<'_, str>>", "G<Cow<str>>"),
            ("app::Two<'_, '_, alloc::vec::Vec<u8>>", "Two<Vec<u8>>"),
            ("alloc::vec::Vec<app::Two<'_, '_>>", "Vec<Two>"),
            ("(app::A, &'_ str, [u8; 3])", "(A, &str, [u8; 3])"),
        ] {
            assert_eq!(ShortName(name).to_string(), spelled);
            assert!(EqualText::is(&ShortName(name), spelled));
        }
    }
}
