//! Each program has a fault from a public bug report. The summary that `heapglass run` prints must
//! name the cause and the line to change, in 80 columns as in 120.

use heapglass_limits::Command;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A recorded run of one program.
struct Run {
    folder: tempfile::TempDir,
    recording: PathBuf,
    /// The output of `heapglass run` after the program's own output.
    summary: String,
}

impl Run {
    /// Records `program` with a summary of this many columns.
    fn new(program: &str, columns: u16) -> Run {
        Run::with(program, columns, &[])
    }

    /// Records `program` with snapshots of its peak and its end.
    fn with_snapshots(program: &str, columns: u16) -> Run {
        Run::with(program, columns, &["--snapshot=peak,exit"])
    }

    fn with(program: &str, columns: u16, flags: &[&str]) -> Run {
        Run::with_words(program, &[], columns, flags)
    }

    fn with_words(program: &str, words: &[&str], columns: u16, flags: &[&str]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("out.hg");
        let output = heapglass(&folder, columns)
            .arg("run")
            .args(flags)
            .arg("--out")
            .arg(&recording)
            .arg("--")
            .arg(program)
            .args(words)
            .env("RUST_BACKTRACE", "1")
            .output()
            .expect("heapglass starts");
        let summary = printed(output, |output| &output.stderr);
        Run {
            folder,
            recording,
            summary,
        }
    }

    /// Returns the report of the recording as JSON.
    fn report(&self, words: &[&str]) -> serde_json::Value {
        let output = heapglass(&self.folder, 80)
            .arg("report")
            .arg(&self.recording)
            .args(words)
            .arg("--json")
            .output()
            .expect("heapglass starts");
        let text = printed(output, |output| &output.stdout);
        serde_json::from_str(&text).expect("JSON")
    }

    /// Returns the findings of the recording as JSON.
    fn advice(&self) -> serde_json::Value {
        let output = heapglass(&self.folder, 80)
            .arg("advise")
            .arg(&self.recording)
            .arg("--json")
            .output()
            .expect("heapglass starts");
        let text = printed(output, |output| &output.stdout);
        serde_json::from_str(&text).expect("JSON")
    }

    /// Returns the lines of the largest row: its figures and its name, then its owner.
    fn first_row(&self) -> String {
        let mut lines = self.summary.lines();
        lines
            .find(|line| line.trim_start().starts_with("share"))
            .unwrap_or_else(|| panic!("no rows in\n{}", self.summary));
        let lines: Vec<&str> = lines.collect();
        let next = lines[1..].iter().position(|line| line.contains(" % "));
        lines[..next.map_or(lines.len(), |next| next + 1)].join("\n")
    }

    #[track_caller]
    fn first_row_says(&self, words: &[&str]) {
        let row = self.first_row();
        for word in words {
            assert!(
                row.contains(word),
                "{word:?} is not in\n{row}\nof\n{}",
                self.summary
            );
        }
    }
}

impl Run {
    /// Returns the findings in the summary, as one line.
    fn findings(&self) -> String {
        let lines = self.summary.lines();
        let lines = lines.skip_while(|line| !line.trim_start().starts_with("advice"));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        words.join(" ")
    }

    /// Checks the line about growth that was freed at the end.
    #[track_caller]
    fn grew_says(&self, words: &[&str]) {
        let mut lines = self.summary.lines();
        let line = lines
            .find(|line| line.trim_start().starts_with("grew"))
            .unwrap_or_else(|| panic!("nothing grew in\n{}", self.summary));
        let said = format!("{line} {}", lines.next().unwrap_or_default());
        for word in words {
            assert!(said.contains(word), "{word:?} is not in\n{}", self.summary);
        }
    }

    #[track_caller]
    fn findings_say(&self, words: &[&str]) {
        let findings = self.findings();
        for word in words {
            assert!(
                findings.contains(word),
                "{word:?} is not in\n{findings}\nof\n{}",
                self.summary
            );
        }
    }
}

