//! Source lines around the places that own blocks, for readers who ask for them.
//!
//! A page is for sharing, so it must never contain a file that its writer did not mean: only files
//! of the program's own crates, only regular files below the folders that were given, and never
//! through a symbolic link. Sources are bounded in size.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;

use crate::profile::{Frame, FrameId, Origin, Profile};
use crate::units::printable;

/// Lines before and after the line of a frame.
const AROUND: usize = 8;

/// Larger files are not read, bytes.
const LARGEST: u64 = 4 << 20;

/// Maximum size of all lines together, bytes.
const MOST: usize = 1 << 20;

/// Longer lines are cut, in characters.
const LONGEST_LINE: usize = 300;

/// Lines around a place.
#[derive(Serialize)]
pub(super) struct Excerpt {
    /// The number of the first line.
    first: usize,
    lines: Vec<String>,
    /// The file changed since the recording began.
    changed: bool,
}

/// Excerpts by place, as rows spell it (`src/main.rs:12`), and the number of places that have none.
#[derive(Default)]
pub(super) struct Excerpts {
    pub(super) found: BTreeMap<String, Excerpt>,
    pub(super) missing: usize,
}

impl Excerpts {
    /// Reads the lines around frames; `folders` are those that files may lie in.
    pub(super) fn read(profile: &Profile, frames: &[FrameId], folders: &[PathBuf]) -> Excerpts {
        let folders: Vec<Folder> = folders
            .iter()
            .filter_map(|path| Folder::new(path))
            .collect();
        let mut files: BTreeMap<&str, Option<Text>> = BTreeMap::new();
        let mut excerpts = Excerpts::default();
        let mut used = 0;
        for frame in frames {
            let Some((frame, place)) = own(profile, *frame) else {
                continue;
            };
            if excerpts.found.contains_key(&place) {
                continue;
            }
            let (Some(file), Some(line)) = (frame.file.as_deref(), frame.line) else {
                continue;
            };
            let text = files
                .entry(file)
                .or_insert_with(|| text_of(profile, file, &folders));
            let excerpt = text.as_ref().and_then(|text| text.around(line as usize));
            let size = |excerpt: &Excerpt| excerpt.lines.iter().map(String::len).sum::<usize>();
            match excerpt.filter(|excerpt| used + size(excerpt) <= MOST) {
                Some(excerpt) => {
                    used += size(&excerpt);
                    excerpts.found.insert(place, excerpt);
                }
                None => excerpts.missing += 1,
            }
        }
        excerpts
    }
}

/// Returns a frame of the program's own crates and its place.
fn own(profile: &Profile, id: FrameId) -> Option<(&Frame, String)> {
    let (frame, function) = profile.lookup(id)?;
    let place = profile.source_of(id)?;
    (function.origin == Origin::User).then(|| (frame, printable(&place).into_owned()))
}

/// The lines of a file that are known, each with its number.
struct Text {
    lines: Vec<(usize, String)>,
    changed: bool,
}

impl Text {
    fn around(&self, line: usize) -> Option<Excerpt> {
        let at = self
            .lines
            .binary_search_by_key(&line, |(number, _)| *number)
            .ok()?;
        let mut first = at;
        let mut last = at;
        // Packed recordings have only some lines.
        let follows = |a: usize, b: usize| self.lines[a].0 + 1 == self.lines[b].0;
        while first > 0 && at - first < AROUND && follows(first - 1, first) {
            first -= 1;
        }
        while last + 1 < self.lines.len() && last - at < AROUND && follows(last, last + 1) {
            last += 1;
        }
        let lines = self.lines[first..=last].iter().map(|(_, text)| {
            let text: String = text.replace('\t', "    ");
            let text: String = text.chars().take(LONGEST_LINE).collect();
            printable(&text).into_owned()
        });
        Some(Excerpt {
            first: self.lines[first].0,
            lines: lines.collect(),
            changed: self.changed,
        })
    }
}

/// Returns the lines that a packed recording carries, or those of the file.
fn text_of(profile: &Profile, file: &str, folders: &[Folder]) -> Option<Text> {
    if let Some(lines) = profile.source_lines(file) {
        let lines = lines
            .iter()
            .map(|(number, text)| (*number as usize, text.clone()));
        return Some(Text {
            lines: lines.collect(),
            changed: false,
        });
    }
    let path = Path::new(file);
    // Recorded elsewhere, a program's files have another folder in front.
    let inside = file.strip_prefix(profile.source_root()).map(Path::new);
    let (text, modified_unix_ns) = folders.iter().find_map(|folder| {
        let below = folder.below(path);
        below.or(inside).and_then(|inside| folder.read(inside))
    })?;
    let started = u128::from(profile.process().started_unix_ns);
    let lines = text.lines().enumerate();
    Some(Text {
        lines: lines.map(|(at, line)| (at + 1, line.to_owned())).collect(),
        changed: started > 0 && modified_unix_ns > started,
    })
}

