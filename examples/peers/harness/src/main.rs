//! `cargo peers`: runs heapglass and its rivals on the same work. `cargo cost` does the same with
//! heapglass alone, and `cargo instructions` counts the instructions that it adds.

mod figures;
mod instructions;
mod machine;
mod measure;
mod programs;
mod results;
mod table;
mod unchanged;

use clap::Parser;
use figures::{Load, Sample};
use measure::Setting;
use peers_work::{HEAP, WORKLOADS, Workload};
use programs::{Build, Program};
use results::{Cell, Column, Results, Row};
use std::collections::BTreeMap;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Memory that a run with the largest heap may need, per byte of that heap.
const HEAP_FACTOR: f64 = 2.5;

/// The page that `--publish` writes.
const GUIDE: &str = "docs/src/cost.md";
const README: &str = "README.md";
const MEASURED: &str = "examples/peers/measured.json";
/// The figures of the programs that are recorded unchanged.
const MEASURED_UNCHANGED: &str = "examples/peers/unchanged.json";
/// The instructions that exact recording may add.
const KEPT_INSTRUCTIONS: &str = "examples/peers/instructions.json";

/// Compare heapglass and its rivals on the same work: time, memory, size of the output, and time
/// until the report
///
/// Programs of one round run one after another, so that all see the machine in the same state. The
/// table goes to standard output, progress to standard error.
#[derive(Debug, Parser)]
#[command(name = "cargo peers", bin_name = "cargo peers", after_help = EXAMPLES)]
struct Options {
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Run only these workloads, given by name or by the beginning of a name up to a hyphen
    /// (churn, depth)
    #[arg(long, value_name = "WORKLOADS", value_delimiter = ',')]
    only: Vec<String>,
    /// Run only these programs; `ours` and `all` stand for several
    #[arg(
        long,
        value_name = "PROGRAMS",
        value_delimiter = ',',
        default_value = "all"
    )]
    programs: Vec<String>,
    /// Use small inputs and one round: this checks that everything works, but the figures mean
    /// nothing
    #[arg(long, conflicts_with = "runs")]
    quick: bool,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables to a new file, or between the markers of an existing one
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Measure only programs that are recorded unchanged: the Rust programs of the work, a C++
    /// program, and programs of the system, under heapglass's preloaded library and heaptrack
    #[arg(long, conflicts_with_all = ["only", "programs", "json", "markdown", "list"])]
    unchanged: bool,
    /// Count the instructions that exact recording adds, by valgrind's callgrind, and fail if they
    /// exceed the kept ones by more than 1 %
    #[arg(long, conflicts_with_all = ["only", "programs", "json", "markdown", "list", "unchanged", "quick"])]
    instructions: bool,
    /// Update the tables and figures of this repository: the guide, the README, measured.json and
    /// unchanged.json; with --unchanged, only the guide's table of these programs and
    /// unchanged.json; with --instructions, only the kept instructions
    #[arg(long, conflicts_with_all = ["only", "programs", "quick"])]
    publish: bool,
    /// End a program that takes longer; it counts as failed
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Run a rival only once if its work takes longer
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    slow: u64,
    /// List workloads and programs
    #[arg(long)]
    list: bool,
}

