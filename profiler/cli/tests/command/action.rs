//! The steps of `action.yml`, run here on a small cargo project without the hosting service.

use heapglass_limits::Command;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_yaml_ng::Value;

use crate::common::{HEAPGLASS, Place, skipped};

/// A program that holds this many bytes.
fn source(bytes: usize) -> String {
    format!(
        "fn main() {{\n    let held = load();\n    println!(\"{{}}\", held.len());\n}}\n\n\
         #[inline(never)]\nfn load() -> Vec<u8> {{\n    std::hint::black_box(vec![1; {bytes}])\n}}\n"
    )
}

const MANIFEST: &str =
    "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

/// A `gh` that has no comment yet and keeps what it is told to write.
const GH: &str = "#!/bin/sh\necho \"$@\" >>\"$PLACE/gh.log\"\n\
    for word; do case $word in body=@*) cp \"${word#body=@}\" \"$PLACE/posted.md\";; esac; done\n";

/// A run of the action.
struct Action {
    place: Place,
    /// Stand-ins for the contexts of the hosting service.
    contexts: BTreeMap<String, String>,
}

/// A `cargo` that installs nothing and keeps its arguments.
const CARGO: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$PLACE/cargo.log\"\n";

/// The result of a step.
struct Step {
    id: String,
    output: Output,
}

impl Action {
    /// Makes a repository whose base holds 1 MiB and whose head holds 3 MiB. Returns `None` if a
    /// program for it is missing.
    fn new() -> Option<Action> {
        let place = Place::new();
        let project = place.path("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir(place.path("bin")).unwrap();
        fs::write(place.path("bin/gh"), GH).unwrap();
        fs::set_permissions(place.path("bin/gh"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(project.join("Cargo.toml"), MANIFEST).unwrap();
        fs::write(project.join(".gitignore"), "target\nCargo.lock\n").unwrap();
        fs::write(project.join("budget.toml"), "[total]\npeak = \"2 MiB\"\n").unwrap();
        fs::write(project.join("src/main.rs"), source(1 << 20)).unwrap();
        let git = |words: &[&str]| {
            let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
            let mut command = Command::new("git");
            command.current_dir(&project).args(who).args(words);
            command
                .output()
                .ok()
                .filter(|output| output.status.success())
        };
        if git(&["init", "-q"]).is_none() {
            skipped("no git here");
            return None;
        }
        git(&["add", "-A"]).expect("added");
        git(&["commit", "-qm", "base"]).expect("committed");
        let base = git(&["rev-parse", "HEAD"]).expect("a commit").stdout;
        fs::write(project.join("src/main.rs"), source(3 << 20)).unwrap();
        git(&["commit", "-qam", "head"]).expect("committed");
        let base = String::from_utf8(base).unwrap().trim().to_owned();
        let contexts = [
            (
                "github.action_path",
                concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
            ),
            ("github.event.pull_request.base.sha", base.as_str()),
            ("github.event.pull_request.number", "7"),
            ("github.repository", "some/where"),
            ("github.token", "stand-in"),
        ];
        let contexts = contexts.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Action {
            place,
            contexts: contexts.into(),
        })
    }

    /// Replaces `${{ NAME }}` by its value.
    fn filled(&self, text: &str) -> String {
        let mut pieces = text.split("${{");
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once("}}").expect("closed");
            filled.push_str(self.contexts.get(name.trim()).map_or("", String::as_str));
            filled.push_str(rest);
        }
        filled
    }

    /// Runs the steps until one fails.
    fn run(&mut self, inputs: &[(&str, &str)]) -> Vec<Step> {
        let action = definition();
        for (name, input) in action["inputs"].as_mapping().unwrap() {
            let name = name.as_str().unwrap();
            let default = self.filled(input["default"].as_str().unwrap_or_default());
            let given = inputs.iter().find(|(given, _)| *given == name);
            let value = given.map_or(default, |(_, value)| (*value).to_owned());
            self.contexts.insert(format!("inputs.{name}"), value);
        }
        for (name, _) in inputs {
            assert!(action["inputs"].get(name).is_some(), "no input {name}");
        }
        assert_eq!(action["runs"]["using"], "composite");
        let mut done = Vec::new();
        for step in action["runs"]["steps"].as_sequence().unwrap() {
            assert_eq!(step["shell"], "bash");
            let id = step["id"].as_str().unwrap();
            let script = step["run"].as_str().unwrap();
            assert!(
                !script.contains("${{"),
                "{id} has text from outside in its script"
            );
            if let Some(condition) = step["if"].as_str() {
                let (name, wanted) = condition.split_once(" == ").unwrap();
                if self.contexts[name] != wanted.trim_matches('\'') {
                    continue;
                }
            }
            let output = self.step(id, script, &step["env"]);
            let is_over = !output.status.success();
            done.push(Step {
                id: id.to_owned(),
                output,
            });
            if is_over {
                break;
            }
        }
        done
    }

    fn step(&mut self, id: &str, script: &str, environment: &Value) -> Output {
        let bin = Path::new(HEAPGLASS).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!(
            "{}:{}:{path}",
            self.place.path("bin").display(),
            bin.display()
        );
        self.step_with(&path, id, script, environment)
    }

    /// Runs a step with the given `PATH`.
    fn step_with(&mut self, path: &str, id: &str, script: &str, environment: &Value) -> Output {
        let out = self.place.path("output");
        fs::write(&out, "").unwrap();
        let mut command = Command::new("bash");
        // As the hosting service does.
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        self.place.isolate(&mut command);
        command
            .current_dir(self.place.path("project"))
            .env("PATH", path)
            .env("PLACE", self.place.root())
            .env("GITHUB_OUTPUT", &out)
            .env("GITHUB_STEP_SUMMARY", self.place.path("summary.md"))
            .env("RUNNER_TEMP", self.place.root())
            .env_remove("CARGO_TARGET_DIR");
        for (name, value) in environment.as_mapping().unwrap() {
            let value = self.filled(value.as_str().unwrap());
            command.env(name.as_str().unwrap(), value);
        }
        let output = command.output().unwrap();
        for line in fs::read_to_string(&out).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            let name = format!("steps.{id}.outputs.{name}");
            self.contexts.insert(name, value.to_owned());
        }
        output
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.place.path(name)).unwrap_or_default()
    }
}

