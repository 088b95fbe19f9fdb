//! Directs the calls of libraries to this one where the loader does not: by the slots through which
//! a library calls functions of others (its global offset table).
//!
//! Four cases need this. An executable that exports its own `malloc` (rustc has jemalloc inside):
//! the calls of its libraries are redirected, and their blocks still come from that allocator.
//! Calls inside the executable are not seen. The second case is a library loaded with
//! `RTLD_DEEPBIND`. The third is a program that runs already when this library is loaded
//! ([`attach`](crate::attach)): then the slots of the executable are directed here too, and back at
//! the end. The fourth is an allocator with an `operator new` of its own
//! (the module `operators`).

use crate::images::{self, Image};
use crate::inner;
use libc::{Elf64_Rela, Elf64_Sym, Elf64_Xword, c_int, c_void};
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

/// The type of libc's function. By its name, it is this library's own.
type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// The functions of libc that load libraries and look functions up, or null until they are found.
pub(crate) static DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static DLCLOSE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The function that is called instead of the last one.
pub(crate) static DLSYM_HERE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// `true` if calls in libraries that are loaded from now on must be directed to this library.
static DIRECTS_CALLS: AtomicBool = AtomicBool::new(false);
/// `true` if the calls of the executable are directed here too, because this library was loaded
/// when the program ran already.
static IS_ATTACHED: AtomicBool = AtomicBool::new(false);

/// The number of operators of C++.
pub(crate) const OPERATORS: usize = 20;

/// A function that returns the operators of the allocator, if it has its own.
type Operators = fn() -> [inner::Function; OPERATORS];

/// [`Operators`], or null.
static OPERATORS_OF: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Sets the function that returns the operators whose calls are directed to this library too.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "operators of C++ are directed on x86-64 only")
)]
pub(crate) fn set_operators(operators: Operators) {
    OPERATORS_OF.store(operators as *mut c_void, Release);
}

/// `true` from [`detach`] to the next [`attach`].
static IS_DETACHED: AtomicBool = AtomicBool::new(false);

/// Returns `true` after [`begin`] and [`attach`].
pub(crate) fn directs_calls() -> bool {
    DIRECTS_CALLS.load(Relaxed)
}

/// Directs the calls of all libraries to this one, now and when further libraries are loaded.
pub(crate) fn begin() {
    DIRECTS_CALLS.store(true, Relaxed);
    direct_calls();
}

/// Directs the calls of all libraries to this one: all slots with the name of a function of the
/// allocator that lead to that function, or that the loader has not filled in yet.
pub(crate) fn direct_calls() {
    let Some(own) = Own::find() else {
        return;
    };
    let is_attached = IS_ATTACHED.load(Relaxed);
    let mut is_left_out = !is_attached;
    own.others(|image| {
        // The list of images is locked. So if this walk comes after the one of a detach, it finds
        // that nothing is directed here any more.
        let is_left_out = std::mem::take(&mut is_left_out);
        if IS_DETACHED.load(Relaxed) {
            return;
        }
        // The loader knows nothing of these, so the executable's lead to the allocator too.
        direct_calls_of(image, own.operators(), Way::Here);
        if own.operators.is_some() && image.range().contains(&inner::of_program()) {
            // What an operator of the allocator calls is a part of it.
            direct_calls_of(image, &own.functions, Way::Itself);
            return;
        }
        if is_left_out {
            return;
        }
        direct_calls_of(image, &own.functions, Way::Here);
        if is_attached {
            direct_calls_of(image, &own.loading, Way::Here);
        }
    });
}

/// Directs the calls of the program and all its libraries here, those that load libraries too.
///
/// NOTE: twice, because a thread that just looks a function up stores the address of libc's over
/// ours.
pub(crate) fn attach() {
    IS_DETACHED.store(false, Relaxed);
    IS_ATTACHED.store(true, Relaxed);
    DIRECTS_CALLS.store(true, Relaxed);
    direct_calls();
    direct_calls();
}

