//! 2.1: a static pool and a large array on a stack. No allocator hands out this memory, so no heap
//! profiler can name it. It only shows as memory that is resident but not live.

use crate::cases::said::times;
use crate::{Case, Claim, Judged, Variant, Window};
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.1",
    system: "a static pool, the stack's limit (a 16 MB array)",
    headline: "static and stack memory cost next to nothing, the heap is slow; a stack has a limit, so an array of 16 MB on it overflows",
    variants: &[
        Variant::new("heap", heap),
        Variant::new("static", pool),
        Variant::new("stack", stack),
    ],
    judge: |found| {
        let unseen = |variant| found.of(variant, "rss_bytes") - found.of(variant, "peak_bytes");
        let array = found.of("heap", "touched_bytes");
        let holds = found.of("heap", "peak_bytes") == array
            && found.of("static", "total_blocks") == 0.0
            && found.of("stack", "total_blocks") == 0.0
            && unseen("static") > 0.9 * array
            && unseen("stack") > 0.9 * array
            // If the limit is higher, the overflow was not tried.
            && found.of("stack", "overflowed") != 0.0;
        let why = format!(
            "the same {:.1} MB are 1 block on the heap and none as a static or on a stack; resident and not live: {:.1} \
             MB with the static, {:.1} MB with the stack. The main thread's stack here may hold {:.1} MB: the array {}. The heap takes \
             {} as long as the static, {} as long as the stack",
            array / 1e6,
            unseen("static") / 1e6,
            unseen("stack") / 1e6,
            found.of("stack", "stack_limit_bytes") / 1e6,
            match found.of("stack", "overflowed") {
                overflowed if overflowed.is_nan() => "was not tried on it",
                _ => "overflows it",
            },
            times(found.times("heap", "static")),
            times(found.times("heap", "stack")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::clearly_more("times as long on the heap as in a static"),
                found.times("heap", "static"),
            )
            .claim(
                Claim::clearly_more("times as long on the heap as on a stack"),
                found.times("heap", "stack"),
            )
    },
};

/// Size of the source's array, bytes.
const ARRAY: usize = 16 << 20;
/// The page size: one write to each page makes the whole array resident.
const PAGE: usize = 4096;

static POOL: [AtomicU8; ARRAY] = [const { AtomicU8::new(0) }; ARRAY];

fn heap(window: &mut Window) {
    let bytes = window.scaled(ARRAY);
    window.note("touched_bytes", bytes as f64);
    window.work(|| {
        let mut array = vec![0_u8; bytes];
        array
            .iter_mut()
            .step_by(PAGE)
            .for_each(|byte| *byte = black_box(1));
        array
    });
}

fn pool(window: &mut Window) {
    let bytes = window.scaled(ARRAY);
    window.note("touched_bytes", bytes as f64);
    window.work(|| {
        POOL.iter()
            .take(bytes)
            .step_by(PAGE)
            .for_each(|byte| byte.store(1, Relaxed))
    });
}

/// Runs a thread with room for the array. It starts before the window, because its start allocates,
/// but its stack does not.
fn stack(window: &mut Window) {
    // Always the whole array: entering a frame this large touches each page, to find the end of the
    // stack.
    window.note("touched_bytes", ARRAY as f64);
    window.note("stack_limit_bytes", limit());
    if window.is_counting() && limit() < ARRAY as f64 {
        window.note("overflowed", f64::from(u8::from(overflows())));
    }
    let turn = Arc::new(Barrier::new(2));
    let its_turn = Arc::clone(&turn);
    let room = std::thread::Builder::new().stack_size(8 * ARRAY);
    // Waits for a turn that does not come after the work, and ends with the process.
    let thread = room.spawn(move || {
        loop {
            its_turn.wait();
            touch();
            its_turn.wait();
        }
    });
    thread.expect("a thread with a large stack starts");
    window.work(|| {
        turn.wait();
        turn.wait();
    });
}

/// Returns `true` if the kernel kills a process that puts the array on its main thread's stack.
fn overflows() -> bool {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let mut status = 0;
    // SAFETY: this process has one thread. The child leaves no core file, touches its stack, and
    // ends without running any code of the parent. `none` and `status` are ours.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            touch();
            libc::_exit(0);
        }
        child > 0 && libc::waitpid(child, &mut status, 0) == child && libc::WIFSIGNALED(status)
    }
}

/// Writes to every page of an array on this thread's stack.
#[inline(never)]
fn touch() {
    let mut array = std::mem::MaybeUninit::<[u8; ARRAY]>::uninit();
    let start: *mut u8 = array.as_mut_ptr().cast();
    for at in (0..ARRAY).step_by(PAGE) {
        // SAFETY: `at` is inside the array. The write is volatile, because otherwise it could be
        // removed: nothing reads it.
        unsafe { start.add(at).write_volatile(1) };
    }
    black_box(start);
}

/// Returns the limit of the main thread's stack, bytes.
fn limit() -> f64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is ours.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    if answer == 0 {
        limit.rlim_cur as f64
    } else {
        f64::NAN
    }
}
