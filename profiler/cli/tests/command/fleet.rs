//! `heapglass export --to parquet`: the tables of many recordings have their figures, and the
//! queries of the guide find in them what arithmetic finds.
//!
//! HEAPGLASS_FLEET makes the fleet large: 500 recordings of programs and 9,500 made ones, of 50
//! services.

use heapglass_limits::Command;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use heapglass_profiler::export::parquet::{
    Labels, Place as TablePlace, Tables, file_name, recording_id,
};
use heapglass_profiler::profile::{Figures, Frames, Measure, Profile};
use heapglass_profiler::table::{By, Detail, rows};
use serde_json::{Value, json};

use crate::common::{HEAPGLASS, INPUT, Place, skipped};

const DAY_NS: u64 = 86_400_000_000_000;

/// The files of an export, by their paths in its folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn each_date_and_service_has_a_folder_with_every_table() {
    let place = Place::new();
    place.record("a.hg");
    place.record("b.hg");
    let words = ["export", "a.hg", "b.hg", "--to", "parquet", "-o", "out"];
    let done = place.run(&words);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(done.stderr, "wrote 4 files of 2 recordings to out\n");
    let first = files(&place.path("out"));
    let folder = first[0]
        .parent()
        .unwrap()
        .strip_prefix(place.path("out"))
        .unwrap()
        .to_str()
        .unwrap();
    assert!(folder.starts_with("date=2"), "{folder}");
    assert!(folder.ends_with("/service=heapglass"), "{folder}");
    let names = first
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap());
    let tables: Vec<&str> = names.map(|name| name.split_once('-').unwrap().0).collect();
    assert_eq!(tables, ["phases", "recordings", "samples", "stacks"]);
    // The same recordings replace their files; others add files.
    let done = place.run(&[
        "export", "b.hg", "a.hg", "--to", "parquet", "-o", "out", "--json",
    ]);
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&said["recordings"], &said["to"]),
        (&2.into(), &"parquet".into())
    );
    assert_eq!(said["files"].as_array().unwrap().len(), 4);
    assert_eq!(files(&place.path("out")), first);
    place.record("c.hg");
    assert_eq!(
        place
            .run(&["export", "c.hg", "--to", "parquet", "-o", "out"])
            .status,
        Some(0)
    );
    assert_eq!(files(&place.path("out")).len(), 8);
}

#[test]
fn nothing_is_written_outside_the_folder() {
    let place = Place::new();
    place.record("x.hg");
    let before = place.files("");
    let words = ["export", "x.hg", "--to", "parquet", "-o", "out"];
    for service in ["../../up", "/etc", "..", "a/b", "a\\b", "%2e%2e"] {
        let label = format!("service={service}");
        let done = place.run(&[&words[..], &["--label", &label]].concat());
        assert_eq!(done.status, Some(0), "{service}: {}", done.stderr);
        let written = files(&place.path("out"));
        assert_eq!(written.len(), 4, "{service}");
        for path in written {
            let inside = path.strip_prefix(place.path("out")).unwrap();
            assert_eq!(
                inside.components().count(),
                3,
                "{service}: {}",
                path.display()
            );
        }
        fs::remove_dir_all(place.path("out")).unwrap();
        assert_eq!(place.files(""), before);
    }
}

#[test]
fn what_cannot_be_exported_is_one_line_and_leaves_nothing() {
    let place = Place::new();
    place.record("x.hg");
    fs::copy(place.path("x.hg"), place.path("copy.hg")).unwrap();
    fs::write(place.path("file"), "").unwrap();
    fs::write(place.path("no.hg"), "not a recording").unwrap();
    let before = place.files("");
    let parquet = ["--to", "parquet", "-o", "out"];
    for words in [
        &["export", "x.hg", "--to", "parquet"][..],
        &["export", "x.hg", "--to", "parquet", "-o", "file"],
        &["export", "x.hg", "--to", "json", "--label", "a=b"],
        &["export", "x.hg", "copy.hg", "--to", "json"],
        &[&["export", "x.hg", "copy.hg"], &parquet[..]].concat(),
        &[&["export", "x.hg", "no.hg"], &parquet[..]].concat(),
        &[&["export", "x.hg", "missing.hg"], &parquet[..]].concat(),
        &[&["export", "x.hg", "--measure", "live"], &parquet[..]].concat(),
        &[&["export", "x.hg", "--label", "host="], &parquet[..]].concat(),
        &[
            &["export", "x.hg", "--label", "a=b", "--label", "a=c"],
            &parquet[..],
        ]
        .concat(),
    ] {
        let done = place.run(words);
        assert_eq!(done.status, Some(2), "{words:?}: {}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{words:?}: {}", done.stderr);
        assert_eq!(place.files(""), before, "{words:?}");
    }
}

