//! Parts, tables, advice and history of arenas made by hand.

mod leaks;

use heapglass_fixture as fixture;
use heapglass_profiler::arenas::*;
use heapglass_profiler::profile::{
    Arena, ArenaEvent, ArenaFigures, ArenaMoment, ArenaRow, ArenaValue, Profile, ScopeId, State,
    TypeId,
};
use heapglass_profiler::units::Bytes;

fn arena<'a>(profile: &'a Profile, name: &str) -> &'a Arena {
    let found = profile.arenas().iter().find(|arena| arena.name == name);
    found.expect("an arena of the sample")
}

fn texts(arena: &Arena) -> Vec<String> {
    let profile = fixture::city_arenas();
    advice(arena, profile.fields(), State::Finished)
        .into_iter()
        .map(|advice| advice.text)
        .collect()
}

#[test]
fn the_parts_of_every_arena_add_up() {
    for arena in fixture::city_arenas().arenas() {
        assert_eq!(imbalance(arena), None);
    }
}

#[test]
fn an_arena_whose_parts_do_not_add_up_is_told() {
    let mut broken = fixture::city_arenas().parts().arenas.remove(0);
    broken.name = "cit\u{1b}[2Jies".into();
    broken.figures.unused_tail_bytes += 1;
    let said = imbalance(&broken).expect("a sentence");
    assert!(
        said.contains("6400001 bytes") && said.contains("6400000") && !said.contains('\u{1b}'),
        "{said}"
    );
    for part in [
        &mut broken.figures.used_bytes,
        &mut broken.figures.bypassed_bytes,
        &mut broken.figures.unused_tail_bytes,
    ] {
        *part = u64::MAX;
    }
    assert!(imbalance(&broken).is_some());
}

#[test]
fn a_bar_has_a_cell_for_every_part_and_no_cell_too_many() {
    let profile = fixture::city_arenas();
    let live = |arena: &Arena| Breakdown::of(arena, Whose::Live).unwrap_or_default();
    let cities = live(arena(&profile, "cities"));
    for cells in 0..60 {
        let parts = bar(&cities, cells);
        let sum: usize = parts.iter().map(|(_, cells)| cells).sum();
        assert_eq!(sum, cells);
        if cells >= 10 {
            assert!(parts.iter().all(|(_, cells)| *cells > 0), "{parts:?}");
        }
    }
    assert!(
        bar(&live(arena(&profile, "request")), 20)
            .iter()
            .all(|(_, cells)| *cells == 0)
    );
    let huge = fixture::made!(Arena {
        figures: ArenaValue {
            used_bytes: u64::MAX,
            unused_tail_bytes: u64::MAX,
            ..ArenaValue::default()
        },
    });
    assert_eq!(
        bar(&live(&huge), 10).map(|(_, cells)| cells),
        [5, 0, 0, 0, 5]
    );
    // The only cell stays with the largest part.
    let two = fixture::made!(Arena {
        figures: ArenaValue {
            used_bytes: 9,
            unused_tail_bytes: 1,
            ..ArenaValue::default()
        },
    });
    assert_eq!(bar(&live(&two), 1).map(|(_, cells)| cells), [1, 0, 0, 0, 0]);
}

#[test]
fn parts_that_are_not_known_are_none_and_never_0() {
    let profile = fixture::city_arenas();
    let request = arena(&profile, "request");
    assert_eq!(Breakdown::of(request, Whose::Live), None);
    let (whose, largest) = Breakdown::shown(request).expect("the largest one");
    assert_eq!((whose, largest.used_bytes), (Whose::Largest, 12_995));
    let dropped = Breakdown::of(request, Whose::Dropped).expect("a hundred");
    assert_eq!(
        (dropped.allocated_bytes, dropped.unused_tail_bytes),
        (6_553_600, 5_303_100)
    );
    // The one that was never dropped has chunks.
    let cities = arena(&profile, "cities");
    assert_eq!(Breakdown::of(cities, Whose::Dropped), None);
    let shown = Breakdown::shown(cities).map(|(whose, _)| whose);
    assert_eq!(shown, Some(Whose::Live));
    assert_eq!(Breakdown::shown(&Arena::default()), None);
    // Each of them is checked.
    for change in [
        |figures: &mut ArenaValue| figures.largest_padding_bytes += 1,
        |figures: &mut ArenaValue| figures.dropped_used_bytes += 1,
    ] {
        let mut broken = request.clone();
        change(&mut broken.figures);
        assert!(imbalance(&broken).is_some());
    }
}

