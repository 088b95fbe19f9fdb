//! Shortened names for narrow places: the arguments of types go first, and what tells two names
//! apart stays.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The name of a type in at most `room` columns, if leaving out arguments, innermost first, is
/// enough for that; else without any: `HashMap<String, Vec<..>>`, `HashMap<..>`.
pub fn without_arguments(name: &str, room: usize) -> String {
    let mut name = name.to_owned();
    while name.width() > room {
        let Some((start, end)) = innermost_arguments(&name) else {
            break;
        };
        name.replace_range(start..end, "..");
    }
    name
}

/// The names of types that stand below each other, each in at most `room` columns where leaving out
/// arguments is enough for that. Of names that would read the same then, the part that tells them
/// apart stays: `HashMap<..u32>` and `HashMap<..u64>`.
pub fn shortened_types(names: &[&str], room: usize) -> Vec<String> {
    let mut short: Vec<String> = names
        .iter()
        .map(|name| without_arguments(name, room))
        .collect();
    let mut same: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, text) in short.iter().enumerate() {
        same.entry(text).or_default().push(at);
    }
    let mut told: Vec<(usize, String)> = Vec::new();
    for rows in same.values() {
        let distinct: HashSet<&str> = rows.iter().map(|&row| names[row]).collect();
        if distinct.len() < 2 {
            continue;
        }
        let mut distinct: Vec<&str> = distinct.into_iter().collect();
        distinct.sort_unstable();
        let apart = told_apart(&distinct, room);
        for &row in rows {
            let found = distinct
                .iter()
                .zip(&apart)
                .find(|(name, _)| **name == names[row]);
            told.extend(found.map(|(_, text)| (row, text.clone())));
        }
    }
    for (row, text) in told {
        short[row] = text;
    }
    short
}

