//! The allocators that can be compared, and where their shared libraries are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use heapglass_profiler::allocator::Allocator as Known;

use crate::preload;

/// Allocators with a name, and the names of their libraries, the best one first. Of tcmalloc, the
/// minimal library has no profiler.
const LIBRARIES: [(&str, &[&str]); 3] = [
    ("jemalloc", &["libjemalloc.so.2", "libjemalloc.so"]),
    (
        "mimalloc",
        &["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"],
    ),
    (
        "tcmalloc",
        &[
            "libtcmalloc_minimal.so.4",
            "libtcmalloc.so.4",
            "libtcmalloc_minimal.so",
        ],
    ),
];

/// The folders of libraries, where the loader looks on most systems.
const FOLDERS: [&str; 8] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
];

/// An allocator that no feature of tracking-alloc brings.
const TCMALLOC: &str = "tcmalloc";

fn not_found(files: &[&str]) -> String {
    format!("{} was not found: install it, or give its path", files[0])
}

/// An allocator to compare.
#[derive(Clone, Debug)]
pub(super) struct Allocator {
    /// The name, or the path as given.
    pub(super) name: String,
    /// The library to preload. `None` for the system's allocator, and where none was found: the
    /// program may have the allocator in it.
    pub(super) library: Option<PathBuf>,
}

impl Allocator {
    /// Finds an allocator by its name or path.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub(super) fn find(name: &str) -> Result<Allocator, String> {
        let found = |library| Allocator {
            name: name.to_owned(),
            library,
        };
        if name == "glibc" {
            return Ok(found(None));
        }
        if name.contains('/') {
            let path = std::path::absolute(name).map_err(|error| error.to_string())?;
            if !path.is_file() {
                return Err("there is no such file".to_owned());
            }
            preload::check_path(&path)?;
            return Ok(found(Some(path)));
        }
        let known = LIBRARIES.iter().find(|(known, _)| *known == name);
        let (_, files) =
            known.ok_or("no allocator of this name is known; give the path of a library")?;
        let folders = FOLDERS.iter().map(Path::new);
        let mut paths = folders.flat_map(|folder| files.iter().map(|file| folder.join(file)));
        let path = paths.find(|path| path.is_file());
        if path.is_none() && name == TCMALLOC {
            return Err(not_found(files));
        }
        Ok(found(path))
    }

    /// Returns the value of `HEAPGLASS_ALLOCATOR`, if a program may have the allocator in it.
    pub(super) fn choice(&self) -> Option<&str> {
        let is_named = !self.name.contains('/') && self.name != TCMALLOC;
        is_named.then_some(self.name.as_str())
    }

    /// Returns the value of `LD_PRELOAD`, if a library is preloaded.
    pub(super) fn preload(&self) -> Option<OsString> {
        self.library.clone().map(preload::in_front)
    }

    /// Returns the reason why a program does not use this allocator. `used` is the allocator that
    /// it uses, if it is known.
    pub(super) fn is_not_used(&self, used: Option<&str>) -> Option<String> {
        let file = self.library.as_ref().and_then(|path| path.file_name());
        let of_library = file.and_then(|file| Known::of_library(&file.to_string_lossy()));
        let expected = self.choice().or(of_library.map(Known::name));
        let says = match (expected, used) {
            (Some(expected), Some(used)) if expected == used => return None,
            // Libraries whose rules are not known are not recognized.
            (None, Some(used)) if used != Known::Glibc.name() => return None,
            (None, None) => return None,
            (_, Some(used)) => format!("the program uses {used} all the same"),
            (_, None) => "nothing shows that the program uses it".to_owned(),
        };
        let file = LIBRARIES.iter().find(|(name, _)| *name == self.name);
        let hint = match (file, &self.library) {
            (Some((_, files)), None) => {
                format!("; {}", not_found(files))
            }
            _ => "; it may be linked statically, or have an allocator of its own".to_owned(),
        };
        Some(format!("{says}{hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, library: Option<&str>) -> Allocator {
        Allocator {
            name: name.to_owned(),
            library: library.map(PathBuf::from),
        }
    }

    #[test]
    fn an_allocator_that_is_not_used_is_not_compared() {
        let jemalloc = named("jemalloc", Some("/lib/libjemalloc.so.2"));
        assert_eq!(jemalloc.is_not_used(Some("jemalloc")), None);
        let glibc = jemalloc.is_not_used(Some("glibc")).expect("a reason");
        assert!(
            glibc.contains("uses glibc all the same; it may be linked"),
            "{glibc}"
        );
        let absent = named("mimalloc", None)
            .is_not_used(Some("glibc"))
            .expect("a reason");
        assert!(
            absent.contains("libmimalloc.so.3 was not found"),
            "{absent}"
        );
        assert!(named("glibc", None).is_not_used(None).is_some());
        let other = named("/opt/libother.so", Some("/opt/libother.so"));
        assert_eq!(other.is_not_used(None), None);
        assert!(other.is_not_used(Some("glibc")).is_some());
        let path = "/opt/libmimalloc.so.2.0";
        let given = named(path, Some(path));
        assert_eq!(given.is_not_used(Some("mimalloc")), None);
        assert!(given.is_not_used(Some("jemalloc")).is_some());
    }

    #[test]
    fn a_name_is_known_or_a_path() {
        assert!(Allocator::find("glibc").expect("known").library.is_none());
        assert!(Allocator::find("nomalloc").is_err());
        assert!(Allocator::find("/nowhere/lib.so").is_err());
    }
}
