//! 3.14: tools that count whole processes from outside, on one program: heaptrack and valgrind's
//! DHAT, if they are installed.
//!
//! They also see the allocations of C, before and after `main`. So the program runs on some lines
//! and on twice as many. The additional figures of the second run must equal ours, to the byte.

use crate::data::airlines::{LINES, text};
use crate::{Case, Found, Judged, Variant, Window};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.14",
    system: "heaptrack and valgrind's DHAT as oracles of whole processes",
    headline: "tools: heaptrack and DHAT count a program from outside; totals, blocks and peak must agree",
    variants: &[
        Variant::new("heapglass", |window| match program_lines() {
            Some(lines) => program(lines),
            None => work(window),
        }),
        Variant::new("heaptrack", |window| beside(window, heaptrack)),
        Variant::new("DHAT", |window| beside(window, valgrind)),
    ],
    judge,
};

fn judge(found: &Found<'_>) -> Judged {
    let tools = ["heaptrack", "DHAT"];
    let of = |tool: &str, whose: &str, name: &str| found.of(tool, &format!("{whose}_{name}"));
    let skipped = |tool: &&str| of(tool, "theirs", "total_bytes").is_nan();
    let agrees = |tool: &&str| {
        ["total_blocks_more", "total_bytes_more", "peak_bytes_more"]
            .iter()
            .all(|name| of(tool, "ours", name) == of(tool, "theirs", name))
            // The program must have done something, and the figures of C cannot be negative.
            && of(tool, "ours", "total_blocks_more") > 0.0
            && NAMES.iter().all(|name| of(tool, "theirs", name) >= of(tool, "ours", name))
    };
    let says = |tool: &str| {
        if skipped(&tool) {
            return format!("{tool} is not installed: skipped");
        }
        let beyond = |name: &str| of(tool, "theirs", name) - of(tool, "ours", name);
        format!(
            "{tool}: {} blocks, {} B and {} B of peak more, and in the whole process {} blocks, {} B and {} B of peak that \
             are not ours",
            of(tool, "theirs", "total_blocks_more"),
            of(tool, "theirs", "total_bytes_more"),
            of(tool, "theirs", "peak_bytes_more"),
            beyond("total_blocks"),
            beyond("total_bytes"),
            beyond("peak_bytes"),
        )
    };
    let ran = tools.iter().find(|tool| !skipped(tool));
    let ours = ran.map_or_else(String::new, |tool| {
        format!(
            "twice the lines are {} blocks, {} B and {} B of peak more by our count. ",
            of(tool, "ours", "total_blocks_more"),
            of(tool, "ours", "total_bytes_more"),
            of(tool, "ours", "peak_bytes_more"),
        )
    });
    let why = format!(
        "{ours}{}. What is not ours are blocks that C libraries make for themselves: glibc when std asks for the bounds of \
         the main thread's stack, and the C++ library that heaptrack or tcmalloc brings along",
        tools.map(says).join("; "),
    );
    match ran {
        None => Judged::unjudged(true, "none of these tools is installed", why),
        Some(_) => Judged::facts(tools.iter().all(|tool| skipped(tool) || agrees(tool)), why),
    }
}

/// Does the work: reads each line as a Value, and keeps all of them in a list that grows.
fn read(text: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for line in text.lines() {
        all.push(serde_json::from_str(line).expect("it was written as JSON"));
    }
    all
}

/// Returns a tenth of 3.7's lines, because valgrind is slow.
fn lines(window: &Window) -> usize {
    window.scaled(LINES / 10)
}

fn work(window: &mut Window) {
    let lines = lines(window);
    let text = text(lines);
    window.input(text.len(), lines);
    window.work(|| read(&text));
}

/// The totals of one process.
struct Totals([u64; NAMES.len()]);

const NAMES: [&str; 3] = ["total_bytes", "total_blocks", "peak_bytes"];

/// Notes the tool's figures of the program and ours: for these lines, and the difference for twice
/// as many.
fn beside(window: &mut Window, tool: fn(&Program) -> Option<Totals>) {
    if window.is_counting() {
        let lines = lines(window);
        let programs = [lines, 2 * lines].map(Program::new);
        let [once, twice] = &programs;
        if let Some(theirs) = tool(once).zip(tool(twice)) {
            let ours = (ours(once), ours(twice));
            for (whose, (once, twice)) in [("ours", ours), ("theirs", theirs)] {
                for ((name, once), twice) in NAMES.iter().zip(once.0).zip(twice.0) {
                    window.note(&format!("{whose}_{name}"), once as f64);
                    window.note(&format!("{whose}_{name}_more"), twice as f64 - once as f64);
                }
            }
        }
    }
    work(window);
}

/// The variable that tells a process of this program that it is the counted one.
const PROGRAM: &str = "GAUNTLET_WHOLE_LINES";

fn program_lines() -> Option<usize> {
    std::env::var(PROGRAM).ok()?.parse().ok()
}

