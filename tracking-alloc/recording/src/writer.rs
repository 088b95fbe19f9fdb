//! The state of the process that writes a recording: one rule for every reader.
//!
//! A writer counts as live unless it is proved dead. The rule is a function of the header and of
//! the reader's findings about the process.

use crate::layout::{HeaderValue, state};

/// The state of the process that writes or wrote a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The process finished the recording normally.
    Finished,
    /// The recording is a copy, made before the process finished it.
    Copied,
    /// The process is running.
    Running,
    /// The process ended without finishing the recording.
    Ended,
    /// The process ran before the last boot, or on another machine.
    OtherBoot,
    /// Unknown: the process is in another PID namespace, or there is no `/proc`.
    Unknown,
}

/// The boot and PID namespace of a process; zeros where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The kernel's boot id.
    pub boot_id: [u64; 2],
    /// Inode of the PID namespace.
    pub pid_namespace: u64,
}

/// The kernel's information on a process ID in the PID namespace of the calling process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEntry {
    /// There is no such process.
    Gone,
    /// There is a process.
    Present(ProcessStat),
    /// The process table cannot be read.
    Unknown,
}

/// The fields of `/proc/PID/stat` that distinguish a process from a later one with the same ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// One letter: `Z` for a zombie.
    pub state: u8,
    /// Number of threads.
    pub threads: u64,
    /// Start time, clock ticks since the boot.
    pub start_ticks: u64,
}

impl ProcessStat {
    /// Parses `/proc/PID/stat`.
    pub fn parse(text: &[u8]) -> Option<ProcessStat> {
        // The second field is the command in parentheses and may hold anything: count from its end.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let mut fields = text
            .get(end + 1..)?
            .split(u8::is_ascii_whitespace)
            .filter(|field| !field.is_empty());
        let state = *fields.next()?.first()?;
        let threads = number(fields.nth(16)?)?;
        let start_ticks = number(fields.nth(1)?)?;
        Some(ProcessStat {
            state,
            threads,
            start_ticks,
        })
    }

    /// Returns `true` if no thread of the process runs any more. A first thread that ended before
    /// others is a zombie too, but its process is alive.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns `true` if a `/proc/self/status` belongs to a `/proc` of the reading process's own PID
/// namespace. In an outer namespace the same process IDs mean other processes.
pub fn is_own_proc(status: &[u8]) -> bool {
    let numbers = status
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"NSpid:"));
    numbers.is_some_and(|numbers| {
        let found = numbers.split(u8::is_ascii_whitespace);
        found.filter(|number| !number.is_empty()).count() == 1
    })
}

impl Writer {
    /// Returns the state of the writer of a recording. `asker` describes the calling process, and
    /// `entry` looks up a process ID.
    pub fn judge(
        header: &HeaderValue,
        asker: Host,
        entry: impl FnOnce(u32) -> ProcessEntry,
    ) -> Writer {
        match header.state {
            // Nobody writes to the sum of others, or to what a snapshot found.
            state::FINISHED | state::MERGED | state::NOT_RECORDED => return Writer::Finished,
            state::COPIED => return Writer::Copied,
            _ => {}
        }
        if header.boot_id == [0; 2] || asker.boot_id == [0; 2] {
            return Writer::Unknown;
        }
        if header.boot_id != asker.boot_id {
            return Writer::OtherBoot;
        }
        if header.pid_namespace == 0 || header.pid_namespace != asker.pid_namespace {
            return Writer::Unknown;
        }
        match entry(header.pid) {
            ProcessEntry::Gone => Writer::Ended,
            ProcessEntry::Present(stat) if stat.has_ended() => Writer::Ended,
            ProcessEntry::Present(_) if header.start_ticks == 0 => Writer::Unknown,
            ProcessEntry::Present(stat) if stat.start_ticks == header.start_ticks => {
                Writer::Running
            }
            ProcessEntry::Present(_) => Writer::Ended,
            ProcessEntry::Unknown => Writer::Unknown,
        }
    }

    /// Returns `true` if nobody writes to the recording any more.
    ///
    /// Another boot proves it: a recording is written through a mapping, which works only on local
    /// file systems (ext, xfs, tmpfs), so the machine that wrote it has been restarted.
    pub fn is_gone(self) -> bool {
        match self {
            Writer::Finished | Writer::Copied | Writer::Ended | Writer::OtherBoot => true,
            Writer::Running | Writer::Unknown => false,
        }
    }

    /// Returns the state of the writer of a recording, as far as this process can tell.
    pub fn of(header: &HeaderValue) -> Writer {
        Writer::judge(header, Host::current(), process_entry)
    }
}

impl Host {
    /// Parses `/proc/sys/kernel/random/boot_id` and the target of the link `/proc/self/ns/pid`.
    pub fn parse(boot_id: &[u8], pid_namespace: &[u8]) -> Host {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let digits = boot_id.iter().filter_map(digit).take(32);
        let boot_id = digits.fold(0, |id, digit| id << 4 | u128::from(digit));
        let inode = pid_namespace
            .strip_prefix(b"pid:[")
            .and_then(|rest| number(rest.strip_suffix(b"]")?));
        Host {
            boot_id: [(boot_id >> 64) as u64, boot_id as u64],
            pid_namespace: inode.unwrap_or(0),
        }
    }

