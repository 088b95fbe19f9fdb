//! Names of generated code, from a map of perf: a text file to which a just-in-time compiler adds a
//! line `START SIZE NAME` for each piece of code, with hexadecimal numbers. Parsed as hostile
//! input.
//!
//! A compiler may put new code where old code was. An address that several functions had, one after
//! the other, gets no name, because nothing tells which of them ran.

use super::SourceFrame;
use std::collections::{BTreeMap, BTreeSet};

/// A longer name is cut, bytes.
const LONGEST_NAME: usize = 1 << 10;
/// Lines are compared with the names of so many addresses.
const MOST_COMPARED: usize = 1 << 24;

/// A line of a map.
#[derive(Clone, Copy)]
struct Line<'a> {
    start: u64,
    end: u64,
    text: &'a [u8],
    name: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(text: &'a [u8]) -> Option<Line<'a>> {
        let mut words = text.splitn(3, |byte| *byte == b' ');
        let mut number = || {
            let digits = std::str::from_utf8(words.next()?).ok()?;
            let digits = digits.strip_prefix("0x").unwrap_or(digits);
            u64::from_str_radix(digits, 16).ok()
        };
        let (start, size) = (number()?, number()?);
        let name = words.next()?.trim_ascii();
        (!name.is_empty()).then_some(Line {
            start,
            end: start.checked_add(size)?,
            text,
            name: name.get(..LONGEST_NAME).unwrap_or(name),
        })
    }
}

/// The lines of a map that cover some addresses.
#[derive(Debug, Default)]
pub(crate) struct GeneratedNames<'a> {
    names: BTreeMap<u64, Found<'a>>,
}

/// The lines that cover an address.
#[derive(Debug)]
struct Found<'a> {
    /// `None` if there were several functions.
    name: Option<Name>,
    first: &'a [u8],
    last: &'a [u8],
    /// A line of another function, if there was one in between.
    other: Option<&'a [u8]>,
}

/// The name of a piece of code, without what tells its tier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Name {
    function: String,
    file: Option<String>,
    line: Option<u32>,
}

impl<'a> GeneratedNames<'a> {
    /// Finds the names of addresses, which lie in the code of a call.
    pub(crate) fn find(map: &'a [u8], addresses: impl Iterator<Item = u64>) -> Self {
        let lines = map.split(|byte| *byte == b'\n').filter_map(Line::parse);
        let all: BTreeSet<u64> = addresses.collect();
        let first = first_of(lines, all.clone());
        let backwards = map.rsplit(|byte| *byte == b'\n').filter_map(Line::parse);
        let last = first_of(backwards, all);
        let names = first.into_iter().zip(last.into_values());
        let names = names.map(|((address, first), last)| {
            let name = Name::of(last.name);
            let is_sure = first.name == last.name || Name::of(first.name) == name;
            let found = Found {
                name: is_sure.then_some(name),
                first: first.text,
                last: last.text,
                other: None,
            };
            (address, found)
        });
        let mut names = GeneratedNames {
            names: names.collect(),
        };
        let lines = map.split(|byte| *byte == b'\n').filter_map(Line::parse);
        names.find_others(lines);
        names
    }

    /// Takes the names of addresses that another function had in between.
    fn find_others(&mut self, lines: impl Iterator<Item = Line<'a>>) {
        let sure = self.names.iter();
        let sure = sure.filter_map(|(address, found)| {
            found.name.as_ref()?;
            (found.first.as_ptr() != found.last.as_ptr()).then_some(*address)
        });
        let mut left: BTreeSet<u64> = sure.collect();
        let mut compared = 0;
        for line in lines {
            let covered: Vec<u64> = left.range(line.start..line.end).copied().collect();
            compared += covered.len();
            if compared > MOST_COMPARED {
                // A map of such lines is none that a compiler writes: nothing is sure in it.
                for address in left {
                    if let Some(found) = self.names.get_mut(&address) {
                        found.name = None;
                    }
                }
                return;
            }
            for address in covered {
                let Some(found) = self.names.get_mut(&address) else {
                    continue;
                };
                let is_same =
                    line.text == found.first || found.name.as_ref() == Some(&Name::of(line.name));
                if !is_same {
                    found.name = None;
                    found.other = Some(line.text);
                    left.remove(&address);
                }
            }
        }
    }

    /// Returns the number of addresses that lines cover.
    pub(crate) fn covered(&self) -> usize {
        self.names.len()
    }

    /// Returns the first and the last line that cover an address, of each, and one of another
    /// function in between, in the order of the map: they say the same as the whole map. Returns
    /// nothing if there are none.
    pub(crate) fn lines(&self) -> Vec<u8> {
        let covering = self.names.values();
        let mut lines: Vec<&[u8]> = covering
            .flat_map(|found| [Some(found.first), Some(found.last), found.other])
            .flatten()
            .collect();
        lines.sort_unstable_by_key(|line| line.as_ptr());
        lines.dedup_by_key(|line| line.as_ptr());
        lines.join(&b'\n')
    }

