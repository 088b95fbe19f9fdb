//! The identity of the writing process in the header.

use crate::sys::{self, File};
use std::mem::offset_of;
use std::ops::Range;
use tracking_alloc_recording::{Header, HeaderValue, Host, Record};

/// The header words that show a reader of a new file if it can still become a recording.
const SIGNED: Range<usize> = offset_of!(Header, state)..offset_of!(Header, started_unix_ns);

/// Returns a header with only the identity of this process.
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

/// Returns the bytes of a header.
pub(super) fn header_bytes(header: &HeaderValue) -> [u8; HeaderValue::SIZE] {
    let mut bytes = [0; HeaderValue::SIZE];
    header.write(&mut bytes);
    bytes
}

/// Writes the owner into a new file before it becomes a recording, in one write, so that it is
/// complete or missing.
pub(super) fn sign(file: &File, header: &HeaderValue) -> Result<(), i32> {
    file.write_at(&header_bytes(header)[SIGNED], SIGNED.start as u64)
}
