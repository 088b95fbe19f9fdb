//! Strings for cells: escaped, measured and truncated. Everything from a recording passes [`clean`]
//! before it reaches the terminal. Only `heapglass_profiler::units` formats figures.

use heapglass_profiler::table::{shortened_types, shorter_paths, without_arguments};
use std::borrow::Cow;

use heapglass_profiler::units::{is_figure, printable, words};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the width of `text` in cells.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Escapes control characters and direction marks in `name`, and turns tabs into spaces.
pub(crate) fn clean(name: &str) -> Cow<'_, str> {
    if name.contains('\t') {
        return Cow::Owned(printable(&name.replace('\t', "    ")).into_owned());
    }
    printable(name)
}

/// Returns the beginning of `text`, at most `cells` wide, with a final `…` if it was truncated.
pub(crate) fn fit(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let mut out: String = fitting(text.chars(), cells).collect();
    out.extend((cells > 0).then_some('…'));
    Cow::Owned(out)
}

/// Returns the characters that fit while leaving one of `cells` free.
fn fitting(chars: impl Iterator<Item = char>, cells: usize) -> impl Iterator<Item = char> {
    let mut used = 1;
    chars.take_while(move |c| {
        used += c.width().unwrap_or(0);
        used <= cells
    })
}

/// Returns the end of `text`, at most `cells` wide, with a leading `…` if it was truncated, so that
/// paths keep their file and line.
pub(crate) fn fit_end(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let kept: usize = fitting(text.chars().rev(), cells).map(char::len_utf8).sum();
    let mut out = String::new();
    out.extend((cells > 0).then_some('…'));
    out.push_str(text.get(text.len() - kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns a name in a tree, at most `cells` wide. Keeps the mark of its branch and the end of the
/// name. Shortens the indentation first, with a leading `…`, but keeps a third of the width for it.
pub(crate) fn fit_branch(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let name = text.trim_start_matches([' ', '▾', '▸']);
    let branch = text.strip_suffix(name).unwrap_or_default();
    // The arguments of a type say less than its name.
    let name = without_arguments(name, cells.saturating_sub(width(branch)).max(cells / 2));
    let room = cells.saturating_sub(width(&name)).max(cells / 3);
    let branch = fit_end(branch, room);
    let name = fit_end(&name, cells.saturating_sub(width(&branch)));
    Cow::Owned(format!("{branch}{name}"))
}

/// Returns both ends of `text`, at most `cells` wide, with `…` for the middle if it was truncated.
pub(crate) fn fit_middle(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let tail = cells.saturating_sub(1) / 2;
    let head = fit(text, cells.saturating_sub(tail));
    let end = fit_end(text, tail + 1);
    Cow::Owned(format!("{head}{}", end.trim_start_matches('…')))
}

/// Returns the name of a function, at most `cells` wide. Leaves out what says least first: the word
/// `closure`, the mark of a dependency, the modules in the middle, then all modules. Cuts the
/// function's own name only if that alone is wider.
pub(crate) fn fit_path(name: &str, cells: usize) -> Cow<'_, str> {
    if width(name) <= cells {
        return Cow::Borrowed(name);
    }
    let closure = name.replace("{{closure}}", "{{..}}");
    let dependency = closure.replace(" (dependency)", " (dep)");
    let plain = dependency.replace(" (dep)", "");
    let function = plain.trim_end_matches("::{{..}}").to_owned();
    let mut ways = vec![closure, dependency.clone(), plain.clone()];
    // The crate says more than the marks, and these say more than a module.
    let of_dependency = shorter_paths(&dependency);
    let of_plain = shorter_paths(&plain);
    ways.extend(of_dependency.first().cloned());
    ways.extend(of_plain.first().cloned());
    ways.extend(of_dependency.into_iter().skip(1));
    ways.extend(of_plain.into_iter().skip(1));
    ways.push(function.clone());
    ways.extend(shorter_paths(&function));
    match ways.iter().find(|way| width(way) <= cells) {
        Some(way) => Cow::Owned(way.clone()),
        // Generic names keep their beginning and their end.
        None if function.contains('<') => fit_middle(&function, cells).into_owned().into(),
        None => {
            let last = ways.last().map_or("", String::as_str);
            fit(last, cells).into_owned().into()
        }
    }
}

/// Returns the place of a block, at most `cells` wide: a field, of which the end says most, or the
/// call of a library, of which the last one does. `place` is the text without the phase.
pub(crate) fn fit_place(text: &str, place: &str, cells: usize) -> String {
    let last = place.rsplit(" -> ").next().unwrap_or(place);
    let call = last.split(' ').next().unwrap_or(last);
    let is_call = place.contains("::") || place.contains(" -> ");
    let ways = if is_call {
        [text, place, last, call]
    } else {
        [text, place, place, place]
    };
    if let Some(way) = ways.iter().find(|way| width(way) <= cells) {
        return (*way).to_owned();
    }
    if is_call {
        return fit_path(call, cells).into_owned();
    }
    // Whole steps of the field.
    let mut steps = place.match_indices('.').map(|(at, _)| &place[at..]);
    let fitting = steps.find(|end| width(end) < cells);
    fitting.map_or_else(
        || fit_end(place, cells).into_owned(),
        |end| format!("…{end}"),
    )
}

/// Returns a name with its place, as in `server::take  src/main.rs:53`, at most `cells` wide.
/// Leaves out the folders of the place before it shortens the name.
pub(crate) fn fit_owner(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let Some((name, place)) = text.rsplit_once("  ") else {
        return fit_path(text, cells);
    };
    let file = place.rsplit('/').next().unwrap_or(place);
    let room = cells.saturating_sub(width(file) + 1);
    let gap = if width(name) < room { "  " } else { " " };
    // Below this, only the file and the line are left.
    if room < 4 {
        return fit_end(file, cells).into_owned().into();
    }
    format!("{}{gap}{file}", fit_path(name, room)).into()
}

/// Returns the names of types that stand below each other, each at most `cells` wide. Keeps the end
/// of a name with a path, because a path means that several types have the same end. Keeps the
/// beginning of a short name, and what tells two names apart.
pub(crate) fn fit_types(names: &[&str], cells: usize) -> Vec<String> {
    let fit = |short: String| {
        let shorten = if short.contains("::") { fit_end } else { fit };
        shorten(&short, cells).into_owned()
    };
    shortened_types(names, cells).into_iter().map(fit).collect()
}

/// Returns `text` in exactly `cells` cells, truncated or filled with spaces on the right.
pub(crate) fn pad(text: &str, cells: usize) -> String {
    let mut out = fit(text, cells).into_owned();
    out.extend(std::iter::repeat_n(' ', cells.saturating_sub(width(&out))));
    out
}

/// Breaks `text` into at most `lines` lines of `cells`, and truncates the last one. Breaks at a
/// space if that leaves no line half empty.
pub(crate) fn wrap(text: &str, cells: usize, lines: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while out.len() + 1 < lines && width(rest) > cells && cells > 0 {
        let mut end: usize = fitting(rest.chars(), cells + 1).map(char::len_utf8).sum();
        if end == 0 {
            break;
        }
        let mut spaces = rest.match_indices(' ').map(|(at, _)| at);
        let is_good = |at: &usize| {
            let line = rest.get(..*at).unwrap_or_default();
            let next = rest.get(at + 1..).unwrap_or_default();
            width(line) <= cells && width(line) * 2 > cells && !is_figure(line, next)
        };
        // The last one that fits. A space may also be the first character that does not.
        let space = spaces
            .by_ref()
            .take_while(|at| *at <= end)
            .filter(is_good)
            .last();
        end = space.unwrap_or(end);
        let (line, tail) = rest.split_at(end);
        out.push(line.to_owned());
        rest = if space.is_some() {
            tail.trim_start_matches(' ')
        } else {
            tail
        };
    }
    out.push(fit(rest, cells).into_owned());
    out
}

/// Breaks `text` at spaces into lines of `cells`, but not between a number and its unit. Breaks a
/// word that is longer than a line anywhere. Lines after the first begin with `indent`.
pub(crate) fn paragraph(text: &str, cells: usize, indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut push = |line: &mut String| lines.push(std::mem::replace(line, indent.to_owned()));
    for (at, word) in words(text).iter().enumerate() {
        if at > 0 && width(&line) + 1 + width(word) > cells {
            push(&mut line);
        } else if at > 0 {
            line.push(' ');
        }
        for c in word.chars() {
            if width(&line) + c.width().unwrap_or(0) > cells {
                push(&mut line);
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_become_spaces_and_controls_escapes() {
        assert_eq!(clean("\ta\u{1b}[31m"), "    a\\u{1b}[31m");
        assert!(matches!(clean("Vec<naïve::日本>"), Cow::Borrowed(_)));
    }

    #[test]
    fn cutting_counts_cells_and_not_characters() {
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 1), "…");
        assert_eq!(fit("abcd", 0), "");
    }

    #[test]
    fn a_path_keeps_its_end() {
        assert_eq!(fit_end("src/very/long/de.rs:120", 9), "…e.rs:120");
        assert_eq!(fit_end("日本語", 3), "…語");
        assert_eq!(fit_end("x", 0), "");
    }

    #[test]
    fn names_keep_their_beginning_and_their_end() {
        let owner = "axum::serve::{{closure}}  src/server/main.rs:52";
        for (cells, expected) in [
            (47, owner),
            (40, "axum::serve::{{closure}}  main.rs:52"),
            (35, "axum::serve::{{closure}} main.rs:52"),
            (34, "axum::serve::{{..}} main.rs:52"),
            (29, "..::serve::{{..}} main.rs:52"),
            (23, "axum::serve main.rs:52"),
            (21, "..::serve main.rs:52"),
            (17, "serve main.rs:52"),
            (12, "main.rs:52"),
            (6, "…rs:52"),
            (0, ""),
        ] {
            assert_eq!(fit_owner(owner, cells), expected);
            assert!(width(expected) <= cells);
        }
        let name = "hyper_util::auto::Connection::poll (dependency)";
        assert_eq!(
            fit_path(name, 40),
            "hyper_util::auto::Connection::poll (dep)"
        );
        assert_eq!(fit_path(name, 30), "hyper_util::..::poll (dep)");
        assert_eq!(fit_path(name, 14), "..::poll (dep)");
        assert_eq!(fit_path(name, 8), "..::poll");
        assert_eq!(fit_path(name, 3), "po…");
        assert_eq!(fit_path("<a::B as c::D>::e", 9), "<a::…>::e");
    }

    #[test]
    fn a_place_loses_its_phase_first_and_is_never_cut_in_a_name() {
        let phase = "[typed] Metadata.packages[].dependencies[].features";
        let field = "Metadata.packages[].dependencies[].features";
        let place = |cells| fit_place(phase, field, cells);
        assert_eq!(place(60), phase);
        assert_eq!(place(50), field);
        assert_eq!(place(30), "….dependencies[].features");
        assert_eq!(place(12), "….features");
        assert_eq!(place(6), "…tures");
        let call = "jaq_all::run -> jaq_json::parse_num jaq-json-2.0.3/src/read.rs:107";
        let place = |cells| fit_place(call, call, cells);
        assert_eq!(
            place(60),
            "jaq_json::parse_num jaq-json-2.0.3/src/read.rs:107"
        );
        assert_eq!(place(30), "jaq_json::parse_num");
        assert_eq!(place(14), "..::parse_num");
        assert_eq!(fit_place("[value] ", "", 3), "");
    }

    #[test]
    fn padding_fills_to_the_cell() {
        assert_eq!(pad("日", 4), "日  ");
        assert_eq!(pad("abcdef", 4), "abc…");
    }

    #[test]
    fn a_long_name_wraps_and_its_last_line_says_what_was_cut() {
        assert_eq!(wrap("abcdef", 3, 2), ["abc", "def"]);
        assert_eq!(wrap("abcdefgh", 3, 2), ["abc", "de…"]);
        assert_eq!(wrap("日本語", 1, 2), ["…"]);
        assert_eq!(wrap("", 0, 2), [""]);
        assert_eq!(wrap("one two three", 9, 2), ["one two", "three"]);
        assert_eq!(wrap("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(wrap("a bcdefghijk", 6, 2), ["a bcde", "fghijk"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            paragraph("it has 1.5 KiB, now", 10, ""),
            ["it has", "1.5 KiB,", "now"]
        );
        assert_eq!(paragraph("in 10 blocks", 5, ""), ["in 10", "block", "s"]);
        assert_eq!(
            wrap("it takes 1.5 ms more", 12, 2),
            ["it takes", "1.5 ms more"]
        );
    }

    #[test]
    fn a_deep_name_keeps_the_mark_of_its_branch() {
        assert_eq!(fit_branch("    ▾ .crew.name", 15), "…  ▾ .crew.name");
        assert_eq!(fit_branch("          ▸ .crew.name", 9), "…▸ ….name");
        assert_eq!(fit_branch("▸ x", 3), "▸ x");
    }
}