#[test]
fn the_waste_of_dropped_instances_is_told() {
    let figures = |resets| ArenaValue {
        made: 4,
        dropped: 4,
        resets,
        total_allocated_bytes: 10_000,
        copied_bytes: 900,
        dropped_allocated_bytes: 4_000,
        dropped_used_bytes: 2_000,
        dropped_padding_bytes: 400,
        dropped_abandoned_bytes: 1_600,
        ..ArenaValue::default()
    };
    let of = |resets| {
        texts(&fixture::made!(Arena {
            figures: figures(resets)
        }))
    };
    let padding = "10.0 % of the chunks of dropped instances padding (400 B): hand out what is less \
        aligned (strings, bytes) from an arena of its own";
    let abandoned = |share| format!("{share}): reserve first, or collect in place");
    assert_eq!(
        of(0),
        [
            abandoned("40.0 % of the chunks of dropped instances abandoned by growth (1.6 KiB"),
            padding.to_owned()
        ]
    );
    // What was abandoned before a reset is not in the chunks any more.
    assert_eq!(
        of(1),
        [
            abandoned("9.0 % of the chunks ever taken abandoned by growth (900 B"),
            padding.to_owned()
        ]
    );
}

#[test]
fn types_and_fields_hold_all_used_bytes() {
    let profile = fixture::city_arenas();
    let fields = profile.fields();
    for arena in profile.arenas() {
        let mut types = unscoped(arena);
        for row in by_type(&profile, arena) {
            types.add(&row.1);
        }
        let mut places = unscoped(arena);
        for row in by_field(fields, arena) {
            places.add(&row.1);
        }
        assert_eq!(types, places);
        assert_eq!(
            (types.total_bytes, types.total_blocks, types.live_bytes),
            (
                arena.figures.total_used_bytes,
                arena.figures.total_used_blocks,
                arena.figures.used_bytes
            )
        );
    }
    assert_eq!(unscoped(arena(&profile, "scratch")).total_bytes, 100_000);
}

#[test]
fn one_type_in_two_fields_is_one_row() {
    let profile = fixture::city_arenas();
    let fields = profile.fields();
    let cities = arena(&profile, "cities");
    let types = by_type(&profile, cities);
    let name = |(id, _): &(Option<TypeId>, ArenaFigures)| {
        profile.type_name(id.expect("a type")).short.clone()
    };
    assert_eq!(name(&types[0]), "Vec<Citizen>");
    assert_eq!(name(&types[1]), "&str");
    assert_eq!(types[1].1.total_bytes, 48_000 + 960_000);
    let paths: Vec<&str> = by_field(fields, cities)
        .iter()
        .map(|(field, _)| fields.nodes()[*field as usize].path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "City.citizens",
            "City.citizens[].first_name",
            "City.citizens[].tags",
            "City.name"
        ]
    );
}