impl Options {
    fn rounds(&self) -> usize {
        if self.quick {
            1
        } else {
            usize::from(self.runs)
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  cargo peers --quick                                   does everything work? (a few minutes with the build)
  cargo peers --publish                                 measure all, write the guide's tables, the README's and the
                                                        JSON (40 minutes on four cores)
  cargo peers --only json,churn --programs exact,dhat-rs
  cargo peers --unchanged --publish                     only programs that are recorded unchanged (20 minutes)
  cargo peers --only depth --runs 7 --json depth.json --markdown depth.md
  cargo instructions                                    the instructions that exact recording adds
  cargo cost --only json,postcard,rmp                   heapglass alone, and what Profiled adds";

fn main() -> ExitCode {
    match compare(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: &Options) -> Result<(), String> {
    let begin = Instant::now();
    let root = root()?;
    if options.unchanged {
        return compare_unchanged(options, &root, &setting(options)?);
    }
    if options.instructions {
        let kept = root.join(KEPT_INSTRUCTIONS);
        return instructions::compare(
            &root,
            &target()?,
            &setting(options)?,
            &kept,
            options.publish,
        );
    }
    let toolchain = machine::toolchain(programs::HEAPSCOPE_RUSTC);
    let other_toolchain = toolchain.as_ref().ok().copied().flatten();
    let all = programs::programs(other_toolchain);
    if options.list {
        for workload in WORKLOADS {
            println!("workload  {:<16} {}", workload.name, workload.title);
        }
        for program in all {
            println!("program   {:<16} {}", program.name, program.title);
        }
        return Ok(());
    }
    let workloads = workloads(&options.only)?;
    let programs = programs::select(&all, &options.programs)?;
    // Checks that all files can be written, before the hours of measurement.
    let mut pages = Vec::new();
    if options.publish {
        pages.push((root.join(GUIDE), table::LONG));
        pages.push((root.join(README), table::SHORT));
        filled(&root.join(GUIDE), table::UNCHANGED, "")?;
    }
    if let Some(file) = &options.markdown {
        pages.push((file.clone(), table::LONG));
    }
    for (page, name) in &pages {
        filled(page, name, "")?;
    }
    let files = pages.iter().map(|(page, _)| page).chain(&options.json);
    for folder in files.filter_map(|file| file.parent()) {
        // The parent of a bare file name is the empty path.
        if folder != Path::new("") && !folder.is_dir() {
            return Err(format!("{} is not a folder", folder.display()));
        }
    }

    let target = target()?;
    let setting = setting(options)?;
    let mut session = Session {
        options,
        setting: &setting,
        executables: BTreeMap::new(),
        skipped: BTreeMap::new(),
    };
    session.build(&root, &target, &programs, toolchain.as_ref().err())?;
    if workloads.iter().any(|workload| workload.name == "geojson") {
        generate_geojson(&setting.geojson, geojson_megabytes(options.quick))?;
    }
    let mut results = Results {
        format: 1,
        date: machine::date(),
        machine: machine::machine(),
        versions: machine::versions(&root),
        quick: options.quick,
        runs: session.options.rounds(),
        took_seconds: 0,
        programs: Vec::new(),
        workloads: Vec::new(),
    };
    let machine = &results.machine;
    if machine.load > machine.cores as f64 / 4.0 {
        eprintln!(
            "warning: the machine is busy (load {:.1} on {} cores): the figures will be too",
            machine.load, machine.cores
        );
    }
    let measured = workloads
        .iter()
        .enumerate()
        .map(|(index, workload)| {
            eprintln!("[{}/{}] {}", index + 1, workloads.len(), workload.name);
            session.column(workload, &programs)
        })
        .collect::<Result<Vec<Column>, String>>();
    let _ = fs::remove_dir_all(&setting.folder);
    results.workloads = measured?;
    results.programs = programs
        .iter()
        .map(|program| Row {
            name: program.name,
            title: program.title,
            base: program.base,
            skipped: session.skipped.get(program.name).cloned(),
        })
        .collect();
    results.took_seconds = begin.elapsed().as_secs();

    let long = table::long(&results);
    println!("{long}");
    for (page, name) in &pages {
        let table = if *name == table::LONG {
            &long
        } else {
            &table::short(&results)
        };
        write(page, &filled(page, name, table)?)?;
    }
    let json = json(&results)?;
    if let Some(file) = &options.json {
        write(file, &json)?;
    }
    if options.publish {
        write(&root.join(MEASURED), &json)?;
    }
    eprintln!("took {} s, building included", results.took_seconds);
    if options.publish {
        compare_unchanged(options, &root, &setting)?;
    }
    Ok(())
}

/// Measures the programs that are recorded unchanged.
fn compare_unchanged(options: &Options, root: &Path, setting: &Setting) -> Result<(), String> {
    let guide = root.join(GUIDE);
    filled(&guide, table::UNCHANGED, "")?;
    let (rounds, slow) = (options.rounds(), options.slow as f64);
    let results = unchanged::measure(root, &target()?, setting, rounds, slow)?;
    let table = unchanged::table(&results);
    println!("{table}");
    if options.publish {
        write(&guide, &filled(&guide, table::UNCHANGED, &table)?)?;
        write(&root.join(MEASURED_UNCHANGED), &json(&results)?)?;
    }
    Ok(())
}

fn json(results: &impl serde::Serialize) -> Result<String, String> {
    let mut json = serde_json::to_string_pretty(results).map_err(|error| error.to_string())?;
    json.push('\n');
    Ok(json)
}

fn geojson_megabytes(quick: bool) -> u64 {
    peers_work::GEOJSON_MEGABYTES[usize::from(quick)]
}

/// Returns the settings of all runs. From then on, ^C ends the running program first.
fn setting(options: &Options) -> Result<Setting, String> {
    let target = target()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|error| format!("no handler of signals: {error}"))?;
    }
    Ok(Setting {
        heapglass: target.join("release/heapglass"),
        geojson: target.join(format!(
            "real/deep-{}.geojson",
            geojson_megabytes(options.quick)
        )),
        folder: std::env::temp_dir().join(format!("heapglass-peers-{}", std::process::id())),
        quick: options.quick,
        timeout: Duration::from_secs(options.timeout),
        interrupted,
    })
}

/// The state that is the same for all workloads.
struct Session<'a> {
    options: &'a Options,
    setting: &'a Setting,
    executables: BTreeMap<Build, PathBuf>,
    /// The reason why a program does not run.
    skipped: BTreeMap<&'static str, String>,
}

impl Session<'_> {
    /// Builds everything needed. Skips what cannot be built, except our own programs.
    fn build(
        &mut self,
        root: &Path,
        target: &Path,
        programs: &[Program],
        no_toolchain: Option<&String>,
    ) -> Result<(), String> {
        if programs.iter().any(|program| program.is_ours) {
            machine::build_heapglass(root, target)?;
        }
        let mut failed: BTreeMap<Build, String> = BTreeMap::new();
        let counter = programs::counter().build;
        for build in programs
            .iter()
            .map(|program| program.build)
            .chain([counter])
        {
            if self.executables.contains_key(&build) || failed.contains_key(&build) {
                continue;
            }
            let is_heapscope = build.executable == "peers_heapscope";
            let built = match no_toolchain {
                Some(reason) if is_heapscope => Err(reason.clone()),
                _ => machine::build(root, target, build),
            };
            match built {
                Ok(executable) => {
                    self.executables.insert(build, executable);
                }
                Err(error) if build.rival.is_none() => return Err(error),
                Err(error) => {
                    eprintln!("{}: skipped: {error}", build.executable);
                    failed.insert(build, error);
                }
            }
        }
        for program in programs {
            let missing = failed.get(&program.build).cloned();
            if let Some(reason) = missing.or_else(|| machine::missing_tool(program.profiler)) {
                eprintln!("{}: skipped: {reason}", program.name);
                self.skipped.insert(program.name, reason);
            }
        }
        Ok(())
    }

