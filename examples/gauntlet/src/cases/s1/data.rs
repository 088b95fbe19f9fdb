//! The data of the source's benchmarks, by its generator, seed and distributions. The numbers
//! themselves are not copied from it.
//! themselves differ.

use rand_distr::{Alphanumeric, Distribution, LogNormal, Uniform};
use rand_pcg::Lcg64Xsh32;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The seed of all generators.
pub(super) const SEED: u64 = 2021;

/// The chars to read: 15, each with three UTF-8 bytes.
pub(super) const CHARS: [char; 15] = [
    '\u{2460}', '\u{2501}', '\u{25a2}', '\u{2603}', '\u{2654}', '\u{2708}', '\u{2764}', '\u{2c80}',
    '\u{2ca2}', '\u{2e80}', '\u{2f00}', '\u{3042}', '\u{30a2}', '\u{4e00}', '\u{ac00}',
];

/// Returns twenty numbers of three bytes, for the source's cases with twenty.
pub(super) fn twenty() -> Vec<u32> {
    (0..20).map(|at| 0x02_01_00 + at * 0x04_04_04).collect()
}

/// Returns seventy-five numbers, which the source sums.
pub(super) fn seventy_five() -> Vec<u32> {
    (0..75).map(|at| 0x02_01_00 + at * 0x01_04_04).collect()
}

/// Numbers with many low values and a long tail of high ones.
fn numbers(random: &mut Lcg64Xsh32, count: usize) -> Vec<u32> {
    let distribution = LogNormal::new(10.0, 1.0).expect("a deviation that is finite");
    distribution
        .sample_iter(random)
        .take(count)
        .map(|number: f64| number as u32)
        .collect()
}

/// Returns a hundred numbers.
pub(super) fn hundred() -> Vec<u32> {
    numbers(&mut Lcg64Xsh32::seed_from_u64(SEED), 100)
}

/// Returns a thousand numbers in order, and `needles` numbers to look for.
pub(super) fn haystack_and_needles(needles: usize) -> (Vec<u32>, Vec<u32>) {
    let mut random = Lcg64Xsh32::seed_from_u64(SEED);
    let mut haystack = numbers(&mut random, 1_000);
    haystack.sort_unstable();
    (haystack, numbers(&mut random, needles))
}

/// Returns strings of 2 to 20 letters and digits, and the seed for the next ones.
pub(super) fn strings(count: usize, seed: u64) -> (Vec<String>, u64) {
    let mut lengths = Lcg64Xsh32::seed_from_u64(seed);
    let mut letters = Lcg64Xsh32::seed_from_u64(lengths.next_u64());
    let length = Uniform::try_from(2..=20_usize).expect("a range that is not empty");
    let strings = (0..count)
        .map(|_| {
            let length = length.sample(&mut lengths);
            Alphanumeric
                .sample_iter(&mut letters)
                .take(length)
                .map(char::from)
                .collect()
        })
        .collect();
    (strings, lengths.next_u64())
}
