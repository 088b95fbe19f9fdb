//! Who writes a recording, as its header says it.

use crate::sys::{self, File};
use std::mem::offset_of;
use std::ops::Range;
use tracking_alloc_recording::{Header, HeaderValue, Host, Record};

/// The words by which who meets a new file can tell whether it will ever be a recording.
const SIGNED: Range<usize> = offset_of!(Header, state)..offset_of!(Header, started_unix_ns);

/// The header of a recording that this process writes, as far as it says whose it is.
pub(crate) fn own_header(state: u32) -> HeaderValue {
    let Host {
        boot_id,
        pid_namespace,
    } = sys::host();
    HeaderValue {
        state,
        pid: std::process::id(),
        start_ticks: sys::start_ticks(),
        boot_id,
        pid_namespace,
        ..HeaderValue::default()
    }
}

/// A header's bytes.
pub(super) fn header_bytes(header: &HeaderValue) -> [u8; HeaderValue::SIZE] {
    let mut bytes = [0; HeaderValue::SIZE];
    header.write(&mut bytes);
    bytes
}

/// Writes into a new file whose it is, before it is a recording. One write: whole or not there.
pub(super) fn sign(file: &File, header: &HeaderValue) -> Result<(), i32> {
    file.write_at(&header_bytes(header)[SIGNED], SIGNED.start as u64)
}
