//! Libraries that are deleted, replaced, unloaded, or loaded at the addresses of others.

use crate::common::{Target, assert_work_is_as_printed, number};
use heapglass_examples::recorded;
use heapglass_limits::Command;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracking_alloc_recording::{Recording, module_id};

/// Builds `programs/plugin.rs` under a name.
fn build(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let library = folder.join(name);
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            "--crate-name=plugin",
        ])
        .args([
            "-Cpanic=abort",
            "-Copt-level=2",
            "-Cforce-frame-pointers=yes",
        ])
        .args([
            "-Clink-arg=-Wl,--build-id",
            "-Clink-arg=-nostartfiles",
            "-Cdebuginfo=0",
        ])
        .args(flags)
        .arg("-o")
        .arg(&library)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/programs/plugin.rs"
        ))
        .output()
        .expect("rustc starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    library
}

/// Returns the build-id that a recording keeps for a library whose file exists.
fn build_id(library: &Path) -> Vec<u8> {
    identity(&in_turn("0", &[library]), &library.display().to_string())
}

/// Returns blocks and bytes by the file name of the module whose code called back.
fn callers(recording: &Recording) -> BTreeMap<String, (u64, u64)> {
    let mut found = BTreeMap::<String, (u64, u64)>::new();
    for row in recording.lanes.iter().flat_map(|lane| &lane.rows) {
        let mut node = recording.sites[row.site as usize].stack;
        while node != 0 {
            let stack = &recording.stacks[node as usize];
            let frame = &recording.frames[stack.frame as usize];
            let module = &recording.modules[frame.module as usize];
            let path = recording.string(module.path).unwrap_or_default();
            if path.contains("/plugin-") {
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                let (blocks, bytes) = found.entry(name).or_default();
                *blocks += row.total_blocks;
                *bytes += row.total_bytes;
            }
            node = stack.parent;
        }
    }
    found
}

/// Creates the expected result of [`callers`].
fn by_name<const N: usize>(names: [(&str, (u64, u64)); N]) -> BTreeMap<String, (u64, u64)> {
    BTreeMap::from(names.map(|(name, figures)| (name.to_owned(), figures)))
}

fn identity(recording: &Recording, path: &str) -> Vec<u8> {
    let modules = &recording.modules;
    let found = modules
        .iter()
        .find(|module| {
            recording
                .string(module.path)
                .is_some_and(|name| name == path)
        })
        .unwrap_or_else(|| panic!("no module is called {path}"));
    assert_eq!(found.id_kind, module_id::BUILD_ID, "{path}");
    let bytes: Vec<u8> = found
        .id
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    bytes[..found.id_bytes as usize].to_vec()
}

/// Runs `libraries` with these libraries. Returns the recording, once all of them had their code at
/// one address.
fn in_turn(wait: &str, libraries: &[&Path]) -> Recording {
    let mut target = Target::case(&["libraries", wait]);
    for (number, library) in libraries.iter().enumerate() {
        target
            .command
            .arg((1_000 + number).to_string())
            .arg(library);
    }
    let printed = target.succeed();
    let places: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("place="))
        .collect();
    assert_eq!(places.len(), libraries.len());
    println!("code was at {places:?}");
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    recording
}

#[test]
fn a_library_where_another_had_been_is_a_module_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = build(folder.path(), "plugin-first.so", &[]);
    let second = build(folder.path(), "plugin-second.so", &["--cfg=shifted"]);
    let recording = in_turn("0", &[&first, &second, &first]);
    // Ten blocks each time, of 1,000, 1,001 and 1,002 bytes.
    let wanted = by_name([
        ("plugin-first.so", (20, 20_020)),
        ("plugin-second.so", (10, 10_010)),
    ]);
    assert_eq!(callers(&recording), wanted);
}

#[test]
fn the_same_code_under_another_name_is_told_apart_a_moment_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = build(folder.path(), "plugin-first.so", &[]);
    let other = build(folder.path(), "plugin-other.so", &["--cfg=other"]);
    let recording = in_turn("100", &[&first, &other, &first, &other]);
    let wanted = by_name([
        ("plugin-first.so", (20, 20_020)),
        ("plugin-other.so", (20, 20_040)),
    ]);
    assert_eq!(callers(&recording), wanted);
    let named = |name: &str| {
        let modules = recording.modules.iter();
        modules
            .filter(|module| {
                recording
                    .string(module.path)
                    .is_some_and(|path| path.ends_with(name))
            })
            .count()
    };
    assert_eq!(
        (named("plugin-first.so"), named("plugin-other.so")),
        (1, 1),
        "a library that comes back is the one it was"
    );
}

/// Runs a case that prints where code was, and prints if that was always the same place. Returns
/// the recording, and the number of blocks that the program counted.
fn in_one_place(words: &[&str]) -> (Recording, u64) {
    let mut target = Target::case(words);
    let printed = target.succeed();
    let mut places = printed
        .lines()
        .filter_map(|line| line.strip_prefix("place="));
    let first = places.next().expect("a place");
    assert!(places.all(|place| place == first), "{printed}");
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    (recording, number(&printed, "total_blocks"))
}

#[test]
fn a_library_where_another_had_been_gets_its_blocks_far_from_the_peak_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = build(folder.path(), "plugin-first.so", &[]);
    let other = build(folder.path(), "plugin-other.so", &["--cfg=other"]);
    let paths = [&first, &other].map(|path| path.display().to_string());
    let (recording, _) = in_one_place(&["reloaded-library", &paths[0], &paths[1]]);
    let callers = callers(&recording);
    let blocks = |name: &str| callers.get(name).map_or(0, |(blocks, _)| *blocks);
    let (first, other) = (blocks("plugin-first.so"), blocks("plugin-other.so"));
    // Both run equally long. Nearly all blocks of the second library must be its own.
    assert!(
        other >= 90_000 && first < 3 * other,
        "{first} blocks of the first library, {other} of the second"
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_library_where_generated_code_ran_is_known_soon() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = build(folder.path(), "plugin-late.so", &[]);
    let path = library.display().to_string();
    let (recording, all) = in_one_place(&["after-generated-code", &path]);
    let blocks = callers(&recording)
        .get("plugin-late.so")
        .map_or(0, |(blocks, _)| *blocks);
    assert!(blocks > all / 10, "{blocks} of {all} blocks");
}

#[test]
fn a_deleted_library_keeps_its_identity() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = build(folder.path(), "plugin-deleted.so", &[]);
    let (path, wanted) = (library.display().to_string(), build_id(&library));
    let mut target = Target::case(&["deleted-library", &path]);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    assert_eq!(identity(&recording, &format!("{path} (deleted)")), wanted);
}

#[test]
fn a_replaced_library_keeps_its_identity() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = build(folder.path(), "plugin-replaced.so", &[]);
    let other = build(folder.path(), "plugin-other.so", &["--cfg=shifted"]);
    let (path, wanted) = (library.display().to_string(), build_id(&library));
    assert_ne!(wanted, build_id(&other));
    let mut target = Target::case(&["deleted-library", &path, &other.display().to_string()]);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    assert_eq!(identity(&recording, &format!("{path} (deleted)")), wanted);
}
