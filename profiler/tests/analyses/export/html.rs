//! The page: its figures, its size, and what it does with hostile names.

use super::*;
use heapglass_profiler::diff::{HeldDiff, HeldSide, Recording};
use heapglass_profiler::profile::{Mark, Measure, Sampling, Thread, TimelinePoint};
use heapglass_profiler::question::Question;
use heapglass_profiler::table::{holders, snapshot_at};
use heapglass_profiler::units::Bytes;

/// Returns the page of a profile.
pub(super) fn page(profile: &Profile, options: &ReportOptions<'_>) -> String {
    text(profile, Format::Html, options)
}

/// Returns the page of a comparison of two recordings, each with its path.
pub(super) fn comparison(base: (&str, &Profile), new: (&str, &Profile)) -> String {
    let [base, new] = [base, new].map(|(name, profile)| [Recording { name, profile }]);
    let mut out = Vec::new();
    write_comparison_page(&base, &new, &options(Format::Html), None, &mut out).expect("a page");
    String::from_utf8(out).expect("text")
}

/// Returns the data of a page.
pub(super) fn data(page: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(begin).expect("data");
    let (json, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

/// Returns the position of a column of a table.
fn column(table: &Value, key: &str) -> Option<usize> {
    let columns = table["columns"].as_array().unwrap();
    columns.iter().position(|column| column["key"] == key)
}

/// Returns the totals of the page, after checking that tables and trees have the same.
pub(super) fn totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let data = data(&page(profile, options));
    let totals: HashMap<String, u64> = data["recording"]["totals"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, figure)| (key.clone(), figure.as_u64().unwrap()))
        .collect();
    for table in data["tables"].as_array().unwrap() {
        let by = table["by"].as_str().unwrap();
        // A function has what it calls, threads have no live bytes, arenas lie inside blocks.
        if ["arena", "thread", "holder"].contains(&by) {
            continue;
        }
        for (key, total) in &totals {
            let left_out = table["left_out"]["figures"][key].as_u64().unwrap();
            let at = column(table, key);
            let rows = table["rows"].as_array().unwrap().iter();
            let cells = rows.map(|row| at.map_or(0, |at| row[at].as_u64().unwrap()));
            assert_eq!(cells.sum::<u64>() + left_out, *total, "{key} by {by}");
        }
    }
    for tree in data["trees"].as_array().unwrap() {
        if ["arena", "holder"].contains(&tree["by"].as_str().unwrap()) {
            continue;
        }
        for (key, figures) in tree["figures"].as_object().unwrap() {
            assert_eq!(figures[0].as_u64(), Some(totals[key]), "{key}");
            assert_eq!(own_sum(tree, key), totals[key], "{key} of {}", tree["by"]);
        }
    }
    totals
}

/// Returns the sum of the frames' own figures, as the page shows them.
fn own_sum(tree: &Value, key: &str) -> u64 {
    let depths: Vec<u64> = list(&tree["depth"]);
    let figures: Vec<u64> = list(&tree["figures"][key]);
    let open: Vec<u64> = list(&tree["open"]);
    assert_eq!(open, [] as [u64; 0], "nothing is left out of a small page");
    let own: HashMap<u64, u64> = tree["own"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one[0].as_u64().unwrap(), one[1][key].as_u64().unwrap_or(0)))
        .collect();
    let own_of = |at: usize| match own.get(&(at as u64)) {
        Some(own) => *own,
        None if depths.get(at + 1) == Some(&(depths[at] + 1)) => 0,
        None => figures[at],
    };
    (0..depths.len()).map(own_of).sum()
}

fn list(value: &Value) -> Vec<u64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_u64().unwrap()).collect()
}

/// A name that tries everything.
pub(super) const EVIL: &str = "</script><script>window.owned=1</script><img src=x onerror=window.owned=2>\
    <!--<script>{{data}}\"'`&amp;\\\u{0}\u{1b}[31m\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\u{2066}\u{2028}\u{2029}\u{feff}\n\r;=javascript:1";

