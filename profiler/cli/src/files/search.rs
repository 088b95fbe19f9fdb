//! Whether a file has some bytes in it, found without holding it whole.

use std::io::{self, ErrorKind, Read};

use memchr::memmem::Finder;

/// Whether `marker` is in what `reader` gives.
///
/// # Errors
/// What `reader` returned.
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
        // The marker may lie across two pieces.
        kept = end.min(marker.needle().len() - 1);
        buffer.copy_within(end - kept..end, 0);
    }
}
