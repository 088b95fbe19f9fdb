//! The paused copy of a program: its memory, and its end.

use super::error::Kind;
use crate::image::maps::{self, Mapping};
use crate::snapshot::{Memory, Page, PageMap};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tracking_alloc_recording::ExchangeValue;

/// A copy that was found to be one. It is ended as soon as this is dropped.
#[derive(Debug)]
pub(super) struct Copy {
    process: u32,
    /// `None` once it was ended.
    handle: Mutex<Option<OwnedFd>>,
    memory: File,
    /// `None` if the kernel does not tell which pages are resident.
    pages: Option<PageMap>,
}

impl Copy {
    /// Opens the copy that an answer names. `program` is the program's process, and `recording` the
    /// inode of its recording.
    pub(super) fn open(answer: &ExchangeValue, program: u32, recording: u64) -> Result<Copy, Kind> {
        let process = answer.copy;
        let not_a_copy = || Kind::NotACopy(process);
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(not_a_copy)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| not_a_copy())?;
        // From here on the number cannot pass to another process unnoticed: the handle is of the
        // process that had it before these questions.
        if process == program || process == std::process::id() {
            return Err(not_a_copy());
        }
        let path = |file: &str| format!("/proc/{process}/{file}");
        let is_child = fs::read_to_string(path("stat"))
            .is_ok_and(|stat| parent_and_threads(&stat) == Some((program, 1)));
        let memory = File::open(path("mem"));
        if !is_child && !maps_recording(&path("maps"), recording) {
            return Err(match memory {
                // Without rights, nothing can be told of it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => forbidden(error),
                _ => not_a_copy(),
            });
        }
        let copy = |memory| Copy {
            process,
            handle: Mutex::new(Some(handle)),
            memory,
            pages: PageMap::open(Path::new(&format!("/proc/{process}"))).ok(),
        };
        match memory {
            Ok(memory) => Ok(copy(memory)),
            Err(error) => {
                // It is ended all the same.
                if let Ok(null) = File::open("/dev/null") {
                    drop(copy(null));
                }
                Err(match error.kind() {
                    io::ErrorKind::PermissionDenied => forbidden(error),
                    io::ErrorKind::NotFound => not_a_copy(),
                    _ => Kind::Memory(error),
                })
            }
        }
    }

    /// Ends the copy. Its memory cannot be read any more.
    pub(super) fn end(&self) {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handle.take() {
            // An error means that it has ended.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    /// Returns the mappings.
    pub(super) fn mappings(&self) -> io::Result<Vec<Mapping>> {
        let text = |file| fs::read(format!("/proc/{}/{file}", self.process));
        // A kernel may have no smaps.
        let text = text("smaps").or_else(|_| text("maps"))?;
        Ok(maps::parse(&String::from_utf8_lossy(&text)))
    }

    /// Returns the stack pointer of the thread that made the copy.
    pub(super) fn stack_pointer(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/syscall", self.process)).ok()?;
        let mut words = text.split_ascii_whitespace().rev();
        let _program_counter = words.next()?;
        u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.end();
    }
}

impl Memory for Copy {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        // An offset that does not fit is no address of a program.
        if i64::try_from(address).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.memory.read_exact_at(buffer, address)
    }

    fn page_bytes(&self) -> u64 {
        self.pages.as_ref().map_or(4096, PageMap::page_bytes)
    }

    fn pages(&self, address: u64, count: usize, pages: &mut Vec<Page>) -> Option<()> {
        self.pages.as_ref()?.pages(address, count, pages).ok()
    }

    fn finished(&self) {
        self.end();
    }
}

fn forbidden(error: io::Error) -> Kind {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let yama = scope.ok().and_then(|scope| scope.trim().parse().ok());
    Kind::Forbidden {
        yama: yama.unwrap_or(0),
        error,
    }
}

/// Returns the parent and the number of threads in the text of `/proc/PID/stat`.
fn parent_and_threads(stat: &str) -> Option<(u32, u32)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let parent = fields.nth(1)?.parse().ok()?;
    let threads = fields.nth(15)?.parse().ok()?;
    Some((parent, threads))
}

/// Returns `true` if a process has the recording mapped. A program that has ended is the parent of
/// nobody, and its copy still has.
fn maps_recording(maps: &str, inode: u64) -> bool {
    let text = fs::read(maps).unwrap_or_default();
    let mappings = maps::parse(&String::from_utf8_lossy(&text));
    let mut shared = mappings.iter().filter(|mapping| !mapping.is_private);
    shared.any(|mapping| mapping.inode == inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_and_threads_are_found_behind_any_name() {
        let own = fs::read_to_string("/proc/self/stat").expect("a line");
        let (parent, threads) = parent_and_threads(&own).expect("both");
        assert_eq!(parent, std::os::unix::process::parent_id());
        assert!(threads >= 1);
        assert_eq!(parent_and_threads("1 (a) b) S 7 "), None);
    }

    #[test]
    fn a_process_that_is_no_copy_is_left_alone() {
        let mut other = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .expect("it starts");
        for process in [other.id(), std::process::id(), 0, u32::MAX, 1] {
            let answer = ExchangeValue {
                copy: process,
                ..ExchangeValue::default()
            };
            assert!(Copy::open(&answer, 1, 1).is_err(), "{process}");
        }
        assert!(other.try_wait().expect("asked").is_none());
        let _ = other.kill();
        let _ = other.wait();
    }
}
