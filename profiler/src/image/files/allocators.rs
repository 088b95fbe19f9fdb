//! Allocators that are linked into an executable, by the names of their symbols.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Functions of allocators, as they are in a table of symbols, and the name of the allocator.
const SYMBOLS: &[(&[u8], &str)] = &[
    (b"\0_rjem_malloc\0", "jemalloc"),
    (b"\0je_malloc\0", "jemalloc"),
    (b"\0mi_malloc\0", "mimalloc"),
    (b"\0tc_malloc\0", "tcmalloc"),
];
/// The longest of these.
const MOST_BYTES: usize = 16;
const WINDOW: usize = 1 << 20;
/// The largest part of a file that is searched.
const MOST_SEARCHED: u64 = 2 << 30;

/// Returns the name of an allocator other than libc's that is linked into a file. A file without
/// symbols tells none.
pub(in crate::image) fn of_file(file: &File) -> Option<&'static str> {
    let bytes = file.metadata().ok()?.len().min(MOST_SEARCHED);
    let mut buffer = vec![0; WINDOW + MOST_BYTES];
    for at in (0..bytes).step_by(WINDOW) {
        let length = (bytes - at).min(buffer.len() as u64) as usize;
        let window = &mut buffer[..length];
        file.read_exact_at(window, at).ok()?;
        if let Some(found) = search(window) {
            return Some(found);
        }
    }
    None
}

fn search(bytes: &[u8]) -> Option<&'static str> {
    let starts = bytes.windows(2).enumerate();
    let starts =
        starts.filter(|(_, two)| two[0] == 0 && matches!(two[1], b'_' | b'j' | b'm' | b't'));
    let mut found = starts.filter_map(|(at, _)| {
        let mut symbols = SYMBOLS.iter();
        symbols.find(|(name, _)| bytes[at..].starts_with(name))
    });
    found.next().map(|(_, allocator)| *allocator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn symbols_of_allocators_are_found_also_where_two_windows_meet() {
        assert_eq!(search(b"\0malloc\0my_malloc\0emi_malloc\0"), None);
        assert!(SYMBOLS.iter().all(|(name, _)| name.len() <= MOST_BYTES));
        for (name, allocator) in SYMBOLS {
            for before in [0, WINDOW - 5, WINDOW, 2 * WINDOW - 1] {
                let mut file = tempfile::tempfile().expect("a file");
                let zeros = vec![b'x'; before];
                let is_written = file.write_all(&[&zeros, *name, &b"more"[..]].concat());
                is_written.expect("written");
                assert_eq!(of_file(&file), Some(*allocator), "{before}");
            }
        }
    }
}