/// A folder that files may lie in.
struct Folder {
    given: PathBuf,
    real: PathBuf,
}

impl Folder {
    fn new(path: &Path) -> Option<Folder> {
        Some(Folder {
            given: std::path::absolute(path).ok()?,
            real: fs::canonicalize(path).ok()?,
        })
    }

    /// Returns the rest of a path that is below this folder; a relative path is below any.
    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.is_relative() {
            return Some(path);
        }
        let below = path.strip_prefix(&self.given);
        below.or_else(|_| path.strip_prefix(&self.real)).ok()
    }

    /// Reads a regular file below this folder, and the time when it changed. Follows no symbolic
    /// link.
    fn read(&self, inside: &Path) -> Option<(String, u128)> {
        let mut path = self.real.clone();
        let mut parts = inside.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(part) = part else {
                return None;
            };
            path.push(part);
            let kind = fs::symlink_metadata(&path).ok()?.file_type();
            let is_expected = if parts.peek().is_some() {
                kind.is_dir()
            } else {
                // Checked before opening, because opening a pipe would wait for its writer.
                kind.is_file()
            };
            if !is_expected {
                return None;
            }
        }
        let file = File::open(&path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return None;
        }
        let modified = metadata
            .modified()
            .ok()?
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let mut text = String::new();
        // A file that is not UTF-8 is not a source file.
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        Some((text, modified))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_below_the_folder_are_read() {
        let outside = tempfile::tempdir().expect("a folder");
        let inside = tempfile::tempdir().expect("a folder");
        let write = |path: PathBuf| fs::write(path, "fn main() {}\n").expect("written");
        write(outside.path().join("secret.rs"));
        fs::create_dir(inside.path().join("src")).expect("a folder");
        write(inside.path().join("src/main.rs"));
        fs::write(inside.path().join("src/binary.rs"), [0xff, 0xfe]).expect("written");
        let large = File::create(inside.path().join("src/large.rs")).expect("created");
        large.set_len(LARGEST + 1).expect("sparse");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            let link = |to: &Path, name: &str| {
                symlink(to, inside.path().join(name)).expect("a link");
            };
            link(&outside.path().join("secret.rs"), "src/link.rs");
            link(&inside.path().join("src/main.rs"), "src/near.rs");
            link(outside.path(), "away");
        }
        let folder = Folder::new(inside.path()).expect("a folder");
        let reads = |path: &str| {
            let path = Path::new(path);
            folder
                .below(path)
                .and_then(|inside| folder.read(inside))
                .is_some()
        };
        let absolute = inside.path().join("src/main.rs");
        assert!(reads("src/main.rs"));
        assert!(reads(absolute.to_str().expect("letters")));
        let name = outside.path().file_name().expect("a name");
        let roundabout = format!("../{}/secret.rs", name.to_str().expect("letters"));
        let secret = outside.path().join("secret.rs");
        for path in [
            "src/link.rs",
            "src/near.rs",
            "away/secret.rs",
            "src",
            "src/../src/main.rs",
            "",
            "/etc/passwd",
            "src/gone.rs",
            "src/binary.rs",
            "src/large.rs",
            &roundabout,
            secret.to_str().expect("letters"),
        ] {
            assert!(!reads(path), "{path}");
        }
    }

    #[test]
    fn lines_around_a_place_have_their_numbers() {
        let text = Text {
            lines: (1..=100)
                .map(|line| (line, format!("line {line}")))
                .collect(),
            changed: false,
        };
        for (line, first, last) in [(1, 1, 9), (50, 42, 58), (100, 92, 100)] {
            let excerpt = text.around(line).expect("a line");
            assert_eq!(excerpt.first, first);
            assert_eq!(excerpt.lines.len(), last - first + 1);
            assert_eq!(excerpt.lines[line - first], format!("line {line}"));
        }
        assert!(text.around(101).is_none());
        let some = Text {
            lines: vec![(3, "three".into()), (9, "nine".into()), (10, "ten".into())],
            changed: false,
        };
        let excerpt = some.around(9).expect("a line");
        assert_eq!((excerpt.first, excerpt.lines.len()), (9, 2));
    }
}
