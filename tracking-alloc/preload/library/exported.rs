//! The functions that programs call. Each behaves as the one behind it, and reports what happened.
//!
//! A block of 0 bytes counts as 1 byte, as in valgrind's DHAT: it has an address of its own, and
//! the recorder knows no empty blocks.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each function passes on what its caller promised to the function of that name"
)]

use crate::begin::Malloc;
use crate::inner;
use heapglass_recorder::{
    Reallocating, allocated_by, freed, passes_allocation, passes_free, passes_reallocation,
    reallocated, reallocating, reallocating_in_pool,
};
use libc::{c_int, c_void, size_t};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Reports a new block, or a failed request.
#[inline(always)]
pub(crate) fn made(block: *mut c_void, bytes: size_t) -> *mut c_void {
    allocated_by::<Malloc>(block.cast(), bytes.max(1));
    block
}

/// Reports a new block. An alignment that the allocator does not accept is no failed request.
#[inline(always)]
fn made_aligned(block: *mut c_void, bytes: size_t) -> *mut c_void {
    if block.is_null() && crate::errno() != libc::ENOMEM {
        return block;
    }
    made(block, bytes)
}

/// Returns `true` if an allocation needs no report. PERF: the event then ends in a jump to the
/// allocator. The rest stays in the exported function, whose name is then the name of its frame.
#[inline(always)]
pub(crate) fn passes(bytes: size_t) -> bool {
    passes_allocation(bytes.max(1))
}

#[inline(always)]
unsafe fn resize(block: *mut c_void, bytes: size_t) -> *mut c_void {
    unsafe { resize_by(block, bytes, |block, bytes| inner::realloc(block, bytes)) }
}

/// Changes the size of a block by a function of its allocator, and reports it.
#[inline(always)]
pub(crate) unsafe fn resize_by(
    block: *mut c_void,
    bytes: size_t,
    realloc: impl Fn(*mut c_void, size_t) -> *mut c_void,
) -> *mut c_void {
    let is_plain = !block.is_null() && bytes != 0;
    if is_plain && passes_reallocation(block.cast(), None, bytes) {
        return realloc(block, bytes);
    }
    if block.is_null() {
        return made(realloc(block, bytes), bytes);
    }
    if bytes == 0 {
        // glibc frees the block and returns null. Other allocators may return an empty block.
        freed(block.cast(), None);
        let new = realloc(block, 0);
        return if new.is_null() { new } else { made(new, 0) };
    }
    let old = reallocating(block.cast(), None);
    let new = realloc(block, bytes);
    reallocated(old, new.cast(), bytes);
    new
}

#[inline(always)]
unsafe fn release(block: *mut c_void) {
    unsafe { release_by(block, |block| inner::free(block)) }
}

/// Frees a block by a function of its allocator, and reports it.
#[inline(always)]
pub(crate) unsafe fn release_by(block: *mut c_void, free: impl Fn(*mut c_void)) {
    if !block.is_null() && !passes_free(block.cast(), None) {
        freed(block.cast(), None);
    }
    free(block);
}

/// Defines the exported functions.
macro_rules! exported {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result $body
        )*
    };
}

