//! A program that reads cities into arenas: what frontends of arenas are drawn and tested with.
//!
//! Has one of each: an arena that lives to the end and took several chunks, one made and dropped a
//! hundred times, one that was reset, one at its limit and never dropped; growth left behind, bytes
//! that bypassed the handle, padding; a `String` smuggled into an arena that is gone, and one into
//! an arena that lives; sites of chunks. Must stay the same in every run, and every arena's parts
//! must add up.

use super::{Builder, figures, frame, surroundings};
use heapglass_profiler::profile::{
    Arena, ArenaEvent, ArenaFigures, ArenaMoment, ArenaRow, ArenaValue, Contents, Figures, FrameId,
    Losses, Origin, Profile, ScopeId, ScopeKind, Thread,
};

const CITIZENS: &str = "bumpalo::collections::vec::Vec<atlas::model::Citizen>";
const STRING: &str = "alloc::string::String";

/// Reads cities and requests into arenas, then releases the requests.
pub(crate) fn city_arenas() -> Profile {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 9_000_000, 4_000);
    let serve = b.scope(0, "serve", 0, 100);
    let release = b.scope(0, "release", 0, 0);
    b.profile().scopes[load.0 as usize].retained_bytes = Some(8_700_000);
    b.profile().scopes[release.0 as usize].retained_bytes = Some(-6_553_600);
    let main = own(&mut b, "atlas::main", "src/main.rs", 12);
    let seed = own(
        &mut b,
        "<atlas::model::City as tracking_alloc::arena::ArenaDeserialize>::deserialize",
        "src/model.rs",
        8,
    );
    let note = own(&mut b, "atlas::model::note", "src/model.rs", 31);
    let chunk = frame(
        &mut b,
        "bumpalo::Bump::new_chunk",
        "bumpalo",
        Origin::Dependency,
        "src/lib.rs",
        884,
    );
    b.site(&[main], load, figures(1, 9_000_000, 0));

    let cities = city(&mut b, load, 4_000);
    let cities_chunk = chunk_site(&mut b, &[main, seed, chunk], cities.citizens, 15, 6_400_000);
    smuggled(&mut b, &[main, seed, note], cities.note, 4_000, 4_000);
    let requests = city(&mut b, serve, 300);
    let request_chunk = chunk_site(&mut b, &[main, seed, chunk], requests.root, 100, 0);
    smuggled(&mut b, &[main, seed, note], requests.note, 300, 300);

    let p = b.profile();
    p.arenas = vec![
        live(&cities, cities_chunk),
        dropped(&requests, request_chunk),
        reset(serve),
        limited(),
    ];
    surroundings(&mut b);
    about(&mut b);
    b.build()
}

/// The scopes of a city.
struct City {
    root: ScopeId,
    name: ScopeId,
    citizens: ScopeId,
    first: ScopeId,
    tags: ScopeId,
    note: ScopeId,
}

fn own(b: &mut Builder, name: &str, file: &str, line: u32) -> FrameId {
    frame(b, name, "atlas", Origin::User, file, line)
}

fn city(b: &mut Builder, phase: ScopeId, count: u64) -> City {
    use ScopeKind::{Element, Field, Root};
    let root = b.field(phase, Root, "", ("atlas::model::City", 80), count);
    b.profile().scopes[root.0 as usize].in_arena = true;
    let name = b.field(root, Field, "name", ("&str", 16), count);
    let citizens = b.field(root, Field, "citizens", (CITIZENS, 32), count);
    let citizen = b.field(
        citizens,
        Element,
        "",
        ("atlas::model::Citizen", 64),
        count * 20,
    );
    let first = b.field(citizen, Field, "first_name", ("&str", 16), count * 20);
    let tags = b.field(citizen, Field, "tags", ("&[u8]", 16), count * 20);
    let note = b.field(root, Field, "note", (STRING, 24), count);
    City {
        root,
        name,
        citizens,
        first,
        tags,
        note,
    }
}

