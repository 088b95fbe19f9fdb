//! The blocks that are called a leak, and those that are not.

use super::*;
use heapglass_profiler::profile::arenas::{Certainty, leak_text};
use heapglass_profiler::profile::{
    ArenaFigures, ArenaRow, ArenaValues, Origin, ScopeKind, Site, TypeId,
};

fn found(profile: &Profile) -> Vec<(String, Certainty)> {
    // Tests change profiles between two calls.
    let profile = profile.clone();
    let text = |leak| leak_text(&profile, leak);
    let leaks = profile.leaks().iter();
    leaks.map(|leak| (text(leak), leak.certainty)).collect()
}

#[test]
fn a_string_smuggled_into_an_arena_that_is_gone_is_named_with_its_field() {
    let profile = fixture::city_arenas();
    let fields = profile.fields();
    let all = profile.leaks();
    let leak = all
        .iter()
        .find(|leak| leak.certainty == Certainty::Leaked)
        .expect("a leak");
    assert_eq!(
        profile.type_name(leak.type_id.expect("a type")).short,
        "String"
    );
    assert_eq!(fields.nodes()[leak.field as usize].path, "City.note");
    assert_eq!((leak.live_blocks, leak.live_bytes), (300, 14_400));
    assert_eq!(
        leak_text(&profile, leak),
        "String at City.note: 300 blocks (14.1 KiB) of the global heap leaked by the arena's drop, unless the program moved \
         them out: arena request does not drop the values in it"
    );
}

#[test]
fn while_instances_live_it_cannot_be_known() {
    let profile = fixture::city_arenas();
    let said = found(&profile);
    let (text, _) = said
        .iter()
        .find(|(_, certainty)| *certainty == Certainty::InstancesLive)
        .expect("strings in an arena that lives");
    assert!(
        text.contains("4,000 blocks") && text.contains("cannot be known"),
        "{text}"
    );
    assert_eq!(said.len(), 2);
}

#[test]
fn a_reset_arena_with_nothing_in_it_leaked_what_its_values_owned() {
    let mut profile = fixture::city_arenas();
    let cities = &mut profile.parts().arenas[0];
    for row in &mut cities.rows {
        (row.inside.live_bytes, row.inside.live_blocks) = (0, 0);
    }
    cities.figures.bypassed_bytes = 0;
    cities.figures.resets = 1;
    assert!(
        found(&profile)
            .iter()
            .all(|(_, certainty)| *certainty == Certainty::Leaked)
    );
    // A chunk of unknown site might be one of these blocks.
    for moment in &mut profile.parts().arenas[0].history {
        moment.site = None;
    }
    assert!(
        found(&profile)
            .iter()
            .any(|(_, certainty)| *certainty == Certainty::ChunksUnknown)
    );
}

#[test]
fn the_chunks_of_an_arena_are_never_its_leaks() {
    let profile = fixture::city_arenas();
    let chunks = profile.chunk_sites();
    for leak in profile.leaks() {
        assert!(!chunks.contains_key(&leak.site));
    }
}

#[test]
fn the_chunks_of_an_arena_without_a_name_are_no_leaks() {
    let mut profile = fixture::city_arenas();
    let before = found(&profile);
    let known: Vec<usize> = profile.chunk_sites().keys().copied().collect();
    for index in known {
        let mut bare = profile.sites()[index].clone();
        (bare.figures.live_blocks, bare.figures.live_bytes) = (7, 70_000);
        profile.parts().sites.push(bare);
    }
    assert_eq!(found(&profile), before);
    // If the kind of the stack is unknown, the blocks might be a leak.
    for function in profile.parts().functions {
        function.origin = Origin::Unresolved;
    }
    assert!(
        found(&profile)
            .iter()
            .all(|(_, certainty)| *certainty != Certainty::Leaked)
    );
}

