//! `heapglass preload`: the library is in a file of the user's cache, and works from there.

use heapglass_limits::Command;
use std::fs;

use crate::common::{Done, HEAPGLASS, Place};

#[test]
fn the_library_is_written_once_and_records_a_program() {
    let place = Place::new();
    let cache = place.path("cache");
    let path = || {
        let mut command = place.heapglass(&["preload"]);
        let done = command
            .env("XDG_CACHE_HOME", &cache)
            .output()
            .expect("it runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).expect("text")
    };
    let first = path();
    let library = first.trim_end();
    assert!(
        library.starts_with(cache.to_str().expect("text")),
        "{library}"
    );
    assert_eq!(path(), first);
    assert_eq!(
        fs::read_dir(cache.join("heapglass"))
            .expect("a folder")
            .count(),
        1
    );

    let mut program = Command::new("ls");
    place.isolate(&mut program);
    let done = program
        .env("LD_PRELOAD", library)
        .env("HEAPGLASS_OUT", place.path("ls.hg"))
        .output()
        .expect("it runs");
    assert!(done.status.success());
    let report = place.report("ls.hg");
    assert!(
        report["total_blocks"]
            .as_u64()
            .or(report["totals"]["total_blocks"].as_u64())
            > Some(0)
    );
}

#[test]
fn a_home_that_cannot_be_written_to_is_no_obstacle() {
    let place = Place::new();
    fs::write(place.path("file"), "not a folder").expect("written");
    let mut command = place.heapglass(&["preload"]);
    command
        .env("XDG_CACHE_HOME", place.path("file"))
        .env("HOME", place.path("file"));
    let done = command
        .env("TMPDIR", place.root())
        .output()
        .expect("it runs");
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(
        printed.starts_with(place.root().to_str().expect("text")),
        "{printed}"
    );

    command.env("TMPDIR", place.path("file"));
    let done = command.output().expect("it runs");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("XDG_CACHE_HOME"), "{errors}");
}

