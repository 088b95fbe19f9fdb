//! Which test and benchmark binaries recorded nothing, and where to put the allocator so that they do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_metadata::{Package, TargetKind};
use heapglass_profiler::units::printable;

use super::Workspace;
use super::runner::Started;
use crate::summary::from_here;

/// What a test binary is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The unit tests of a library: without the allocator of a program beside it.
    Library,
    /// The unit tests of a program.
    Program,
    /// Integration tests, a benchmark, an example: a program of its own.
    Own,
}

/// Lines that say which of the binaries recorded nothing, and what to add to which file.
pub(super) fn lines(
    verb: &str,
    started: &[Started],
    recorded: &[u32],
    workspace: &Workspace,
) -> Vec<String> {
    // NOTE: programs of documentation tests are gone by now, and have no file to put an allocator into.
    let there: Vec<&Started> = started
        .iter()
        .filter(|started| started.executable.exists())
        .collect();
    let skipped = there.iter().filter(|started| !started.records).count();
    let silent: Vec<&&Started> = there
        .iter()
        .filter(|started| started.records && !recorded.contains(&started.pid))
        .collect();
    let mut lines = Vec::new();
    if !silent.is_empty() {
        lines.push(format!(
            "  not recorded  {} of {} {verb} {}, most likely because {} not have TrackingAlloc as {} allocator",
            silent.len(),
            there.len() - skipped,
            if there.len() - skipped == 1 { "binary" } else { "binaries" },
            if silent.len() == 1 { "it does" } else { "they do" },
            if silent.len() == 1 { "its" } else { "their" },
        ));
    }
    let mut files: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for started in silent {
        let (kind, file, package) = origin(&started.executable, workspace);
        let file = from_here(&file).to_string_lossy().into_owned();
        let of_kind = files.entry(kind).or_default();
        if !of_kind.contains(&file) {
            of_kind.push(file);
        }
        without.extend(package.filter(|package| !depends(package)));
    }
    for (kind, files) in &files {
        lines.push(format!("    {}", printable(&files.join(", "))));
        let each = if files.len() == 1 { "it" } else { "each" };
        lines.push(match kind {
            Kind::Library => {
                format!(
                    "      tests of a library do not have the allocator of main.rs; add to {each}:"
                )
            }
            Kind::Program => format!("      add to {each}:"),
            Kind::Own if files.len() == 1 => "      is a program of its own; add to it:".to_owned(),
            Kind::Own => "      are programs of their own; add to each:".to_owned(),
        });
        if *kind == Kind::Library {
            lines.push("        #[cfg(test)]".to_owned());
        }
        lines.push("        #[global_allocator]".to_owned());
        lines.push(
            "        static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();"
                .to_owned(),
        );
    }
    let mut manifests: Vec<String> = without
        .iter()
        .map(|package| from_here(package.manifest_path.as_std_path()))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    manifests.sort();
    manifests.dedup();
    if !manifests.is_empty() {
        lines.push(format!("    {}", printable(&manifests.join(", "))));
        lines.push("      add below [dev-dependencies]:".to_owned());
        lines.push("        tracking-alloc = \"0.1\"".to_owned());
    }
    if skipped > 0 {
        let (binaries, what) = (
            if skipped == 1 { "binary" } else { "binaries" },
            if verb == "bench" {
                "benchmarks"
            } else {
                "tests"
            },
        );
        lines.push(format!(
            "  skipped       {skipped} {binaries} without {what} to run"
        ));
    }
    lines
}

/// What an executable is built from: its root file and package, or the executable itself when that is not known.
fn origin<'a>(executable: &Path, workspace: &'a Workspace) -> (Kind, PathBuf, Option<&'a Package>) {
    let Some(root) = root_file(executable, &workspace.root) else {
        return (Kind::Own, executable.to_owned(), None);
    };
    for package in &workspace.packages {
        for target in &package.targets {
            if target.src_path.as_std_path() == root {
                let is_library = |kind: &TargetKind| {
                    !matches!(
                        kind,
                        TargetKind::Bin
                            | TargetKind::Test
                            | TargetKind::Bench
                            | TargetKind::Example
                            | TargetKind::CustomBuild
                    )
                };
                let kind = if target.kind.contains(&TargetKind::Bin) {
                    Kind::Program
                } else if target.kind.iter().any(is_library) {
                    Kind::Library
                } else {
                    Kind::Own
                };
                return (kind, root, Some(package));
            }
        }
    }
    (Kind::Own, root, None)
}

/// The file that an executable is compiled from: the first in the list of sources that the compiler writes beside it.
fn root_file(executable: &Path, workspace: &Path) -> Option<PathBuf> {
    let mut list = executable.to_owned().into_os_string();
    list.push(".d");
    let text = std::fs::read_to_string(list).ok()?;
    first_source(&text).map(|source| workspace.join(source))
}

/// The first file behind the first colon; a blank in its name has a backslash in front.
fn first_source(text: &str) -> Option<String> {
    let (_, sources) = text.lines().next()?.split_once(": ")?;
    let mut source = String::new();
    let mut characters = sources.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => source.extend(characters.next()),
            ' ' => break,
            _ => source.push(c),
        }
    }
    (!source.is_empty()).then_some(source)
}

fn depends(package: &Package) -> bool {
    let mut dependencies = package.dependencies.iter();
    dependencies.any(|dependency| dependency.name == "tracking-alloc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_is_the_root_of_the_crate() {
        let text = "/t/deps/a-1.d: src/lib.rs src/b.rs\n\n/t/deps/a-1: src/lib.rs\n";
        assert_eq!(first_source(text).as_deref(), Some("src/lib.rs"));
        let blank = "/t/a.d: my\\ folder/lib.rs src/b.rs";
        assert_eq!(first_source(blank).as_deref(), Some("my folder/lib.rs"));
        assert_eq!(first_source("nothing"), None);
    }
}
