//! `dlopen`, `dlclose` and `dlsym`, of which the recorder hears.

use crate::asks_first::asks_first;
use crate::slots::{self, DLCLOSE, DLOPEN, DLSYM, DLSYM_HERE};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// `true` if libraries were loaded whose calls are not directed here yet.
static IS_BEHIND: AtomicBool = AtomicBool::new(false);

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Finds the functions of libc.
#[cold]
pub(crate) fn prepare() {
    if DLOPEN.load(Acquire).is_null() {
        DLSYM_HERE.store(dlsym_here as *const () as *mut c_void, Release);
        DLSYM.store(libc::dlsym as *const () as *mut c_void, Release);
        DLCLOSE.store(crate::next(c"dlclose"), Release);
        DLOPEN.store(crate::next(c"dlopen"), Release);
    }
}

/// Directs the calls of libraries here that were loaded since the last time.
fn catch_up() {
    if IS_BEHIND.swap(false, AcqRel) {
        slots::direct_calls();
    }
}

/// Forgets libraries whose calls were to be directed here.
pub(crate) fn forget() {
    IS_BEHIND.store(false, Release);
}

asks_first! {
    /// Jumps to libc's function, which finds its caller by the return address: the caller's own
    /// paths for libraries and its namespace apply. A library with scopes of its own
    /// (`RTLD_DEEPBIND`), or any library if the loader prefers another `malloc`, is first loaded
    /// from here, so that its calls can be directed to this library.
    #[unsafe(no_mangle)]
    fn dlopen { open, else DLOPEN }
}

/// Loads a library whose calls must be directed to this one. Returns null for all others, and if it
/// is not found: libc then looks for it in the place of the caller.
///
/// A name that is not a path means another file for each caller (`RUNPATH` and `$ORIGIN`). So libc
/// loads these libraries, and their calls are directed here when one of their functions is looked
/// up.
unsafe extern "C" fn open(file: *const c_char, flags: c_int) -> *mut c_void {
    prepare();
    heapglass_recorder::code_changes();
    catch_up();
    let directs_calls = slots::directs_calls();
    if file.is_null() || !directs_calls && flags & libc::RTLD_DEEPBIND == 0 {
        return null_mut();
    }
    // SAFETY: the caller passes a string.
    let name = unsafe { CStr::from_ptr(file) }.to_bytes();
    if !name.contains(&b'/') || name.contains(&b'$') {
        slots::watch_lookups();
        IS_BEHIND.store(true, Release);
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

/// Directs what is behind, and returns the function of this library if the program asks for one of
/// the allocator's. Otherwise returns null, and libc looks it up for the caller.
unsafe extern "C" fn look_up(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    catch_up();
    if handle != libc::RTLD_DEFAULT || name.is_null() {
        return null_mut();
    }
    // SAFETY: the caller passes a string.
    let own = slots::own_function(unsafe { CStr::from_ptr(name) });
    std::ptr::with_exposed_provenance_mut(own.unwrap_or(0))
}

asks_first! {
    /// Called instead of libc's `dlsym` through slots only: by its own name, the look-ups of this
    /// library would arrive here. libc's function finds its caller by the return address.
    fn dlsym_here { look_up, else DLSYM }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    prepare();
    catch_up();
    // SAFETY: the pointer leads to this function. The caller's promises are passed on.
    let answer = unsafe {
        let dlclose: Dlclose = std::mem::transmute(DLCLOSE.load(Acquire));
        dlclose(library)
    };
    heapglass_recorder::code_changes();
    answer
}
