//! Where the debug information is: beside the binary, by build-id, by debug link, split,
//! compressed.

use heapglass_limits::Command;
use std::ffi::OsStr;

use super::programs::*;
use super::*;

fn with_debug_dir(binary: &Path, dir: &Path, extent: &std::ops::Range<u64>) -> Symbols {
    let options = SymbolOptions {
        debug_dirs: vec![dir.to_path_buf()],
        ..SymbolOptions::default()
    };
    resolve(&[module(binary)], &raw_frames(extent), &options, &|_| ()).expect("resolving")
}

fn objcopy(args: &[&OsStr]) {
    run(Command::new("objcopy").args(args));
}

const FILL: &str = "shapes::shapes::Grid<T>::fill<u16>";

/// A binary stripped of its debug information and the file that has it; `None` without the tool for
/// it.
fn stripped(folder: &Path) -> Option<(PathBuf, PathBuf, std::ops::Range<u64>)> {
    if !has_tool("objcopy") {
        return None;
    }
    let binary = build(folder, "shapes", SHAPES, &["-Cdebuginfo=1"]);
    let extent = function(&binary, "::fill");
    let debug = folder.join("apart.debug");
    objcopy(&[
        OsStr::new("--only-keep-debug"),
        binary.as_os_str(),
        debug.as_os_str(),
    ]);
    objcopy(&[OsStr::new("--strip-all"), binary.as_os_str()]);
    Some((binary, debug, extent))
}

#[test]
fn a_stripped_binary_without_its_debug_file_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((binary, _, extent)) = stripped(folder.path()) else {
        return;
    };
    let symbols = resolved(&binary, &extent);
    assert!(
        symbols.frames.iter().all(Vec::is_empty),
        "{:?}",
        names_in(&symbols)
    );
    assert!(
        matches!(&symbols.modules[0], SymbolSource::Missing(why) if why.contains("stripped") && why.contains("--debug-dir")),
        "{:?}",
        symbols.modules
    );
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((binary, debug, extent)) = stripped(folder.path()) else {
        return;
    };
    let id = hex_all(&build_id(&binary));
    let dirs = folder.path().join("debug");
    let place = dirs.join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&place).expect("a folder");
    let place = place.join(format!("{}.debug", &id[2..]));
    std::fs::rename(debug, &place).expect("moving the debug file");
    let symbols = with_debug_dir(&binary, &dirs, &extent);
    assert_eq!(
        symbols.modules,
        [SymbolSource::Debug(place)],
        "{:?}",
        symbols.notes
    );
    assert!(has(&symbols, FILL, 9));
    // The binary itself may be gone: the debug file is of the same build.
    let module = module(&binary);
    let gone = ModuleRef {
        path: "/nonexistent/shapes",
        identity: module.identity,
    };
    let options = SymbolOptions {
        debug_dirs: vec![dirs],
        ..SymbolOptions::default()
    };
    let symbols = resolve(&[gone], &raw_frames(&extent), &options, &|_| ()).expect("resolving");
    assert!(has(&symbols, FILL, 9));
}

#[test]
fn a_debug_link_is_followed_only_when_its_checksum_fits() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((binary, debug, extent)) = stripped(folder.path()) else {
        return;
    };
    let mut link = OsStr::new("--add-gnu-debuglink=").to_owned();
    link.push(&debug);
    objcopy(&[&link, binary.as_os_str()]);
    let symbols = resolved(&binary, &extent);
    assert_eq!(
        symbols.modules,
        [SymbolSource::Debug(debug.clone())],
        "{:?}",
        symbols.notes
    );
    assert!(has(&symbols, FILL, 9));

    let mut bytes = std::fs::read(&debug).expect("reading the debug file");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&debug, bytes).expect("writing the debug file");
    let symbols = resolved(&binary, &extent);
    assert!(
        matches!(symbols.modules[0], SymbolSource::Missing(_)),
        "{:?}",
        symbols.modules
    );
}

#[test]
fn compressed_debug_information_is_read() {
    for format in ["zlib", "zstd"] {
        let folder = tempfile::tempdir().expect("a folder");
        let binary = build(folder.path(), "shapes", SHAPES, &["-Cdebuginfo=1"]);
        let flag = format!("--compress-debug-sections={format}");
        let mut tools = ["objcopy", "llvm-objcopy"].into_iter();
        let packed = tools.any(|tool| {
            // Not every build of these tools knows zstd.
            Command::new(tool)
                .arg(&flag)
                .arg(&binary)
                .output()
                .is_ok_and(|output| output.status.success() && output.stderr.is_empty())
        });
        if !packed {
            continue;
        }
        let symbols = resolved(&binary, &function(&binary, "::fill"));
        assert!(has(&symbols, FILL, 9), "{format}: {:?}", symbols.notes);
    }
}