/// The facts that a test knows of a recording.
struct Known {
    service: String,
    version: &'static str,
    host: String,
    day: u64,
    figures: BTreeMap<String, u64>,
    by_field: BTreeMap<String, u64>,
    by_owner: BTreeMap<String, u64>,
}

impl Known {
    fn peak(&self) -> u64 {
        self.figures["peak_bytes"]
    }
}

fn add(sums: &mut BTreeMap<String, u64>, key: &str, bytes: u64) {
    *sums.entry(key.to_owned()).or_default() += bytes;
}

/// The size of the fleet.
struct Size {
    services: usize,
    recorded: usize,
    made: usize,
}

/// Records programs, and exports them service by service.
fn record(place: &Place, size: &Size, known: &mut Vec<Known>) {
    for service in 0..size.services {
        let (name, host) = (format!("svc-{service:02}"), format!("host-{}", service % 7));
        let mut words = vec!["export".to_owned()];
        for number in 0..size.recorded / size.services {
            let file = format!("{name}-{number}.hg");
            let input = INPUT.replace("\"two\"", &format!("\"{}\"", "x".repeat(number * 500)));
            fs::write(place.path("sized.json"), input).unwrap();
            let recorded = place.record_from(&file, "sized.json").output().unwrap();
            assert!(recorded.status.success());
            let done = place.run(&["report", &file, "--json", "--frames", "trimmed"]);
            let report: Value = serde_json::from_str(&done.stdout).unwrap();
            let figures = report["totals"].as_object().unwrap().iter();
            let mut one = Known {
                service: name.clone(),
                version: "",
                host: host.clone(),
                day: report["started_unix_ns"].as_u64().unwrap() / DAY_NS,
                figures: figures
                    .map(|(key, figure)| (key.clone(), figure.as_u64().unwrap()))
                    .collect(),
                by_field: BTreeMap::new(),
                by_owner: BTreeMap::new(),
            };
            for row in report["rows"].as_array().unwrap() {
                let peak = row["peak_bytes"].as_u64().unwrap();
                add(&mut one.by_owner, row["owner"].as_str().unwrap(), peak);
                if let Some(field) = row["field"].as_str() {
                    add(&mut one.by_field, field, peak);
                }
            }
            known.push(one);
            words.push(file);
        }
        // Without a version, so that those of the made recordings can be compared.
        let labels = [format!("service={name}"), format!("host={host}")];
        for label in labels {
            words.extend(["--label".to_owned(), label]);
        }
        words.extend(["--to", "parquet", "-o", "fleet"].map(str::to_owned));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = place.run(&words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        for file in place.files(&format!("{name}-")) {
            fs::remove_file(place.path(&file)).unwrap();
        }
    }
}

/// The field that grew in version 1.1 of the first service.
const GROWN: &str = "Catalog.products[].name";

/// Returns a recording made from a real one: all its figures times `factor`, and those of one field
/// three times that if it grew.
fn made(base: &Profile, number: usize, started_unix_ns: u64, factor: u64, grew: bool) -> Profile {
    let fields = base.fields();
    let is_grown = |site: usize| {
        let field = fields.field_of(base.sites()[site].scope);
        grew && fields.nodes()[field as usize].path == GROWN
    };
    let times: Vec<u64> = (0..base.sites().len())
        .map(|site| if is_grown(site) { 3 * factor } else { factor })
        .collect();
    let mut profile = base.clone();
    let parts = profile.parts();
    parts.process.pid = number as u32;
    parts.process.started_unix_ns = started_unix_ns;
    let mut totals = Figures::default();
    for (site, times) in parts.sites.iter_mut().zip(times) {
        let once = site.figures.clone();
        (1..times).for_each(|_| site.figures.add(&once));
        totals.add(&site.figures);
    }
    *parts.totals = totals;
    profile
}

/// Makes recordings of two weeks that end at `now_ns`, and writes their tables.
fn make(place: &Place, size: &Size, now_ns: u64, known: &mut Vec<Known>) {
    let base = heapglass_fixture::real("shop-profiled");
    assert!(
        base.fields()
            .nodes()
            .iter()
            .any(|field| field.path == GROWN)
    );
    // By service and day, so that one table is written at a time.
    let each = size.made / size.services;
    for service in 0..size.services {
        let name = format!("svc-{service:02}");
        for days_ago in (0..14).rev() {
            let mut profiles = Vec::new();
            for number in (0..each).filter(|number| number % 14 == days_ago) {
                let is_new = days_ago < 7;
                let started = now_ns - days_ago as u64 * DAY_NS - number as u64;
                let factor = 1 + (number % 3) as u64;
                let profile = made(
                    &base,
                    service * each + number,
                    started,
                    factor,
                    is_new && service == 0,
                );
                let host = format!("host-{}", number % 11);
                let version = if is_new { "1.1" } else { "1.0" };
                let labels = [
                    ("service", &name[..]),
                    ("host", &host),
                    ("version", version),
                    ("region", "eu"),
                ];
                let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
                let labels = Labels::new(labels).unwrap();
                let totals = json!(profile.totals());
                let figures = totals.as_object().unwrap().iter();
                let mut one = Known {
                    service: name.clone(),
                    version,
                    host,
                    day: started / DAY_NS,
                    figures: figures
                        .map(|(key, figure)| (key.clone(), figure.as_u64().unwrap()))
                        .collect(),
                    by_field: BTreeMap::new(),
                    by_owner: BTreeMap::new(),
                };
                for row in rows(&profile, By::Site, Measure::Peak, Frames::Folded) {
                    let Detail::Site(detail) = &row.detail else {
                        continue;
                    };
                    add(
                        &mut one.by_owner,
                        &detail.label.owner,
                        row.figures.peak_bytes,
                    );
                    if let Some(field) = &detail.field {
                        add(&mut one.by_field, field, row.figures.peak_bytes);
                    }
                }
                known.push(one);
                profiles.push((profile, labels));
            }
            let Some((first, labels)) = profiles.first() else {
                continue;
            };
            let at = TablePlace::of(first.process(), labels).unwrap();
            let folder = place.path("fleet").join(at.folder());
            fs::create_dir_all(&folder).unwrap();
            let ids: Vec<String> = profiles
                .iter()
                .map(|(profile, _)| recording_id(profile.process()))
                .collect();
            let mut tables = Tables::new(|table| {
                File::create(folder.join(file_name(table, ids.iter().map(String::as_str))))
            })
            .unwrap();
            for (profile, labels) in &profiles {
                assert_eq!(TablePlace::of(profile.process(), labels).unwrap(), at);
                tables.add(profile, labels).unwrap();
            }
            tables.finish().unwrap();
        }
    }
}

/// Returns the Python that has a module: that of HEAPGLASS_PYTHON, or the one on the path.
fn python_with(module: &str) -> Option<PathBuf> {
    let python = std::env::var_os("HEAPGLASS_PYTHON").map_or("python3".into(), PathBuf::from);
    let found = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output();
    found
        .is_ok_and(|output| output.status.success())
        .then_some(python)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Asks an engine the queries of the guide, and further ones; returns the rows of each by its name.
fn ask(
    place: &Place,
    python: &Path,
    engine: &str,
    more: &[(&str, &str)],
) -> BTreeMap<String, Vec<Value>> {
    let queries = repository().join("docs/fleet");
    let mut files: Vec<PathBuf> = [
        "grown-fields",
        "worse-versions",
        "above-budget",
        "top-owners",
    ]
    .map(|name| queries.join(format!("{name}.sql")))
    .to_vec();
    for (name, sql) in more {
        files.push(place.path(&format!("{name}.sql")));
        fs::write(place.path(&format!("{name}.sql")), sql).unwrap();
    }
    let asked = Command::new(python)
        .arg(repository().join("profiler/cli/tests/fleet/ask.py"))
        .arg(engine)
        .arg(queries.join(format!("{engine}.sql")))
        .args(files)
        .current_dir(place.root())
        .output()
        .unwrap();
    let said = String::from_utf8(asked.stdout).unwrap();
    assert!(
        asked.status.success(),
        "{}",
        String::from_utf8_lossy(&asked.stderr)
    );
    let answers = said.lines().filter(|line| line.starts_with('{'));
    answers
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            let name = answer["query"].as_str().unwrap().to_owned();
            let rows = answer["rows"].as_array().unwrap().clone();
            eprintln!(
                "{engine} {name}: {} rows, {} s of CPU time",
                rows.len(),
                answer["cpu_seconds"]
            );
            (name, rows)
        })
        .collect()
}

