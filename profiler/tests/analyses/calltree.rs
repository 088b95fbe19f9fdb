//! Tests the tree against the arithmetic, with hostile shapes, and the folded format as inferno
//! reads it.

use heapglass_fixture::{self as fixture, Builder, figures};
use heapglass_profiler::calltree::*;
use heapglass_profiler::profile::{
    Arena, ArenaFigures, FrameId, Frames, Label, MarkKind, Measure, Origin, Profile, ScopeId,
    StackMarks, TypeId,
};

fn folded(tree: &CallTree, profile: &Profile, measure: Measure) -> String {
    let mut out = Vec::new();
    write_folded(tree, profile, measure, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("names are text")
}

fn names(tree: &CallTree, profile: &Profile, ids: &[NodeId]) -> Vec<String> {
    ids.iter()
        .map(|&id| tree.name(id, profile).into_owned())
        .collect()
}

fn chain(b: &mut Builder, functions: &[&str]) -> Vec<FrameId> {
    let functions: Vec<_> = functions
        .iter()
        .map(|name| b.function(name, "krate", Origin::User))
        .collect();
    functions
        .into_iter()
        .map(|function| b.frame(function, Some("src/lib.rs"), 1))
        .collect()
}

#[test]
fn the_root_holds_the_totals_whatever_the_options() {
    let profile = fixture::profile();
    for bits in 0..8 {
        let options = CallTreeOptions {
            inverted: bits & 1 != 0,
            frames: if bits & 2 != 0 {
                Frames::All
            } else {
                Frames::Own
            },
            scopes: bits & 4 != 0,
            within: None,
            ..CallTreeOptions::default()
        };
        let tree = CallTree::build(&profile, &options);
        assert_eq!(*tree.total(NodeId::ROOT), *profile.totals(), "{options:?}");
        for id in tree.ids() {
            let mut sum = tree.own(id).clone();
            for &child in tree.children(id) {
                assert_eq!(tree.node(child).parent, Some(id));
                assert!(child > id, "parents come before children");
                sum.add(tree.total(child));
            }
            assert_eq!(sum, *tree.total(id), "own plus children of {id:?}");
        }
        assert!((0..profile.sites().len()).all(|site| tree.leaf(site).is_some()));
    }
}

#[test]
fn a_tree_is_empty_when_nothing_is_below_the_root() {
    let empty = CallTree::build(&Profile::default(), &CallTreeOptions::default());
    assert_eq!((empty.len(), empty.is_empty()), (1, true));
    let mut b = Builder::new();
    let stack = chain(&mut b, &["krate::f"]);
    b.site(&stack, ScopeId(0), figures(1, 8, 1));
    let tree = CallTree::build(&b.build(), &CallTreeOptions::default());
    assert_eq!((tree.len(), tree.is_empty()), (2, false));
}

#[test]
fn within_a_scope_are_its_sites_and_those_of_scopes_inside_it() {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 0, 0);
    let root = b.field(
        load,
        heapglass_profiler::profile::ScopeKind::Root,
        "",
        ("a::Fleet", 8),
        1,
    );
    let name = b.field(
        root,
        heapglass_profiler::profile::ScopeKind::Field,
        "name",
        ("String", 24),
        1,
    );
    let other = b.scope(0, "other", 0, 0);
    let stack = chain(&mut b, &["krate::f"]);
    for (blocks, scope) in [
        (1, load),
        (2, root),
        (4, name),
        (8, other),
        (16, ScopeId(0)),
    ] {
        b.site(&stack, scope, figures(blocks, 1, 0));
    }
    let profile = b.build();
    let blocks = |within| {
        let options = CallTreeOptions {
            within: Some(within),
            ..CallTreeOptions::default()
        };
        let tree = CallTree::build(&profile, &options);
        tree.total(NodeId::ROOT).total_blocks
    };
    let found = [ScopeId(0), load, root, name, other].map(blocks);
    assert_eq!(found, [31, 7, 6, 4, 8]);
}

#[test]
fn a_function_without_a_name_is_called_unnamed() {
    let mut b = Builder::new();
    let stack = chain(&mut b, &["krate::f"]);
    b.parts().functions[0].name.clear();
    b.parts().functions[0].short.clear();
    b.site(&stack, ScopeId(0), figures(1, 8, 1));
    let profile = b.build();
    let tree = CallTree::build(&profile, &CallTreeOptions::default());
    let below = tree.children(NodeId::ROOT);
    assert_eq!(names(&tree, &profile, below), ["[unnamed]"]);
}

