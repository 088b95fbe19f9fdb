//! Allocators that a Rust program contains under names of their own: mimalloc and jemalloc.
//!
//! The loader knows nothing of their functions, so it cannot prefer ours. But compiled Rust calls
//! them by slots with their addresses, which the loader fills in by relative relocations. The
//! symbol table of the program file names the addresses. Each such slot is directed to a function of
//! `redirected` before the program's own code runs. C code calls these functions directly and is
//! not seen.
//!
//! Nothing is directed in a program without a symbol table (`strip`), at a fixed address, or where
//! there is no slot for a function that frees: blocks that are never freed would be false leaks.

use crate::by_pointer::by_pointer;
use crate::images::{self, Image};
use crate::slots::{Dynamic, set};
use libc::{c_int, c_void, size_t};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

/// A function of an allocator.
struct Function {
    name: &'static [u8],
    pointer: &'static AtomicPtr<c_void>,
    frees: bool,
}

/// A function that is called instead of that of a name.
pub(crate) type Hook = (&'static str, *const ());

/// Defines the functions of allocators: a pointer to each, and how it is called.
macro_rules! functions {
    ($($kind:ident $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[expect(non_upper_case_globals, reason = "named for the function behind the pointer")]
        mod pointers {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> =
                AtomicPtr::new(std::ptr::null_mut());)*
        }

        /// The functions of the program.
        pub(crate) mod inner {
            use super::*;
            $(by_pointer! { pub(crate) $name($($argument: $type),*) -> $result })*
        }

        fn all() -> [Function; FUNCTIONS] {
            [$(Function {
                name: stringify!($name).as_bytes(),
                pointer: &pointers::$name,
                frees: functions!(@$kind),
            }),*]
        }
    };
    (@free) => { true };
    (@make) => { false };
}

/// The number of functions.
pub(crate) const FUNCTIONS: usize = 16;

functions! {
    make mi_malloc(bytes: size_t) -> *mut c_void;
    make mi_zalloc(bytes: size_t) -> *mut c_void;
    make mi_calloc(count: size_t, bytes: size_t) -> *mut c_void;
    make mi_realloc(block: *mut c_void, bytes: size_t) -> *mut c_void;
    make mi_malloc_aligned(bytes: size_t, alignment: size_t) -> *mut c_void;
    make mi_zalloc_aligned(bytes: size_t, alignment: size_t) -> *mut c_void;
    make mi_realloc_aligned(block: *mut c_void, bytes: size_t, alignment: size_t) -> *mut c_void;
    free mi_free(block: *mut c_void) -> ();
    make _rjem_malloc(bytes: size_t) -> *mut c_void;
    make _rjem_calloc(count: size_t, bytes: size_t) -> *mut c_void;
    make _rjem_realloc(block: *mut c_void, bytes: size_t) -> *mut c_void;
    make _rjem_mallocx(bytes: size_t, flags: c_int) -> *mut c_void;
    make _rjem_rallocx(block: *mut c_void, bytes: size_t, flags: c_int) -> *mut c_void;
    free _rjem_free(block: *mut c_void) -> ();
    free _rjem_dallocx(block: *mut c_void, flags: c_int) -> ();
    free _rjem_sdallocx(block: *mut c_void, bytes: size_t, flags: c_int) -> ();
}

/// `true` if the program contains such an allocator whose calls can be directed here.
static IS_FOUND: AtomicBool = AtomicBool::new(false);

/// Returns the name of the program's allocators, if [`find`] found one of these.
pub(crate) fn name() -> Option<&'static str> {
    if !IS_FOUND.load(Relaxed) {
        return None;
    }
    let is_mimalloc = !pointers::mi_free.load(Relaxed).is_null();
    Some(if is_mimalloc {
        "mimalloc and libc malloc"
    } else {
        "jemalloc and libc malloc"
    })
}

/// Looks for such an allocator in the program. It may be called before the loader has filled in
/// the program's slots.
pub(crate) fn find() {
    let functions = all();
    let mut base = 0;
    executable(|image| base = image.base);
    symbols::find(&functions, base);
    // PERF: a program without such an allocator has all its relocations left alone.
    let is_null = |function: &Function| function.pointer.load(Relaxed).is_null();
    if functions.iter().all(is_null) {
        return;
    }
    let mut has = [false; 2];
    for_each_slot(&functions, |function, _, _| {
        has[usize::from(function.frees)] = true;
    });
    IS_FOUND.store(has == [true, true], Release);
}

/// Directs the calls of the program to other functions. The loader has filled in its slots.
pub(crate) fn begin(hooks: &[Hook; FUNCTIONS]) {
    direct(hooks, |function, hook| (function, hook));
}

/// Directs the calls of the program back to its allocator.
pub(crate) fn end(hooks: &[Hook; FUNCTIONS]) {
    direct(hooks, |function, hook| (hook, function));
}

/// Calls `visit` with the address of each function of the program's allocator, and of the function
/// that is called instead.
pub(crate) fn each_address(hooks: &[Hook; FUNCTIONS], mut visit: impl FnMut(usize, usize)) {
    if !IS_FOUND.load(Acquire) {
        return;
    }
    for function in all() {
        let address = function.pointer.load(Relaxed).addr();
        let mut hooks = hooks.iter();
        let hook = hooks.find(|(name, _)| name.as_bytes() == function.name);
        if let Some((_, hook)) = hook.filter(|_| address != 0) {
            visit(address, hook.addr());
        }
    }
}

