//! A small binary with debug information, and changes to it: section headers, words inside
//! sections, and whole sections.

use crate::change::{Value, value};
use heapglass_limits::Command;
use object::{Object, ObjectSection, ObjectSymbol};
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::{Path, PathBuf};

/// Small enough to be symbolized many times per second; has inlined and generic functions.
const SOURCE: &str = r#"
#![no_std]
#![no_main]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[inline(always)]
fn twice(x: &mut [u64], by: u64) { for value in x.iter_mut() { *value = value.wrapping_mul(by).rotate_left(3); } }
pub struct Grid<T>(T);
impl<T: Copy + Into<u64>> Grid<T> { #[inline(never)] pub fn fill(&self, by: u64) -> u64 { self.0.into() * by } }
#[no_mangle]
#[inline(never)]
pub extern "C" fn work(data: *mut u64, len: usize) -> u64 {
    let data = unsafe { core::slice::from_raw_parts_mut(data, len) };
    twice(data, 7);
    data.iter().copied().filter(|value| value % 3 == 0).map(|value| Grid(value as u32).fill(3)).fold(0, u64::wrapping_add)
}
"#;

/// The bytes of a binary and the positions of its sections.
#[derive(Clone)]
pub(crate) struct Binary {
    pub(crate) bytes: Vec<u8>,
    /// The position of each section's header and contents.
    sections: Vec<(usize, std::ops::Range<usize>)>,
    /// Addresses inside its functions.
    pub(crate) addresses: Vec<u64>,
}

impl Binary {
    fn of(bytes: Vec<u8>) -> Binary {
        let object = object::File::parse(&*bytes).expect("an object file");
        let table = u64::from_le_bytes(bytes[0x28..0x30].try_into().expect("8 bytes")) as usize;
        let sections = object
            .sections()
            .filter(|section| {
                let name = section.name().unwrap_or_default();
                let wanted = [".debug", ".symtab", ".strtab", ".note", ".shstrtab"];
                wanted.iter().any(|start| name.starts_with(start))
            })
            .filter_map(|section| {
                let (start, length) = section.file_range()?;
                let header = table + section.index().0 * 64;
                Some((header, start as usize..(start + length) as usize))
            })
            .filter(|(_, range)| range.len() >= 8);
        let sections = sections.collect();
        let functions = object.symbols().filter(|symbol| symbol.size() > 0);
        let addresses = functions
            .flat_map(|symbol| (symbol.address()..symbol.address() + symbol.size()).step_by(7))
            .take(60)
            .collect();
        Binary {
            sections,
            addresses,
            bytes,
        }
    }
}

/// Builds the binary, plain and, if there is a tool for it, with compressed sections.
pub(crate) fn build(folder: &Path) -> Vec<Binary> {
    let source = folder.join("tiny.rs");
    std::fs::write(&source, SOURCE).expect("a source file");
    let binary = folder.join("libtiny.so");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(rustc)
        .current_dir(folder)
        .args([
            "--edition=2021",
            "-O",
            "--crate-type=cdylib",
            "-Cpanic=abort",
        ])
        .args([
            "-Cdebuginfo=2",
            "-Clink-arg=-nostdlib",
            "-Clink-arg=-nostartfiles",
        ])
        .arg("-o")
        .arg(&binary)
        .arg(&source)
        .status();
    assert!(built.expect("rustc").success());
    let read = |path: &PathBuf| Binary::of(std::fs::read(path).expect("the binary"));
    let mut all = vec![read(&binary)];
    let packed = Command::new("objcopy")
        .arg("--compress-debug-sections=zlib")
        .arg(&binary)
        .status();
    if packed.is_ok_and(|status| status.success()) {
        all.push(read(&binary));
    }
    all
}

#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) base: Index,
    changes: Vec<Change>,
    pub(crate) pick: u16,
}

