//! Drives the recorder through its interface without any allocator: the blocks are numbers. A
//! counting `malloc` shows that the recorder itself does not call libc's allocator.

#![cfg(recording)]

use heapglass_recorder::arenas::{ArenaEvent, Chunks, RecordedArena};
use heapglass_recorder::scopes::{self, Stayed};
use heapglass_recorder::{
    Options, Recording, allocated, blocks, freed, leaked, mark, reallocated, reallocating, start,
};
use std::cell::Cell;
use tracking_alloc_recording::{Recording as Contents, RowValue};

thread_local! {
    /// `true` while this thread runs a function of the recorder.
    static IN_RECORDER: Cell<bool> = const { Cell::new(false) };
    /// Number of calls of libc's allocator in the meantime.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Replaces libc's allocator in the whole test.
#[cfg(target_env = "gnu")]
mod libc_allocator {
    use super::{CALLS, IN_RECORDER};
    use std::ffi::c_void;

    unsafe extern "C" {
        fn __libc_malloc(bytes: usize) -> *mut c_void;
        fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
        fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
        fn __libc_free(block: *mut c_void);
    }

    fn note() {
        if IN_RECORDER.get() {
            CALLS.set(CALLS.get() + 1);
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn malloc(bytes: usize) -> *mut c_void {
        note();
        // SAFETY: the call is forwarded.
        unsafe { __libc_malloc(bytes) }
    }

    #[unsafe(no_mangle)]
    extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
        note();
        // SAFETY: the call is forwarded.
        unsafe { __libc_calloc(count, bytes) }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
        note();
        // SAFETY: the call is forwarded, and the caller keeps its requirements.
        unsafe { __libc_realloc(block, bytes) }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn free(block: *mut c_void) {
        note();
        // SAFETY: the call is forwarded, and the caller keeps its requirements.
        unsafe { __libc_free(block) }
    }
}

/// Runs `f`, which calls the recorder. Returns its result if libc's allocator was not called.
fn observed<R>(f: impl FnOnce() -> R) -> R {
    IN_RECORDER.set(true);
    let result = f();
    IN_RECORDER.set(false);
    assert_eq!(CALLS.take(), 0, "the recorder called libc's allocator");
    result
}

/// Returns the address of a block that does not exist.
fn block(number: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(0x10_0000_0000 + 4096 * number)
}

#[test]
fn a_source_of_events_needs_no_allocator() {
    #[cfg(target_env = "gnu")]
    {
        IN_RECORDER.set(true);
        drop(std::hint::black_box(Box::new(1)));
        IN_RECORDER.set(false);
        assert_eq!(CALLS.take(), 2, "the allocator is the one that counts");
    }
    // Nothing records yet.
    observed(|| {
        allocated(block(0), 1);
        freed(block(0), Some(1));
    });
    assert_eq!(scopes::enter(0, "early"), None);
    let recording = start(Options::Memory).expect("it records");
    assert_eq!(Recording::current(), Some(recording));

    observed(|| {
        // A block of a known size, a block that is freed without its size, and a block that stays.
        allocated(block(1), 100);
        allocated(block(2), 20);
        allocated(block(3), 3);
        freed(block(1), Some(100));
        freed(block(2), None);
        // A block that the recording does not know.
        freed(block(9), None);
        // A reallocation that moves the block, and a reallocation that fails.
        let old = reallocating(block(3), None);
        reallocated(old, block(4), 40);
        let old = reallocating(block(4), Some(40));
        reallocated(old, std::ptr::null_mut(), 4000);
        // A failed request.
        allocated(std::ptr::null_mut(), 5000);
        assert_eq!(
            blocks::block_of(block(4).addr() + 39).map(|found| found.bytes),
            Some(40)
        );
        assert_eq!(blocks::block_of(block(3).addr()), None);
    });
    mark("after one");

    // Another thread, in a phase.
    std::thread::spawn(|| {
        observed(|| {
            let scope = scopes::enter(scopes::current(), "load").expect("a scope");
            let stayed = Stayed::enter(scope);
            scopes::set(scope);
            scopes::report(scope, 1_000, 7);
            for number in 100..200 {
                allocated(block(number), 10);
            }
            drop(stayed);
            scopes::set(0);
            // Counters of an arena, and memory for a source.
            let arena = RecordedArena::default();
            arena.begin("numbers", "test", 0);
            assert!(arena.is_recorded());
            let chunks = Chunks {
                count: 1,
                bytes: 512,
                bytes_with_metadata: 528,
                unused_tail_bytes: 488,
                free_bytes: 488,
                present_start: 0,
                present_bytes: 512,
            };
            arena.counters().set_chunks(chunks, 24);
            arena.count_allocated(24);
            arena.publish(ArenaEvent::Update);
            assert!(leaked::zeroed::<u64>(1000).is_some());
        });
    })
    .join()
    .expect("it ends");

    observed(|| {
        recording.pause();
        allocated(block(300), 1 << 20);
        recording.resume();
        freed(block(300), Some(1 << 20));
    });
    let bytes = recording.finish_to_bytes().expect("bytes");
    assert_eq!(Recording::current(), None);
    observed(|| {
        allocated(block(400), 1);
        freed(block(4), Some(40));
    });

    let found = Contents::read(bytes.as_slice()).expect("a recording");
    let total = |figure: fn(&RowValue) -> u64| -> u64 {
        found.lanes.iter().map(|lane| figure(&lane.all)).sum()
    };
    assert_eq!(total(|row| row.total_bytes), 100 + 20 + 3 + 40 + 100 * 10);
    assert_eq!(total(|row| row.total_blocks), 4 + 100);
    assert_eq!(total(|row| row.freed_bytes), 100 + 20 + 3);
    assert_eq!(total(|row| row.freed_blocks), 3);
    assert_eq!(
        (total(|row| row.grows), total(|row| row.copied_bytes)),
        (1, 3)
    );
    let unknown: u64 = found.lanes.iter().map(|lane| lane.lane.unknown_frees).sum();
    assert_eq!(
        unknown, 2,
        "block 9, and the one allocated during the pause"
    );
    let header = &found.header;
    assert_eq!((header.pauses, header.paused_since_ns), (1, 0));
    let (begin, end) = (header.pause_begins_ns[0], header.pause_ends_ns[0]);
    assert!(0 < begin && begin <= end && end <= header.elapsed_ns);
    assert_eq!(header.paused_ns, end - begin);
    let unattributed = found
        .lanes
        .iter()
        .map(|lane| lane.unattributed.total_blocks);
    assert_eq!(unattributed.sum::<u64>(), 0);
    assert_eq!(found.failed_requests.len(), 2);
    assert_eq!(found.marks.len(), 1);
    let phase = &found.scopes[1];
    assert_eq!(found.string(phase.name).as_deref(), Some("load"));
    assert_eq!(
        (phase.input_bytes, phase.records, phase.stayed_bytes),
        (1_000, 7, 1_000)
    );
    assert_eq!(found.arenas.len(), 1);
    assert_eq!(
        (found.arenas[0].allocated_bytes, found.arenas[0].used_bytes),
        (512, 24)
    );
}