#[test]
fn a_capacity_that_is_advised_is_enough_and_read_as_it_is() {
    let profile = fixture::city_arenas();
    let fields = profile.fields();
    let cities = arena(&profile, "cities");
    let advised = advice(cities, fields, State::Finished);
    assert_eq!(advised[0].kind, AdviceKind::Capacity);
    assert_eq!(
        advised[0].text,
        "grew 14 times: with_capacity(5.7 MiB) would have been one chunk"
    );
    for used in [
        1,
        1_000,
        1_023,
        1_024,
        1_100,
        104_857,
        1_048_575,
        1_048_576,
        5_950_000,
        1 << 40,
    ] {
        let arena = fixture::made!(Arena {
            figures: ArenaValue {
                most_chunks: 3,
                most_occupied_bytes: used,
                made: 1,
                ..ArenaValue::default()
            },
        });
        let capacity = advice(&arena, fields, State::Finished)[0]
            .capacity_bytes
            .expect("a capacity");
        assert!(capacity >= used + 32, "{used}");
        // At most a tenth of the unit.
        assert!(
            capacity <= (used + 32) + (used + 32) / 9,
            "{used}: {capacity}"
        );
        // The rounded figure on the screen is enough, too.
        let spelled = Bytes(capacity).to_string();
        let (number, unit) = spelled.split_once(' ').expect("a number and its unit");
        let unit = ["B", "KiB", "MiB", "GiB", "TiB"]
            .iter()
            .position(|known| *known == unit);
        let unit = 1024_f64.powi(unit.expect("a unit") as i32);
        assert!(
            number.parse::<f64>().expect("a number") * unit >= (used + 32) as f64,
            "{spelled}"
        );
    }
}

#[test]
fn no_capacity_is_advised_where_it_would_not_hold() {
    let base = fixture::made!(Arena {
        figures: ArenaValue {
            made: 1,
            dropped: 1,
            most_chunks: 9,
            most_occupied_bytes: 10_000,
            ..ArenaValue::default()
        },
    });
    assert_eq!(texts(&base).len(), 1);
    let one_chunk = fixture::made!(Arena {
        figures: ArenaValue {
            most_chunks: 1,
            ..base.figures
        },
        ..base.clone()
    });
    assert!(texts(&one_chunk).is_empty());
    let unused = fixture::made!(Arena {
        figures: ArenaValue {
            most_occupied_bytes: 0,
            ..base.figures
        },
        ..base.clone()
    });
    assert!(texts(&unused).is_empty());
    let limited = fixture::made!(Arena {
        figures: ArenaValue {
            limit_reached: 1,
            ..base.figures
        },
        ..base.clone()
    });
    assert_eq!(texts(&limited), ["its limit refused 1 request"]);
    let absurd = fixture::made!(Arena {
        figures: ArenaValue {
            most_occupied_bytes: u64::MAX,
            most_chunks: u64::MAX,
            ..base.figures
        },
        ..base.clone()
    });
    assert!(texts(&absurd).is_empty());
}

#[test]
fn a_capacity_for_the_largest_of_many_small_instances_says_what_it_would_waste() {
    let many = fixture::made!(Arena {
        figures: ArenaValue {
            made: 1_000,
            dropped: 1_000,
            most_chunks: 4,
            most_occupied_bytes: 1 << 20,
            total_allocated_bytes: 1_000 * 4_096,
            ..ArenaValue::default()
        },
    });
    assert_eq!(
        texts(&many),
        [
            "the largest of 1,000 instances grew 3 times: with_capacity(1.1 MiB) would have been one chunk, but the mean \
          instance takes only 4.0 KiB: reuse instances with reset() instead"
        ]
    );
}

#[test]
fn a_mean_instance_of_a_quarter_of_the_largest_is_no_waste() {
    let many = |mean: u64| {
        fixture::made!(Arena {
            figures: ArenaValue {
                made: 10,
                dropped: 10,
                most_chunks: 2,
                most_occupied_bytes: 4_096 - 16,
                total_allocated_bytes: 10 * mean,
                ..ArenaValue::default()
            },
        })
    };
    let largest =
        "the largest of 10 instances grew once: with_capacity(4.0 KiB) would have been one chunk";
    assert_eq!(texts(&many(1_024)), [largest]);
    assert_eq!(
        texts(&many(1_023)),
        [format!(
            "{largest}, but the mean instance takes only 1023 B: reuse instances with reset() instead"
        )]
    );
    // One instance is not compared with itself.
    let one = fixture::made!(Arena {
        figures: ArenaValue {
            made: 1,
            dropped: 1,
            total_allocated_bytes: 100,
            ..many(0).figures
        },
        ..many(0)
    });
    assert_eq!(
        texts(&one),
        ["grew once: with_capacity(4.0 KiB) would have been one chunk"]
    );
}