fn heapglass(folder: &tempfile::TempDir, columns: u16) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_report_heapglass"));
    command
        .env("COLUMNS", columns.to_string())
        .env("NO_COLOR", "1")
        .env("XDG_CACHE_HOME", folder.path())
        .env("XDG_RUNTIME_DIR", folder.path());
    command
}

/// Returns the output of a command that must succeed.
#[track_caller]
fn printed(output: Output, stream: impl Fn(&Output) -> &Vec<u8>) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    assert!(
        output.status.success(),
        "{}: {}",
        output.status,
        text(&output.stderr)
    );
    text(stream(&output))
}

/// Returns the place, `FILE:LINE`, of the only line of this program that contains `text`.
fn line_of(program: &str, text: &str) -> String {
    let file = format!("{program}.rs");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(if program == "big_futures" {
            "big_futures/src"
        } else {
            "src/bin"
        })
        .join(&file);
    let source = std::fs::read_to_string(path).expect("the source");
    let lines = source.lines().enumerate();
    let mut found = lines.filter(|(_, line)| line.contains(text));
    let (index, _) = found.next().expect("a line with the text");
    assert!(found.next().is_none(), "{text:?} is in two lines of {file}");
    format!("{file}:{}", index + 1)
}

/// The widths of the summary that are tested.
const WIDTHS: [u16; 3] = [80, 100, 120];

#[test]
fn records_of_a_table_are_named_with_the_function_that_reads_them() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_csv_records"), columns);
        run.first_row_says(&[
            "ByteRecordInner",
            "csv_records::load",
            &line_of("csv_records", "r.records().map("),
        ]);
    }
}

#[test]
fn a_buffer_that_is_never_cleared_is_named_with_the_function_that_reads_events() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_xml_buf"), columns);
        run.first_row_says(&["Vec<u8>", "xml_buf::titles", "xml_buf.rs:"]);
    }
}

#[test]
fn backtraces_of_stored_errors_are_named_with_the_line_that_made_the_error() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_error_traces"), columns);
        run.first_row_says(&[
            "BacktraceFrame",
            "error_traces::check",
            &line_of("error_traces", "bail!("),
        ]);
        assert!(!run.summary.contains("panic"), "{}", run.summary);
    }
}

#[test]
fn symbols_that_a_backtrace_takes_are_named_with_the_line_that_prints_it() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_printed_trace"), columns);
        run.first_row_says(&[
            "printed_trace::report",
            &line_of("printed_trace", "format!(\"{error:?}\")"),
        ]);
        for word in ["panic", "gimli", "Abbreviations", "debug ="] {
            assert!(!run.summary.contains(word), "{word}:\n{}", run.summary);
        }
    }
}

#[test]
fn caches_of_a_regex_are_named_with_the_search_and_by_thread() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_regex_threads"), columns);
        let text = run.summary.split_whitespace().collect::<String>();
        assert!(text.contains("find_iter"), "{}", run.summary);
        assert!(text.contains("regex_threads::scan"), "{}", run.summary);
    }
}

#[test]
fn scratch_buffers_of_numbered_threads_are_one_row() {
    let run = Run::new(env!("CARGO_BIN_EXE_thread_scratch"), 80);
    run.first_row_says(&[
        "Vec<u8>",
        "thread_scratch::render",
        &line_of("thread_scratch", "s.resize(size, 1)"),
    ]);
    let report = run.report(&["--by", "thread"]);
    let rows = report["rows"].as_array().expect("rows");
    let workers = rows
        .iter()
        .filter(|row| row.to_string().contains("worker-"));
    assert_eq!(workers.count(), 1, "{report:#}");
}

