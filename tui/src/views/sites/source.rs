//! The source lines around a frame, read from disk. For a file that is missing, huge, binary or
//! special, shows a note instead of an error. Says if a file changed since the recording. Always
//! shows the path that was really read.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use heapglass_profiler::profile::{FrameId, Origin};

use crate::model::{Context, candidates};
use crate::text::clean;

/// Maximum size of a source file.
const LARGEST: u64 = 8 << 20;
/// Maximum number of files to keep.
const KEPT: usize = 64;

/// The contents of the source pane.
#[derive(Clone, Debug, Default)]
pub(super) struct Excerpt {
    /// The path that was read, or that was asked for.
    pub(super) title: String,
    /// The reason why there are no lines, or a warning about them.
    pub(super) note: Option<String>,
    /// The lines.
    text: Option<Arc<Text>>,
    /// The line of the frame, counted from 1.
    pub(super) line: Option<u32>,
}

/// A file that was read.
#[derive(Debug)]
struct Text {
    path: PathBuf,
    /// The lines with their numbers. Packed recordings contain only some lines.
    lines: Vec<(u32, String)>,
    modified_unix_ns: u128,
}

impl Excerpt {
    fn text(&self) -> &[(u32, String)] {
        let text = self.text.as_ref();
        text.map(|text| text.lines.as_slice()).unwrap_or_default()
    }

    /// Returns `true` if no lines were found.
    pub(super) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Returns `true` if both excerpts are about the same line of the same file.
    pub(super) fn is_same_place(&self, other: &Excerpt) -> bool {
        (&self.title, self.line) == (&other.title, other.line)
    }

    /// Returns the index of the line of the frame.
    fn at(&self) -> usize {
        let wanted = self.line.unwrap_or(1);
        self.text().partition_point(|(number, _)| *number < wanted)
    }

    /// Returns how far the text can be scrolled from the line of the frame, up and down.
    pub(super) fn lines(&self) -> Range<i64> {
        let (at, all) = (self.at() as i64, self.text().len() as i64);
        -at..(all - 1 - at).max(-at)
    }

    /// Returns `rows` lines around the line `scrolled` below that of the frame, with their numbers.
    pub(super) fn around(&self, scrolled: i64, rows: usize) -> impl Iterator<Item = (u32, &str)> {
        let lines = self.text();
        let at = (self.at() as i64).saturating_add(scrolled).max(0) as usize;
        let first = at
            .saturating_sub(rows / 2)
            .min(lines.len().saturating_sub(rows));
        let shown = lines.iter().skip(first).take(rows);
        shown.map(|(number, line)| (*number, line.as_str()))
    }
}

/// The files read so far.
#[derive(Debug, Default)]
pub(super) struct Sources {
    files: HashMap<(String, bool), Result<Arc<Text>, String>>,
}

impl Sources {
    /// Returns the excerpt for a frame. Reads each file at most once.
    pub(super) fn excerpt(&mut self, cx: &Context<'_>, frame: FrameId) -> Excerpt {
        let Some(known) = cx.data.frame(frame) else {
            return Excerpt::default();
        };
        let origin = cx.data.function(known.function).map(|f| f.origin);
        let mut excerpt = Excerpt {
            line: known.line,
            ..Excerpt::default()
        };
        let Some(file) = &known.file else {
            let note = match origin {
                Some(Origin::Unresolved | Origin::Native) | None => {
                    "no source line: native code or missing symbols"
                }
                Some(_) => "no source line: build with debug = \"limited\"",
            };
            excerpt.note = Some(note.to_owned());
            return excerpt;
        };
        if let Some(text) = packed(cx, file) {
            excerpt.title = format!("{}, packed", clean(file));
            excerpt.text = Some(Arc::new(text));
            return excerpt;
        }
        let own = origin == Some(Origin::User);
        if self.files.len() >= KEPT {
            self.files.clear();
        }
        let found = self.files.entry((file.clone(), own));
        match found.or_insert_with(|| find(file, own, cx.source_roots)) {
            Err(note) => {
                excerpt.title = clean(file).into_owned();
                excerpt.note = Some(note.clone());
            }
            Ok(text) => {
                let started = u128::from(cx.data.profile.process().started_unix_ns);
                let has_changed = started > 0 && text.modified_unix_ns > started;
                let is_shorter = known.line > Some(text.lines.len() as u32);
                let note = if is_shorter {
                    Some("the file has fewer lines than when the program was built")
                } else if has_changed {
                    Some("changed since the recording began")
                } else {
                    None
                };
                excerpt.note = note.map(str::to_owned);
                excerpt.title = clean(&text.path.to_string_lossy()).into_owned();
                excerpt.text = Some(Arc::clone(text));
            }
        }
        excerpt
    }
}