/// The site of an arena's chunks; its index.
fn chunk_site(b: &mut Builder, stack: &[FrameId], scope: ScopeId, blocks: u64, live: u64) -> usize {
    let counted = if live > 0 {
        Figures {
            total_bytes: live,
            total_blocks: blocks,
            live_bytes: live,
            live_blocks: blocks,
            peak_bytes: live,
            peak_blocks: blocks,
            ..Figures::default()
        }
    } else {
        figures(blocks, 65_536, 0)
    };
    b.site(stack, scope, counted);
    b.profile().sites.len() - 1
}

/// Strings that values in an arena own.
fn smuggled(b: &mut Builder, stack: &[FrameId], scope: ScopeId, blocks: u64, live: u64) {
    let contents = Contents {
        container: b.value_type(STRING),
        element: Some(b.value_type("u8")),
        owner: Some(b.value_type("atlas::model::City")),
    };
    b.site(stack, scope, figures(blocks, 48, live)).contents = Some(contents);
}

fn row(scope: ScopeId, total: [u64; 2], live: [u64; 2]) -> ArenaRow {
    ArenaRow {
        scope,
        inside: ArenaFigures {
            total_bytes: total[0],
            total_blocks: total[1],
            live_bytes: live[0],
            live_blocks: live[1],
            ..ArenaFigures::default()
        },
    }
}

/// Fifteen chunks, doubling; half of the citizens grew where they could not stay.
fn live(city: &City, site: usize) -> Arena {
    let mut citizens = row(city.citizens, [4_640_000, 13_000], [2_900_000, 4_000]);
    citizens.inside.copied_bytes = 1_200_000;
    citizens.inside.grows = 9_000;
    let mut tags = row(city.tags, [320_000, 80_000], [320_000, 80_000]);
    tags.inside.bypassed_bytes = 500_000;
    let rows = vec![
        row(city.name, [48_000, 4_000], [48_000, 4_000]),
        citizens,
        row(city.first, [960_000, 80_000], [960_000, 80_000]),
        tags,
    ];
    let taken = [
        512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288,
        1_048_576, 1_600_000, 1_750_000, 953_360,
    ];
    let mut allocated_bytes = 0;
    let history = (0_u64..)
        .zip(taken)
        .map(|(i, bytes)| {
            let occupied_bytes = allocated_bytes;
            allocated_bytes += bytes;
            moment(
                ArenaEvent::Chunk,
                1,
                40 + i * 40,
                allocated_bytes,
                occupied_bytes,
                Some(site),
            )
        })
        .collect();
    Arena {
        name: "cities".into(),
        krate: "bumpalo".into(),
        figures: ArenaValue {
            made: 1,
            allocated_bytes: 6_400_000,
            allocated_bytes_including_metadata: 6_400_720,
            chunks: 15,
            used_bytes: 4_228_000,
            padding_bytes: 22_000,
            abandoned_bytes: 1_200_000,
            bypassed_bytes: 500_000,
            unused_tail_bytes: 450_000,
            most_allocated_bytes: 6_400_000,
            most_instance_bytes: 6_400_000,
            most_occupied_bytes: 5_950_000,
            most_chunks: 15,
            total_chunks: 15,
            total_allocated_bytes: 6_400_000,
            total_used_bytes: 5_968_000,
            total_used_blocks: 177_000,
            grows: 9_000,
            grows_in_place: 4_400,
            copied_bytes: 1_200_000,
            ..ArenaValue::default()
        },
        rows,
        history,
        ..Arena::default()
    }
}

