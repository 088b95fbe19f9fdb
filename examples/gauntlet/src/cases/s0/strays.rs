//! 0.8: an arena's own figure is exact for each instance. Counters scoped by thread and region are
//! exact too: they exclude what other threads allocate in the meantime (strays). Counters of the
//! whole process include it.

use super::people;
use crate::{Case, Judged, Variant, Window};
use bumpalo::Bump;
use std::sync::Barrier;
use tracking_alloc::{measure, stats};

/// Number of instances in a full run.
const INSTANCES: usize = 1_000;
/// Bytes of each stray.
const STRAY: usize = 100;
/// Number of strays while an instance is filled.
const STRAYS: usize = 10;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.8",
    system: "bump.allocated_bytes(): exact memory of each instance, free of strays",
    headline: "an arena says exactly how much an instance takes; counters in the global allocator are disturbed by strays",
    variants: &[
        Variant::new("alone", |window| fill(window, 0)),
        Variant::new("with strays of another thread", |window| {
            fill(window, STRAYS)
        }),
    ],
    judge: |found| {
        let of = |name| found.of("with strays of another thread", name);
        let strays = found.of("alone", "records") * (STRAYS * STRAY) as f64;
        let exact = |variant| {
            found.of(variant, "arenas' own bytes") == found.of(variant, "bytes of regions")
        };
        let holds = exact("alone")
            && exact("with strays of another thread")
            && found.of("alone", "bytes of the process") == found.of("alone", "arenas' own bytes")
            && of("bytes of the process") == of("arenas' own bytes") + strays;
        let why = format!(
            "the arenas say {:.0} bytes, counters by thread and region the same, with strays and without; the process's \
             counters are off by {strays:.0} bytes of strays",
            of("arenas' own bytes"),
        );
        Judged::facts(holds, why)
    },
};

/// The bytes of each sum over all instances.
#[derive(Default)]
struct Sums {
    own: usize,
    region: i64,
    process: i64,
}

fn fill(window: &mut Window, strays: usize) {
    let instances = window.scaled(INSTANCES);
    let names = people::names(instances, 5);
    window.input(0, instances);
    let mut sums = Sums::default();
    window.work(|| sums = all(&names, strays));
    window.note("arenas' own bytes", sums.own as f64);
    window.note("bytes of regions", sums.region as f64);
    window.note("bytes of the process", sums.process as f64);
}

fn put(bump: &Bump, names: &[String]) {
    for name in names {
        bump.alloc_str(name);
    }
}

fn all(names: &[String], strays: usize) -> Sums {
    let mut sums = Sums::default();
    let (begin, end) = (&Barrier::new(2), &Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut held: Vec<Box<[u8]>> = Vec::with_capacity(names.len() * strays);
            end.wait();
            for _ in names {
                begin.wait();
                held.extend((0..strays).map(|_| vec![0; STRAY].into_boxed_slice()));
                end.wait();
            }
            // Its values are freed only after all sums are taken.
            begin.wait();
        });
        // The other thread has begun: from here on, it allocates only strays.
        end.wait();
        for (instance, _) in names.iter().enumerate() {
            let before = stats().live_bytes;
            let (bump, region) = measure(|| {
                let bump = Bump::new();
                let (early, late) = names[..instance % 100].split_at(instance % 100 / 2);
                put(&bump, early);
                begin.wait();
                end.wait();
                put(&bump, late);
                bump
            });
            sums.process += stats().live_bytes - before;
            sums.region += region.live_bytes;
            sums.own += bump.allocated_bytes_including_metadata();
        }
        begin.wait();
    });
    sums
}