    /// Returns the number of addresses that several functions had.
    pub(crate) fn unsure(&self) -> usize {
        let all = self.names.values();
        all.filter(|found| found.name.is_none()).count()
    }

    /// Returns the frame of an address.
    pub(crate) fn frame(&self, address: u64) -> Option<SourceFrame> {
        let found = self.names.get(&address)?;
        let name = found.name.as_ref()?;
        let whole = found.last.splitn(3, |byte| *byte == b' ').nth(2)?;
        Some(SourceFrame {
            function: name.function.as_str().into(),
            // No name of Rust: code that was compiled ahead of time has a file.
            raw: Some(text_of(whole).into()),
            file: name.file.as_deref().map(Into::into),
            line: name.line,
            ..SourceFrame::default()
        })
    }
}

/// Returns the first of some lines that covers each address.
///
/// An address leaves the set at that line, so a map of overlapping lines takes no more time than
/// another one.
fn first_of<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    mut left: BTreeSet<u64>,
) -> BTreeMap<u64, Line<'a>> {
    let mut found = BTreeMap::new();
    for line in lines {
        while let Some(&address) = left.range(line.start..line.end).next() {
            left.remove(&address);
            found.insert(address, line);
        }
    }
    found
}

/// Returns text without characters that a terminal obeys.
fn text_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.replace(char::is_control, "?")
}

impl Name {
    /// Takes a name apart, as V8 and CPython write it.
    fn of(bytes: &[u8]) -> Name {
        let text = text_of(bytes);
        if let Some(rest) = text.strip_prefix("py::")
            && let Some((function, file)) = rest.split_once(':')
        {
            return Name {
                function: function.to_owned(),
                file: Some(file.to_owned()),
                line: None,
            };
        }
        let kinds = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
        let Some(rest) = kinds.iter().find_map(|kind| text.strip_prefix(kind)) else {
            return Name {
                function: text,
                ..Name::default()
            };
        };
        // The tier: interpreted, baseline, maglev, optimized.
        let rest = rest.trim_start_matches(['~', '^', '+', '*']);
        // Functions have names with spaces (`get size`), and so have files.
        let places = [" file:", " /", " node:"];
        let begins = places.iter().filter_map(|place| rest.find(place)).min();
        let (function, place) = match begins.or_else(|| rest.rfind(' ')) {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => ("", rest),
        };
        let mut parts = place.rsplitn(3, ':');
        let numbers = [parts.next(), parts.next()].map(|part| part?.parse::<u32>().ok());
        let (file, line) = match (parts.next(), numbers) {
            (Some(file), [Some(_), Some(line)]) => (file, Some(line)),
            _ => (place, None),
        };
        let file = file.strip_prefix("file://").unwrap_or(file);
        let function = match function {
            "" if text.starts_with("Script:") => "(script)",
            "" => "(anonymous)",
            function => function,
        };
        Name {
            function: function.to_owned(),
            file: (!file.is_empty()).then(|| file.to_owned()),
            line,
        }
    }
}

/// Returns whose code a script is: a package, or the file itself. `None` for the scripts of the
/// interpreter.
pub(super) fn owner_of_script(file: &str) -> Option<String> {
    const PACKAGES: [&str; 3] = ["/node_modules/", "/site-packages/", "/dist-packages/"];
    let inside = PACKAGES
        .iter()
        .find_map(|folder| Some(file.rsplit_once(folder)?.1));
    if let Some(inside) = inside {
        let mut words = inside.split('/');
        let first = words.next()?;
        return Some(match words.next() {
            Some(second) if first.starts_with('@') => format!("{first}/{second}"),
            _ => first.trim_end_matches(".py").to_owned(),
        });
    }
    let is_of_interpreter = file.starts_with("node:")
        || file.starts_with('<')
        || file.contains("/lib/python3")
        || !file.contains(['/', '.']);
    (!is_of_interpreter).then(|| file.rsplit('/').next().unwrap_or(file).to_owned())
}

