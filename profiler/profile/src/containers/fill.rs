//! The fill of a block, by the header of its container.

use std::ops::Range;

/// Bytes of a pointer.
const WORD: u64 = 8;
/// The most control bytes that hashbrown compares at once.
const MOST_GROUP: u64 = 16;

/// The header of a container: what it says about the block that it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Header {
    /// A `Vec`, a `String`: the first elements are in use.
    List {
        /// Elements that fit into the block.
        capacity: u64,
        /// Elements in use.
        length: u64,
    },
    /// A `VecDeque`: elements from `head` on are in use, and continue at the block's start.
    Deque {
        /// Elements that fit into the block.
        capacity: u64,
        /// The index of the first element.
        head: u64,
        /// Elements in use.
        length: u64,
    },
    /// A `HashMap`: hashbrown's buckets lie before their control bytes, in reverse order.
    Table {
        /// The number of buckets.
        buckets: u64,
        /// The offset of the control bytes in the block.
        control: u64,
        /// Entries of the table.
        items: u64,
    },
}

impl Header {
    /// Returns how full a block of some bytes is, and its unused bytes, if the header agrees with
    /// it. `element` is the size of one element; that of a table may be not known.
    pub fn fill(self, size: u64, element: Option<u64>) -> Option<(Fill, u64)> {
        let (fill, unused, _) = self.fill_if(size, element, &|bytes| bytes == size)?;
        Some((fill, unused))
    }

    /// Returns how full a block of at most some bytes is, its unused bytes, and the bytes that were
    /// requested for it, as far as the header tells. `holds` says whether the block may have been
    /// requested with a number of bytes.
    pub fn fill_if(
        self,
        most: u64,
        element: Option<u64>,
        holds: &dyn Fn(u64) -> bool,
    ) -> Option<(Fill, u64, Option<u64>)> {
        match self {
            Header::List { capacity, length } => {
                let element = element?;
                let all = capacity.checked_mul(element)?;
                let used = length.checked_mul(element)?;
                let agrees = holds(all) && length <= capacity;
                agrees.then(|| (Fill::List { used }, all - used, Some(all)))
            }
            Header::Deque {
                capacity,
                head,
                length,
            } => {
                let element = element?;
                let all = capacity.checked_mul(element)?;
                let used = length.checked_mul(element)?;
                let agrees = holds(all) && length <= capacity && head < capacity;
                agrees.then(|| (Fill::Deque { head, length }, all - used, Some(all)))
            }
            Header::Table {
                buckets,
                control,
                items,
            } => {
                let end = control.checked_add(buckets)?;
                let agrees = buckets.is_power_of_two() && items <= buckets && end <= most;
                if !agrees {
                    return None;
                }
                let element = bucket_bytes(element, buckets, control)?;
                // The first group of control bytes is repeated behind the last one.
                let all = end.checked_add(MOST_GROUP).filter(|&all| holds(all));
                let unused = (buckets - items) * element;
                Some((Fill::Table { buckets, control }, unused, all))
            }
        }
    }
}

/// Returns the size of a table's buckets, which is that of its elements, if it is known.
pub fn bucket_bytes(element: Option<u64>, buckets: u64, control: u64) -> Option<u64> {
    match element {
        // The buckets are padded to a group of control bytes.
        Some(bytes) => (bytes.checked_mul(buckets)?.checked_next_multiple_of(WORD)? <= control
            && control - bytes * buckets < MOST_GROUP)
            .then_some(bytes),
        None => Some(control / buckets),
    }
}

/// The fill of a block by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    List { used: u64 },
    Deque { head: u64, length: u64 },
    Table { buckets: u64, control: u64 },
}

impl Fill {
    /// Returns the fill in one word. `None` if it does not fit.
    pub fn packed(self) -> Option<u64> {
        let fits = |number: u64, bits: u32| (number >> bits == 0).then_some(number);
        match self {
            Fill::List { used } => fits(used, 62),
            Fill::Deque { head, length } => {
                Some(1 << 62 | fits(head, 31)? << 31 | fits(length, 31)?)
            }
            Fill::Table { buckets, control } => {
                Some(2 << 62 | u64::from(buckets.ilog2()) << 56 | fits(control, 56)?)
            }
        }
    }

    /// Returns the fill of a word that [`Fill::packed`] made, and `None` for others.
    pub fn unpacked(word: u64) -> Option<Fill> {
        let low = |bits: u32| (1 << bits) - 1;
        match word >> 62 {
            0 => Some(Fill::List { used: word }),
            1 => Some(Fill::Deque {
                head: word >> 31 & low(31),
                length: word & low(31),
            }),
            2 => Some(Fill::Table {
                buckets: 1 << (word >> 56 & low(6)),
                control: word & low(56),
            }),
            _ => None,
        }
    }

    /// Returns the bytes in use of a list or deque as ranges in its block. Control bytes tell which
    /// buckets of a table are in use.
    pub fn used(self, size: u64, element: u64) -> [Range<u64>; 2] {
        match self {
            Fill::List { used } => [0..used, 0..0],
            Fill::Deque { head, length } => {
                let start = head * element;
                let end = start + length * element;
                [start..end.min(size), 0..end.saturating_sub(size)]
            }
            Fill::Table { .. } => [0..0, 0..0],
        }
    }
}