#[test]
fn lines_of_one_function_are_one_node_that_says_so() {
    let mut b = Builder::new();
    let f = b.function("krate::f", "krate", Origin::User);
    let (one, two) = (
        b.frame(f, Some("src/lib.rs"), 1),
        b.frame(f, Some("src/lib.rs"), 2),
    );
    b.site(&[one], ScopeId(0), figures(1, 10, 1));
    let profile = b.clone().build();
    let tree = CallTree::build(&profile, &CallTreeOptions::default());
    assert!(!tree.node(NodeId(1)).several_places);
    b.site(&[two], ScopeId(0), figures(2, 10, 2));
    let profile = b.build();
    let tree = CallTree::build(&profile, &CallTreeOptions::default());
    assert_eq!(tree.len(), 2);
    assert_eq!(tree.total(NodeId(1)).live_bytes, 30);
    assert!(tree.node(NodeId(1)).several_places);
}

#[test]
fn children_are_sorted_by_the_measure_and_ties_by_name() {
    let mut b = Builder::new();
    for (name, blocks) in [("c", 5), ("a", 5), ("d", 9), ("b", 5)] {
        let stack = chain(&mut b, &[name]);
        b.site(&stack, ScopeId(0), figures(blocks, 8, blocks));
    }
    let profile = b.build();
    let mut tree = CallTree::build(&profile, &CallTreeOptions::default());
    assert_eq!(
        names(&tree, &profile, tree.children(NodeId::ROOT)),
        ["a", "b", "c", "d"]
    );
    tree.sort(Measure::Live);
    assert_eq!(
        names(&tree, &profile, tree.children(NodeId::ROOT)),
        ["d", "a", "b", "c"]
    );
    tree.sort(Measure::Temporary);
    assert_eq!(
        names(&tree, &profile, tree.children(NodeId::ROOT)),
        ["a", "b", "c", "d"]
    );
}

#[test]
fn inverted_trees_begin_at_the_allocation() {
    let mut b = Builder::new();
    let one = chain(&mut b, &["main", "load", "push"]);
    let two = chain(&mut b, &["main", "index", "push"]);
    b.site(&one, ScopeId(0), figures(1, 10, 1));
    b.site(&two, ScopeId(0), figures(1, 5, 1));
    let profile = b.build();
    let tree = CallTree::build(
        &profile,
        &CallTreeOptions {
            inverted: true,
            ..CallTreeOptions::default()
        },
    );
    assert_eq!(
        folded(&tree, &profile, Measure::Live),
        "push;index;main 5\npush;load;main 10\n"
    );
    assert_eq!(
        names(&tree, &profile, &tree.path(tree.leaf(1).expect("taken in"))),
        ["push", "index", "main"]
    );
}

#[test]
fn phases_can_be_the_outermost_frames_and_a_filter() {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 0, 0);
    let parse = b.scope(load.0, "parse", 0, 0);
    let stack = chain(&mut b, &["main"]);
    b.site(&stack, parse, figures(1, 10, 1));
    b.site(&stack, load, figures(1, 5, 1));
    b.site(&stack, ScopeId(0), figures(1, 2, 1));
    let profile = b.build();
    let with = |options: CallTreeOptions| {
        folded(
            &CallTree::build(&profile, &options),
            &profile,
            Measure::Live,
        )
    };
    assert_eq!(with(CallTreeOptions::default()), "main 17\n");
    let scopes = CallTreeOptions {
        scopes: true,
        ..CallTreeOptions::default()
    };
    assert_eq!(
        with(scopes),
        "[load];[parse];main 10\n[load];main 5\nmain 2\n"
    );
    assert_eq!(
        with(CallTreeOptions {
            within: Some(load),
            ..CallTreeOptions::default()
        }),
        "main 15\n"
    );
    assert_eq!(
        with(CallTreeOptions {
            within: Some(parse),
            ..CallTreeOptions::default()
        }),
        "main 10\n"
    );
}