#[test]
fn a_chunk_used_by_half_or_small_is_not_too_large() {
    let of = |took: u64, used: u64| {
        let arena = fixture::made!(Arena {
            figures: ArenaValue {
                made: 1,
                dropped: 1,
                most_chunks: 1,
                most_occupied_bytes: used,
                most_instance_bytes: took,
                ..ArenaValue::default()
            },
        });
        texts(&arena)
    };
    assert_eq!(
        of(64 << 10, 32 << 10),
        [
            "took 64.0 KiB and never used more than 32.0 KiB: with_capacity(32.0 KiB) would have been enough"
        ]
    );
    assert!(of(64 << 10, (32 << 10) + 1).is_empty());
    assert!(of((64 << 10) - 1, 1).is_empty());
}

#[test]
fn of_values_that_are_never_dropped_three_types_are_named() {
    let of = |types: &[(&str, u64)]| {
        let values = |(name, count): &(&str, u64)| {
            fixture::made!(ArenaValues {
                type_name: (*name).to_owned(),
                count: *count,
            })
        };
        let arena = fixture::made!(Arena {
            values: types.iter().map(values).collect(),
        });
        texts(&arena)
    };
    let said = |named: &str| {
        [format!(
            "drop never runs for values put in through its handle: {named}. What they own leaks: put in text and slices \
             instead"
        )]
    };
    assert_eq!(of(&[("A", 0)]), [""; 0]);
    assert_eq!(
        of(&[("A", 1), ("B", 3), ("C", 2)]),
        said("3 B, 2 C and 1 A")
    );
    let four = [("A", 1), ("B", 3), ("C", 2), ("D", 4)];
    assert_eq!(of(&four), said("4 D, 3 B, 2 C and 1 more type"));
    let five = [("A", 1), ("B", 3), ("C", 2), ("D", 4), ("E", 5)];
    assert_eq!(of(&five), said("5 E, 4 D, 3 B and 2 more types"));
}

#[test]
fn every_waste_is_advised_with_its_place() {
    let profile = fixture::city_arenas();
    insta::with_settings!({ description => "if the change is right, refresh with: cargo bless" }, {
        let said: Vec<(String, Vec<String>)> = profile
            .arenas()
            .iter()
            .map(|arena| (arena.name.clone(), texts(arena)))
            .collect();
        insta::assert_debug_snapshot!(said);
    });
}

#[test]
fn what_growth_left_behind_is_told_of_arenas_that_are_gone_too() {
    let arena = |allocated_bytes, mut row: ArenaRow| {
        (row.inside.total_bytes, row.inside.copied_bytes) = (500, 500);
        fixture::made!(Arena {
            figures: ArenaValue {
                allocated_bytes,
                unused_tail_bytes: allocated_bytes,
                resets: 1,
                dropped_allocated_bytes: 1_000,
                dropped_unused_tail_bytes: 1_000,
                copied_bytes: 500,
                total_allocated_bytes: 1_000,
                ..ArenaValue::default()
            },
            rows: vec![row],
        })
    };
    let gone = "50.0 % of the chunks ever taken abandoned by growth (500 B";
    let rest = "): reserve first, or collect in place";
    // Outside all fields, there is no field to name.
    let outside = ArenaRow::default();
    assert_eq!(texts(&arena(0, outside)), [format!("{gone}{rest}")]);
    let of_field = fixture::city_arenas().arenas()[0].rows[0];
    assert_eq!(
        texts(&arena(0, of_field)),
        [format!("{gone}, most at City.name{rest}")]
    );
    assert_eq!(
        texts(&arena(1, outside)),
        [""; 0],
        "a live one abandoned nothing"
    );
}

