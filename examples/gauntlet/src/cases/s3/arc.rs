//! 3.5: clone hunting: many identical blocks from one place, or one that is shared.

use crate::cases::said::ns;
use crate::{Case, Variant, Verdict, Window};
use std::sync::Arc;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.5",
    system: "Arc against clone",
    headline: "30-120 ns a clone",
    variants: &[
        Variant::new("clone", |window| each(window, |name| name)),
        Variant::new("Arc", |window| each(window, Arc::<str>::from)),
    ],
    judge: |found| {
        let clones = found.of("clone", "records");
        let bytes = found.of("clone", "input_bytes");
        let holds = found.of("clone", "total_blocks") == clones + 1.0
            && found.of("clone", "total_bytes") - found.of("clone", "holder_bytes")
                == clones * bytes
            && found.of("Arc", "total_blocks") == 1.0;
        let each = |variant: &str| found.of(variant, "time_ns") / clones;
        let why = format!(
            "{clones:.0} identical blocks of {bytes:.0} B from one clone site, {:.0} for as many Arcs (each holder is 1 \
             block besides); {} a clone, {} an Arc (the source 30-120 ns a \
             clone)",
            found.of("Arc", "total_blocks") - 1.0,
            ns(each("clone")),
            ns(each("Arc")),
        );
        (
            if holds {
                Verdict::Reproduced
            } else {
                Verdict::NotReproduced
            },
            why,
        )
    },
};

const CLONES: usize = 10_000;

/// Clones one value into room that is there.
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
