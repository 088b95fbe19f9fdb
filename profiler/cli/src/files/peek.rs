//! A glance at a recording: its header only, to list it, to name it and to know whether it is still written.
//!
//! Must never compute a figure: figures come from the profile, so that they agree everywhere.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tracking_alloc_recording::{HEADER_BYTES, HeaderValue, MAGIC, Record, Recording, state};

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peek {
    pub(crate) header: HeaderValue,
}

/// Reads the header of the regular file at `path`; `None` when it is no recording.
pub(crate) fn peek(path: &Path) -> Option<Peek> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    let file = File::open(path).ok()?;
    file.take(HEADER_BYTES).read_to_end(&mut bytes).ok()?;
    let header = HeaderValue::parse(&bytes);
    (bytes.len() >= HeaderValue::SIZE && header.magic == MAGIC).then_some(Peek { header })
}

impl Peek {
    /// Whether the file only says where the recording is.
    pub(crate) fn is_pointer(self) -> bool {
        self.header.state == state::ELSEWHERE
    }

    /// Whether its process lives and still writes. When that cannot be known (another machine, another pid
    /// namespace) it is taken for ended.
    pub(crate) fn is_being_written(self) -> bool {
        let header = &self.header;
        header.state == state::RUNNING
            && (header.pid_namespace == 0
                || pid_namespace().is_none_or(|ours| ours == header.pid_namespace))
            && (header.boot_id == [0; 2] || boot_id().is_none_or(|ours| ours == header.boot_id))
            && start_ticks(header.pid).is_some_and(|ticks| ticks == header.start_ticks)
    }
}

/// Where the recording lies that the file at `path` points to.
pub(crate) fn pointed_at(path: &Path) -> Option<PathBuf> {
    match Recording::open(path) {
        Err(error) => error.live_path().map(PathBuf::from),
        Ok(_) => None,
    }
}

/// Start time of a process that runs, in clock ticks; `None` when there is no such process or it is a zombie.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, further parentheses included.
    let fields: Vec<&str> = stat
        .get(stat.rfind(')')? + 1..)?
        .split_ascii_whitespace()
        .collect();
    if matches!(*fields.first()?, "Z" | "X" | "x") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

fn pid_namespace() -> Option<u64> {
    #[cfg(unix)]
    {
        let metadata = std::fs::metadata("/proc/self/ns/pid").ok()?;
        Some(std::os::unix::fs::MetadataExt::ino(&metadata))
    }
    #[cfg(not(unix))]
    None
}

fn boot_id() -> Option<[u64; 2]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some([(number >> 64) as u64, number as u64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_process_zero_does_not() {
        assert!(start_ticks(std::process::id()).is_some_and(|ticks| ticks > 0));
        assert_eq!(start_ticks(0), None);
    }

    #[test]
    fn a_file_of_something_else_is_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hg");
        std::fs::write(&path, "hello").unwrap();
        assert!(peek(&path).is_none());
        assert!(peek(folder.path()).is_none());
    }
}
