//! The test and benchmark binaries that recorded nothing, and the files that need the allocator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{Package, TargetKind};
use heapglass_profiler::units::printable;

use super::runner::Started;
use super::{Verb, Workspace};
use crate::summary::from_here;

/// The lines that add the allocator to a file.
const ALLOCATOR: [&str; 2] = [
    "        #[global_allocator]",
    "        static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();",
];

/// The kind of target that a test binary is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The unit tests of a library, which do not use the allocator of a program in the same
    /// package.
    Library,
    /// The unit tests of a program.
    Program,
    /// Integration tests, a benchmark or an example: a separate program.
    Own,
}

/// Returns lines that name the binaries that recorded nothing, with the lines to add to each file.
pub(super) fn lines(
    verb: Verb,
    started: &[Started],
    recorded: &[u32],
    workspace: &Workspace,
) -> Vec<String> {
    // NOTE: programs of documentation tests no longer exist, and have no file to add an allocator
    // to.
    let there = started.iter().filter(|started| started.executable.exists());
    let (run, skipped): (Vec<&Started>, Vec<&Started>) = there.partition(|started| started.records);
    let binaries = |count| if count == 1 { "binary" } else { "binaries" };
    let silent = run
        .iter()
        .filter(|started| !recorded.contains(&started.pid));
    let origins: Vec<_> = silent
        .map(|started| origin(&started.executable, workspace))
        .collect();
    let mut lines = Vec::new();
    if !origins.is_empty() {
        let their = if origins.len() == 1 { "its" } else { "their" };
        lines.push(format!(
            "  not recorded  {} of {} {} {}, most likely because TrackingAlloc is not {their} allocator",
            origins.len(),
            run.len(),
            verb.name(),
            binaries(run.len()),
        ));
    }
    let shown = |path: &Path| from_here(path).to_string_lossy().into_owned();
    let mut files: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    let mut manifests = BTreeSet::new();
    for (kind, file, package) in origins {
        let of_kind = files.entry(kind).or_default();
        let file = shown(&file);
        if !of_kind.contains(&file) {
            of_kind.push(file);
        }
        let without = package.filter(|package| !depends(package));
        manifests.extend(without.map(|package| shown(package.manifest_path.as_std_path())));
    }
    for (kind, files) in &files {
        lines.push(format!("    {}", printable(&files.join(", "))));
        let (are_programs, each) = match files.len() {
            1 => ("is a separate program", "it"),
            _ => ("are separate programs", "each"),
        };
        lines.push(match kind {
            Kind::Library => format!(
                "      tests of a library do not use the allocator in main.rs; add to {each}:"
            ),
            Kind::Program => format!("      add to {each}:"),
            Kind::Own => format!("      {are_programs}; add to {each}:"),
        });
        lines.extend((*kind == Kind::Library).then(|| "        #[cfg(test)]".to_owned()));
        lines.extend(ALLOCATOR.map(str::to_owned));
    }
    if !manifests.is_empty() {
        let manifests: Vec<String> = manifests.into_iter().collect();
        lines.push(format!("    {}", printable(&manifests.join(", "))));
        lines.push(
            "      add below [dev-dependencies], with the path of your checkout of heapglass:"
                .to_owned(),
        );
        lines.push(format!("        {}", tracking_alloc::__private::DEPENDENCY));
    }
    if !skipped.is_empty() {
        let what = if verb == Verb::Bench {
            "benchmarks"
        } else {
            "tests"
        };
        lines.push(format!(
            "  skipped       {} {} without {what} to run",
            skipped.len(),
            binaries(skipped.len())
        ));
    }
    lines
}

/// Returns the root file and package that an executable is built from, or the executable itself if
/// they are unknown.
fn origin<'a>(executable: &Path, workspace: &'a Workspace) -> (Kind, PathBuf, Option<&'a Package>) {
    let Some(root) = root_file(executable, &workspace.root) else {
        return (Kind::Own, executable.to_owned(), None);
    };
    let mut packages = workspace.packages.iter();
    let found = packages.find_map(|package| {
        let mut targets = package.targets.iter();
        let target = targets.find(|target| target.src_path.as_std_path() == root)?;
        Some((package, target))
    });
    let kind = match found {
        Some((_, target)) if target.is_bin() => Kind::Program,
        Some((_, target)) if target.kind.iter().any(is_library) => Kind::Library,
        _ => Kind::Own,
    };
    (kind, root, found.map(|(package, _)| package))
}

fn is_library(kind: &TargetKind) -> bool {
    use TargetKind::{Bench, Bin, CustomBuild, Example, Test};
    !matches!(kind, Bin | Test | Bench | Example | CustomBuild)
}

/// Returns the root file of an executable: the first one in the list of sources that the compiler
/// writes next to it.
fn root_file(executable: &Path, workspace: &Path) -> Option<PathBuf> {
    let mut list = executable.to_owned().into_os_string();
    list.push(".d");
    let text = std::fs::read_to_string(list).ok()?;
    first_source(&text).map(|source| workspace.join(source))
}

/// Returns the first file after the first colon. A backslash precedes each space in its name.
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

/// Returns `true` if a package depends on tracking-alloc.
pub(super) fn depends(package: &Package) -> bool {
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