/// Returns the contents of `action.yml`.
fn definition() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../action.yml");
    serde_yaml_ng::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the ids and exit codes of steps, and all that they said.
fn ended(steps: &[Step]) -> (Vec<(&str, i32)>, String) {
    let codes = steps.iter();
    let codes = codes.map(|step| (step.id.as_str(), step.output.status.code().unwrap_or(-1)));
    let said = steps
        .iter()
        .flat_map(|step| [&step.output.stdout, &step.output.stderr]);
    let said: Vec<_> = said.map(|bytes| String::from_utf8_lossy(bytes)).collect();
    (codes.collect(), said.join(""))
}

const BUILD: (&str, &str) = ("build", "cargo build --offline --quiet");
const COMMAND: (&str, &str) = ("command", "target/debug/small 'one argument'");

#[test]
fn the_action_comments_with_the_difference_and_fails_on_a_budget() {
    if heapglass_preload::LIBRARY.is_err() {
        skipped("there is no library to preload");
        return;
    }
    let Some(mut action) = Action::new() else {
        return;
    };
    let steps = action.run(&[
        BUILD,
        COMMAND,
        ("budget", "budget.toml"),
        ("tolerance", "5%"),
    ]);
    let (codes, said) = ended(&steps);
    let expected = [
        ("install", 0),
        ("record", 0),
        ("compare", 0),
        ("comment", 0),
        ("verdict", 1),
    ];
    assert_eq!(codes, expected, "{said}");
    let markdown = PathBuf::from(&action.contexts["steps.compare.outputs.markdown"]);
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(
        markdown.starts_with("<!-- heapglass -->\n### heapglass: peak &#43;2.0 MiB"),
        "{markdown}"
    );
    for words in [
        "<code>base.hg</code> to <code>head.hg</code>",
        "<code>small&#58;&#58;load</code>",
        "### heapglass: 3 of 5 checks failed",
        "| **failed** |",
    ] {
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
    assert_eq!(action.text("posted.md"), markdown);
    assert_eq!(action.text("summary.md"), markdown);
    let told = action.text("gh.log");
    assert!(
        told.contains("repos/some/where/issues/7/comments"),
        "{told}"
    );
    assert!(
        said.contains("::error::the program exceeds its budget"),
        "{said}"
    );
    // Without limits, there is only the comparison; without a wish, no comment.
    fs::remove_file(action.place.path("posted.md")).unwrap();
    let steps = action.run(&[BUILD, COMMAND, ("comment", "false"), ("by", "owner")]);
    let (codes, said) = ended(&steps);
    let expected = [
        ("install", 0),
        ("record", 0),
        ("compare", 0),
        ("verdict", 0),
    ];
    assert_eq!(codes, expected, "{said}");
    assert!(!action.place.path("posted.md").exists());
    // What does not build fails at once.
    let steps = action.run(&[("build", "false"), COMMAND]);
    let (codes, _) = ended(&steps);
    assert_eq!(codes, [("install", 0), ("record", 1)]);
}

#[test]
fn without_a_command_the_action_builds_its_own_checkout() {
    let Some(mut action) = Action::new() else {
        return;
    };
    let bin = action.place.path("bin");
    fs::write(bin.join("cargo"), CARGO).unwrap();
    fs::set_permissions(bin.join("cargo"), PermissionsExt::from_mode(0o755)).unwrap();
    let install = &definition()["runs"]["steps"][0];
    assert_eq!(install["id"], "install");
    let script = install["run"].as_str().unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = action.step_with(&path, "install", script, &install["env"]);
    assert!(output.status.success(), "{output:?}");
    let words = action.text("cargo.log");
    let words: Vec<&str> = words.lines().collect();
    let ["install", "--locked", "--path", path] = words[..] else {
        panic!("{words:?}");
    };
    assert!(Path::new(path).join("Cargo.toml").exists(), "{path}");
}