/// Changes slots from one address to another one.
fn direct(hooks: &[Hook; FUNCTIONS], way: fn(usize, usize) -> (usize, usize)) {
    if !IS_FOUND.load(Acquire) {
        return;
    }
    for_each_slot(&all(), |function, slot, image| {
        let hook = hooks
            .iter()
            .find(|(name, _)| name.as_bytes() == function.name);
        let Some((_, hook)) = hook else {
            return;
        };
        let (from, to) = way(function.pointer.load(Relaxed).addr(), hook.addr());
        // SAFETY: a slot of the program.
        if unsafe { slot.read_volatile() } == from {
            set(slot, to, image);
        }
    });
}

/// Calls `visit` with the program's own image.
fn executable(mut visit: impl FnMut(&Image)) {
    let mut is_executable = true;
    images::for_each(|image| {
        if std::mem::take(&mut is_executable) {
            visit(image);
        }
    });
}

/// Relative relocations: the base is added to a value.
#[cfg(target_arch = "x86_64")]
const RELATIVE: u64 = 8;
#[cfg(target_arch = "aarch64")]
const RELATIVE: u64 = 1027;

/// Calls `visit` with each slot that is filled with the address of a function.
fn for_each_slot(
    functions: &[Function; FUNCTIONS],
    mut visit: impl FnMut(&Function, *mut usize, &Image),
) {
    executable(|image| {
        let Some(dynamic) = Dynamic::of(image) else {
            return;
        };
        for relocation in dynamic.relocations() {
            if relocation.r_info & 0xffff_ffff != RELATIVE || relocation.r_addend == 0 {
                continue;
            }
            let value = image.base.wrapping_add(relocation.r_addend as usize);
            let is_it = |function: &&Function| function.pointer.load(Relaxed).addr() == value;
            if let Some(function) = functions.iter().find(is_it) {
                let slot = (image.base + relocation.r_offset as usize) as *mut usize;
                visit(function, slot, image);
            }
        }
    });
}

/// The symbol table of the program file.
mod symbols {
    use super::{CStr, FUNCTIONS, Function, Release, c_void};
    use libc::{Elf64_Ehdr, Elf64_Shdr, Elf64_Sym};
    use std::ptr::null_mut;

    const SYMBOL_TABLE: u32 = 2;
    const FUNCTION_TYPE: u8 = 2;

    /// Sets the pointers to the functions that the program file names. `base` is the address that it
    /// was loaded at.
    pub(super) fn find(functions: &[Function; FUNCTIONS], base: usize) {
        if let Some(file) = Mapped::open(c"/proc/self/exe") {
            // A file without a symbol table names none.
            let _ = search(file.bytes(), functions, base);
        }
    }

    fn search(file: &[u8], functions: &[Function; FUNCTIONS], base: usize) -> Option<()> {
        let header: Elf64_Ehdr = read(file, 0)?;
        let section = |index: usize| -> Option<Elf64_Shdr> {
            let at = index.checked_mul(header.e_shentsize.into())?;
            read(file, usize::try_from(header.e_shoff).ok()?.checked_add(at)?)
        };
        let contents = |section: &Elf64_Shdr| -> Option<&[u8]> {
            let start = usize::try_from(section.sh_offset).ok()?;
            let bytes = usize::try_from(section.sh_size).ok()?;
            file.get(start..start.checked_add(bytes)?)
        };
        let table = (0..header.e_shnum.into())
            .filter_map(section)
            .find(|section| section.sh_type == SYMBOL_TABLE)?;
        let names = contents(&section(table.sh_link as usize)?)?;
        let table = contents(&table)?;
        for at in (0..table.len()).step_by(size_of::<Elf64_Sym>()) {
            let symbol: Elf64_Sym = read(table, at)?;
            if symbol.st_info & 0xf != FUNCTION_TYPE || symbol.st_shndx == 0 || symbol.st_value == 0
            {
                continue;
            }
            let Some(name) = names.get(symbol.st_name as usize..) else {
                continue;
            };
            // PERF: most names are told apart by their first byte.
            if !matches!(name.first(), Some(b'm' | b'_')) {
                continue;
            }
            let is_it = |function: &Function| {
                name.strip_prefix(function.name)
                    .is_some_and(|rest| rest.first() == Some(&0))
            };
            if let Some(function) = functions.iter().find(|function| is_it(function)) {
                let address = base.wrapping_add(symbol.st_value as usize);
                function.pointer.store(address as *mut c_void, Release);
            }
        }
        Some(())
    }

    /// Reads a value of plain numbers.
    fn read<T: Copy>(bytes: &[u8], at: usize) -> Option<T> {
        let bytes = bytes.get(at..at.checked_add(size_of::<T>())?)?;
        // SAFETY: there are that many bytes, and the three types that are read are numbers.
        Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    /// A file in memory.
    struct Mapped {
        start: *mut c_void,
        bytes: usize,
    }

    impl Mapped {
        fn open(path: &CStr) -> Option<Mapped> {
            // SAFETY: the path is a string, all zeros are a valid stat, and a new mapping is in
            // nobody's way.
            unsafe {
                let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                if file < 0 {
                    return None;
                }
                let mut stat: libc::stat = std::mem::zeroed();
                let mut start = libc::MAP_FAILED;
                if libc::fstat(file, &mut stat) == 0 && stat.st_size > 0 {
                    let bytes = stat.st_size as usize;
                    start = libc::mmap(
                        null_mut(),
                        bytes,
                        libc::PROT_READ,
                        libc::MAP_PRIVATE,
                        file,
                        0,
                    );
                }
                libc::close(file);
                (start != libc::MAP_FAILED).then_some(Mapped {
                    start,
                    bytes: stat.st_size as usize,
                })
            }
        }

        fn bytes(&self) -> &[u8] {
            // SAFETY: the mapping has this size. A program file that runs cannot be written to.
            unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes) }
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: the mapping is this value's own.
            unsafe { libc::munmap(self.start, self.bytes) };
        }
    }
}
