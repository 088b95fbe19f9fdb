//! Code that meets the hook at difficult moments: signal handlers, `errno`, data that looks like
//! frames.

use super::{Block, Tally};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tracking_alloc::phase;

static TALLY: Tally = Tally::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: libc::c_int) {
    // The inner allocator of this case takes no lock, so a handler may use it.
    let mut block = Block::new(&TALLY, 24, 8);
    block.resize(60);
    drop(block);
    HANDLED.fetch_add(1, Relaxed);
}

/// Allocates until a timer has interrupted `signals` times. The handler allocates too.
///
/// Each alarm rings once, and the loop below sets the next one. A timer that repeats by itself
/// would ring again before the handler has returned where recording three events takes longer than
/// the interval, and the program would never leave the handler.
pub(super) fn timer(signals: usize) {
    let work = phase("work");
    // SAFETY: the handler does only what is async-signal-safe in this program, and the structure is
    // valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()),
            0
        );
    }
    // Delays of different lengths, so that signals come at every place of the loop whatever the
    // machine's speed.
    let random = &mut crate::data::Random::new(5);
    let (mut handled, mut round) = (0, 0u64);
    alarm(random);
    while handled < signals as u64 {
        let mut block = Block::new(&TALLY, 100, 8);
        block.resize(120);
        drop(block);
        // Large events hold a lock in the hook, and so do marks and phases.
        drop(Block::new(&TALLY, 40_000, 8));
        round += 1;
        if round.is_multiple_of(64) {
            let _phase = phase("work");
            drop(Block::new(&TALLY, 10, 8));
        }
        if round.is_multiple_of(4096) {
            tracking_alloc::mark("moment");
        }
        let now = HANDLED.load(Relaxed);
        if now != handled {
            handled = now;
            alarm(random);
        }
    }
    // The last alarm may still ring, so its handler may not count behind the printed figures.
    // SAFETY: an ignored signal runs no handler.
    unsafe { libc::signal(libc::SIGALRM, libc::SIG_IGN) };
    drop(work);
    println!("handled={} rounds={round}", HANDLED.load(Relaxed));
    TALLY.print();
}

/// Sets an alarm that rings once, within 200 us.
fn alarm(random: &mut crate::data::Random) {
    let micros = |tv_usec| libc::timeval { tv_sec: 0, tv_usec };
    let once = libc::itimerval {
        it_interval: micros(0),
        it_value: micros(1 + (random.bits() % 200) as libc::suseconds_t),
    };
    // SAFETY: the structure is valid.
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &once, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// Checks that `errno` is unchanged by allocations and frees, on cold paths too.
pub(super) fn errno() {
    let keeps = |what: &str, work: &mut dyn FnMut()| {
        // SAFETY: the address of this thread's errno.
        unsafe { *libc::__errno_location() = 1234 };
        work();
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 1234, "{what}");
    };
    let mut kept = Vec::with_capacity(40_000);
    for round in 0..3_000 {
        let name = format!("phase {round}");
        keeps("entering a phase", &mut || drop(phase(&name)));
        let _phase = phase(&name);
        keeps("a block at a new site", &mut || {
            kept.push(Block::new(&TALLY, 64 + round % 1_000, 8))
        });
        keeps("a block at a known site", &mut || {
            kept.push(Block::new(&TALLY, 32 + round % 1_000, 8))
        });
        keeps("a large block", &mut || {
            drop(Block::new(&TALLY, 100_000, 8))
        });
        keeps("a realloc", &mut || kept[round].resize(700));
        keeps("a mark", &mut || {
            if round % 100 == 0 {
                tracking_alloc::mark("moment");
            }
        });
    }
    keeps("frees", &mut || kept.clear());
    std::thread::spawn(move || {
        keeps("a new thread's first block", &mut || {
            drop(Block::new(&TALLY, 10, 8))
        })
    })
    .join()
    .expect("it ends");
    TALLY.print();
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    // call_with_data(function, data): keeps `data` in the frame pointer's register while it calls.
    ".globl heapglass_call_with_data",
    "heapglass_call_with_data:",
    "push rbp",
    "mov rbp, rsi",
    "call rdi",
    "pop rbp",
    "ret",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl heapglass_call_with_data",
    "heapglass_call_with_data:",
    "stp x29, x30, [sp, #-16]!",
    "mov x29, x1",
    "blr x0",
    "ldp x29, x30, [sp], #16",
    "ret",
);

unsafe extern "C" {
    fn heapglass_call_with_data(function: extern "C" fn(), data: *const u64);
}

extern "C" fn allocates() {
    drop(Block::new(&TALLY, 48, 8));
}

/// One call site, reached many times through code that keeps a data address in the frame pointer
/// register. The data on the stack looks like new frames each time.
pub(super) fn frame_register(times: usize) {
    let work = phase("work");
    let random = &mut crate::data::Random::new(9);
    for _ in 0..times {
        // The data looks like a frame: a link outward, and a return address that is different each
        // time.
        let mut data = [0u64; 8];
        data[0] = (&raw const data[4]) as u64;
        data[1] = random.bits() >> 17;
        data[4] = 0;
        data[5] = random.bits() >> 17;
        // SAFETY: the function calls back and returns, and the data outlives the call.
        unsafe { heapglass_call_with_data(allocates, std::hint::black_box(data.as_ptr())) };
    }
    drop(work);
    TALLY.print();
}
