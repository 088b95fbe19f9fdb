//! Tests fields with small trees of scopes: paths, flags, sums.

use heapglass_fixture::{Builder, figures};
use heapglass_profiler::fields::*;
use heapglass_profiler::profile::{Figures, Profile, ScopeId, ScopeKind};

fn paths(fields: &Fields) -> Vec<&str> {
    fields
        .nodes()
        .iter()
        .map(|node| node.path.as_str())
        .collect()
}

#[test]
fn a_profile_without_places_in_data_has_no_fields() {
    let mut b = Builder::new();
    b.scope(0, "load", 0, 0);
    assert!(b.clone().build().fields().is_empty());
    b.field(ScopeId(0), ScopeKind::Root, "", ("a::Fleet", 8), 1);
    assert!(!b.clone().build().fields().is_empty());
    assert!(Profile::default().fields().is_empty());
}

#[test]
fn scopes_of_one_path_are_one_field_with_the_sum_of_their_figures() {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 0, 0);
    let again = b.scope(0, "again", 0, 0);
    let roots = [load, again].map(|phase| b.field(phase, ScopeKind::Root, "", ("a::Fleet", 8), 2));
    let names = roots.map(|root| b.field(root, ScopeKind::Field, "name", ("String", 24), 3));
    b.parts().scopes[names[1].0 as usize].recursive = true;
    b.parts().scopes[roots[0].0 as usize].folded = true;
    for (at, scope) in [roots[0], roots[1], names[0], names[1], load]
        .into_iter()
        .enumerate()
    {
        b.site(&[], scope, figures(8 << at, 10, 1));
    }
    for (scope, retained) in [(roots[0], 5), (roots[1], 7)] {
        b.parts().scopes[scope.0 as usize].stayed_bytes = Some(retained);
    }
    let profile = b.build();
    let fields = profile.fields();
    assert_eq!(paths(fields), [NO_FIELD, "Fleet", "Fleet.name"]);
    let [none, root, name] = fields.nodes() else {
        panic!("three fields");
    };
    assert_eq!((root.values, root.inline_bytes), (4, 32));
    assert_eq!((name.values, name.inline_bytes), (6, 144));
    assert_eq!((root.recursive, root.folded), (false, true));
    assert_eq!((name.recursive, name.folded), (true, false));
    assert_eq!(
        (root.stayed_bytes, root.parent, name.parent),
        (Some(12), 0, 1)
    );
    let sum = |sites: &[usize]| {
        let mut sum = Figures::default();
        let sites = sites
            .iter()
            .map(|&site| profile.sites()[site].figures.clone());
        sites.for_each(|figures| sum.add(&figures));
        sum
    };
    assert_eq!((root.own.clone(), &root.sites), (sum(&[0, 1]), &vec![0, 1]));
    assert_eq!(
        (name.own.clone(), name.with_inner.clone()),
        (sum(&[2, 3]), sum(&[2, 3]))
    );
    assert_eq!(root.with_inner, sum(&[0, 1, 2, 3]));
    // Roots are not inside "(no field)".
    assert_eq!(
        (none.own.clone(), none.with_inner.clone()),
        (sum(&[4]), sum(&[4]))
    );
    let of_scope = [load, roots[1], names[0], ScopeId(99)].map(|scope| fields.field_of(scope));
    assert_eq!(of_scope, [0, 1, 2, 0]);
}

#[test]
fn roots_of_one_short_name_are_called_by_their_full_one_and_others_are_not() {
    let mut b = Builder::new();
    for (full, kind) in [
        ("a::Fleet", ScopeKind::Root),
        ("b::Fleet", ScopeKind::Root),
        ("a::Port", ScopeKind::Root),
        // Not a root, so the root `Port` needs no full name.
        ("b::Port", ScopeKind::Element),
    ] {
        b.field(ScopeId(0), kind, "", (full, 8), 1);
    }
    let profile = b.build();
    let fields = profile.fields();
    assert_eq!(paths(fields)[1..4], ["a::Fleet", "b::Fleet", "Port"]);
}

#[test]
fn a_path_of_more_than_4096_bytes_goes_on_with_its_last_step() {
    let mut b = Builder::new();
    let mut at = b.field(ScopeId(0), ScopeKind::Root, "", ("R", 8), 1);
    for name in ["n".repeat(4094).as_str(), "x", "y", "z"] {
        at = b.field(at, ScopeKind::Field, name, ("", 0), 1);
    }
    let profile = b.build();
    let fields = profile.fields();
    let lengths: Vec<usize> = fields.nodes().iter().map(|node| node.path.len()).collect();
    // 4,096 bytes are not too many, 4,098 are.
    assert_eq!(lengths[1..], [1, 4096, 4098, 5, 7]);
    assert_eq!(paths(fields)[4..], ["....y", "....y.z"]);
}