/// Runs a command with the summary as JSON.
fn run_json(place: &Place, words: &[&str]) -> serde_json::Value {
    let done = place.run(&[&["run", "--json"], words].concat());
    serde_json::from_str(done.stderr.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {}", done.stderr))
}

/// Returns the programs of the recordings, and the one that the summary is about.
fn programs(said: &serde_json::Value) -> (Vec<&str>, &serde_json::Value) {
    let all = said["recordings"].as_array().expect("a list");
    let names = all
        .iter()
        .map(|one| one["program"].as_str().expect("text"))
        .collect();
    let mut main = all.iter().filter(|one| one["main"] == true);
    let found = main.next().expect("a main recording");
    assert!(main.next().is_none(), "{said}");
    (names, found)
}

#[test]
fn run_preloads_the_library_into_a_program_without_tracking_alloc_and_says_so() {
    let place = Place::new();
    let done = place.run(&["run", "-o", "ls.hg", "--", "ls", "-d", "/"]);
    assert_eq!(
        (done.status, done.stdout.as_str()),
        (Some(0), "/\n"),
        "{}",
        done.stderr
    );
    // The lines are wrapped.
    let words: Vec<&str> = done.stderr.split_whitespace().collect();
    let said = "records malloc and free of programs without tracking-alloc, by a preloaded library; --children";
    assert!(words.join(" ").contains(said), "{}", done.stderr);
    assert!(done.stderr.contains("ls.hg"), "{}", done.stderr);
    let report = place.report("ls.hg");
    assert!(report["totals"]["total_blocks"].as_u64() > Some(0));

    let done = place.run(&["run", "--no-preload", "--", "ls", "-d", "/"]);
    assert!(
        done.stderr.contains("nothing was recorded"),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains("  records  "), "{}", done.stderr);
}

#[test]
fn a_child_is_recorded_only_on_request_or_if_it_links_tracking_alloc() {
    let place = Place::new();
    let shell = ["--", "sh", "-c", "ls -d / > /dev/null; exit 3"];
    let sh = fs::canonicalize("/bin/sh").expect("a shell");
    let sh = sh.file_name().and_then(|name| name.to_str()).expect("text");
    let said = run_json(&place, &shell);
    assert_eq!(said["status"], 3);
    assert_eq!(programs(&said).0, [sh]);
    let all = [&["--children"], &shell[..]].concat();
    assert_eq!(programs(&run_json(&place, &all)).0, [sh, "ls"]);

    // The shell allocates less, but the summary would also be about the program if it did not.
    let target = format!("{HEAPGLASS} demo --target input.json; exit 0");
    for words in [
        &["-o", "one.hg", "--", "sh", "-c", &target][..],
        &["-o", "two.hg", "--children", "--", "sh", "-c", &target],
        &[
            "-o",
            "three.hg",
            "--preload",
            "--",
            "timeout",
            "60",
            "sh",
            "-c",
            &target,
        ],
    ] {
        let said = run_json(&place, words);
        let (names, main) = programs(&said);
        assert_eq!(
            (&main["program"], &main["preloaded"]),
            (&"heapglass".into(), &false.into()),
            "{said}"
        );
        // Never counted twice.
        let own = names.iter().filter(|name| **name == "heapglass");
        assert_eq!(own.count(), 1, "{said}");
        // The path that was asked for leads to the program, not to the shell.
        let path = main["path"].as_str().expect("a path");
        assert!(path.ends_with(words[1]), "{said}");
        assert_eq!(place.report(words[1])["program"], "heapglass");
    }
}

#[test]
fn what_a_wrapper_becomes_is_recorded_and_the_summary_is_about_it() {
    let place = Place::new();
    fs::write(place.path("script"), "#!/bin/sh\nexec sort input.json\n").expect("written");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path("script"), all).expect("permissions");
    for words in [
        &["env", "A=1", "sort", "input.json"][..],
        &["nice", "sort", "input.json"],
        &["sh", "-c", "exec sort input.json"],
        &["./script"],
    ] {
        let said = run_json(&place, &[&["--force", "-o", "s.hg", "--"], words].concat());
        let (names, main) = programs(&said);
        assert_eq!(names.last(), Some(&"sort"), "{said}");
        assert_eq!(main["program"], "sort", "{said}");
        assert!(
            main["path"]
                .as_str()
                .is_some_and(|path| path.ends_with("/s.hg")),
            "{said}"
        );
        // One process, several programs.
        let all = said["recordings"].as_array().expect("a list");
        assert!(all.iter().all(|one| one["pid"] == main["pid"]), "{said}");
    }
    // A program that links tracking-alloc records itself, as without a wrapper.
    for wrapper in [
        &["env", "A=1"][..],
        &["nice"],
        &["sh", "-c", "exec \"$0\" \"$@\""],
    ] {
        let target = [HEAPGLASS, "demo", "--target", "input.json"];
        let said = run_json(&place, &[&["--"], wrapper, &target].concat());
        let main = programs(&said).1;
        assert_eq!(main["program"], "heapglass", "{said}");
        assert_eq!(main["preloaded"], false, "{said}");
        let alone = run_json(&place, &[&["--"][..], &target].concat());
        assert_eq!(alone["recordings"].as_array().map(Vec::len), Some(1));
        let blocks = |said: &serde_json::Value| programs(said).1["totals"]["total_blocks"].clone();
        assert_eq!(blocks(&said), blocks(&alone));
    }
}

/// Records a command that becomes `ls -d .`, and checks its output.
fn run_ls(place: &Place, command: &[&str]) -> Done {
    let done = place.run(&[&["run", "--out", "a.hg", "--"], command].concat());
    assert_eq!(
        (done.status, done.stdout.as_str()),
        (Some(0), ".\n"),
        "{}",
        done.stderr
    );
    done
}

