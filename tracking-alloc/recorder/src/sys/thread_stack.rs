//! The address range of the calling thread's stack.
//!
//! With glibc, `pthread_getattr_np` must not be called. It allocates, and it locks the thread's
//! descriptor. Rust's runtime calls it in each new thread. If that is the thread's first
//! allocation, a second call from inside the first would wait forever.

#[cfg(target_env = "gnu")]
use super::PAGE;
use super::{is_main_thread, limit};

/// The address range of a thread's stack, or of its readable part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(crate) low: usize,
    pub(crate) high: usize,
}

impl Stack {
    pub(crate) fn contains(self, address: usize) -> bool {
        self.low <= address && address < self.high
    }
}

/// The kernel keeps at least this much space below the top of the program's first stack free of
/// other mappings. It keeps more if the stack's limit was larger at that time.
const GAP: usize = 128 << 20;

/// Returns the calling thread's stack. It is empty if it cannot be determined; then no stack is
/// walked.
pub(crate) fn thread_stack() -> Stack {
    let local = 0u8;
    let here = std::hint::black_box(&raw const local) as usize;
    // The thread must also run on the first stack. In a child forked by another thread, the first
    // thread runs on the stack of that thread.
    let first = first_stack().filter(|_| is_main_thread());
    match first {
        Some(stack) if (stack.high.saturating_sub(GAP)..stack.high).contains(&here) => stack,
        // The first thread's descriptor describes no block.
        first => of_descriptor().or(first).unwrap_or_default(),
    }
}

/// Returns the stack on which the program began. The path that the kernel was asked to execute lies
/// at its top.
fn first_stack() -> Option<Stack> {
    // SAFETY: this only reads the auxiliary vector.
    let high = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    let room = limit(libc::RLIMIT_STACK).map_or(8 * GAP, |limit| limit as usize);
    (high != 0).then(|| Stack {
        low: high.saturating_sub(room.max(GAP)),
        high,
    })
}

/// Returns the stack in the descriptor of the calling thread (`struct pthread` of glibc). The
/// descriptor holds three consecutive words: the address of the block that contains the stack, the
/// block's size, and the size of the guard.
///
/// The offset of these words differs between versions, so they are recognized by their values. The
/// descriptor lies at the upper end of the block, with the thread-local variables of the libraries
/// that the program started with.
#[cfg(target_env = "gnu")]
fn of_descriptor() -> Option<Stack> {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Number of words searched. In every version since 2.17, the descriptor is larger than this
    /// (2,304 bytes on x86-64, more than 1,700 on aarch64), and the three words lie near its
    /// middle.
    const WORDS: usize = if cfg!(target_arch = "x86_64") {
        2000
    } else {
        1700
    } / size_of::<usize>();
    const SIZES: std::ops::RangeInclusive<usize> = 8 << 10..=1 << 40;
    /// An upper bound for the size of a descriptor and the thread-local variables.
    const END: usize = 64 << 20;
    /// The index of the three words in a descriptor, once it is known.
    static FOUND: AtomicUsize = AtomicUsize::new(0);

    // SAFETY: this only returns a value.
    let descriptor = unsafe { libc::pthread_self() } as usize;
    let block = |index: usize| {
        // SAFETY: the words lie in the thread's descriptor, which exists while the thread runs.
        // Only the thread itself and its creator write them.
        let [low, bytes, guard] = [0, 1, 2].map(|word| unsafe {
            std::ptr::with_exposed_provenance::<usize>(descriptor)
                .add(index + word)
                .read_volatile()
        });
        let high = low.checked_add(bytes)?;
        // With small address spaces, an address behind a null pointer looks like a size.
        let is_block = low >= PAGE
            && (low..high).contains(&descriptor)
            && high - descriptor <= END
            && SIZES.contains(&bytes)
            && guard < bytes
            && guard.is_multiple_of(PAGE);
        is_block.then_some(Stack { low, high })
    };
    let known = FOUND.load(Relaxed);
    if known != 0 {
        return block(known);
    }
    // The first words point to the descriptor itself.
    let (index, stack) = (4..WORDS - 2).find_map(|index| Some((index, block(index)?)))?;
    FOUND.store(index, Relaxed);
    Some(stack)
}

/// Returns libc's answer. musl neither allocates nor locks for it.
#[cfg(not(target_env = "gnu"))]
fn of_descriptor() -> Option<Stack> {
    // SAFETY: pthread_getattr_np initializes the attributes before they are used. They are
    // destroyed once.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
        let known = libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        known.then(|| Stack {
            low: low as usize,
            high: low as usize + bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns libc's answer.
    fn asked() -> Stack {
        // SAFETY: the attributes are initialized before they are used, and destroyed once.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            assert_eq!(
                libc::pthread_getattr_np(libc::pthread_self(), &mut attributes),
                0
            );
            let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
            assert_eq!(
                libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes),
                0
            );
            libc::pthread_attr_destroy(&mut attributes);
            Stack {
                low: low as usize,
                high: low as usize + bytes,
            }
        }
    }

    extern "C" fn compare(_: *mut libc::c_void) -> *mut libc::c_void {
        let (found, asked) = (thread_stack(), asked());
        let local = 0u8;
        // glibc does not count the guard as part of the stack.
        let is_right = found.high == asked.high
            && found.low <= asked.low
            && asked.low - found.low <= 64 << 10
            && found.contains(&raw const local as usize);
        std::ptr::without_provenance_mut(usize::from(is_right))
    }

    /// Runs `compare` in a thread with these attributes.
    fn is_right(prepare: impl FnOnce(&mut libc::pthread_attr_t)) -> bool {
        // SAFETY: attributes and thread are used as required.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
            prepare(&mut attributes);
            let mut thread = std::mem::zeroed();
            let begun =
                libc::pthread_create(&mut thread, &attributes, compare, std::ptr::null_mut());
            assert_eq!(begun, 0);
            let mut answer = std::ptr::null_mut();
            assert_eq!(libc::pthread_join(thread, &mut answer), 0);
            libc::pthread_attr_destroy(&mut attributes);
            answer.addr() == 1
        }
    }

    #[test]
    fn the_stack_of_a_thread_is_the_one_that_libc_tells() {
        for bytes in [
            libc::PTHREAD_STACK_MIN.max(64 << 10),
            1 << 20,
            8 << 20,
            1 << 30,
        ] {
            assert!(
                // SAFETY: the attributes are initialized.
                is_right(|attributes| unsafe {
                    assert_eq!(libc::pthread_attr_setstacksize(attributes, bytes), 0);
                }),
                "{bytes}"
            );
        }
    }

    #[test]
    fn the_stack_of_a_thread_that_brings_its_own_is_known() {
        const BYTES: usize = 256 << 10;
        let place = crate::sys::map_private(BYTES).expect("memory").as_ptr();
        // SAFETY: memory that nobody else uses.
        assert!(is_right(|attributes| unsafe {
            assert_eq!(
                libc::pthread_attr_setstack(attributes, place.cast(), BYTES),
                0
            );
        }));
    }
}
