//! 0.16: mimalloc as the global allocator: the same calls, answered otherwise.

use super::people::{self, PEOPLE, Person, owned_blocks};
use super::times;
use crate::{Case, Claim, Judged, Variant, Window};

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.16",
    system: "mimalloc as the global allocator",
    headline: "2x",
    variants: &[
        Variant::new("glibc", read).under("glibc"),
        Variant::new("mimalloc", read).under("mimalloc"),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let holds = of("glibc", "total_blocks") == owned_blocks(of("glibc", "records"))
            && of("mimalloc", "total_blocks") == of("glibc", "total_blocks")
            && of("mimalloc", "total_bytes") == of("glibc", "total_bytes")
            && of("mimalloc", "peak_bytes") == of("glibc", "peak_bytes");
        let usable = |variant| of(variant, "usable_bytes") / of(variant, "peak_bytes");
        let why = format!(
            "the same {:.0} blocks, bytes and peak; glibc takes {} as long; blocks can hold {:.2} times what was asked \
             for under glibc, {:.2} under mimalloc",
            of("glibc", "total_blocks"),
            times(found.times("glibc", "mimalloc")),
            usable("glibc"),
            usable("mimalloc"),
        );
        Judged::facts(holds, why).claim(
            Claim::times("times as long by glibc", 2.0),
            found.times("glibc", "mimalloc"),
        )
    },
};

fn read(window: &mut Window) {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    window.work(|| people::decoded::<Vec<Person<String>>>(&bytes));
}