#[test]
fn a_value_put_in_by_hand_is_named_with_its_type_and_site() {
    let mut profile = fixture::city_arenas();
    let mut outside = profile.sites()[0].clone();
    outside.scope = ScopeId(0);
    (outside.figures.live_blocks, outside.figures.live_bytes) = (30, 600);
    let site = profile.sites().len();
    profile.parts().sites.push(outside);
    let id = |full: &str| {
        let at = profile.types().iter().position(|name| name.full == full);
        TypeId(at.expect("a type of the sample") as u32)
    };
    let (string, city) = (id("alloc::string::String"), id("atlas::model::City"));
    let values = |type_id, site, count, bytes| {
        fixture::made!(ArenaValues {
            type_id,
            type_name: "Put".into(),
            site,
            count,
            bytes,
        })
    };
    let before = found(&profile).len();
    profile.parts().arenas[1].values = vec![
        values(string, None, 40, 960),
        values(string, Some(site), 40, 840),
    ];
    let fields = profile.fields();
    let leak = |profile: &Profile| {
        let all = profile.clone();
        let all = all.leaks();
        assert_eq!(all.len(), before + 1);
        all.iter()
            .find(|leak| leak.site == site)
            .expect("it")
            .clone()
    };
    let undropped = leak(&profile);
    assert_eq!(
        leak_text(&profile, &undropped),
        "String: 30 blocks (600 B) of the global heap leaked by the arena's drop, unless the program moved them out: arena \
         request does not drop the values in it"
    );
    assert_eq!(undropped.certainty, Certainty::Leaked);
    let said = advice(&profile.arenas()[1], fields, profile.process().state);
    let said = said
        .iter()
        .find(|advice| advice.kind == AdviceKind::Undropped)
        .expect("advice");
    assert!(said.text.contains("40 Put"), "{}", said.text);

    // A pointer of unknown type may be borrowed.
    profile.parts().arenas[1].values[1].type_id = city;
    assert_eq!(leak(&profile).certainty, Certainty::OwnerUnknown);

    // Fewer than the site's live blocks: only those.
    profile.parts().arenas[1].values[1].count = 10;
    profile.parts().arenas[1].values[1].bytes = 210;
    let some = leak(&profile);
    assert_eq!((some.live_blocks, some.live_bytes), (10, 210));

    // Values of two arenas share the live blocks there: 30 blocks, 600 bytes.
    profile.parts().arenas[0].values = vec![values(string, Some(site), 12, 300)];
    profile.parts().arenas[1].values[1].count = 40;
    let both: Vec<_> = profile
        .clone()
        .leaks()
        .iter()
        .filter(|leak| leak.site == site)
        .map(|leak| (leak.arenas[0], leak.live_blocks, leak.live_bytes))
        .collect();
    assert_eq!(both, [(0, 12, 300), (1, 18, 300)]);

    // In a live arena, they are not leaked yet.
    profile.parts().arenas[0].values = vec![values(string, Some(site), 5, 100)];
    profile.parts().arenas[1].values.clear();
    assert_eq!(leak(&profile).certainty, Certainty::InstancesLive);

    // Freed before the end.
    profile.parts().sites[site].figures.live_blocks = 0;
    assert_eq!(found(&profile).len(), before);
}

#[test]
fn blocks_outside_values_of_an_arena_are_no_leaks() {
    let mut profile = fixture::city_arenas();
    // Fields of values on the heap, of the same shape.
    for arena in profile.parts().arenas {
        arena.rows.clear();
    }
    assert!(found(&profile).is_empty());
    let mut profile = fixture::city_arenas();
    for scope in profile.parts().scopes {
        scope.kind = ScopeKind::Phase;
    }
    assert!(found(&profile).is_empty());
}

#[test]
fn of_values_that_may_lie_on_the_heap_it_cannot_be_known() {
    let mut profile = fixture::city_arenas();
    for scope in profile.parts().scopes {
        scope.in_arena = false;
    }
    let said = found(&profile);
    assert_eq!(said.len(), 2);
    for (text, certainty) in said {
        assert_eq!(certainty, Certainty::PlaceUnknown);
        assert!(text.contains("if they lie on the heap"), "{text}");
    }
}