#[test]
fn split_debug_information_is_read_packed_and_unpacked() {
    for (split, what) in [("packed", ".dwp"), ("unpacked", ".dwo")] {
        for level in ["-Cdebuginfo=1", "-Cdebuginfo=2"] {
            let folder = tempfile::tempdir().expect("a folder");
            let flag = format!("-Csplit-debuginfo={split}");
            let binary = build(
                folder.path(),
                "shapes",
                SHAPES,
                &[level, &flag, "-Csave-temps=no"],
            );
            let extent = function(&binary, "::fill");
            let symbols = resolved(&binary, &extent);
            assert!(
                has(&symbols, FILL, 9),
                "{split} {level}: {:?} {:?}",
                symbols.notes,
                names_in(&symbols)
            );
            assert!(
                names_in(&symbols)
                    .contains("alloc::vec::Vec<T,A>::push<u16, alloc::alloc::Global>"),
                "{split} {level}: {:?}",
                names_in(&symbols)
            );
            // Moved to a folder of its own it is found by --debug-dir, and missed without.
            let aside = folder.path().join("aside");
            std::fs::create_dir(&aside).expect("a folder");
            let mut moved = 0;
            for entry in std::fs::read_dir(folder.path()).expect("listing") {
                let path = entry.expect("an entry").path();
                if path
                    .extension()
                    .is_some_and(|extension| what.ends_with(extension.to_str().unwrap_or("?")))
                {
                    std::fs::rename(&path, aside.join(path.file_name().expect("a name")))
                        .expect("moving");
                    moved += 1;
                }
            }
            assert!(moved > 0, "{split} {level}: no {what} file was made");
            let symbols = resolved(&binary, &extent);
            assert!(!names_in(&symbols).contains(FILL), "{split} {level}");
            assert!(
                symbols
                    .notes
                    .iter()
                    .any(|note| note.contains("split debug information is missing")),
                "{split} {level}: {:?}",
                symbols.notes
            );
            let symbols = with_debug_dir(&binary, &aside, &extent);
            assert!(
                has(&symbols, FILL, 9),
                "{split} {level}: {:?}",
                symbols.notes
            );
        }
    }
}

#[test]
fn without_debug_information_the_symbol_table_names_functions_and_nothing_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = build(folder.path(), "shapes", SHAPES, &["-Cdebuginfo=0"]);
    let extent = function(&binary, "::fill");
    let symbols = resolved(&binary, &extent);
    assert_eq!(symbols.modules, [SymbolSource::Table(binary)]);
    assert_eq!(
        names_in(&symbols).into_iter().collect::<Vec<_>>(),
        ["shapes::shapes::Grid<T>::fill"]
    );
    assert!(
        symbols
            .frames
            .iter()
            .flatten()
            .all(|frame| frame.file.is_none() && frame.line.is_none() && !frame.inlined)
    );
    assert!(
        symbols
            .frames
            .iter()
            .flatten()
            .all(SourceFrame::is_name_only)
    );
}

#[test]
fn what_a_derive_made_was_called_back_and_what_was_written_by_hand_was_not() {
    const SOURCE: &str = r#"
#[derive(Debug)]
struct Made { names: Vec<String> }
struct Written { names: Vec<String> }
impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = self.names.join(", ");
        f.write_str(&all)
    }
}
fn main() {
    let names = |word: &str| std::env::args().map(|name| name + word).collect::<Vec<_>>();
    println!("{:?} {:?}", Made { names: names("a") }, Written { names: names("b") });
}
"#;
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [
        &["-Cdebuginfo=1"][..],
        &["-Cdebuginfo=2", "-Csymbol-mangling-version=v0"],
    ] {
        let binary = build(folder.path(), "derived", SOURCE, flags);
        for (of, is_derived) in [("Made", true), ("Written", false)] {
            let name = format!("<derived::{of} as core::fmt::Debug>::fmt");
            let symbols = resolved(&binary, &function(&binary, &name));
            let classifier = Classifier::new(&symbols);
            let mut frames = symbols.frames.iter().flatten();
            let own = frames
                .find(|frame| *frame.function == *name)
                .unwrap_or_else(|| panic!("{name}: {:?}", names_in(&symbols)));
            let function = classifier.function(own, "derived");
            assert_eq!(function.is_derived, is_derived, "{name}");
            let is_called_back =
                role(&function, &function.parsed()) == crate::profile::Role::Callback;
            assert_eq!(is_called_back, is_derived, "{name}");
        }
    }
}
