//! The machine and its tools: reads their versions and builds the programs.

use crate::programs::{Build, Flavor, Profiler};
use crate::results::Machine;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace of the programs.
const MANIFEST: &str = "examples/peers/Cargo.toml";

/// Returns the first line that a command prints.
pub(crate) fn first_line(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(words)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Returns today's date in UTC.
pub(crate) fn date() -> String {
    first_line("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(|| "an unknown date".to_owned())
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn machine() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let processor = processors
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == "model name")
        .map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    let load = read("/proc/loadavg");
    Machine {
        processor: processor.to_owned(),
        cores: cores(),
        memory_mib: memory_mib("MemTotal:"),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        load: load
            .split_whitespace()
            .next()
            .and_then(|load| load.parse().ok())
            .unwrap_or(0.0),
    }
}

/// Returns the memory that can be allocated now without swapping.
pub(crate) fn available_mib() -> u64 {
    memory_mib("MemAvailable:")
}

fn memory_mib(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Returns the versions of the compiler, the rivals and the tools.
pub(crate) fn versions(root: &Path) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for (name, program) in [
        ("rustc", "rustc"),
        ("heaptrack", "heaptrack"),
        ("valgrind", "valgrind"),
    ] {
        if let Some(line) = first_line(program, &["--version"]) {
            versions.insert(name.to_owned(), line);
        }
    }
    let lock = root.join(MANIFEST).with_file_name("Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap_or_default();
    for (package, version) in packages(&lock) {
        let is_rival = crate::programs::programs(None).iter().any(|program| {
            program
                .build
                .rival
                .is_some_and(|(_, rival)| rival == package)
        });
        if is_rival {
            versions.insert(package.to_owned(), version.to_owned());
        }
    }
    versions
}

/// Returns the names and versions in a lock file.
fn packages(lock: &str) -> Vec<(&str, &str)> {
    let quoted = |line: &'static str, block| -> Option<&str> {
        let block: &str = block;
        let rest = block.lines().find_map(|text| text.strip_prefix(line))?;
        rest.trim().strip_prefix('"')?.strip_suffix('"')
    };
    lock.split("[[package]]")
        .filter_map(|block| Some((quoted("name = ", block)?, quoted("version = ", block)?)))
        .collect()
}

/// Returns a toolchain that is new enough; `None` means the usual one. The error says why there is
/// none.
pub(crate) fn toolchain(oldest: (u32, u32)) -> Result<Option<&'static str>, String> {
    let is_new = |line: &str| release(line).is_some_and(|found| found >= oldest);
    let usual = first_line("rustc", &["--version"]).unwrap_or_default();
    if is_new(&usual) {
        return Ok(None);
    }
    let is_installed = |name: &&str| {
        let word = format!("+{name}");
        first_line("rustc", &[word.as_str(), "--version"]).is_some_and(|line| is_new(&line))
    };
    let found = ["stable", "beta", "nightly"].into_iter().find(is_installed);
    found.map(Some).ok_or_else(|| {
        format!(
            "it needs Rust {}.{}, this is {usual}, and rustup has no newer toolchain",
            oldest.0, oldest.1
        )
    })
}

/// Returns the release in `rustc 1.95.0 (59807616e 2026-04-14)`.
fn release(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.strip_prefix("rustc ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns the path of an installed program.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Returns the tool that a profiler needs, if it is not installed.
pub(crate) fn missing_tool(profiler: Profiler) -> Option<String> {
    let tools: &[&str] = match profiler {
        Profiler::Heaptrack => &["heaptrack", "heaptrack_print"],
        Profiler::ValgrindDhat => &["valgrind"],
        _ => &[],
    };
    let missing = tools.iter().find(|tool| find(tool).is_none())?;
    Some(format!("{missing} is not installed"))
}

/// Builds the command that reads recordings.
pub(crate) fn build_heapglass(root: &Path, target: &Path) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked"]);
    cargo.args(["--package", "heapglass", "--bin", "heapglass"]);
    run_cargo(cargo, root, target, "heapglass").map(drop)
}

/// Builds a program and returns its path.
pub(crate) fn build(root: &Path, target: &Path, build: Build) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    let target = match build.flavor {
        Flavor::Usual => target.to_owned(),
        Flavor::NoFramePointers => target.join("peers/no-frame-pointers"),
        Flavor::Toolchain(name) => {
            cargo.arg(format!("+{name}"));
            target.join("peers").join(name)
        }
    };
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        MANIFEST,
    ]);
    cargo.args(["--package", "peers-programs", "--bin", build.executable]);
    if let Some((feature, _)) = build.rival {
        cargo.args(["--features", feature]);
    }
    if build.flavor == Flavor::NoFramePointers {
        // Replaces the flags of the configuration: with several sources of flags, rustc keeps the
        // one that asks for frame pointers.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
    }
    let title = match build.flavor {
        Flavor::Usual => build.executable.to_owned(),
        Flavor::NoFramePointers => format!("{} without frame pointers", build.executable),
        Flavor::Toolchain(name) => format!("{} with {name}", build.executable),
    };
    run_cargo(cargo, root, &target, &title)?;
    Ok(target.join("release").join(build.executable))
}

fn run_cargo(mut cargo: Command, root: &Path, target: &Path, title: &str) -> Result<(), String> {
    eprintln!("building {title}");
    let output = cargo
        .arg("--target-dir")
        .arg(target)
        // This folder has the flags with which heapglass's own programs are built.
        .current_dir(root)
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    let reason = said.lines().find(|line| line.starts_with("error"));
    Err(format!(
        "{title} cannot be built: {}",
        reason.unwrap_or("no message")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_a_compiler_is_read_from_its_version() {
        assert_eq!(
            release("rustc 1.95.0 (59807616e 2026-04-14)"),
            Some((1, 95))
        );
        assert_eq!(
            release("rustc 1.97.0-nightly (4d1f98451 2026-05-15)"),
            Some((1, 97))
        );
        assert_eq!(release("error: toolchain"), None);
    }

    #[test]
    fn a_lock_file_names_each_package_with_its_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"dhat\"\nversion = \"0.3.3\"\nsource = \"x\"\n\n\
                    [[package]]\nname = \"divan\"\nversion = \"0.1.21\"\n";
        assert_eq!(packages(lock), [("dhat", "0.3.3"), ("divan", "0.1.21")]);
    }

    #[test]
    fn every_rival_that_is_a_crate_is_in_the_lock_file() {
        let lock = include_str!("../../Cargo.lock");
        let packages = packages(lock);
        let rivals = crate::programs::programs(None);
        let mut names = rivals.iter().filter_map(|program| program.build.rival);
        assert!(names.all(|(_, name)| packages.iter().any(|(package, _)| *package == name)));
    }
}
