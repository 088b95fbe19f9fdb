//! What is called a leak, and what is not.

use super::*;
use crate::arenas::{Certainty, leak_text, leaks};
use crate::profile::ScopeKind;

fn found(profile: &Profile) -> Vec<(String, Certainty)> {
    let fields = Fields::of(profile);
    leaks(profile, &fields)
        .iter()
        .map(|leak| (leak_text(profile, &fields, leak), leak.certainty))
        .collect()
}

#[test]
fn a_string_smuggled_into_an_arena_that_is_gone_is_named_with_its_field() {
    let profile = sample::city_arenas();
    let fields = Fields::of(&profile);
    let all = leaks(&profile, &fields);
    let leak = all
        .iter()
        .find(|leak| leak.certainty == Certainty::Leaked)
        .expect("a leak");
    assert_eq!(
        profile.type_name(leak.type_id.expect("a type")).short,
        "String"
    );
    assert_eq!(fields.nodes[leak.field as usize].path, "City.note");
    assert_eq!((leak.live_blocks, leak.live_bytes), (300, 14_400));
    assert_eq!(
        leak_text(&profile, &fields, leak),
        "String at City.note: 300 blocks (14.1 KiB) of the global heap leaked by the arena's drop: arena request does not \
         drop the values in it"
    );
}

#[test]
fn while_instances_live_it_cannot_be_known() {
    let profile = sample::city_arenas();
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
    let mut profile = sample::city_arenas();
    let cities = &mut profile.arenas[0];
    for row in &mut cities.rows {
        (row.live_bytes, row.live_blocks) = (0, 0);
    }
    cities.past_bytes = 0;
    cities.resets = 1;
    assert!(
        found(&profile)
            .iter()
            .all(|(_, certainty)| *certainty == Certainty::Leaked)
    );
    // A chunk whose site is not known might be one of these blocks.
    for moment in &mut profile.arenas[0].history {
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
    let profile = sample::city_arenas();
    let chunks = chunk_sites(&profile);
    for leak in leaks(&profile, &Fields::of(&profile)) {
        assert!(!chunks.contains_key(&leak.site));
    }
}

#[test]
fn blocks_outside_values_of_an_arena_are_no_leaks() {
    let mut profile = sample::city_arenas();
    // Fields of values on the heap, of the same shape.
    for arena in &mut profile.arenas {
        arena.rows.clear();
    }
    assert!(found(&profile).is_empty());
    let mut profile = sample::city_arenas();
    for scope in &mut profile.scopes {
        scope.kind = ScopeKind::Phase;
    }
    assert!(found(&profile).is_empty());
}

#[test]
fn of_values_that_may_lie_on_the_heap_it_cannot_be_known() {
    let mut profile = sample::city_arenas();
    for scope in &mut profile.scopes {
        scope.in_arena = false;
    }
    let said = found(&profile);
    assert_eq!(said.len(), 2);
    for (text, certainty) in said {
        assert_eq!(certainty, Certainty::PlaceUnknown);
        assert!(text.contains("if they lie on the heap"), "{text}");
    }
}
