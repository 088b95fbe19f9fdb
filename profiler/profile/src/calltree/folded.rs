//! Folded stacks, one line for each path: `main;load;parse 1234`, as inferno, FlameGraph and
//! speedscope read them.
//!
//! A name must never break the line: see [`write_folded`] for the replaced characters.

use std::io::{self, Write};

use super::CallTree;
use crate::profile::{Measure, Profile};

/// Writes every path that has figures of its own, in the tree's order of children.
///
/// The format has no quoting, so names are adapted as inferno's own collapsers do: `;` becomes `:`;
/// control characters are spelled `\u{a}`; a name that ends in a blank and digits, which would be
/// read as a second column, gets `_` for that blank; blanks at either end are dropped.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_folded(
    tree: &CallTree,
    profile: &Profile,
    measure: Measure,
    mut out: impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    // Where the line of each depth on the current path ends.
    let mut ends: Vec<usize> = vec![0];
    for id in tree.preorder().skip(1) {
        let depth = tree.node(id).depth as usize;
        ends.truncate(depth);
        line.truncate(ends[depth - 1]);
        if depth > 1 {
            line.push(';');
        }
        push_name(&mut line, &tree.name(id, profile));
        ends.push(line.len());
        let own = measure.of(tree.own(id));
        if own > 0 {
            writeln!(out, "{line} {own}")?;
        }
    }
    out.flush()
}

/// Adds a name to a line, as [`write_folded`] adapts it.
pub fn push_name(line: &mut String, name: &str) {
    let printable = crate::units::printable(name.trim());
    let name = printable.trim();
    if name.is_empty() {
        line.push_str("[unnamed]");
        return;
    }
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let column = name.rfind(' ').filter(|&at| is_number(&name[at + 1..]));
    // A leading `# ` would make the line a comment.
    let comment = name.starts_with("# ").then_some(1);
    for (at, c) in name.char_indices() {
        line.push(match c {
            ';' => ':',
            ' ' if Some(at) == column || Some(at) == comment => '_',
            c => c,
        });
    }
}