/// Runs the counted program: does the work, prints our figures without further allocations, and
/// ends.
fn program(lines: usize) -> ! {
    let text = text(lines);
    let kept = read(&text);
    let figures = tracking_alloc::stats();
    let figures = [
        figures.total_bytes,
        figures.total_blocks,
        figures.peak_bytes,
    ];
    let bytes = figures.map(u64::to_le_bytes);
    let bytes = bytes.as_flattened();
    // SAFETY: `bytes` is valid for its length.
    unsafe { libc::write(libc::STDOUT_FILENO, bytes.as_ptr().cast(), bytes.len()) };
    drop(kept);
    std::process::exit(0);
}

/// The program on this many lines, and a folder for the output about it, which is removed on drop.
struct Program {
    lines: usize,
    folder: PathBuf,
}

impl Program {
    fn new(lines: usize) -> Self {
        let name = format!("heapglass-whole-{}-{lines}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)
            .unwrap_or_else(|error| panic!("create {}: {error}", folder.display()));
        Program { lines, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs the program, under another program if one is given, and returns its output.
    ///
    /// # Panics
    /// If it does not run to its end: the runner shows this as the variant's failure.
    fn run(&self, by: Option<(&Path, &[&OsStr])>, environment: &[(&str, &OsStr)]) -> Vec<u8> {
        let itself = std::env::current_exe().expect("this program has a path");
        let mut command = match by {
            None => Command::new(&itself),
            Some((tool, words)) => {
                let mut command = Command::new(tool);
                command.args(words).arg(&itself);
                command
            }
        };
        command
            .args(["child", CASE.id, "heapglass", "--pass", "count"])
            .args(["--with", "system", "--divisor", "1"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GAUNTLET_ALLOC", "glibc")
            .env("GAUNTLET_PASS", "count")
            .env(PROGRAM, self.lines.to_string())
            .envs(environment.iter().copied());
        let output = command.output();
        let output = output.unwrap_or_else(|error| panic!("run {command:?}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", output.status);
        output.stdout
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // If this fails, the folder stays among the temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the path of a command if it is installed.
fn installed(command: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(command))
        .find(|path| path.is_file())
}

/// Our figures: the program is recorded, and prints them at its end.
fn ours(program: &Program) -> Totals {
    let file = program.file("ours.hg");
    let printed = program.run(None, &[("HEAPGLASS_OUT", file.as_os_str())]);
    let (figures, _) = printed.as_chunks::<8>();
    let figures: Vec<u64> = figures
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect();
    Totals(
        figures
            .try_into()
            .expect("as many figures as there are names"),
    )
}

/// heaptrack's library writes each event to a file if no reader is attached: `+ size trace
/// address`, `- address`.
fn heaptrack(program: &Program) -> Option<Totals> {
    let command = installed("heaptrack")?;
    let library = command.parent()?.parent()?.join(PRELOADED);
    library.is_file().then_some(())?;
    let file = program.file("heaptrack.raw");
    let environment = [
        ("LD_PRELOAD", library.as_os_str()),
        ("DUMP_HEAPTRACK_OUTPUT", file.as_os_str()),
    ];
    program.run(None, &environment);
    let said = std::fs::read_to_string(file).expect("heaptrack wrote what it saw");
    let number = |word: Option<&str>| {
        let number = word.and_then(|word| u64::from_str_radix(word, 16).ok());
        number.expect("a number of heaptrack's")
    };
    let mut live = HashMap::new();
    let (mut bytes, mut blocks, mut now, mut peak) = (0, 0, 0, 0);
    for line in said.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("+") => {
                let size = number(words.next());
                // The trace, then the address.
                live.insert(number(words.nth(1)), size);
                bytes += size;
                blocks += 1;
                now += size;
                peak = peak.max(now);
            }
            Some("-") => now -= live.remove(&number(words.next())).unwrap_or(0),
            _ => {}
        }
    }
    Some(Totals([bytes, blocks, peak]))
}

/// Path relative to the folder that contains `bin`.
const PRELOADED: &str = "lib/heaptrack/libheaptrack_preload.so";

/// DHAT writes a JSON file with the totals of each place in the program, and its bytes at the peak.
fn valgrind(program: &Program) -> Option<Totals> {
    let command = installed("valgrind")?;
    let file = program.file("dhat.json");
    let out = format!("--dhat-out-file={}", file.display());
    let words = ["--tool=dhat", &out].map(OsStr::new);
    program.run(Some((&command, &words)), &[]);
    let said = std::fs::read(file).expect("DHAT wrote what it saw");
    let said: Value = serde_json::from_slice(&said).expect("DHAT writes JSON");
    let places = said["pps"].as_array().expect("DHAT lists places");
    let sum = |name: &str| {
        let figures = places.iter().map(|place| place[name].as_u64());
        figures
            .sum::<Option<u64>>()
            .expect("each place has its figures")
    };
    Some(Totals([sum("tb"), sum("tbk"), sum("gb")]))
}
