//! 2.10: lists and texts that grow, compared with those whose capacity is set in advance, by their
//! length.

use crate::cases::said::times;
use crate::{Case, Claim, Judged, Variant, Window};
use std::hint::black_box;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.10",
    system: "with_capacity",
    headline: "no figures in its text: growing costs, one allocation would do",
    variants: &[
        Variant::new("push", |window| each(window, |_| Vec::new())),
        Variant::new("with_capacity", |window| each(window, Vec::with_capacity)),
        Variant::new("twice too much", |window| {
            each(window, |length| Vec::with_capacity(2 * length))
        }),
        Variant::new("collect", |window| {
            let length = window.scaled(LENGTH);
            window.input(0, length);
            window.work(|| (0..length as u64).collect::<Vec<u64>>());
        }),
        Variant::new("push, 5", |window| lists(window, 5, false)),
        Variant::new("with_capacity, 5", |window| lists(window, 5, true)),
        Variant::new("push, 20", |window| lists(window, 20, false)),
        Variant::new("with_capacity, 20", |window| lists(window, 20, true)),
        Variant::new("push, 100", |window| lists(window, 100, false)),
        Variant::new("with_capacity, 100", |window| lists(window, 100, true)),
        Variant::new("push, 1000", |window| lists(window, 1_000, false)),
        Variant::new("with_capacity, 1000", |window| lists(window, 1_000, true)),
        Variant::new("push, 10000", |window| lists(window, 10_000, false)),
        Variant::new("with_capacity, 10000", |window| lists(window, 10_000, true)),
        Variant::new("push, 100000", |window| lists(window, 100_000, false)),
        Variant::new("with_capacity, 100000", |window| {
            lists(window, 100_000, true)
        }),
        Variant::new("push_str, 50 B", |window| texts(window, 5, false)),
        Variant::new("String::with_capacity, 50 B", |window| {
            texts(window, 5, true)
        }),
        Variant::new("push_str, 200 B", |window| texts(window, 20, false)),
        Variant::new("String::with_capacity, 200 B", |window| {
            texts(window, 20, true)
        }),
    ],
    judge: |found| {
        let elements = found.of("push", "records");
        // The first push allocates room for four; each growth doubles it.
        let grows = (elements / 4.0).log2().ceil();
        let one = |variant: &str| {
            found.of(variant, "total_blocks") == 1.0 && found.of(variant, "copied_bytes") == 0.0
        };
        let holds = found.of("push", "grows") == grows
            && found.of("push", "total_blocks") == grows + 1.0
            && one("with_capacity")
            && one("collect")
            && found.of("with_capacity", "total_bytes") == 8.0 * elements
            && LENGTHS.iter().all(|&length| {
                let lists = found.of(&format!("push, {length}"), "records") / length as f64;
                let grows = (length as f64 / 4.0).log2().ceil();
                found.of(&format!("push, {length}"), "total_blocks") == lists * (grows + 1.0)
                    && found.of(&format!("with_capacity, {length}"), "total_blocks") == lists
            });
        let gain = |length: usize| {
            found.times(
                &format!("push, {length}"),
                &format!("with_capacity, {length}"),
            )
        };
        let gains = LENGTHS.map(|length| format!("{length}: {}", times(gain(length))));
        let why = format!(
            "{elements:.0} pushes: 1 block and {:.0} grows, {:.2} MB asked for in all; with_capacity and collect: 1 block, \
             {:.2} MB, nothing copied; {:.2} MB of the grown vector stay unused. Pushing takes {} as long as with a capacity; by elements of a list, {}",
            found.of("push", "grows"),
            found.of("push", "total_bytes") / 1e6,
            found.of("with_capacity", "total_bytes") / 1e6,
            (found.of("push", "live_bytes") - 8.0 * elements) / 1e6,
            times(found.times("push", "with_capacity")),
            gains.join(", "),
        );
        let mut judged = Judged::facts(holds, why);
        // Longer lists are in the sentence above: a large block grows where it lies.
        for length in LENGTHS.into_iter().filter(|length| *length <= 1_000) {
            let of = format!("times as long to push {length} elements as with a capacity");
            judged = judged.claim(Claim::clearly_more(of), gain(length));
        }
        for bytes in [50, 200] {
            let of = format!("times as long to append {bytes} bytes of text as with a capacity");
            let (grown, reserved) = (
                format!("push_str, {bytes} B"),
                format!("String::with_capacity, {bytes} B"),
            );
            judged = judged.claim(Claim::clearly_more(of), found.times(&grown, &reserved));
        }
        judged
    },
};

const LENGTH: usize = 1_000_000;

/// The lengths of lists that are timed in turn.
const LENGTHS: [usize; 6] = [5, 20, 100, 1_000, 10_000, 100_000];

/// Fills one list of this length after the other.
fn lists(window: &mut Window, length: usize, has_capacity: bool) {
    let lists = (window.scaled(LENGTH) / length).max(1);
    window.input(0, lists * length);
    window.work(|| {
        for _ in 0..lists {
            let capacity = if has_capacity { length } else { 0 };
            let mut numbers: Vec<u64> = Vec::with_capacity(black_box(capacity));
            for number in 0..length as u64 {
                numbers.push(number);
            }
            drop(black_box(numbers));
        }
    });
}

/// Appends this many words to one text after the other.
fn texts(window: &mut Window, words: usize, has_capacity: bool) {
    const WORD: &str = "helloworld";
    let texts = window.scaled(LENGTH) / 10;
    window.input(0, texts);
    window.work(|| {
        for _ in 0..texts {
            let capacity = if has_capacity { words * WORD.len() } else { 0 };
            let mut text = String::with_capacity(black_box(capacity));
            for _ in 0..words {
                text.push_str(black_box(WORD));
            }
            drop(black_box(text));
        }
    });
}

fn each(window: &mut Window, new: impl Fn(usize) -> Vec<u64>) {
    let length = window.scaled(LENGTH);
    window.input(0, length);
    window.work(|| {
        let mut numbers = new(length);
        // `extend` would ask the range for its length.
        for number in 0..length as u64 {
            numbers.push(number);
        }
        numbers
    });
}
