//! The library in real processes: small programs in C and C++, and the tools of the system.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "preload/attached.rs"]
mod attached;
#[path = "preload/linked.rs"]
mod linked;
#[path = "preload/operators.rs"]
mod operators;
#[path = "preload/quiet.rs"]
mod quiet;
#[path = "preload/survival.rs"]
mod survival;

use heapglass_limits::Command;
use heapglass_profiler::OpenOptions;
use heapglass_profiler::profile::{Figures, Profile};
use heapglass_profiler::report::{self, ReportOptions};
use heapglass_profiler::table::By;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

/// Returns the path of the library.
fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let bytes = heapglass_preload::LIBRARY.unwrap_or_else(|why| panic!("no library: {why}"));
        let folder = folder().join("library");
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("libheapglass_preload.so");
        std::fs::write(&path, bytes).expect("the library is written");
        path
    })
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn source(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    programs.join(name)
}

/// Compiles a program or library into `output`.
fn compile(name: &str, output: &str, flags: &[&str]) -> PathBuf {
    let built = folder().join(output);
    std::fs::create_dir_all(built.parent().expect("a parent")).expect("a folder");
    let compiler = if name.ends_with("cpp") { "c++" } else { "cc" };
    let output = Command::new(compiler)
        .args(["-g", "-O1", "-fno-builtin", "-w", "-o"])
        .arg(&built)
        .arg(source(name))
        .args(flags)
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", text(&output.stderr));
    built
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a command without variables of heapglass.
fn command(program: impl Into<OsString>, words: &[&str]) -> Command {
    let mut command = Command::new(program.into());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HEAPGLASS_") {
            command.env_remove(name);
        }
    }
    command.env_remove("LD_PRELOAD").args(words);
    command
}

/// A finished run with the library.
struct Run {
    output: Output,
    folder: tempfile::TempDir,
}

impl Run {
    /// Returns the recordings.
    fn recordings(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder");
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        paths
    }

    /// Returns the only recording.
    fn profile(&self) -> Profile {
        let recordings = self.recordings();
        assert_eq!(
            recordings.len(),
            1,
            "{recordings:?} {}",
            text(&self.output.stderr)
        );
        open(&recordings[0])
    }

    fn figures(&self) -> Figures {
        self.profile().totals().clone()
    }

    fn printed(&self) -> String {
        text(&self.output.stdout)
    }
}

fn open(path: &Path) -> Profile {
    heapglass_profiler::open(path, &OpenOptions::default(), &|_| ())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a command with the library. It must succeed.
fn record(command: &mut Command) -> Run {
    record_with(library().as_os_str().to_owned(), command)
}

fn record_with(preload: OsString, command: &mut Command) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command
        .env("LD_PRELOAD", preload)
        .env("HEAPGLASS_OUT", folder.path().join("out.hg"))
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    Run { output, folder }
}

/// Returns the inclusive figure of a function in the report.
fn of_function(profile: &Profile, function: &str, figure: &str) -> Option<u64> {
    let options = ReportOptions {
        by: By::Function,
        top: Some(usize::MAX),
        ..ReportOptions::default()
    };
    let mut json = Vec::new();
    report::write_json(profile, &options, &mut json).expect("JSON");
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["key"] == function)?;
    row["inclusive"][figure].as_u64()
}

#[test]
fn the_allocator_behaves_as_glibc_does() {
    let program = compile("behaviour.c", "behaviour", &[]);
    let without = command(&program, &[]).output().expect("it runs");
    let run = record(&mut command(&program, &[]));
    assert_eq!(run.printed(), text(&without.stdout));
    assert!(
        run.printed()
            .contains("reallocarray overflow: null aligned -1 usable 0 errno 12")
    );
    assert!(run.figures().total_blocks > 60);
}

#[test]
fn totals_are_those_of_arithmetic() {
    let program = compile("arithmetic.c", "arithmetic", &[]);
    let none = record(&mut command(&program, &["0"])).figures();
    let some = record(&mut command(&program, &["1000"])).figures();
    // Seven requests of a round besides the first, and an aligned one.
    let others = 21 + 30 + 40 + 64 + 60 + 70 + 80 + 90;
    assert_eq!(some.total_blocks - none.total_blocks, 1000 * (9 + 2 + 1));
    assert_eq!(
        some.total_bytes - none.total_bytes,
        1000 * (10 + others + 1000 + 5 + 11)
    );
    assert_eq!(some.live_blocks - none.live_blocks, 1000);
    assert_eq!(some.live_bytes - none.live_bytes, 1000 * 5);
    // In the last round, 999 blocks of 5 bytes live, and one of 1,000.
    assert_eq!(some.peak_bytes - none.live_bytes, 999 * 5 + 1000);
    assert_eq!(
        (some.grows, some.shrinks),
        (none.grows + 1000, none.shrinks + 1000)
    );
}

