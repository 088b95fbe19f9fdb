//! The notes of a core file: threads, mapped files, and where the executable is.

use super::super::error::Kind;
use super::super::files::program_headers;
use super::super::{Thread, number_at, word_at};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

const STATUS: u32 = 1;
const PROCESS: u32 = 3;
const AUXILIARY: u32 = 6;
const FILES: u32 = 0x4649_4c45;

/// `elf_prstatus` of x86-64, and where the thread's ID and its registers are in it.
const STATUS_BYTES: usize = 336;
const THREAD_AT: usize = 32;
const REGISTERS_AT: usize = 112;
/// The place of the process ID in `elf_prpsinfo`.
const PROCESS_AT: usize = 24;

/// Notes that are read.
const MOST_NOTES: usize = 1 << 22;
/// Threads that are read.
const MOST_THREADS: usize = 1 << 20;
/// The largest table of mapped files that is read.
const MOST_FILE_BYTES: u64 = 256 << 20;

/// A mapping of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MappedFile {
    pub(super) range: Range<u64>,
    /// The offset in the file.
    pub(super) offset: u64,
    pub(super) path: String,
}

/// The notes of a core.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) threads: Vec<Thread>,
    pub(super) files: Vec<MappedFile>,
    pub(super) process: u32,
    /// The address of the executable's program headers.
    pub(super) program_headers: u64,
}

impl Notes {
    /// Reads the notes at a place in the file.
    pub(super) fn read(&mut self, file: &File, place: Range<u64>) -> Result<(), Kind> {
        let mut at = place.start;
        for _ in 0..MOST_NOTES {
            let mut header = [0; 12];
            if at.saturating_add(12) > place.end {
                return Ok(());
            }
            file.read_exact_at(&mut header, at).map_err(Kind::Read)?;
            let [name, length, kind] = [0, 4, 8].map(|at| number_at(&header, at));
            let padded = |bytes: u32| u64::from(bytes).next_multiple_of(4);
            let contents = at + 12 + padded(name);
            at = contents + padded(length);
            if contents.saturating_add(length.into()) > place.end {
                return Err(Kind::Damaged("a note ends beyond its segment"));
            }
            let read = |most: u64| {
                let mut bytes = vec![0; u64::from(length).min(most) as usize];
                let is_read = file.read_exact_at(&mut bytes, contents);
                is_read.map_err(Kind::Read).map(|()| bytes)
            };
            match kind {
                STATUS if self.threads.len() < MOST_THREADS => {
                    self.threads.extend(thread(&read(STATUS_BYTES as u64)?));
                }
                PROCESS => self.process = number_at(&read(64)?, PROCESS_AT),
                AUXILIARY => {
                    self.program_headers = program_headers(&read(4096)?);
                }
                FILES => self.files = files(&read(MOST_FILE_BYTES)?),
                _ => {}
            }
        }
        Err(Kind::Damaged("it has more notes than any program"))
    }
}

fn thread(status: &[u8]) -> Option<Thread> {
    if status.len() < STATUS_BYTES {
        return None;
    }
    let register = |at: usize| word_at(status, REGISTERS_AT + 8 * at);
    Some(Thread::new(
        number_at(status, THREAD_AT),
        String::new(),
        register,
    ))
}

/// Parses `NT_FILE`: a count, the size of a page, start, end and page of each mapping, then their
/// paths.
fn files(bytes: &[u8]) -> Vec<MappedFile> {
    let (count, page) = (word_at(bytes, 0), word_at(bytes, 8));
    let entries = bytes.get(16..).unwrap_or_default();
    let table = usize::try_from(count)
        .ok()
        .and_then(|count| count.checked_mul(24));
    let Some(names) = table.and_then(|table| entries.get(table..)) else {
        return Vec::new();
    };
    let entries = entries.chunks_exact(24).take(count as usize);
    let paths = names.split(|byte| *byte == 0);
    let files = entries.zip(paths).map(|(entry, path)| MappedFile {
        range: word_at(entry, 0)..word_at(entry, 8),
        offset: word_at(entry, 16).saturating_mul(page),
        path: String::from_utf8_lossy(path).into_owned(),
    });
    let mut files: Vec<MappedFile> = files.collect();
    files.retain(|file| file.range.start < file.range.end);
    files.sort_by_key(|file| file.range.start);
    let mut end = 0;
    files.retain(|file| file.range.start >= std::mem::replace(&mut end, file.range.end));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_files_is_bounded_by_its_note() {
        let mut bytes = Vec::new();
        for word in [2, 4096, 0x1000, 0x3000, 0, 0x3000, 0x4000, 2_u64] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"/a b\0/c\0");
        let found = files(&bytes);
        assert_eq!(found.len(), 2);
        assert_eq!((&*found[0].path, found[0].offset), ("/a b", 0));
        assert_eq!((&*found[1].path, found[1].offset), ("/c", 0x2000));
        for hostile in [3_u64, 1 << 60, u64::MAX] {
            bytes[..8].copy_from_slice(&hostile.to_le_bytes());
            assert!(files(&bytes).len() <= 3);
        }
        assert!(files(&bytes[..15]).is_empty());
    }

    #[test]
    fn a_short_status_is_no_thread() {
        assert_eq!(thread(&[0; STATUS_BYTES - 1]), None);
        let mut status = [0; STATUS_BYTES];
        status[REGISTERS_AT + 8 * 19] = 7;
        let thread = thread(&status).expect("a thread");
        assert_eq!(thread.registers.stack_pointer(), 7);
    }
}
