//! Runs cases of the gauntlet at a tenth of their size, without times, and reads what it says of them as JSON.

use serde_json::Value;
use std::process::Command;

/// What a run said.
pub(crate) struct Said(Value);

/// Runs cases, with more words of the command line if need be. Recordings go to a folder of this run's own.
///
/// # Panics
/// When a variant fails or the runner does.
pub(crate) fn run(words: &[&str]) -> Said {
    let folder = tempfile::tempdir().expect("a folder for the time being");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet"));
    command
        .arg("run")
        .args(words)
        .args(["--quick", "--no-times", "--json"]);
    let output = command
        .env("CARGO_TARGET_DIR", folder.path())
        .output()
        .expect("the runner runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{words:?}: {}\n{said}{text}",
        output.status
    );
    Said(
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{words:?}: {error} in {text:?}")),
    )
}

impl Said {
    fn case(&self, id: &str) -> &Value {
        let cases = self.0["cases"].as_array();
        let case = cases.into_iter().flatten().find(|case| case["id"] == id);
        case.unwrap_or_else(|| panic!("case {id} is not in {}", self.0))
    }

    /// A figure of a variant.
    ///
    /// # Panics
    /// When it is not there.
    pub(crate) fn figure(&self, id: &str, variant: &str, name: &str) -> u64 {
        let variants = self.case(id)["variants"].as_array();
        let found = variants
            .into_iter()
            .flatten()
            .find(|one| one["variant"] == variant);
        let figure = found.and_then(|found| found["figures"][name].as_u64());
        figure.unwrap_or_else(|| panic!("{id} {variant:?} has no {name} in {}", self.0))
    }

    /// What the case itself has to show of a variant; `None` where it could not be had.
    pub(crate) fn note(&self, id: &str, variant: &str, name: &str) -> Option<f64> {
        let variants = self.case(id)["variants"].as_array();
        let mut variants = variants.into_iter().flatten();
        let found = variants.find(|one| one["variant"] == variant);
        found.and_then(|found| found["notes"][name].as_f64())
    }

    /// What the case says of what was found.
    pub(crate) fn says(&self, id: &str) -> &str {
        self.case(id)["why"].as_str().unwrap_or_default()
    }

    /// What follows from the source without its figures holds: nothing that was compared is contradicted.
    ///
    /// # Panics
    /// When something is, with what the case says.
    pub(crate) fn holds(&self, id: &str) {
        let case = self.case(id);
        let known = ["reproduced", "not judged", "stronger", "weaker"];
        let verdict = case["verdict"].as_str().unwrap_or_default();
        assert!(known.contains(&verdict), "{id}: {verdict}: {}", case["why"]);
    }
}
