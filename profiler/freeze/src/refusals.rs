//! Facts that `/proc` tells of a process before it is touched, and the reasons to leave it alone.

use crate::error::Error;
use crate::ptrace;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// The machine of x86-64, and the class of files for 64 bits.
const MACHINE: [u8; 2] = [62, 0];
const CLASS: u8 = 2;

/// Some lines of `/proc/PID/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// `R`, `S`, `Z`, ..
    state: char,
    /// The process of a thread.
    process: u32,
    tracer: u32,
    /// The user that owns the process.
    user: u32,
    is_kernel: bool,
    /// 0: no filter of system calls; 1: four calls only; 2: filters.
    filter: u32,
    has_shadow_stack: bool,
}

impl Status {
    fn parse(text: &str) -> Status {
        let mut status = Status::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let mut words = value.split_ascii_whitespace();
            let word = words.next().unwrap_or_default();
            let number = word.parse::<u32>().unwrap_or(0);
            match key {
                "State" => status.state = word.chars().next().unwrap_or_default(),
                "Tgid" => status.process = number,
                "TracerPid" => status.tracer = number,
                "Uid" => status.user = number,
                "Kthread" => status.is_kernel = number != 0,
                "Seccomp" => status.filter = number,
                "x86_Thread_features" => {
                    status.has_shadow_stack = value.contains("shstk");
                }
                _ => {}
            }
        }
        status
    }

    /// Reads the status of a thread.
    pub(crate) fn of(process: u32, thread: u32) -> io::Result<Status> {
        let text = fs::read(format!("/proc/{process}/task/{thread}/status"))?;
        Ok(Status::parse(&String::from_utf8_lossy(&text)))
    }

    /// Returns the reason why a thread must make no call for us. `is_forced` if a filter of system
    /// calls is none.
    pub(crate) fn forbids_calls(&self, is_forced: bool) -> Option<&'static str> {
        if self.has_filter() && !is_forced {
            Some(
                "it has a filter of system calls (seccomp), which may kill it for a call that it does not expect",
            )
        } else if self.has_shadow_stack {
            Some("it has a shadow stack")
        } else {
            None
        }
    }

    /// Returns `true` for a thread with a filter of system calls.
    pub(crate) fn has_filter(&self) -> bool {
        self.filter != 0
    }

    /// Returns `true` for a thread that may make four system calls only.
    pub(crate) fn is_strict(&self) -> bool {
        self.filter == 1
    }

    /// Returns `true` for a process that a signal has stopped.
    pub(crate) fn is_suspended(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// Returns `true` for a thread that is ending.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// Checks that a process can be frozen.
pub(crate) fn check(process: u32) -> Result<Status, Error> {
    if process == std::process::id() {
        return Err(Error::Itself);
    }
    let gone = |_| Error::NoProcess;
    let status = fs::read(format!("/proc/{process}/status")).map_err(gone)?;
    let status = Status::parse(&String::from_utf8_lossy(&status));
    if status.process != process {
        return Err(Error::ThreadOf(status.process));
    }
    if status.is_ending() {
        return Err(Error::Ended);
    }
    if status.is_kernel {
        return Err(Error::Kernel);
    }
    if status.tracer != 0 {
        // The kernel names the thread that traces.
        let tracer = Status::of(status.tracer, status.tracer);
        let by = tracer.map_or(status.tracer, |tracer| tracer.process);
        return Err(Error::Traced {
            by,
            name: name(&format!("/proc/{by}/comm")),
        });
    }
    match File::open(format!("/proc/{process}/exe")) {
        Ok(file) => is_known(&file)?,
        // Older kernels do not say that a process is theirs; it has no memory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let maps = fs::read(format!("/proc/{process}/maps"));
            if maps.is_ok_and(|maps| maps.is_empty()) {
                return Err(Error::Kernel);
            }
        }
        Err(error) => return Err(forbidden(&status, error)),
    }
    Ok(status)
}