/// Returns the lines in the recording itself. They come from the recorded build, so they take
/// precedence over the disk.
fn packed(cx: &Context<'_>, file: &str) -> Option<Text> {
    let mut lines: Vec<(u32, String)> = cx
        .data
        .profile
        .source_lines(file)
        .filter(|lines| !lines.is_empty())?
        .iter()
        .map(|(number, line)| (*number, clean(line).into_owned()))
        .collect();
    lines.sort_by_key(|(number, _)| *number);
    Some(Text {
        path: PathBuf::new(),
        lines,
        modified_unix_ns: 0,
    })
}

fn find(file: &str, own: bool, roots: &[PathBuf]) -> Result<Arc<Text>, String> {
    let mut failed = None;
    for path in candidates(Path::new(file), own, roots) {
        match read(&path) {
            Ok(Some(text)) => return Ok(Arc::new(text)),
            Ok(None) => {}
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| "the source file was not found".to_owned()))
}

/// Reads a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Text>, String> {
    // Check this before opening the file, because opening a pipe would wait for its writer.
    let metadata = std::fs::metadata(path).ok();
    let Some(metadata) = metadata.filter(|metadata| metadata.is_file()) else {
        return Ok(None);
    };
    if metadata.len() > LARGEST {
        return Err("too large for a source file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.contains(&0) {
        return Err("not a text file".to_owned());
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| clean(line).into_owned());
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Some(Text {
        path: path.to_owned(),
        lines: (1..).zip(lines).collect(),
        modified_unix_ns: modified.unwrap_or(Duration::ZERO).as_nanos(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_missing_files_are_no_source() {
        assert!(read(Path::new("/")).expect("no error").is_none());
        assert!(
            read(Path::new("/no/such/file.rs"))
                .expect("no error")
                .is_none()
        );
    }

    #[test]
    fn the_excerpt_is_centred_and_never_leaves_the_file() {
        let lines: Vec<(u32, String)> = (1..=10).map(|i| (i, format!("line {i}"))).collect();
        let text = Some(Arc::new(Text {
            path: PathBuf::new(),
            lines,
            modified_unix_ns: 0,
        }));
        let numbers = |line, rows| {
            let excerpt = Excerpt {
                text: text.clone(),
                line: Some(line),
                ..Excerpt::default()
            };
            excerpt.around(0, rows).map(|(n, _)| n).collect::<Vec<_>>()
        };
        assert_eq!(numbers(5, 3), [4, 5, 6]);
        assert_eq!(numbers(1, 3), [1, 2, 3]);
        assert_eq!(numbers(10, 3), [8, 9, 10]);
        assert_eq!(numbers(4_000, 3), [8, 9, 10]);
        assert_eq!(numbers(5, 0), [0_u32; 0]);
        assert_eq!(numbers(3, 50).len(), 10);
    }

    #[test]
    fn packed_lines_win_and_keep_their_numbers() {
        let mut profile = heapglass_fixture::profile();
        let lines = vec![(26, "}".to_owned()), (25, "fn packed() {\u{1b}".to_owned())];
        profile.parts().sources.insert("src/model.rs".into(), lines);
        let frame = profile
            .frames()
            .iter()
            .position(|f| f.line == Some(25))
            .expect("line 25 of the sample");
        let data = Arc::new(crate::model::Data::new(profile, None));
        let cx = Context {
            data: &data,
            measure: heapglass_profiler::profile::Measure::Peak,
            frames: heapglass_profiler::profile::Frames::Folded,
            body: ratatui::layout::Size::new(80, 24),
            source_roots: &["src/tests/cities".into()],
            has_colour: true,
            is_zoomed: false,
        };
        let excerpt = Sources::default().excerpt(&cx, FrameId(frame as u32));
        assert_eq!(excerpt.title, "src/model.rs, packed");
        let lines: Vec<_> = excerpt.around(0, 5).collect();
        assert_eq!(lines, [(25, "fn packed() {\\u{1b}"), (26, "}")]);
    }

    #[test]
    fn a_file_changed_since_the_recording_says_so() {
        let mut profile = heapglass_fixture::profile();
        let frame = profile
            .frames()
            .iter()
            .position(|f| f.line == Some(25))
            .expect("line 25 of the sample");
        let mut note = |started_unix_ns| {
            profile.parts().process.started_unix_ns = started_unix_ns;
            let data = Arc::new(crate::model::Data::new(profile.clone(), None));
            let cx = Context {
                data: &data,
                measure: heapglass_profiler::profile::Measure::Peak,
                frames: heapglass_profiler::profile::Frames::Folded,
                body: ratatui::layout::Size::new(80, 24),
                source_roots: &["src/tests/cities".into()],
                has_colour: true,
                is_zoomed: false,
            };
            Sources::default().excerpt(&cx, FrameId(frame as u32)).note
        };
        assert_eq!(
            note(1).as_deref(),
            Some("changed since the recording began")
        );
        assert_eq!(note(u64::MAX), None);
    }
}