/// Returns the class of a method of Java, by its name (`void shop.Cart.load(int)`). `None` for
/// the classes of Java itself, and for other names.
pub(super) fn class_of_method(name: &str) -> Option<String> {
    const OWN: [&str; 6] = [
        "java.",
        "javax.",
        "jdk.",
        "sun.",
        "com.sun.",
        "org.openjdk.",
    ];
    let (method, _) = name.split_once('(')?;
    let method = method.rsplit(' ').next()?;
    let (class, _) = method.rsplit_once('.')?;
    (!class.is_empty() && !OWN.iter().any(|own| method.starts_with(own))).then(|| class.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Function, file and line.
    type Named = (String, Option<String>, Option<u32>);

    fn names(map: &str, addresses: &[u64]) -> Vec<Option<Named>> {
        let found = GeneratedNames::find(map.as_bytes(), addresses.iter().copied());
        let of = |address: &u64| {
            let frame = found.frame(*address)?;
            let file = frame.file.map(|file| file.to_string());
            Some((frame.function.to_string(), file, frame.line))
        };
        addresses.iter().map(of).collect()
    }

    fn name(function: &str, file: Option<&str>, line: Option<u32>) -> Option<Named> {
        Some((function.to_owned(), file.map(str::to_owned), line))
    }

    #[test]
    fn names_of_node_python_and_java_are_taken_apart() {
        let map = "1000 20 JS:~makeRows file:///app/t.js:2:18\n\
                   1020 20 LazyCompile:*parse node:internal/url:7:3\n\
                   1040 20 Script:~ /app/my file.js:1:1\n\
                   1060 20 py::Shop.<locals>.load:/app/shop.py\n\
                   1080 20 void Shop.load(int)\n\
                   10a0 20 Builtin:ArrayMap\n";
        assert_eq!(
            names(
                map,
                &[
                    0x1000, 0x103f, 0x1041, 0x1061, 0x1081, 0x10a1, 0x10c0, 0xfff
                ]
            ),
            [
                name("makeRows", Some("/app/t.js"), Some(2)),
                name("parse", Some("node:internal/url"), Some(7)),
                name("(script)", Some("/app/my file.js"), Some(1)),
                name("Shop.<locals>.load", Some("/app/shop.py"), None),
                name("void Shop.load(int)", None, None),
                name("Builtin:ArrayMap", None, None),
                None,
                None,
            ]
        );
    }

    #[test]
    fn an_address_that_two_functions_had_gets_no_name() {
        let a_then_b =
            "1000 20 JS:~a /x.js:1:1\n1000 20 JS:^a /x.js:1:1\n1000 10 JS:~b /x.js:9:1\n";
        // Between two lives of the same function.
        let a_b_a = format!("{a_then_b}1000 20 JS:*a /x.js:1:1\n");
        for map in [a_then_b, &a_b_a] {
            assert_eq!(
                names(map, &[0x1004, 0x1014]),
                [None, name("a", Some("/x.js"), Some(1))]
            );
            let found = GeneratedNames::find(map.as_bytes(), [0x1004, 0x1014].into_iter());
            assert_eq!(found.unsure(), 1);
            // What a recording carries says the same.
            let lines = found.lines();
            assert_eq!(
                names(
                    std::str::from_utf8(&lines).expect("text"),
                    &[0x1004, 0x1014]
                ),
                names(map, &[0x1004, 0x1014])
            );
        }
    }

    #[test]
    fn lines_that_are_none_name_nothing() {
        let map = b"\xff\xff 20 a\n1000\n1000 20\n1000 20  \n1000 ffffffffffffffff b\n-1000 20 c\n\
                    2000 20 \x1b[31md\xff\n3000 0 e\n\n";
        let found = GeneratedNames::find(map, [0x1000, 0x2000, 0x3000].into_iter());
        assert_eq!(found.frame(0x1000), None);
        assert_eq!(found.frame(0x3000), None);
        assert_eq!(
            &*found.frame(0x2000).expect("a name").function,
            "?[31md\u{fffd}"
        );
    }

    #[test]
    fn overlapping_lines_take_no_more_time_than_others() {
        let map = "0 ffffffff a\n".repeat(20_000);
        let found = GeneratedNames::find(map.as_bytes(), 0..20_000);
        assert_eq!(found.names.len(), 20_000);
    }

    #[test]
    fn a_script_belongs_to_its_package_or_is_the_program() {
        for (file, owner) in [
            (
                "/app/node_modules/@node-rs/crc32/index.js",
                Some("@node-rs/crc32"),
            ),
            (
                "/usr/lib/python3.12/site-packages/numpy/x.py",
                Some("numpy"),
            ),
            ("/usr/lib/python3.12/site-packages/six.py", Some("six")),
            ("/usr/lib/python3.12/json/decoder.py", None),
            ("<frozen importlib._bootstrap>", None),
            ("node:internal/url", None),
            ("/app/shop.js", Some("shop.js")),
        ] {
            assert_eq!(owner_of_script(file).as_deref(), owner, "{file}");
        }
    }

    #[test]
    fn a_method_of_java_belongs_to_its_class() {
        let class = class_of_method;
        assert_eq!(
            class("void shop.Cart.load(int)").as_deref(),
            Some("shop.Cart")
        );
        assert_eq!(class("M.fill(int)").as_deref(), Some("M"));
        assert_eq!(
            class("long jdk.internal.misc.Unsafe.allocateMemory0(long)"),
            None
        );
        assert_eq!(class("Builtin:ArrayMap"), None);
        assert_eq!(class("Interpreter"), None);
    }
}
