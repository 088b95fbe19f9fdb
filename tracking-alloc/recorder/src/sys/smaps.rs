//! Flags of mappings, from `/proc/self/smaps`.

use super::{File, Lines, Next, mapping_range};
use std::ffi::CStr;

/// Returns `true` if the kernel wipes the page of an address in a forked child. qemu-user accepts
/// the `madvise` call for this but ignores it. The flag shows that the kernel acts on it.
pub(crate) fn is_wiped_on_fork(address: usize) -> bool {
    const PATH: &CStr = c"/proc/self/smaps";
    let Ok(file) = File::open(PATH, libc::O_RDONLY, 0) else {
        return false;
    };
    let read = |buffer: &mut [u8], offset| file.read_at(buffer, offset);
    has_flag(address as u64, b"wf", read) == Some(true)
}

/// Returns `Some(true)` if the mapping of an address has a flag. Returns `None` if there is no such
/// mapping, or if its flags are not listed.
fn has_flag(
    address: u64,
    flag: &[u8],
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, i32>,
) -> Option<bool> {
    let mut buffer = [0u8; 1024];
    let (mut lines, mut is_here) = (Lines::default(), false);
    loop {
        let line = match lines.next(&mut buffer, &mut read) {
            Next::Line(line) => line,
            // The path in the line is too long. The rest of it does not look like a line that
            // matters.
            Next::TooLong => continue,
            Next::End | Next::Failed => return None,
        };
        if let Some(flags) = line.strip_prefix(b"VmFlags:") {
            if is_here {
                return Some(flags.split(|byte| *byte == b' ').any(|word| word == flag));
            }
        } else if let Some((low, high)) = mapping_range(line) {
            is_here = low <= address && address < high;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
1000-2000 rw-p 00000000 00:00 0
Rss:                   4 kB
VmFlags: rd wr mr mw me ac wf
2000-3000 rw-p 00000000 00:00 0 /a long path
Rss:                   4 kB
VmFlags: rd wr mr mw me ac
";

    fn flag(text: &str, address: u64, at_once: usize) -> Option<bool> {
        let mut rest = text.as_bytes();
        has_flag(address, b"wf", |buffer, _| {
            let length = rest.len().min(at_once).min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            rest = &rest[length..];
            Ok(length)
        })
    }

    #[test]
    fn the_flags_of_the_mapping_of_an_address_are_found() {
        for at_once in [1, 7, 4096] {
            assert_eq!(flag(TEXT, 0x1000, at_once), Some(true));
            assert_eq!(flag(TEXT, 0x1fff, at_once), Some(true));
            assert_eq!(flag(TEXT, 0x2000, at_once), Some(false));
            assert_eq!(flag(TEXT, 0x3000, at_once), None);
        }
        assert_eq!(flag("1000-2000 rw-p 0 0 0\n", 0x1000, 4096), None);
        let long = format!("0-1000 rw-p 0 0 0 /{}\n{TEXT}", "x".repeat(5000));
        assert_eq!(flag(&long, 0x1000, 4096), Some(true));
    }
}
