//! Searches a file for a byte string without reading the whole file into memory.

use std::io::{self, ErrorKind, Read};

use memchr::memmem::Finder;

/// Returns `true` if the data of `reader` contains `marker`.
///
/// # Errors
/// Returns the errors of `reader`.
pub(crate) fn contains(mut reader: impl Read, marker: &[u8]) -> io::Result<bool> {
    let marker = Finder::new(marker);
    let mut buffer = vec![0; 1 << 20];
    let mut kept = 0;
    loop {
        let end = match reader.read(&mut buffer[kept..]) {
            Ok(0) => return Ok(false),
            Ok(read) => kept + read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if marker.find(&buffer[..end]).is_some() {
            return Ok(true);
        }
        // The marker may span two pieces.
        kept = end.min(marker.needle().len() - 1);
        buffer.copy_within(end - kept..end, 0);
    }
}