/// Names that differ only in their arguments, with the argument that tells them apart; whole where
/// a shorter text would not tell.
fn told_apart(names: &[&str], room: usize) -> Vec<String> {
    let words: Vec<Vec<&str>> = names.iter().map(|name| words_of(name)).collect();
    let first = &words[0];
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let common = |at: &usize| words.iter().all(|words| words[*at] == first[*at]);
    let before = (0..shortest).take_while(common).count();
    let common = |at: &usize| {
        let word = |words: &Vec<_>| words[words.len() - 1 - at];
        words.iter().all(|words| word(words) == word(first))
    };
    let after = (0..shortest - before).take_while(common).count();
    let parts = |words: &Vec<&str>| {
        let list = words.iter().position(|word| *word == "<");
        let head: String = words[..list.unwrap_or(0)].concat();
        let differs = words[before..words.len() - after].concat();
        let is_first = list.is_some_and(|list| before <= list + 1);
        let start = if is_first { "<" } else { "<.." };
        let end = if after > 1 { "..>" } else { ">" };
        let differs = differs.trim_matches([',', ' ']).to_owned();
        (head, start, differs, end)
    };
    // What tells a name apart is shortened no more than needed.
    let text = |words: &Vec<&str>| {
        let (head, start, differs, end) = parts(words);
        let room = room.saturating_sub(head.width() + start.len() + end.len());
        let plain = without_arguments(&differs, room);
        let ways = [differs, plain.clone(), without_paths(&plain)];
        let fitting = ways.iter().find(|way| way.width() <= room);
        match fitting {
            Some(part) => format!("{head}{start}{part}{end}"),
            None => format!("{head}{start}{}>", clip(&ways[2], room + end.len() - 1)),
        }
    };
    let texts: Vec<String> = words.iter().map(text).collect();
    let distinct: HashSet<&String> = texts.iter().collect();
    if distinct.len() == texts.len() && texts.iter().all(|text| text.width() <= room) {
        texts
    } else {
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

/// The name of a type with the last name of each path alone.
fn without_paths(name: &str) -> String {
    let last = |word: &str| word.rsplit("::").next().unwrap_or_default().to_owned();
    words_of(name).into_iter().map(last).collect()
}

/// The words and the other characters of the name of a type.
fn words_of(name: &str) -> Vec<&str> {
    let is_in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '\'' | '#');
    let mut words = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = if is_in_word(first) {
            rest.find(|c| !is_in_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// Returns at most `columns` columns of a text, the end replaced by dots.
pub fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let head = first_that_fit(text.chars(), columns.saturating_sub(2));
    head + &".."[..columns.min(2)]
}

/// Returns the first characters, as many as fit in so many columns.
fn first_that_fit(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    chars.take_while(fits).collect()
}

/// The name of a function in at most `room` columns, if leaving out modules is enough for that,
/// else without any: `hyper_util::..::poll`, `..::poll`. Its last name stays whole.
pub fn without_modules(name: &str, room: usize) -> Cow<'_, str> {
    if name.width() <= room {
        return Cow::Borrowed(name);
    }
    let ways = shorter_paths(name);
    let fitting = ways.iter().find(|way| way.width() <= room);
    let shortest = fitting.or(ways.last());
    shortest.map_or(Cow::Borrowed(name), |way| Cow::Owned(way.clone()))
}

/// The ways to leave out modules of the name of a function, the longest first: `a::..::f`, `..::f`,
/// `f`. None if the name has brackets, between which `::` separates modules of other names.
pub fn shorter_paths(name: &str) -> Vec<String> {
    let (Some(first), Some(last)) = (name.find("::"), last_name(name)) else {
        return Vec::new();
    };
    if name.contains('<') {
        return Vec::new();
    }
    let mut ways = vec![
        format!("{}::..::{}", &name[..first], &name[last..]),
        format!("..::{}", &name[last..]),
        name[last..].to_owned(),
    ];
    ways.retain(|way| way.width() < name.width());
    ways
}

/// The byte at which the last name of a path begins; a closure belongs to the name before it.
fn last_name(path: &str) -> Option<usize> {
    let mut names = path.rmatch_indices("::").map(|(at, _)| at + 2);
    names.find(|&at| !path[at..].starts_with('{'))
}

/// A path in at most `room` columns: its first folders go, its last name stays whole.
pub fn without_folders(path: &str, room: usize) -> Cow<'_, str> {
    if path.width() <= room {
        return Cow::Borrowed(path);
    }
    let ends = path.match_indices('/').filter(|(at, _)| *at > 0);
    let shorter: Vec<&str> = ends.map(|(at, _)| &path[at..]).collect();
    let fitting = shorter.iter().find(|end| end.width() + 2 <= room);
    fitting
        .or(shorter.last())
        .map_or(Cow::Borrowed(path), |end| Cow::Owned(format!("..{end}")))
}

/// The longest list of type arguments that has no list inside except `<..>`.
fn innermost_arguments(name: &str) -> Option<(usize, usize)> {
    let mut starts = Vec::new();
    let mut lists = Vec::new();
    for (at, c) in name.char_indices() {
        match c {
            '<' => starts.push(at + 1),
            // An arrow: `fn(u8) -> u8`.
            '>' if name[..at].ends_with('-') => {}
            '>' => lists.extend(starts.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    lists.retain(|&(start, end)| {
        let list = &name[start..end];
        list != ".." && !list.replace("<..>", "").contains('<')
    });
    lists.into_iter().max_by_key(|(start, end)| end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_innermost_first_and_no_others_than_needed() {
        let name = "HashMap<String, Vec<Box<dyn Fn(u8) -> Option<Frame>>>>";
        for (room, short) in [
            (60, name),
            (52, "HashMap<String, Vec<Box<dyn Fn(u8) -> Option<..>>>>"),
            (40, "HashMap<String, Vec<Box<..>>>"),
            (28, "HashMap<String, Vec<..>>"),
            (12, "HashMap<..>"),
            (3, "HashMap<..>"),
        ] {
            assert_eq!(without_arguments(name, room), short, "{room}");
        }
        let pair = "(Vec<u8>, Box<Frame>)";
        assert_eq!(without_arguments(pair, 20), "(Vec<u8>, Box<..>)");
        assert_eq!(without_arguments(pair, 4), "(Vec<..>, Box<..>)");
        assert_eq!(without_arguments("a < b", 2), "a < b");
    }

    #[test]
    fn names_that_would_read_the_same_keep_what_tells_them_apart() {
        let short = |names: &[&str], room| shortened_types(names, room).join(" | ");
        for (names, room, expected) in [
            // Nothing is left out where there is room.
            (
                &["HashMap<String, u32>", "HashMap<String, u64>"][..],
                30,
                "HashMap<String, u32> | HashMap<String, u64>",
            ),
            (
                &["HashMap<String, u32>", "HashMap<String, u64>"],
                16,
                "HashMap<..u32> | HashMap<..u64>",
            ),
            (
                &["HashMap<u8, String>", "HashMap<u16, String>"],
                18,
                "HashMap<u8..> | HashMap<u16..>",
            ),
            (
                &[
                    "BTreeMap<String, Vec<Row>>",
                    "BTreeMap<String, Value>",
                    "Vec<Value>",
                ],
                22,
                "BTreeMap<..Vec<Row>> | BTreeMap<..Value> | Vec<Value>",
            ),
            // Equal names stay equal.
            (
                &["HashMap<String, u32>", "HashMap<String, u32>"],
                12,
                "HashMap<..> | HashMap<..>",
            ),
            // One list is the beginning of the other.
            (
                &["Vec<LongLongLong>", "Vec<LongLongLong, Al>"],
                9,
                "Vec<..> | Vec<..Al>",
            ),
            // Too narrow for what tells them apart: no false equality.
            (
                &["Vec<AlphaAlpha>", "Vec<AlphaBeta>"],
                8,
                "Vec<AlphaAlpha> | Vec<AlphaBeta>",
            ),
            (
                &["Vec<AlphaAlpha>", "Vec<BetaBeta>"],
                9,
                "Vec<Al..> | Vec<Be..>",
            ),
        ] {
            assert_eq!(short(names, room), expected, "{names:?} {room}");
        }
    }

    #[test]
    fn paths_keep_their_last_name() {
        let name = "hyper_util::server::auto::Connection::poll";
        assert_eq!(without_modules(name, 60), name);
        assert_eq!(without_modules(name, 24), "hyper_util::..::poll");
        assert_eq!(without_modules(name, 12), "..::poll");
        assert_eq!(without_modules(name, 3), "poll");
        assert_eq!(without_modules("Builder::spawn", 10), "..::spawn");
        assert_eq!(
            without_modules("app::serve::{{closure}}", 20),
            "serve::{{closure}}"
        );
        assert_eq!(without_modules("<a::B as c::D>::e", 9), "<a::B as c::D>::e");
        let path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30";
        assert_eq!(without_folders(path, 45), path);
        assert_eq!(
            without_folders(path, 44),
            "../lib/x86_64-linux-gnu/libstdc++.so.6.0.30"
        );
        assert_eq!(without_folders(path, 24), "../libstdc++.so.6.0.30");
        assert_eq!(without_folders(path, 4), "../libstdc++.so.6.0.30");
        assert_eq!(without_folders("plain", 2), "plain");
    }
}
