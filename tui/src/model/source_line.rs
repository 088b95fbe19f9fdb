//! A line of a source file, and the search for the file on this machine.

use std::path::{Component, Path, PathBuf};

use heapglass_profiler::profile::{FrameId, Origin};

use super::data::Data;
use crate::text::clean;

/// A line of a source file, as the recording names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    file: String,
    line: Option<u32>,
    /// `true` if the file belongs to the user's own code.
    is_own: bool,
}

impl SourceLine {
    /// Returns the line of a frame; `None` if it is not known.
    pub(crate) fn of(data: &Data, frame: FrameId) -> Option<SourceLine> {
        let known = data.frame(frame)?;
        let function = data.function(known.function);
        Some(SourceLine {
            file: known.file.clone()?,
            line: known.line,
            is_own: function.is_some_and(|function| function.origin == Origin::User),
        })
    }

    pub(crate) fn line(&self) -> Option<u32> {
        self.line
    }

    /// Returns `path:line`, escaped, so that what is pasted into a shell has no control characters.
    pub(crate) fn label(&self) -> String {
        let line = self
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}", clean(&self.file))
    }

    /// Returns the absolute path of the file, if it is a regular file below one of `roots`. A
    /// recording can name any path, so nothing else is ever opened for writing.
    ///
    /// # Errors
    /// Returns a sentence that says why there is no such file.
    pub(crate) fn resolve(&self, roots: &[PathBuf]) -> Result<PathBuf, String> {
        let folders: Vec<PathBuf> = roots
            .iter()
            .filter_map(|root| root.canonicalize().ok())
            .collect();
        let mut is_elsewhere = false;
        for path in candidates(Path::new(&self.file), self.is_own, roots) {
            // Symbolic links are followed before the check, so that none leads out of a folder.
            let Ok(path) = path.canonicalize() else {
                continue;
            };
            if !path.is_file() {
                continue;
            }
            if folders.iter().any(|folder| path.starts_with(folder)) {
                return Ok(path);
            }
            is_elsewhere = true;
        }
        let file = clean(&self.file);
        Err(if is_elsewhere {
            format!("{file} is not below the current folder, so it is not opened")
        } else {
            format!("{file} was not found below the current folder")
        })
    }
}

/// Returns the possible paths of a file: the path that the compiler used, or paths below a root
/// without the first folders of that path. Short ends such as `src/lib.rs` could match a file of
/// another crate, so they are tried only for the user's own code.
pub(crate) fn candidates(file: &Path, own: bool, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut special = ["/proc", "/sys", "/dev"].iter();
    let is_special = special.any(|folder| file.starts_with(folder));
    let mut paths = Vec::new();
    if file.is_absolute() && !is_special {
        paths.push(file.to_owned());
    }
    let parts: Vec<_> = file
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    // Only normal path components are joined to a root, so that a recorded path cannot lead out of
    // it.
    let shortest = if own || file.is_relative() { 2 } else { 3 };
    for root in roots {
        for cut in 0..parts.len() {
            let rest = parts.get(cut..).unwrap_or_default();
            if rest.len() >= shortest || (cut == 0 && own) {
                paths.push(root.join(rest.iter().collect::<PathBuf>()));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(file: &str, own: bool) -> Vec<String> {
        candidates(Path::new(file), own, &[PathBuf::from("/folder")])
            .into_iter()
            .map(|p| p.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn own_files_are_found_under_a_moved_checkout() {
        let found = paths("/build/cities/src/main.rs", true);
        assert_eq!(found[0], "/build/cities/src/main.rs");
        assert!(
            found.contains(&"/folder/src/main.rs".to_owned()),
            "{found:?}"
        );
        assert!(
            !found.contains(&"/folder/main.rs".to_owned()),
            "a bare name would find anything: {found:?}"
        );
    }

    #[test]
    fn a_dependency_is_never_taken_for_the_file_of_the_same_name_at_home() {
        let found = paths("/home/ada/.cargo/registry/serde_json-1.0/src/de.rs", false);
        assert!(
            !found.contains(&"/folder/src/de.rs".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"/folder/serde_json-1.0/src/de.rs".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn a_recorded_path_cannot_climb_out_of_a_root() {
        assert!(
            paths("../../etc/passwd", true)
                .iter()
                .all(|p| !p.contains(".."))
        );
        assert!(paths("/dev/stdin", true).iter().all(|p| p != "/dev/stdin"));
    }

    #[test]
    fn only_a_regular_file_below_a_root_is_opened() {
        let line = |file: &str| SourceLine {
            file: file.to_owned(),
            line: Some(3),
            is_own: true,
        };
        let roots = [PathBuf::from("src")];
        let found = line("/build/tui/src/model/mod.rs")
            .resolve(&roots)
            .expect("a file of ours");
        assert!(found.is_absolute() && found.ends_with("tui/src/model/mod.rs"));
        for elsewhere in [
            "/etc/hostname",
            "../Cargo.toml",
            "/proc/self/environ",
            "src/model",
        ] {
            assert!(line(elsewhere).resolve(&roots).is_err(), "{elsewhere}");
        }
        let label = line("/a/\u{1b}]52;c;x.rs").label();
        assert_eq!(label, "/a/\\u{1b}]52;c;x.rs:3");
    }
}