#[test]
fn marks_and_missing_stacks_are_shown() {
    let mut b = Builder::new();
    let stack = chain(&mut b, &["f"]);
    b.site(&stack, ScopeId(0), figures(1, 1, 1)).marks = fixture::made!(StackMarks { cut: true });
    b.site(&stack, ScopeId(0), figures(1, 2, 1)).marks = fixture::made!(StackMarks { deep: true });
    b.site(&stack, ScopeId(0), figures(1, 4, 1)).marks =
        fixture::made!(StackMarks { foreign: true });
    b.site(&[], ScopeId(0), figures(1, 8, 1));
    let profile = b.build();
    let tree = CallTree::build(&profile, &CallTreeOptions::default());
    assert_eq!(
        folded(&tree, &profile, Measure::Live),
        "[deep];f 2\n[foreign stack];f 4\n[no stack] 8\n[truncated];f 1\n"
    );
}

#[test]
fn folded_stacks_add_up_to_the_totals_for_every_measure() {
    let profile = fixture::profile();
    for inverted in [false, true] {
        let tree = CallTree::build(
            &profile,
            &CallTreeOptions {
                inverted,
                scopes: true,
                ..CallTreeOptions::default()
            },
        );
        for measure in Measure::COUNTED {
            let sum: u64 = folded(&tree, &profile, measure)
                .lines()
                .map(|line| {
                    line.rsplit(' ')
                        .next()
                        .and_then(|n| n.parse::<u64>().ok())
                        .expect("a count")
                })
                .sum();
            assert_eq!(sum, measure.of(profile.totals()), "{}", measure.name());
        }
    }
}

#[test]
fn hostile_names_cannot_break_a_folded_line() {
    let mut b = Builder::new();
    let stack = chain(
        &mut b,
        &["# [u8; 4]\nx 99", " <A as B>::f 12", "", "operator new"],
    );
    b.site(&stack, ScopeId(0), figures(1, 7, 1));
    let profile = b.build();
    let text = folded(
        &CallTree::build(&profile, &CallTreeOptions::default()),
        &profile,
        Measure::Live,
    );
    assert_eq!(
        text,
        "#_[u8: 4]\\u{a}x_99;<A as B>::f_12;[unnamed];operator new 7\n"
    );
}

#[test]
fn ten_thousand_frames_need_no_deep_stack() {
    let mut b = Builder::new();
    let (even, odd) = (chain(&mut b, &["even"])[0], chain(&mut b, &["odd"])[0]);
    let stack: Vec<FrameId> = (0..10_000)
        .map(|i| if i % 2 == 0 { even } else { odd })
        .collect();
    b.site(&stack, ScopeId(0), figures(1, 7, 1));
    b.site(&stack[..9_999], ScopeId(0), figures(1, 5, 1));
    let profile = b.build();
    let work = move || {
        let mut tree = CallTree::build(
            &profile,
            &CallTreeOptions {
                frames: Frames::All,
                ..CallTreeOptions::default()
            },
        );
        tree.sort(Measure::Peak);
        assert_eq!(tree.len(), 10_001);
        assert_eq!(tree.path(NodeId(10_000)).len(), 10_000);
        assert_eq!(folded(&tree, &profile, Measure::Live).lines().count(), 2);
    };
    // One call per frame does not fit into a stack this small.
    std::thread::Builder::new()
        .stack_size(128 * 1024)
        .spawn(work)
        .expect("a thread")
        .join()
        .expect("no overflow");
}

#[test]
fn scopes_that_point_in_a_circle_end() {
    let mut b = Builder::new();
    let a = b.scope(2, "a", 0, 0);
    b.scope(1, "b", 0, 0);
    let alone = b.scope(3, "its own parent", 0, 0);
    let stack = chain(&mut b, &["f"]);
    b.site(&stack, a, figures(1, 1, 1));
    b.site(&stack, alone, figures(1, 2, 1));
    let profile = b.build();
    let tree = CallTree::build(
        &profile,
        &CallTreeOptions {
            scopes: true,
            ..CallTreeOptions::default()
        },
    );
    assert_eq!(*tree.total(NodeId::ROOT), *profile.totals());
    let options = CallTreeOptions {
        within: Some(a),
        ..CallTreeOptions::default()
    };
    let tree = CallTree::build(&profile, &options);
    assert_eq!(tree.total(NodeId::ROOT).total_bytes, 1);
}

#[test]
fn trees_by_field_and_by_type_keep_every_site_and_its_figures() {
    for profile in [fixture::fleet(), fixture::profile()] {
        for levels in [Levels::Field, Levels::Type] {
            let tree = tree_by(&profile, levels);
            assert_eq!(*tree.total(NodeId::ROOT), *profile.totals());
            assert!((0..profile.sites().len()).all(|site| tree.leaf(site).is_some()));
        }
    }
}

