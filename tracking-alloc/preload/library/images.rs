//! Loaded code, and whether tracking-alloc is part of it.

use libc::{c_char, c_int, c_void};
use std::ffi::CStr;

/// Returns `true` if the executable or a library that it began with contains tracking-alloc as its
/// allocator. Such an image has an ELF note named `heapglass`.
pub(crate) fn links_tracking_alloc() -> bool {
    let mut found = false;
    for_each(|image| {
        let headers = image.headers();
        let notes = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_NOTE);
        found |= notes.into_iter().any(|header| {
            // SAFETY: the loader has mapped the segment.
            let notes = unsafe {
                let start = (image.base + header.p_vaddr as usize) as *const u8;
                std::slice::from_raw_parts(start, header.p_memsz as usize)
            };
            has_note(notes, header.p_align as usize)
        });
    });
    found
}

/// The name in tracking-alloc's note.
const NAME: &[u8] = b"heapglass\0";

/// Returns `true` if notes contain tracking-alloc's.
fn has_note(mut notes: &[u8], alignment: usize) -> bool {
    let alignment = if alignment == 8 { 8 } else { 4 };
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (name, content) = (word(0) as usize, word(4) as usize);
        if rest.get(..name) == Some(NAME) {
            return true;
        }
        let name_end = (12 + name).next_multiple_of(alignment);
        let end = (name_end + content).next_multiple_of(alignment);
        match notes.get(end..) {
            Some(rest) if end > 0 => notes = rest,
            _ => break,
        }
    }
    false
}

/// Returns `true` if the image of one address was loaded after the image of another.
pub(crate) fn is_after(address: usize, other: usize) -> bool {
    let (mut index, mut places) = (0, [None; 2]);
    for_each(|image| {
        let range = image.range();
        for (place, of) in places.iter_mut().zip([address, other]) {
            if range.contains(&of) {
                *place = Some(index);
            }
        }
        index += 1;
    });
    let [own, other] = places;
    own > other
}

/// Returns `true` if an address lies in the executable.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "operators of C++ are directed on x86-64 only")
)]
pub(crate) fn is_in_executable(address: usize) -> bool {
    let (mut is_first, mut is_inside) = (true, false);
    for_each(|image| {
        is_inside |= std::mem::take(&mut is_first) && image.range().contains(&address);
    });
    is_inside
}

/// An image in memory.
pub(crate) struct Image {
    pub(crate) base: usize,
    headers: *const libc::Elf64_Phdr,
    count: usize,
    name: *const c_char,
}

impl Image {
    pub(crate) fn headers(&self) -> &[libc::Elf64_Phdr] {
        // SAFETY: the loader keeps the headers of a loaded image.
        unsafe { std::slice::from_raw_parts(self.headers, self.count) }
    }

    /// Returns the path, which is empty for the executable.
    pub(crate) fn name(&self) -> &[u8] {
        // SAFETY: the loader keeps the name of a loaded image.
        unsafe { CStr::from_ptr(self.name) }.to_bytes()
    }

    /// Returns the range of addresses of the image.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        let loaded = self
            .headers()
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD);
        let ends = loaded.map(|header| header.p_vaddr + header.p_memsz);
        self.base..self.base + ends.max().unwrap_or(0) as usize
    }
}

/// Calls `visit` with each loaded image, the executable first.
pub(crate) fn for_each<F: FnMut(&Image)>(mut visit: F) {
    unsafe extern "C" fn call<F: FnMut(&Image)>(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a description, and the pointer given below.
        let (info, visit) = unsafe { (&*info, &mut *visit.cast::<F>()) };
        visit(&Image {
            base: info.dlpi_addr as usize,
            headers: info.dlpi_phdr,
            count: info.dlpi_phnum.into(),
            name: info.dlpi_name,
        });
        0
    }
    // SAFETY: `call` gets a pointer to the function it was made for.
    unsafe { libc::dl_iterate_phdr(Some(call::<F>), (&raw mut visit).cast()) };
}
