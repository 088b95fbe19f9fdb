//! 0.16: mimalloc as the global allocator: the same calls, handled by another allocator.

use super::people::{self, PEOPLE, Person, owned_blocks};
use super::{derive, times};
use crate::{Case, Claim, Judged, Variant, Window};

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.16",
    system: "mimalloc as the global allocator",
    headline: "mimalloc as the global allocator doubles the throughput, and brings owned strings close to the arena",
    variants: &[
        Variant::new("glibc", read).under("glibc"),
        Variant::new("mimalloc", read).under("mimalloc"),
        Variant::new("arena, derive", |window| {
            let bytes = input(window);
            window.work(|| derive::bumpalo(&bytes));
        })
        .under("glibc"),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let holds = of("glibc", "total_blocks") == owned_blocks(of("glibc", "records"))
            && of("mimalloc", "total_blocks") == of("glibc", "total_blocks")
            && of("mimalloc", "total_bytes") == of("glibc", "total_bytes")
            && of("mimalloc", "peak_bytes") == of("glibc", "peak_bytes");
        let usable = |variant| of(variant, "usable_bytes") / of(variant, "peak_bytes");
        let why = format!(
            "the same {:.0} blocks, bytes and peak; glibc takes {} as long, the arena of 0.14 {}; blocks can hold {:.2} times what was asked \
             for under glibc, {:.2} under mimalloc",
            of("glibc", "total_blocks"),
            times(found.times("glibc", "mimalloc")),
            times(found.times("arena, derive", "mimalloc")),
            usable("glibc"),
            usable("mimalloc"),
        );
        // By the source's own figures, the arena is 2.5 x 1.15 times as fast as glibc, and mimalloc
        // twice as fast.
        Judged::facts(holds, why)
            .claim(
                Claim::times("times as long by glibc", 2.0),
                found.times("glibc", "mimalloc"),
            )
            .claim(
                Claim::times(
                    "times as long by mimalloc as by the arena of 0.14: close",
                    1.0,
                )
                .between(1.0, 2.5 * 1.15 / 2.0),
                found.times("mimalloc", "arena, derive"),
            )
    },
};

fn input(window: &mut Window) -> Vec<u8> {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    bytes
}

fn read(window: &mut Window) {
    let bytes = input(window);
    window.work(|| people::decoded::<Vec<Person<String>>>(&bytes));
}
