//! The table of modules: images of the process's code, in the order they were first seen.

use super::Writer;
use std::ffi::CStr;
use tracking_alloc_recording::{ModuleValue, table};

impl Writer {
    /// Reads the currently loaded images.
    pub(super) fn read_modules(&mut self) {
        self.code.images.read();
        self.record_modules();
    }

    /// Adds the images seen since the last call to the recording.
    pub(super) fn record_modules(&mut self) {
        if self.code.images.take_news() {
            // It reads files, and events have little stack.
            let stack = self.code.stack();
            stack.run(|| self.record_new_modules());
        }
    }

    fn record_new_modules(&mut self) {
        let next = |writer: &Writer| writer.len(table::MODULES) as usize;
        while let Some((image, path)) = self.code.images.image(next(self)) {
            let path = CStr::from_bytes_until_nul(&path).unwrap_or_default();
            let identity = self.code.images.identity(next(self));
            let (words, _) = identity.bytes.as_chunks::<8>();
            let module = ModuleValue {
                path: self.string(path.to_bytes()),
                generation: image.generation,
                id_kind: identity.kind,
                id_bytes: identity.len as u32,
                id: std::array::from_fn(|word| {
                    words.get(word).map_or(0, |word| u64::from_le_bytes(*word))
                }),
            };
            if self.add(module).is_none() {
                return;
            }
        }
    }
}