/// The blocks in `City.note`, while an instance lives, and one row of the arena reports as many.
fn beside_row(inside: ArenaFigures, bypassed_bytes: u64) -> Vec<Certainty> {
    let mut profile = fixture::city_arenas();
    profile.parts().arenas.truncate(1);
    let cities = &mut profile.parts().arenas[0];
    let scope = cities.rows[0].scope;
    cities.rows = vec![fixture::made!(ArenaRow { scope, inside })];
    cities.figures.bypassed_bytes = bypassed_bytes;
    found(&profile)
        .into_iter()
        .map(|(_, certainty)| certainty)
        .collect()
}

#[test]
fn an_instance_holds_values_when_pieces_bytes_or_bypassing_bytes_are_in_use() {
    let used = fixture::made!(ArenaFigures {
        total_bytes: 48,
        total_blocks: 1,
    });
    let bypassing = fixture::made!(ArenaFigures { bypassed_bytes: 9 });
    let (gone, alive) = ([Certainty::Leaked], [Certainty::InstancesLive]);
    assert_eq!(beside_row(ArenaFigures::default(), 0), []);
    assert_eq!(beside_row(used, 0), gone);
    assert_eq!(beside_row(used, 9), gone, "those bytes are of other rows");
    assert_eq!(beside_row(bypassing, 0), gone, "they came back");
    assert_eq!(beside_row(bypassing, 9), alive);
    let pieces = fixture::made!(ArenaFigures {
        live_blocks: 1,
        ..used
    });
    assert_eq!(beside_row(pieces, 0), alive);
    let bytes = fixture::made!(ArenaFigures {
        live_bytes: 1,
        ..used
    });
    assert_eq!(beside_row(bytes, 0), alive);
}

#[test]
fn sites_without_live_blocks_and_those_that_are_none_are_no_leaks() {
    let change = |change: fn(&mut Site)| {
        let mut profile = fixture::city_arenas();
        for leak in profile.clone().leaks() {
            change(&mut profile.parts().sites[leak.site]);
        }
        found(&profile)
    };
    assert_eq!(change(|_| ()).len(), 2);
    assert_eq!(change(|site| site.figures.live_blocks = 0), []);
    assert_eq!(change(|site| site.marks.synthetic = true), []);
}

#[test]
fn a_value_put_in_by_hand_is_told_once_and_never_as_a_chunk() {
    let mut profile = fixture::city_arenas();
    let before = found(&profile);
    let leaked = profile.clone().leaks()[0].site;
    let chunk = *profile.chunk_sites().keys().next().expect("a chunk");
    let string = profile
        .types()
        .iter()
        .position(|name| name.full == "alloc::string::String");
    let type_id = TypeId(string.expect("a type of the sample") as u32);
    let values = |site| {
        fixture::made!(ArenaValues {
            type_id,
            site: Some(site),
            count: 1,
            bytes: 48,
        })
    };
    let figures = &mut profile.parts().sites[chunk].figures;
    (figures.live_blocks, figures.live_bytes) = (1, 48);
    profile.parts().arenas[1].values = vec![values(leaked), values(chunk)];
    assert_eq!(found(&profile), before);

    // All instances are gone or empty, so the data that their values owned leaked.
    let mut outside = profile.sites()[leaked].clone();
    outside.scope = ScopeId(0);
    profile.parts().sites.push(outside);
    profile.parts().arenas[1].values = vec![values(profile.sites().len() - 1)];
    let certainty = |made, dropped, used_bytes| {
        let mut profile = profile.clone();
        let arena = &mut profile.parts().arenas[1];
        (
            arena.figures.made,
            arena.figures.dropped,
            arena.figures.used_bytes,
        ) = (made, dropped, used_bytes);
        let leaks = profile.leaks().iter();
        let mut undropped = leaks.filter(|leak| leak.site == profile.sites().len() - 1);
        undropped.next().expect("a leak").certainty
    };
    assert_eq!(certainty(2, 2, 0), Certainty::Leaked);
    assert_eq!(certainty(2, 2, 1), Certainty::Leaked);
    assert_eq!(certainty(2, 1, 0), Certainty::Leaked);
    assert_eq!(certainty(2, 1, 1), Certainty::InstancesLive);
}

/// Blocks that are leaked if they are values of an arena that is gone.
const VALUES: Option<Certainty> = Some(Certainty::Leaked);
/// Blocks that are never leaked.
const CHUNKS: Option<Certainty> = None;
/// Blocks that may be either.
const UNKNOWN: Option<Certainty> = Some(Certainty::ChunksUnknown);

