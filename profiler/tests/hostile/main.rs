//! Recordings and binaries with structural changes. For any contents of a file, reading it, naming
//! its frames and making every report of it must end soon, use little memory and not panic.
//!
//! Inputs are valid files with changed words, records, tables or sections. To pass the first check,
//! their checksum is corrected or their state stays "running". proptest chooses them and shrinks
//! those that fail. Problems found this way get their own tests (`found`). Inputs with a new kind
//! of result are kept (`corpus`).
//!
//! - `cargo test -p heapglass-profiler --test hostile`: the same inputs in each run, for recordings
//!   and binaries
//! - `cargo fuzz-readers` with `HEAPGLASS_FUZZ_SECONDS=300` set: ten minutes, optimized, with
//!   overflow checks
//! - line coverage: `profiler/tests/hostile/coverage.sh`

mod binary;
mod change;
mod corpus;
mod downstream;
mod elf;
mod figures;
mod found;
mod memory;
mod parts;
mod rich;
mod snapshot;

use heapglass_profiler::OpenOptions;
use parts::Parts;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Memory limit of an input smaller than [`SMALL_FILE_BYTES`].
const MOST_MEMORY: usize = 256 << 20;
const SMALL_FILE_BYTES: usize = 1 << 20;

/// Processor time limit of an input; unlike the wall clock, it does not depend on other processes.
/// Unoptimized code is ten times slower.
const MOST_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 8 } else { 1 });

/// Number of inputs of each kind in a usual run.
const INPUTS: u32 = 400;

