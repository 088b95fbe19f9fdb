//! Tests that `advise` predicts what the techniques of the cases save, at a tenth of their size.

use heapglass_gauntlet::{REMEDIES, WITHOUT, find};
use heapglass_limits::Command;
use heapglass_profiler::advice::Kind;
use serde_json::Value;
use std::path::Path;

#[test]
fn what_is_predicted_without_a_technique_is_saved_with_it_and_no_finding_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_gauntlet"))
        .args(["predict", "--quick", "--json"])
        .env("CARGO_TARGET_DIR", folder.path())
        .output()
        .expect("the runner starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let told: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let rows = told["remedies"].as_array().expect("rows");
    assert_eq!(rows.len(), REMEDIES.len());
    for (row, remedy) in rows.iter().zip(REMEDIES) {
        assert_eq!(row["kind"], remedy.kind);
        let figure = |name: &str| row[name].as_i64().expect("a count");
        let (predicted, measured) = (figure("predicted_bytes"), figure("measured_bytes"));
        assert!(predicted > 0, "{row:#}");
        assert!(remedy.bound.holds(predicted, measured), "{row:#}");
        assert_eq!(row["left"], Value::Array(Vec::new()), "{row:#}");
        assert_ne!(row["line"], "", "{row:#}");
        // A difference has its reason.
        assert!(
            predicted == measured || !remedy.because.is_empty(),
            "{row:#}"
        );
    }
    assert!(output.status.success(), "{said}");
}

#[test]
fn each_kind_of_advice_has_a_row_or_a_reason() {
    let kinds = Kind::ALL.iter().map(|kind| kind.name());
    for kind in kinds {
        let rows = REMEDIES.iter().filter(|row| row.kind == kind);
        let reasons = WITHOUT.iter().filter(|(name, _)| *name == kind);
        let (rows, reasons) = (rows.count(), reasons.count());
        assert!(
            (rows > 0) != (reasons == 1),
            "{kind} has {rows} rows and {reasons} reasons"
        );
    }
}

#[test]
fn rows_name_variants_that_exist_and_the_page_has_them_all() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("predicted.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for row in REMEDIES {
        let case = find(row.case).expect("a case");
        for name in [row.before, row.after] {
            let mut variants = case.variants.iter();
            assert!(variants.any(|variant| variant.name == name), "{row:?}");
        }
        let line = format!(
            "| {} | {} | {} | {} |",
            row.kind, row.case, row.before, row.after
        );
        assert!(page.contains(&line), "`cargo gauntlet predict`: {line}");
    }
}