#[test]
fn a_field_of_the_tree_holds_what_its_row_holds() {
    let profile = fixture::fleet();
    let tree = tree_by(&profile, Levels::Field);
    for (number, field) in (0..).zip(profile.fields().nodes()) {
        let found = tree
            .ids()
            .filter(|&id| tree.node(id).label == Label::Field(number));
        let sum: u64 = found.map(|id| tree.total(id).total_bytes).sum();
        assert_eq!(sum, field.with_inner.total_bytes, "{}", field.path);
    }
}

#[test]
fn a_function_of_the_tree_by_type_keeps_its_place_in_the_source() {
    let profile = fixture::fleet();
    let tree = tree_by(&profile, Levels::Type);
    for (index, site) in profile.sites().iter().enumerate() {
        let leaf = tree.node(tree.leaf(index).expect("every site"));
        let charged = site.owner;
        assert!(leaf.frame == charged || leaf.several_places, "site {index}");
    }
}

#[test]
fn a_tree_of_arenas_holds_all_used_and_all_allocated_bytes() {
    let mut profile = fixture::city_arenas();
    // No row says where 700 of the bytes in use were allocated.
    let scratch = &mut profile.parts().arenas[2];
    scratch.figures.used_bytes += 700;
    scratch.figures.allocated_bytes += 700;
    let arenas = profile.arenas();
    let sum = |of: fn(&Arena) -> u64| arenas.iter().map(of).sum::<u64>();
    let of_rows = |of: fn(&ArenaFigures) -> u64| {
        let rows = arenas.iter().flat_map(|arena| &arena.rows);
        rows.map(|row| of(&row.inside)).sum::<u64>()
    };
    let build = |measure| {
        let options = CallTreeOptions {
            levels: Levels::Arena,
            measure,
            ..CallTreeOptions::default()
        };
        CallTree::build(&profile, &options)
    };
    let tree = build(Measure::Total);
    let total = tree.total(NodeId::ROOT);
    let used = sum(|arena| arena.figures.total_used_bytes);
    assert_eq!(
        total.total_bytes,
        used + of_rows(|inside| inside.bypassed_bytes)
    );
    assert_eq!(
        total.total_blocks,
        sum(|arena| arena.figures.total_used_blocks),
        "with those of no row"
    );
    for id in tree.ids() {
        assert!(
            tree.total(id).total_bytes > 0,
            "{}",
            tree.name(id, &profile)
        );
    }
    let tree = build(Measure::Live);
    let live = tree.total(NodeId::ROOT);
    assert_eq!(live.live_bytes, sum(|arena| arena.figures.allocated_bytes));
    assert_eq!(live.live_blocks, of_rows(|inside| inside.live_blocks));
    let without_row = |index| {
        let arena = tree
            .children(NodeId::ROOT)
            .iter()
            .copied()
            .find(|&id| tree.node(id).label == Label::Arena(index));
        let below = tree.children(arena.expect("an arena")).iter();
        let found: Vec<u64> = below
            .filter(|&&id| tree.node(id).label == Label::Mark(MarkKind::NoRow))
            .map(|&id| tree.total(id).live_bytes)
            .collect();
        found
    };
    assert_eq!((without_row(0), without_row(2)), (vec![], vec![700]));
}

#[test]
fn labels_know_the_type_they_are_of() {
    let profile = fixture::fleet();
    let fields = profile.fields().nodes();
    let (number, typed) = (0..)
        .zip(fields)
        .find(|(_, field)| field.value_type.is_some_and(|id| id.0 > 0))
        .expect("a field with a type");
    let id = typed.value_type;
    for (label, expected) in [
        (Label::Field(number), id),
        (Label::Path(number), id),
        (Label::Field(u32::MAX), None),
        (Label::Type(Some(TypeId(3))), Some(TypeId(3))),
        (Label::Type(None), None),
        (Label::Building(TypeId(4)), Some(TypeId(4))),
        (Label::Root, None),
        (Label::Arena(1), None),
    ] {
        assert_eq!(label.type_id(&profile), expected, "{label:?}");
    }
}

fn tree_by(profile: &Profile, levels: Levels) -> CallTree {
    let options = CallTreeOptions {
        levels,
        ..CallTreeOptions::default()
    };
    let tree = CallTree::build(profile, &options);
    assert_eq!(tree.levels(), levels);
    tree
}
