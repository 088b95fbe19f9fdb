//! The code of the C library that calls `main` and the functions of threads.
//!
//! ```text
//! _start ─▶ __libc_start_main ─▶ __libc_start_call_main ─▶ main          glibc
//! _start ─▶ _start_c ─▶ __libc_start_main (and its second stage) ─▶ main  musl
//! clone ─▶ start_thread, start ─▶ a thread's function
//! ```
//! The functions in the middle are not exported. Each is in one object file with an exported
//! function. Linkers do not split object files, so each lies near that exported function. A
//! function near it, or anywhere in a separate C library, is one of them if the stack ends next to
//! it.

use crate::sys;

/// The role of an address at the end of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a start function of the C library.
    Start,
    /// Near a start function, in a static executable.
    Near,
    /// In a C library that is a separate library.
    Library,
    Elsewhere,
}

/// Maximum distance from the beginning of a start function to that of the exported function. It is
/// 3,800 and 1,200 bytes in glibc, where the start function comes first, and 1,400 in musl, where
/// it may come second.
const MOST_BETWEEN: u64 = 8 << 10;
/// Maximum distance from a return address to the exported function, if no tables tell where
/// functions begin: musl is usually built without tables. The return address in musl's `start` lies
/// up to 1,520 bytes beyond `pthread_create`.
const MOST_TO_RETURN: u64 = 1600;
/// Maximum size of the entry code to which the kernel jumps.
const ENTRY_BYTES: u64 = 64;

/// Returns `true` for a return address in the program's entry code, judged by its place alone.
pub(super) fn is_entry(pc: u64) -> bool {
    pc.wrapping_sub(sys::entry()).wrapping_sub(1) < ENTRY_BYTES
}

/// Returns the role of a return address. `function` is the start of its function, if the tables
/// contain it.
pub(super) fn place(
    pc: u64,
    function: Option<u64>,
    image_of: impl Fn(u64) -> Option<usize>,
) -> Place {
    place_by(pc, function, sys::start_functions(), |address| {
        // If the executable is static, its image also contains the C library.
        let program = image_of(sys::entry());
        let image = image_of(address);
        (image != program).then_some(image?)
    })
}

/// Does the work of [`place`] for the given exported functions. `library_of` returns the number of
/// an address's image, unless it is the executable.
fn place_by(
    pc: u64,
    function: Option<u64>,
    exported: [u64; 2],
    library_of: impl Fn(u64) -> Option<usize>,
) -> Place {
    let Some(function) = function else {
        return if exported
            .into_iter()
            .any(|exported| pc.abs_diff(exported) < MOST_TO_RETURN)
        {
            Place::Start
        } else {
            Place::Elsewhere
        };
    };
    let image = library_of(pc.wrapping_sub(1));
    let is_near = |exported: u64| function.abs_diff(exported) <= MOST_BETWEEN;
    match exported.map(library_of) {
        // The start function of a thread never calls the function that creates threads.
        _ if function == exported[1] => Place::Elsewhere,
        libraries if image.is_some() && libraries.contains(&image) => Place::Library,
        [None, None] if image.is_none() && exported.into_iter().any(is_near) => Place::Near,
        _ => Place::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: u64 = 0x10_0000;
    const THREAD: u64 = 0x20_0000;

    #[test]
    fn in_a_static_executable_only_functions_near_the_exported_ones_may_end_a_stack() {
        let place =
            |function: u64| place_by(function + 9, Some(function), [MAIN, THREAD], |_| None);
        assert_eq!(place(MAIN), Place::Near, "it calls main before glibc 2.34");
        assert_eq!(place(MAIN - 3_800), Place::Near);
        assert_eq!(place(THREAD - 1_200), Place::Near);
        assert_eq!(place(THREAD + 1_400), Place::Near);
        for function in [MAIN - MOST_BETWEEN - 1, THREAD, 0x5000] {
            assert_eq!(place(function), Place::Elsewhere, "{function:#x}");
        }
    }

    #[test]
    fn where_the_c_library_is_one_of_its_own_nothing_outside_of_it_ends_a_stack() {
        let library_of = |address: u64| (address >= MAIN).then_some(7);
        let place =
            |function: u64| place_by(function + 9, Some(function), [MAIN, THREAD], library_of);
        assert_eq!(place(MAIN + 0x5_0000), Place::Library);
        assert_eq!(place(MAIN - 3_800), Place::Elsewhere, "it is the program's");
    }

    #[test]
    fn code_without_tables_is_start_up_next_to_an_exported_function() {
        let place = |pc: u64| place_by(pc, None, [MAIN, THREAD], |_| None);
        assert_eq!(place(MAIN + 80), Place::Start, "musl's second stage");
        assert_eq!(place(THREAD - 100), Place::Start);
        assert_eq!(place(MAIN + 4096), Place::Elsewhere);
    }
}
