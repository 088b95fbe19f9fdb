//! 3.5: finding clones: many identical blocks from one place, or a single shared block; and the
//! time of an increment by the memory that the counts lie in.

use crate::cases::said::ns;
use crate::{Case, Claim, Judged, Variant, Window};
use heapglass_examples::data::Random;
use std::hint::black_box;
use std::sync::Arc;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.5",
    system: "Arc against clone",
    headline: "an atomic increment, on clone and on drop, takes 30 to 120 ns, by the level of cache it lies in",
    variants: &[
        Variant::new("clone", |window| each(window, |name| name)),
        Variant::new("Arc", |window| each(window, Arc::<str>::from)),
        Variant::new("Arc, 4 threads", contended).varying("std's threads allocate"),
        Variant::new("Arcs in 54 KiB", |window| spread(window, 54 << 10)),
        Variant::new("Arcs in 53 MiB", |window| spread(window, 53 << 20)),
        Variant::new("Arcs in 427 MiB", |window| spread(window, 427 << 20)),
    ],
    judge: |found| {
        let clones = found.of("clone", "records");
        let bytes = found.of("clone", "input_bytes");
        let holds = found.of("clone", "total_blocks") == clones + 1.0
            && found.of("clone", "total_bytes") - found.of("clone", "holder_bytes")
                == clones * bytes
            && found.of("Arc", "total_blocks") == 1.0
            && SETS.iter().all(|set| found.of(set, "total_blocks") == 0.0);
        let increment_in =
            |variant: &str| found.of(variant, "time_ns") / found.of(variant, "records");
        let each = |variant: &str| found.of(variant, "time_ns") / clones;
        // Each clone and drop takes two atomic operations. As many threads run at a time as there
        // are cores.
        let steps = found.of("Arc, 4 threads", "records") * 2.0;
        let cores = found.of("Arc, 4 threads", "cores");
        let increment = found.of("Arc, 4 threads", "time_ns") / steps * cores;
        let why = format!(
            "{clones:.0} identical blocks of {bytes:.0} B from one clone site, {:.0} for as many Arcs (each holder is 1 \
             block besides); {} a clone, {} an Arc that one thread \
             has; on four threads {} an increment or decrement. One thread takes {} an increment of Arcs in 54 KiB, {} in 53 MiB, {} \
             in 427 MiB, each visited at random",
            found.of("Arc", "total_blocks") - 1.0,
            ns(each("clone")),
            ns(each("Arc")),
            ns(increment),
            ns(increment_in("Arcs in 54 KiB")),
            ns(increment_in("Arcs in 53 MiB")),
            ns(increment_in("Arcs in 427 MiB")),
        );
        let claim = |of: &str| Claim::count(of, 0.0).between(30.0, 120.0).within(0.2);
        Judged::facts(holds, why)
            .claim(
                claim("ns an atomic increment or decrement, by four threads of one Arc"),
                increment,
            )
            .claim(
                claim("ns an atomic increment of Arcs that lie in memory, in 427 MiB"),
                increment_in("Arcs in 427 MiB"),
            )
            .because("the address of the next Arc is known in advance, so misses overlap")
            .claim(
                claim("ns an atomic increment of Arcs in the nearest caches, in 54 KiB"),
                increment_in("Arcs in 54 KiB"),
            )
            .because("a cache line that one core has takes an increment a few ns today")
    },
};

const CLONES: usize = 10_000;

const THREADS: usize = 4;

const SETS: [&str; 3] = ["Arcs in 54 KiB", "Arcs in 53 MiB", "Arcs in 427 MiB"];

/// Increments the counts of Arcs that take these bytes together, in random order, so that each
/// count lies in a cache that is as large.
fn spread(window: &mut Window, bytes: usize) {
    /// The block of one, with its counts and what glibc adds.
    const BLOCK: usize = 80;
    let count = (window.scaled(bytes) / BLOCK).max(1);
    let mut all: Vec<Arc<[u8; 48]>> = (0..count).map(|_| Arc::new([7; 48])).collect();
    Random::new(5).shuffle(&mut all);
    let clones = window.scaled(100 * CLONES);
    window.input(0, clones);
    let mut next = all.iter().cycle();
    window.work(|| {
        for arc in next.by_ref().take(clones) {
            // The count stays incremented: a decrement would find it in the nearest cache.
            std::mem::forget(black_box(Arc::clone(arc)));
        }
    });
}

/// Several threads clone and drop one Arc at the same time.
fn contended(window: &mut Window) {
    let clones = window.scaled(100 * CLONES);
    window.input(0, clones * THREADS);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    window.note("cores", cores.min(THREADS) as f64);
    let shared: Arc<str> = Arc::from("the same name again");
    let work = || (0..clones).for_each(|_| drop(black_box(Arc::clone(&shared))));
    window.work(|| {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(work);
            }
        });
    });
}

/// Clones one value into existing room.
fn each<T: Clone>(window: &mut Window, value: impl Fn(String) -> T) {
    let clones = window.scaled(CLONES);
    let name = "the same name again, ".repeat(5);
    window.input(name.len(), clones);
    window.note("holder_bytes", (clones * size_of::<T>()) as f64);
    let value = value(name);
    window.work(|| {
        let mut all = Vec::with_capacity(clones);
        (0..clones).for_each(|_| all.push(value.clone()));
        all
    });
}