fn is_known(file: &File) -> Result<(), Error> {
    let mut start = [0; 20];
    let is_read = file.read_exact_at(&mut start, 0).is_ok();
    let is_ours = start.starts_with(b"\x7fELF") && start[4] == CLASS && start[18..] == MACHINE;
    if is_read && is_ours {
        Ok(())
    } else {
        Err(Error::OtherMachine)
    }
}

/// Returns the reason why the kernel refuses.
pub(crate) fn forbidden(status: &Status, error: io::Error) -> Error {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.ok().and_then(|scope| scope.trim().parse().ok());
    reason(status, ptrace::effective_user(), scope.unwrap_or(0), error)
}

fn reason(status: &Status, user: u32, yama: u8, error: io::Error) -> Error {
    match error.raw_os_error() {
        // Sandboxes may say that there is no such call.
        Some(libc::EACCES | libc::EPERM | libc::ENOSYS) => {}
        Some(libc::ESRCH) => return Error::NoProcess,
        _ => {
            return Error::Failed {
                what: "open its memory",
                error,
            };
        }
    }
    if yama >= 3 {
        Error::Yama(yama)
    } else if user != 0 && status.user != user {
        Error::OtherUser { user: status.user }
    } else if user != 0 && yama > 0 {
        Error::Yama(yama)
    } else {
        Error::Forbidden(error)
    }
}

/// Returns the name in a file such as `/proc/PID/comm`, without characters that control terminals.
pub(crate) fn name(path: &str) -> String {
    let name = fs::read(path).unwrap_or_default();
    let name = String::from_utf8_lossy(&name);
    let name = name.trim_end().chars();
    name.map(|char| if char.is_control() { '?' } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_status_are_found_and_others_are_skipped() {
        let text = "Name:\tState: Z\nState:\tS (sleeping)\nTgid:\t77\nTracerPid:\t5\n\
            Uid:\t1000\t0\t0\t0\nNoNewPrivs:\t1\nSeccomp:\t2\nnonsense\n";
        let status = Status::parse(text);
        let expected = Status {
            state: 'S',
            process: 77,
            tracer: 5,
            user: 1000,
            filter: 2,
            ..Status::default()
        };
        assert_eq!(status, expected);
        assert!(
            status
                .forbids_calls(false)
                .is_some_and(|why| why.contains("seccomp"))
        );
        let status = Status::parse("x86_Thread_features:\tshstk \nSeccomp:\t0\n");
        assert!(
            status
                .forbids_calls(false)
                .is_some_and(|why| why.contains("shadow"))
        );
        assert_eq!(Status::parse("Seccomp:\t0\n").forbids_calls(false), None);
    }

    #[test]
    fn only_programs_of_our_machine_are_known() {
        let own = std::env::current_exe().expect("a path");
        let start = fs::read(own).expect("a file")[..64].to_vec();
        for (at, byte, is_ours) in [(4, 2, true), (4, 1, false), (18, 183, false), (0, 0, false)] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("file");
            let mut start = start.clone();
            start[at] = byte;
            fs::write(&path, start).expect("written");
            let file = File::open(path).expect("a file");
            assert_eq!(is_known(&file).is_ok(), is_ours, "{at}");
        }
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let of = |user| Status {
            user,
            ..Status::default()
        };
        let forbidden = || io::Error::from_raw_os_error(libc::EACCES);
        for (owner, user, yama, says) in [
            (7, 1000, 0, "user with the ID 7"),
            (0, 1000, 1, "user with the ID 0"),
            (1000, 1000, 1, "sysctl kernel.yama.ptrace_scope=0"),
            (1000, 1000, 2, "setcap cap_sys_ptrace+ep"),
            (1000, 1000, 3, "heapglass snapshot CORE"),
            (0, 0, 3, "heapglass snapshot CORE"),
            (1000, 1000, 0, "--cap-add SYS_PTRACE"),
            (0, 0, 0, "--cap-add SYS_PTRACE"),
        ] {
            let text = reason(&of(owner), user, yama, forbidden()).to_string();
            assert!(text.contains(says), "{owner} {user} {yama}: {text}");
        }
        let gone = io::Error::from_raw_os_error(libc::ESRCH);
        assert!(matches!(reason(&of(0), 0, 0, gone), Error::NoProcess));
    }
}
