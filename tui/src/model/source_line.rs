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
            format!("{file} is not below {WHERE}, so it is not opened")
        } else {
            format!("{file} was not found below {WHERE}")
        })
    }
}

/// The folders of [`SourceLine::resolve`], for people.
const WHERE: &str = "the current folder or a --source-dir";

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

    fn line(file: &str) -> SourceLine {
        SourceLine {
            file: file.to_owned(),
            line: Some(3),
            is_own: true,
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_symbolic_link_that_leads_out_is_refused() {
        use std::os::unix::fs::symlink;
        let place = std::env::temp_dir().join(format!("heapglass-roots-{}", std::process::id()));
        let [inside, outside] = ["inside", "outside"].map(|name| place.join(name));
        for folder in [&inside, &outside] {
            std::fs::create_dir_all(folder.join("src")).expect("a folder");
        }
        std::fs::write(inside.join("src/main.rs"), "fn main() {}").expect("a file");
        std::fs::write(outside.join("src/secret.rs"), "fn main() {}").expect("a file");
        symlink(outside.join("src/secret.rs"), inside.join("src/out.rs")).expect("a link");
        symlink(&outside, inside.join("away")).expect("a link");
        symlink("main.rs", inside.join("src/same.rs")).expect("a link");
        symlink(&inside, place.join("link")).expect("a link");
        let roots = [inside.clone()];
        for file in ["src/out.rs", "away/src/secret.rs"] {
            let refused = line(file).resolve(&roots).expect_err("it leads out");
            assert!(refused.contains("is not below"), "{refused}");
            // It is opened if the folder to which it leads was given too.
            let roots = [inside.clone(), outside.clone()];
            let found = line(file).resolve(&roots).expect("a given folder");
            let expected = outside.join("src/secret.rs").canonicalize();
            assert_eq!(found, expected.expect("the file"));
        }
        // A link that stays inside, and a given folder that is a link.
        let real = inside.join("src/main.rs").canonicalize().expect("the file");
        assert_eq!(line("src/same.rs").resolve(&roots), Ok(real.clone()));
        let link = [place.join("link")];
        assert_eq!(line("src/main.rs").resolve(&link), Ok(real));
        // A folder that is not there admits nothing.
        let absent = [place.join("absent")];
        let path = inside.join("src/main.rs");
        let path = path.to_str().expect("UTF-8");
        assert!(line(path).resolve(&absent).is_err());
        std::fs::remove_dir_all(place).expect("removed");
    }

    #[test]
    fn only_a_regular_file_below_a_root_is_opened() {
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
        // A file of another folder is opened if that folder was given, whatever was recorded.
        let given = [PathBuf::from("src"), PathBuf::from("../profiler")];
        let path = line("/build/profiler/src/lib.rs");
        let found = path.resolve(&given[1..]).expect("a file of ours");
        assert!(found.is_absolute() && found.ends_with("profiler/src/lib.rs"));
        let found = line("src/diff/mod.rs")
            .resolve(&given)
            .expect("a file of ours");
        assert!(found.ends_with("profiler/src/diff/mod.rs"));
        let label = line("/a/\u{1b}]52;c;x.rs").label();
        assert_eq!(label, "/a/\\u{1b}]52;c;x.rs:3");
    }
}