fn rounded(sum: u64, count: usize) -> i64 {
    (sum as f64 / count as f64).round() as i64
}

/// The bytes of a field in the last week and in this one, and its hosts.
type Weeks<'a> = ([u64; 2], BTreeSet<&'a str>);

/// Returns the rows of the query of that name, by arithmetic.
fn grown_fields(known: &[Known]) -> Vec<Value> {
    let latest = known.iter().map(|one| one.day).max().unwrap();
    let mut services: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut fields: BTreeMap<(&str, &str), Weeks<'_>> = BTreeMap::new();
    for one in known.iter().filter(|one| one.day + 14 > latest) {
        let week = usize::from(one.day + 7 > latest);
        services.entry(&one.service).or_default()[week] += 1;
        for (field, bytes) in &one.by_field {
            let (sums, hosts) = fields.entry((&one.service, field)).or_default();
            sums[week] += bytes;
            hosts.insert(&one.host);
        }
    }
    let mut rows: Vec<(i64, &str, &str, Value)> = Vec::new();
    for ((service, field), (sums, hosts)) in &fields {
        let counts = services[service];
        if counts.contains(&0) {
            continue;
        }
        let [old, new] = [0, 1].map(|week| rounded(sums[week], counts[week]));
        if new > old {
            rows.push((
                old - new,
                service,
                field,
                json!([service, field, hosts.len(), old, new, new - old]),
            ));
        }
    }
    rows.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    rows.into_iter().take(20).map(|(.., row)| row).collect()
}