#[test]
fn samples_have_the_exact_bytes_in_total_and_intervals_that_hold() {
    let program = compile("arithmetic.c", "arithmetic_sampled", &[]);
    let exact = record(&mut command(&program, &["20000"])).figures();
    let mut sampled = command(&program, &["20000"]);
    sampled
        .env("HEAPGLASS_MODE", "sample")
        .env("HEAPGLASS_SAMPLE_BYTES", "4096")
        .env("HEAPGLASS_SEED", "1");
    let profile = record(&mut sampled).profile();
    let mut json = Vec::new();
    report::write_json(&profile, &ReportOptions::default(), &mut json).expect("JSON");
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(
        (&report["exact"], &report["mode"], &report["sample_bytes"]),
        (&false.into(), &"sample".into(), &4096.into())
    );
    let totals = &report["totals"];
    assert_eq!(totals["total_bytes"], exact.total_bytes);
    let end = |figure: &str, end: &str| totals[format!("{figure}_{end}")].as_u64();
    // How many small blocks were missed is not known.
    let (low, high) = (end("total_blocks", "low"), end("total_blocks", "high"));
    let low = low.expect("a lower end");
    assert!((1..=exact.total_blocks).contains(&low), "{low} blocks");
    assert_eq!(high, None);
    let [low, high] = ["low", "high"].map(|which| end("live_bytes", which).expect("an end"));
    assert!(
        low > 0 && (low..=high).contains(&exact.live_bytes) && high < 2 * exact.live_bytes,
        "{low}..={high}, {}",
        exact.live_bytes
    );
    // Stacks have the functions of the program. `main` allocates all but what libc does.
    let main = of_function(&profile, "main", "total_bytes").expect("a row");
    assert!(
        main.abs_diff(exact.total_bytes) < exact.total_bytes / 10,
        "{main}"
    );
}

/// Returns a number of DHAT's output: the first after `name`.
fn number_of(output: &str, name: &str, place: usize) -> u64 {
    let line = output.lines().find(|line| line.contains(name)).expect(name);
    let after = line.split(name).nth(1).expect(name);
    let words = after
        .split_whitespace()
        .filter_map(|word| word.replace(',', "").parse().ok());
    words.into_iter().nth(place).expect("a number")
}

/// Says that a test, or a part of it, cannot run here.
fn skipped(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}

const SQL: &str = "with recursive c(x) as (select 1 union all select x+1 from c where x<20000) \
                   select count(*), sum(x), max(printf('%d', x)) from c";

/// Runs a command under DHAT. Returns bytes and blocks in total and at the peak, or the reason why
/// there are none.
fn dhat(program: &Command) -> Result<[u64; 4], String> {
    let mut dhat = command("valgrind", &["--tool=dhat", "--dhat-out-file=/dev/null"]);
    dhat.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => dhat.env(name, value),
            None => dhat.env_remove(name),
        };
    }
    let output = dhat
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let printed = text(&output.stderr);
    if !output.status.success() || !printed.contains("t-gmax") {
        let reason = printed
            .lines()
            .find(|line| {
                line.starts_with("**") || line.starts_with("valgrind:") || line.contains("fatal")
            })
            .map_or_else(|| output.status.to_string(), str::to_owned);
        return Err(format!("{program:?} under valgrind: {reason}"));
    }
    let total = [0, 1].map(|place| number_of(&printed, "Total:", place));
    let peak = [0, 1].map(|place| number_of(&printed, "At t-gmax:", place));
    Ok([total[0], total[1], peak[0], peak[1]])
}

fn of_recording(figures: &Figures) -> [u64; 4] {
    [
        figures.total_bytes,
        figures.total_blocks,
        figures.peak_bytes,
        figures.peak_blocks,
    ]
}

