//! The README is short, and every link in the documentation has a target.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of lines of the README.
const README_LINES: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn guide() -> Vec<PathBuf> {
    let pages = fs::read_dir(root().join("docs/src"))
        .unwrap()
        .map(|page| page.unwrap().path());
    // Pictures lie in folders beside their pages.
    pages.filter(|page| page.is_file()).collect()
}

/// Returns the pages about decisions, which the table of contents and ARCHITECTURE.md list.
fn decisions() -> Vec<PathBuf> {
    let pages = fs::read_dir(root().join("docs/src/decisions")).unwrap();
    pages.map(|page| page.unwrap().path()).collect()
}

/// Returns the text in parentheses after brackets, outside blocks of code.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let behind = prose.flat_map(|prose| prose.split("](").skip(1));
    behind
        .filter_map(|rest| Some(rest.split_once(')')?.0))
        .collect()
}

/// Converts a heading to an anchor.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn the_readme_is_no_longer_than_a_few_screens() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let lines = text.lines().count();
    assert!(lines <= README_LINES, "{lines} lines");
}

#[test]
fn relative_links_lead_to_files_and_headings_that_are_there() {
    let mut files = guide();
    files.extend(decisions());
    let of_root = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
    files.extend(of_root.map(|name| root().join(name)));
    files.push(root().join("examples/real/README.md"));
    let mut checked = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let links = links(&text)
            .into_iter()
            .filter(|link| !link.contains("://"));
        for link in links {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.parent().unwrap().join(path),
            };
            assert!(target.exists(), "{link} in {}", file.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                assert!(
                    headings.any(|line| anchor(line) == heading),
                    "{link} in {}",
                    file.display()
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} links");
}

#[test]
fn every_page_of_the_guide_is_in_its_table_of_contents_and_in_the_readme() {
    let summary = fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for page in guide() {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        if name != "SUMMARY.md" {
            assert!(summary.contains(&format!("]({name})")), "{name}");
            assert!(readme.contains(&format!("](docs/src/{name}")), "{name}");
        }
    }
}

#[test]
fn every_page_of_decisions_is_listed_and_named_by_a_module() {
    let list = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let (summary, map) = (list("docs/src/SUMMARY.md"), list("ARCHITECTURE.md"));
    let mut folders = ["tracking-alloc", "profiler", "tui"]
        .map(|name| root().join(name))
        .to_vec();
    let mut sources = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let named = text.lines().filter(|line| line.starts_with("//!"));
                sources.extend(named.flat_map(|line| [line, "\n"]));
            }
        }
    }
    let pages = decisions();
    assert!(pages.len() >= 9, "{pages:?}");
    for page in pages {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        assert!(summary.contains(&format!("](decisions/{name})")), "{name}");
        assert!(
            map.contains(&format!("](docs/src/decisions/{name})")),
            "{name}"
        );
        assert!(
            sources.contains(&format!("`docs/src/decisions/{name}`")),
            "{name}"
        );
    }
}
