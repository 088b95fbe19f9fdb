//! Programs in other languages: who owns their blocks, and what a wrapper of an allocator is.

use heapglass_limits::Command;
use serde_json::Value;
use std::path::PathBuf;

use super::preload::compile;
use crate::common::Place;

/// Records the compiled program of a place, and returns the rows of a report with more arguments.
fn rows(place: &Place, more: &[&str]) -> Vec<Value> {
    let words = [&["report", "p.hg", "--json"], more].concat();
    let done = place.run(&words);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    report["rows"].as_array().expect("rows").clone()
}

/// Returns `what`, `where` and `owner` of the only row with so many bytes in total.
fn names(rows: &[Value], bytes: u64) -> [String; 3] {
    let found: Vec<&Value> = rows
        .iter()
        .filter(|row| row["total_bytes"] == bytes)
        .collect();
    let [row] = found.as_slice() else {
        panic!("{} rows of {bytes} bytes: {rows:?}", found.len());
    };
    ["what", "where", "owner"].map(|key| row[key].as_str().unwrap_or_default().to_owned())
}

/// `xmalloc` is known by name, `node` makes one allocation for four callers, `pair` and `both` make
/// two blocks for as many.
const WRAPPERS: &str = r#"
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
struct pair { char *a, *b; };
void *keep[9];
APART void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
APART void *node(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
APART char *fill(size_t n) { char *p = malloc(n); if (!p) abort(); return p; }
APART struct pair *pair(size_t n) {
    struct pair *p = malloc(16);
    p->a = malloc(n);
    p->b = p->a;
    return p;
}
static inline __attribute__((always_inline)) struct pair *both(size_t n) { struct pair *p = malloc(24); p->a = malloc(n); return p; }
APART void *config(void) { return xmalloc(10001); }
APART void *copied(void) { char text[20002]; memset(text, 'x', 20001); text[20001] = 0; return strdup(text); }
APART void *first(void) { char *a = node(30001); pair(41); keep[8] = both(60001); return a; }
APART void *second(void) { char *a = node(30002); pair(42); keep[8] = both(60002); return a; }
APART void *third(void) { char *a = node(30003); pair(43); keep[8] = both(60003); return a; }
APART void *fourth(void) { char *a = node(30004); pair(44); keep[8] = both(60004); return a; }
int main(void) {
    keep[0] = config(); keep[1] = copied(); keep[2] = first(); keep[3] = second();
    keep[4] = third(); keep[5] = fourth(); keep[6] = fill(50001);
    return 0;
}
"#;

#[test]
fn wrappers_of_allocators_own_nothing_and_constructors_do() {
    let place = Place::new();
    compile(
        &place,
        "cc",
        "w.c",
        WRAPPERS,
        &["-g", "-O1", "-fno-optimize-sibling-calls"],
    );
    let done = place.run(&["run", "-q", "-o", "p.hg", "--", "./program"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let found = rows(&place, &[]);
    assert_eq!(names(&found, 10001), ["xmalloc", "", "config"]);
    assert_eq!(names(&found, 20002)[2], "copied");
    assert!(names(&found, 20002)[1].contains("strdup"), "{found:?}");
    for (bytes, owner) in [
        (30001, "first"),
        (30002, "second"),
        (30003, "third"),
        (30004, "fourth"),
    ] {
        assert_eq!(names(&found, bytes), ["malloc", "node", owner]);
    }
    // Four calls: 16 and n bytes each, at two places.
    assert_eq!(names(&found, 64)[2], "pair");
    assert_eq!(names(&found, 41 + 42 + 43 + 44)[2], "pair");
    // Both blocks at one line, inlined into each of four callers.
    assert_eq!(
        names(&found, 4 * 24 + 60001 + 60002 + 60003 + 60004)[2],
        "both"
    );
    assert_eq!(names(&found, 50001)[2], "fill", "one caller is no reason");

    let named = rows(&place, &["--wrapper", "fi*l"]);
    assert_eq!(names(&named, 50001), ["malloc", "fill", "main"]);
    let own = rows(&place, &["--own", "node", "--own", "xmalloc"]);
    assert_eq!(names(&own, 30001 + 30002 + 30003 + 30004)[2], "node");
    assert_eq!(names(&own, 10001)[2], "xmalloc");

    let done = place.run(&["report", "p.hg", "--explain"]);
    let text = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("node (makes one allocation, for 4 callers)"),
        "{text}"
    );
    assert!(text.contains("xmalloc (known by name)"), "{text}");
    assert!(!text.contains("pair ("), "{text}");
    let done = place.run(&["report", "p.hg", "--wrapper", "absent"]);
    assert!(
        done.stderr.contains("--wrapper absent has no effect"),
        "{}",
        done.stderr
    );
}

/// The executable of Python itself, not a script that starts it. `None` without Python.
fn python() -> Option<PathBuf> {
    let mut python = Command::new("python3");
    let code = "import os, sys; print(os.path.realpath(sys.executable))";
    let done = python.args(["-c", code]).output().ok()?;
    let path = String::from_utf8(done.stdout).ok()?;
    done.status
        .success()
        .then(|| PathBuf::from(path.trim_end()))
}

#[test]
fn blocks_of_a_library_that_an_interpreter_runs_are_owned_by_the_library() {
    let Some(python) = python() else {
        println!("skipped: there is no python3");
        return;
    };
    let place = Place::new();
    // Not linked with Python: both functions of the interpreter are found at run time.
    let source = r#"
#include <stddef.h>
extern void *PyBytes_FromStringAndSize(const char *, ptrdiff_t) __attribute__((weak));
extern void *malloc(size_t);
static void *kept[100];
__attribute__((noinline)) void *scanner_words(int n) {
    for (int i = 0; i < n; i++) kept[i] = PyBytes_FromStringAndSize(0, 100000);
    return kept;
}
__attribute__((noinline)) void *scanner_table(int n) { return malloc(n * 1000); }
"#;
    compile(
        &place,
        "cc",
        "scanner.c",
        source,
        &["-g", "-O1", "-shared", "-fPIC"],
    );
    let script = "import ctypes\n\
                  library = ctypes.PyDLL('./program')\n\
                  library.scanner_words(30)\n\
                  library.scanner_table(5000)\n";
    std::fs::write(place.path("scan.py"), script).expect("written");
    let python = python.to_str().expect("text");
    let done = place.run(&["run", "-q", "-o", "p.hg", "--", python, "scan.py"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let owned = rows(&place, &["--by", "owner"]);
    let bytes = |owner: &str| {
        let mut rows = owned.iter();
        let row = rows.find(|row| row["key"] == owner);
        row.map_or(0, |row| row["total_bytes"].as_u64().expect("a number"))
    };
    let words = bytes("scanner_words");
    assert!(
        (3_000_000..3_100_000).contains(&words),
        "{words}: {owned:?}"
    );
    assert_eq!(bytes("scanner_table"), 5_000_000, "{owned:?}");
    let modules = rows(&place, &["--by", "module"]);
    let of_library = modules
        .iter()
        .find(|row| {
            let key = row["key"].as_str();
            key.is_some_and(|key| key.ends_with("/program"))
        })
        .expect("a row of the library");
    let bytes = of_library["total_bytes"].as_u64();
    assert_eq!(bytes, Some(words + 5_000_000), "{modules:?}");
}

#[test]
fn the_start_of_a_cpp_program_is_nothing_to_warn_about() {
    let place = Place::new();
    let source = "#include <string>\n#include <vector>\n\
                  __attribute__((noinline)) std::vector<std::string> made() {\n\
                  return std::vector<std::string>(100, std::string(500, 'x')); }\n\
                  int main() { return made().empty(); }";
    compile(&place, "c++", "quiet.cpp", source, &["-g", "-O1"]);
    let done = place.run(&["run", "-o", "p.hg", "--", "./program"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(!done.stderr.contains("  ! "), "{}", done.stderr);
    let report = place.run(&["report", "p.hg"]);
    for part in ["truncated", "without a name", "debug = ", "No symbols"] {
        assert!(!report.stdout.contains(part), "{part}: {}", report.stdout);
    }
    assert!(!report.stdout.contains("libstdc++"), "{}", report.stdout);
    let found = rows(&place, &["--by", "type"]);
    let bytes = |key: &str| {
        let row = found.iter().find(|row| row["key"] == key);
        row.map(|row| row["total_bytes"].as_u64().expect("a number"))
    };
    assert_eq!(bytes("std::vector<std::string>"), Some(3200), "{found:?}");
    assert_eq!(bytes("std::string"), Some(101 * 501), "{found:?}");
}

#[test]
fn a_script_that_only_starts_a_program_leaves_no_recording() {
    let place = Place::new();
    std::fs::write(place.path("script"), "#!/bin/sh\nexec ./program\n").expect("written");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path("script"), all).expect("permissions");
    let source = "#include <stdlib.h>\nint main(void) { return malloc(10000) == 0; }";
    compile(&place, "cc", "small.c", source, &["-g"]);
    let recordings = |flags: &[&str]| {
        let words = [
            &["run", "--force", "-o", "s.hg"],
            flags,
            &["--", "./script"],
        ]
        .concat();
        let done = place.run(&words);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let files = std::fs::read_dir(place.root()).expect("a folder").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".hg")).collect();
        names.sort();
        names
    };
    assert_eq!(recordings(&[]), ["s.hg"]);
    assert_eq!(place.report("s.hg")["program"], "program");
    assert_eq!(recordings(&["--children"]).len(), 2, "all are kept");
}

#[test]
fn an_allocator_whose_blocks_the_libraries_record_is_not_called_unseen() {
    let place = Place::new();
    let source = r#"
#include <stddef.h>
#include <string.h>
#include <stdio.h>
const char *text = "<jemalloc>: ";
static char room[4 << 20];
static size_t used;
void *malloc(size_t bytes) { used += (bytes + 31) & ~(size_t)15; return room + used - ((bytes + 31) & ~(size_t)15); }
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *block, size_t bytes) { void *new = malloc(bytes); return block ? memmove(new, block, bytes) : new; }
int main(void) { return puts(text) < 0; }
"#;
    compile(&place, "cc", "own.c", source, &["-O0", "-fno-builtin"]);
    let done = place.run(&["run", "-o", "p.hg", "--", "./program"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let said = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("has a malloc of its own"), "{said}");
    assert!(!said.contains("three lines"), "{said}");
}

#[test]
fn functions_of_a_script_own_blocks_if_names_are_asked_for() {
    let Ok(_) = Command::new("node").arg("--version").output() else {
        println!("skipped: there is no node");
        return;
    };
    let place = Place::new();
    let script = "function makeRows(n) {\n\
                  const rows = [];\n\
                  for (let i = 0; i < n; i++) rows.push(Buffer.alloc(50000));\n\
                  return rows;\n\
                  }\n\
                  console.log(makeRows(300).length);\n";
    std::fs::write(place.path("shop.js"), script).expect("written");
    let run = [
        "run",
        "-q",
        "--jit-names",
        "-o",
        "p.hg",
        "--",
        "node",
        "shop.js",
    ];
    let done = place.run(&run);
    assert_eq!(
        (done.status, done.stdout.as_str()),
        (Some(0), "300\n"),
        "{}",
        done.stderr
    );
    assert_eq!(done.stderr, "");
    let done = place.run(&["report", "p.hg", "--by", "owner", "--json"]);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let makes = rows.iter().find(|row| row["key"] == "makeRows");
    let bytes = makes.and_then(|row| row["total_bytes"].as_u64());
    assert!(bytes >= Some(15_000_000), "{bytes:?}: {rows:?}");
    let cut = report["lost"]["cut_stacks"].as_u64().expect("a number");
    let blocks = report["totals"]["total_blocks"].as_u64().expect("a number");
    assert!(cut * 50 < blocks, "{cut} of {blocks} stacks are truncated");
    let map = format!("/tmp/perf-{}.map", report["pid"]);
    assert!(!std::path::Path::new(&map).exists(), "{map}");
}

#[test]
fn a_program_without_generated_code_is_said_to_have_no_names() {
    let place = Place::new();
    let done = place.run(&["run", "-q", "--jit-names", "-o", "p.hg", "--", "ls"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(
        done.stderr
            .contains("--jit-names has no effect: no names of generated code were found"),
        "{}",
        done.stderr
    );
}