/// Returns the verdict on the live blocks of a stack (outermost function first) under the root of
/// an arena that is gone. The arena took its chunks in `app::Pool`.
fn held(stack: &[(&str, &str, Origin)]) -> Option<Certainty> {
    let mut b = fixture::Builder::new();
    let root = b.field(ScopeId(0), ScopeKind::Root, "", ("app::City", 8), 1);
    b.parts().scopes[root.0 as usize].in_arena = true;
    let mut site = |stack: &[(&str, &str, Origin)], scope| {
        let frames: Vec<_> = stack
            .iter()
            .map(|&(name, krate, origin)| {
                let function = b.function(name, krate, origin);
                b.frame(function, Some("src/lib.rs"), 1)
            })
            .collect();
        b.site(&frames, scope, fixture::figures(1, 64, 1));
    };
    site(&[MAIN, POOL, GROW], ScopeId(0));
    site(stack, root);
    b.parts().arenas.push(fixture::made!(Arena {
        figures: ArenaValue {
            made: 1,
            dropped: 1,
            ..ArenaValue::default()
        },
        rows: vec![fixture::made!(ArenaRow {
            scope: root,
            inside: fixture::made!(ArenaFigures { total_blocks: 1 }),
        })],
        history: vec![fixture::made!(ArenaMoment { site: Some(0) })],
    }));
    let profile = b.build();
    let leak = profile.leaks().iter().find(|leak| leak.site == 1);
    leak.map(|leak| leak.certainty)
}

const MAIN: (&str, &str, Origin) = ("app::main", "app", Origin::User);
const POOL: (&str, &str, Origin) = ("app::Pool::add_chunk", "app", Origin::User);
const GROW: (&str, &str, Origin) = ("alloc::raw_vec::finish_grow", "alloc", Origin::Std);
const CHUNK: (&str, &str, Origin) = ("bumpalo::Bump::new_chunk", "bumpalo", Origin::Dependency);

#[test]
fn a_stack_tells_chunks_from_values() {
    assert_eq!(held(&[MAIN]), VALUES);
    assert_eq!(held(&[MAIN, GROW]), VALUES);
    assert_eq!(held(&[MAIN, CHUNK]), CHUNKS);
    assert_eq!(held(&[]), UNKNOWN);
    // The program's own arena: another stack of the same function may belong to a chunk or not.
    assert_eq!(held(&[MAIN, POOL]), UNKNOWN);
    assert_eq!(held(&[POOL, MAIN]), VALUES);
    for between in [
        ("alloc::alloc::alloc", "alloc", Origin::Std),
        (
            "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
            "alloc",
            Origin::Std,
        ),
        ("__rust_alloc", "", Origin::Std),
        ("__rustc::__rust_alloc", "", Origin::Std),
        (
            "core::ops::function::FnOnce::call_once",
            "core",
            Origin::Std,
        ),
        (
            "tracking_alloc::TrackingAlloc::alloc",
            "tracking_alloc",
            Origin::Dependency,
        ),
    ] {
        assert_eq!(held(&[MAIN, CHUNK, between]), CHUNKS, "{between:?}");
        assert_eq!(held(&[MAIN, POOL, between]), UNKNOWN, "{between:?}");
    }
    // The program's own collection, with the allocator of an arena's crate that represents the
    // global heap.
    let global = (
        "<bump_scope::alloc::Global as bump_scope::alloc::Allocator>::allocate",
        "bump_scope",
        Origin::Dependency,
    );
    assert_eq!(held(&[MAIN, global]), VALUES);
    assert_eq!(held(&[MAIN, CHUNK, global]), CHUNKS);
    // A closure inside a collection of an arena clones a value of the program's.
    for name in [
        "bumpalo::collections::vec::Vec<T>::resize",
        "bumpalo::boxed::Box<T>::new_in",
    ] {
        assert_eq!(
            held(&[MAIN, (name, "bumpalo", Origin::Dependency)]),
            VALUES,
            "{name}"
        );
    }
}