/// Returns the rows of the query of that name, by arithmetic.
fn above_budget(known: &[Known], budgets: &BTreeMap<String, u64>) -> Vec<Value> {
    let latest = known.iter().map(|one| one.day).max().unwrap();
    let mut rows = Vec::new();
    for (service, budget) in budgets {
        let recent: Vec<&Known> = known
            .iter()
            .filter(|one| one.service == *service && one.day + 7 > latest)
            .collect();
        let above: Vec<&&Known> = recent.iter().filter(|one| one.peak() > *budget).collect();
        let hosts: BTreeSet<&str> = above.iter().map(|one| &one.host[..]).collect();
        let largest = recent.iter().map(|one| one.peak()).max().unwrap_or(0);
        if !above.is_empty() {
            let row = json!([
                service,
                budget,
                above.len(),
                recent.len(),
                hosts.len(),
                largest
            ]);
            rows.push((std::cmp::Reverse(largest - budget), service, row));
        }
    }
    rows.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    rows.into_iter().map(|(.., row)| row).collect()
}

/// Returns the rows of the query of that name, by arithmetic, without their order.
fn top_owners(known: &[Known]) -> BTreeSet<String> {
    let latest = known.iter().map(|one| one.day).max().unwrap();
    let mut services: BTreeMap<&str, (usize, u64, BTreeMap<String, u64>)> = BTreeMap::new();
    for one in known.iter().filter(|one| one.day + 7 > latest) {
        let (count, sum, owners) = services.entry(&one.service).or_default();
        *count += 1;
        *sum += one.peak();
        one.by_owner
            .iter()
            .for_each(|(owner, bytes)| add(owners, owner, *bytes));
    }
    let mut rows = BTreeSet::new();
    for (service, (count, sum, owners)) in services {
        let mut owners: Vec<(u64, String)> = owners
            .into_iter()
            .map(|(owner, bytes)| (bytes, owner))
            .collect();
        owners.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (place, (bytes, owner)) in (1..=5).zip(owners).filter(|(_, (bytes, _))| *bytes > 0) {
            let percent = (100.0 * bytes as f64 / sum as f64).round() as i64;
            rows.insert(json!([service, place, owner, rounded(bytes, count), percent]).to_string());
        }
    }
    rows
}

