//! Compares the rules of libraries for aarch64 with the rows that readelf prints. `make` in
//! `recorder/tests/aarch64` built both.

use super::super::evaluate::entry;
use super::super::machine::{Arm64, Base, Layout, Machine};
use super::super::rule::Rule;
use super::super::tables::Sections;
use crate::images::elf::Source;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// A function, or what some functions have in common.
#[derive(Clone, Default)]
struct Function {
    /// Empty for what functions have in common.
    code: Range<u64>,
    /// Names of the columns.
    columns: Vec<String>,
    /// The address where each row begins, and its columns.
    rows: Vec<(u64, Vec<String>)>,
    is_signal: bool,
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a hexadecimal number")
}

/// Reads what `readelf --debug-dump=frames-interp` printed.
fn functions(text: &str) -> Vec<Function> {
    let mut commons = Vec::new();
    let mut functions: Vec<Function> = Vec::new();
    for block in text.split("\n\n").skip(1) {
        let mut lines = block.trim().lines();
        let words: Vec<&str> = lines
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let mut function = match words[..] {
            [at, _, _, "CIE", letters, ..] => {
                let function = Function {
                    is_signal: letters.contains('S'),
                    ..Function::default()
                };
                commons.push((at, function));
                commons[commons.len() - 1].1.clone()
            }
            [_, _, _, "FDE", common, code] => {
                let common = common.strip_prefix("cie=").expect("a place");
                let common = commons.iter().find(|(at, _)| *at == common);
                let (start, end) = code
                    .strip_prefix("pc=")
                    .and_then(|code| code.split_once(".."))
                    .expect("a range");
                let mut function = common.expect("it comes first").1.clone();
                function.code = hexadecimal(start)..hexadecimal(end);
                for (at, _) in &mut function.rows {
                    *at = function.code.start;
                }
                function
            }
            _ => continue,
        };
        if let Some(names) = lines.next() {
            function.columns = names
                .split_whitespace()
                .skip(1)
                .map(str::to_owned)
                .collect();
            function.rows = lines
                .map(|line| {
                    let mut cells = line.split_whitespace();
                    let at = hexadecimal(cells.next().expect("an address"));
                    (at, cells.map(str::to_owned).collect())
                })
                .collect();
        }
        if function.code.is_empty() {
            commons.last_mut().expect("added above").1 = function;
        } else {
            functions.push(function);
        }
    }
    functions
}

impl Function {
    fn column(&self, row: usize, name: &str) -> Option<&str> {
        let index = self.columns.iter().position(|column| column == name)?;
        Some(self.rows.get(row)?.1.get(index)?.as_str())
    }

    /// Returns the layout of a row, if it tells where the return address is.
    fn layout(&self, row: usize) -> Option<Layout> {
        let below_end = |name| {
            let cell = self.column(row, name)?.strip_prefix("c-")?;
            cell.parse().ok()
        };
        let (base, end) = self.column(row, "CFA")?.split_once('+')?;
        Some(Layout {
            base: match base {
                "sp" => Base::Sp,
                "x29" => Base::Bp,
                _ => return None,
            },
            end: end.parse().ok()?,
            address: below_end("ra")?,
            bp: below_end("x29"),
        })
    }

    /// Returns `true` if the return address is mentioned and never saved: there is no caller.
    fn is_outermost(&self) -> bool {
        let mut rows = 0..self.rows.len();
        rows.all(|row| self.column(row, "ra") == Some("u"))
    }

    fn code_of(&self, row: usize) -> Range<u64> {
        let next = self.rows.get(row + 1);
        self.rows[row].0..next.map_or(self.code.end, |(start, _)| *start)
    }
}

/// A frame is too large for a rule from this size on.
const TOO_LARGE: u64 = 8 << 20;

/// Compares all rules of a library. Returns their number.
fn compare(library: &Path) -> usize {
    let image = fs::read(library).expect("it is there").leak();
    let head = image.as_ptr() as u64;
    let sections = Sections::read(&Source::Memory { head, bias: head }, None).expect("tables");
    let mut forgotten = sections.frames.to_vec();
    super::super::tables::forget_keys(&mut forgotten);
    let sections = Sections {
        frames: forgotten.leak(),
        ..sections
    };
    let rows = fs::read_to_string(library.with_extension("rows")).expect("it is there");
    let mut rules = 0;
    for function in functions(&rows) {
        for row in 0..function.rows.len() {
            let code = function.code_of(row);
            let layout = function.layout(row).filter(|_| !function.is_signal);
            for address in code.clone().step_by(4).chain([code.end - 1]) {
                let entry = entry::<Arm64>(&sections, address).expect("it is listed");
                let place = format!("{} {address:#x}", library.display());
                assert_eq!(entry.function, function.code.start, "{place}");
                let Some(layout) = layout.filter(|layout| layout.end < TOO_LARGE) else {
                    let expected = function.is_outermost().then_some(Rule::OUTERMOST);
                    assert_eq!(entry.rule, expected, "{place}");
                    continue;
                };
                let rule = entry.rule.unwrap_or_else(|| panic!("{place}: {layout:?}"));
                let (end, below, bp) = Arm64::unpack(rule.0);
                let base = if rule.is_based() { Base::Bp } else { Base::Sp };
                let found = Layout {
                    base,
                    end: end as u64,
                    address: below as u64,
                    bp: (bp != 0).then_some(bp as u64),
                };
                assert!(!rule.is_special(), "{place}");
                assert_eq!(found, layout, "{place}");
                rules += 1;
            }
        }
    }
    rules
}

#[test]
fn the_rules_are_those_that_readelf_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aarch64");
    let files = fs::read_dir(folder).expect("it is there");
    let libraries = files.map(|file| file.expect("an entry").path());
    let mut compared = 0;
    for library in libraries.filter(|path| path.extension().is_some_and(|name| name == "so")) {
        let rules = compare(&library);
        assert!(rules > 50, "{}: {rules}", library.display());
        compared += 1;
    }
    assert!(compared > 6);
}
