//! Real files, in the user's cache after they are fetched. They are not part of the repository, and
//! no test needs them.

use std::io;
use std::path::PathBuf;

/// A file and its expected length and checksum.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name in the package's folder `jsonexamples`, without `.json`.
    pub name: &'static str,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: &'static str,
    /// `true` if the package contains it as `.json.gz`.
    pub gzip: bool,
}

/// The npm package that contains them.
pub const PACKAGE: &str = "simdjson@0.9.2";

/// All files.
pub const FILES: [File; 5] = [
    File {
        name: "twitter",
        bytes: 631_514,
        sha256: "a08b769f32b95f426cbc3abafcec65c1a19d3eb544d4ddf320eae142c99efc5d",
        gzip: false,
    },
    File {
        name: "citm_catalog",
        bytes: 1_727_204,
        sha256: "a73e7a883f6ea8de113dff59702975e60119b4b58d451d518a929f31c92e2059",
        gzip: false,
    },
    File {
        name: "canada",
        bytes: 2_251_051,
        sha256: "f83b3b354030d5dd58740c68ac4fecef64cb730a0d12a90362a7f23077f50d78",
        gzip: false,
    },
    File {
        name: "gsoc-2018",
        bytes: 3_327_831,
        sha256: "72f1ef4898d88049da856c2ab8f4ec3e2c968ce209b2bbfd16cef842eb2e185f",
        gzip: false,
    },
    File {
        name: "sf_citylots",
        bytes: 189_778_220,
        sha256: "cd0d4a4a2e7629618902a54c92514f7a14761994dd7800e489ab98b96628f2bc",
        gzip: true,
    },
];

/// Returns the folder that keeps them: `$XDG_CACHE_HOME/heapglass/gauntlet`.
///
/// # Errors
/// If neither `XDG_CACHE_HOME` nor `HOME` names a folder.
pub fn folder() -> io::Result<PathBuf> {
    let named = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(named("HOME")?.join(".cache")));
    let missing = || {
        io::Error::new(
            io::ErrorKind::NotFound,
            "set XDG_CACHE_HOME or HOME: fetched files are kept there",
        )
    };
    Ok(cache
        .ok_or_else(missing)?
        .join("heapglass")
        .join("gauntlet"))
}

/// Checks that all files exist and are complete.
///
/// # Errors
/// If one is missing or has another length; the message says how to fetch it.
pub fn check() -> io::Result<()> {
    let folder = folder()?;
    for file in FILES {
        let path = folder.join(format!("{}.json", file.name));
        if std::fs::metadata(&path).map(|found| found.len()).ok() != Some(file.bytes) {
            let message = format!(
                "{} is not there or not whole: `cargo gauntlet fetch` gets it",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
    }
    Ok(())
}

/// Returns the text of a file.
///
/// # Panics
/// If the file does not exist; [`check`] reports this earlier.
pub fn read(name: &str) -> String {
    let path = folder()
        .expect("a cache folder")
        .join(format!("{name}.json"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo gauntlet fetch` gets it",
            path.display()
        )
    })
}
