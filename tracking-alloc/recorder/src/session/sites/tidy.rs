//! Tidying a stack before it is kept: cutting it where it leaves known code, folding repeated
//! cycles.

use crate::images::Modules;
use tracking_alloc_recording::site_flags::{CUT, FOLDED};

/// Cycles of up to this many frames are folded.
const LONGEST_CYCLE: usize = 4;
/// A cycle repeated more often than this is folded.
const MOST_REPEATS: usize = 8;
/// Number of repeats that a folded cycle keeps.
const KEPT_REPEATS: usize = 2;

/// Tidies a stack in place, innermost address first. Returns the number of frames kept, from the
/// innermost, and the flags of the changes made.
pub(super) fn tidy(modules: &mut Modules, addresses: &mut [u64]) -> (usize, u32) {
    let mut is_code = |address: &u64| {
        // A return address lies just after its call, so the byte before it belongs to the calling
        // code.
        let code = address.wrapping_sub(1);
        modules.is_code(code) || modules.read_again() && modules.is_code(code)
    };
    let known = addresses.iter().position(|address| !is_code(address));
    let (len, cut) = known.map_or((addresses.len(), 0), |len| (len, CUT));
    let folded = fold(&mut addresses[..len]);
    let fold = if folded < len { FOLDED } else { 0 };
    (folded, cut | fold)
}

/// Folds runs of a repeated cycle. Returns the new length.
fn fold(addresses: &mut [u64]) -> usize {
    let (mut read, mut write) = (0, 0);
    while read < addresses.len() {
        let cycle = (1..=LONGEST_CYCLE).find_map(|period| {
            let repeats = repeats(&addresses[read..], period);
            (repeats > MOST_REPEATS).then_some((period, repeats))
        });
        let (span, kept) = cycle.map_or((1, 1), |(period, repeats)| {
            (period * repeats, period * KEPT_REPEATS)
        });
        if read != write {
            addresses.copy_within(read..read + kept, write);
        }
        write += kept;
        read += span;
    }
    write
}

/// Returns the number of times the first `period` addresses repeat in a row.
fn repeats(addresses: &[u64], period: usize) -> usize {
    if addresses.len() < period {
        return 0;
    }
    // PERF: the common case: the cycle does not repeat.
    if addresses.get(period) != addresses.first() {
        return 1;
    }
    let (cycle, rest) = addresses.split_at(period);
    1 + rest
        .chunks_exact(period)
        .take_while(|next| *next == cycle)
        .count()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn a_long_run_of_a_cycle_keeps_two_repeats() {
        let mut stack = [9, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 7];
        let len = fold(&mut stack);
        assert_eq!(stack[..len], [9, 1, 2, 1, 2, 7]);
    }

    #[test]
    fn eight_repeats_stay_as_they_are() {
        let mut stack = [5; 8];
        assert_eq!(fold(&mut stack), 8);
        let mut stack = [5; 9];
        assert_eq!(fold(&mut stack), 2);
    }

    #[test]
    fn stacks_of_different_depth_of_one_recursion_fold_to_the_same() {
        let stack = |depth: usize| {
            let mut stack = vec![1];
            stack.extend(std::iter::repeat_n([2, 3, 4], depth).flatten());
            stack.push(5);
            let len = fold(&mut stack);
            stack.truncate(len);
            stack
        };
        assert_eq!(stack(9), stack(40));
    }

    #[test]
    fn cycles_of_up_to_four_frames_are_folded() {
        let folded = |cycle: &[u64]| {
            let mut stack = cycle.repeat(20);
            fold(&mut stack)
        };
        assert_eq!(folded(&[1, 2, 3, 4]), 2 * 4);
        assert_eq!(folded(&[1, 2, 3, 4, 5]), 20 * 5);
    }
}
