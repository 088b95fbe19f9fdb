//! Rows, and the words of the command line.

use heapglass_fixture as fixture;
use heapglass_profiler::calltree;
use heapglass_profiler::profile::{
    Footprint, FootprintNode, FootprintNodeValue, Frames, Measure, Origin, Profile, TypeId,
};
use heapglass_profiler::table::*;
use std::collections::HashSet;

#[test]
fn every_grouping_has_a_word_of_its_own() {
    let words = By::COUNTED.map(By::name);
    let distinct: HashSet<&str> = words.into_iter().collect();
    assert_eq!(distinct.len(), By::COUNTED.len());
    assert!(!distinct.contains(""));
    let words = calltree::Levels::ALL.map(calltree::Levels::name);
    assert_eq!(words, ["stack", "field", "type", "arena"]);
}

#[test]
fn types_that_share_a_short_name_inside_an_arena_are_told_apart() {
    let mut profile = fixture::city_arenas();
    let keys = |profile: &Profile| -> Vec<String> {
        let rows = rows(profile, By::Arena, Measure::Total, Frames::Folded);
        let cities = rows.iter().find(|row| row.key == "cities").expect("a row");
        let Detail::Arena(detail) = &cities.detail else {
            panic!("an arena");
        };
        detail.types.iter().map(|part| part.key.clone()).collect()
    };
    assert_eq!(keys(&profile.clone()), ["Vec<Citizen>", "&str", "&[u8]"]);
    for name in profile.parts().types {
        if name.full.contains("u8]") {
            name.short = "&str".to_owned();
        }
    }
    assert_eq!(keys(&profile.clone()), ["Vec<Citizen>", "&str", "&[u8]"]);
    let names: Vec<&str> = profile
        .types()
        .iter()
        .map(|name| name.short.as_str())
        .collect();
    assert_eq!(names.iter().filter(|name| **name == "&str").count(), 2);
}

#[test]
fn what_stayed_is_the_mean_of_the_entries_if_it_is_known_of_each() {
    let mut b = fixture::Builder::new();
    for _ in 0..3 {
        b.scope(0, "load", 0, 0);
    }
    let scopes = b.parts().scopes;
    (scopes[1].stayed_bytes, scopes[2].stayed_bytes) = (Some(5), Some(7));
    // Found in the table but never entered.
    (scopes[3].entered, scopes[3].stayed_bytes) = (0, None);
    let stayed = |profile: &Profile| {
        let rows = rows(profile, By::Phase, Measure::Total, Frames::Folded);
        let load = rows.iter().find(|row| row.key == "load").expect("a row");
        let Detail::Phase(detail) = &load.detail else {
            panic!("a phase");
        };
        (detail.entered, detail.stayed_bytes)
    };
    let mut profile = b.build();
    assert_eq!(stayed(&profile.clone()), (2, Some(6)));
    profile.parts().scopes[3].entered = 1;
    assert_eq!(stayed(&profile), (3, None));
    // The mean of an entry that ended and one that has not.
    let scopes = profile.parts().scopes;
    (scopes[3].entered, scopes[3].running, scopes[3].stayed_bytes) = (1, 1, Some(0));
    assert_eq!(stayed(&profile), (3, Some(6)));
}

#[test]
fn raw_allocations_of_a_crate_are_shown_with_the_crate_and_the_function() {
    let mut builder = fixture::Builder::new();
    let mut frame = |name: &str, krate: &str, origin| {
        let function = builder.function(name, krate, origin);
        let described = &mut builder.parts().functions[function.0 as usize];
        described.does = format!("{krate}::{}", described.short);
        builder.frame(function, Some("src/a.rs"), 1)
    };
    let main = frame("app::main", "app", Origin::User);
    let std = frame("alloc::alloc::alloc", "alloc", Origin::Std);
    let asking = [
        ("crossbeam_deque::deque::Buffer::alloc", "crossbeam_deque"),
        ("thin_vec::ThinVec::reserve", "thin_vec"),
        ("bytes::bytes_mut::BytesMut::reserve_inner", "bytes"),
        ("tokio::runtime::task::core::Cell::new", "tokio"),
    ]
    .map(|(name, krate)| frame(name, krate, Origin::Dependency));
    for dependency in asking {
        let figures = fixture::figures(1, 8, 1);
        builder.site(&[main, dependency, std], Default::default(), figures);
    }
    let mut what: Vec<String> = rows(&builder.build(), By::Site, Measure::Total, Frames::Folded)
        .into_iter()
        .filter_map(|row| match row.detail {
            Detail::Site(detail) => Some(detail.label.what),
            _ => None,
        })
        .collect();
    what.sort();
    let crates_and_functions = [
        "bytes::BytesMut::reserve_inner",
        "crossbeam_deque::Buffer::alloc",
        "thin_vec::ThinVec::reserve",
        "tokio::Cell::new",
    ];
    assert_eq!(what, crates_and_functions);
}

#[test]
fn what_was_found_of_a_type_comes_from_one_footprint_for_values_may_share_blocks() {
    let footprint = |label: &str, time_ns, block_bytes| {
        let node = fixture::made!(FootprintNode {
            value_type: Some(TypeId(7)),
            figures: FootprintNodeValue {
                blocks: 2,
                block_bytes,
                used_bytes: 60,
                ..FootprintNodeValue::default()
            },
        });
        fixture::made!(Footprint {
            label: label.to_owned(),
            time_ns,
            nodes: vec![node],
        })
    };
    let footprints = vec![
        // An older instance of "b" held more.
        footprint("b", 1, 900),
        footprint("a", 2, 100),
        footprint("b", 3, 80),
    ];
    let profile = fixture::filled(|parts| *parts.footprints = footprints);
    let found = &slack_by_type(&profile)[&TypeId(7)];
    assert_eq!(
        (found.footprint.as_str(), found.of_blocks, found.of_bytes),
        ("a", 2, 100)
    );
    assert_eq!(found.bytes, 40);
}

#[test]
fn a_closure_and_the_body_of_an_async_function_belong_to_their_function() {
    for (name, _) in fixture::REAL {
        let profile = fixture::real(name);
        for by in [By::Site, By::Owner] {
            for row in rows(&profile, by, Measure::Peak, Frames::Folded) {
                let owner = match &row.detail {
                    Detail::Site(detail) => &detail.label.owner,
                    _ => &row.key,
                };
                assert!(!owner.contains("{{closure}}"), "{owner} of {name}");
            }
        }
    }
    let profile = fixture::real("server");
    let owners = rows(&profile, By::Owner, Measure::Peak, Frames::Folded);
    assert_eq!(owners[0].key, "server::take");
    // The line is that of the body, not of the signature.
    let Detail::Owner { owner, .. } = owners[0].detail else {
        panic!("an owner");
    };
    let source = owner.and_then(|owner| profile.source_of(owner));
    assert_eq!(source.as_deref(), Some("src/main.rs:53"));
}
