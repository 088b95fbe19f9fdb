//! 2.10: a vector that grows, compared with one whose capacity is set in advance.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};

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
            && found.of("with_capacity", "total_bytes") == 8.0 * elements;
        let why = format!(
            "{elements:.0} pushes: 1 block and {:.0} grows, {:.2} MB asked for in all; with_capacity and collect: 1 block, \
             {:.2} MB, nothing copied; {:.2} MB of the grown vector stay unused; pushing takes {} as long",
            found.of("push", "grows"),
            found.of("push", "total_bytes") / 1e6,
            found.of("with_capacity", "total_bytes") / 1e6,
            (found.of("push", "live_bytes") - 8.0 * elements) / 1e6,
            times(found.times("push", "with_capacity")),
        );
        Judged::facts(holds, why)
    },
};

const LENGTH: usize = 1_000_000;

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
