//! Work spread over the cores. Results come in the order of the work: they are the same whatever
//! the number of cores.

use std::cell::Cell;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// Elements that a thread is worth starting for.
const LEAST: usize = 4096;
/// No more threads than this: memory is the limit.
const MOST_THREADS: usize = 8;

thread_local! {
    /// `true` while this thread may start no other.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, all of it on this thread. By default, reading a recording uses several.
///
/// A program that reads its own recording neither wants more threads, nor a reader that takes more
/// than one of its cores.
pub fn on_this_thread<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(true));
    work()
}

/// Returns `true` if this thread may start no other.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Returns the number of parts for work on a number of elements, and the elements of each part.
fn parts(length: usize) -> (usize, usize) {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let cores = if is_alone() { 1 } else { cores };
    let threads = cores.clamp(1, MOST_THREADS).min(length / LEAST + 1);
    (threads, length.div_ceil(threads).max(1))
}

/// Does work on the elements of a slice in as many parts as there are cores. Each part gets the
/// index at which it begins.
pub(crate) fn on_parts<T: Send, R: Send>(
    slice: &mut [T],
    work: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let (_, each) = parts(slice.len());
    let slices: Vec<Mutex<&mut [T]>> = slice.chunks_mut(each).map(Mutex::new).collect();
    // Each slice is locked by its own part only.
    let lock = |part: usize| slices[part].lock().unwrap_or_else(PoisonError::into_inner);
    on_threads(slices.len(), |part| work(part * each, &mut lock(part)))
}

/// Does work on `0..length` in as many parts as there are cores.
pub(crate) fn in_parts<T: Send>(length: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let (threads, each) = parts(length);
    on_threads(threads, |number| {
        work(number * each..length.min((number + 1) * each))
    })
}

/// Does work on `0..length` in as many parts as there are cores, if each element is worth a thread.
pub(crate) fn in_large_parts<T: Send>(
    length: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let (threads, _) = parts(length.saturating_mul(LEAST));
    let each = length.div_ceil(threads).max(1);
    on_threads(threads, |number| {
        work(length.min(number * each)..length.min((number + 1) * each))
    })
}

/// Does a number of parts of some work, each on a thread.
fn on_threads<T: Send>(threads: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work = &part;
    if threads == 0 {
        return Vec::new();
    }
    if is_alone() {
        return (0..threads).map(work).collect();
    }
    std::thread::scope(|scope| {
        let spawn = |number| Builder::new().spawn_scoped(scope, move || work(number));
        let others: Vec<_> = (1..threads).map(|number| (number, spawn(number))).collect();
        let first = work(0);
        let others = others.into_iter().map(|(number, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system has no thread to give.
            Err(_) => work(number),
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
            let parts = in_large_parts(length, |part| part.collect::<Vec<_>>());
            assert!(parts.concat().into_iter().eq(0..length), "{length}");
        }
    }

    #[test]
    fn parts_of_a_slice_are_told_where_they_begin() {
        for length in [0, 1, LEAST, 3 * LEAST + 1, 100_000] {
            let mut numbers = vec![0; length];
            let lengths = on_parts(&mut numbers, |start, part| {
                let all = part.iter_mut().zip(start..);
                all.for_each(|(number, at)| *number += at);
                part.len()
            });
            assert!(numbers.into_iter().eq(0..length), "{length}");
            assert_eq!(lengths.into_iter().sum::<usize>(), length);
        }
    }
}
