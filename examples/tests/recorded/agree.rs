//! Two independent ways to find a type: the scope of `Profiled<T>`, and the frames of the stack
//! (debug information). On three programs they agree to the byte for each type. If they differ,
//! both are true, and the table below explains the difference.

use crate::common::Target;
use heapglass_profiler::profile::{Profile, Site, TypeId};
use std::collections::{BTreeMap, BTreeSet};

/// The type of the place, the container on the stack, and the reason for the difference.
const EXPLAINED: &[(&str, &str, &str)] = &[
    (
        "Option<String>",
        "String",
        "an option is no block: its text is",
    ),
    (
        "Option<Box<Target>>",
        "Box<Target>",
        "an option is no block: its box is",
    ),
    (
        "Option<Box<Notice>>",
        "Box<Notice>",
        "an option is no block: its box is",
    ),
    (
        "Box<str>",
        "String",
        "serde reads a text and boxes it without a copy",
    ),
    (
        "Arc<String>",
        "String",
        "serde reads the text, boxes it, then shares it: three blocks",
    ),
    (
        "Arc<String>",
        "Box<String>",
        "serde reads the text, boxes it, then shares it: three blocks",
    ),
];

fn name(profile: &Profile, id: Option<TypeId>) -> &str {
    id.map_or("(none)", |id| &profile.type_name(id).short)
}

/// Returns the type by the scope, and the type by the stack.
fn both<'p>(profile: &'p Profile, site: &Site) -> (&'p str, &'p str) {
    let scope = &profile.scopes()[site.scope.0 as usize];
    let container = site.contents.map(|contents| contents.container);
    (name(profile, scope.value_type), name(profile, container))
}

type Sums<'p> = BTreeMap<&'p str, (u64, u64)>;

/// Reads with `program`. Returns the pairs of names that the table explains.
fn held_together(program: &str) -> BTreeSet<(String, String)> {
    let mut target = Target::new(env!("CARGO_BIN_EXE_fields"), &["agree", program, "120"]);
    target.succeed();
    let options = heapglass_profiler::OpenOptions::default();
    let profile = heapglass_profiler::open(&target.recording(), &options, &|_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let fields = profile.fields();
    let (mut by_scope, mut by_stack) = (Sums::new(), Sums::new());
    let mut explained = BTreeSet::new();
    let mut bytes_explained = 0;
    for site in profile.sites() {
        if fields.field_of(site.scope) == 0 {
            continue;
        }
        let (bytes, blocks) = (site.figures.total_bytes, site.figures.total_blocks);
        let (scope, mut stack) = both(&profile, site);
        if scope != stack {
            let known = EXPLAINED
                .iter()
                .any(|entry| (entry.0, entry.1) == (scope, stack));
            assert!(
                known,
                "{program}: {bytes} bytes are in the place of a {scope}, and the stack says {stack}:\n{}",
                frames_of(&profile, site)
            );
            explained.insert((scope.to_owned(), stack.to_owned()));
            bytes_explained += bytes;
            stack = scope;
        }
        for (sums, name) in [(&mut by_scope, scope), (&mut by_stack, stack)] {
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + bytes, sum.1 + blocks);
        }
    }
    assert_eq!(by_scope, by_stack, "{program}");
    let all: u64 = by_scope.values().map(|(bytes, _)| bytes).sum();
    println!("{program}: {all} bytes, {bytes_explained} of them explained: {by_scope:#?}");
    // Most bytes must agree without an explanation.
    assert!(
        all > 10_000 && bytes_explained * 4 < all,
        "{program}: {bytes_explained} of {all}"
    );
    explained
}

fn frames_of(profile: &Profile, site: &Site) -> String {
    let frames = profile.innermost_first(site).take(30);
    let names = frames.map(|frame| format!("  {}\n", profile.function(frame).name));
    names.collect()
}

#[test]
fn scopes_and_stacks_agree_to_the_byte_on_three_programs() {
    let mut explained = held_together("json");
    explained.extend(held_together("postcard"));
    explained.extend(held_together("rmp"));
    for (scope, stack, _) in EXPLAINED {
        let used = explained.contains(&((*scope).to_owned(), (*stack).to_owned()));
        assert!(
            used,
            "nothing in the place of a {scope} is a {stack} on the stack: the table has a line too many"
        );
    }
}
