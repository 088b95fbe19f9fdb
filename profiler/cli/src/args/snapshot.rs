//! The flags of `heapglass snapshot`, and those of `heapglass run` about snapshots.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use heapglass_profiler::DeclaredContainer;
use heapglass_profiler::units::parse_nanos;
use tracking_alloc_recording::SNAPSHOT_MARKS;

use super::Symbols;

/// Take a snapshot of a program, running or in a core file: who holds its heap, and how full it is
///
/// A program that records makes a paused copy of itself at its next allocations and goes on.
/// Heapglass reads the copy and ends it. Writes a file that has the recording so far, its symbols
/// and the snapshot; open it like a recording. If the program does not allocate for a second,
/// heapglass copies it from outside.
///
/// A program that does not record is copied from outside (by ptrace, on x86-64), which pauses it
/// for about 50 ms per GB; it goes on while the copy is read. A core file needs no recording
/// either. The blocks are then those of glibc's malloc, with usable sizes and without the stacks
/// that allocated them; types need an executable with `debug = 2`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  heapglass snapshot 1234
  sudo heapglass snapshot $(pidof app) -o app.hgs
  heapglass snapshot app-1234.hg -o full.hgs
  heapglass snapshot core.1234 --binary target/release/app")]
pub(crate) struct Snapshot {
    /// Process ID of the program, its recording, or a core file
    #[arg(value_name = "PID|FILE|CORE")]
    pub(crate) target: PathBuf,
    /// Write to this file; `-` is standard output [default: the name of the recording in the
    /// working directory, as `app-1234.hgs`: with the process ID, and with a number if that is
    /// taken]
    #[arg(short, long, value_name = "OUT.hgs")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceSnapshot,
    /// Wait at most this many seconds until the program makes the copy [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) wait: Option<u64>,
    /// Stop a program that does not record while its memory is read, instead of copying it. The
    /// default for programs with a filter of system calls (seccomp)
    #[arg(long)]
    pub(crate) no_copy: bool,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

impl Snapshot {
    /// The time to wait for the copy.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(10))
    }

    /// Returns a flag given that is for programs that record.
    pub(crate) fn only_for_recordings(&self) -> Option<&'static str> {
        let wait = self.wait.map(|_| "--wait");
        wait.or_else(|| self.force.force_snapshot.then_some("--force-snapshot"))
    }
}

/// The flag for sandboxes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ForceSnapshot {
    /// Take snapshots even if the program has a filter of system calls that may kill it for making
    /// a copy of itself
    #[arg(long)]
    pub(crate) force_snapshot: bool,
}

/// The flags of commands that run a program.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TakeSnapshots {
    /// Take snapshots, which show who holds the heap and how full it is. WHEN is a list, separated
    /// by commas: `peak`: when more is live than ever. `exit`: at the end. `mark:NAME`: when
    /// the program sets this mark. `every:10s`: again and again. `signal`: when the program
    /// gets SIGUSR2. What the program takes with `snapshot(..)` is kept too [default without
    /// WHEN: peak,exit]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true,
        default_missing_value = "peak,exit", value_parser = Moments::parse)]
    pub(crate) snapshot: Option<Moments>,
    #[command(flatten)]
    pub(crate) force: ForceSnapshot,
    /// Containers that the program declares.
    #[arg(skip)]
    pub(crate) containers: Vec<DeclaredContainer>,
}

/// The moments of snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    pub(crate) at_peak: bool,
    pub(crate) at_exit: bool,
    pub(crate) at_signal: bool,
    pub(crate) marks: Vec<String>,
    pub(crate) every: Option<Duration>,
}

impl Moments {
    fn parse(text: &str) -> Result<Moments, String> {
        let mut moments = Moments::default();
        for word in text.split(',') {
            match (word, word.split_once(':')) {
                ("peak", _) => moments.at_peak = true,
                ("exit", _) => moments.at_exit = true,
                ("signal", _) => moments.at_signal = true,
                (_, Some(("mark", name))) if !name.is_empty() => {
                    moments.marks.push(name.to_owned());
                }
                (_, Some(("every", time))) => moments.every = Some(interval(time)?),
                _ => {
                    return Err(format!(
                        "unknown moment `{word}`; use peak, exit, signal, mark:NAME or every:10s"
                    ));
                }
            }
        }
        if moments.marks.len() > SNAPSHOT_MARKS {
            return Err(format!("at most {SNAPSHOT_MARKS} marks can have snapshots"));
        }
        Ok(moments)
    }
}

/// The shortest time between two snapshots. Each pauses the program.
const SHORTEST: Duration = Duration::from_millis(100);

/// The longest time between two snapshots.
const LONGEST: Duration = Duration::from_secs(86_400 * 60);

/// Parses `10s`, `10`, `2min` or `250ms`.
fn interval(text: &str) -> Result<Duration, String> {
    parse_nanos(text)
        .map(Duration::from_nanos)
        .filter(|time| (SHORTEST..=LONGEST).contains(time))
        .ok_or_else(|| format!("`{text}` is no time of at least 100ms; use `every:10s`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_a_list_of_words() {
        let moments = Moments::parse("peak,mark:a b,every:2m,signal,mark:c:d").unwrap();
        let expected = Moments {
            at_peak: true,
            at_exit: false,
            at_signal: true,
            marks: vec!["a b".to_owned(), "c:d".to_owned()],
            every: Some(Duration::from_secs(120)),
        };
        assert_eq!(moments, expected);
        for (word, milliseconds) in [
            ("250ms", 250),
            ("7", 7_000),
            ("10s", 10_000),
            ("2min", 120_000),
        ] {
            let moments = Moments::parse(&format!("every:{word}")).unwrap();
            assert_eq!(moments.every, Some(Duration::from_millis(milliseconds)));
        }
        for wrong in [
            "",
            "peek",
            "mark:",
            "mark",
            "every:0s",
            "every:x",
            "every:99ms",
            "every:",
            "exit,",
        ] {
            assert!(Moments::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Moments::parse("mark:1,mark:2,mark:3,mark:4,mark:5").is_err());
    }
}
