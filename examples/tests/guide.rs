//! The code of the guide. Every block is compiled, by `src/guide.rs` as a documentation test or as
//! a program of its own.

use std::fs;
use std::path::{Path, PathBuf};

use heapglass_examples::guide::{ELSEWHERE, PAGES};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the blocks of a page: the words after the fence, and the lines inside it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(words) = line.trim_start().strip_prefix("```") {
            let inside: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !line.trim_start().starts_with("```"))
                .collect();
            blocks.push((words.to_owned(), inside.join("\n")));
        }
    }
    blocks
}

#[test]
fn every_page_of_the_guide_is_compiled() {
    let mut pages = vec!["README.md".to_owned()];
    for entry in fs::read_dir(workspace().join("docs/src")).unwrap() {
        let entry = entry.unwrap();
        // Pictures lie in folders beside their pages.
        if entry.path().is_file() {
            let name = entry.file_name().into_string().unwrap();
            pages.push(format!("docs/src/{name}"));
        }
    }
    pages.retain(|page| page != "docs/src/SUMMARY.md");
    pages.sort();
    assert_eq!(pages, PAGES, "src/guide.rs names every page");
}

#[test]
fn code_in_c_is_part_of_a_tested_program() {
    let program = read("tracking-alloc/preload/tests/programs/pool.c");
    let page = read("docs/src/languages.md");
    let in_c: Vec<String> = blocks(&page)
        .into_iter()
        .filter_map(|(words, inside)| (words == "c").then_some(inside))
        .collect();
    assert_eq!(in_c.len(), 2);
    for inside in in_c {
        assert!(program.contains(&inside), "{inside}");
    }
}

#[test]
fn every_block_says_its_language_and_rust_is_compiled() {
    for page in PAGES {
        for (words, inside) in blocks(&read(page)) {
            let language = words.split(',').next().unwrap_or_default();
            let known = [
                "rust",
                "sh",
                "text",
                "toml",
                "yaml",
                "json",
                "dockerfile",
                "sql",
                "python",
                "c",
            ];
            assert!(
                known.contains(&language),
                "{page}: `{words}` before\n{inside}"
            );
            if language != "rust" {
                continue;
            }
            assert!(
                !inside.lines().any(|line| line.starts_with("# ")),
                "{page}: GitHub shows hidden lines:\n{inside}"
            );
            match words.as_str() {
                "rust" | "rust,no_run" => {}
                // Blocks that need another target or other dependencies are part of a program that
                // has them.
                "rust,ignore" => {
                    let programs = ELSEWHERE.iter().filter(|(of, _)| of == page);
                    let programs: Vec<&str> = programs.map(|(_, program)| *program).collect();
                    assert!(
                        programs
                            .iter()
                            .any(|program| read(program).contains(&inside)),
                        "none of {programs:?} has what {page} shows:\n{inside}"
                    );
                }
                _ => panic!("{page}: {words}"),
            }
        }
    }
}

/// There is no release yet, so readers of the guide have a checkout.
#[test]
fn the_dependency_of_the_guide_is_that_of_the_advice() {
    let advice: toml::Table = tracking_alloc::__private::DEPENDENCY.parse().unwrap();
    let path = advice["tracking-alloc"]["path"].as_str().unwrap();
    let mut seen = 0;
    for page in PAGES {
        for line in read(page).lines() {
            if let Some(added) = line.strip_prefix("cargo add tracking-alloc --path ") {
                assert_eq!(added.split(' ').next(), Some(path), "{page}");
                seen += 1;
            } else if line.starts_with("tracking-alloc = ") {
                let line: toml::Table = line.parse().unwrap();
                assert_eq!(
                    line["tracking-alloc"]["path"].as_str(),
                    Some(path),
                    "{page}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 2, "{seen}");
}

/// Returns the files that tell how heapglass is installed.
fn texts() -> Vec<String> {
    let more = [
        "CHANGELOG.md",
        "action.yml",
        "profiler/README.md",
        "profiler/cli/README.md",
        "skills/heapglass/SKILL.md",
        "tracking-alloc/README.md",
    ];
    let pages = PAGES.iter().chain(&more);
    pages.map(|page| (*page).to_owned()).collect()
}

#[test]
fn nothing_names_a_release_while_there_is_none() {
    let how = "cargo install --locked --path profiler/cli";
    assert!(read("README.md").contains(&format!(
        "{how}      # from a checkout; there is no release yet"
    )));
    let mut seen = 0;
    for page in texts() {
        for line in read(&page).lines() {
            for (at, _) in line.match_indices("cargo install ") {
                let command = line[at..].split(['`', '#']).next().unwrap();
                if command.contains("heapglass") || command.contains("--path") {
                    assert!(command.contains("--locked --path "), "{page}: {line}");
                    assert!(command.contains("profiler/cli"), "{page}: {line}");
                    seen += 1;
                }
            }
            for released in ["binstall heapglass", "heapglass@v", "heapglass@0"] {
                assert!(!line.contains(released), "{page}: {line}");
            }
        }
    }
    assert!(seen >= 6, "{seen}");
}