/// Directs the calls back to the allocator. They are found as they are now, in libraries that were
/// loaded since, too.
pub(crate) fn detach() {
    IS_DETACHED.store(true, Relaxed);
    DIRECTS_CALLS.store(false, Relaxed);
    if let Some(own) = Own::find() {
        own.others(|image| {
            direct_calls_of(image, &own.functions, Way::Back);
            direct_calls_of(image, own.operators(), Way::Back);
            direct_calls_of(image, &own.loading, Way::Back);
        });
    }
    IS_ATTACHED.store(false, Relaxed);
}

/// Directs the calls of `dlsym` of the program and all its libraries here.
pub(crate) fn watch_lookups() {
    if let Some(own) = Own::find() {
        let [.., dlsym] = own.loading;
        own.others(|image| {
            // As in `direct_calls`.
            if !IS_DETACHED.load(Relaxed) {
                direct_calls_of(image, &[dlsym], Way::Here);
            }
        });
    }
}

/// Returns this library's function of the allocator with a name, in a program to which this library
/// is attached.
pub(crate) fn own_function(name: &CStr) -> Option<usize> {
    if !IS_ATTACHED.load(Relaxed) {
        return None;
    }
    let own = Own::find()?;
    let mut functions = own.functions.into_iter();
    Some(functions.find(|function| function.name == name)?.own)
}

/// Calls `visit` with the address of each function of the allocator, and of the function that is
/// called instead.
pub(crate) fn each_address(mut visit: impl FnMut(usize, usize)) {
    let Some(own) = Own::find() else {
        return;
    };
    for function in own.functions.iter().chain(own.operators()) {
        visit(function.elsewhere[0], function.own);
    }
}

/// The direction of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Here,
    Back,
    /// The calls of the allocator itself go to itself, even if the loader prefers this library.
    Itself,
}

/// This library.
struct Own {
    base: usize,
    functions: [inner::Function; inner::FUNCTIONS],
    /// If the allocator has its own.
    operators: Option<[inner::Function; OPERATORS]>,
    /// The functions that load libraries and look functions up. `dlsym` is the last one.
    loading: [inner::Function; 3],
}

impl Own {
    /// Returns the start of this library and its functions. Their names alone would lead to the
    /// functions that the loader prefers.
    ///
    /// NOTE: they are looked up before [`images::for_each`], during which the loader is locked.
    fn find() -> Option<Own> {
        // SAFETY: dladdr writes the place, whose name is a string. The handle belongs to this
        // library, and the pointer to libc's function.
        unsafe {
            let mut place: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(Own::find as *const () as *const c_void, &mut place) == 0 {
                return None;
            }
            let dlopen: Dlopen = std::mem::transmute(crate::next(c"dlopen"));
            let library = dlopen(place.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                return None;
            }
            let find = |name: &CStr| libc::dlsym(library, name.as_ptr()).addr();
            Some(Own {
                base: place.dli_fbase.addr(),
                functions: inner::functions(find),
                operators: Own::find_operators(),
                loading: [
                    loader_function(c"dlopen", find(c"dlopen"), &DLOPEN),
                    loader_function(c"dlclose", find(c"dlclose"), &DLCLOSE),
                    loader_function(c"dlsym", DLSYM_HERE.load(Acquire).addr(), &DLSYM),
                ],
            })
        }
    }

    fn find_operators() -> Option<[inner::Function; OPERATORS]> {
        let operators = OPERATORS_OF.load(Acquire);
        if operators.is_null() {
            return None;
        }
        // SAFETY: the pointer is the function that was set.
        let operators = unsafe { std::mem::transmute::<*mut c_void, Operators>(operators) };
        Some(operators())
    }

    fn operators(&self) -> &[inner::Function] {
        self.operators.as_ref().map_or(&[], |operators| operators)
    }

