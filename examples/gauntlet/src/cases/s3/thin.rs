//! The binaries of 3.12: a small program built with the named settings, in a temporary folder.

use crate::Window;
use crate::program::Folder;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const MANIFEST: &str =
    "[package]\nname = \"thin\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";

/// Counts the words of its argument, with strings, a map and formatting, as in any small service.
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

/// The same program without std: a table of its own instead of the map, and C's `printf` instead of
/// formatting.
const NO_STD: &str = r#"
#![no_std]
#![no_main]
use core::ffi::{CStr, c_char, c_int};

#[link(name = "c")]
unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and never returns.
    unsafe { abort() }
}

/// More words than that are refused.
const MOST: usize = 64;

#[unsafe(no_mangle)]
extern "C" fn main(arguments: c_int, argument: *const *const c_char) -> c_int {
    let text = match arguments {
        0 | 1 => &[],
        // SAFETY: the system passes as many texts, each with a NUL at its end.
        _ => unsafe { CStr::from_ptr(*argument.add(1)) }.to_bytes(),
    };
    let mut words: [(&[u8], usize); MOST] = [(&[], 0); MOST];
    let mut used = 0;
    for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        match words[..used].binary_search_by(|(known, _)| (*known).cmp(word)) {
            Ok(at) => words[at].1 += 1,
            Err(_) if used == MOST => return 1,
            Err(at) => {
                words.copy_within(at..used, at + 1);
                words[at] = (word, 1);
                used += 1;
            }
        }
    }
    for (word, count) in &words[..used] {
        // SAFETY: the arguments have the types that the format names.
        unsafe { printf(c"%6zu %.*s\n".as_ptr(), *count, word.len() as c_int, word.as_ptr()) };
    }
    0
}
"#;

/// The text whose words the programs count. `PRINTED` is the output for this text, once.
const TEXT: &str = "to be or not to be ";
const PRINTED: &str = "     2 be\n     1 not\n     1 or\n     2 to\n";

/// Builds the program, with std.
pub(super) fn build(window: &mut Window, settings: &[&str]) {
    let package = Package::new(PROGRAM);
    look_at(window, package.build(&Toolchain::usual(), settings));
    if window.is_counting() && settings == ["debug=2"] {
        package.bloat(window);
    }
}

/// Builds the program without std. The settings must make panics abort, because unwinding needs
/// std.
pub(super) fn build_no_std(window: &mut Window, settings: &[&str]) {
    look_at(
        window,
        Package::new(NO_STD).build(&Toolchain::usual(), settings),
    );
}

/// Builds the program together with std, with the same settings, if a compiler has std's source.
/// Does so only in an optimized run, because it takes half a minute. Without such a compiler, there
/// are no figures.
pub(super) fn build_std(window: &mut Window, settings: &[&str]) {
    match Toolchain::with_source().filter(|_| !cfg!(debug_assertions)) {
        Some(toolchain) => look_at(window, Package::new(PROGRAM).build(&toolchain, settings)),
        None => window.work(|| ()),
    }
}

/// Notes the size of a program and the time of its build, in seconds. The window runs it.
///
/// # Panics
/// If it cannot be read or prints something else: the runner shows this as the variant's failure.
fn look_at(window: &mut Window, (program, seconds): (PathBuf, f64)) {
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
    // Functions are assigned by name: a generic function belongs to its crate. Without names, there
    // are no figures.
    let (mut named, mut own) = (0, 0);
    for symbol in file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
    {
        named += symbol.size();
        let name = symbol.name().unwrap_or_default();
        let name = format!("{:#}", rustc_demangle::demangle(name));
        if name.starts_with("thin::") || name.starts_with("<thin::") {
            own += symbol.size();
        }
    }
    if named > 0 {
        window.note("named_code_bytes", named as f64);
        window.note("own_code_bytes", own as f64);
    }
    let printed = Command::new(&program).arg(TEXT).output();
    let printed = printed.unwrap_or_else(|error| panic!("run {}: {error}", program.display()));
    assert_eq!(String::from_utf8_lossy(&printed.stdout), PRINTED);
    let argument = TEXT.repeat(window.scaled(1000));
    window.input(argument.len(), 0);
    // Runs without an environment, because a copy of ours would be counted as the case's.
    let mut command = Command::new(&program);
    command.arg(argument).env_clear().stdout(Stdio::null());
    window.work(|| command.status().is_ok_and(|status| status.success()));
}

/// A package of one program, in a temporary folder.
struct Package(Folder);

