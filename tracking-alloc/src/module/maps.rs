//! Lines of `/proc/self/maps`.

use crate::hash::fnv1a;

/// A line.
pub(super) struct Line {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) executable: bool,
    pub(super) offset: u64,
    pub(super) inode: u64,
    /// NUL-terminated; a longer path is truncated.
    pub(super) path: [u8; 512],
}

impl Line {
    /// Becomes the line that `text` says, if it is one.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<()> {
        let mut fields = text.splitn(6, |byte| *byte == b' ');
        let mut addresses = fields.next()?.split(|byte| *byte == b'-');
        self.start = number(addresses.next()?, 16)?;
        self.end = number(addresses.next()?, 16)?;
        self.executable = fields.next()?.get(2) == Some(&b'x');
        self.offset = number(fields.next()?, 16)?;
        let _device = fields.next()?;
        self.inode = number(fields.next()?, 10)?;
        let text = fields.next().unwrap_or_default().trim_ascii_start();
        let length = text.len().min(self.path.len() - 1);
        self.path[..length].copy_from_slice(&text[..length]);
        self.path[length..].fill(0);
        Some(())
    }

    /// Whether an image may begin in this mapping: a file's, or the one that the kernel lends.
    pub(super) fn may_be_image(&self) -> bool {
        self.inode != 0 || self.path.starts_with(b"[vdso]\0")
    }

    /// Of the path: names and inodes together tell images apart.
    pub(super) fn path_hash(&self) -> u64 {
        fnv1a(0, self.path.iter().copied().take_while(|byte| *byte != 0))
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}