#[test]
fn totals_are_those_of_dhat() {
    let arithmetic = compile(
        "arithmetic.c",
        "arithmetic_for_dhat",
        &["-DWITHOUT_PVALLOC"],
    );
    let mixed = compile("mixed.cpp", "mixed_for_dhat", &["-fomit-frame-pointer"]);
    for mut program in [
        command(&arithmetic, &["500"]),
        command(&mixed, &[]),
        command(example("untracked"), &[]),
        command("sqlite3", &["-init", "/dev/null", ":memory:", SQL]),
        command("ls", &["-la", "/usr/bin"]),
    ] {
        let dhat = match dhat(&program) {
            Ok(dhat) => dhat,
            Err(reason) => {
                skipped("totals_are_those_of_dhat", &reason);
                continue;
            }
        };
        let own = of_recording(&record(&mut program).figures());
        assert_eq!(own, dhat, "{program:?}");
    }
}

/// The figures of these programs depend a little on addresses and on times.
#[test]
fn totals_of_large_programs_are_those_of_dhat_within_a_hundredth() {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let python = "import json; x = [{'a': str(i)} for i in range(3000)]; print(len(json.dumps(x)))";
    // The program of that name may be a script that looks for the interpreter.
    let found = command("python3", &["-c", "import sys; print(sys.executable)"]).output();
    let interpreter = found.map_or(String::new(), |output| text(&output.stdout));
    for mut program in [
        command(interpreter.trim(), &["-S", "-c", python]),
        command("git", &["-C", manifest, "log", "--stat", "-n", "20"]),
        command("rg", &["-j1", "allocator", manifest]),
    ] {
        program
            .env("PYTHONHASHSEED", "1")
            .env("PYTHONMALLOC", "malloc")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let dhat = match dhat(&program) {
            Ok(dhat) => dhat,
            Err(reason) => {
                skipped(
                    "totals_of_large_programs_are_those_of_dhat_within_a_hundredth",
                    &reason,
                );
                continue;
            }
        };
        let run = record(&mut program);
        let own = of_recording(&run.figures());
        for (own, dhat) in own.into_iter().zip(dhat) {
            assert!(
                own.abs_diff(dhat) <= dhat / 100,
                "{program:?}: {own} instead of {dhat}"
            );
        }
    }
}

/// Runs a command under heaptrack. Returns blocks in total and bytes at the peak.
fn heaptrack(program: &Command) -> Option<[u64; 2]> {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let run = command("heaptrack", &["-o"])
        .arg(&data)
        .arg(program.get_program())
        .args(program.get_args())
        .output();
    run.ok().filter(|output| output.status.success())?;
    let data = ["zst", "gz"]
        .map(|end| data.with_extension(end))
        .into_iter()
        .find(|path| path.is_file())?;
    let costs = ["allocations", "peak"].map(|cost| {
        let lines = folder.path().join(cost);
        command("heaptrack_print", &["-p0", "-a0", "-T0", "-n0", "-f"])
            .arg(&data)
            .arg("-F")
            .arg(&lines)
            .args(["--flamegraph-cost-type", cost])
            .output()
            .ok()?;
        let lines = std::fs::read_to_string(lines).ok()?;
        let cost = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
        Some(lines.lines().filter_map(cost).sum())
    });
    Some([costs[0]?, costs[1]?])
}

#[test]
fn totals_are_those_of_heaptrack() {
    let simple = compile("resources.c", "resources_for_heaptrack", &[]);
    let mixed = compile(
        "mixed.cpp",
        "mixed_for_heaptrack",
        &["-fomit-frame-pointer"],
    );
    // heaptrack needs the C++ library, which takes a block at its start that stays: in a program
    // without that library, it is heaptrack's.
    let Some(pool) = heaptrack(&command("/bin/true", &[])) else {
        skipped(
            "totals_are_those_of_heaptrack",
            "heaptrack is not installed",
        );
        return;
    };
    let own_of_true = record(&mut command("/bin/true", &[])).figures();
    let pool = [
        pool[0] - own_of_true.total_blocks,
        pool[1] - own_of_true.peak_bytes,
    ];
    for (mut program, pool) in [
        (command(&simple, &[]), pool),
        (command(&mixed, &[]), [0, 0]),
        (command(example("untracked"), &[]), pool),
        (
            command("sqlite3", &["-init", "/dev/null", ":memory:", SQL]),
            pool,
        ),
    ] {
        let Some(heaptrack) = heaptrack(&program) else {
            skipped(
                "totals_are_those_of_heaptrack",
                &format!("{:?} is not installed", program.get_program()),
            );
            continue;
        };
        let own = record(&mut program).figures();
        assert_eq!(
            [own.total_blocks + pool[0], own.peak_bytes + pool[1]],
            heaptrack,
            "{program:?}"
        );
    }
}

