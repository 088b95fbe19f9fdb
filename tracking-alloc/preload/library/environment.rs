//! The environment of the process: whether to record, and which other programs get this library.
//!
//! With `HEAPGLASS_OUT` set, this library removes itself from `LD_PRELOAD`, so that programs which
//! this one starts are not recorded. `HEAPGLASS_CHILDREN=1` leaves it there.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The longest path of this library that is kept.
const LONGEST: usize = 4096;

/// The path of this library, as in `LD_PRELOAD`. Written once, before any other thread runs.
struct Path(UnsafeCell<[u8; LONGEST]>);

// SAFETY: written only by `take_out`, which runs once, before the path is read.
unsafe impl Sync for Path {}

static PATH: Path = Path(UnsafeCell::new([0; LONGEST]));

/// Returns `true` once libc has stored the environment.
pub(crate) fn is_there() -> bool {
    // SAFETY: only the pointer is read.
    unsafe { !environ.is_null() }
}

/// Returns the program's current environment.
pub(crate) fn current() -> *const *const c_char {
    // SAFETY: only the pointer is read.
    unsafe { environ as *const *const c_char }
}

/// Returns the entry of a variable and its value. The name includes the `=`.
///
/// # Safety
/// `list` must be null or a list of strings that ends with null.
unsafe fn find(list: *mut *mut c_char, name: &[u8]) -> Option<(*mut *mut c_char, *mut c_char)> {
    let mut entry = list;
    // SAFETY: the list ends with null, and each entry is a string.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            if CStr::from_ptr(*entry).to_bytes().starts_with(name) {
                return Some((entry, (*entry).add(name.len())));
            }
            entry = entry.add(1);
        }
    }
    None
}

fn value(name: &[u8]) -> &'static [u8] {
    // SAFETY: called before other threads run. The strings stay where they are.
    unsafe { find(environ, name).map_or(b"", |(_, value)| CStr::from_ptr(value).to_bytes()) }
}

/// Returns `true` if the environment asks for a recording. A process with raised privileges ignores
/// it.
pub(crate) fn wants_recording() -> bool {
    // SAFETY: this only reads the auxiliary vector.
    let is_raised = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    !is_raised && !value(OUT).is_empty()
}

/// The name of the variable with the path of the recording.
pub(crate) const OUT: &[u8] = b"HEAPGLASS_OUT=";

/// Returns `true` if an environment has a variable.
///
/// # Safety
/// `list` must be null or a list of strings that ends with null.
pub(crate) unsafe fn has(list: *const *const c_char, name: &[u8]) -> bool {
    // SAFETY: guaranteed by the caller. The list is only read.
    unsafe { find(list.cast_mut().cast(), name) }.is_some()
}

/// The name of the variable with the preloaded libraries.
pub(crate) const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Returns `true` between two paths in `LD_PRELOAD`.
fn is_separator(byte: u8) -> bool {
    byte == b':' || byte == b' '
}

/// Returns `true` if a value of `LD_PRELOAD` contains a path.
pub(crate) fn contains(value: &[u8], path: &[u8]) -> bool {
    value
        .split(|byte| is_separator(*byte))
        .any(|part| part == path)
}

/// Removes this library from `LD_PRELOAD`, and the variable if nothing is left. Returns the path
/// that was removed. Returns `None` if the library stays there.
pub(crate) fn take_out() -> Option<&'static CStr> {
    match value(b"HEAPGLASS_CHILDREN=") {
        b"" | b"0" => {}
        b"1" => return None,
        other => complain(other),
    }
    let path = own_path()?;
    // SAFETY: called once, before other threads run. The string belongs to this process and only
    // becomes shorter.
    unsafe {
        let (entry, value) = find(environ, PRELOAD)?;
        let length = CStr::from_ptr(value).count_bytes();
        let text = std::slice::from_raw_parts_mut(value.cast::<u8>(), length + 1);
        let start = position(&text[..length], path.to_bytes())?;
        let kept = without(text, start, path.count_bytes());
        if kept == 0 {
            let mut entry = entry;
            while !(*entry).is_null() {
                *entry = *entry.add(1);
                entry = entry.add(1);
            }
        }
    }
    Some(path)
}

/// Says on standard error that a value of `HEAPGLASS_CHILDREN` means nothing.
fn complain(value: &[u8]) {
    let parts: [&[u8]; 3] = [
        b"heapglass: invalid HEAPGLASS_CHILDREN `",
        value,
        b"`; use `0` or `1`; programs that this one starts are not recorded\n",
    ];
    let parts = parts.map(|part| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    });
    // SAFETY: the parts are only read. Not by libc's function, which is a cancellation point.
    unsafe { libc::syscall(libc::SYS_writev, libc::STDERR_FILENO, parts.as_ptr(), 3) };
}

/// Returns the start of a path in a value of `LD_PRELOAD`.
fn position(text: &[u8], path: &[u8]) -> Option<usize> {
    let ends = |at: usize| text.get(at).is_none_or(|byte| is_separator(*byte));
    (0..text.len()).find(|start| {
        text[*start..].starts_with(path)
            && ends(start + path.len())
            && (*start == 0 || is_separator(text[start - 1]))
    })
}

/// Removes a path with one separator from a NUL-terminated value. Returns the length that is left.
fn without(text: &mut [u8], start: usize, length: usize) -> usize {
    let end = text.len() - 1;
    let (from, to) = if start + length < end {
        (start, start + length + 1)
    } else {
        (start.saturating_sub(1), end)
    };
    text.copy_within(to.., from);
    from + (end - to)
}

/// Returns the path from which the loader has loaded this library.
fn own_path() -> Option<&'static CStr> {
    // SAFETY: dladdr fills in the place, whose name is a string. Only this function, which runs
    // once, writes the static.
    unsafe {
        let mut place: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own_path as *const () as *const libc::c_void, &mut place) == 0 {
            return None;
        }
        let path = CStr::from_ptr(place.dli_fname).to_bytes_with_nul();
        let kept = &mut *PATH.0.get();
        let kept = kept.get_mut(..path.len())?;
        kept.copy_from_slice(path);
        CStr::from_bytes_with_nul(kept).ok()
    }
}
