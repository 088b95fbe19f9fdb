//! Copies of modules' `.eh_frame_hdr` and `.eh_frame`, read from their files.
//!
//! Copies, because the target's own mapping goes away with `dlclose`; from the file, because only raw reads may be made
//! here. Nothing read is believed: what does not parse is no rule.

use crate::module::elf::Source;
use crate::sys::{Bump, map_private};
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Pointer};
use libc::{PT_GNU_EH_FRAME, PT_LOAD};
use std::ptr::NonNull;

/// The bytes of a table.
pub(super) type Bytes = EndianSlice<'static, LittleEndian>;

/// No module's tables are larger than this; what is, is not read.
const MOST_BYTES: u64 = 256 << 20;

/// A module's tables. All-zero bytes are "not asked for yet".
#[derive(Clone, Copy)]
pub(super) struct Tables {
    asked: bool,
    copy: Option<Copy>,
}

/// Both sections, one behind the other in memory of their own.
#[derive(Clone, Copy)]
struct Copy {
    bytes: NonNull<u8>,
    header_len: usize,
    frames_len: usize,
    /// ELF virtual addresses of both.
    header_address: u64,
    frames_address: u64,
}

/// What gimli needs to find and read a rule.
pub(super) struct Sections {
    pub(super) header: Bytes,
    pub(super) frames: EhFrame<Bytes>,
    pub(super) bases: BaseAddresses,
    pub(super) frames_address: u64,
}

impl Tables {
    /// The sections, read at the first call from where the module can be read. With `keep` their copy stays as long as the
    /// process runs, else until [`forget`](Self::forget).
    pub(super) fn sections(
        &mut self,
        open: impl FnOnce() -> Option<Source>,
        keep: Option<&mut Bump>,
    ) -> Option<Sections> {
        if !self.asked {
            self.read(open, keep);
        }
        let copy = self.copy?;
        // SAFETY: `copy.bytes` has room for both sections, is written no more, and stays mapped: for ever, or until
        // `forget`, which nobody calls while sections are in use (both are under the write lock).
        let (header, frames) = unsafe {
            (
                std::slice::from_raw_parts(copy.bytes.as_ptr(), copy.header_len),
                std::slice::from_raw_parts(
                    copy.bytes.as_ptr().add(copy.header_len),
                    copy.frames_len,
                ),
            )
        };
        Some(Sections {
            header: EndianSlice::new(header, LittleEndian),
            frames: EhFrame::new(frames, LittleEndian),
            bases: BaseAddresses::default()
                .set_eh_frame_hdr(copy.header_address)
                .set_eh_frame(copy.frames_address),
            frames_address: copy.frames_address,
        })
    }

    /// Reads the copy. What it needs of the stack is given back before a rule is looked for.
    #[cold]
    #[inline(never)]
    fn read(&mut self, open: impl FnOnce() -> Option<Source>, keep: Option<&mut Bump>) {
        self.asked = true;
        self.copy = open().and_then(|source| Copy::read(&source, keep));
    }

    /// Gives back a copy that was not to be kept.
    pub(super) fn forget(&mut self) {
        if let Some(copy) = self.copy.take() {
            // SAFETY: a mapping of exactly these bytes that nobody refers to any more.
            unsafe {
                libc::munmap(
                    copy.bytes.as_ptr().cast(),
                    copy.header_len + copy.frames_len,
                )
            };
        }
        self.asked = false;
    }
}

impl Copy {
    #[inline(never)]
    fn read(source: &Source, keep: Option<&mut Bump>) -> Option<Copy> {
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
        // The header says where .eh_frame begins, not where it ends: at the latest with the segment it is loaded by.
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
        let memory = unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), len) };
        let (header_memory, frames_memory) = memory.split_at_mut(header_len);
        // A file that shrank meanwhile leaves zeros, which are the end of a list of rules: nothing false.
        let _ = source.read(&header, 0, header_memory);
        let _ = source.read(&loaded, inside, frames_memory);
        Some(Copy {
            bytes,
            header_len,
            frames_len,
            header_address: header.p_vaddr,
            frames_address,
        })
    }
}