#[test]
fn rows_of_node_add_up_and_its_output_stays() {
    let script = "const m = new Map(); for (let i = 0; i < 1e5; i++) m.set('k' + i, {i}); \
                  console.log(m.size, Buffer.alloc(1e6).length)";
    let mut node = command("node", &["-e", script]);
    let Ok(without) = node.output() else {
        skipped(
            "rows_of_node_add_up_and_its_output_stays",
            "node is not installed",
        );
        return;
    };
    let run = record(&mut node);
    assert_eq!(run.output.stdout, without.stdout);
    assert_eq!(text(&run.output.stderr), text(&without.stderr));
    let profile = run.profile();
    let mut json = Vec::new();
    let options = ReportOptions {
        top: Some(usize::MAX),
        ..ReportOptions::default()
    };
    report::write_json(&profile, &options, &mut json).expect("JSON");
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let sum = |figure: &str| -> u64 { rows.iter().filter_map(|row| row[figure].as_u64()).sum() };
    let totals = profile.totals();
    assert_eq!(sum("total_bytes"), totals.total_bytes);
    assert_eq!(sum("total_blocks"), totals.total_blocks);
    assert_eq!(sum("peak_bytes"), totals.peak_bytes);
}

#[test]
fn allocators_of_the_system_work_behind_the_library() {
    // C, because jemalloc has its own `operator new`.
    let program = compile("resources.c", "resources_over_others", &[]);
    let own = record(&mut command(&program, &[])).figures();
    for name in ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc.so.4"] {
        let folder = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let allocator = Path::new(&folder).join(name);
        if !allocator.exists() {
            skipped(
                "allocators_of_the_system_work_behind_the_library",
                &format!("{name} is not installed"),
            );
            continue;
        }
        let mut preload = library().as_os_str().to_owned();
        preload.push(":");
        preload.push(&allocator);
        let other = record_with(preload, &mut command(&program, &[])).figures();
        // They need the C++ library and others, which take some blocks at their start, and so does
        // the loader for them.
        assert!(
            other.total_blocks - own.total_blocks <= 10,
            "{name}: {other:?}"
        );
        assert!(
            other.live_blocks - own.live_blocks <= 10,
            "{name}: {other:?}"
        );
    }
}

#[test]
fn short_threads_are_counted_to_the_end_of_their_destructors() {
    let program = compile("threads.c", "threads", &["-pthread"]);
    let none = record(&mut command(&program, &["0"])).figures();
    let some = record(&mut command(&program, &["40"])).figures();
    let blocks = 1000 * 20 * 3;
    let bytes = 1000 * 20 * (100 + 50 + 20);
    // Threads need a few blocks of their own, and how many depends on which of them live at once.
    let close = |number: u64, wanted: u64| number.abs_diff(wanted) <= wanted / 100;
    assert!(
        close(some.total_blocks - none.total_blocks, blocks),
        "{some:?} {none:?}"
    );
    assert!(
        close(some.total_bytes - none.total_bytes, bytes),
        "{some:?} {none:?}"
    );
    assert!(
        some.live_blocks.abs_diff(none.live_blocks) < 20,
        "{some:?} {none:?}"
    );
}

#[test]
fn children_are_not_recorded_unless_wanted() {
    let program = compile("processes.c", "processes", &[]);
    let without = command(&program, &[]).output().expect("it runs");
    let run = record(&mut command(&program, &[]));
    assert_eq!(run.printed(), text(&without.stdout));
    assert_eq!(run.recordings().len(), 1);

    let run = record(command(&program, &[]).env("HEAPGLASS_CHILDREN", "1"));
    assert_eq!(
        run.printed().matches("preload 1").count(),
        4,
        "{}",
        run.printed()
    );
    // The shell of `system` may become the program or start it.
    assert!(
        [6, 7].contains(&run.recordings().len()),
        "{:?}",
        run.recordings()
    );
    run.recordings().iter().for_each(|path| drop(open(path)));
}

#[test]
fn a_program_that_becomes_another_one_keeps_the_library() {
    let program = compile("become.c", "become", &[]);
    for how in [
        "execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
    ] {
        let without = command(&program, &[how]).output().expect("it runs");
        assert!(without.status.success(), "{how}");
        let run = record(&mut command(&program, &[how]));
        assert_eq!(run.printed(), text(&without.stdout), "{how}");
        assert_eq!(run.recordings().len(), 2, "{how}: {:?}", run.recordings());
    }
    let run = record(&mut command(&program, &["failing"]));
    assert_eq!(run.printed(), "answer -1\n");
    assert_eq!(run.recordings().len(), 1);
}

