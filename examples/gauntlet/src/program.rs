//! Small programs beside this crate, built when a case needs them: for another C library, or by another compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for what is built, removed again when it goes out of scope.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// # Panics
    /// When it can't be made.
    pub(super) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("heapglass-program-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .unwrap_or_else(|error| panic!("create {}: {error}", path.display()));
        Folder(path)
    }

    /// A file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind is in the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The source of a program of this crate.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("programs")
        .join(name)
}

/// The compiler that this is run by.
pub(super) fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// A compiler with std's unstable API: rustup's nightly, or the usual one told to take it.
pub(super) fn unstable_rustc() -> Command {
    let nightly = Command::new("rustup")
        .args(["which", "--toolchain", "nightly", "rustc"])
        .output();
    let path = nightly
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    match path {
        Some(path) => Command::new(path),
        None => {
            let mut rustc = rustc();
            rustc.env("RUSTC_BOOTSTRAP", "1");
            rustc
        }
    }
}

/// Whether a command ran to its end; `None` where there is no such program.
///
/// # Panics
/// When it fails: the runner shows it as the variant's failure.
pub(super) fn ran(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
