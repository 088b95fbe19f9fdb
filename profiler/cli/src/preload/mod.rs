//! The library that is preloaded into programs without tracking-alloc: written once to the user's
//! cache, from the bytes that this command contains.

mod plan;

pub(crate) use plan::{Choice, Plan, not_seen};

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::files::output::Temporary;
use crate::files::place::is_private;

/// The reason why there is no library to preload.
#[derive(Debug)]
pub(crate) enum Reason {
    /// This command was built without it.
    NotBuilt(&'static str),
    /// No folder can hold it: each one that was tried, with the reason.
    NoFolder(Vec<(PathBuf, String)>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotBuilt(why) => write!(
                f,
                "this heapglass was built without the library to preload: {why}"
            ),
            Reason::NoFolder(tried) => {
                f.write_str("cannot write the library to preload; set XDG_CACHE_HOME to a folder")?;
                for (folder, why) in tried {
                    write!(f, "; {}: {why}", folder.display())?;
                }
                Ok(())
            }
        }
    }
}

/// Returns the absolute path of the library, after writing it if it is not there.
///
/// # Errors
/// If this command does not contain the library, or if no folder can hold it.
pub(crate) fn library() -> Result<PathBuf, Reason> {
    let bytes = heapglass_preload::LIBRARY.map_err(Reason::NotBuilt)?;
    let mut tried = Vec::new();
    for (folder, is_shared) in folders() {
        match unpack(bytes, &folder, is_shared) {
            Ok(path) => return Ok(path),
            Err(why) => tried.push((folder, why.to_string())),
        }
    }
    Err(Reason::NoFolder(tried))
}

/// Returns the value of `LD_PRELOAD` with this library in front of those that it has.
pub(crate) fn in_front(library: PathBuf) -> OsString {
    let mut value = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// Checks that `LD_PRELOAD` can contain a path.
///
/// # Errors
/// Returns the reason if the path has a character that the loader takes for its end.
pub(crate) fn check_path(path: &Path) -> Result<(), &'static str> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.iter().any(|byte| b": \t\n".contains(byte)) {
        return Err("LD_PRELOAD cannot contain this path");
    }
    Ok(())
}

/// Returns the folders to try, and if other users can write to what contains them.
fn folders() -> impl Iterator<Item = (PathBuf, bool)> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME").map(|home| home.join(".cache"));
    let caches = [variable("XDG_CACHE_HOME"), home].into_iter().flatten();
    let user = rustix::process::geteuid().as_raw();
    let shared = std::env::temp_dir().join(format!("heapglass-{user}"));
    caches
        .filter(|cache| cache.is_absolute())
        .map(|cache| (cache.join("heapglass"), false))
        .chain([(shared, true)])
}

/// Writes the library to a folder unless it is there. The name depends on the contents, so programs
/// that run with another version keep theirs.
fn unpack(bytes: &[u8], folder: &Path, is_shared: bool) -> io::Result<PathBuf> {
    check_path(folder).map_err(io::Error::other)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    if is_shared && !is_private(folder) {
        return Err(io::Error::other("it is not only this user's"));
    }
    let flags = rustix::fs::statvfs(folder)?.f_flag;
    if flags.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other(
            "programs there cannot be executed (noexec)",
        ));
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let path = folder.join(format!("libheapglass_preload-{:016x}.so", hasher.finish()));
    if !fs::read(&path).is_ok_and(|found| found == bytes) {
        write(&path, bytes)?;
    }
    Ok(path)
}

/// Writes a file under another name, and renames it when it is complete.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = Temporary::beside(path, Some(0o755))?;
    temporary.file.write_all(bytes)?;
    temporary.replace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_written_once_and_again_if_it_is_damaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("new/cache");
        let path = unpack(b"library", &cache, false).expect("a path");
        let written = || {
            fs::metadata(&path)
                .and_then(|found| found.modified())
                .expect("a file")
        };
        let before = written();
        assert_eq!(unpack(b"library", &cache, false).expect("a path"), path);
        assert_eq!(written(), before);
        fs::write(&path, b"damaged").expect("written");
        assert_eq!(unpack(b"library", &cache, false).expect("a path"), path);
        assert_eq!(fs::read(&path).expect("a file"), b"library");
        assert_ne!(unpack(b"other", &cache, false).expect("a path"), path);
        assert_eq!(fs::read_dir(&cache).expect("a folder").count(), 2);
    }

    #[test]
    fn a_folder_that_the_loader_cannot_name_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["with space", "with:colon"] {
            assert!(unpack(b"library", &folder.path().join(name), false).is_err());
        }
        let open = folder.path().join("open");
        fs::create_dir(&open).expect("a folder");
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&open, all).expect("permissions");
        assert!(unpack(b"library", &open, true).is_err());
    }
}