#[test]
fn handlers_may_allocate_over_an_allocator_that_is_preloaded_too() {
    let bump = compile("bump.c", "libbump.so", &["-shared", "-fPIC"]);
    let program = compile("handler.c", "handler", &[]);
    let mut preload = library().as_os_str().to_owned();
    preload.push(":");
    preload.push(&bump);
    let run = record_with(preload, &mut command(&program, &[]));
    let printed = run.printed();
    let mut numbers = printed
        .split_whitespace()
        .map(|word| word.parse::<u64>().expect("a number"));
    let (blocks, handled) = (numbers.next().expect("two"), numbers.next().expect("two"));
    assert!(handled > 0, "{printed}");
    // `printf` makes one block after the count was read.
    let figures = run.figures();
    assert_eq!(figures.total_blocks, blocks + 1, "{figures:?}");
    assert!(figures.live_blocks < 20, "{figures:?}");
}

#[test]
fn another_allocator_in_front_still_serves_its_libraries() {
    let bump = compile("bump.c", "libbump_in_front.so", &["-shared", "-fPIC"]);
    let program = compile("arithmetic.c", "arithmetic_in_front", &[]);
    let mut preload = bump.into_os_string();
    preload.push(":");
    preload.push(library());
    // The executable's own calls go to the first library. Nothing may break.
    record_with(preload, &mut command(&program, &["100"]));
}

#[test]
fn a_plugin_with_its_own_scopes_is_counted_and_keeps_them() {
    let plugin = compile("plugin.c", "deepbind.so", &["-shared", "-fPIC"]);
    let program = compile("loader.c", "deepbind", &["-rdynamic", "-ldl"]);
    let plugin = plugin.to_str().expect("a path");
    let run = record(&mut command(&program, &["deepbind", plugin, "1000"]));
    assert_eq!(run.printed(), "answer 42\n");
    let profile = run.profile();
    assert_eq!(
        of_function(&profile, "allocate_one", "total_blocks"),
        Some(1000)
    );
    assert_eq!(
        of_function(&profile, "allocate_one", "live_blocks"),
        Some(0)
    );
}

#[test]
fn a_program_loads_the_library_of_its_own_folder_although_the_system_has_one_of_that_name() {
    // Every glibc has one of that name, and the program's folder has another one.
    let plugin = compile(
        "plugin.c",
        "own_libraries/libresolv.so.2",
        &["-shared", "-fPIC"],
    );
    let of_program = plugin.parent().expect("a folder").display();
    let own_path = format!("-Wl,--enable-new-dtags,-rpath,{of_program}");
    let program = compile("loader.c", "runpath", &["-rdynamic", "-ldl", &own_path]);
    let run = record(&mut command(
        &program,
        &["deepbind", "libresolv.so.2", "1000"],
    ));
    assert_eq!(run.printed(), "answer 42\n");
    let total = of_function(&run.profile(), "allocate_one", "total_blocks");
    assert_eq!(total, Some(1000));
}

#[test]
fn libraries_that_come_and_go_are_told_apart() {
    let one = compile("plugin.c", "one.so", &["-shared", "-fPIC"]);
    let two = compile(
        "plugin.c",
        "two.so",
        &["-shared", "-fPIC", "-DNAME=allocate_two"],
    );
    let program = compile("loader.c", "loop", &["-ldl"]);
    let words = [
        "loop",
        one.to_str().expect("a path"),
        two.to_str().expect("a path"),
    ];
    let profile = record(&mut command(&program, &words)).profile();
    assert_eq!(
        of_function(&profile, "allocate_one", "total_blocks"),
        Some(1000)
    );
    assert_eq!(
        of_function(&profile, "allocate_one", "total_bytes"),
        Some(1000 * 100)
    );
    assert_eq!(
        of_function(&profile, "allocate_two", "total_blocks"),
        Some(1000)
    );
    assert_eq!(
        of_function(&profile, "allocate_two", "total_bytes"),
        Some(1000 * 200)
    );
}

