//! The JSON Schema of reports that the guide has: made from the JSON of every fixture, by every
//! grouping.

use super::json as report;
use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::question::{Form, Kind, check};
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::{By, all_snapshots};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const FILE: &str = "../docs/src/json/report.schema.json";

/// The values that were seen in one place of the documents.
#[derive(Default)]
struct Shape {
    types: BTreeSet<&'static str>,
    keys: BTreeMap<String, Shape>,
    elements: Option<Box<Shape>>,
}

impl Shape {
    fn add(&mut self, value: &Value) {
        self.types.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
        match value {
            Value::Array(elements) => {
                let shape = self.elements.get_or_insert_default();
                elements.iter().for_each(|element| shape.add(element));
            }
            Value::Object(object) => {
                for (key, value) in object {
                    self.keys.entry(key.clone()).or_default().add(value);
                }
            }
            _ => {}
        }
    }

    fn schema(&self) -> Value {
        let mut types = self.types.clone();
        if types.contains("number") {
            types.remove("integer");
        }
        let mut schema = Map::new();
        match types.iter().collect::<Vec<_>>()[..] {
            [] => {}
            [one] => _ = schema.insert("type".to_owned(), json!(one)),
            _ => _ = schema.insert("type".to_owned(), json!(types)),
        }
        if let Some(elements) = self.elements.as_ref().map(|shape| shape.schema())
            && elements != json!({})
        {
            schema.insert("items".to_owned(), elements);
        }
        if !self.keys.is_empty() {
            let keys = self
                .keys
                .iter()
                .map(|(key, shape)| (key.clone(), shape.schema()));
            schema.insert("properties".to_owned(), keys.collect());
        }
        Value::Object(schema)
    }
}

/// Adds the JSON of a profile by every grouping, of its counters and of its snapshots.
fn add(shape: &mut Shape, profile: &Profile) {
    for by in By::COUNTED {
        let options = ReportOptions {
            by,
            ..ReportOptions::default()
        };
        shape.add(&report(profile, &options));
    }
    for snapshot in all_snapshots(profile) {
        let measure = Measure::Retained;
        let has_answer = |by: &By| check(Kind::Snapshot, Form::Rows, *by, measure).is_ok();
        for by in By::ALL.into_iter().filter(has_answer) {
            let options = ReportOptions {
                by,
                measure,
                snapshot: Some(snapshot),
                ..ReportOptions::default()
            };
            shape.add(&report(profile, &options));
        }
    }
}

#[test]
fn the_schema_in_the_guide_describes_every_report() {
    let mut shape = Shape::default();
    for name in ["demo", "jaq", "rg", "server", "shop", "shop-profiled"] {
        add(&mut shape, &fixture::real(name));
    }
    for profile in [
        fixture::profile(),
        fixture::moving(),
        fixture::sampled(),
        fixture::fleet(),
        fixture::city_arenas(),
        fixture::with_made_up_snapshots(),
    ] {
        add(&mut shape, &profile);
    }
    // What no fixture has.
    let parts = json!({
        "time_ns": 1, "rss_bytes": 1, "live_bytes": 1, "kept_bytes": 1, "own_bytes": 1,
        "other_bytes": 1, "undivided_bytes": 1,
    });
    shape.add(&json!({
        "recording": "app.hg", "mostly_not_live": "kept", "not_seen_bytes": null,
        "most_resident": parts, "last_resident": parts,
        "snapshot": {"unused_bytes": null}, "snapshots": [{"unused_bytes": null}],
    }));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "heapglass report --json, format 2",
        "description": "Bytes, nanoseconds and counts; null = not known. Keys may be missing, and others may come.",
        "required": ["format"],
    });
    let Value::Object(mut schema) = schema else {
        unreachable!("an object was made");
    };
    if let Value::Object(of_report) = shape.schema() {
        schema.extend(of_report);
    }
    let drawn = format!("{:#}\n", Value::Object(schema));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("HEAPGLASS_BLESS").is_some() {
        std::fs::write(&path, &drawn).expect("the schema is written");
    }
    let kept = std::fs::read_to_string(&path).expect("a schema");
    assert!(
        kept == drawn,
        "a key came, went or has another type: cargo bless writes {FILE} anew"
    );
}
