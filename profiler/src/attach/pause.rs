//! Pausing and resuming the recording of a running program, by a word in the recording.
//!
//! Needs nothing of the process but its file, so this also works into containers.

use super::error::{Error, Kind};
use super::followed::{Followed, Quiet};
use super::known_header;
use std::fs::{File, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tracking_alloc_recording::{EXCHANGE_OFFSET, Exchange, Writer};

/// The interval between looks whether the program has followed.
const LOOKS: Duration = Duration::from_millis(2);

/// Asks a running program to pause its recording or to record again, and waits until it has, which
/// it does at one of its next allocations. The answer is the time in the recording at which it was
/// paused, or 0 if it records.
///
/// # Errors
/// Returns an error if the program has ended, or if its recording cannot be read or written.
pub fn set_paused(
    path: &Path,
    is_paused: bool,
    patience: Duration,
) -> Result<Followed<u64>, Error> {
    let file = ask_paused(path, is_paused)?;
    let begun = Instant::now();
    let quiet = Quiet::begin(&known_header(path, &file, Kind::Over)?);
    loop {
        let header = known_header(path, &file, Kind::Over)?;
        if Writer::of(&header).is_gone() {
            return Err(Error::new(path, Kind::Over));
        }
        if (header.paused_since_ns != 0) == is_paused {
            return Ok(Followed::Yes(header.paused_since_ns));
        }
        if begun.elapsed() >= patience {
            return Ok(quiet.not_yet(&header));
        }
        std::thread::sleep(LOOKS);
    }
}

/// Asks a running program like [`set_paused`], without a wait. Returns the file of the recording.
///
/// # Errors
/// The same as for [`set_paused`].
pub fn ask_paused(path: &Path, is_paused: bool) -> Result<File, Error> {
    let fail = |kind| Error::new(path, kind);
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| fail(Kind::NotWritable(error)))?;
    let header = known_header(path, &file, Kind::Over)?;
    if Writer::of(&header).is_gone() {
        return Err(fail(Kind::Over));
    }
    let offset = EXCHANGE_OFFSET + offset_of!(Exchange, paused);
    let word = u32::from(is_paused).to_le_bytes();
    file.write_all_at(&word, offset as u64)
        .map_err(|error| fail(Kind::NotWritable(error)))?;
    Ok(file)
}