/// Moves the program headers of a 64-bit ELF file to its end, as BOLT does.
fn move_program_headers(path: &Path) {
    let mut file = std::fs::read(path).expect("the library");
    let number = |file: &[u8], at: usize, bytes: usize| {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&file[at..at + bytes]);
        u64::from_le_bytes(word) as usize
    };
    let start = number(&file, 32, 8);
    let bytes = number(&file, 54, 2) * number(&file, 56, 2);
    let headers = file[start..start + bytes].to_vec();
    file.resize(file.len().next_multiple_of(4096), 0);
    let end = file.len() as u64;
    file.extend_from_slice(&headers);
    file[start..start + bytes].fill(0);
    file[32..40].copy_from_slice(&end.to_le_bytes());
    std::fs::write(path, file).expect("written");
}

#[test]
fn a_library_whose_program_headers_were_moved_keeps_its_stacks_and_names() {
    let plugin = compile(
        "plugin.c",
        "moved.so",
        &["-shared", "-fPIC", "-Wl,-Ttext-segment=0x300000"],
    );
    move_program_headers(&plugin);
    let program = compile("loader.c", "moved", &["-rdynamic", "-ldl"]);
    let plugin = plugin.to_str().expect("a path");
    let profile = record(&mut command(&program, &["deepbind", plugin, "1000"])).profile();
    assert_eq!(
        of_function(&profile, "allocate_one", "total_blocks"),
        Some(1000)
    );
    assert_eq!(of_function(&profile, "[truncated]", "total_blocks"), None);
}

#[test]
fn dlopen_looks_in_the_paths_of_its_caller() {
    compile(
        "plugin.c",
        "below/libsub_of_finder.so",
        &["-shared", "-fPIC"],
    );
    let finder = compile(
        "finder.c",
        "finder.so",
        &["-shared", "-fPIC", "-ldl", "-Wl,-rpath,$ORIGIN/below"],
    );
    let program = compile("loader.c", "rpath", &["-ldl"]);
    let words = ["rpath", finder.to_str().expect("a path"), "-"];
    let run = record(&mut command(&program, &words));
    assert_eq!(run.printed(), "loaded 1\n");
    let missing = ["missing", "-", "-"];
    let without = command(&program, &missing).output().expect("it runs");
    let run = record(&mut command(&program, &missing));
    assert_eq!(run.printed(), text(&without.stdout));
}

#[test]
fn the_loader_may_allocate_thread_local_variables() {
    let first = compile("many_tls.c", "tls/0.so", &["-shared", "-fPIC"]);
    let paths: Vec<String> = (0..100)
        .map(|number| {
            let path = folder().join(format!("tls/{number}.so"));
            if number > 0 {
                std::fs::copy(&first, &path).expect("a copy");
            }
            path.to_str().expect("a path").to_owned()
        })
        .collect();
    let words: Vec<&str> = paths.iter().map(String::as_str).collect();
    let program = compile("tls.c", "tls_program", &["-pthread", "-ldl"]);
    let run = record(&mut command(&program, &words));
    assert_eq!(run.printed(), "100\n");
    assert!(run.figures().total_blocks > 2 * 5050);
}

#[test]
fn an_executable_with_its_own_malloc_is_recorded_for_its_libraries() {
    let work = compile("work.c", "libwork.so", &["-shared", "-fPIC"]);
    let bump = source("bump.c");
    let place = folder().to_str().expect("a path");
    let program = compile(
        "exporter.c",
        "exporter",
        &[
            bump.to_str().expect("a path"),
            work.to_str().expect("a path"),
            "-rdynamic",
            &format!("-Wl,-rpath,{place}"),
        ],
    );
    let run = record(&mut command(&program, &["1000"]));
    // The blocks still come from the executable's allocator.
    assert_eq!(run.printed(), "1000 1000\n");
    let profile = run.profile();
    assert_eq!(of_function(&profile, "work", "total_blocks"), Some(1000));
    assert_eq!(of_function(&profile, "work", "live_blocks"), Some(0));
}

#[test]
fn stacks_lead_through_c_and_cpp_without_frame_pointers() {
    for optimization in ["-O0", "-O2", "-O3"] {
        let flags = ["-fomit-frame-pointer", optimization];
        let program = compile("mixed.cpp", &format!("mixed{optimization}"), &flags);
        let run = record(&mut command(&program, &[]));
        assert_eq!(run.printed(), "900 100 7\n");
        let profile = run.profile();
        let bytes = |function| of_function(&profile, function, "total_bytes").unwrap_or(0);
        let compared = bytes("compare");
        assert!(
            compared > 0 && compared.is_multiple_of(777),
            "{optimization}: {compared}"
        );
        // The callback of qsort is called through the C library, from `sort`, from `main`.
        assert!(
            bytes("sort") >= compared,
            "{optimization}: {} {compared}",
            bytes("sort")
        );
        assert!(
            bytes("main") > bytes("sort") + 900 * 45,
            "{optimization}: {}",
            bytes("main")
        );
    }
}

