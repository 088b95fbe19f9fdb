//! `assert_allocs!` counts its own thread, to the byte, whatever other tests do meanwhile.

use std::hint::black_box;
use std::panic::catch_unwind;

use tracking_alloc::assert_allocs;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// One block of 100 bytes that grows once to 200, and another of 50 that stays.
fn work() -> Vec<u8> {
    let mut grown: Vec<u8> = Vec::with_capacity(100);
    grown.resize(100, 1);
    grown.reserve_exact(100);
    black_box(&grown);
    drop(grown);
    black_box(Vec::with_capacity(50))
}

/// What a failed assertion says.
fn failure(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(run).expect_err("more than allowed");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn limits_are_kept_to_the_byte_and_the_value_comes_out() {
    let left = assert_allocs!(
        blocks <= 3,
        bytes <= 350,
        peak <= 200,
        live <= 50,
        grows <= 1,
        { work() }
    );
    assert_eq!(left.capacity(), 50);
    let nothing = black_box(0);
    assert_allocs!(blocks <= nothing, { black_box(3) });
}

#[test]
fn one_less_of_any_figure_fails_with_all_of_them() {
    let all = "measured: blocks 3, bytes 350, peak 200, live 50, grows 1";
    for (said, over) in [
        (
            failure(|| drop(assert_allocs!(blocks <= 2, { work() }))),
            "blocks 3, at most 2",
        ),
        (
            failure(|| drop(assert_allocs!(bytes <= 349, { work() }))),
            "bytes 350, at most 349",
        ),
        (
            failure(|| drop(assert_allocs!(peak <= 199, { work() }))),
            "peak 200, at most 199",
        ),
        (
            failure(|| drop(assert_allocs!(live <= 49, { work() }))),
            "live 50, at most 49",
        ),
        (
            failure(|| drop(assert_allocs!(grows <= 0, { work() }))),
            "grows 1, at most 0",
        ),
        (
            failure(|| {
                drop(assert_allocs!(blocks <= 9, bytes <= 1, peak <= 2, {
                    work()
                }))
            }),
            "allowed: bytes 350, at most 1; peak 200, at most 2\n",
        ),
    ] {
        assert!(said.contains(over), "{said}");
        assert!(said.contains(all), "{said}");
        let command = "cargo heapglass test -p tracking-alloc -- --exact one_less_of_any_figure_fails_with_all_of_them";
        assert!(said.ends_with(command), "{said}");
    }
}

#[test]
fn other_threads_are_not_counted() {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    drop(black_box(work()));
                }
            });
        }
        for _ in 0..1_000 {
            drop(assert_allocs!(blocks <= 3, bytes <= 350, { work() }));
        }
    });
}

#[test]
fn assertions_nest() {
    assert_allocs!(blocks <= 6, bytes <= 700, {
        drop(assert_allocs!(blocks <= 3, { work() }));
        drop(assert_allocs!(blocks <= 3, { work() }));
    });
}
