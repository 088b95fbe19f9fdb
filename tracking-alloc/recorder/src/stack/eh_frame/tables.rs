//! Copies of modules' `.eh_frame_hdr` and `.eh_frame`, read from their files.
//!
//! Copies, because the target's own mapping goes away with `dlclose`; from the file, because only
//! raw reads may be made here. Nothing read is believed: what does not parse is no rule.

use crate::images::elf::Source;
use crate::sys::{Bump, map_private};
use gimli::{BaseAddresses, EhFrameHdr, EndianSlice, LittleEndian, Pointer};
use libc::{PT_GNU_EH_FRAME, PT_LOAD};

/// No module's tables are larger than this; what is, is not read.
const MOST_BYTES: u64 = 256 << 20;

/// A module's tables. All-zero bytes are "not asked for yet".
#[derive(Clone, Copy)]
pub(super) struct Tables {
    asked: bool,
    sections: Option<Sections>,
}

/// Both sections, one behind the other in memory of their own, and their ELF virtual addresses.
#[derive(Clone, Copy)]
pub(super) struct Sections {
    // NOTE: mapped for ever, or until `forget`, which nobody calls while sections are in use: both
    // are under the write lock.
    pub(super) header: &'static [u8],
    pub(super) frames: &'static [u8],
    pub(super) header_address: u64,
    pub(super) frames_address: u64,
}

impl Tables {
    /// The sections, read at the first call from where the module can be read. With `keep` their
    /// copy stays as long as the process runs, else until [`forget`](Self::forget).
    pub(super) fn sections(
        &mut self,
        open: impl FnOnce() -> Option<Source>,
        keep: Option<&mut Bump>,
    ) -> Option<Sections> {
        if !self.asked {
            self.read(open, keep);
        }
        self.sections
    }

    /// Reads the copy. What it needs of the stack is given back before a rule is looked for.
    #[cold]
    #[inline(never)]
    fn read(&mut self, open: impl FnOnce() -> Option<Source>, keep: Option<&mut Bump>) {
        self.asked = true;
        self.sections = open().and_then(|source| Sections::read(&source, keep));
    }

    /// Gives back a copy that was not to be kept.
    pub(super) fn forget(&mut self) {
        if let Some(Sections { header, frames, .. }) = self.sections.take() {
            let start = header.as_ptr().cast_mut().cast();
            // SAFETY: a mapping of exactly these bytes that nobody refers to any more.
            unsafe { libc::munmap(start, header.len() + frames.len()) };
        }
        self.asked = false;
    }
}

impl Sections {
    #[inline(never)]
    fn read(source: &Source, keep: Option<&mut Bump>) -> Option<Sections> {
        let header =
            source.segments(|segment| (segment.p_type == PT_GNU_EH_FRAME).then_some(segment))?;
        if header.p_filesz > MOST_BYTES {
            return None;
        }
        let header_len = header.p_filesz as usize;
        let mut first = [0u8; 32];
        let first = first.get_mut(..header_len.min(32))?;
        source.read(&header, 0, first)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header.p_vaddr);
        let parsed = EhFrameHdr::from(EndianSlice::new(first, LittleEndian))
            .parse(&bases, 8)
            .ok()?;
        let Pointer::Direct(frames_address) = parsed.eh_frame_ptr() else {
            return None;
        };
        // The header says where .eh_frame begins, not where it ends: at the latest with the segment
        // it is loaded by.
        let (loaded, inside) = source.segments(|segment| {
            let inside = frames_address
                .checked_sub(segment.p_vaddr)
                .filter(|inside| *inside < segment.p_filesz)?;
            (segment.p_type == PT_LOAD).then_some((segment, inside))
        })?;
        let room = loaded.p_filesz - inside;
        let bytes = source
            .section_bytes(loaded.p_offset.checked_add(inside)?)
            .unwrap_or(room)
            .min(room);
        if bytes > MOST_BYTES {
            return None;
        }
        let frames_len = bytes as usize;
        let len = header_len + frames_len;
        let bytes = match keep {
            Some(bump) => bump.take(len)?,
            None => map_private(len)?,
        };
        // SAFETY: fresh memory of that size that nobody else knows.
        let memory: &'static mut [u8] =
            unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), len) };
        let (header_memory, frames_memory) = memory.split_at_mut(header_len);
        // A file that shrank meanwhile leaves zeros, which are the end of a list of rules: nothing
        // false.
        let _ = source.read(&header, 0, header_memory);
        let _ = source.read(&loaded, inside, frames_memory);
        Some(Sections {
            header: header_memory,
            frames: frames_memory,
            header_address: header.p_vaddr,
            frames_address,
        })
    }
}
