//! The table of strings.

use super::Writer;
use std::sync::atomic::Ordering::*;

/// Strings that are asked for again and again: address, length and reference.
#[cfg(any(feature = "serde", feature = "deepsize"))]
pub(super) type KnownStrings = [(*const u8, usize, u32); 1024];

impl Writer {
    /// Keeps a string: its reference, 0 when there is no room.
    pub(crate) fn string(&mut self, text: &[u8]) -> u32 {
        const PADDING: [u8; 3] = [0; 3];
        let padding = (4 - text.len() % 4) % 4;
        let pieces = [
            &(text.len() as u32).to_le_bytes()[..],
            text,
            &PADDING[..padding],
        ];
        let Some(start) = self.strings.push_bytes(&mut self.store, &pieces) else {
            return 0;
        };
        self.store
            .header()
            .strings_len
            .store(self.strings.len(), Release);
        u32::try_from(start).unwrap_or(0)
    }

    /// Keeps a string that was perhaps kept before: then its reference is the same.
    #[cfg(any(feature = "serde", feature = "deepsize"))]
    pub(crate) fn known_string(&mut self, text: &[u8]) -> u32 {
        let hash = crate::hash::fnv1a(0, text.iter().copied());
        let slot = (hash ^ hash >> 32) as usize % self.known_strings.len();
        let (place, length, reference) = self.known_strings[slot];
        // SAFETY: the bytes of a string that was written and stays mapped.
        if !place.is_null() && unsafe { std::slice::from_raw_parts(place, length) } == text {
            return reference;
        }
        let reference = self.string(text);
        if reference != 0 {
            // The string is the last thing in the table, padded.
            let padded = text.len().next_multiple_of(4);
            let place = self.strings.end().wrapping_sub(padded);
            self.known_strings[slot] = (place, text.len(), reference);
        }
        reference
    }
}
