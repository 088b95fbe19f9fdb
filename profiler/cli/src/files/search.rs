//! Searches a file for byte strings without reading the whole file into memory.

use std::io::{self, ErrorKind, Read};

use memchr::memmem::Finder;

/// Returns for each marker whether the data of `reader` contains it.
///
/// # Errors
/// Returns the errors of `reader`.
pub(crate) fn contains<const COUNT: usize>(
    mut reader: impl Read,
    markers: [&[u8]; COUNT],
) -> io::Result<[bool; COUNT]> {
    let longest = markers.iter().map(|marker| marker.len()).max().unwrap_or(0);
    let finders = markers.map(Finder::new);
    let mut found = [false; COUNT];
    let mut buffer = vec![0; 1 << 20];
    let mut kept = 0;
    while !found.iter().all(|found| *found) {
        let end = match reader.read(&mut buffer[kept..]) {
            Ok(0) => break,
            Ok(read) => kept + read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        for (found, finder) in found.iter_mut().zip(&finders) {
            *found = *found || finder.find(&buffer[..end]).is_some();
        }
        // A marker may span two pieces.
        kept = end.min(longest.saturating_sub(1));
        buffer.copy_within(end - kept..end, 0);
    }
    Ok(found)
}