#[test]
fn the_summary_says_that_a_program_without_an_environment_is_not_recorded() {
    let place = Place::new();
    let done = run_ls(&place, &["env", "-i", "/bin/ls", "-d", "."]);
    for part in [
        "became another program, which is not recorded",
        "env .. heapglass run -- PROGRAM",
    ] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
    // The way that it says.
    let words = ["env", "-i", HEAPGLASS, "run", "--out"];
    let mut command = Command::new(words[0]);
    let command = command
        .args(&words[1..])
        .arg(place.path("b.hg"))
        .args(["--", "/bin/ls", "-d", "."]);
    let done = Done::from(command.current_dir(place.root()).output().unwrap());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(place.report("b.hg")["program"], "ls");
}

#[test]
fn the_summary_says_that_a_program_from_which_the_library_cannot_be_read_is_not_recorded() {
    let place = Place::new();
    // As after `chroot`, without its rights.
    let script = "rm .cache/heapglass/libheapglass_preload*; exec ls -d .";
    let done = run_ls(&place, &["sh", "-c", script]);
    for part in [
        "sh became another program, which is not recorded",
        "the preloaded library cannot be read",
    ] {
        let said: Vec<&str> = done.stderr.split_whitespace().collect();
        assert!(said.join(" ").contains(part), "{part}: {}", done.stderr);
    }
    assert!(!done.stderr.contains("ld.so"), "{}", done.stderr);
}