exported! {
    malloc(bytes: size_t) -> *mut c_void {
        if passes(bytes) {
            return unsafe { inner::malloc(bytes) };
        }
        made(unsafe { inner::malloc(bytes) }, bytes)
    }
    calloc(count: size_t, bytes: size_t) -> *mut c_void {
        let product = count.checked_mul(bytes);
        if product.is_some_and(passes) {
            return unsafe { inner::calloc(count, bytes) };
        }
        let block = unsafe { inner::calloc(count, bytes) };
        match product {
            Some(bytes) => made(block, bytes),
            None => block,
        }
    }
    realloc(block: *mut c_void, bytes: size_t) -> *mut c_void {
        unsafe { resize(block, bytes) }
    }
    reallocarray(block: *mut c_void, count: size_t, bytes: size_t) -> *mut c_void {
        // glibc's function calls `realloc`, which would be counted there.
        let Some(bytes) = count.checked_mul(bytes) else {
            crate::set_errno(libc::ENOMEM);
            return null_mut();
        };
        unsafe { resize(block, bytes) }
    }
    free(block: *mut c_void) -> () {
        unsafe { release(block) }
    }
    cfree(block: *mut c_void) -> () {
        unsafe { release(block) }
    }
    free_sized(block: *mut c_void, _bytes: size_t) -> () {
        unsafe { release(block) }
    }
    free_aligned_sized(block: *mut c_void, _alignment: size_t, _bytes: size_t) -> () {
        unsafe { release(block) }
    }
    memalign(alignment: size_t, bytes: size_t) -> *mut c_void {
        if passes(bytes) {
            return unsafe { inner::memalign(alignment, bytes) };
        }
        made_aligned(unsafe { inner::memalign(alignment, bytes) }, bytes)
    }
    aligned_alloc(alignment: size_t, bytes: size_t) -> *mut c_void {
        if passes(bytes) {
            return unsafe { inner::aligned_alloc(alignment, bytes) };
        }
        made_aligned(unsafe { inner::aligned_alloc(alignment, bytes) }, bytes)
    }
    posix_memalign(block: *mut *mut c_void, alignment: size_t, bytes: size_t) -> c_int {
        if passes(bytes) {
            return unsafe { inner::posix_memalign(block, alignment, bytes) };
        }
        let error = unsafe { inner::posix_memalign(block, alignment, bytes) };
        match error {
            0 => made(unsafe { *block }, bytes),
            libc::ENOMEM => made(null_mut(), bytes),
            _ => null_mut(),
        };
        error
    }
    valloc(bytes: size_t) -> *mut c_void {
        if passes(bytes) {
            return unsafe { inner::valloc(bytes) };
        }
        made(unsafe { inner::valloc(bytes) }, bytes)
    }
    pvalloc(bytes: size_t) -> *mut c_void {
        if passes(bytes) {
            return unsafe { inner::pvalloc(bytes) };
        }
        made(unsafe { inner::pvalloc(bytes) }, bytes)
    }
    malloc_usable_size(block: *mut c_void) -> size_t {
        unsafe { inner::malloc_usable_size(block) }
    }
}

/// A reallocation in a program's own pool, between the two calls that report it. It lies in memory
/// of the caller, `struct heapglass_reallocation`, which has sixteen words.
///
/// Programs may skip either call, for example by an exception. So the rest is read only if the
/// first word is [`BEGUN`], and that word is cleared.
#[repr(C)]
struct PoolReallocation {
    word: u64,
    bytes: size_t,
    step: MaybeUninit<PoolStep>,
}

/// The report that the second call has to make.
enum PoolStep {
    Nothing,
    NewBlock,
    Moved(Reallocating),
}

/// The first word of a reallocation that has begun.
const BEGUN: u64 = u64::from_le_bytes(*b"hg-grows");

const _: () = assert!(size_of::<PoolReallocation>() <= 128 && align_of::<PoolReallocation>() <= 8);

/// Reports a new block of a pool.
#[inline(always)]
fn made_in_pool(block: *mut c_void, bytes: size_t) {
    if !block.is_null() && !passes(bytes) {
        made(block, bytes);
    }
}

// The functions by which a program's own pool reports its blocks. Programs declare them as weak
// symbols, so that without this library nothing is called.
exported! {
    heapglass_allocated(block: *mut c_void, bytes: size_t) -> () {
        made_in_pool(block, bytes);
    }
    heapglass_freed(block: *mut c_void) -> () {
        if !block.is_null() && !passes_free(block.cast(), None) {
            freed(block.cast(), None);
        }
    }
    heapglass_reallocating(state: *mut c_void, block: *mut c_void, bytes: size_t) -> () {
        let step = if block.is_null() {
            PoolStep::NewBlock
        } else if passes_reallocation(block.cast(), None, bytes.max(1)) {
            PoolStep::Nothing
        } else {
            PoolStep::Moved(reallocating_in_pool(block.cast()))
        };
        let begun = PoolReallocation {
            word: BEGUN,
            bytes,
            step: MaybeUninit::new(step),
        };
        unsafe { state.cast::<PoolReallocation>().write(begun) }
    }
    heapglass_reallocated(state: *mut c_void, block: *mut c_void) -> () {
        let word = state.cast::<u64>();
        if unsafe { word.replace(0) } != BEGUN {
            return;
        }
        let begun = unsafe { state.cast::<PoolReallocation>().read() };
        match unsafe { begun.step.assume_init() } {
            PoolStep::Nothing => {}
            PoolStep::NewBlock => made_in_pool(block, begun.bytes),
            PoolStep::Moved(old) => reallocated(old, block.cast(), begun.bytes.max(1)),
        }
    }
}