/// A profile in which every name and path is hostile.
pub(super) fn hostile() -> Profile {
    let mut b = Builder::new();
    let phase = b.scope(0, EVIL, 10, 1);
    let field = b.field(phase, ScopeKind::Root, EVIL, (EVIL, 8), 1);
    let inner = b.field(field, ScopeKind::Field, EVIL, (EVIL, 8), 1);
    let mut stack = Vec::new();
    for (origin, end) in [
        (Origin::User, "a"),
        (Origin::Dependency, "b"),
        (Origin::Std, "c"),
        (Origin::Native, "d"),
    ] {
        let name = format!("{EVIL}::{end}");
        let function = b.function(&name, &name, origin);
        stack.push(b.frame(function, Some(&format!("/{name}.rs")), 1));
        b.site(&stack, inner, figures(1_000, 100, 500));
    }
    b.site(&stack[..1], phase, figures(90, 1_000, 3));
    b.site(&[], ScopeId(0), figures(9, 10, 3));
    let evil_type = b.value_type(EVIL);
    let p = b.parts();
    for site in p.sites.iter_mut() {
        site.contents = Some(fixture::made!(Contents {
            container: evil_type,
            element: None,
            owner: None,
        }));
    }
    p.process.program = EVIL.into();
    p.process.executable = EVIL.into();
    p.process.command = vec![EVIL.into(), EVIL.into()];
    p.process.duration_ns = 1_000_000;
    p.capture.mode = EVIL.into();
    p.capture.unwinder = EVIL.into();
    p.capture.allocator = EVIL.into();
    p.lost.notes.push(EVIL.into());
    p.threads.push(fixture::made!(Thread {
        name: EVIL.into(),
        count: 1,
    }));
    p.marks.push(fixture::made!(Mark {
        name: EVIL.into(),
        time_ns: 500,
    }));
    for time_ns in [0, 500_000, 1_000_000] {
        p.timeline.push(fixture::made!(TimelinePoint {
            time_ns,
            live_bytes: 1_000 + time_ns,
        }));
    }
    p.modules.push(fixture::made!(Module {
        path: EVIL.into(),
        build_id: EVIL.into(),
        symbols: SymbolSource::Missing(EVIL.into()),
    }));
    b.build()
}

/// Returns the text of every format of a profile, and of both pages.
fn all_texts(profile: &Profile) -> Vec<(&'static str, String)> {
    let mut texts: Vec<(&str, String)> = Format::ALL
        .into_iter()
        .map(|format| {
            let text = match format {
                Format::Pprof => pprof::decode(profile, &options(format))
                    .string_table
                    .join(" "),
                _ => text(profile, format, &options(format)),
            };
            (format.name(), text)
        })
        .collect();
    let side = (EVIL, profile);
    texts.push(("comparison", comparison(side, side)));
    let mut out = Vec::new();
    flamegraph::write_svg(profile, &Question::default(), &mut out).expect("a picture");
    texts.push(("svg", String::from_utf8(out).expect("text")));
    texts
}

#[test]
fn a_hostile_recording_goes_through_every_format() {
    let profile = hostile();
    for (name, text) in all_texts(&profile) {
        let is_bad = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        };
        let bad: Vec<char> = text.chars().filter(|c| is_bad(*c)).collect();
        assert_eq!(bad, [], "{name}");
        if ["html", "comparison"].contains(&name) {
            // The page's own elements, and no others.
            assert_eq!(text.matches("<script").count(), 2, "{name}");
            assert_eq!(text.matches("</script").count(), 2, "{name}");
            assert_eq!(text.matches("<!--").count(), 0, "{name}");
            assert_eq!(text.matches("<img").count(), 0, "{name}");
            assert!(!text.contains("{{title}}") && !text.contains("{{script}}"));
            let data = data(&text);
            let texts = data["texts"].as_array().unwrap();
            let evil = texts
                .iter()
                .filter_map(Value::as_str)
                .find(|text| text.contains("</script>"));
            assert!(
                evil.expect("the name, whole")
                    .contains("{{data}}\"'`&amp;\\\\u{0}")
            );
        }
    }
}

