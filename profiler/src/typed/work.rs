//! The work that a file of debug information may cost.

/// Attributes and letters that each byte of debug information may cost.
const WORK_OF_A_BYTE: usize = 16;
const LITTLE_WORK: usize = 1 << 20;

/// The work that is left for a file.
pub(super) struct Work {
    left: usize,
}

impl Work {
    /// Returns the work for a file of some bytes.
    pub(super) fn of_file(bytes: usize) -> Work {
        let left = bytes.saturating_mul(WORK_OF_A_BYTE);
        Work {
            left: left.saturating_add(LITTLE_WORK),
        }
    }

    /// Takes some of it. Returns `None` if there is not as much; then nothing is left.
    pub(super) fn take(&mut self, work: usize) -> Option<()> {
        self.left = self.left.checked_sub(work).or_else(|| {
            self.left = 0;
            None
        })?;
        Some(())
    }

    /// Returns `true` if nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }
}
