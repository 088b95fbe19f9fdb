//! The figures of one decoder and one data set.

use tracking_alloc::Delta;

/// The figures of one decoding. All are exact, and the same in every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Length of the encoded data, bytes.
    pub(crate) wire: u64,
    /// Blocks allocated.
    pub(crate) blocks: u64,
    /// Bytes allocated. A block that grows counts again, with its new size.
    pub(crate) total: u64,
    /// The largest number of bytes that were allocated at the same time.
    pub(crate) peak: u64,
    /// Bytes that the result holds.
    pub(crate) retained: u64,
    /// Bytes that a copy of the result does without, or `None` if it cannot be copied.
    pub(crate) unused: Option<u64>,
}

/// A format and its figures, or the reason why it has none.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The name of the format.
    pub(crate) format: &'static str,
    pub(crate) figures: Result<Figures, String>,
}

impl Figures {
    /// Makes the figures of a decoding whose result has this many bytes without unused capacity.
    pub(crate) fn new(wire: usize, figures: Delta, copied: Option<u64>) -> Figures {
        let retained = figures.live_bytes.max(0) as u64;
        Figures {
            wire: wire as u64,
            blocks: figures.total_blocks,
            total: figures.total_bytes,
            peak: figures.peak_bytes,
            retained,
            unused: copied.map(|copied| retained - copied),
        }
    }
}

/// Returns the bytes of a copy, whose containers have no unused capacity.
pub(crate) fn copy<V: Clone>(value: &V) -> Option<u64> {
    let (copy, figures) = tracking_alloc::measure(|| value.clone());
    drop(copy);
    Some(figures.live_bytes.max(0) as u64)
}
