//! Builds the programs in `programs/` with the compiler of the tests, runs them, and compares.

use crate::profile::{Function, FunctionId};
use crate::symbols::{Classifier, Identity, ModuleRef, SymbolOptions, resolve};
use crate::types::{StackFrame, Stacks, normal};
use heapglass_limits::Command;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

const WATCH: &str = include_str!("programs/watch.rs");
const STRINGS: &str = include_str!("programs/strings.cpp");
const LOADS: &str = include_str!("programs/loads.rs");

/// Bytes by type.
type Table = BTreeMap<String, u64>;

/// What a program said that each of its loads comes to, and what the stacks say.
#[derive(Default)]
struct Loads {
    wanted: BTreeMap<u32, Table>,
    found: BTreeMap<u32, Table>,
    /// For messages: the functions of every stack, innermost first.
    stacks: BTreeMap<u32, Vec<String>>,
}

fn compile(folder: &Path, name: &str, source: &str, flags: &[&str], more: &[&str]) {
    let file = folder.join(format!("{name}.rs"));
    std::fs::write(&file, source).expect("writing a source file");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command
        .current_dir(folder)
        .args(["--edition=2024", "--crate-name", name])
        .args(flags)
        .args(more)
        .arg(&file);
    let output = command.output().expect("rustc starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Builds and runs the loads with some flags.
fn run(flags: &[&str]) -> Loads {
    let folder = tempfile::tempdir().expect("a folder");
    // The crate that counts has the name of the one that records, so that its frames are known for
    // what they are.
    compile(
        folder.path(),
        "tracking_alloc",
        WATCH,
        flags,
        &["--crate-type=rlib"],
    );
    compile(
        folder.path(),
        "loads",
        LOADS,
        flags,
        &["--extern", "tracking_alloc=libtracking_alloc.rlib"],
    );
    let output = Command::new(folder.path().join("loads"))
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    read(&String::from_utf8(output.stdout).expect("text"))
}

fn read(text: &str) -> Loads {
    let mut loads = Loads::default();
    let mut paths: Vec<&str> = Vec::new();
    let mut raw: Vec<(u32, u64)> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').expect("a kind of line");
        let words: Vec<&str> = rest.split('|').collect();
        let load: u32 = words[0].parse().expect("a number");
        if kind == "want" {
            let bytes = words[2].parse().expect("bytes");
            loads
                .wanted
                .entry(load)
                .or_default()
                .insert(words[1].to_owned(), bytes);
            continue;
        }
        let first = raw.len();
        for frame in words[2].split_whitespace() {
            let (path, offset) = frame.rsplit_once('@').expect("a place");
            let module = paths
                .iter()
                .position(|known| *known == path)
                .unwrap_or_else(|| {
                    paths.push(path);
                    paths.len() - 1
                });
            raw.push((
                u32::try_from(module).expect("few modules"),
                offset.parse().expect("an offset"),
            ));
        }
        rows.push((
            load,
            words[1].parse::<u64>().expect("bytes"),
            first..raw.len(),
        ));
    }
    let modules: Vec<ModuleRef<'_>> = paths
        .iter()
        .map(|path| ModuleRef {
            path,
            identity: Identity::None,
        })
        .collect();
    let symbols = resolve(&modules, &raw, &SymbolOptions::default(), &|_| ()).expect("resolving");
    let classifier = Classifier::new(&symbols);
    let mut stacks = Stacks::default();
    let mut ids: HashMap<Function, FunctionId> = HashMap::new();
    for (load, bytes, frames) in rows {
        let mut functions = Vec::new();
        for at in frames {
            for frame in &symbols.frames[at] {
                let function = classifier.function(frame, paths[raw[at].0 as usize]);
                let next = FunctionId(u32::try_from(ids.len()).expect("few functions"));
                let id = *ids.entry(function.clone()).or_insert(next);
                let has_file = frame.file.is_some();
                let merged = has_file && frame.line.is_none();
                functions.push((function, frame.inlined, has_file, merged, id));
            }
        }
        let stack: Vec<StackFrame<'_>> = functions
            .iter()
            .map(|(function, inlined, has_file, merged, id)| StackFrame {
                id: *id,
                function,
                inlined: *inlined,
                has_file: *has_file,
                merged: *merged,
            })
            .collect();
        let told = stacks
            .contents(&stack)
            .map_or("?".to_owned(), |told| normal(&told.container));
        loads.stacks.entry(load).or_default().extend(
            std::iter::once(format!("{bytes} bytes: {told}")).chain(functions.iter().take(40).map(
                |(function, inlined, _, merged, _)| {
                    let merged = if *merged { "merged" } else { "" };
                    format!(
                        "  {:?} {inlined} {merged} {}",
                        function.origin, function.name
                    )
                },
            )),
        );
        let table = loads.found.entry(load).or_default();
        *table.entry(told).or_default() += bytes;
    }
    loads
}

/// Every load comes to the types and bytes that it is made of.
fn assert_right(flags: &[&str]) {
    let loads = run(flags);
    assert!(loads.wanted.len() > 90, "{flags:?}");
    for (load, wanted) in &loads.wanted {
        assert_eq!(
            loads.found.get(load),
            Some(wanted),
            "{flags:?}: load {load}: {:#?}",
            loads.stacks.get(load)
        );
    }
}

#[test]
fn every_byte_has_its_type_at_debug_1_and_with_line_tables_only() {
    assert_right(&["-Copt-level=3", "-Cdebuginfo=1"]);
    assert_right(&["-Copt-level=3", "-Cdebuginfo=line-tables-only"]);
}

#[test]
fn every_byte_has_its_type_under_v0_mangling() {
    let v0 = "-Csymbol-mangling-version=v0";
    assert_right(&["-Copt-level=3", "-Cdebuginfo=1", v0]);
    assert_right(&["-Copt-level=3", "-Cdebuginfo=line-tables-only", v0]);
}

#[test]
#[ignore = "builds with LTO: .ci/release types"]
fn every_byte_has_its_type_with_fat_lto() {
    let lto = ["-Copt-level=3", "-Clto=fat", "-Ccodegen-units=1"];
    assert_right(&[&lto[..], &["-Cdebuginfo=line-tables-only"]].concat());
    assert_right(&[&lto[..], &["-Cdebuginfo=1", "-Csymbol-mangling-version=v0"]].concat());
}

#[test]
fn every_byte_has_its_type_at_other_levels_of_optimization() {
    assert_right(&["-Copt-level=0", "-Cdebuginfo=2"]);
    assert_right(&["-Copt-level=s", "-Cdebuginfo=1"]);
}

#[test]
fn a_program_without_debug_information_is_given_no_types() {
    for flags in [
        &["-Copt-level=3"][..],
        &["-Copt-level=3", "-Csymbol-mangling-version=v0"],
    ] {
        let loads = run(flags);
        for (load, found) in &loads.found {
            assert!(
                found.keys().eq(["?"]),
                "{flags:?}: {found:?} {:#?}",
                loads.stacks.get(load)
            );
        }
    }
}

/// A program of C++ that is built with `-g` names its containers, texts and smart pointers.
#[test]
fn containers_of_cpp_have_their_types() {
    let Ok(version) = Command::new("g++").arg("--version").output() else {
        eprintln!("skipped: there is no g++");
        return;
    };
    assert!(version.status.success(), "{version:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("strings.cpp");
    std::fs::write(&source, STRINGS).expect("writing a source file");
    let program = folder.path().join("strings");
    for level in ["-O0", "-O2", "-O3"] {
        let mut command = Command::new("g++");
        command.args(["-std=c++17", "-g", level, "-o"]);
        let output = command
            .arg(&program)
            .arg(&source)
            .output()
            .expect("g++ starts");
        assert!(output.status.success(), "{level}: {output:?}");
        let output = Command::new(&program).output().expect("the program starts");
        assert!(output.status.success(), "{level}: {output:?}");
        let loads = read(&String::from_utf8(output.stdout).expect("text"));
        assert_eq!(loads.wanted.len(), 18);
        for (load, wanted) in &loads.wanted {
            let mut found = loads.found[load].clone();
            for (name, bytes) in wanted {
                // The growth of a text is that of the library.
                if *bytes == 0
                    && let Some(found) = found.get_mut(name)
                {
                    assert!(*found > 0);
                    *found = 0;
                }
            }
            let stacks = &loads.stacks[load];
            assert_eq!(&found, wanted, "{level}: load {load}: {stacks:#?}");
        }
    }
}
