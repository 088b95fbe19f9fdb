//! Changing the mode of a running program's recording, by words in the recording.
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
use tracking_alloc_recording::{
    EXCHANGE_OFFSET, Exchange, ExchangeValue, HeaderValue, Record, Writer, change_refused, mode,
};

/// The interval between looks whether the program has followed.
const LOOKS: Duration = Duration::from_millis(2);

/// Asks a running program to record samples, or to change their mean (`None` = as it is), and waits
/// until it has, which it does at one of its next allocations. The answer is the mean number of
/// bytes from one sample to the next.
///
/// # Errors
/// Returns an error if the program has ended, if its recording cannot be read or written, or if it
/// refuses.
pub fn set_sampling(
    path: &Path,
    sample_bytes: Option<u64>,
    patience: Duration,
) -> Result<Followed<u64>, Error> {
    let fail = |kind| Error::new(path, kind);
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| fail(Kind::NotWritable(error)))?;
    let quiet = Quiet::begin(&running(path, &file)?);
    let before = exchange(&file).map_err(|error| fail(Kind::NotWritable(error)))?;
    let write = |bytes: &[u8], offset: usize| {
        let offset = (EXCHANGE_OFFSET + offset) as u64;
        file.write_all_at(bytes, offset)
            .map_err(|error| fail(Kind::NotWritable(error)))
    };
    let bytes = sample_bytes.unwrap_or(0).to_le_bytes();
    write(&bytes, offset_of!(Exchange, sample_bytes))?;
    // The mode last: the program looks at it first.
    write(&mode::SAMPLE.to_le_bytes(), offset_of!(Exchange, mode))?;
    let begun = Instant::now();
    loop {
        // The answer first: the program stores its mean before it answers.
        let now = exchange(&file).map_err(|error| fail(Kind::NotWritable(error)))?;
        let header = running(path, &file)?;
        if now.mode_answers != before.mode_answers {
            return match now.refused {
                change_refused::NOTHING => Ok(Followed::Yes(header.sample_bytes)),
                reason => Err(fail(Kind::RefusedChange(reason))),
            };
        }
        if begun.elapsed() >= patience {
            return Ok(quiet.not_yet(&header));
        }
        std::thread::sleep(LOOKS);
    }
}

/// Returns the header of a program that still records.
fn running(path: &Path, file: &File) -> Result<HeaderValue, Error> {
    let header = known_header(path, file, Kind::Over)?;
    if Writer::of(&header).is_gone() {
        return Err(Error::new(path, Kind::Over));
    }
    Ok(header)
}

fn exchange(file: &File) -> std::io::Result<ExchangeValue> {
    let mut bytes = vec![0; ExchangeValue::SIZE];
    file.read_exact_at(&mut bytes, EXCHANGE_OFFSET as u64)?;
    Ok(ExchangeValue::parse(&bytes))
}