    /// Measures all programs on one workload.
    fn column(&self, workload: &Workload, programs: &[Program]) -> Result<Column, String> {
        let mut cells: BTreeMap<&'static str, Cell> = BTreeMap::new();
        for program in programs {
            if let Some(reason) = self.skipped.get(program.name) {
                cells.insert(program.name, Cell::Skipped(reason.clone()));
            } else if let Some(reason) = program.inapplicable(workload) {
                cells.insert(program.name, Cell::Inapplicable(reason.to_owned()));
            }
        }
        let counts = self.count(workload)?;
        let mut samples: BTreeMap<&'static str, Vec<Sample>> = BTreeMap::new();
        let mut slow: Vec<&'static str> = Vec::new();
        for round in 0..self.options.rounds() {
            for program in programs {
                if cells.contains_key(program.name) || slow.contains(&program.name) {
                    continue;
                }
                let at = format!(
                    "  {}/{} {:<16}",
                    round + 1,
                    self.options.rounds(),
                    program.name
                );
                if let Some(reason) = self.too_large(workload) {
                    eprintln!("{at} skipped: {reason}");
                    cells.insert(program.name, Cell::Skipped(reason));
                    continue;
                }
                let run = measure::run(
                    self.setting,
                    program,
                    &self.executables[&program.build],
                    workload,
                    round,
                    counts.map(|(allocations, _)| allocations),
                );
                if self.setting.interrupted.load(Ordering::Relaxed) {
                    return Err("interrupted".to_owned());
                }
                match run {
                    Ok(run) => {
                        eprintln!("{at} {:>10.1} ms", run.sample.ns / 1e6);
                        samples.entry(program.name).or_default().push(run.sample);
                        // A base runs in every round, and so does heapglass.
                        let most_ns = self.options.slow as f64 * 1e9;
                        if program.is_rival() && run.sample.ns > most_ns {
                            slow.push(program.name);
                        }
                    }
                    Err(reason) => {
                        eprintln!("{at} failed: {reason}");
                        cells.insert(program.name, Cell::Failed(reason));
                    }
                }
            }
        }
        let cores = machine::cores();
        let load = counts.map(|(_, events)| Load {
            events,
            concurrency: workload.threads.min(cores),
        });
        for program in programs {
            let base = program.base.and_then(|base| samples.get(base));
            let own = samples
                .get(program.name)
                .filter(|_| !cells.contains_key(program.name));
            let figures = own.and_then(|own| figures::figures(own, base.map(Vec::as_slice), load));
            if let Some(figures) = figures {
                cells.insert(program.name, Cell::Measured(figures));
            }
        }
        Ok(Column {
            name: workload.name,
            title: workload.title,
            group: Some(workload.group),
            threads: workload.threads,
            allocations: counts.map(|(allocations, _)| allocations),
            events: counts.map(|(_, events)| events),
            cells,
        })
    }

