//! Passing signals on to the command.
//!
//! Signals that the terminal sends go to the whole foreground group, so the command has them already: passing those
//! on would double each Ctrl-C. Signals from another process are for heapglass alone and are passed on. Stopping and
//! continuing (Ctrl-Z) is left to the kernel. Signals that were ignored when heapglass was started (nohup) are not
//! touched, so that the command ignores them too.

use std::io;
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};

const PASSED_ON: [i32; 8] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
];

/// Signals are caught from here on, and kept until there is somebody to pass them on to.
pub(crate) struct Caught(SignalsInfo<WithOrigin>);

/// Catches signals. Before the command is started, or one that comes meanwhile would end heapglass and leave it alone.
pub(crate) fn catch() -> io::Result<Caught> {
    let ignored = ignored_from_the_start();
    let wanted = PASSED_ON
        .into_iter()
        .filter(|&signal| ignored >> (signal - 1) & 1 == 0);
    SignalsInfo::new(wanted).map(Caught)
}

impl Caught {
    /// Passes them on until stopped.
    pub(crate) fn forward_to(self, pid: u32) -> Forwarding {
        let mut signals = self.0;
        let handle = signals.handle();
        let thread = std::thread::spawn(move || {
            let Some(child) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
                return;
            };
            for origin in signals.forever() {
                let Some(sender) = origin.process else {
                    continue;
                };
                if sender.pid == child.as_raw_nonzero().get() {
                    continue;
                }
                if let Some(signal) = Signal::from_named_raw(origin.signal) {
                    let _ = kill_process(child, signal);
                }
            }
        });
        Forwarding { handle, thread }
    }
}

/// Passing on goes on until this is stopped.
pub(crate) struct Forwarding {
    handle: Handle,
    thread: JoinHandle<()>,
}

impl Forwarding {
    /// Passes nothing on any more; returns when no signal is on its way. Signals stay caught: heapglass has a
    /// summary to finish, and is done soon.
    pub(crate) fn stop(self) {
        self.handle.close();
        let _ = self.thread.join();
    }
}

/// The mask of signals ignored by this process before it touched any; 0 where that cannot be read.
fn ignored_from_the_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0)
}