#[test]
fn a_stack_leads_through_generated_code_whose_instructions_tell_its_frame() {
    let program = compile("generated.c", "generated", &["-fomit-frame-pointer"]);
    let run = record(&mut command(&program, &[]));
    let profile = run.profile();
    let names = |bytes: u64| -> Vec<&str> {
        let mut sites = profile.sites().iter();
        let site = sites.find(|site| site.figures.total_bytes == bytes);
        let stack = profile.innermost_first(site.expect("a site"));
        let frames = stack.map(|frame| &profile.frames()[frame.0 as usize]);
        let functions = frames.map(|frame| &profile.functions()[frame.function.0 as usize]);
        functions.map(|function| function.name.as_str()).collect()
    };
    for bytes in [234_500, 345_600] {
        let stack = names(bytes);
        let callers = ["through", "main"];
        assert!(stack.windows(2).any(|pair| pair == callers), "{stack:?}");
    }
    // Whoever called the third function is not known, so nobody is named.
    let bare = names(123_400);
    assert!(
        !bare.contains(&"through") && !bare.contains(&"main"),
        "{bare:?}"
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_main_without_an_entry_ends_its_stack_whatever_lies_before_it() {
    let flags = [
        "-fomit-frame-pointer",
        "-fno-asynchronous-unwind-tables",
        "-fno-toplevel-reorder",
    ];
    let program = compile("plain_main.c", "plain_main", &flags);
    let profile = record(&mut command(&program, &[])).profile();
    let mut sites = profile.sites().iter();
    let site = sites.find(|site| site.figures.total_bytes == 456_700);
    assert!(!site.expect("a site").marks.cut);
}

#[test]
fn a_pool_that_reports_its_blocks_is_recorded_and_runs_without_the_library_too() {
    for (output, flags) in [("pool-moved", [].as_slice()), ("pool-fixed", &["-no-pie"])] {
        let program = compile("pool.c", output, flags);
        let alone = command(&program, &[]).output().expect("it runs");
        assert_eq!(text(&alone.stdout), "alone\n");
        let run = record(&mut command(&program, &[]));
        assert_eq!(run.printed(), "reported\n", "{output}");
        let profile = run.profile();
        let of = |function, figure| of_function(&profile, function, figure);
        assert_eq!(of("read_line", "total_blocks"), Some(100));
        assert_eq!(of("read_line", "total_bytes"), Some(100_000));
        assert_eq!(of("read_line", "live_blocks"), Some(74));
        assert_eq!(of("pool_grow", "total_bytes"), Some(3000));
        assert_eq!(of("pool_grow", "live_blocks"), Some(1));
    }
}

#[test]
fn a_pool_may_grow_blocks_that_are_null_or_unknown_in_every_mode() {
    let program = compile("pool.c", "pool-odd", &[]);
    for (mode, sample_bytes) in [("sample", "1"), ("sample", "500"), ("exact", "1")] {
        let run = record(
            command(&program, &["odd"])
                .env("HEAPGLASS_MODE", mode)
                .env("HEAPGLASS_SAMPLE_BYTES", sample_bytes),
        );
        assert_eq!(run.printed(), "reported\n", "{mode}");
        let profile = run.profile();
        if mode == "exact" {
            let of = |function, figure| of_function(&profile, function, figure);
            // One of 3,000 bytes, 1,000 unknown ones and 1,000 that are new.
            let unknown = (1000..2000).sum::<u64>();
            assert_eq!(of("pool_grow", "total_blocks"), Some(2001));
            assert_eq!(
                of("pool_grow", "total_bytes"),
                Some(3000 + unknown + 100 * 1000)
            );
            assert_eq!(of("pool_grow", "live_blocks"), Some(1001));
            // Each has a block of malloc, one of realloc and one of the pool.
            assert_eq!(of("pool_grow_by_malloc", "total_blocks"), Some(3000));
            assert_eq!(of("pool_grow_by_malloc", "live_blocks"), Some(1000));
            assert_eq!(of("pool_grow_by_malloc", "live_bytes"), Some(200_000));
        }
    }
}

#[test]
fn half_of_a_grow_in_a_pool_reports_nothing_that_did_not_happen() {
    let program = compile("pool.c", "pool-halves", &[]);
    for mode in ["exact", "sample"] {
        let run = record(
            command(&program, &["halves"])
                .env("HEAPGLASS_MODE", mode)
                .env("HEAPGLASS_SAMPLE_BYTES", "1"),
        );
        assert_eq!(run.printed(), "reported\n", "{mode}");
        let profile = run.profile();
        let blocks = |function| of_function(&profile, function, "total_blocks");
        assert_eq!(blocks("pool_end_only"), None, "{mode}");
        assert_eq!(blocks("pool_give_up"), None, "{mode}");
        if mode == "exact" {
            assert_eq!(blocks("pool_end_twice"), Some(1));
        }
    }
}

#[test]
fn programs_of_the_system_print_the_same() {
    let manifest = env!("CARGO_MANIFEST_DIR");
    for mut program in [
        command("ls", &["-la", "/usr/bin"]),
        command("git", &["-C", manifest, "log", "--stat", "-n", "30"]),
        command(
            "python3",
            &[
                "-c",
                "import json; print(json.dumps([{'a': i} for i in range(5000)]))",
            ],
        ),
        command(
            "sqlite3",
            &[
                "-init",
                "/dev/null",
                ":memory:",
                "select hex(zeroblob(100000))",
            ],
        ),
        command(
            "bash",
            &["-c", "for i in 1 2 3; do echo $(ls /); done; exec ls /usr"],
        ),
        command(
            "perl",
            &[
                "-e",
                "my %h; $h{$_} = \"v$_\" for 1..20000; print scalar keys %h",
            ],
        ),
        command("sort", &["--parallel=4", "/etc/services"]),
    ] {
        program
            .env("PYTHONHASHSEED", "1")
            .env("PYTHONMALLOC", "malloc");
        let Ok(without) = program.output() else {
            eprintln!("{program:?}: not installed");
            continue;
        };
        if !without.status.success() {
            eprintln!("{program:?}: not there");
            continue;
        }
        let run = record(&mut program);
        assert_eq!(run.output.stdout, without.stdout, "{program:?}");
        assert_eq!(
            text(&run.output.stderr),
            text(&without.stderr),
            "{program:?}"
        );
        assert!(!run.recordings().is_empty(), "{program:?}");
    }
}

#[test]
fn a_recorded_program_has_nothing_that_it_does_not_have_without() {
    let program = compile("resources.c", "resources", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let lines = |command: &mut Command| -> Vec<String> {
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        let lines = lines
            .lines()
            .filter(|line| !line.starts_with("HEAPGLASS_OUT="));
        lines.map(str::to_owned).collect()
    };
    let without = lines(&mut command(&program, &[]));
    let recorded = lines(
        command(&program, &[])
            .env("LD_PRELOAD", library())
            .env("HEAPGLASS_OUT", folder.path().join("out.hg")),
    );
    assert_eq!(recorded, without);
    // Without a recording, the library changes nothing.
    let idle = lines(command(&program, &[]).env("LD_PRELOAD", library()));
    let is_own = |line: &&String| !line.starts_with("LD_PRELOAD");
    assert_eq!(idle.iter().filter(is_own).count(), without.len());
    assert!(idle.iter().any(|line| line.starts_with("LD_PRELOAD=")));
}

/// Returns the path of an example of this package.
fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    let built = own
        .parent()
        .and_then(Path::parent)
        .expect("the folder of the build");
    built.join("examples").join(name)
}

#[test]
fn a_program_with_tracking_alloc_is_recorded_once() {
    let run = record(&mut command(example("tracked"), &[]));
    let profile = run.profile();
    assert_eq!(of_function(&profile, "malloc", "total_blocks"), None);
    assert!(profile.totals().total_blocks > 1000);
}

#[test]
fn a_plugin_with_tracking_alloc_is_recorded_once() {
    let program = compile("loader.c", "deepbind_of_tracked", &["-ldl"]);
    let plugin = example("libtracked_plugin.so");
    let words = [
        "loop",
        plugin.to_str().expect("a path"),
        plugin.to_str().expect("a path"),
    ];
    let run = record(&mut command(&program, &words));
    let profile = run.profile();
    assert!(profile.totals().total_blocks > 400 * 5);
}