#[test]
fn estimates_have_the_intervals_of_the_report() {
    let Some(python) = python_with("duckdb") else {
        skipped("Python has no module duckdb (pip install duckdb)");
        return;
    };
    let place = Place::new();
    fs::write(place.path("budgets.csv"), "service,peak_bytes\nx,1\n").unwrap();
    let program = [HEAPGLASS, "demo", "--target", "input.json"];
    let sample = [
        "run",
        "-q",
        "--mode",
        "sample",
        "--sample-bytes",
        "256",
        "--out",
        "x.hg",
        "--",
    ];
    assert_eq!(place.run(&[&sample[..], &program].concat()).status, Some(0));
    let words = ["export", "x.hg", "--to", "parquet", "-o", "fleet"];
    assert_eq!(place.run(&words).status, Some(0));
    let done = place.run(&["report", "x.hg", "--json", "--frames", "trimmed"]);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let keys = [
        "peak_bytes",
        "live_bytes",
        "total_bytes",
        "total_blocks",
        "grows",
    ];
    let keys: Vec<String> = keys
        .map(|key| ["", "_low", "_high"].map(|end| format!("{key}{end}")))
        .into_iter()
        .flatten()
        .collect();
    let columns = keys
        .iter()
        .map(|key| format!("CAST(SUM({key}) AS BIGINT)"))
        .collect::<Vec<_>>()
        .join(", ");
    let samples = format!("SELECT {columns} FROM samples");
    let totals = "SELECT peak_bytes, peak_bytes_low, peak_bytes_high, total_bytes, total_bytes_low, exact \
                  FROM recordings";
    let answers = ask(
        &place,
        &python,
        "duckdb",
        &[("samples", &samples), ("totals", totals)],
    );
    let rows = report["rows"].as_array().unwrap();
    // Sampled counts have no upper bound: null in the report, and no value in the table.
    let sum = |key: &String| {
        rows.iter()
            .map(|row| row[key].as_u64())
            .sum::<Option<u64>>()
    };
    let expected: Vec<Option<u64>> = keys.iter().map(sum).collect();
    assert_eq!(answers["samples"], [json!(expected)]);
    let [_, low, high] = expected[..3] else {
        unreachable!("three keys each")
    };
    assert!(low.is_some() && low < high, "{expected:?}");
    let unbounded: Vec<&String> = keys
        .iter()
        .zip(&expected)
        .filter(|(_, sum)| sum.is_none())
        .map(|(key, _)| key)
        .collect();
    assert_eq!(unbounded, ["total_blocks_high", "grows_high"]);
    let of = &report["totals"];
    assert_eq!(
        answers["totals"],
        [json!([
            of["peak_bytes"],
            of["peak_bytes_low"],
            of["peak_bytes_high"],
            of["total_bytes"],
            null,
            false
        ])]
    );
}