#[test]
fn no_thread_has_more_than_the_program_where_another_one_frees_its_blocks() {
    let run = Run::new(env!("CARGO_BIN_EXE_thread_hand_over"), 80);
    let report = run.report(&["--by", "thread"]);
    let rows = report["rows"].as_array().expect("rows");
    assert!(!rows.is_empty());
    for key in ["peak_bytes", "live_bytes"] {
        let most = report["totals"][key].as_u64().expect("a figure");
        for row in rows {
            if let Some(bytes) = row[key].as_u64() {
                assert!(bytes <= most, "{key} of {row:#} is above {most}");
            }
        }
    }
}

#[test]
fn capacity_that_is_reserved_for_what_never_comes_is_named_with_the_line_that_reserves_it() {
    for columns in WIDTHS {
        let run = Run::with_snapshots(env!("CARGO_BIN_EXE_fat_capacity"), columns);
        run.findings_say(&[
            "MiB at the peak: unused_capacity",
            &line_of("fat_capacity", "Vec::with_capacity(128)"),
            "98.8 % of",
            "of Vec<Op> is unused capacity that shrinking saves",
        ]);
    }
}

#[test]
fn maps_of_one_entry_are_named_with_what_they_take() {
    let run = Run::with_snapshots(env!("CARGO_BIN_EXE_small_maps"), 80);
    run.findings_say(&[
        "MiB at the peak: small_map",
        &line_of("small_maps", "e.index.insert("),
        "maps have at most 8 entries, 100.0 % of them 1.",
        "Each takes 212 B of HashMap<u64, [u8; 40]> on average, 22.6 % of it for entries.",
    ]);
}

#[test]
fn buffers_that_a_slice_keeps_are_named_with_the_part_that_is_referenced() {
    let run = Run::with_snapshots(env!("CARGO_BIN_EXE_bytes_view"), 80);
    run.findings_say(&[
        "held_by_small_part",
        &line_of("bytes_view", "BytesMut::with_capacity(32 * 1024)"),
        "Only <0.1 % of",
        "of Vec<u8> is referenced",
    ]);
    let advice = run.advice();
    let findings = advice["findings"].as_array().expect("findings");
    let finding = &findings[0];
    assert_eq!(finding["kind"], "held_by_small_part", "{advice:#}");
    let holder = finding["holder"].as_str().expect("a holder");
    assert!(
        holder.starts_with("HashMap<Bytes, u32> of bytes_view::index"),
        "{holder}"
    );
}

#[test]
fn trees_of_values_are_named_with_their_equal_keys() {
    for columns in WIDTHS {
        let run = Run::with_snapshots(env!("CARGO_BIN_EXE_value_rows"), columns);
        run.findings_say(&[
            "MiB at the peak: value_tree",
            &line_of("value_rows", "serde_json::from_str(text)"),
            "of the keys equalled another one",
        ]);
    }
}

#[test]
fn texts_that_could_borrow_are_named_with_the_input_that_they_lie_in() {
    let run = Run::with_snapshots(env!("CARGO_BIN_EXE_cow_owned"), 80);
    run.findings_say(&[
        "MiB at the peak: could_borrow",
        &line_of("cow_owned", "serde_json::from_str(text)"),
        "texts lie word for word in a text that is live",
    ]);
    let advice = run.advice();
    let findings = advice["findings"].as_array().expect("findings");
    let remedies = findings
        .iter()
        .filter(|finding| finding["kind"] == "could_borrow");
    for finding in remedies {
        assert_eq!(finding["where"], "Line::deserialize");
        let remedy = finding["remedy"].as_str().expect("a remedy");
        assert!(remedy.contains("#[serde(borrow)]"), "{finding:#}");
    }
}

#[test]
fn blocks_of_drained_channels_are_named_with_the_send_that_made_them() {
    let run = Run::new(env!("CARGO_BIN_EXE_many_channels"), 80);
    run.first_row_says(&[
        "tokio::Block::new",
        "UnboundedSender::send",
        "many_channels::backlog",
    ]);
    assert!(run.summary.contains("Chan<[u8; 256]"), "{}", run.summary);
}

