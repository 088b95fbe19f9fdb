//! Runs cases of the gauntlet at a tenth of their size, without times, and reads the results as
//! JSON.

use heapglass_gauntlet::{Found, find};
use heapglass_limits::Command;
use serde_json::Value;

/// The output of a run.
pub(crate) struct Said(Value);

/// Runs cases, with further arguments if necessary. Each run has its own folder for recordings.
///
/// # Panics
/// If a variant or the runner fails.
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

    /// Returns a figure of a variant.
    ///
    /// # Panics
    /// If there is no such figure.
    pub(crate) fn figure(&self, id: &str, variant: &str, name: &str) -> u64 {
        let variants = self.case(id)["variants"].as_array();
        let found = variants
            .into_iter()
            .flatten()
            .find(|one| one["variant"] == variant);
        let figure = found.and_then(|found| found["figures"][name].as_u64());
        figure.unwrap_or_else(|| panic!("{id} {variant:?} has no {name} in {}", self.0))
    }

    /// Returns a note of the case about a variant; `None` if it could not be measured.
    pub(crate) fn note(&self, id: &str, variant: &str, name: &str) -> Option<f64> {
        let variants = self.case(id)["variants"].as_array();
        let mut variants = variants.into_iter().flatten();
        let found = variants.find(|one| one["variant"] == variant);
        found.and_then(|found| found["notes"][name].as_f64())
    }

    /// Returns the case's sentence about the result.
    pub(crate) fn says(&self, id: &str) -> &str {
        self.case(id)["why"].as_str().unwrap_or_default()
    }

    /// Checks the counts that follow from the source's words, for a case with a claim that counts
    /// contradict.
    ///
    /// # Panics
    /// If the counts differ, with the case's sentence.
    pub(crate) fn counts_hold(&self, id: &str) {
        let case = self.case(id);
        assert_eq!(case["counts_hold"], true, "{id}: {}", case["why"]);
        assert!(
            notices_swaps(case),
            "{id}: its counts hold whichever two figures are swapped"
        );
    }

    /// Returns the verdicts of a case's claims, in order.
    pub(crate) fn claims(&self, id: &str) -> Vec<&str> {
        let claims = self.case(id)["claims"].as_array();
        claims
            .into_iter()
            .flatten()
            .map(|claim| claim["verdict"].as_str().unwrap_or_default())
            .collect()
    }

    /// Checks that the statements of the source without figures hold, and that nothing compared is
    /// contradicted.
    ///
    /// # Panics
    /// If something is contradicted, with the case's sentence.
    pub(crate) fn holds(&self, id: &str) {
        let case = self.case(id);
        let known = ["reproduced", "not judged", "stronger", "weaker"];
        let verdict = case["verdict"].as_str().unwrap_or_default();
        assert!(known.contains(&verdict), "{id}: {verdict}: {}", case["why"]);
        self.counts_hold(id);
    }
}

/// Returns `true` if swapping some pair of a case's figures makes its counts fail.
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
        // Only different figures with the same name, or of the same variant.
        one.2 != other.2 && (one.1 == other.1 || one.0 == other.0)
    });
    different.any(|(one, other)| {
        let mut swapped = figures.clone();
        (swapped[one].2, swapped[other].2) = (figures[other].2, figures[one].2);
        !judged(&swapped)
    })
}

/// Returns all figures of a case's variants: the counted ones, and the case's notes.
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
