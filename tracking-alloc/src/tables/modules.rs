//! The table of modules: images of the process's code, in the order they were first seen.

use super::Writer;
use std::ffi::CStr;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Module, module_id};

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
            if self.modules.push::<Module>(&mut self.store).is_none() {
                return;
            }
            header.modules_len.store(1, Release);
        }
        while let Some((image, path)) = self.images.image(self.modules.len() as usize) {
            let path = CStr::from_bytes_until_nul(&path).unwrap_or_default();
            let reference = self.string(path.to_bytes());
            let Some((number, place)) = self.modules.push::<Module>(&mut self.store) else {
                return;
            };
            // SAFETY: a zeroed record just handed out, mapped until the process ends.
            let module = unsafe { place.as_ref() };
            module.path.store(reference, Relaxed);
            module.generation.store(image.generation, Relaxed);
            module.bias.store(image.bias, Relaxed);
            module.start.store(image.start, Relaxed);
            module.end.store(image.end, Relaxed);
            module.inode.store(image.inode, Relaxed);
            let identity = self.images.identity(number as usize);
            module.id_kind.store(identity.kind, Relaxed);
            module.id_bytes.store(identity.len as u32, Relaxed);
            for (word, bytes) in module.id.iter().zip(identity.bytes.chunks_exact(8)) {
                word.store(bytes.try_into().map_or(0, u64::from_le_bytes), Relaxed);
            }
            if identity.kind == module_id::NONE {
                header.unread_modules.fetch_add(1, Relaxed);
            }
            header.modules_len.store(number as u32 + 1, Release);
        }
    }
}
