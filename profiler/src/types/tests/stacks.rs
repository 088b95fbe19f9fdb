//! Stacks written by hand: what no program here comes to, and what must not be named.

use crate::profile::{Function, FunctionId, Origin};
use crate::types::{StackFrame, Stacks, Told, normal};

/// A frame of a stack: `i` inlined, `c` concrete; the origin's letter; the name.
fn told(stack: &[(&str, &str)]) -> Option<Told> {
    let functions: Vec<(Function, bool, bool)> = stack
        .iter()
        .map(|(how, name)| {
            let (origin, krate) = match how.get(1..2) {
                Some("s") => (Origin::Std, "std"),
                Some("d") => (
                    Origin::Dependency,
                    name.split("::").next().unwrap_or_default(),
                ),
                Some("n") => (Origin::Native, "libc.so.6"),
                _ => (Origin::User, "app"),
            };
            let function = Function {
                name: (*name).to_owned(),
                short: String::new(),
                krate: krate.trim_start_matches('<').to_owned(),
                origin,
            };
            (function, how.starts_with('i'), !how.ends_with('?'))
        })
        .collect();
    let frames: Vec<StackFrame<'_>> = functions
        .iter()
        .zip(0..)
        .map(|((function, inlined, has_file), id)| StackFrame {
            id: FunctionId(id),
            function,
            inlined: *inlined,
            has_file: *has_file,
        })
        .collect();
    Stacks::default().contents(&frames)
}

fn container(stack: &[(&str, &str)]) -> Option<String> {
    told(stack).map(|told| normal(&told.container))
}

const HOOK: [(&str, &str); 4] = [
    ("cd", "tracking_alloc::hook::alloc"),
    (
        "id",
        "<tracking_alloc::TrackingAlloc as core::alloc::global::GlobalAlloc>::alloc",
    ),
    ("cs", "__rustc::__rust_alloc"),
    ("is", "alloc::alloc::alloc"),
];

fn hooked(stack: &[(&'static str, &'static str)]) -> Option<String> {
    container(&[&HOOK, stack].concat())
}

#[test]
fn a_value_made_for_a_container_is_its_own_block() {
    assert_eq!(
        hooked(&[
            ("cs", "<alloc::raw_vec::RawVec<u8>>::with_capacity_in"),
            ("is", "<alloc::string::String as core::clone::Clone>::clone"),
            (
                "is",
                "<alloc::vec::Vec<alloc::string::String> as core::clone::Clone>::clone"
            ),
            ("cu", "app::main"),
        ])
        .as_deref(),
        Some("alloc::string::String")
    );
}

#[test]
fn equal_code_under_one_name_is_told_by_the_frame_inlined_into_the_program() {
    assert_eq!(
        hooked(&[
            (
                "cs",
                "alloc::raw_vec::RawVec<T,A>::grow_one<&dyn app::Shape, alloc::alloc::Global>"
            ),
            (
                "is",
                "alloc::vec::Vec<T,A>::push<app::Sailor, alloc::alloc::Global>"
            ),
            ("cu", "app::main"),
        ])
        .as_deref(),
        Some("alloc::vec::Vec<app::Sailor>")
    );
    // All the way inlined, both are right: an inner vector of another's element.
    assert_eq!(
        hooked(&[
            ("is", "<alloc::vec::Vec<u32> as core::clone::Clone>::clone"),
            (
                "is",
                "<alloc::vec::Vec<app::Row> as core::clone::Clone>::clone"
            ),
            ("cu", "app::main"),
        ])
        .as_deref(),
        Some("alloc::vec::Vec<u32>")
    );
}

#[test]
fn a_container_far_outside_does_not_claim_what_others_make_on_the_way() {
    // Reading lines, collected into a vector: neither its elements nor its buffer.
    assert_eq!(
        hooked(&[
            (
                "cs",
                "alloc::raw_vec::RawVecInner<A>::finish_grow<alloc::alloc::Global>"
            ),
            ("is", "alloc::vec::reserve<u8, alloc::alloc::Global>"),
            ("is", "std::io::read_until<std::io::BufReader<&[u8]>>"),
            (
                "cs",
                "<std::io::Lines<B> as core::iter::Iterator>::next<std::io::BufReader<&[u8]>>"
            ),
            (
                "is",
                "alloc::vec::from_iter<app::Line, std::io::Lines<std::io::BufReader<&[u8]>>>"
            ),
            ("cu", "app::main"),
        ])
        .as_deref(),
        Some("alloc::vec::Vec<u8>")
    );
}

#[test]
fn a_value_made_inside_another_container_keeps_its_owner_and_needs_described_code() {
    let names = |file: &'static str| {
        told(
            &[
                &HOOK[..],
                &[
                    ("cs", "<alloc::string::String as core::clone::Clone>::clone"),
                    (
                        "is",
                        "<alloc::vec::Vec<alloc::string::String> as core::clone::Clone>::clone",
                    ),
                    (file, "<app::Sailor as core::clone::Clone>::clone"),
                ],
            ]
            .concat(),
        )
    };
    let told = names("cu").expect("a type");
    assert_eq!(
        (told.container.as_str(), told.owner.as_deref()),
        ("alloc::string::String", Some("app::Sailor"))
    );
    assert_eq!(names("cu?"), None);
}