#[test]
fn a_killed_program_did_not_forget_to_drop() {
    let profile = fixture::city_arenas();
    let fields = profile.fields();
    let index = arena(&profile, "index");
    let kinds = |state| {
        advice(index, fields, state)
            .into_iter()
            .map(|advice| advice.kind)
            .collect::<Vec<_>>()
    };
    assert!(kinds(State::Finished).contains(&AdviceKind::NeverDropped));
    for state in [State::Running, State::Ended, State::Unknown] {
        assert!(!kinds(state).contains(&AdviceKind::NeverDropped));
    }
}

#[test]
fn the_history_adds_up_live_instances_and_forgets_dropped_ones() {
    let moment = |what, instance, time_ns, allocated_bytes, occupied_bytes| {
        fixture::made!(ArenaMoment {
            what,
            instance,
            time_ns,
            allocated_bytes,
            occupied_bytes,
            site: None,
        })
    };
    let arena = fixture::made!(Arena {
        history: vec![
            moment(ArenaEvent::Chunk, 1, 10, 100, 0),
            // Written late, by another thread.
            moment(ArenaEvent::Drop, 2, 40, 0, 90),
            moment(ArenaEvent::Chunk, 2, 20, 200, 0),
            moment(ArenaEvent::Reset, 1, 30, 100, 60),
        ],
    });
    let seen: Vec<(u64, u64, u64)> = points(&arena)
        .iter()
        .map(|point| (point.time_ns, point.allocated_bytes, point.occupied_bytes))
        .collect();
    assert_eq!(
        seen,
        [
            (10, 0, 0),
            (10, 100, 0),
            (20, 100, 0),
            (20, 300, 0),
            (30, 300, 60),
            (30, 300, 0),
            (40, 300, 90),
            (40, 100, 0)
        ]
    );
}

#[test]
fn an_arena_that_is_gone_shows_what_it_was_before() {
    let profile = fixture::city_arenas();
    let point = last_full(arena(&profile, "request")).expect("a point");
    assert_eq!(
        (point.allocated_bytes, point.occupied_bytes),
        (65_536, 13_000)
    );
    assert_eq!(last_full(arena(&profile, "cities")), None);
}

#[test]
fn sites_of_chunks_know_their_arena() {
    let profile = fixture::city_arenas();
    let sites = profile.chunk_sites();
    assert_eq!(sites.len(), 2);
    let named: Vec<String> = (0..profile.sites().len())
        .filter_map(|site| sites.get(&site))
        .map(|arenas| chunk_label(&profile, arenas))
        .collect();
    assert_eq!(named, ["chunk of arena cities", "chunk of arena request"]);
    assert_eq!(
        chunk_label(&profile, &[0, 1]),
        "chunk of arenas cities and request"
    );
}

#[test]
fn rows_of_a_damaged_recording_are_counted_somewhere() {
    let mut profile = fixture::city_arenas();
    let lost = fixture::made!(ArenaRow {
        scope: ScopeId(u32::MAX),
        inside: fixture::made!(ArenaFigures {
            total_bytes: u64::MAX,
            total_blocks: u64::MAX,
            live_bytes: u64::MAX,
            live_blocks: 1,
        }),
    });
    profile.parts().arenas[0].rows.push(lost);
    profile.parts().arenas[0]
        .history
        .push(fixture::made!(ArenaMoment {
            site: Some(usize::MAX),
        }));
    for scope in profile.parts().scopes {
        scope.parent = u32::MAX;
        scope.value_type = Some(TypeId(u32::MAX));
    }
    let fields = profile.fields();
    assert!(by_type(&profile, &profile.arenas()[0])[0].0.is_none());
    let behind_the_last = TypeId(profile.types().len() as u32);
    let mut other = profile.clone();
    for scope in other.parts().scopes {
        scope.value_type = Some(behind_the_last);
    }
    let types = by_type(&other, &other.arenas()[0]);
    assert!(types.iter().all(|(id, _)| id.is_none()));
    assert!(
        by_field(fields, &profile.arenas()[0])
            .iter()
            .any(|(field, _)| *field == 0)
    );
    assert_eq!(unscoped(&profile.arenas()[0]).total_bytes, 0);
    let _ = (points(&profile.arenas()[0]), profile.leaks());
}
