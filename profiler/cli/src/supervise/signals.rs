//! Passes signals on to the command.
//!
//! The terminal sends its signals to the whole foreground group, so the command already has them,
//! and passing them on would double each Ctrl-C. Signals from another process reach only heapglass
//! and are passed on. The kernel handles stopping and continuing (Ctrl-Z). Signals that were
//! ignored when heapglass started (nohup) stay ignored, so that the command ignores them too.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Origin;

use super::lock;
use crate::files::leftovers::{self, ENDING, leave_signals, remove_all};
use crate::terminal;

const PASSED_ON: [i32; 8] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
];

/// Caught signals, kept until there is a process to pass them on to.
pub(crate) type CaughtSignals = SignalsInfo<WithOrigin>;

/// Catches signals. Must run before the command starts: a signal in between would end heapglass and
/// leave the command alone.
pub(crate) fn catch() -> io::Result<CaughtSignals> {
    let caught = leftovers::catch(&PASSED_ON)?;
    leave_signals();
    Ok(caught)
}

/// The receiver of caught signals.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    /// The command, while it runs.
    Command(Pid),
    /// Nobody: the command has ended and may be reaped, and its recordings are being moved.
    Nobody,
    /// The reader of snapshots, which then reads no more. At the next signal, heapglass ends with
    /// this status.
    Reader(u8),
    /// Heapglass itself, which then ends with this status. Its work can be interrupted.
    Heapglass(u8),
}

/// Passes signals on to a process until the returned receiver is changed. `stops_reading` ends the
/// reader of snapshots.
pub(super) fn forward(
    mut signals: CaughtSignals,
    pid: u32,
    stops_reading: Arc<AtomicBool>,
) -> Arc<Mutex<Receiver>> {
    let command = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let receiver = command.map_or(Receiver::Nobody, Receiver::Command);
    let receiver = Arc::new(Mutex::new(receiver));
    let shared = Arc::clone(&receiver);
    std::thread::spawn(move || {
        for origin in signals.forever() {
            // Hold the lock while sending, so that the process cannot be reaped and its id reused.
            let receiver = lock(&shared);
            match *receiver {
                Receiver::Command(pid) => pass_on(origin, pid),
                Receiver::Reader(_)
                    if ENDING.contains(&origin.signal) && !stops_reading.swap(true, Relaxed) =>
                {
                    terminal::eprint_line(
                        "heapglass: interrupted; keeping the recording and the snapshots that were read",
                    );
                }
                Receiver::Reader(status) | Receiver::Heapglass(status)
                    if ENDING.contains(&origin.signal) =>
                {
                    // This drops nothing.
                    remove_all();
                    std::process::exit(status.into());
                }
                Receiver::Nobody | Receiver::Reader(_) | Receiver::Heapglass(_) => {}
            }
        }
    });
    receiver
}

/// Sends a signal to the command, unless the command already has it.
fn pass_on(origin: Origin, command: Pid) {
    let Some(sender) = origin.process else {
        // The signal came from the kernel: the terminal sent it to the whole foreground group.
        return;
    };
    if sender.pid != command.as_raw_nonzero().get()
        && let Some(signal) = Signal::from_named_raw(origin.signal)
    {
        let _ = kill_process(command, signal);
    }
}
