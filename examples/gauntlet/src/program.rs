//! Small programs next to this crate, built when a case needs them: for another C library, or with
//! another compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for build results, which is removed on drop.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// # Panics
    /// If it cannot be created.
    pub(super) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("heapglass-program-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .unwrap_or_else(|error| panic!("create {}: {error}", path.display()));
        Folder(path)
    }

    /// Returns the path of a file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the folder stays among the temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the path of the source of a program in this crate.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("programs")
        .join(name)
}

/// Returns the compiler of the cargo that runs this program.
pub(super) fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Returns a compiler with std's unstable API: rustup's nightly, or the usual one with unstable
/// features allowed.
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

/// Runs a command and returns its output; `None` if the program does not exist.
///
/// # Panics
/// If the command fails: the runner shows this as the variant's failure.
pub(super) fn ran(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
