//! The table of modules: images of the process's code, in the order they were first seen.

use super::Writer;
use std::ffi::CStr;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::ModuleValue;

impl Writer {
    /// Reads what is loaded now.
    pub(super) fn read_modules(&mut self) {
        self.images.read();
        self.record_modules();
    }

    /// Adds images seen since the last time to the recording.
    pub(super) fn record_modules(&mut self) {
        let header = self.store.header();
        if self.modules.len() == 0 {
            // Module 0 is "nowhere".
            let nowhere = self.modules.add(&mut self.store, ModuleValue::default());
            if nowhere.is_none() {
                return;
            }
            header.modules_len.store(1, Release);
        }
        while let Some((image, path)) = self.images.image(self.modules.len() as usize) {
            let path = CStr::from_bytes_until_nul(&path).unwrap_or_default();
            let reference = self.string(path.to_bytes());
            let identity = self.images.identity(self.modules.len() as usize);
            let (words, _) = identity.bytes.as_chunks::<8>();
            let module = ModuleValue {
                path: reference,
                generation: image.generation,
                id_kind: identity.kind,
                id_bytes: identity.len as u32,
                id: std::array::from_fn(|word| {
                    words.get(word).map_or(0, |word| u64::from_le_bytes(*word))
                }),
                ..ModuleValue::default()
            };
            let Some((number, _)) = self.modules.add(&mut self.store, module) else {
                return;
            };
            header.modules_len.store(number + 1, Release);
        }
    }
}