#[test]
fn the_queries_of_the_guide_find_what_arithmetic_finds() {
    let is_large = std::env::var_os("HEAPGLASS_FLEET").is_some();
    let size = if is_large {
        Size {
            services: 50,
            recorded: 500,
            made: 9_500,
        }
    } else {
        Size {
            services: 3,
            recorded: 6,
            made: 84,
        }
    };
    let Some(python) = python_with("duckdb") else {
        skipped("Python has no module duckdb (pip install duckdb)");
        return;
    };
    let place = Place::new();
    let mut known = Vec::new();
    record(&place, &size, &mut known);
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    make(&place, &size, now.as_nanos() as u64, &mut known);
    assert_eq!(
        known.len(),
        size.recorded + size.made / size.services * size.services
    );
    let peaks = known
        .iter()
        .filter(|one| one.service == "svc-01")
        .map(Known::peak);
    let budgets = [
        ("svc-00", 1_000_000),
        ("svc-01", peaks.max().unwrap()),
        ("svc-02", 30_000_000),
    ];
    let budgets: BTreeMap<String, u64> =
        budgets.map(|(name, bytes)| (name.to_owned(), bytes)).into();
    let lines = budgets
        .iter()
        .map(|(service, bytes)| format!("{service},{bytes}\n"));
    fs::write(
        place.path("budgets.csv"),
        format!("service,peak_bytes\n{}", lines.collect::<String>()),
    )
    .unwrap();

    let keys: Vec<&String> = known[0].figures.keys().collect();
    let sums = |of: &str| {
        keys.iter()
            .map(|key| format!("CAST(SUM({of}{key}) AS BIGINT)"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let more = [
        ("sums", format!("SELECT service, COUNT(DISTINCT recording), {} FROM samples GROUP BY service ORDER BY service", sums(""))),
        ("totals", format!("SELECT service, COUNT(*), {} FROM recordings GROUP BY service ORDER BY service", sums(""))),
        ("by-phase", format!("SELECT service, COUNT(DISTINCT recording), {} FROM phases GROUP BY service ORDER BY service", sums(""))),
        ("twice", "SELECT recording FROM recordings GROUP BY recording HAVING COUNT(*) > 1".to_owned()),
        ("stacks-twice", "SELECT recording, stack_hash FROM stacks GROUP BY recording, stack_hash HAVING COUNT(*) > 1".to_owned()),
        (
            "no-stack",
            "SELECT samples.stack_hash FROM samples LEFT JOIN stacks ON stacks.recording = samples.recording \
             AND stacks.stack_hash = samples.stack_hash WHERE stacks.recording IS NULL"
                .to_owned(),
        ),
        ("regions", "SELECT labels['region'], COUNT(*) FROM recordings GROUP BY 1 ORDER BY 2 DESC".to_owned()),
    ];
    let more: Vec<(&str, &str)> = more.iter().map(|(name, sql)| (*name, &sql[..])).collect();
    let answers = ask(&place, &python, "duckdb", &more);

    let mut expected: BTreeMap<&str, (usize, BTreeMap<String, u64>)> = BTreeMap::new();
    for one in &known {
        let (count, sums) = expected.entry(&one.service).or_default();
        *count += 1;
        one.figures
            .iter()
            .for_each(|(key, figure)| add(sums, key, *figure));
    }
    let expected: Vec<Value> = expected
        .into_iter()
        .map(|(service, (count, sums))| {
            let mut row = vec![json!(service), json!(count)];
            row.extend(sums.into_values().map(Value::from));
            Value::Array(row)
        })
        .collect();
    for name in ["sums", "totals", "by-phase"] {
        assert_eq!(answers[name], expected, "{name}");
    }
    for name in ["twice", "stacks-twice", "no-stack"] {
        assert!(answers[name].is_empty(), "{name}: {:?}", answers[name]);
    }
    let made = size.made / size.services * size.services;
    assert!(
        answers["regions"].contains(&json!(["eu", made])),
        "{:?}",
        answers["regions"]
    );
    assert_eq!(answers["grown-fields"], grown_fields(&known));
    let grown: Vec<&Value> = answers["grown-fields"].iter().map(|row| &row[1]).collect();
    assert!(grown.contains(&&json!(GROWN)), "{grown:?}");
    assert_eq!(answers["above-budget"], above_budget(&known, &budgets));
    let owners: BTreeSet<String> = answers["top-owners"].iter().map(Value::to_string).collect();
    assert_eq!(owners, top_owners(&known));
    for row in &answers["worse-versions"] {
        let mean = |version: &str| {
            let of = known
                .iter()
                .filter(|one| row[0] == one.service && one.version == version);
            let peaks: Vec<u64> = of.map(Known::peak).collect();
            rounded(peaks.iter().sum(), peaks.len())
        };
        assert_eq!((&row[1], &row[2]), (&json!("1.0"), &json!("1.1")));
        assert_eq!(
            (&row[3], &row[4]),
            (&json!(mean("1.0")), &json!(mean("1.1")))
        );
    }
    assert_eq!(answers["worse-versions"][0][0], "svc-00");

    // The same rows on Spark, where it is installed.
    if is_large {
        let Some(python) = python_with("pyspark") else {
            skipped("Python has no module pyspark (pip install pyspark), which needs Java");
            return;
        };
        let of_spark = ask(&place, &python, "spark", &more);
        for (name, rows) in &answers {
            assert_eq!(rows, &of_spark[name], "{name}");
        }
    }
}