/// A hundred requests, one after the other, each with an arena of one chunk.
fn dropped(city: &City, site: usize) -> Arena {
    let rows = vec![
        row(city.name, [3_600, 300], [0, 0]),
        row(city.citizens, [1_200_000, 300], [0, 0]),
        row(city.first, [72_000, 6_000], [0, 0]),
    ];
    let history = (1..=100)
        .flat_map(|i| {
            [
                moment(ArenaEvent::Chunk, i, 700 + i * 5, 65_536, 0, Some(site)),
                moment(ArenaEvent::Drop, i, 703 + i * 5, 0, 12_000 + i * 10, None),
            ]
        })
        .collect();
    Arena {
        name: "request".into(),
        krate: "bump-scope".into(),
        figures: ArenaValue {
            made: 100,
            dropped: 100,
            most_allocated_bytes: 65_536,
            most_instance_bytes: 65_536,
            most_occupied_bytes: 13_000,
            most_chunks: 1,
            total_chunks: 100,
            total_allocated_bytes: 6_553_600,
            total_used_bytes: 1_275_600,
            total_used_blocks: 6_600,
            ..ArenaValue::default()
        },
        rows,
        history,
        ..Arena::default()
    }
}

/// Used again and again; allocated outside all fields; one row found no room.
fn reset(phase: ScopeId) -> Arena {
    Arena {
        name: "scratch".into(),
        krate: "bumpalo".into(),
        figures: ArenaValue {
            made: 1,
            resets: 40,
            allocated_bytes: 130_944,
            allocated_bytes_including_metadata: 130_992,
            chunks: 1,
            unused_tail_bytes: 130_944,
            most_allocated_bytes: 196_416,
            most_instance_bytes: 196_416,
            most_occupied_bytes: 120_000,
            most_chunks: 2,
            total_chunks: 2,
            total_allocated_bytes: 196_416,
            total_used_bytes: 4_000_000,
            total_used_blocks: 50_000,
            ..ArenaValue::default()
        },
        rows: vec![row(phase, [3_900_000, 49_000], [0, 0])],
        history: vec![
            moment(ArenaEvent::Chunk, 1, 710, 65_472, 0, None),
            moment(ArenaEvent::Chunk, 1, 720, 196_416, 65_000, None),
            moment(ArenaEvent::Reset, 1, 1_150, 130_944, 120_000, None),
        ],
        ..Arena::default()
    }
}

/// At its limit, and kept.
fn limited() -> Arena {
    Arena {
        name: "index".into(),
        krate: "bumpalo".into(),
        figures: ArenaValue {
            made: 2,
            dropped: 1,
            allocated_bytes: 4_032,
            allocated_bytes_including_metadata: 4_080,
            chunks: 1,
            used_bytes: 3_000,
            padding_bytes: 600,
            unused_tail_bytes: 432,
            most_allocated_bytes: 4_032,
            most_instance_bytes: 4_032,
            most_occupied_bytes: 3_600,
            most_chunks: 1,
            total_chunks: 2,
            total_allocated_bytes: 8_064,
            total_used_bytes: 6_000,
            total_used_blocks: 200,
            limit_reached: 7,
            ..ArenaValue::default()
        },
        rows: vec![row(ScopeId(0), [6_000, 200], [3_000, 100])],
        ..Arena::default()
    }
}

fn moment(
    what: ArenaEvent,
    instance: u64,
    ms: u64,
    allocated_bytes: u64,
    occupied_bytes: u64,
    site: Option<usize>,
) -> ArenaMoment {
    ArenaMoment {
        what,
        instance,
        time_ns: ms * 1_000_000,
        allocated_bytes,
        occupied_bytes,
        site,
    }
}

/// Whose arenas they are; one thread did all.
fn about(b: &mut Builder) {
    let p = b.profile();
    p.process.program = "atlas".into();
    p.process.executable = "/home/ada/atlas/target/release/atlas".into();
    p.process.command = vec!["target/release/atlas".into(), "cities.json".into()];
    p.lost = Losses::default();
    p.capture.peak_error_bytes = 0;
    p.capture.peak_discrepancy_bytes = 0;
    for module in &mut p.modules {
        module.path = module.path.replace("cities", "atlas");
    }
    p.threads = vec![Thread {
        name: "main".into(),
        count: 1,
        figures: p.totals,
    }];
}