    /// Returns the allocations and events of the work. stats_alloc counts them, in a run that is
    /// not measured.
    fn count(&self, workload: &Workload) -> Result<Option<(u64, u64)>, String> {
        let counter = programs::counter();
        let Some(executable) = self.executables.get(&counter.build) else {
            eprintln!("  no figures per event: stats_alloc cannot be built");
            return Ok(None);
        };
        if let Some(reason) = self.too_large(workload) {
            eprintln!("  not counted: {reason}");
            return Ok(None);
        }
        let run = measure::run(self.setting, &counter, executable, workload, 0, None)
            .map_err(|error| format!("{}: its events cannot be counted: {error}", workload.name))?;
        match run.counts {
            Some((allocations, events)) if allocations > 0 && events >= allocations => {
                Ok(Some((allocations, events)))
            }
            counts => Err(format!(
                "{}: no count of its events: {counts:?}",
                workload.name
            )),
        }
    }

    /// Returns the reason why this machine has no room for a workload now, or `None`.
    fn too_large(&self, workload: &Workload) -> Option<String> {
        if workload.name != HEAP {
            return None;
        }
        let needed =
            (peers_work::HEAP_MIB[usize::from(self.options.quick)] as f64 * HEAP_FACTOR) as u64;
        let available = machine::available_mib();
        (available < needed)
            .then(|| format!("needs {needed} MiB of memory, {available} MiB are available"))
    }
}

/// Returns the workloads with these names; all of them without names.
fn workloads(only: &[String]) -> Result<Vec<Workload>, String> {
    let is_meant = |workload: &Workload, name: &str| {
        let family = workload.name.split_once('-').map(|(family, _)| family);
        workload.name == name || family == Some(name)
    };
    for name in only {
        if !WORKLOADS.iter().any(|workload| is_meant(workload, name)) {
            let names = WORKLOADS.map(|workload| workload.name).join(", ");
            return Err(format!("no workload is called {name:?}; there are {names}"));
        }
    }
    let chosen = WORKLOADS
        .iter()
        .filter(|workload| only.is_empty() || only.iter().any(|name| is_meant(workload, name)));
    Ok(chosen.copied().collect())
}

/// Returns the root folder of this checkout.
fn root() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    root.canonicalize()
        .map_err(|error| format!("the checkout is gone: {}: {error}", root.display()))
}

/// Returns the target folder, which also contains this executable.
fn target() -> Result<PathBuf, String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = executable.parent().and_then(Path::parent);
    target
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} is not in a target folder", executable.display()))
}

/// Generates the input of `geojson`, the same as `examples/real/run` does.
fn generate_geojson(file: &Path, megabytes: u64) -> Result<(), String> {
    if file.exists() {
        return Ok(());
    }
    eprintln!("generating {megabytes} MB of GeoJSON");
    let generate = || {
        fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
        let unfinished = file.with_extension("new");
        generate::geojson(
            BufWriter::with_capacity(1 << 20, fs::File::create(&unfinished)?),
            megabytes * 1_000_000,
        )?;
        fs::rename(unfinished, file)
    };
    generate().map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns a page with the table filled in; a new page is only the table.
fn filled(page: &Path, name: &str, table: &str) -> Result<String, String> {
    let text = match fs::read_to_string(page) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (begin, end) = table::markers(name);
            format!("{begin}\n{end}\n")
        }
        Err(error) => return Err(format!("{}: {error}", page.display())),
    };
    table::fill(&text, name, table).map_err(|error| format!("{}: {error}", page.display()))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("written: {}", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_chosen_by_name_or_family_in_their_order() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
            let chosen = workloads(&only)?;
            Ok::<_, String>(
                chosen
                    .iter()
                    .map(|workload| workload.name)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(names(&["depth-30", "json"]), Ok(vec!["json", "depth-30"]));
        let churn = vec!["churn-1", "churn-2", "churn-4", "churn-8"];
        assert_eq!(names(&["churn"]), Ok(churn));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(WORKLOADS.len()));
        assert_eq!(
            names(&[]).ok().and_then(|all| all.last().copied()),
            Some(HEAP)
        );
        assert!(names(&["jsn"]).is_err_and(|error| error.contains("\"jsn\"")));
    }

    #[test]
    fn the_pages_that_are_published_have_their_markers() {
        let root = root().expect("a checkout");
        for (page, name) in [
            (GUIDE, table::LONG),
            (GUIDE, table::UNCHANGED),
            (README, table::SHORT),
        ] {
            assert!(root.join(page).exists(), "{page}");
            assert_eq!(filled(&root.join(page), name, "").map(drop), Ok(()));
        }
    }

    #[test]
    fn options_are_well_formed() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }
}
