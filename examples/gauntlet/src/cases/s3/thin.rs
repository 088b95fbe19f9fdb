//! 3.12's binaries: a small program built with the settings named, in a folder for the time being.

use crate::Window;
use object::{Object, ObjectSection, SectionKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const MANIFEST: &str =
    "[package]\nname = \"thin\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";

/// Counts the words of its argument: strings, a map, formatting, as in any small service.
const PROGRAM: &str = r#"
use std::collections::BTreeMap;

fn main() {
    let text = std::env::args().nth(1).unwrap_or_default();
    let mut words = BTreeMap::<&str, usize>::new();
    for word in text.split_whitespace() {
        *words.entry(word).or_default() += 1;
    }
    for (word, count) in &words {
        println!("{count:>6} {word}");
    }
}
"#;

/// Builds the program and says how large it came out and how long that took; the window runs it.
///
/// # Panics
/// When there is no cargo, or it does not build: the runner shows it as the variant's failure.
pub(super) fn build(window: &mut Window, settings: &[&str]) {
    let folder = Folder::new();
    let (program, seconds) = folder.build(settings);
    let bytes = std::fs::read(&program)
        .unwrap_or_else(|error| panic!("read {}: {error}", program.display()));
    let file = object::File::parse(bytes.as_slice())
        .unwrap_or_else(|error| panic!("read {}: {error}", program.display()));
    let code: u64 = file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text)
        .map(|section| section.size())
        .sum();
    window.note("file_bytes", bytes.len() as f64);
    window.note("binary_code_bytes", code as f64);
    window.note("build_seconds", seconds);
    let argument = "to be or not to be ".repeat(window.scaled(1000));
    window.input(argument.len(), 0);
    // No environment: copying ours would be counted as the case's.
    let mut command = Command::new(&program);
    command.arg(argument).env_clear().stdout(Stdio::null());
    window.work(|| command.status().is_ok_and(|status| status.success()));
}

/// Removed again when it goes out of scope.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("heapglass-thin-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path: PathBuf = folder.join(name);
            let written = path
                .parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&path, text));
            written.unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        };
        write("Cargo.toml", MANIFEST);
        write("src/main.rs", PROGRAM);
        Folder(folder)
    }

    fn build(&self, settings: &[&str]) -> (PathBuf, f64) {
        let target = self.0.join("target");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--release", "--offline", "--quiet"])
            .current_dir(&self.0)
            .arg("--target-dir")
            .arg(&target);
        for setting in settings {
            cargo
                .arg("--config")
                .arg(format!("profile.release.{setting}"));
        }
        // The user's flags are not the settings named.
        for flags in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
        ] {
            cargo.env_remove(flags);
        }
        let start = Instant::now();
        let output = cargo
            .output()
            .unwrap_or_else(|error| panic!("run cargo to build a thin program: {error}"));
        let seconds = start.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "cargo does not build a thin program: {said}"
        );
        (program(&target), seconds)
    }
}

fn program(target: &Path) -> PathBuf {
    target
        .join("release")
        .join(format!("thin{}", std::env::consts::EXE_SUFFIX))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind is in the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
