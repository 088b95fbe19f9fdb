//! A recording that carries its symbols: one file to take from CI, a container or another machine.
//!
//! The symbols are JSON in a table of the recording; strings are kept once. Parsed as hostile
//! input.

use super::error::Kind;
use super::generated::Generated;
use super::modules::Modules;
use super::{Error, OpenOptions, read};
use crate::profile::{SourceLines, SymbolSource};
use crate::symbols::{Progress, Shared, SourceFrame, StoredFrame, Strings, Symbols, string_of};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Metadata;
use std::path::Path;

const FORMAT: u32 = 1;
/// Source lines kept around each line of a frame.
const CONTEXT: u32 = 4;
/// A source file larger than this is not read, bytes.
const LARGEST_SOURCE: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct Packed {
    format: u32,
    strings: Vec<String>,
    /// Source frames of each raw frame, innermost first.
    frames: Vec<Vec<StoredFrame>>,
    /// Lines of source: file (string number) to (line, text).
    sources: BTreeMap<u32, Vec<(u32, String)>>,
    notes: Vec<String>,
    /// The crates that are the program's own, if they were named when it was packed.
    #[serde(default)]
    pub(super) own: Vec<String>,
}

impl Packed {
    /// Returns the symbols that a recording carries, unless a binary is named in their place.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub(super) fn carried(
        bytes: Option<&[u8]>,
        path: &Path,
        options: &OpenOptions,
    ) -> Result<Option<Self>, Error> {
        let bytes = bytes.filter(|_| options.symbols.binary.is_none());
        let packed = bytes.map(Packed::parse).transpose();
        packed.map_err(|what| Error::new(path, Kind::Packed(what)))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let packed: Packed = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match packed.format {
            FORMAT => Ok(packed),
            other => Err(format!(
                "format {other}, but this heapglass reads format {FORMAT}"
            )),
        }
    }

    fn of(symbols: &Symbols) -> Self {
        let mut strings = Strings::default();
        let frames = symbols
            .frames
            .iter()
            .map(|chain| strings.store(chain))
            .collect();
        let mut packed = Packed {
            format: FORMAT,
            frames,
            strings: strings.into_values(),
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
        for (file, line) in self.frames.iter().flatten().filter_map(StoredFrame::place) {
            wanted.entry(file).or_default().push(line);
        }
        for (file, lines) in wanted {
            let Some(path) = string_of(&self.strings, file) else {
                continue;
            };
            let is_small = |data: &Metadata| data.is_file() && data.len() <= LARGEST_SOURCE;
            let data = std::fs::metadata(path).ok().filter(is_small);
            let Some(text) = data.and_then(|_| std::fs::read(path).ok()) else {
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

    /// The symbols, as looking them up would have given; as many frames and modules as the
    /// recording has.
    pub(super) fn symbols(&self, frames: usize, modules: usize) -> Symbols {
        let shared = Shared::new(&self.strings);
        let mut chains: Vec<Vec<SourceFrame>> = self
            .frames
            .iter()
            .take(frames)
            .map(|chain| shared.frames(chain))
            .collect();
        chains.resize(frames, Vec::new());
        Symbols {
            frames: chains,
            modules: vec![SymbolSource::Packed; modules],
            notes: self.notes.clone(),
        }
    }

    pub(super) fn sources(&self) -> HashMap<String, SourceLines> {
        let named = self.sources.iter().filter_map(|(file, lines)| {
            Some((string_of(&self.strings, *file)?.to_owned(), lines.clone()))
        });
        named.collect()
    }
}

/// The symbols that several recordings of one build carry, for their sum.
#[derive(Debug, Default)]
pub struct PackedSum {
    /// Source frames by the number of the address in the sum.
    frames: HashMap<u32, Vec<SourceFrame>>,
    sources: BTreeMap<String, SourceLines>,
    notes: BTreeSet<String>,
    own: BTreeSet<String>,
}

impl PackedSum {
    /// Adds the symbols of a recording. `number` returns the number of an address in the sum.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn add(
        &mut self,
        bytes: &[u8],
        path: &Path,
        number: impl Fn(usize) -> Option<u32>,
    ) -> Result<(), Error> {
        let packed = Packed::parse(bytes).map_err(|what| Error::new(path, Kind::Packed(what)))?;
        let shared = Shared::new(&packed.strings);
        for (index, chain) in packed.frames.iter().enumerate() {
            let Some(number) = number(index) else {
                continue;
            };
            let frames = shared.frames(chain);
            let known = self.frames.entry(number).or_default();
            // Of two that differ, the same one is kept whichever comes first.
            if (frames.len(), &frames) > (known.len(), known) {
                *known = frames;
            }
        }
        for (file, lines) in packed.sources() {
            let known = self.sources.entry(file).or_default();
            if lines > *known {
                *known = lines;
            }
        }
        self.notes.extend(packed.notes);
        self.own.extend(packed.own);
        Ok(())
    }

    /// Returns the symbols as a table of a recording. `numbers` has the old number of each address.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn table(mut self, numbers: &[u32], path: &Path) -> Result<Vec<u8>, Error> {
        let numbers = numbers.iter();
        let frames: Vec<Vec<SourceFrame>> = numbers
            .map(|number| self.frames.remove(number).unwrap_or_default())
            .collect();
        let mut strings = Strings::default();
        let stored = frames.iter().map(|chain| strings.store(chain)).collect();
        let mut packed = Packed {
            format: FORMAT,
            frames: stored,
            strings: strings.into_values(),
            sources: BTreeMap::new(),
            notes: self.notes.into_iter().collect(),
            own: self.own.into_iter().collect(),
        };
        for (file, lines) in self.sources {
            packed.strings.push(file);
            packed.sources.insert(packed.strings.len() as u32, lines);
        }
        serde_json::to_vec(&packed)
            .map_err(|error| Error::new(path, Kind::Packed(error.to_string())))
    }
}

/// The recording at `path` with its symbols and source lines inside, as the bytes of one file.
///
/// A recording still being written is packed as it is now.
///
/// # Errors
/// Returns the errors of [`open`](super::open).
pub fn pack(
    path: &Path,
    options: &OpenOptions,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Vec<u8>, Error> {
    let mut recording = read(path)?;
    let mut symbols = match Packed::carried(recording.symbols.as_deref(), path, options)? {
        // Packed before: what it carries is all there is.
        Some(packed) => packed,
        None => {
            let generated = Generated::of(&mut recording);
            let code = (&Modules::of(&recording), &recording.frames[..]);
            Packed::of(&generated.resolve(code, path, options, progress)?)
        }
    };
    if !options.own.is_empty() {
        symbols.own.clone_from(&options.own);
    }
    let bytes = tracking_alloc_recording::read_bytes(path)
        .map_err(|error| Error::new(path, Kind::Recording(error)))?;
    let json = serde_json::to_vec(&symbols)
        .map_err(|error| Error::new(path, Kind::Packed(error.to_string())))?;
    tracking_alloc_recording::with_symbols(bytes, &json)
        .map_err(|error| Error::new(path, Kind::Recording(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: Option<&Path>, line: Option<u32>) -> SourceFrame {
        SourceFrame {
            function: "app::load".into(),
            raw: None,
            file: file.map(|file| file.to_str().expect("letters").into()),
            line,
            inlined: false,
            at_declaration: false,
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
