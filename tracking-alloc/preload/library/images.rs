//! Loaded code: `dlopen` and `dlclose`, and whether tracking-alloc is part of it.

use crate::slots;
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

static DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static DLCLOSE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;

/// `true` if calls in libraries that are loaded from now on must be directed to this library.
pub(crate) static DIRECTS_CALLS: AtomicBool = AtomicBool::new(false);

/// Finds the functions of libc.
#[cold]
pub(crate) fn prepare() {
    if DLOPEN.load(Acquire).is_null() {
        DLCLOSE.store(crate::next(c"dlclose"), Release);
        DLOPEN.store(crate::next(c"dlopen"), Release);
    }
}

/// Jumps to libc's function, which finds its caller by the return address: the caller's own paths
/// for libraries and its namespace apply. A library with scopes of its own (`RTLD_DEEPBIND`), or
/// any library if the loader prefers another `malloc`, is first loaded from here, so that its calls
/// can be directed to this library.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    std::arch::naked_asm!(
        "push rdi", "push rsi", "sub rsp, 8",
        "call {open}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "test rax, rax",
        "je 2f",
        "ret",
        "2:",
        "jmp qword ptr [rip + {dlopen}]",
        dlopen = sym DLOPEN,
        open = sym open,
    )
}

/// Does the same as on x86-64.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {open}",
        "cbz x0, 1f",
        "ldp x29, x30, [sp], #32",
        "ret",
        "1:",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "adrp x16, {dlopen}",
        "ldr x16, [x16, :lo12:{dlopen}]",
        "br x16",
        dlopen = sym DLOPEN,
        open = sym open,
    )
}

/// Loads a library whose calls must be directed to this one. Returns null for all others, and if it
/// is not found: libc then looks for it in the place of the caller.
unsafe extern "C" fn open(file: *const c_char, flags: c_int) -> *mut c_void {
    prepare();
    heapglass_recorder::code_changes();
    let directs_calls = DIRECTS_CALLS.load(Relaxed);
    if file.is_null() || !directs_calls && flags & libc::RTLD_DEEPBIND == 0 {
        return null_mut();
    }
    // SAFETY: the pointer leads to this function. The caller's promises are passed on.
    unsafe {
        let dlopen: Dlopen = std::mem::transmute(DLOPEN.load(Acquire));
        let library = dlopen(file, flags);
        if !library.is_null() {
            slots::direct_calls();
        }
        library
    }
}

/// Returns a handle to a loaded library, or null.
///
/// # Safety
/// `file` must be a string.
pub(crate) unsafe fn open_loaded(file: *const c_char) -> *mut c_void {
    prepare();
    // SAFETY: the pointer leads to this function. The caller's promise is passed on.
    unsafe {
        let dlopen: Dlopen = std::mem::transmute(DLOPEN.load(Acquire));
        dlopen(file, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    prepare();
    // SAFETY: the pointer leads to this function. The caller's promises are passed on.
    let answer = unsafe {
        let dlclose: Dlclose = std::mem::transmute(DLCLOSE.load(Acquire));
        dlclose(library)
    };
    heapglass_recorder::code_changes();
    answer
}

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