#[derive(Clone, Debug)]
enum Change {
    FileHeader {
        word: Index,
        value: Value,
    },
    SectionHeader {
        section: Index,
        field: u8,
        value: Value,
    },
    Word {
        section: Index,
        at: Index,
        size: u8,
        value: Value,
    },
    Fill {
        section: Index,
        at: Index,
        length: u8,
        byte: u8,
    },
    /// Copies bytes of one section over those of another.
    Copy {
        from: Index,
        to: Index,
        at: Index,
        length: u16,
    },
    /// Replaces a section with another one.
    Exchange(Index, Index),
    Truncate(Index),
}

pub(crate) fn input() -> impl Strategy<Value = Input> {
    let index = any::<Index>;
    let change = prop_oneof![
        1 => (index(), value()).prop_map(|(word, value)| Change::FileHeader { word, value }),
        3 => (index(), 0..10_u8, value())
            .prop_map(|(section, field, value)| Change::SectionHeader { section, field, value }),
        8 => (index(), index(), 0..4_u8, value())
            .prop_map(|(section, at, size, value)| Change::Word { section, at, size, value }),
        3 => (index(), index(), any::<u8>(), prop::sample::select(vec![0, 0x7f, 0x80, 0xff]))
            .prop_map(|(section, at, length, byte)| Change::Fill { section, at, length, byte }),
        2 => (index(), index(), index(), any::<u16>())
            .prop_map(|(from, to, at, length)| Change::Copy { from, to, at, length }),
        1 => (index(), index()).prop_map(|(a, b)| Change::Exchange(a, b)),
        1 => index().prop_map(Change::Truncate),
    ];
    (index(), prop::collection::vec(change, 1..8), any::<u16>()).prop_map(
        |(base, changes, pick)| Input {
            base,
            changes,
            pick,
        },
    )
}

fn change_word(bytes: &mut [u8], at: usize, size: usize, value: Value) {
    if let Some(word) = bytes.get_mut(at..at + size) {
        let mut old = [0; 8];
        old[..size].copy_from_slice(word);
        word.copy_from_slice(&value.of(u64::from_le_bytes(old)).to_le_bytes()[..size]);
    }
}

impl Input {
    pub(crate) fn bytes(&self, bases: &[Binary]) -> Vec<u8> {
        let base = self.base.get(bases);
        let mut bytes = base.bytes.clone();
        for change in &self.changes {
            let section = |index: &Index| index.get(&base.sections).clone();
            match change {
                Change::FileHeader { word, value } => {
                    change_word(&mut bytes, 16 + 2 * word.index(24), 2, *value)
                }
                Change::SectionHeader {
                    section: which,
                    field,
                    value,
                } => {
                    let field = usize::from(*field);
                    let at = [0, 4, 8, 16, 24, 32, 40, 44, 48, 56][field];
                    let size = if [0, 1, 6, 7].contains(&field) { 4 } else { 8 };
                    change_word(&mut bytes, section(which).0 + at, size, *value);
                }
                Change::Word {
                    section: which,
                    at,
                    size,
                    value,
                } => {
                    let range = section(which).1;
                    let at = range.start + at.index(range.len());
                    change_word(&mut bytes, at, 1 << size, *value);
                }
                Change::Fill {
                    section: which,
                    at,
                    length,
                    byte,
                } => {
                    let range = section(which).1;
                    let start = range.start + at.index(range.len());
                    let end = (start + usize::from(*length)).min(range.end);
                    bytes[start..end].fill(*byte);
                }
                Change::Copy {
                    from,
                    to,
                    at,
                    length,
                } => {
                    let (from, to) = (section(from).1, section(to).1);
                    let at = to.start + at.index(to.len());
                    let length = usize::from(*length).min(from.len()).min(to.end - at);
                    bytes.copy_within(from.start..from.start + length, at);
                }
                Change::Exchange(a, b) => {
                    // Offset and size of the two headers.
                    let (a, b) = (section(a).0 + 24, section(b).0 + 24);
                    for at in 0..16 {
                        bytes.swap(a + at, b + at);
                    }
                }
                Change::Truncate(to) => bytes.truncate(to.index(bytes.len())),
            }
            bytes.resize(base.bytes.len().max(bytes.len()), 0);
        }
        if let Some(Change::Truncate(to)) = self.changes.last() {
            bytes.truncate(to.index(bytes.len()));
        }
        bytes
    }
}
