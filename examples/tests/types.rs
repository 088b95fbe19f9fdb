//! Types from stacks on a program that reads JSON with no change to its types, at the levels of debug information
//! and with the manglings that programs are built with: bytes by type are what arithmetic says.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod common;

use common::Target;
use heapglass_profiler::profile::{Profile, Site};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes by name.
type Sums = BTreeMap<String, u64>;

/// What the program says that it comes to.
#[derive(serde::Deserialize)]
struct Expected {
    types: Sums,
    /// Not said where nothing is read.
    #[serde(default)]
    owners: Option<Sums>,
}

const WAYS: [(&str, &[&str]); 4] = [
    ("1", &[]),
    ("line-tables-only", &["-Csymbol-mangling-version=v0"]),
    ("line-tables-only", &[]),
    ("1", &["-Csymbol-mangling-version=v0"]),
];

/// A package with the fixture as its program, and the versions of this workspace.
fn package(folder: &Path) {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = workspace.canonicalize().expect("the workspace");
    let manifest = format!(
        "[package]\nname = \"types_load\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [[bin]]\nname = \"types_load\"\npath = {:?}\n\
         [dependencies]\ntracking-alloc = {{ path = {:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\
         bumpalo = \"3\"\nhashbrown = \"0.17\"\nindexmap = \"2\"\nsmallvec = \"1\"\n\
         [[bin]]\nname = \"containers\"\npath = \"containers.rs\"\n\
         [[bin]]\nname = \"texts\"\npath = \"texts.rs\"\n\
         [workspace]\n[profile.release]\nopt-level = 3\n",
        workspace.join("examples/src/bin/types_load.rs"),
        workspace.join("tracking-alloc"),
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
    std::fs::write(
        folder.join("containers.rs"),
        include_str!("programs/containers.rs"),
    )
    .expect("a program");
    std::fs::write(folder.join("texts.rs"), include_str!("programs/texts.rs")).expect("a program");
    // The same versions as here, so that nothing need be fetched.
    std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a lock file");
}

fn build(folder: &Path, debug: &str, lto: &str, flags: &[&str]) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(folder)
        .args(["build", "--release", "--offline", "--quiet"])
        .args(["--target-dir", "target"])
        .env("CARGO_PROFILE_RELEASE_DEBUG", debug)
        .env("CARGO_PROFILE_RELEASE_LTO", lto)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            [&["-Cforce-frame-pointers=yes"], flags]
                .concat()
                .join("\u{1f}"),
        );
    let output = command.output().expect("cargo starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder.join("target/release/types_load")
}

/// Runs it; the profile of what it recorded, and what it printed.
fn record(program: &Path) -> (Profile, Expected) {
    let mut target = Target::new(program.to_str().expect("a path"), &[]);
    let printed = target.succeed();
    let profile = heapglass_profiler::open(
        &target.recording(),
        &heapglass_profiler::Options::default(),
        &|_| (),
    )
    .expect("a recording");
    (profile, serde_json::from_str(&printed).expect("JSON"))
}

fn loaded(profile: &Profile) -> impl Iterator<Item = &Site> {
    let in_load = |site: &&Site| {
        profile
            .scopes
            .get(site.scope.0 as usize)
            .is_some_and(|scope| scope.name == "load")
    };
    profile.sites.iter().filter(in_load)
}

fn stack(profile: &Profile, site: &Site) -> Vec<String> {
    let frames = site.stack.iter().rev().take(40);
    frames
        .map(|id| profile.function(*id).name.clone())
        .collect()
}

/// Bytes by container and by owner are what the program says; a site without one shows its stack.
fn assert_types(program: &Path, how: &str) {
    let (profile, expected) = record(program);
    let (mut types, mut owners) = (Sums::new(), Sums::new());
    for site in loaded(&profile) {
        let unnamed = || format!("? {:#?}", stack(&profile, site));
        let (container, owner) = match site.contents {
            Some(contents) => (
                profile.type_name(contents.container).full.clone(),
                contents
                    .owner
                    .map_or_else(unnamed, |id| profile.type_name(id).short.clone()),
            ),
            None => (unnamed(), unnamed()),
        };
        *types.entry(container).or_default() += site.figures.total_bytes;
        *owners.entry(owner).or_default() += site.figures.total_bytes;
    }
    assert_eq!(types, expected.types, "{how}");
    if let Some(expected) = expected.owners {
        assert_eq!(owners, expected, "{how}");
    }
    assert_eq!(profile.unnamed(), None, "{how}");
}

#[test]
fn bytes_by_type_are_what_arithmetic_says_at_every_level_of_debug_information() {
    let folder = tempfile::tempdir().expect("a folder");
    package(folder.path());
    for (debug, flags) in WAYS {
        let how = format!("debug = {debug}, {flags:?}");
        let program = build(folder.path(), debug, "false", flags);
        assert_types(&program, &how);
        assert_types(&program.with_file_name("containers"), &how);
        assert_types(&program.with_file_name("texts"), &how);
    }
}

#[test]
fn bytes_by_type_are_what_arithmetic_says_with_fat_lto() {
    let folder = tempfile::tempdir().expect("a folder");
    package(folder.path());
    let program = build(folder.path(), "line-tables-only", "fat", &[]);
    assert_types(&program, "fat LTO");
    assert_types(&program.with_file_name("texts"), "fat LTO, texts");
}

#[test]
fn bytes_by_type_are_what_arithmetic_says_without_optimization() {
    assert_types(
        Path::new(env!("CARGO_BIN_EXE_types_load")),
        "as built for tests",
    );
}

#[test]
fn without_debug_information_no_type_is_named_and_the_setting_is() {
    let folder = tempfile::tempdir().expect("a folder");
    package(folder.path());
    let program = build(folder.path(), "0", "false", &[]);
    let (profile, _) = record(&program);
    assert!(loaded(&profile).all(|site| site.contents.is_none()));
    let missing = profile.unnamed().expect("a sentence");
    assert!(
        missing.contains("debug = \"line-tables-only\"") && missing.contains("types_load"),
        "{missing}"
    );
}
