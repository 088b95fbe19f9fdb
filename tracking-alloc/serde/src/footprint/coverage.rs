//! The words of a place that a value showed.

pub(super) const WORD: usize = size_of::<usize>();

/// Maximum number of words of a place to check.
pub(super) const MOST_WORDS: usize = 128;

/// The shown words among the first 128 of a place.
#[derive(Clone, Copy, Default)]
pub(super) struct Coverage {
    pub(super) start: usize,
    words: u128,
}

impl Coverage {
    pub(super) const fn none(start: usize) -> Self {
        Coverage { start, words: 0 }
    }

    /// Notes that bytes from an offset on were shown.
    #[inline]
    pub(super) fn add(&mut self, offset: usize, bytes: usize) {
        let last = offset.saturating_add(bytes.max(1) - 1) / WORD;
        let first = offset / WORD;
        if first < MOST_WORDS {
            let below = (1 << first) - 1;
            self.words |= (u128::MAX >> (MOST_WORDS - 1 - last.min(MOST_WORDS - 1))) & !below;
        }
    }

    pub(super) fn includes(self, index: usize) -> bool {
        self.words >> index & 1 == 1
    }
}
