//! Copies of the modules' `.eh_frame_hdr` and `.eh_frame`, read from their files.
//!
//! They are copies, because `dlclose` removes the target's own mapping. They are read from the
//! file, because only raw reads are allowed here. Nothing read is trusted: data that does not parse
//! gives no rule.

use crate::images::elf::Source;
use crate::sys::{Bump, map_private};
use gimli::{BaseAddresses, EhFrameHdr, EndianSlice, LittleEndian, Pointer};
use libc::{PT_GNU_EH_FRAME, PT_LOAD};

/// The size limit for a module's tables. Larger ones are not read.
const MOST_BYTES: u64 = 256 << 20;

/// A module's tables. All-zero bytes mean that they were not requested yet.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    asked: bool,
    sections: Option<Sections>,
}

/// Both sections, one after the other in their own memory, and their ELF virtual addresses.
#[derive(Clone, Copy)]
pub(super) struct Sections {
    // NOTE: mapped forever, or until `forget`. Nobody calls `forget` while sections are in use,
    // because both happen under the write lock.
    pub(super) header: &'static [u8],
    pub(super) frames: &'static [u8],
    pub(super) header_address: u64,
    pub(super) frames_address: u64,
}

impl Tables {
    /// Returns the sections. The first call reads them from the source of the module. With `keep`,
    /// the copy stays until the process ends, otherwise until [`forget`](Self::forget).
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

    /// Reads the copy, in a function of its own so that its stack is free before a rule is looked
    /// up.
    #[cold]
    #[inline(never)]
    fn read(&mut self, open: impl FnOnce() -> Option<Source>, keep: Option<&mut Bump>) {
        self.asked = true;
        self.sections = open().and_then(|source| Sections::read(&source, keep));
    }

    /// Frees a copy that is not to be kept.
    pub(super) fn forget(&mut self) {
        if let Some(Sections { header, frames, .. }) = self.sections.take() {
            let start = header.as_ptr().cast_mut().cast();
            // SAFETY: a mapping of exactly these bytes, to which no reference is left.
            unsafe { libc::munmap(start, header.len() + frames.len()) };
        }
        self.asked = false;
    }
}

/// Removes the letter `B` from the descriptions of entries. It tells with which key functions sign
/// their return addresses, which does not matter here, and gimli rejects it.
pub(super) fn forget_keys(mut frames: &mut [u8]) {
    while let Some((length, rest)) = frames.split_first_chunk_mut::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((entry, others)) = rest.split_at_mut_checked(length) else {
            return;
        };
        // The entry begins with four zero bytes and a version; a string follows.
        if let Some(([0, 0, 0, 0, _], description)) = entry.split_first_chunk_mut::<5>()
            && let letters = description
                .split(|byte| *byte == 0)
                .next()
                .unwrap_or_default()
            && let Some(key) = letters.iter().position(|letter| *letter == b'B')
        {
            // The end of an entry is padding: zero bytes are instructions without effect.
            description[key..].rotate_left(1);
            if let Some(last) = description.last_mut() {
                *last = 0;
            }
        }
        frames = others;
    }
}

impl Sections {
    #[inline(never)]
    pub(super) fn read(source: &Source, keep: Option<&mut Bump>) -> Option<Sections> {
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
        // The header contains the start of .eh_frame, but not its end. It ends at the latest with
        // its loaded segment.
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
        // SAFETY: new memory of that size, to which no other reference exists.
        let memory: &'static mut [u8] =
            unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), len) };
        let (header_memory, frames_memory) = memory.split_at_mut(header_len);
        // If the file shrank meanwhile, zeros remain. Zeros end a list of rules, so no rule is
        // wrong.
        let _ = source.read(&header, 0, header_memory);
        let _ = source.read(&loaded, inside, frames_memory);
        if cfg!(target_arch = "aarch64") {
            forget_keys(frames_memory);
        }
        Some(Sections {
            header: header_memory,
            frames: frames_memory,
            header_address: header.p_vaddr,
            frames_address,
        })
    }
}