#[test]
fn large_futures_are_named_with_the_local_that_makes_them_large() {
    let program = env!("CARGO_BIN_EXE_large_tasks");
    let before = Run::with_snapshots(program, 80);
    before.first_row_says(&["handle::{{closure}}", "tokio::spawn", "big_futures::serve"]);
    before.findings_say(&[
        "MiB at the peak: large_future",
        &line_of("big_futures", "let m = read_frame(n).await;"),
        "`parse_upload` holds `scratch` of 12.0 KiB across an await",
    ]);
    let findings = |run: &Run| {
        let advice = run.advice();
        let findings = advice["findings"].as_array().expect("findings").clone();
        let of_kind = findings
            .into_iter()
            .filter(|finding| finding["kind"] == "large_future");
        of_kind.collect::<Vec<_>>()
    };
    let [finding] = &findings(&before)[..] else {
        panic!("{:#}", before.advice());
    };
    assert_eq!(finding["owner"], "big_futures::parse_upload", "{finding:#}");

    // Of each task. The snapshot has only some of them.
    let after = Run::with_words(program, &["remedy"], 80, &["--snapshot=peak,exit"]);
    assert_eq!(findings(&after), Vec::<serde_json::Value>::new());
    let figure = |value: &serde_json::Value| value.as_u64().expect("a figure");
    let blocks = figure(&finding["evidence"]["blocks"]);
    let predicted = figure(&finding["saves_bytes"]) / blocks;
    let peak = |run: &Run| figure(&run.report(&[])["totals"]["peak_bytes"]);
    let saved = (peak(&before) - peak(&after)) / 4000;
    assert!(
        predicted.abs_diff(saved) <= saved / 100,
        "{predicted} and {saved} bytes of each task"
    );
}

#[test]
fn tasks_that_nobody_joins_are_named_with_the_line_that_spawns_them_and_grow() {
    for columns in WIDTHS {
        let program = env!("CARGO_BIN_EXE_finished_tasks");
        let run = Run::with_words(program, &["150000"], columns, &[]);
        let line = line_of("finished_tasks", "set.spawn(request(number))");
        for word in ["Cell<request::{{closure}}", "finished_tasks::serve", &line] {
            assert!(run.summary.contains(word), "{word}:\n{}", run.summary);
        }
        // All is freed when the program stops.
        run.grew_says(&["until", "then freed"]);
        assert!(!run.summary.contains("no leak"), "{}", run.summary);
    }
}

#[test]
fn closed_spans_of_a_registry_are_named_with_the_line_that_makes_them() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_span_registry"), columns);
        let line = line_of("span_registry", "let span: Span = info_span!(");
        run.first_row_says(&["Slot<DataInner", "span_registry::request", &line]);
    }
}

#[test]
fn memory_that_threads_left_in_their_arenas_is_told_apart_from_live_bytes() {
    let program = env!("CARGO_BIN_EXE_thread_arenas");
    let said = |run: &Run| -> String {
        let words: Vec<&str> = run.summary.split_whitespace().collect();
        words.join(" ")
    };
    let plain = Run::new(program, 80);
    for words in [
        "kept by the allocator",
        "mostly freed memory that the allocator keeps, no leak; --snapshot shows whether few blocks pin it",
    ] {
        assert!(said(&plain).contains(words), "{words}:\n{}", plain.summary);
    }
    let held = Run::with_snapshots(program, 80);
    assert!(
        said(&held).contains("few blocks pin") && said(&held).contains("malloc_trim"),
        "{}",
        held.summary
    );
    let report = plain.report(&[]);
    assert_eq!(report["mostly_not_live"], "kept");
}

#[test]
fn the_table_of_an_evicted_cache_is_told_as_what_stays() {
    for columns in WIDTHS {
        let run = Run::with_snapshots(env!("CARGO_BIN_EXE_evicted"), columns);
        run.findings_say(&[
            "MiB of live bytes: unused_capacity",
            &line_of("evicted", "cache.insert("),
            ">99.9 % of",
            "of HashMap<u64, String> is unused capacity that shrinking saves",
        ]);
    }
}

