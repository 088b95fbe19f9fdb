//! Small Rust programs, built for a test with the compiler that builds the test, and the addresses
//! in them.

use heapglass_limits::Command;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};

use super::super::{Identity, ModuleRef};

/// Exercises methods, generics, closures, trait impls, inlining into a caller and inlining of the
/// standard library.
pub(super) const SHAPES: &str = r#"
use std::collections::HashMap;
mod shapes {
    pub struct Grid<T> { pub cells: Vec<T> }
    impl<T: Clone> Grid<T> {
        #[inline(never)]
        pub fn fill(&mut self, value: T, count: usize) {
            for _ in 0..count {
                self.cells.push(value.clone()); // line 9
            }
        }
        #[inline(always)]
        pub fn one(&mut self, value: T) {
            self.cells.push(value); // line 14
        }
    }
    pub trait Load { fn load(&self) -> Vec<u8>; }
    impl Load for Grid<u16> {
        #[inline(never)]
        fn load(&self) -> Vec<u8> {
            self.cells.iter().map(|cell| *cell as u8).collect() // line 21
        }
    }
}
use shapes::Load;
#[inline(never)]
fn build<K: From<u8> + std::hash::Hash + Eq>(count: u8) -> HashMap<K, String> {
    (0..count).map(|i| (K::from(i), format!("x{i}"))).collect()
}
#[inline(never)]
fn once(grid: &mut shapes::Grid<u16>) {
    grid.one(5); // line 32
}
fn main() {
    let mut grid = shapes::Grid { cells: vec![] };
    grid.fill(3u16, 10);
    once(&mut grid);
    println!("{:?} {}", grid.load(), build::<u32>(4).len());
    let join = std::hint::black_box(|n: usize| -> String { "ab".repeat(n) });
    println!("{}", join(3));
}
"#;

/// Builds `source` in `folder` as `name.rs`, optimized unless the flags say otherwise.
pub(super) fn build(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = folder.join(format!("{name}.rs"));
    std::fs::write(&file, source).expect("writing a source file");
    let binary = folder.join(name);
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command
        .current_dir(folder)
        .args(["--edition=2021", "-O", "-Clink-arg=-Wl,--build-id"]);
    command.args(flags).arg("-o").arg(&binary).arg(&file);
    run(&mut command);
    binary
}

/// Runs a tool that has to succeed.
pub(super) fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns `true` if a tool is there to be run.
pub(super) fn has_tool(tool: impl AsRef<OsStr>) -> bool {
    Command::new(tool)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The extent of the function whose demangled name ends with `suffix`.
pub(super) fn function(binary: &Path, suffix: &str) -> std::ops::Range<u64> {
    functions(binary)
        .into_iter()
        .find(|(name, _)| name.ends_with(suffix))
        .unwrap_or_else(|| panic!("no function {suffix} in {}", binary.display()))
        .1
}

/// All functions of a binary with their extents.
pub(super) fn functions(binary: &Path) -> Vec<(String, std::ops::Range<u64>)> {
    let bytes = std::fs::read(binary).expect("reading the binary");
    let object = object::File::parse(&*bytes).expect("parsing the binary");
    let code = object
        .symbols()
        .filter(|symbol| symbol.size() > 0 && symbol.kind() == object::SymbolKind::Text);
    code.map(|symbol| {
        let name = format!(
            "{:#}",
            rustc_demangle::demangle(symbol.name().unwrap_or_default())
        );
        (name, symbol.address()..symbol.address() + symbol.size())
    })
    .collect()
}

/// Return addresses after every byte of a function, as raw frames of module 0.
pub(super) fn raw_frames(extent: &std::ops::Range<u64>) -> Vec<(u32, u64)> {
    extent.clone().map(|address| (0, address + 1)).collect()
}

/// The build-id of a binary.
pub(super) fn build_id(binary: &Path) -> Vec<u8> {
    let bytes = std::fs::read(binary).expect("reading the binary");
    let object = object::File::parse(&*bytes).expect("parsing the binary");
    object
        .build_id()
        .expect("reading the build-id")
        .expect("a build-id")
        .to_vec()
}

/// A module as a recording would have it.
pub(super) fn module(binary: &Path) -> ModuleRef<'_> {
    ModuleRef {
        path: binary.to_str().expect("a UTF-8 path"),
        identity: Identity::BuildId(build_id(binary)),
    }
}
