//! A recording that carries its symbols: one file to take from CI, a container or another machine.
//!
//! The symbols are JSON in a table of the recording; strings are kept once. Parsed as hostile input.

use super::modules::Modules;
use super::{Error, Options, read};
use crate::profile::{SourceLines, SymbolSource};
use crate::symbols::{Progress, SourceFrame, Symbols};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

const FORMAT: u32 = 1;
/// Source lines kept around each line of a frame.
const CONTEXT: u32 = 4;
/// A source file larger than this is not read, bytes.
const LARGEST_SOURCE: u64 = 16 << 20;

/// Bytes of the longest name that is kept whole: one may be named by every frame of a small file.
const LONGEST_NAME: usize = 4096;
/// Frames inlined into one address; real programs nest some dozens.
const MOST_INLINED: usize = 512;
/// Other functions with the machine code of one.
const MOST_ALIASES: usize = 64;

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

#[derive(Serialize, Deserialize)]
pub(super) struct Packed {
    format: u32,
    strings: Vec<String>,
    /// Source frames of each raw frame, innermost first.
    frames: Vec<Vec<PackedFrame>>,
    /// Lines of source: file (string number) to (line, text).
    sources: BTreeMap<u32, Vec<(u32, String)>>,
    notes: Vec<String>,
    /// The crates that are the program's own, where whoever packed it named them.
    #[serde(default)]
    pub(super) own: Vec<String>,
}

/// Numbers of strings, and one where there may be none: 0.
#[derive(Serialize, Deserialize)]
struct PackedFrame {
    function: u32,
    raw: u32,
    file: u32,
    line: u32,
    inlined: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<u32>,
}

impl Packed {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let packed: Packed = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if packed.format != FORMAT {
            return Err(format!(
                "format {} where this heapglass reads {FORMAT}",
                packed.format
            ));
        }
        Ok(packed)
    }

    fn of(symbols: &Symbols) -> Self {
        let mut strings = Strings::default();
        let frames: Vec<Vec<PackedFrame>> = symbols
            .frames
            .iter()
            .map(|chain| {
                let pack = |frame: &SourceFrame| PackedFrame {
                    function: strings.number(Some(&frame.function)),
                    raw: strings.number(frame.raw.as_deref()),
                    file: strings.number(frame.file.as_deref()),
                    line: frame.line.unwrap_or(0),
                    inlined: frame.inlined,
                    aliases: frame
                        .aliases
                        .iter()
                        .map(|alias| strings.number(Some(alias)))
                        .collect(),
                };
                chain.iter().map(pack).collect()
            })
            .collect();
        let mut packed = Packed {
            format: FORMAT,
            strings: strings.values,
            frames,
            sources: BTreeMap::new(),
            notes: symbols.notes.clone(),
            own: Vec::new(),
        };
        packed.read_sources();
        packed
    }

    /// Reads the lines around every frame's from the source files that are here.
    fn read_sources(&mut self) {
        let mut wanted: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for frame in self
            .frames
            .iter()
            .flatten()
            .filter(|frame| frame.file != 0 && frame.line != 0)
        {
            wanted.entry(frame.file).or_default().push(frame.line);
        }
        for (file, lines) in wanted {
            let Some(path) = self.string(file).map(str::to_owned) else {
                continue;
            };
            let small = std::fs::metadata(&path)
                .is_ok_and(|data| data.is_file() && data.len() <= LARGEST_SOURCE);
            let Some(text) = small.then(|| std::fs::read(&path).ok()).flatten() else {
                continue;
            };
            let text = String::from_utf8_lossy(&text);
            let near = |number: u32| lines.iter().any(|line| line.abs_diff(number) <= CONTEXT);
            let kept: Vec<(u32, String)> = (1..)
                .zip(text.lines())
                .filter(|(number, _)| near(*number))
                .map(|(number, line)| (number, line.to_owned()))
                .collect();
            if !kept.is_empty() {
                self.sources.insert(file, kept);
            }
        }
    }

    fn string(&self, number: u32) -> Option<&str> {
        self.strings
            .get((number as usize).checked_sub(1)?)
            .map(|text| cut(text))
    }

    /// The symbols, as looking them up would have given; as many frames and modules as the recording has.
    pub(super) fn symbols(&self, frames: usize, modules: usize) -> Symbols {
        let shared: Vec<Arc<str>> = self.strings.iter().map(|text| cut(text).into()).collect();
        let string = |number: u32| shared.get((number as usize).checked_sub(1)?).cloned();
        let unpack = |frame: &PackedFrame| SourceFrame {
            function: string(frame.function).unwrap_or_else(|| "?".into()),
            raw: string(frame.raw),
            file: string(frame.file),
            line: (frame.line != 0).then_some(frame.line),
            inlined: frame.inlined,
            aliases: frame
                .aliases
                .iter()
                .take(MOST_ALIASES)
                .filter_map(|alias| string(*alias))
                .collect(),
        };
        let mut chains: Vec<Vec<SourceFrame>> = self
            .frames
            .iter()
            .take(frames)
            .map(|chain| chain.iter().take(MOST_INLINED).map(unpack).collect())
            .collect();
        chains.resize(frames, Vec::new());
        Symbols {
            frames: chains,
            modules: vec![SymbolSource::Packed; modules],
            notes: self.notes.clone(),
        }
    }

    pub(super) fn sources(&self) -> HashMap<String, SourceLines> {
        let named = self
            .sources
            .iter()
            .filter_map(|(file, lines)| Some((self.string(*file)?.to_owned(), lines.clone())));
        named.collect()
    }
}

