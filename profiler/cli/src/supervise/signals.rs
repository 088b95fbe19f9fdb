//! Passing signals on to the command.
//!
//! Signals that the terminal sends go to the whole foreground group, so the command has them already: passing those
//! on would double each Ctrl-C. Signals from another process are for heapglass alone and are passed on. Stopping and
//! continuing (Ctrl-Z) is left to the kernel. Signals that were ignored when heapglass was started (nohup) are not
//! touched, so that the command ignores them too.

use std::io;
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Origin;

use super::lock;

const PASSED_ON: [i32; 8] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
];

/// Those that mean "end".
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Signals are caught from here on, and kept until there is somebody to pass them on to.
pub(crate) type CaughtSignals = SignalsInfo<WithOrigin>;

/// Catches signals. Before the command is started, or one that comes meanwhile would end heapglass and leave it alone.
pub(crate) fn catch() -> io::Result<CaughtSignals> {
    let ignored = ignored_from_the_start();
    let wanted = PASSED_ON
        .into_iter()
        .filter(|&signal| ignored >> (signal - 1) & 1 == 0);
    CaughtSignals::new(wanted)
}

/// Who gets a signal that was caught.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    /// The command.
    Command(Pid),
    /// Nobody: the command is gone and may be reaped, and its recordings are being moved.
    Nobody,
    /// Heapglass: what it does can be broken off, and this is the status to end with.
    Heapglass(u8),
}

/// Passes signals on to a process from now on, or to whom the answer is set to.
pub(super) fn forward(mut signals: CaughtSignals, pid: u32) -> Arc<Mutex<Receiver>> {
    let command = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let receiver = command.map_or(Receiver::Nobody, Receiver::Command);
    let receiver = Arc::new(Mutex::new(receiver));
    let shared = Arc::clone(&receiver);
    std::thread::spawn(move || {
        for origin in signals.forever() {
            // Held while the signal is sent: the process cannot be reaped, and its id not given to another.
            let receiver = lock(&shared);
            match *receiver {
                Receiver::Command(pid) => pass_on(origin, pid),
                Receiver::Heapglass(status) if ENDING.contains(&origin.signal) => {
                    std::process::exit(status.into());
                }
                Receiver::Nobody | Receiver::Heapglass(_) => {}
            }
        }
    });
    receiver
}

/// Sends a signal to the command unless it has it already.
fn pass_on(origin: Origin, command: Pid) {
    let Some(sender) = origin.process else {
        // From the kernel: the terminal sent it to the whole foreground group.
        return;
    };
    if sender.pid != command.as_raw_nonzero().get()
        && let Some(signal) = Signal::from_named_raw(origin.signal)
    {
        let _ = kill_process(command, signal);
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
