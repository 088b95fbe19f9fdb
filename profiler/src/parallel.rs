//! Work spread over the cores. Results come in the order of the work: they are the same whatever the number of cores.

use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::Builder;

/// Elements that a thread is worth starting for.
const LEAST: usize = 4096;
/// No more threads than this: memory is the limit.
const MOST_THREADS: usize = 8;

/// Does work on `0..length` in as many parts as there are cores.
pub(crate) fn in_parts<T: Send>(length: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.clamp(1, MOST_THREADS).min(length / LEAST + 1);
    let each = length.div_ceil(threads).max(1);
    let part = |number: usize| number * each..length.min((number + 1) * each);
    let work = &work;
    std::thread::scope(|scope| {
        let spawn = |number| Builder::new().spawn_scoped(scope, move || work(part(number)));
        let others: Vec<_> = (1..threads).map(|number| (number, spawn(number))).collect();
        let first = work(part(0));
        let others = others.into_iter().map(|(number, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system has no thread to give.
            Err(_) => work(part(number)),
        });
        std::iter::once(first).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_cover_everything_once() {
        for length in [0, 1, LEAST, 3 * LEAST + 1, 100_000] {
            let parts = in_parts(length, |part| part.collect::<Vec<_>>());
            assert!(parts.concat().into_iter().eq(0..length), "{length}");
        }
    }
}