#[derive(Default)]
struct Strings {
    values: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Strings {
    fn number(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else { return 0 };
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.values.push(text.to_owned());
        let number = u32::try_from(self.values.len()).unwrap_or(0);
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The recording at `path` with its symbols and source lines inside, as the bytes of one file.
///
/// A recording still being written is packed as it is now.
///
/// # Errors
/// As [`open`](super::open).
pub fn pack(
    path: &Path,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Vec<u8>, Error> {
    let (path, recording) = read(path)?;
    let mut symbols = match &recording.symbols {
        Some(bytes) if options.symbols.binary.is_none() => {
            // Packed before: what it carries is all there is.
            Packed::parse(bytes).map_err(|what| Error::packed(&path, what))?
        }
        _ => {
            let modules = Modules::of(&recording);
            let symbols = modules
                .resolve(&recording, options, progress)
                .map_err(|error| Error::symbols(&path, error))?;
            Packed::of(&symbols)
        }
    };
    if !options.own.is_empty() {
        symbols.own.clone_from(&options.own);
    }
    let bytes = tracking_alloc_recording::read_bytes(&path)
        .map_err(|error| Error::recording(&path, error))?;
    let json = serde_json::to_vec(&symbols).map_err(|error| Error::packed(&path, error))?;
    tracking_alloc_recording::with_symbols(bytes, &json)
        .map_err(|error| Error::recording(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_letters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"a".repeat(LONGEST_NAME)).len(), LONGEST_NAME);
        assert_eq!(cut(&"a".repeat(LONGEST_NAME + 1)).len(), LONGEST_NAME);
        let letters = format!("a{}", "\u{e4}".repeat(LONGEST_NAME));
        assert_eq!(cut(&letters).len(), LONGEST_NAME - 1, "two bytes each");
    }

    fn frame(file: Option<&Path>, line: Option<u32>) -> SourceFrame {
        SourceFrame {
            function: "app::load".into(),
            raw: None,
            file: file.map(|file| file.to_str().expect("letters").into()),
            line,
            inlined: false,
            aliases: Vec::new(),
        }
    }

    #[test]
    fn lines_around_each_frame_are_taken_from_sources_that_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let [source, large] = ["lib.rs", "large.rs"].map(|name| folder.path().join(name));
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        std::fs::write(&source, &text).expect("written");
        std::fs::write(&large, &text).expect("written");
        let open = std::fs::File::options()
            .write(true)
            .open(&large)
            .expect("there");
        open.set_len(LARGEST_SOURCE).expect("sparse");
        let sources_of = |frames: Vec<SourceFrame>| {
            let symbols = Symbols {
                frames: vec![Vec::new(), frames],
                ..Symbols::default()
            };
            let packed = Packed::of(&symbols);
            assert_eq!(packed.symbols(2, 0).frames, symbols.frames);
            packed.sources()
        };
        let kept = sources_of(vec![
            frame(Some(&source), Some(6)),
            frame(Some(&source), Some(29)),
            frame(Some(&source), None),
            frame(None, Some(15)),
            frame(Some(&large), Some(1)),
            frame(Some(folder.path()), Some(1)),
            frame(Some(&folder.path().join("gone.rs")), Some(1)),
        ]);
        let lines = |path: &Path| -> Vec<u32> {
            let lines = kept.get(path.to_str().expect("letters"));
            let lines = lines.into_iter().flat_map(|lines| lines.iter());
            lines.map(|(number, _)| *number).collect()
        };
        assert_eq!(lines(&source), (2..=10).chain(25..=30).collect::<Vec<_>>());
        assert_eq!(
            kept[source.to_str().expect("letters")][0],
            (2, "line 2".to_owned())
        );
        assert_eq!(lines(&large), [1, 2, 3, 4, 5]);
        assert_eq!(kept.len(), 2);
        // One byte more is too much.
        open.set_len(LARGEST_SOURCE + 1).expect("sparse");
        assert!(sources_of(vec![frame(Some(&large), Some(1))]).is_empty());
        assert!(sources_of(vec![frame(Some(&source), None), frame(None, Some(1))]).is_empty());
    }
}