#[test]
fn cargo_run_leads_to_the_program_that_cargo_built() {
    let place = Place::new();
    fs::create_dir(place.path("src")).expect("a folder");
    let manifest = "[package]\nname = \"built\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(place.path("Cargo.toml"), manifest).expect("written");
    let source = "fn main() { println!(\"{}\", vec![1u8; 64 << 20].len()); }";
    fs::write(place.path("src/main.rs"), source).expect("written");
    let words = ["-o", "b.hg", "--", "cargo", "run", "-q", "--offline"];
    let said = run_json(&place, &words);
    let (_, main) = programs(&said);
    assert_eq!(main["program"], "built", "{said}");
    assert!(
        main["totals"]["peak_bytes"].as_u64() >= Some(64 << 20),
        "{said}"
    );
    assert!(
        main["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("/b.hg")),
        "{said}"
    );
}

#[test]
fn what_cannot_be_recorded_is_refused_before_it_runs_with_the_way_out() {
    let place = Place::new();
    let source = "#include <stdio.h>\nint main(void) { fclose(fopen(\"ran\", \"w\")); }";
    fs::write(place.path("program.c"), source).expect("written");
    let mut cc = Command::new("cc");
    let built = cc.args(["-static", "-o"]).arg(place.path("static"));
    let built = built
        .arg(place.path("program.c"))
        .status()
        .expect("a C compiler");
    assert!(built.success());
    for flags in [&[][..], &["--preload"], &["--children"]] {
        let done = place.run(&[&["run"], flags, &["-o", "none.hg", "--", "./static"]].concat());
        assert_eq!(done.status, Some(2), "{}", done.stderr);
        for part in ["linked statically", "add tracking-alloc", "--no-preload"] {
            assert!(done.stderr.contains(part), "no {part}: {}", done.stderr);
        }
        assert!(!place.path("ran").exists());
    }
    let done = place.run(&["run", "--no-preload", "--", "./static"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(place.path("ran").exists());
    for flag in ["--preload", "--children"] {
        let done = place.run(&["run", "--no-preload", flag, "--", "./static"]);
        assert_eq!(done.status, Some(2), "{}", done.stderr);
    }
}

#[test]
fn the_summary_says_what_a_preloaded_library_does_not_see() {
    let place = Place::new();
    let source = "#include <stdlib.h>\nconst char *text = \"<jemalloc>: \";\n\
                  int main(void) { return malloc(1000) == 0; }";
    fs::write(place.path("program.c"), source).expect("written");
    for name in ["inside", "python3"] {
        let mut cc = Command::new("cc");
        cc.args(["-O0", "-o"]).arg(place.path(name));
        let built = cc.arg(place.path("program.c")).status();
        assert!(built.expect("a C compiler").success());
    }
    // Also if a wrapper starts it.
    for wrapper in [&[][..], &["env"]] {
        let said = |name: &str, variable: Option<&str>| {
            let words = [&["run", "--"], wrapper, &[name]].concat();
            let mut command = place.heapglass(&words);
            command.env_remove("PYTHONMALLOC");
            command.envs(variable.map(|value| ("PYTHONMALLOC", value)));
            String::from_utf8(command.output().expect("it runs").stderr).expect("text")
        };
        let stderr = said("./inside", None);
        assert!(
            stderr.contains("contains jemalloc") && stderr.contains("three lines"),
            "{stderr}"
        );
        assert!(!stderr.contains("PYTHONMALLOC"), "{stderr}");
        let stderr = said("./python3", None);
        assert!(stderr.contains("PYTHONMALLOC=malloc"), "{stderr}");
        let stderr = said("./python3", Some("malloc"));
        assert!(!stderr.contains("PYTHONMALLOC"), "{stderr}");
    }
}

#[test]
fn blocks_of_c_and_cpp_are_owned_by_the_program_and_counted_by_image() {
    let place = Place::new();
    let source = "#include <cstdlib>\n#include <vector>\n\
                  struct Widget { std::vector<int> parts; Widget() : parts(100000) {} };\n\
                  __attribute__((noinline)) Widget *build() { return new Widget; }\n\
                  int main() { return build()->parts.size() == 7 || malloc(7000) == nullptr; }";
    fs::write(place.path("program.cpp"), source).expect("written");
    let mut compiler = Command::new("c++");
    compiler
        .args(["-g", "-O0", "-o"])
        .arg(place.path("program"));
    let built = compiler.arg(place.path("program.cpp")).status();
    assert!(built.expect("a C++ compiler").success());
    let done = place.run(&["run", "-q", "-o", "p.hg", "--", "./program"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);

    let report = place.report("p.hg");
    let rows = report["rows"].as_array().expect("rows");
    let row = |owner: &str, bytes: u64| {
        let mut rows = rows.iter();
        let found = rows.find(|row| row["owner"] == owner && row["total_bytes"] == bytes);
        found.unwrap_or_else(|| panic!("no {bytes} by {owner}: {report}"))
    };
    assert_eq!(row("Widget::Widget", 400_000)["what"], "std::vector<int>");
    assert_eq!(row("main", 7000)["what"], "malloc");
    assert!(
        rows.iter()
            .all(|row| row["owner"] != "operator new" && row["owner"] != "malloc")
    );
    let done = place.run(&["report", "p.hg", "--frames", "all", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    let frames = report["frames"].as_array().expect("frames");
    let language = |name: &str| {
        let mut frames = frames.iter();
        let frame = frames.find(|frame| frame["function"] == name);
        frame.map(|frame| frame["language"].clone())
    };
    assert_eq!(language("malloc"), Some("c".into()));
    assert_eq!(language("operator new(unsigned long)"), Some("c++".into()));

    let done = place.run(&["report", "p.hg", "--by", "module", "--json"]);
    let by_module: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    let modules = by_module["rows"].as_array().expect("rows");
    let bytes = |end: &str| {
        let of = modules
            .iter()
            .filter(|row| row["key"].as_str().is_some_and(|key| key.ends_with(end)));
        of.map(|row| row["total_bytes"].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(bytes("/program"), 400_000 + 7000 + 24, "{by_module}");
    assert_eq!(
        bytes(".so"),
        0,
        "nothing at the preloaded library: {by_module}"
    );
}

#[test]
fn no_export_ends_the_stacks_of_c_with_the_allocator() {
    let place = Place::new();
    let source = "#include <stdlib.h>\n\
                  __attribute__((noinline)) char *make(void) { return malloc(70000); }\n\
                  __attribute__((noinline)) char *zeroed(void) { return calloc(7, 10000); }\n\
                  int main(void) { char *a = make(), *b = zeroed(); return !a || !b; }";
    compile(&place, "cc", "made.c", source, &["-g", "-O0"]);
    let done = place.run(&["run", "-q", "-o", "made.hg", "--", "./program"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    for format in ["folded", "speedscope", "firefox", "dhat"] {
        let export = |frames: &str| {
            let done = place.run(&["export", "made.hg", "--to", format, "--frames", frames]);
            assert_eq!(done.status, Some(0), "{}", done.stderr);
            done.stdout
        };
        let trimmed = export("trimmed");
        assert!(trimmed.contains("zeroed"), "{format}: {trimmed}");
        assert!(!trimmed.contains("alloc\""), "{format}: {trimmed}");
        assert!(!trimmed.contains(";malloc"), "{format}: {trimmed}");
        assert!(export("all").contains("calloc"), "{format}");
    }
    let folded = place.run(&["export", "made.hg", "--to", "folded", "--measure", "total"]);
    let lines: Vec<&str> = folded.stdout.lines().collect();
    assert!(lines.contains(&"main;make 70000"), "{lines:?}");
    assert!(lines.contains(&"main;zeroed 70000"), "{lines:?}");
}

/// Compiles a program in the folder of a place.
pub(crate) fn compile(place: &Place, compiler: &str, file: &str, source: &str, flags: &[&str]) {
    fs::write(place.path(file), source).expect("written");
    let mut command = Command::new(compiler);
    let done = command
        .current_dir(place.root())
        .args(flags)
        .args(["-o", "program", file])
        .output()
        .expect("the compiler starts");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
}

#[test]
fn a_snapshot_of_a_rust_program_without_tracking_alloc_knows_its_lists() {
    const LISTS: u64 = 2000;
    let place = Place::new();
    let source = format!(
        "fn main() {{
            let mut lists: Vec<Vec<u64>> = Vec::with_capacity({LISTS});
            for number in 0..{LISTS} {{
                let mut list = Vec::with_capacity(64);
                list.push(number);
                lists.push(list);
            }}
            println!(\"{{}}\", lists.len());
        }}"
    );
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    compile(&place, &rustc, "program.rs", &source, &["-Cdebuginfo=1"]);
    let done = place.run(&[
        "run",
        "--snapshot=peak",
        "-o",
        "lists.hg",
        "--",
        "./program",
    ]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let done = place.run(&["advise", "lists.hg", "--json"]);
    let advice: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    let finding = &advice["findings"][0];
    assert_eq!(finding["kind"], "unused_capacity", "{advice:#}");
    assert_eq!(finding["saves_bytes"], LISTS * 63 * 8, "{advice:#}");
    assert_eq!(finding["type"], "Vec<u64>", "{advice:#}");
}

#[test]
fn a_snapshot_of_a_c_program_has_its_holders_and_sizes() {
    const NODES: u64 = 5000;
    let place = Place::new();
    let source = format!(
        "#include <stdlib.h>
        struct node {{ int number; char text[44]; }};
        struct node *nodes[{NODES}];
        int main(void) {{
            for (int number = 0; number < {NODES}; number++) {{
                nodes[number] = malloc(sizeof(struct node));
                nodes[number]->number = number;
            }}
            return 0;
        }}"
    );
    compile(&place, "cc", "program.c", &source, &["-g", "-O1"]);
    let done = place.run(&["run", "--snapshot=exit", "-o", "list.hg", "--", "./program"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let done = place.run(&["report", "list.hg", "--by", "holder", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["snapshot"]["basis"], "sizes", "{report:#}");
    let rows = report["rows"].as_array().expect("rows");
    let row = rows
        .iter()
        .find(|row| row["key"] == "statics of program")
        .unwrap_or_else(|| panic!("{report:#}"));
    // Old words of the stack may hold some nodes, too.
    let retained = row["retained_bytes"].as_u64().expect("a figure");
    assert!(
        retained > (NODES - 20) * 48 && retained <= NODES * 48,
        "{row:#}"
    );
    assert_eq!(row["unused_bytes"], serde_json::Value::Null, "{row:#}");
}
