//! The skill for agents: its scripts record, give findings and compare, as SKILL.md says.

use heapglass_limits::Command;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Done, HEAPGLASS, Place};

fn skill() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/heapglass")
}

/// Runs a script of the skill, which finds the command by its name.
fn script(place: &Place, name: &str, words: &[&str]) -> Done {
    let mut command = Command::new(skill().join("scripts").join(name));
    command.args(words);
    place.isolate(&mut command);
    let folder = Path::new(HEAPGLASS).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [folder].into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    Done::from(command.output().unwrap())
}

/// Writes an input with so many objects, of which the demo target makes a tree of values.
fn write_input(place: &Place, name: &str, objects: usize) {
    let object = r#"{"one": 1, "two": [2, 3], "three": {"four": "five"}}"#;
    let text = format!(
        r#"{{"packages": [], "workspace_members": [], "resolve": null, "workspace_root": "/w",
            "target_directory": "/t", "version": 1, "metadata": [{}]}}"#,
        vec![object; objects].join(",")
    );
    fs::write(place.path(name), text).unwrap();
}

#[test]
fn the_loop_of_the_skill_records_advises_and_compares() {
    let place = Place::new();
    // The change is a smaller input.
    write_input(&place, "first.json", 500);
    write_input(&place, "second.json", 100);
    for (recording, input) in [("before.hg", "first.json"), ("after.hg", "second.json")] {
        let words = [recording, "--", HEAPGLASS, "demo", "--target", input];
        let done = script(&place, "record", &words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let findings: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(findings["findings"][0]["kind"], "value_tree", "{findings}");
        // Every key that the skill explains is there.
        for key in "kind saves_bytes saves_blocks measure saves_of snapshot confidence type field owner file line evidence remedy"
            .split(' ')
        {
            assert!(findings["findings"][0].get(key).is_some(), "{key}");
        }
        let left = fs::read_dir(place.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert!(
            left.into_iter()
                .all(|name| !name.to_string_lossy().ends_with(".packed"))
        );
    }
    let done = script(&place, "compare", &["before.hg", "after.hg"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let diff: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(diff["totals"][0]["verdict"], "less", "{diff}");
    let words = ["after.hg", "before.hg", "--by", "owner"];
    let done = script(&place, "compare", &words);
    assert_eq!(done.status, Some(1), "{}", done.stderr);
    let diff: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&diff["by"], &diff["totals"][0]["verdict"]),
        (&"owner".into(), &"more".into())
    );
}

#[test]
fn scripts_of_the_skill_pass_on_failures() {
    let place = Place::new();
    let done = script(&place, "record", &["x.hg", "--", "false"]);
    assert_eq!(done.status, Some(1), "{}", done.stderr);
    assert_eq!(done.stdout, "");
    for (name, words) in [("record", &["x.hg"][..]), ("compare", &["x.hg"])] {
        let done = script(&place, name, words);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
    }
}

#[test]
fn the_skill_has_front_matter_and_names_its_scripts() {
    let text = fs::read_to_string(skill().join("SKILL.md")).unwrap();
    let front = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"));
    let (front, body) = front.expect("front matter");
    let keys: Vec<&str> = front
        .lines()
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .collect();
    assert_eq!(keys, ["name", "description"]);
    for script in fs::read_dir(skill().join("scripts")).unwrap() {
        let name = script.unwrap().file_name().into_string().unwrap();
        assert!(body.contains(&format!("scripts/{name} ")), "{name}");
    }
}
