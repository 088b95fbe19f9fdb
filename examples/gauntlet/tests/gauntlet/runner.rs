//! Runs cases of the gauntlet at a tenth of their size, without times, and reads what it says of them as JSON.

use heapglass_gauntlet::{Found, find};
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

    /// The counts that follow from the source's words are found; of a case with a claim that counts contradict.
    ///
    /// # Panics
    /// When they are not, with what the case says.
    pub(crate) fn counts_hold(&self, id: &str) {
        let case = self.case(id);
        assert_eq!(case["counts_hold"], true, "{id}: {}", case["why"]);
        assert!(
            notices_swaps(case),
            "{id}: its counts hold whichever two figures are swapped"
        );
    }

    /// The verdicts of a case's claims, in their order.
    pub(crate) fn claims(&self, id: &str) -> Vec<&str> {
        let claims = self.case(id)["claims"].as_array();
        claims
            .into_iter()
            .flatten()
            .map(|claim| claim["verdict"].as_str().unwrap_or_default())
            .collect()
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
        self.counts_hold(id);
    }
}

/// Whether a case's counts no longer hold when some two of its figures are swapped.
fn notices_swaps(case: &Value) -> bool {
    let judge = find(case["id"].as_str().unwrap_or_default()).map(|case| case.judge);
    let figures = figures(case);
    let judged = |figures: &[(&str, String, f64)]| {
        let figure = |variant: &str, name: &str| {
            let mut figures = figures.iter();
            let found = figures.find(|(of, named, _)| *of == variant && named == name);
            found.map(|(_, _, value)| *value)
        };
        judge.is_some_and(|judge| {
            let judged = judge(&Found {
                figure: &figure,
                rounds: &|_| Vec::new(),
            });
            judged.counts_hold()
        })
    };
    assert!(judged(&figures), "the figures printed are not those judged");
    let pairs = (0..figures.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    let mut different = pairs.filter(|&(one, other)| {
        let (one, other) = (&figures[one], &figures[other]);
        // Of one name, or of one variant whose figures are the same by every way.
        one.2 != other.2 && (one.1 == other.1 || one.0 == other.0)
    });
    different.any(|(one, other)| {
        let mut swapped = figures.clone();
        (swapped[one].2, swapped[other].2) = (figures[other].2, figures[one].2);
        !judged(&swapped)
    })
}

/// All figures of a case's variants: what was counted, and what the case itself shows.
fn figures(case: &Value) -> Vec<(&str, String, f64)> {
    let mut all = Vec::new();
    for variant in case["variants"].as_array().into_iter().flatten() {
        let name = variant["variant"].as_str().unwrap_or_default();
        let mut add = |named: &str, value: &Value| {
            all.extend(value.as_f64().map(|value| (name, named.to_owned(), value)));
        };
        for named in ["records", "input_bytes", "rss_bytes", "usable_bytes"] {
            add(named, &variant[named]);
        }
        for table in ["notes", "figures"] {
            for (named, value) in variant[table].as_object().into_iter().flatten() {
                add(named, value);
            }
        }
    }
    all
}
