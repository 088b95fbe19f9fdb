//! The figures that `measure()` and `stats()` answer with. Named as the keys of `heapglass report --json`.

/// What was counted: a window of one thread ([`measure`](crate::measure)) or the process so far ([`stats`](crate::stats)).
///
/// `total_*` counts every allocation and, in full, the new size of every realloc; `freed_*` counts frees and the old
/// side of every realloc. So `live = total - freed`, and fresh allocations = `total_blocks - grows - shrinks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Bytes allocated.
    pub total_bytes: u64,
    /// Blocks allocated.
    pub total_blocks: u64,
    /// Bytes given back.
    pub freed_bytes: u64,
    /// Blocks given back.
    pub freed_blocks: u64,
    /// Bytes allocated and not given back; negative when more was freed than allocated in the window.
    pub live_bytes: i64,
    /// Blocks allocated and not given back.
    pub live_blocks: i64,
    /// The largest `live_bytes` there was.
    pub peak_bytes: u64,
    /// Blocks at that moment.
    pub peak_blocks: u64,
    /// Reallocs to the same or a larger size.
    pub grows: u64,
    /// Reallocs to a smaller size.
    pub shrinks: u64,
    /// `min(old, new)` bytes of reallocs that moved their block: an upper bound on what was copied.
    pub copied_bytes: u64,
    /// Blocks freed by their thread before it allocated another one.
    pub temporary_blocks: u64,
    /// Bytes of those.
    pub temporary_bytes: u64,
}

/// The answer of [`measure`](crate::measure).
pub type Delta = Figures;

/// The answer of [`stats`](crate::stats).
pub type Stats = Figures;

impl Figures {
    pub(crate) const WORDS: usize = 13;

    pub(crate) fn to_words(self) -> [u64; Self::WORDS] {
        [
            self.total_bytes,
            self.total_blocks,
            self.freed_bytes,
            self.freed_blocks,
            self.live_bytes as u64,
            self.live_blocks as u64,
            self.peak_bytes,
            self.peak_blocks,
            self.grows,
            self.shrinks,
            self.copied_bytes,
            self.temporary_blocks,
            self.temporary_bytes,
        ]
    }

    pub(crate) fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [
            total_bytes,
            total_blocks,
            freed_bytes,
            freed_blocks,
            live_bytes,
            live_blocks,
            peak_bytes,
            peak_blocks,
            grows,
            shrinks,
            copied_bytes,
            temporary_blocks,
            temporary_bytes,
        ] = words;
        Figures {
            total_bytes,
            total_blocks,
            freed_bytes,
            freed_blocks,
            live_bytes: live_bytes as i64,
            live_blocks: live_blocks as i64,
            peak_bytes,
            peak_blocks,
            grows,
            shrinks,
            copied_bytes,
            temporary_blocks,
            temporary_bytes,
        }
    }

    pub(crate) fn alloc(&mut self, bytes: u64) {
        self.total_bytes += bytes;
        self.total_blocks += 1;
        self.moved(bytes as i64, 1);
    }

    pub(crate) fn free(&mut self, bytes: u64, temporary: bool) {
        self.freed_bytes += bytes;
        self.freed_blocks += 1;
        self.live_bytes -= bytes as i64;
        self.live_blocks -= 1;
        if temporary {
            self.temporary_bytes += bytes;
            self.temporary_blocks += 1;
        }
    }

    pub(crate) fn realloc(&mut self, old: u64, new: u64, moved: bool) {
        self.total_bytes += new;
        self.total_blocks += 1;
        self.freed_bytes += old;
        self.freed_blocks += 1;
        if new >= old {
            self.grows += 1;
        } else {
            self.shrinks += 1;
        }
        if moved {
            self.copied_bytes += old.min(new);
        }
        self.moved(new as i64 - old as i64, 0);
    }

    /// Live moves by a difference; equal maxima: the latest.
    fn moved(&mut self, bytes: i64, blocks: i64) {
        self.live_bytes += bytes;
        self.live_blocks += blocks;
        if self.live_bytes >= self.peak_bytes as i64 {
            self.peak_bytes = self.live_bytes as u64;
            self.peak_blocks = self.live_blocks.max(0) as u64;
        }
    }

    /// Adds a window that lay within this one and has just ended.
    pub(crate) fn add_inner(&mut self, inner: &Figures) {
        let peak = self.live_bytes + inner.peak_bytes as i64;
        if inner.total_blocks > 0 && peak >= self.peak_bytes as i64 {
            self.peak_bytes = peak as u64;
            self.peak_blocks = (self.live_blocks + inner.peak_blocks as i64).max(0) as u64;
        }
        self.add_sums(inner);
    }

    /// Adds all but the peak.
    pub(crate) fn add_sums(&mut self, inner: &Figures) {
        self.total_bytes += inner.total_bytes;
        self.total_blocks += inner.total_blocks;
        self.freed_bytes += inner.freed_bytes;
        self.freed_blocks += inner.freed_blocks;
        self.live_bytes += inner.live_bytes;
        self.live_blocks += inner.live_blocks;
        self.grows += inner.grows;
        self.shrinks += inner.shrinks;
        self.copied_bytes += inner.copied_bytes;
        self.temporary_blocks += inner.temporary_blocks;
        self.temporary_bytes += inner.temporary_bytes;
    }
}
