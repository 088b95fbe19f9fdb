//! The table of strings. Each string is kept once.

use super::Writer;
use crate::hash::{fnv1a, next_key};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::table;

impl Writer {
    /// Keeps a string. Returns its reference, or 0 if there is no room.
    pub(crate) fn string(&mut self, text: &[u8]) -> u32 {
        let key = self.string_key(text);
        self.find(table::STRINGS, key)
            .or_else(|| self.add_string(key, text))
            .unwrap_or(0)
    }

    /// Returns the reference of a string that is already kept.
    pub(super) fn known_string(&self, text: &[u8]) -> Option<u32> {
        self.find(table::STRINGS, self.string_key(text))
    }

    /// Returns the key of a string, or the key for a new one.
    fn string_key(&self, text: &[u8]) -> u64 {
        let mut key = fnv1a(0, text.iter().copied());
        // Strings are compared by content. If another string has the same hash, the next key is
        // tried.
        while let Some(place) = self.string_places.find(key) {
            // SAFETY: a string was written there and stays mapped while the recording is current.
            if unsafe { is_at(place, text) } {
                break;
            }
            key = next_key(key);
        }
        key
    }

    /// Keeps a string like [`string`](Self::string), but returns 0 for an empty text.
    pub(crate) fn name(&mut self, text: &[u8]) -> u32 {
        match text {
            b"" => 0,
            text => self.string(text),
        }
    }

    fn add_string(&mut self, key: u64, text: &[u8]) -> Option<u32> {
        let keys = &self.keys[table::STRINGS as usize];
        if !(keys.reserve(&mut self.bump) && self.string_places.reserve(&mut self.bump)) {
            return None;
        }
        let padding = text.len().next_multiple_of(4) - text.len();
        let length = (text.len() as u32).to_le_bytes();
        let pieces = [&length, text, &[0; 3][..padding]];
        let strings = &mut self.tables[table::STRINGS as usize];
        let (start, place) = strings.push_bytes(&mut self.store, &pieces)?;
        let header = self.store.header();
        header.strings_len.store(strings.len(), Release);
        let reference = u32::try_from(start).ok()?;
        keys.add(key, reference.into());
        self.string_places
            .add(key, place.expose_provenance() as u64);
        Some(reference)
    }
}

/// Returns `true` if the string at a place equals `text`. The length is compared first. It is never
/// trusted, because others can write to the file.
///
/// # Safety
/// A string must lie there and stay mapped.
unsafe fn is_at(place: u64, text: &[u8]) -> bool {
    let place: *const u8 = std::ptr::with_exposed_provenance(place as usize);
    // SAFETY: guaranteed by the caller. Bytes are read only if that many lie there.
    unsafe {
        place.cast::<[u8; 4]>().read() == (text.len() as u32).to_le_bytes()
            && std::slice::from_raw_parts(place.add(4), text.len()) == text
    }
}
