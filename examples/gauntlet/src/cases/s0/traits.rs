//! 0.15: one trait over different bump allocators: the same derive on bumpalo and on bump-scope, in
//! both directions.

use super::derive::{Person, in_arena};
use super::people::{self, PEOPLE};
use super::{arena, times};
use crate::{Case, Judged, Variant, Window};
use bump_scope::alloc::Global;
use bump_scope::settings::BumpSettings;
use tracking_alloc::arena::{Arena, Tracked};

/// bump-scope's arena, filled from the end. Each piece lies at a multiple of 8.
type Downwards = bump_scope::Bump<Global, BumpSettings<8, false>>;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.15",
    system: "one trait over different bump allocators: bumpalo, bump-scope, bump-scope downwards",
    headline: "one trait over different bump allocators lets the same derive serve each (no figure)",
    variants: &[
        Variant::new("bumpalo", |window| read(window, bumpalo::Bump::new)),
        Variant::new("bump-scope", |window| read(window, <bump_scope::Bump>::new)),
        Variant::new("bump-scope, downwards", |window| {
            read(window, || Downwards::new_in(Global))
        }),
    ],
    judge: |found| {
        let same = |name| {
            let figures = ["bumpalo", "bump-scope", "bump-scope, downwards"]
                .map(|variant| found.of(variant, name));
            figures[0] == figures[1] && figures[0] == figures[2]
        };
        let names = found.of("bumpalo", "records") * 2.0;
        let holds = same("total_used_blocks")
            && same("total_used_bytes")
            && same("bytes of names")
            && found.of("bumpalo", "total_used_blocks") >= names;
        let why = format!(
            "each hands out the same {:.0} pieces, {:.0} bytes, from {:.0}, {:.0} and {:.0} chunks; bump-scope takes {} \
             the time of bumpalo, downwards {}",
            found.of("bumpalo", "total_used_blocks"),
            found.of("bumpalo", "total_used_bytes"),
            found.of("bumpalo", "chunks"),
            found.of("bump-scope", "chunks"),
            found.of("bump-scope, downwards", "chunks"),
            times(found.times("bump-scope", "bumpalo")),
            times(found.times("bump-scope, downwards", "bumpalo")),
        );
        Judged::facts(holds, why)
    },
};

fn read<A: Arena>(window: &mut Window, new: fn() -> A) {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    let mut seen = None;
    window.work(|| {
        let arena = Tracked::new("people", new());
        let people: &[Person<'_>] = in_arena(&bytes, &arena);
        let names: usize = people
            .iter()
            .map(|person| person.first_name.len() + person.last_name.len())
            .sum();
        seen = Some((arena.stats(), names));
        arena
    });
    if let Some((stats, names)) = seen {
        arena::note(window, &stats);
        window.note("bytes of names", names as f64);
    }
}