#[test]
fn blocks_that_pin_nearly_all_pages_are_named() {
    let run = Run::with_snapshots(env!("CARGO_BIN_EXE_pinned"), 80);
    run.findings_say(&[
        "MiB of resident memory: pinned_pages",
        &line_of("pinned", "Box::new([i as u8; 100])"),
    ]);
}

#[test]
fn a_list_that_is_being_filled_is_neither_empty_nor_unused_nor_lost() {
    for program in [
        env!("CARGO_BIN_EXE_midcollect"),
        env!("CARGO_BIN_EXE_collect"),
    ] {
        let run = Run::with_snapshots(program, 80);
        for wrong in [
            "held nothing",
            "empty_container",
            "unreachable",
            "growing",
            "Vec<Row> is",
        ] {
            assert!(!run.summary.contains(wrong), "{wrong}:\n{}", run.summary);
        }
    }
}

#[test]
fn a_load_that_ends_is_no_leak() {
    for flags in [&[][..], &["--snapshot"]] {
        let run = Run::with(env!("CARGO_BIN_EXE_load_then_free"), 80, flags);
        assert!(!run.summary.contains("growing"), "{}", run.summary);
        assert!(!run.summary.contains("saves"), "{}", run.summary);
    }
}

#[test]
fn labels_that_are_never_dropped_grow_with_the_line_that_makes_them() {
    for flags in [&[][..], &["--snapshot"]] {
        let run = Run::with(env!("CARGO_BIN_EXE_metric_labels"), 80, flags);
        run.grew_says(&[&line_of("metric_labels", ".get_or_create(&Labels {")]);
    }
}

#[test]
fn results_of_steps_that_live_to_the_end_are_named_as_input_and_as_equal() {
    let run = Run::with_snapshots(env!("CARGO_BIN_EXE_import_steps"), 80);
    let advice = run.advice();
    let findings = advice["findings"].as_array().expect("findings");
    let kinds: Vec<&str> = findings
        .iter()
        .filter_map(|of| of["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"input_kept"), "{kinds:?}");
    run.first_row_says(&["import_steps::"]);
}

#[test]
fn a_compressor_of_each_connection_is_named_with_the_function_that_opens_it() {
    for columns in WIDTHS {
        let run = Run::new(env!("CARGO_BIN_EXE_deflate_each"), columns);
        run.first_row_says(&["deflate_each::open"]);
    }
}

#[test]
fn what_a_forgotten_lease_shares_is_named_as_not_reached() {
    let run = Run::with_snapshots(env!("CARGO_BIN_EXE_lease_forgotten"), 80);
    run.findings_say(&[
        "unreachable",
        &line_of("lease_forgotten", "Arc::new(Budget {"),
    ]);
}

#[test]
fn read_buffers_of_idle_connections_are_named_with_what_they_do_not_use() {
    let flags = ["--snapshot"];
    let run = Run::with(env!("CARGO_BIN_EXE_ws_idle"), 80, &flags);
    run.findings_say(&["unused_capacity", "ws_idle"]);
}

#[test]
fn buffers_of_the_largest_message_are_named_with_the_connection() {
    let run = Run::new(env!("CARGO_BIN_EXE_peak_buffers"), 80);
    run.first_row_says(&["BytesMut::reserve", "peak_buffers::run"]);
}

#[test]
fn the_table_of_the_guide_has_a_row_for_each_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("../../docs/src/reports.md")).expect("the page");
    for file in std::fs::read_dir(root.join("src/bin")).expect("the programs") {
        let file = file.expect("a file").path();
        let program = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("a name");
        let is_there = program == "report_heapglass" || table.contains(&format!("\n| {program} |"));
        assert!(is_there, "{program} is not in the table");
    }
}
