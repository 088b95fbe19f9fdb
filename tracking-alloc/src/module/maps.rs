//! Lines of `/proc/self/maps`.

use crate::hash::fnv1a;

/// A line.
pub(super) struct Line {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) executable: bool,
    pub(super) offset: u64,
    pub(super) inode: u64,
    /// NUL-terminated; a longer path is cut.
    pub(super) path: [u8; 512],
}

impl Line {
    /// Becomes the line that `text` says; false when it is none.
    pub(super) fn read(&mut self, text: &[u8]) -> bool {
        self.try_read(text).is_some()
    }

    fn try_read(&mut self, text: &[u8]) -> Option<()> {
        let mut fields = text.splitn(6, |byte| *byte == b' ');
        let mut addresses = fields.next()?.split(|byte| *byte == b'-');
        (self.start, self.end) = (hex(addresses.next()?)?, hex(addresses.next()?)?);
        self.executable = fields.next()?.get(2) == Some(&b'x');
        self.offset = hex(fields.next()?)?;
        let _device = fields.next()?;
        self.inode = fields.next()?.iter().try_fold(0u64, |value, byte| {
            byte.is_ascii_digit()
                .then(|| value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')))
        })?;
        let rest = fields.next().unwrap_or_default();
        let text = rest
            .iter()
            .position(|byte| *byte != b' ')
            .map_or(&[][..], |first| &rest[first..]);
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

fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        Some(value << 4 | u64::from(char::from(*byte).to_digit(16)?))
    })
}
