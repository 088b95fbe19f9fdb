//! Inputs with a new kind of result, found by the tests with random changes. Each run loads them
//! again.
//!
//! `HEAPGLASS_FUZZ_KEEP=1 cargo fuzz-readers changed` adds inputs with a result that is new:
//! another error, other losses or other notes. A file of the corpus is the difference between an
//! input and a base: its length, then the offset, the length and the bytes of each piece. The base
//! of binaries is one of the binaries, unchanged. The base of recordings is all zeros, because
//! recordings mostly consist of zeros.

use crate::{Seen, alone, check, golden, parts, place, rich, write};
use heapglass_profiler::OpenOptions;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Limits for the inputs in the repository, all of one kind together.
const MOST_FILES: usize = 20;
const MOST_BYTES: usize = 12 << 10;
/// Equal bytes that end a piece.
const GAP: usize = 16;

/// Addresses inside the functions of the binaries in the corpus.
fn addresses() -> Vec<u64> {
    (0x1360..0x14a7).step_by(7).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/corpus")
}

fn base_of(kind: &str) -> Vec<u8> {
    let binary = std::fs::read(folder().join("base")).expect("a binary");
    if kind == "binary" { binary } else { Vec::new() }
}

fn differences(bytes: &[u8], base: &[u8]) -> Vec<u8> {
    let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
    let differs = |at: &usize| bytes[*at] != base.get(*at).copied().unwrap_or(0);
    let mut at = 0;
    while let Some(start) = (at..bytes.len()).find(differs) {
        let equal = |end: &usize| !(*end..bytes.len()).take(GAP).any(|at| differs(&at));
        let end = (start..bytes.len()).find(equal).unwrap_or(bytes.len());
        for word in [start, end - start] {
            out.extend((word as u32).to_le_bytes());
        }
        out.extend(&bytes[start..end]);
        at = end;
    }
    out
}

fn applied(file: &[u8], base: &[u8]) -> Vec<u8> {
    let word = |at: usize| {
        let word = file[at..at + 4].try_into().expect("4 bytes");
        u32::from_le_bytes(word) as usize
    };
    let mut bytes = base.to_vec();
    bytes.resize(word(0), 0);
    let mut at = 4;
    while at < file.len() {
        let (start, length) = (word(at), word(at + 4));
        at += 8;
        bytes[start..start + length].copy_from_slice(&file[at..at + length]);
        at += length;
    }
    bytes
}

/// Files of a kind, by name.
fn files(kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let of_kind = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(kind)
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(of_kind).collect();
    files.sort();
    files
}

/// Keeps inputs with a new kind of result.
pub(crate) struct Keep {
    kind: &'static str,
    met: Option<HashSet<String>>,
    kept: usize,
}

impl Keep {
    /// Keeps nothing unless the environment requests it.
    pub(crate) fn new(kind: &'static str) -> Keep {
        let keeps = std::env::var_os("HEAPGLASS_FUZZ_KEEP").is_some();
        Keep {
            kind,
            met: keeps.then(HashSet::new),
            kept: files(kind).len(),
        }
    }

    /// Keeps an input if loading its recording ends in a new way.
    pub(crate) fn input(&mut self, input: &[u8], recording: &Path) {
        let Some(met) = &mut self.met else {
            return;
        };
        let file = differences(input, &base_of(self.kind));
        if self.kept < MOST_FILES && file.len() <= MOST_BYTES && met.insert(end_of(recording)) {
            let path = folder().join(format!("{}-{:02}", self.kind, self.kept));
            std::fs::write(path, file).expect("kept");
            self.kept += 1;
        }
    }
}

/// Returns the result of loading a recording, without any numbers.
fn end_of(path: &Path) -> String {
    let end = match heapglass_profiler::open(path, &OpenOptions::default(), &|_| ()) {
        Ok(profile) => {
            let lost = profile.lost();
            let modules: Vec<_> = profile
                .modules()
                .iter()
                .map(|module| &module.symbols)
                .collect();
            format!(
                "{} {} {} {:?} {modules:?}",
                lost.damaged > 0,
                lost.torn > 0,
                lost.unresolved_frames > 0,
                lost.notes,
            )
        }
        Err(error) => error.to_string(),
    };
    end.replace(|letter: char| letter.is_ascii_digit(), "")
}

/// Writes each file of a kind to `changed`, and checks the recording against the limits of any
/// input.
fn all_cost_little(kind: &str, changed: &Path, recording: &Path) {
    let (files, base) = (files(kind), base_of(kind));
    let mut seen = Seen::default();
    for (pick, file) in files.iter().enumerate() {
        let bytes = applied(&std::fs::read(file).expect("a file of the corpus"), &base);
        write(changed, &bytes, None);
        let held = check(recording, bytes.len(), pick, &mut seen);
        held.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    assert!(files.len() >= 10 && seen.loaded > 0, "{seen:?}");
}

#[test]
fn recordings_of_the_corpus_cost_little_and_never_panic() {
    let _alone = alone();
    let path = place("corpus.hg");
    all_cost_little("recording", &path, &path);
}

#[test]
fn binaries_of_the_corpus_cost_little_and_never_panic() {
    let _alone = alone();
    let (binary, path) = (place("corpus.so"), place("of-corpus.hg"));
    let mut recording = rich::rich(
        &golden("native.hg"),
        binary.to_str().expect("UTF-8"),
        &addresses(),
    )
    .bytes();
    parts::seal(&mut recording);
    write(&path, &recording, None);
    all_cost_little("binary", &binary, &path);
}

#[test]
fn a_file_of_the_corpus_is_where_an_input_differs_from_its_base() {
    let again = |bytes: &[u8], base: &[u8]| {
        let file = differences(bytes, base);
        assert_eq!(applied(&file, base), bytes);
        file.len()
    };
    let bytes = golden("native.hg");
    assert_eq!(again(&bytes, &bytes), 4);
    assert!(again(&bytes, &[]) < 8 << 10);
    assert_eq!(again(&[0; 40], &[]), 4);
    assert_eq!(again(&[0, 1, 0], &[]), 4 + 8 + 1);
    assert_eq!(again(&[5, 6], &[5, 7, 8]), 4 + 8 + 1);
    assert_eq!(again(&[5, 6, 0, 1], &[5, 6]), 4 + 8 + 1);
}