/// Wall clock limit of an input: if it takes longer, it waits for something.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// Returns the processor time of this process's threads, to a hundredth of a second.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    let fields = stat.rsplit(')').next().expect("fields");
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    let ticks = ticks.map(|ticks| ticks.parse::<u64>().expect("a number"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// Number of panics of any thread, including those that symbolization survives.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Allows one test at a time, because memory is counted for the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn golden(name: &str) -> Vec<u8> {
    let folder = "../tracking-alloc/recording/tests/golden";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(name);
    std::fs::read(path).expect("a golden recording")
}

/// The recordings to change.
fn bases(binary: &Path, addresses: &[u64]) -> Vec<Parts> {
    let mut bases = vec![rich::rich(
        &golden("native.hg"),
        binary.to_str().expect("UTF-8"),
        addresses,
    )];
    // The recording with everything gets half of the turns.
    bases.extend([bases[0].clone(), bases[0].clone()]);
    bases.extend(["native.hg", "wasm.hg"].map(|name| Parts::of(&golden(name))));
    bases
}

/// The cost of all inputs so far.
#[derive(Debug, Default)]
struct Seen {
    inputs: u64,
    loaded: u64,
    time: Duration,
    memory: usize,
}

/// Writes the file, loads it, and computes everything from it.
fn load(path: &Path, pick: usize) -> bool {
    match heapglass_profiler::open(path, &OpenOptions::default(), &|_| ()) {
        Ok(profile) => {
            downstream::use_all(&profile, pick);
            if pick.is_multiple_of(16) {
                let packed = heapglass_profiler::pack(path, &OpenOptions::default(), &|_| ());
                // A packed recording can be read.
                if let Ok(bytes) = packed {
                    tracking_alloc_recording::Recording::read(bytes.as_slice()).expect("packed");
                }
            }
            if pick % 16 == 8 {
                let mut merge = heapglass_profiler::merge::Merge::new();
                // So can a sum.
                if merge.add(path).is_ok()
                    && let Ok(sum) = merge.finish()
                {
                    let bytes = sum.bytes.as_slice();
                    tracking_alloc_recording::Recording::read(bytes).expect("merged");
                }
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// Loads the written input within the limits.
fn check(path: &Path, bytes: usize, pick: usize, seen: &mut Seen) -> Result<(), TestCaseError> {
    hold(bytes, seen, || load(path, pick))
}

/// Runs a reader of an input of `bytes` bytes, within the limits.
fn hold(bytes: usize, seen: &mut Seen, read: impl FnOnce() -> bool) -> Result<(), TestCaseError> {
    let mut loaded = false;
    let panics = PANICS.load(Relaxed);
    let (start, clock) = (processor_time(), Instant::now());
    let memory = memory::most_during(|| loaded = read());
    let (took, waited) = (processor_time() - start, clock.elapsed());
    seen.inputs += 1;
    seen.loaded += u64::from(loaded);
    seen.time = seen.time.max(took);
    let fail = |what: String| Err(TestCaseError::fail(what));
    if PANICS.load(Relaxed) != panics {
        return fail("a thread panicked".to_owned());
    }
    if took > MOST_TIME || waited > MOST_WAIT {
        return fail(format!("it took {took:?} in {waited:?}"));
    }
    if bytes < SMALL_FILE_BYTES {
        seen.memory = seen.memory.max(memory);
        if memory > MOST_MEMORY {
            return fail(format!("it took {memory} bytes of memory for {bytes}"));
        }
    }
    Ok(())
}

/// Runs a property over the same inputs in each run, or over new ones for `HEAPGLASS_FUZZ_SECONDS`.
fn run<S: Strategy>(
    what: &str,
    strategy: &S,
    mut test: impl FnMut(S::Value, &mut Seen) -> Result<(), TestCaseError>,
) where
    S::Value: Clone + std::fmt::Debug,
{
    std::panic::set_hook(Box::new(|info| {
        PANICS.fetch_add(1, Relaxed);
        eprintln!("{info}");
    }));
    let seconds = std::env::var("HEAPGLASS_FUZZ_SECONDS").ok();
    let seconds: Option<u64> = seconds.map(|seconds| seconds.parse().expect("seconds"));
    let began = Instant::now();
    let config = Config {
        cases: if seconds.is_some() { 64 } else { INPUTS },
        failure_persistence: None,
        max_shrink_iters: 400,
        // Copies of the other recording are slow.
        rng_algorithm: RngAlgorithm::XorShift,
        ..Config::default()
    };
    let seen = std::cell::RefCell::new(Seen::default());
    let test = std::cell::RefCell::new(&mut test);
    loop {
        let mut runner = match seconds {
            Some(_) => TestRunner::new(config.clone()),
            None => {
                let same = TestRng::deterministic_rng(config.rng_algorithm);
                TestRunner::new_with_rng(config.clone(), same)
            }
        };
        let result = runner.run(strategy, |input| {
            let mut test = test.borrow_mut();
            test(input, &mut seen.borrow_mut())
        });
        if let Err(error) = result {
            panic!("{what}: {error}");
        }
        if seconds.is_none_or(|seconds| began.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
    }
    let seen = seen.into_inner();
    println!(
        "{what}: {} inputs, {} loaded, at most {:.0?} and {} KiB, {} panics",
        seen.inputs,
        seen.loaded,
        seen.time,
        seen.memory >> 10,
        PANICS.load(Relaxed)
    );
}

/// Returns the folder for the inputs of a test. An input that ends the process stays there.
fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn write(path: &Path, bytes: &[u8], length: Option<u64>) {
    let mut file = File::create(path).expect("a file");
    file.write_all(bytes).expect("its bytes");
    if let Some(length) = length.filter(|length| *length > bytes.len() as u64) {
        file.set_len(length).expect("a hole");
    }
}

#[test]
fn changed_recordings_cost_little_and_never_panic() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let binaries = binary::build(folder.path());
    let bases = bases(&folder.path().join("libtiny.so"), &binaries[0].addresses);
    let path = place("changed.hg");
    let mut keep = corpus::Keep::new("recording");
    run("recordings", &change::input(), |input, seen| {
        let bytes = input.bytes(&bases);
        write(&path, &bytes, input.length);
        keep.input(&bytes, &path);
        check(&path, bytes.len(), input.pick.into(), seen)
    });
}

#[test]
fn changed_binaries_cost_little_and_never_panic() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let binaries = binary::build(folder.path());
    let (binary, path) = (place("changed.so"), place("of-binary.hg"));
    let mut recording = rich::rich(
        &golden("native.hg"),
        binary.to_str().expect("UTF-8"),
        &binaries[0].addresses,
    )
    .bytes();
    parts::seal(&mut recording);
    write(&path, &recording, None);
    let mut keep = corpus::Keep::new("binary");
    run("binaries", &binary::input(), |input, seen| {
        let bytes = input.bytes(&binaries);
        write(&binary, &bytes, None);
        keep.input(&bytes, &path);
        check(&path, bytes.len(), input.pick.into(), seen)
    });
}
