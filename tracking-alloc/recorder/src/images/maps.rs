//! Lines of `/proc/self/maps`.

use super::elf::Source;
use crate::hash::fnv1a;
use crate::sys::{File, Lines, Next, mapping_range, number};
use std::ffi::CStr;

/// A line of the list.
pub(super) struct Line {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) executable: bool,
    pub(super) writable: bool,
    pub(super) offset: u64,
    pub(super) inode: u64,
    /// NUL-terminated. A longer path is truncated.
    pub(super) path: [u8; 512],
}

impl Line {
    /// Parses `text` into this line. Returns `None` if it is not such a line.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<()> {
        let mut fields = text.splitn(6, |byte| *byte == b' ');
        (self.start, self.end) = mapping_range(fields.next()?)?;
        let allowed = fields.next()?;
        self.writable = allowed.starts_with(b"rw");
        self.executable = allowed.get(2) == Some(&b'x');
        self.offset = number(fields.next()?, 16)?;
        let _device = fields.next()?;
        self.inode = number(fields.next()?, 10)?;
        let text = fields.next().unwrap_or_default().trim_ascii_start();
        let length = text.len().min(self.path.len() - 1);
        self.path[..length].copy_from_slice(&text[..length]);
        self.path[length..].fill(0);
        Some(())
    }

    /// Returns `true` if an image may begin in this mapping: the mapping of a file, or the vDSO.
    pub(super) fn may_be_image(&self) -> bool {
        self.inode != 0 || self.path.starts_with(b"[vdso]\0")
    }

    /// Returns `true` for memory that is no file's. If it is executable, the program generated the
    /// code in it.
    pub(super) fn is_anonymous(&self) -> bool {
        self.inode == 0 && !self.path.starts_with(b"[v")
    }

    /// Opens the mapped file, if its path still leads to it.
    pub(super) fn file(&self) -> Option<Source> {
        let path = CStr::from_bytes_until_nul(&self.path).ok()?;
        Source::file(path).filter(|file| file.inode() == Some(self.inode))
    }

    /// Returns a hash of the path. Path and inode together distinguish images.
    pub(super) fn path_hash(&self) -> u64 {
        fnv1a(0, self.path.iter().copied().take_while(|byte| *byte != 0))
    }
}

/// The list of mappings, read line by line.
pub(super) struct List {
    file: File,
    lines: Lines,
}

impl List {
    pub(super) fn open() -> Option<List> {
        let file = File::open(c"/proc/self/maps", libc::O_RDONLY, 0).ok()?;
        Some(List {
            file,
            lines: Lines::default(),
        })
    }

    /// Reads the next line. Returns `false` if there is none, or if it does not fit the buffer. All
    /// calls must pass the same buffer.
    pub(super) fn next(&mut self, buffer: &mut [u8], line: &mut Line) -> bool {
        let read = |piece: &mut [u8], offset| self.file.read_at(piece, offset);
        loop {
            let Next::Line(text) = self.lines.next(buffer, read) else {
                return false;
            };
            if line.read(text).is_some() {
                return true;
            }
        }
    }
}
