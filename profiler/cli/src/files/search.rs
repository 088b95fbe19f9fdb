//! Whether a file has some bytes in it, found without holding it whole.

use std::io::{self, ErrorKind, Read};

/// Whether `marker` is in what `reader` gives.
///
/// # Errors
/// What `reader` returned.
pub(crate) fn contains(mut reader: impl Read, marker: &[u8]) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 20];
    let mut kept = 0;
    loop {
        let end = match reader.read(&mut buffer[kept..]) {
            Ok(0) => return Ok(false),
            Ok(read) => kept + read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if is_in(&buffer[..end], marker) {
            return Ok(true);
        }
        // The marker may lie across two pieces.
        kept = end.min(marker.len() - 1);
        buffer.copy_within(end - kept..end, 0);
    }
}

/// PERF: looks for the first byte alone, where comparing every window takes seconds for a large program.
fn is_in(bytes: &[u8], marker: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| Some(byte) == marker.first()) {
        rest = &rest[at..];
        if rest.starts_with(marker) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}
