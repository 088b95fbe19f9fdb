//! Phases and the sites in them.

use heapglass_fixture::Builder;
use heapglass_profiler::profile::{ScopeId, ScopeKind};

#[test]
fn fields_between_phases_are_not_phases_and_phases_of_one_path_are_one() {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 0, 0);
    let root = b.field(load, ScopeKind::Root, "", ("a::Fleet", 8), 1);
    let name = b.field(root, ScopeKind::Field, "name", ("", 0), 1);
    let inside = b.scope(name.0, "decode", 0, 0);
    let again = b.scope(load.0, "decode", 0, 0);
    let profile = b.build();
    let phases = profile.phases();
    assert_eq!(phases.phase_of(name), load);
    assert_eq!(phases.phase_of(again), inside);
    assert_eq!(phases.path(&profile, again), "load > decode");
    assert_eq!(phases.path(&profile, root), "load");
    assert_eq!(phases.path(&profile, ScopeId(77)), "(no phase)");
}

#[test]
fn deep_phases_are_named_by_their_innermost_names() {
    let mut b = Builder::new();
    let mut scopes = vec![ScopeId(0)];
    for depth in 1..=33 {
        let parent = scopes[depth - 1].0;
        scopes.push(b.scope(parent, &depth.to_string(), 0, 0));
    }
    let profile = b.build();
    let phases = profile.phases();
    let path = |depth: usize| phases.path(&profile, scopes[depth]);
    assert!(path(32).starts_with("1 > 2 > ") && path(32).ends_with(" > 31 > 32"));
    assert!(path(33).starts_with("... > 2 > 3 > ") && path(33).ends_with(" > 32 > 33"));
    let around: Vec<u32> = phases
        .around(scopes[3])
        .iter()
        .map(|scope| scope.0)
        .collect();
    assert_eq!(around, [1, 2, 3]);
}

#[test]
fn a_scope_that_says_it_is_its_own_parent_hangs_at_the_root() {
    let mut b = Builder::new();
    b.scope(0, "a", 0, 0);
    let own = b.scope(2, "b", 0, 0);
    let profile = b.build();
    let phases = profile.phases();
    assert_eq!(
        (phases.parent(own), phases.phase_of(own)),
        (ScopeId(0), own)
    );
    assert_eq!(phases.path(&profile, own), "b");
}

#[test]
fn a_circle_of_parents_ends_at_the_root() {
    let mut b = Builder::new();
    let a = b.scope(2, "a", 0, 0);
    let inner = b.scope(1, "b", 0, 0);
    let profile = b.build();
    let phases = profile.phases();
    assert_eq!(phases.path(&profile, inner), "a > b");
    assert_eq!(phases.parent(a), ScopeId(0));
}
