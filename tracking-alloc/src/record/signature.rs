//! Who writes a recording, as its header says it.

use crate::sys::{self, File};
use std::mem::offset_of;
use tracking_alloc_recording::Header;

/// What says in a new file whose it is, before it is a recording: who meets it later can tell whether it will ever be
/// one. Made before the file, so that hardly any moment passes in which there is one without it.
pub(super) struct Signature([u8; Signature::END - Signature::START]);

impl Signature {
    const START: usize = offset_of!(Header, state);
    const END: usize = offset_of!(Header, started_unix_ns);

    pub(super) fn new(state: u32) -> Self {
        let mut bytes = [0; Signature::END - Signature::START];
        let mut put = |offset: usize, word: &[u8]| {
            let start = offset - Signature::START;
            bytes[start..start + word.len()].copy_from_slice(word);
        };
        put(offset_of!(Header, state), &state.to_le_bytes());
        put(offset_of!(Header, pid), &std::process::id().to_le_bytes());
        put(
            offset_of!(Header, start_ticks),
            &sys::start_ticks().to_le_bytes(),
        );
        let [first, second] = sys::boot_id();
        put(offset_of!(Header, boot_id), &first.to_le_bytes());
        put(offset_of!(Header, boot_id) + 8, &second.to_le_bytes());
        put(
            offset_of!(Header, pid_namespace),
            &sys::pid_namespace().to_le_bytes(),
        );
        Signature(bytes)
    }

    /// One write: whole or not there.
    pub(super) fn write(&self, file: &File) -> Result<(), i32> {
        file.write_at(&self.0, Signature::START as u64)
    }
}
