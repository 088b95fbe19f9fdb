//! Shortened names of types for narrow places: arguments go first.

use unicode_width::UnicodeWidthStr;

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
}
