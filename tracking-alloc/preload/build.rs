//! Builds the library by a second run of cargo. Whatever fails, the crate is built: without the
//! library, and with a warning.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=library");
    for name in SKIP {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let out = folder("OUT_DIR");
    println!("cargo::rerun-if-env-changed={READY}");
    let built = match (ready(), why_not()) {
        (Some(library), _) => Ok(library),
        (None, Some(why)) => Err(why.to_owned()),
        (None, None) => build(&out).map_err(|error| {
            // A file that does not exist makes cargo try again the next time.
            println!("cargo::rerun-if-changed={}", out.join("failed").display());
            error.to_string()
        }),
    };
    let constant = match built {
        Ok(library) => format!("Ok(include_bytes!({library:?}))"),
        Err(why) => {
            println!(
                "cargo::warning=built without the preload library: {}",
                why.replace('\n', " | ")
            );
            format!("Err({why:?})")
        }
    };
    std::fs::write(out.join("library.rs"), constant).expect("OUT_DIR can be written to");
}

/// The variable with the path of a library that is used as it is. A command linked with musl cannot
/// build the library, but can preload the one for glibc into programs of glibc.
const READY: &str = "HEAPGLASS_PRELOAD_LIBRARY";

/// Returns the absolute path of the library that need not be built.
fn ready() -> Option<PathBuf> {
    let library = PathBuf::from(std::env::var_os(READY).filter(|path| !path.is_empty())?);
    println!("cargo::rerun-if-changed={}", library.display());
    Some(library)
}

/// Variables with which the library is not built: documentation, an editor, and the user's wish.
const SKIP: [&str; 3] = ["DOCS_RS", "RA_RUSTC_WRAPPER", "HEAPGLASS_NO_PRELOAD"];

/// Returns the reason not to try.
fn why_not() -> Option<&'static str> {
    let target = |part: &str| variable(&format!("CARGO_CFG_TARGET_{part}"));
    if target("OS") != "linux"
        || target("ENV") != "gnu"
        || !["x86_64", "aarch64"].contains(&target("ARCH").as_str())
    {
        Some("it exists for Linux with glibc on x86-64 and aarch64 only")
    } else if SKIP.iter().any(|name| std::env::var_os(name).is_some()) {
        Some("DOCS_RS, RA_RUSTC_WRAPPER or HEAPGLASS_NO_PRELOAD is set")
    } else {
        None
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(name).unwrap_or_default())
}

/// Builds the library in `out` and returns its path.
fn build(out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let recorder = folder("DEP_HEAPGLASS_RECORDER_MANIFEST_DIR");
    let recording = folder("DEP_HEAPGLASS_RECORDER_RECORDING_DIR");
    for part in [&recorder, &recording] {
        for source in ["src", "Cargo.toml"] {
            println!("cargo::rerun-if-changed={}", part.join(source).display());
        }
    }
    let package = out.join("preload");
    std::fs::create_dir_all(&package)?;
    let manifest = package.join("Cargo.toml");
    write_changed(&manifest, &manifest_text(&recorder, &recording))?;
    let target = variable("TARGET");
    let built = out.join("target");
    let output = cargo(&manifest, &target, &built).output()?;
    if !output.status.success() {
        return Err(last_lines(&output.stderr).into());
    }
    let library = built.join(target).join("release/libheapglass_preload.so");
    if library.is_file() {
        Ok(library)
    } else {
        // A wrapper of the compiler may skip the work, as that of an editor does.
        Err("cargo built no library".into())
    }
}

/// Returns the command that builds the package.
fn cargo(manifest: &Path, target: &str, built: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        // Cargo looks for its configuration, for example of vendored sources, from here upwards.
        .current_dir(folder("CARGO_MANIFEST_DIR"))
        // The outer cargo has downloaded everything, and does not tell if it may use the network.
        .args([
            "build",
            "--release",
            "--offline",
            "--quiet",
            "--lib",
            "--target",
            target,
        ])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(built)
        // These are for the outer build: flags of its code, and programs that check it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CLIPPY_ARGS")
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", "");
    let is_flag = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_BUILD_")
            || name.starts_with("CARGO_PROFILE_")
            || name.starts_with("CARGO_TARGET_") && name.ends_with("_RUSTFLAGS")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_flag(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns the manifest of the library. The recorder and its layout are those that the outer build
/// uses, wherever they lie.
fn manifest_text(recorder: &Path, recording: &Path) -> String {
    let library = folder("CARGO_MANIFEST_DIR").join("library/lib.rs");
    let rust = variable("CARGO_PKG_RUST_VERSION");
    format!(
        r#"# Written by the build script of heapglass-preload.
[package]
name = "heapglass-preload-library"
version = "0.0.0"
edition = "2024"
rust-version = {rust:?}
publish = false

[workspace]
resolver = "3"

[lib]
name = "heapglass_preload"
path = {library:?}
crate-type = ["cdylib"]

[dependencies]
heapglass-recorder = {{ path = {recorder:?}, features = ["preload"] }}
libc = {{ version = "0.2", default-features = false }}

[patch.crates-io]
tracking-alloc-recording = {{ path = {recording:?} }}

[profile.release]
codegen-units = 1
debug = false
# Takes a third of the build time, and makes no event faster.
lto = "off"
opt-level = 3
panic = "abort"
strip = "debuginfo"
"#
    )
}

/// Writes a file unless it has this content. Its time would make cargo build everything again.
fn write_changed(path: &Path, content: &str) -> std::io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    std::fs::write(path, content)
}

/// Returns the end of an error message.
fn last_lines(message: &[u8]) -> String {
    let message = String::from_utf8_lossy(message);
    let lines: Vec<&str> = message
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