    /// Calls `visit` with all images but this one and the loader.
    fn others(&self, mut visit: impl FnMut(&Image)) {
        images::for_each(|image| {
            if image.base != self.base && !is_loader(image.name()) {
                visit(image);
            }
        });
    }
}

fn loader_function(
    name: &'static CStr,
    own: usize,
    of_libc: &AtomicPtr<c_void>,
) -> inner::Function {
    let of_libc = of_libc.load(Acquire).addr();
    inner::Function {
        name,
        // Without libc's function, nothing is directed here.
        own: if of_libc == 0 { 0 } else { own },
        elsewhere: [of_libc; 2],
    }
}

/// Returns `true` for the loader, which calls itself in ways of its own, and for the vDSO.
fn is_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b"ld-linux") || name.starts_with(b"linux-vdso")
}

/// Tags of the dynamic section.
mod tag {
    pub(super) const NULL: i64 = 0;
    pub(super) const PLT_REL_SIZE: i64 = 2;
    pub(super) const STRINGS: i64 = 5;
    pub(super) const SYMBOLS: i64 = 6;
    pub(super) const RELA: i64 = 7;
    pub(super) const RELA_SIZE: i64 = 8;
    pub(super) const PLT_RELA: i64 = 23;
}

/// Types of relocations: the address of a function, for data and for calls.
#[cfg(target_arch = "x86_64")]
const ADDRESS_TYPES: [u64; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const ADDRESS_TYPES: [u64; 3] = [257, 1025, 1026];

/// The parts of an image's dynamic section that are needed here.
#[derive(Clone, Copy, Default)]
pub(crate) struct Dynamic {
    strings: usize,
    symbols: usize,
    /// The start and size of both lists of relocations.
    lists: [(usize, usize); 2],
}

impl Dynamic {
    pub(crate) fn of(image: &Image) -> Option<Dynamic> {
        let mut headers = image.headers().iter();
        let header = headers.find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let mut entry = (image.base + header.p_vaddr as usize) as *const (i64, Elf64_Xword);
        let mut dynamic = Dynamic::default();
        // The loader has added the base to addresses, on these machines.
        let place = |value: usize| {
            if value < image.base {
                value + image.base
            } else {
                value
            }
        };
        loop {
            // SAFETY: the dynamic section of a loaded image, which ends with a null tag.
            let (tag, value) = unsafe { *entry };
            let value = value as usize;
            match tag {
                tag::NULL => break,
                tag::STRINGS => dynamic.strings = place(value),
                tag::SYMBOLS => dynamic.symbols = place(value),
                tag::RELA => dynamic.lists[0].0 = place(value),
                tag::RELA_SIZE => dynamic.lists[0].1 = value,
                tag::PLT_RELA => dynamic.lists[1].0 = place(value),
                tag::PLT_REL_SIZE => dynamic.lists[1].1 = value,
                _ => {}
            }
            // SAFETY: the section goes on until the null tag.
            entry = unsafe { entry.add(1) };
        }
        Some(dynamic).filter(|dynamic| dynamic.strings != 0 && dynamic.symbols != 0)
    }

    /// Returns the relocations of both lists.
    pub(crate) fn relocations(&self) -> impl Iterator<Item = Elf64_Rela> + use<> {
        self.lists.into_iter().flat_map(|(start, bytes)| {
            let start = start as *const Elf64_Rela;
            // SAFETY: the relocations of a loaded image stay mapped.
            (0..bytes / size_of::<Elf64_Rela>()).map(move |index| unsafe { *start.add(index) })
        })
    }
}

/// A slot through which an image calls one of some functions.
struct Slot<'a> {
    place: *mut usize,
    /// The address in it.
    current: usize,
    /// `true` if the loader has not filled it in yet.
    is_unfilled: bool,
    function: &'a inner::Function,
}