#[test]
fn a_symbol_table_alone_names_no_types() {
    assert_eq!(
        hooked(&[
            ("cs?", "<alloc::vec::Vec<u64>>::push"),
            ("cu?", "app::main"),
        ]),
        None
    );
    // The standard library comes with debug information of its own; the program's code does not.
    assert_eq!(
        hooked(&[
            ("is", "<alloc::raw_vec::RawVec<u8>>::with_capacity_in"),
            ("cs", "<alloc::string::String as core::clone::Clone>::clone"),
            ("cu?", "app::main"),
        ]),
        None
    );
}

#[test]
fn what_no_frame_names_stays_unnamed() {
    assert_eq!(hooked(&[("cu", "app::Pool::grow")]), None);
    assert_eq!(hooked(&[("cn", "malloc"), ("cu", "app::main")]), None);
    assert_eq!(
        hooked(&[
            ("cs", "<alloc::raw_vec::RawVecInner>::finish_grow"),
            ("is", "alloc::vec::Vec<T,A>::push"),
            ("cu", "app::main"),
        ]),
        None
    );
    assert_eq!(container(&[]), None);
    assert_eq!(container(&HOOK), None);
}

#[test]
fn an_allocator_of_the_program_around_ours_is_not_the_program() {
    assert_eq!(
        container(&[
            ("cd", "tracking_alloc::hook::alloc"),
            (
                "cu",
                "<app::Counting as core::alloc::global::GlobalAlloc>::alloc"
            ),
            ("iu", "app::counted"),
            ("cs", "__rustc::__rust_alloc"),
            ("is", "<alloc::boxed::Box<app::Boss>>::new"),
            ("cu", "app::main"),
        ])
        .as_deref(),
        Some("alloc::boxed::Box<app::Boss>")
    );
}

#[test]
fn the_innermost_type_being_made_owns_a_block() {
    let stack = |frames: &[(&'static str, &'static str)]| {
        let string = [
            ("is", "<alloc::raw_vec::RawVec<u8>>::with_capacity_in"),
            ("is", "alloc::str::to_owned"),
        ];
        told(&[&HOOK[..], &string, frames].concat()).and_then(|told| told.owner)
    };
    for frames in [
        // v0
        &[
            (
                "id",
                "<serde_core::de::impls::StringVisitor as serde_core::de::Visitor>::visit_str::<serde_json::Error>",
            ),
            (
                "id",
                "<serde_json::de::MapAccess<_> as serde_core::de::MapAccess>::next_value::<alloc::string::String>",
            ),
            (
                "iu",
                "<<app::Sailor as serde_core::de::Deserialize>::deserialize::__Visitor as serde_core::de::Visitor>::visit_map::<serde_json::de::MapAccess<_>>",
            ),
            (
                "cu",
                "<app::Crew as serde_core::de::Deserialize>::deserialize::<_>",
            ),
        ][..],
        // legacy
        &[
            (
                "iu",
                "<app::_::<impl serde_core::de::Deserialize for app::Sailor>::deserialize::__Visitor as serde_core::de::Visitor>::visit_map<serde_json::de::MapAccess<R>>",
            ),
            (
                "cu",
                "app::_::<impl serde_core::de::Deserialize for app::Crew>::deserialize<D>",
            ),
        ],
        // no linkage names
        &[
            (
                "id",
                "serde_core::de::MapAccess::next_value<serde_json::de::MapAccess<serde_json::read::SliceRead>, alloc::string::String>",
            ),
            (
                "iu",
                "app::visit_map<serde_json::de::MapAccess<serde_json::read::SliceRead>>",
            ),
            (
                "id",
                "serde_core::de::SeqAccess::next_element<serde_json::de::SeqAccess<serde_json::read::SliceRead>, app::Sailor>",
            ),
            (
                "cd",
                "serde_core::de::impls::visit_seq<app::Sailor, serde_json::de::SeqAccess<serde_json::read::SliceRead>>",
            ),
        ],
    ] {
        assert_eq!(stack(frames).as_deref(), Some("app::Sailor"), "{frames:#?}");
    }
    assert_eq!(stack(&[("cu", "app::main")]), None);
}

#[test]
fn hostile_names_are_answered_without_a_panic() {
    for name in [
        "<",
        "<<<>>>",
        "alloc::vec::push<",
        "alloc::vec::Vec<T>::push<,>",
        "alloc::boxed::new<[>",
        "ä::ü<'ö>",
        "::",
        "a::<impl >::b<>",
    ] {
        let _ = hooked(&[
            ("cs", Box::leak(name.to_owned().into_boxed_str())),
            ("cu", "app::main"),
        ]);
        let _ = told(&[("iu", name)]);
    }
}