#[test]
fn the_page_allows_its_own_code_alone_and_nothing_from_elsewhere() {
    for page in [
        page(&shop(), &options(Format::Html)),
        page(&hostile(), &options(Format::Html)),
    ] {
        let (_, policy) = page
            .split_once("Content-Security-Policy\" content=\"")
            .expect("a policy");
        let (policy, _) = policy.split_once('"').expect("an end");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'sha256-"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && !policy.contains("http"),
            "{policy}"
        );
        assert!(!page.contains("innerHTML") && !page.contains("eval("));
    }
    let page = page(&shop(), &options(Format::Html));
    for outside in [
        "src=", "href=", "url(", "@import", "style=", "onload", "onclick=",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_code_of_a_page_is_small() {
    let empty = page(&Profile::default(), &options(Format::Html));
    assert!(empty.len() < 200_000, "{}", empty.len());
}

/// A profile whose call tree has more than a million nodes.
pub(super) fn huge() -> Profile {
    let mut b = Builder::new();
    let functions: Vec<FunctionId> = (0..200)
        .map(|n| {
            b.function(
                &format!("app::part_{}::step_{n}", n % 7),
                "app",
                Origin::User,
            )
        })
        .collect();
    let frames: Vec<FrameId> = functions
        .iter()
        .zip(1..)
        .map(|(function, line)| b.frame(*function, Some("/src/app/src/main.rs"), line))
        .collect();
    for site in 0..100_000_usize {
        let digits = [site / 10_000, site / 100 % 100, site % 100];
        let head = digits.map(|digit| frames[digit]);
        let tail = (1..=11).map(|step| frames[100 + (site * 7 + step * step) % 100]);
        let stack: Vec<FrameId> = head.into_iter().chain(tail).collect();
        let size = 16 + (site as u64 * 7_919) % 5_000;
        b.site(&stack, ScopeId(0), figures(1 + site as u64 % 9, size, 1));
    }
    b.build()
}

#[test]
fn a_page_of_a_million_nodes_says_what_it_left_out() {
    let profile = huge();
    let tree = heapglass_profiler::calltree::CallTree::build(
        &profile,
        &CallTreeOptions {
            frames: Frames::Folded,
            ..CallTreeOptions::default()
        },
    );
    assert!(tree.len() > 1_000_000, "{}", tree.len());
    let page = page(&profile, &options(Format::Html));
    assert!(page.len() < 5_000_000, "{}", page.len());
    let data = data(&page);
    let first = &data["trees"][0];
    let kept = first["depth"].as_array().unwrap().len();
    let left_out = first["left_out"]["frames"].as_u64().unwrap() as usize;
    assert_eq!(kept + left_out, tree.len());
    assert!(kept > 5_000, "{kept}");
    let total = profile.totals().peak_bytes;
    assert_eq!(first["figures"]["peak_bytes"][0].as_u64(), Some(total));
    let table = &data["tables"][0];
    let peak = column(table, "peak_bytes").expect("a column");
    let rows = table["rows"].as_array().unwrap().iter();
    let shown: u64 = rows.map(|row| row[peak].as_u64().unwrap()).sum();
    let rest = table["left_out"]["figures"]["peak_bytes"].as_u64().unwrap();
    assert_eq!(shown + rest, total);
    browser::a_click_is_quick(&page);
}

#[test]
fn a_comparison_has_the_totals_of_both_sides() {
    let [base, new] = ["shop", "shop-profiled"].map(fixture::real);
    let page = comparison(("/tmp/base.hg", &base), ("/tmp/new.hg", &new));
    assert!(!page.contains("/tmp/"), "no folder of the machine");
    let data = data(&page);
    for (side, profile) in data["sides"].as_array().unwrap().iter().zip([&base, &new]) {
        let peak = side[0]["totals"]["peak_bytes"].as_u64();
        assert_eq!(peak, Some(profile.totals().peak_bytes));
    }
    for tree in data["trees"].as_array().unwrap() {
        for measure in Measure::COUNTED {
            for (side, profile) in [("base", &base), ("new", &new)] {
                let key = format!("{side}_{}", measure.key());
                let root = tree["figures"][&key][0].as_u64().unwrap_or(0);
                assert_eq!(root, measure.of(profile.totals()), "{key}");
            }
        }
    }
}

/// Returns the page of a comparison of two snapshots of a recording.
pub(super) fn held_comparison(profile: &Profile, at: [&str; 2]) -> String {
    let one = [Recording {
        name: "/tmp/app.hg",
        profile,
    }];
    let at = at.map(|name| snapshot_at(profile, Some(name)).expect("a snapshot"));
    let options = ReportOptions {
        measure: Measure::Unused,
        ..options(Format::Html)
    };
    let mut out = Vec::new();
    write_comparison_page(&one, &one, &options, Some(at), &mut out).expect("a page");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_comparison_of_snapshots_has_the_holders_of_both() {
    let profile = fixture::with_made_up_snapshots();
    let page = held_comparison(&profile, ["peak", "exit"]);
    assert!(!page.contains("/tmp/"), "no folder of the machine");
    let two = comparison(("a", &profile), ("b", &profile));
    let [data, shown_first] = [page, two].map(|page| data(&page));
    // It begins with the holders.
    let first = ["by", "table", "measure"].map(|key| data[key].as_str().unwrap().to_owned());
    assert_eq!(first, ["holder", "holder", "unused_bytes"]);
    let is_of_holders = |one: &&Value| one["by"] == "holder";
    let tree = data["trees"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_of_holders)
        .collect::<Vec<_>>()[0];
    let changes = data["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_of_holders)
        .collect::<Vec<_>>()[0];
    let at = |name| snapshot_at(&profile, Some(name)).expect("a snapshot");
    let sides = ["peak", "exit"].map(|name| HeldSide {
        name: "app.hg",
        profile: &profile,
        at: at(name),
    });
    for measure in Measure::OF_SNAPSHOTS {
        let key = measure.key();
        // The root has the sum over the outermost holders.
        for (side, name) in ["base", "new"].into_iter().zip(["peak", "exit"]) {
            let rows = holders(&profile, at(name).snapshot);
            let outermost = rows.iter().filter(|row| row.parent.is_none());
            let whole: u64 = outermost.filter_map(|row| row.held.of(measure)).sum();
            let root = tree["figures"][format!("{side}_{key}")][0].as_u64();
            assert_eq!(root.unwrap_or(0), whole, "{side} {key}");
        }
        // Rows are those of the text.
        let diff = HeldDiff::new(sides, By::Holder, measure);
        let of_measure = changes["measures"].as_array().unwrap().iter();
        let shown = of_measure.filter(|one| one[0] == key).collect::<Vec<_>>()[0];
        assert_eq!(shown[1]["equal"], diff.equal_rows);
        let rows = shown[1]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), diff.rows.len(), "{key}");
        assert!(!rows.is_empty());
        let difference = column(changes, "difference").expect("a column");
        for (row, expected) in rows.iter().zip(&diff.rows) {
            let exact = expected.change.exact_difference().expect("exact");
            assert_eq!(row[difference].as_i64().map(i128::from), Some(exact));
        }
    }
    let notes = data["notes"].to_string();
    for name in ["peak", "exit"] {
        let moment = at(name).moment(&profile);
        assert!(notes.contains(&moment), "{moment}: {notes}");
    }
    // Without a choice, two recordings with snapshots have holders too, and do not begin with them.
    assert_eq!(shown_first["by"], "stack");
    let mut trees = shown_first["trees"].as_array().unwrap().iter();
    assert!(trees.any(|tree| tree["by"] == "holder"));
}

#[test]
fn a_comparison_has_the_fields_of_one_side_and_the_arenas_of_the_other() {
    let fields = fixture::real("shop-profiled");
    let mut arenas = fixture::real("shop");
    let of_city = fixture::city_arenas().arenas().to_vec();
    *arenas.parts().arenas = of_city;
    for row in arenas
        .parts()
        .arenas
        .iter_mut()
        .flat_map(|arena| &mut arena.rows)
    {
        row.scope = ScopeId(0);
    }
    assert!(!fields.fields().is_empty() && fields.arenas().is_empty());
    assert!(arenas.fields().is_empty() && !arenas.arenas().is_empty());
    for sides in [[&fields, &arenas], [&arenas, &fields]] {
        let data = data(&comparison(("base", sides[0]), ("new", sides[1])));
        let groupings = |key: &str| -> Vec<String> {
            let all = data[key].as_array().unwrap().iter();
            all.map(|one| one["by"].as_str().unwrap().to_owned())
                .collect()
        };
        let trees = groupings("trees");
        assert!(trees.contains(&"field".to_owned()), "{trees:?}");
        assert!(trees.contains(&"arena".to_owned()), "{trees:?}");
        // Sites of sides with and without fields cannot be matched.
        let changes = groupings("changes");
        assert!(!changes.contains(&"site".to_owned()), "{changes:?}");
        assert!(changes.contains(&"owner".to_owned()), "{changes:?}");
    }
}

#[test]
fn a_page_of_samples_has_the_total_that_was_counted_and_shares_of_estimates() {
    let mut profile = shop();
    let estimate = profile.totals().total_bytes;
    profile.parts().capture.mode = "sample".into();
    profile.parts().capture.sampling = Some(fixture::made!(Sampling {
        sample_bytes: 1_000,
        total_bytes: estimate + 77,
    }));
    let by_total = ReportOptions {
        measure: Measure::Total,
        ..options(Format::Html)
    };
    let data = data(&page(&profile, &by_total));
    assert_eq!(
        data["recording"]["totals"]["total_bytes"].as_u64(),
        Some(estimate + 77)
    );
    let title = data["title"].as_str().unwrap();
    let counted = Measure::Total.amount(estimate + 77);
    assert_ne!(counted, Measure::Total.amount(estimate));
    assert!(title.ends_with(&counted), "{title}");
    // Rows are estimates that add up to an estimate.
    let wholes = data["tables"][0]["whole"].as_object().unwrap();
    assert_eq!(wholes["total_bytes"].as_u64(), Some(estimate));
    let notes = data["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|note| note.as_str().unwrap().contains("estimates"));
    assert_eq!(notes.count(), 1);
}

#[test]
fn a_page_has_no_folder_of_the_machine_and_sources_only_on_request() {
    let profile = fixture::real("shop-profiled");
    let written = page(&profile, &options(Format::Html));
    assert!(data(&written)["sources"].is_null());
    let paths = profile.modules().iter().map(|module| module.path.as_str());
    let data = data(&written);
    for path in paths.filter(|path| path.contains('/')) {
        let found = data["texts"].as_array().unwrap().iter();
        assert_eq!(
            found.filter(|text| text.as_str() == Some(path)).count(),
            0,
            "{path}"
        );
    }
    assert!(data["trees"].as_array().unwrap().len() > 6, "fields, types");
}

#[test]
fn sources_of_own_crates_are_in_the_page_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    for name in ["src/main.rs", "src/dependency.rs"] {
        let lines: String = (1..=200).map(|line| format!("line {line}\n")).collect();
        std::fs::write(folder.path().join(name), lines).expect("written");
    }
    let mut b = Builder::new();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, origin, file, line) in [
        ("app::main", Origin::User, path("src/main.rs"), 7),
        ("app::gone", Origin::User, path("src/gone.rs"), 7),
        ("app::passwd", Origin::User, "/etc/passwd".to_owned(), 1),
        ("dep::f", Origin::Dependency, path("src/dependency.rs"), 7),
    ] {
        let function = b.function(name, "app", origin);
        let frame = b.frame(function, Some(&file), line);
        b.site(&[frame], ScopeId(0), figures(9, 100, 9));
    }
    let profile = b.build();
    let folders = [folder.path().to_owned()];
    let mut out = Vec::new();
    write_page(&profile, &options(Format::Html), Some(&folders), &mut out).expect("a page");
    let data = data(&String::from_utf8(out).expect("text"));
    let sources = data["sources"].as_object().expect("sources");
    let places: Vec<&String> = sources.keys().collect();
    assert_eq!(places.len(), 1, "{places:?}");
    assert!(places[0].ends_with("src/main.rs:7"), "{places:?}");
    let excerpt = &sources[places[0]];
    let at = 7 - excerpt["first"].as_u64().unwrap() as usize;
    assert_eq!(excerpt["lines"][at], "line 7");
    let cut = data["cut"][0].as_str().expect("a sentence");
    assert!(
        cut.starts_with("Source lines of 2 places are not in the page"),
        "{cut}"
    );
    // The row leads to the lines.
    let table = &data["tables"][0];
    let at = column(table, "source").expect("a column");
    let rows = table["rows"].as_array().unwrap().iter();
    let texts = data["texts"].as_array().unwrap();
    let mut shown = rows.map(|row| texts[row[at].as_u64().unwrap() as usize].as_str().unwrap());
    assert!(shown.any(|place| place == places[0]));
}

#[test]
fn a_page_by_a_measure_of_snapshots_begins_with_the_holders() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    for measure in Measure::OF_SNAPSHOTS {
        let options = ReportOptions {
            measure,
            ..options(Format::Html)
        };
        let mut out = Vec::new();
        write(&profile, Format::Html, &options, &mut out).expect("a page");
        let page = String::from_utf8(out).expect("text");
        let data = data(&page);
        let first = ["by", "table", "measure"].map(|key| data[key].as_str().unwrap().to_owned());
        assert_eq!(first, ["holder", "holder", measure.key()]);
        let title = data["title"].as_str().expect("a title");
        assert!(title.contains(&at.moment(&profile)), "{title}");
        // Readers without scripts get the report and the picture of the same figures.
        assert!(page.contains(&format!("Holders by {}", measure.title())));
        let whole = format!("all {}", Bytes(at.whole(measure)));
        assert!(page.contains(&whole), "{whole}");
    }
    let options = ReportOptions {
        measure: Measure::Retained,
        ..options(Format::Html)
    };
    let refused = write(&fixture::profile(), Format::Html, &options, io::sink());
    assert!(refused.unwrap_err().to_string().contains("no snapshot"));
}