    /// Returns the boot and PID namespace of this process.
    pub fn current() -> Host {
        let boot_id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Host::parse(&boot_id, link.as_os_str().as_encoded_bytes())
    }
}

/// Reads the information on a process ID from `/proc`.
fn process_entry(pid: u32) -> ProcessEntry {
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    // If even process 1 is hidden (hidepid), a missing entry proves nothing.
    if !is_own_proc(&status) || !std::path::Path::new("/proc/1").exists() {
        return ProcessEntry::Unknown;
    }
    match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => ProcessStat::parse(&text).map_or(ProcessEntry::Unknown, ProcessEntry::Present),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ProcessEntry::Gone,
        // ESRCH: the process ended during the read.
        Err(error) if error.raw_os_error() == Some(3) => ProcessEntry::Gone,
        Err(_) => ProcessEntry::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Host = Host {
        boot_id: [1, 2],
        pid_namespace: 3,
    };
    const STAT: ProcessStat = ProcessStat {
        state: b'S',
        threads: 1,
        start_ticks: 77,
    };

    fn running() -> HeaderValue {
        HeaderValue {
            state: state::RUNNING,
            boot_id: [1, 2],
            pid_namespace: 3,
            pid: 9,
            start_ticks: 77,
            ..HeaderValue::default()
        }
    }

    fn judge(header: HeaderValue, entry: ProcessEntry) -> Writer {
        Writer::judge(&header, HOST, |pid| {
            assert_eq!(pid, 9);
            entry
        })
    }

    #[test]
    fn only_what_is_proved_dead_is_dead() {
        let present = ProcessEntry::Present;
        for (entry, writer) in [
            (present(STAT), Writer::Running),
            (ProcessEntry::Gone, Writer::Ended),
            (
                present(ProcessStat {
                    start_ticks: 78,
                    ..STAT
                }),
                Writer::Ended,
            ),
            (
                present(ProcessStat {
                    state: b'Z',
                    ..STAT
                }),
                Writer::Ended,
            ),
            (
                present(ProcessStat {
                    state: b'Z',
                    threads: 2,
                    ..STAT
                }),
                Writer::Running,
            ),
            (ProcessEntry::Unknown, Writer::Unknown),
        ] {
            assert_eq!(judge(running(), entry), writer, "{entry:?}");
        }
        let headers = [
            (
                HeaderValue {
                    pid_namespace: 4,
                    ..running()
                },
                Writer::Unknown,
            ),
            (
                HeaderValue {
                    pid_namespace: 0,
                    ..running()
                },
                Writer::Unknown,
            ),
            (
                HeaderValue {
                    boot_id: [0, 0],
                    ..running()
                },
                Writer::Unknown,
            ),
            (
                HeaderValue {
                    boot_id: [1, 1],
                    ..running()
                },
                Writer::OtherBoot,
            ),
            (
                HeaderValue {
                    state: state::FINISHED,
                    ..running()
                },
                Writer::Finished,
            ),
        ];
        for (header, writer) in headers {
            assert_eq!(judge(header, ProcessEntry::Gone), writer, "{header:?}");
        }
        // The writer could not read its own start time, so a process with its ID proves nothing.
        let unknown_start = HeaderValue {
            start_ticks: 0,
            ..running()
        };
        assert_eq!(judge(unknown_start, present(STAT)), Writer::Unknown);
        assert_eq!(
            Writer::judge(&running(), Host::default(), |_| ProcessEntry::Gone),
            Writer::Unknown
        );
    }

    #[test]
    fn another_boot_proves_the_end_of_a_recording() {
        assert!(Writer::OtherBoot.is_gone());
        assert!(Writer::Ended.is_gone());
        assert!(!Writer::Unknown.is_gone());
    }

    #[test]
    fn a_stat_is_parsed_whatever_the_program_is_called() {
        let text = b"12 (a) Z 3 (b) R 1 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 5 0 4711 2 3";
        let stat = ProcessStat {
            state: b'R',
            threads: 5,
            start_ticks: 4711,
        };
        assert_eq!(ProcessStat::parse(text), Some(stat));
        assert_eq!(ProcessStat::parse(b"12 (a"), None);
        assert_eq!(ProcessStat::parse(b"12 (a) S 1 2"), None);
    }

    #[test]
    fn a_proc_of_an_outer_namespace_is_known_by_its_numbers() {
        assert!(is_own_proc(b"Name:\tx\nNSpid:\t12\nThreads:\t1\n"));
        assert!(!is_own_proc(b"Name:\tx\nNSpid:\t4711\t12\n"));
        assert!(!is_own_proc(b"Name:\tx\n"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs() {
        let host = Host::current();
        let stat = std::fs::read("/proc/self/stat").unwrap();
        let header = HeaderValue {
            boot_id: host.boot_id,
            pid_namespace: host.pid_namespace,
            pid: std::process::id(),
            start_ticks: ProcessStat::parse(&stat).unwrap().start_ticks,
            ..running()
        };
        assert_eq!(Writer::of(&header), Writer::Running);
        let later = HeaderValue {
            start_ticks: header.start_ticks + 1,
            ..header
        };
        assert_eq!(Writer::of(&later), Writer::Ended);
    }
}