/// Returns the slots of an image for some functions.
fn slots_of<'a>(
    image: &'a Image,
    functions: &'a [inner::Function],
) -> impl Iterator<Item = Slot<'a>> {
    let dynamic = Dynamic::of(image).filter(|_| !functions.is_empty());
    let range = image.range();
    let slot = move |dynamic: Dynamic, relocation: Elf64_Rela| {
        let symbol = (relocation.r_info >> 32) as usize;
        if !ADDRESS_TYPES.contains(&(relocation.r_info & 0xffff_ffff)) || symbol == 0 {
            return None;
        }
        // SAFETY: the symbols and strings of a loaded image stay mapped.
        let (symbol, name) = unsafe {
            let symbols = dynamic.symbols as *const Elf64_Sym;
            let symbol = &*symbols.add(symbol);
            let name = (dynamic.strings + symbol.st_name as usize) as *const c_char;
            (symbol, CStr::from_ptr(name))
        };
        let function = functions.iter().find(|function| function.name == name)?;
        let place = (image.base + relocation.r_offset as usize) as *mut usize;
        // SAFETY: a slot of a loaded image.
        let current = unsafe { place.read_volatile() };
        Some(Slot {
            place,
            current,
            is_unfilled: symbol.st_shndx == 0 && range.contains(&current),
            function,
        })
    };
    dynamic.into_iter().flat_map(move |dynamic| {
        let slot = slot.clone();
        let relocations = dynamic.relocations();
        relocations.filter_map(move |relocation| slot(dynamic, relocation))
    })
}

fn direct_calls_of(image: &Image, functions: &[inner::Function], way: Way) {
    let range = image.range();
    let is_attached = IS_ATTACHED.load(Relaxed);
    // A library that calls libc past an allocator in front of it has blocks of libc's, which the
    // allocator in front must not free. Its slots that are not filled in yet will lead to libc too.
    let passes_by = is_attached
        && slots_of(image, functions).any(|slot| {
            let [in_front, of_libc] = slot.function.elsewhere;
            in_front != of_libc && slot.current == of_libc
        });
    for slot in slots_of(image, functions) {
        let Slot {
            current, function, ..
        } = slot;
        let in_front = function.elsewhere[0];
        let is_allocator =
            current == in_front || !is_attached && function.elsewhere.contains(&current);
        let is_unfilled = slot.is_unfilled && !passes_by;
        match way {
            Way::Here if function.own != 0 && (is_allocator || is_unfilled) => {
                set(slot.place, function.own, image);
            }
            Way::Itself if current == function.own || range.contains(&current) => {
                set(slot.place, in_front, image);
            }
            Way::Back if function.own != 0 && current == function.own => {
                set(slot.place, in_front, image);
            }
            _ => {}
        }
    }
}

/// Fails for pages that are read-only, and changes nothing. Kernels before 5.14 do not know it.
const MADV_POPULATE_WRITE: c_int = 23;

/// Stores an address into a slot. The loader has made some slots read-only: those on whole pages of
/// a range.
pub(crate) fn set(slot: *mut usize, address: usize, image: &Image) {
    const PAGE: usize = 4096;
    // SAFETY: sysconf only returns a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(PAGE);
    let down = |address: usize| address & !(page - 1);
    let at = slot as usize;
    let is_read_only = image.headers().iter().any(|header| {
        let start = image.base + header.p_vaddr as usize;
        header.p_type == libc::PT_GNU_RELRO
            && (down(start)..down(start + header.p_memsz as usize)).contains(&at)
    });
    let start = down(at) as *mut c_void;
    // SAFETY: the page of a slot. Nothing is executed from it, and its protection is restored. No
    // other thread does the same at once, because the list of images is locked. Another thread may
    // be loading the image: as long as the loader can write to the page, it stays writable, and the
    // loader protects it.
    unsafe {
        let is_protected = is_read_only && libc::madvise(start, page, MADV_POPULATE_WRITE) != 0;
        if is_read_only && libc::mprotect(start, page, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        slot.write_volatile(address);
        if is_protected {
            libc::mprotect(start, page, libc::PROT_READ);
        }
    }
}