impl Package {
    fn new(source: &str) -> Self {
        let folder = Folder::new();
        let write = |name: &str, text: &str| {
            let path = folder.file(name);
            let written = path
                .parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&path, text));
            written.unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        };
        write("Cargo.toml", MANIFEST);
        write("src/main.rs", source);
        Package(folder)
    }

    /// Builds the program. Returns its path, and the seconds that the build took.
    ///
    /// # Panics
    /// If there is no cargo, or the program does not build.
    fn build(&self, toolchain: &Toolchain, settings: &[&str]) -> (PathBuf, f64) {
        let target = match toolchain.builds_std {
            // Std is built once, not for each process.
            true => std::env::temp_dir().join("heapglass-thin-std"),
            false => self.0.file("target"),
        };
        let mut cargo = self.cargo(&toolchain.cargo);
        cargo
            .args(["build", "--release", "--quiet", "--target-dir"])
            .arg(&target);
        if toolchain.builds_std {
            cargo
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTC", &toolchain.rustc)
                .args([
                    "-Zbuild-std=std,panic_abort",
                    "-Zbuild-std-features=optimize_for_size",
                ])
                .args(["--target", HOST]);
        } else {
            cargo.arg("--offline");
        }
        for setting in settings {
            cargo
                .arg("--config")
                .arg(format!("profile.release.{setting}"));
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
        let built = match toolchain.builds_std {
            true => target.join(HOST),
            false => target,
        };
        let name = format!("thin{}", std::env::consts::EXE_SUFFIX);
        (built.join("release").join(name), seconds)
    }

    /// Notes the output of cargo-bloat on the program with debug information, if it is installed.
    fn bloat(&self, window: &mut Window) {
        let mut cargo = self.cargo(&Toolchain::usual().cargo);
        cargo
            .args([
                "bloat",
                "--release",
                "--offline",
                "--crates",
                "-n",
                "0",
                "--message-format",
                "json",
            ])
            .env("CARGO_PROFILE_RELEASE_DEBUG", "2");
        let said = cargo.output().ok().filter(|output| output.status.success());
        let Some(said) =
            said.and_then(|output| serde_json::from_slice::<Bloat>(&output.stdout).ok())
        else {
            return;
        };
        window.note("cargo_bloat_text_bytes", said.text_section_size as f64);
        for known in said.crates {
            if known.name == "thin" {
                window.note("cargo_bloat_own_bytes", known.size as f64);
            }
        }
    }

    /// Runs in the folder, without the user's flags, which are not among the named settings.
    fn cargo(&self, program: &OsStr) -> Command {
        let mut cargo = Command::new(program);
        cargo.current_dir(self.0.file(""));
        for flags in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_TARGET_DIR",
        ] {
            cargo.env_remove(flags);
        }
        cargo
    }
}

/// The output of `cargo bloat --crates --message-format json`.
#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Bloat {
    text_section_size: u64,
    crates: Vec<BloatCrate>,
}

#[derive(serde::Deserialize)]
struct BloatCrate {
    name: String,
    size: u64,
}

/// Cargo's name of the target that this program was built for.
#[cfg(target_arch = "aarch64")]
const HOST: &str = "aarch64-unknown-linux-gnu";
#[cfg(not(target_arch = "aarch64"))]
const HOST: &str = "x86_64-unknown-linux-gnu";

/// A cargo and its compiler.
struct Toolchain {
    cargo: OsString,
    rustc: OsString,
    /// `true` to build std together with the program.
    builds_std: bool,
}

impl Toolchain {
    /// Returns the toolchain that runs this program.
    fn usual() -> Self {
        Toolchain {
            cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            rustc: std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()),
            builds_std: false,
        }
    }

    /// Returns a toolchain with std's source: the usual one, or the distribution's.
    fn with_source() -> Option<Self> {
        let distribution = Toolchain {
            cargo: "/usr/bin/cargo".into(),
            rustc: "/usr/bin/rustc".into(),
            builds_std: true,
        };
        let has_source = |toolchain: &Toolchain| {
            let said = Command::new(&toolchain.rustc)
                .args(["--print", "sysroot"])
                .output();
            let sysroot = said
                .ok()
                .map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
            let std = |sysroot| {
                Path::new(&sysroot)
                    .join("lib/rustlib/src/rust/library/std")
                    .is_dir()
            };
            sysroot.is_some_and(std)
        };
        [Toolchain::usual(), distribution]
            .into_iter()
            .find(has_source)
            .map(|toolchain| Toolchain {
                builds_std: true,
                ..toolchain
            })
    }
}
