//! Stacks written by hand: what no program here comes to, and what must not be named.

use crate::profile::{Function, FunctionId, Origin};
use crate::types::{ContentNames, StackFrame, Stacks, Types, normal};

/// A frame of a stack: `i` inlined, `c` concrete; the origin's letter; `?` without debug
/// information, `0` with code that was merged; the name, and after `|` those of other functions
/// with its machine code.
fn told(stack: &[(&str, &str)]) -> Option<ContentNames> {
    let functions: Vec<(Function, bool, bool, bool)> = stack
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
            let (name, aliases) = name.split_once('|').unwrap_or((name, ""));
            let aliases = aliases.split('|').filter(|alias| !alias.is_empty());
            let function = Function {
                name: name.to_owned(),
                aliases: aliases.map(str::to_owned).collect(),
                short: String::new(),
                krate: krate.trim_start_matches('<').to_owned(),
                origin,
                ..Function::default()
            };
            let merged = how.ends_with('0');
            (function, how.starts_with('i'), !how.ends_with('?'), merged)
        })
        .collect();
    let frames: Vec<StackFrame<'_>> = functions
        .iter()
        .zip(0..)
        .map(|((function, inlined, has_file, merged), id)| StackFrame {
            id: FunctionId(id),
            function,
            inlined: *inlined,
            has_file: *has_file,
            merged: *merged,
        })
        .collect();
    Stacks::default().contents(&frames)
}

fn container(stack: &[(&str, &str)]) -> Option<String> {
    told(stack).map(|told| normal(&told.container))
}

const HOOK: [(&str, &str); 4] = [
    ("cd", "heapglass_recorder::hook::alloc"),
    (
        "id",
        "<tracking_alloc::TrackingAlloc as core::alloc::global::GlobalAlloc>::alloc",
    ),
    ("cs", "__rustc::__rust_alloc"),
    ("is", "alloc::alloc::alloc"),
];

/// What else the blocks of a stack may be in; `?` for what is not known.
fn others(stack: &[(&'static str, &'static str)]) -> Vec<String> {
    let told = told(&[&HOOK, stack].concat()).expect("a type");
    let name = |other: &Option<ContentNames>| {
        other
            .as_ref()
            .map_or("?".to_owned(), |other| normal(&other.container))
    };
    told.others.iter().map(name).collect()
}

#[test]
fn of_functions_with_equal_code_each_may_be_the_one_that_was_called() {
    let boxed = ("is", "alloc::boxed::Box<T>::new<app::Metre>");
    let make = |names| [boxed, ("cu", names), ("cu", "app::main")];
    assert_eq!(others(&make("app::make::<app::Metre>")), [] as [&str; 0]);
    assert_eq!(
        others(&make(
            "app::make::<app::Metre>|app::make::<app::Minute>|app::make::<app::Second>"
        )),
        [
            "alloc::boxed::Box<app::Minute>",
            "alloc::boxed::Box<app::Second>"
        ]
    );
    // Another function altogether.
    assert_eq!(others(&make("app::metre|app::second")), ["?"]);
    // What differs has no part in the type.
    assert_eq!(
        others(&make(
            "app::make::<app::Metre, u8>|app::make::<app::Metre, i8>"
        )),
        [] as [&str; 0]
    );
    // A caller further out says which it was; one that is not inlined there may be another as well.
    let grown = (
        "cs",
        "<alloc::raw_vec::RawVec<app::Metre>>::grow_one|<alloc::raw_vec::RawVec<app::Second>>::grow_one",
    );
    let push = ("is", "<alloc::vec::Vec<app::Metre>>::push");
    assert_eq!(others(&[grown, push, ("cu", "app::main")]), [] as [&str; 0]);
    assert_eq!(
        others(&[
            grown,
            push,
            ("cu", "app::add::<app::Metre>|app::add::<app::Minute>"),
            ("cu", "app::main"),
        ]),
        ["alloc::vec::Vec<app::Minute>"]
    );
    // What is beyond the frames that were asked changes nothing.
    assert_eq!(
        others(&[boxed, ("cu", "app::main"), ("cu", "app::a|app::b")]),
        [] as [&str; 0]
    );
}

#[test]
fn the_owner_may_be_of_another_function_with_the_same_code() {
    let stack = [
        ("is", "alloc::boxed::Box<T>::new<u8>"),
        (
            "cu",
            "<app::Crew as serde_core::de::Deserialize>::deserialize::<D>|<app::Team as serde_core::de::Deserialize>::deserialize::<D>",
        ),
        ("cu", "app::main"),
    ];
    let told = told(&[&HOOK[..], &stack].concat()).expect("a type");
    assert_eq!(told.owner.as_deref(), Some("app::Crew"));
    let owners: Vec<Option<&str>> = told
        .others
        .iter()
        .flatten()
        .map(|other| other.owner.as_deref())
        .collect();
    assert_eq!(owners, [Some("app::Team")]);
}

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

/// `std` is also the namespace of C++'s containers.
#[test]
fn a_function_of_the_standard_library_is_no_method_of_a_container_of_cpp() {
    let stack = [
        ("cs?", "<alloc::raw_vec::RawVecInner>::finish_grow"),
        (
            "cs",
            "std::backtrace_rs::symbolize::resolve_frame_unsynchronized::<app::Symbol>",
        ),
        ("cs", "std::thread::spawn::<app::Task>"),
        ("cu", "app::main"),
    ];
    assert_eq!(hooked(&stack), None);
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
    // Inlined later, equal code still has the other's name: nothing of the program lies between.
    assert_eq!(
        hooked(&[
            (
                "is",
                "<alloc::collections::btree::map::entry::VacantEntry<alloc::string::String, serde_json::Value>>::insert_entry"
            ),
            (
                "is",
                "<alloc::collections::btree::map::BTreeMap<alloc::string::String, toml::Value>>::insert"
            ),
            ("cu", "app::main"),
        ])
        .as_deref(),
        Some("alloc::collections::btree::map::BTreeMap<alloc::string::String, toml::Value>")
    );
    // An inner vector of another's element is its own block: what clones the element lies between,
    // or its name tells.
    for between in [
        &[("iu", "<app::Row as core::clone::Clone>::clone")][..],
        &[],
    ] {
        let element = match between {
            [] => "alloc::vec::Vec<alloc::vec::Vec<u32>>",
            _ => "alloc::vec::Vec<app::Row>",
        };
        let outer = format!("<{element} as core::clone::Clone>::clone");
        let inner = ("is", "<alloc::vec::Vec<u32> as core::clone::Clone>::clone");
        let mut stack = vec![inner];
        stack.extend_from_slice(between);
        stack.extend([("is", outer.leak() as &str), ("cu", "app::main")]);
        assert_eq!(
            hooked(&stack).as_deref(),
            Some("alloc::vec::Vec<u32>"),
            "{element}"
        );
    }
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
            ("cd", "heapglass_recorder::hook::alloc"),
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
fn code_made_one_by_the_compiler_is_told_where_a_visitor_can_ask_for_one_thing_only() {
    const STRING: Option<&str> = Some("alloc::string::String");
    for (name, of) in [
        // Legacy mangling, no linkage name (the file, and the module after it, of what was inlined
        // last), v0.
        (
            "<&mut serde_json::de::Deserializer<R> as serde_core::de::Deserializer>::deserialize_any<serde_json::read::StrRead, serde_json::value::de::{impl#0}::deserialize::ValueVisitor>",
            STRING,
        ),
        (
            "core::intrinsics::deserialize_any<serde_json::read::SliceRead, serde_core::de::impls::StringVisitor>",
            STRING,
        ),
        (
            "serde_json::deserialize_any<serde_json::read::StrRead, serde_json::value::de::KeyClassifier>",
            STRING,
        ),
        (
            "<&mut serde_json::de::Deserializer<serde_json::read::IoRead<std::fs::File>> as serde_core::de::Deserializer>::deserialize_str::<serde_core::de::impls::StringVisitor>",
            STRING,
        ),
        (
            "<serde::private::de::content::ContentRefDeserializer<E> as serde_core::de::Deserializer>::deserialize_str<serde_json::error::Error, serde_core::de::impls::StringVisitor>",
            STRING,
        ),
        (
            "serde_json::de::deserialize_str<serde_json::read::StrRead, tracking_alloc_serde::profiled::visitor::Vis<serde_core::de::impls::StringVisitor>>",
            STRING,
        ),
        // What axum reads through, and a visitor around that.
        (
            "<&mut serde_json::de::Deserializer<R> as serde_core::de::Deserializer>::deserialize_str<serde_json::read::SliceRead, serde_path_to_error::wrap::Wrap<serde_core::de::impls::StringVisitor>>",
            STRING,
        ),
        (
            "serde_json::de::deserialize_str<serde_json::read::StrRead, serde_ignored::Wrap<serde_path_to_error::wrap::Wrap<serde_core::de::impls::StringVisitor>, app::F>>",
            STRING,
        ),
        (
            "serde_json::de::deserialize_str<serde_json::read::StrRead, serde_path_to_error::wrap::Wrap<app::StringVisitor>>",
            None,
        ),
        (
            "serde_json::de::deserialize_str<serde_json::read::StrRead, serde_json::de::Wrap<>",
            None,
        ),
        (
            "serde_json::de::deserialize_str<serde_json::read::StrRead, serde_core::de::impls::PathBufVisitor>",
            Some("std::path::PathBuf"),
        ),
        // A visitor of the program's may make anything, another format anything on the way; lists
        // are no text.
        (
            "serde_json::de::deserialize_str<serde_json::read::StrRead, app::StringVisitor>",
            None,
        ),
        (
            "toml::de::deserialize_str<toml::de::Error, serde_core::de::impls::StringVisitor>",
            None,
        ),
        (
            "serde_json::de::deserialize_seq<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>",
            None,
        ),
        ("serde_json::de::deserialize_any", None),
        // A module may be guessed from the file, which is not the function's.
        ("alloc::vec::parse<app::A, alloc::alloc::Global>", None),
        (
            "alloc::vec::Vec<T,A>::push<app::A, alloc::alloc::Global>",
            Some("alloc::vec::Vec<app::A>"),
        ),
    ] {
        for how in ["cs0", "id0"] {
            let std = name.starts_with("alloc::") && how == "id0";
            if !std {
                assert_eq!(
                    hooked(&[(how, name), ("cu", "app::main")]).as_deref(),
                    of,
                    "{how} {name}"
                );
            }
        }
    }
    // With a line the frame is what it says: the format's own.
    assert_eq!(
        hooked(&[
            (
                "cd",
                "serde_json::de::deserialize_str<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>"
            ),
            ("cu", "app::main"),
        ]),
        None
    );
}

#[test]
fn a_new_buffer_between_the_allocator_and_merged_code_tells_nothing_and_one_that_grows_is_not_looked_through()
 {
    let reader = "serde_json::de::deserialize_str<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>";
    for (buffer, of) in [
        (
            "alloc::raw_vec::RawVecInner<A>::try_allocate_in<alloc::alloc::Global>",
            Some("alloc::string::String"),
        ),
        (
            "<alloc::raw_vec::RawVecInner>::with_capacity_in",
            Some("alloc::string::String"),
        ),
        (
            "alloc::raw_vec::RawVecInner<A>::finish_grow<alloc::alloc::Global>",
            None,
        ),
    ] {
        let stack = [("cs", buffer), ("cd0", reader), ("cu", "app::main")];
        assert_eq!(hooked(&stack).as_deref(), of, "{buffer}");
        // A reader with a line asks for itself.
        let stack = [("cs", buffer), ("cd", reader), ("cu", "app::main")];
        assert_eq!(hooked(&stack), None, "{buffer}");
    }
}

#[test]
fn what_is_made_in_merged_code_has_an_owner_and_no_container_from_outside() {
    let merged = "core::num::f64::deserialize_any<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>";
    let told = told(
        &[
            &HOOK[..],
            &[
                ("cs0", merged),
                (
                    "id",
                    "serde_core::de::SeqAccess::next_element<serde_json::de::SeqAccess<serde_json::read::SliceRead>, app::Sailor>",
                ),
            ],
        ]
        .concat(),
    )
    .expect("a type");
    assert_eq!(
        (told.container.as_str(), told.owner.as_deref()),
        ("alloc::string::String", Some("app::Sailor"))
    );
    // The program's own function under the file of what was inlined there last, called by a vector
    // that is filled.
    assert_eq!(
        hooked(&[
            ("cs0", "alloc::vec::name_of<app::Row, app::Names>"),
            (
                "cs",
                "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter<app::A, app::I>"
            ),
            ("cu", "app::main"),
        ]),
        None
    );
}

#[test]
fn a_literal_is_a_vector_and_a_box_of_an_array_is_not() {
    for (frames, of) in [
        (
            &["alloc::boxed::Box<T>::new_uninit<[app::A; 3]>"][..],
            "alloc::vec::Vec<app::A>",
        ),
        (
            &["alloc::boxed::new_uninit<[[u8; 2]; 3]>"],
            "alloc::vec::Vec<[u8; 2]>",
        ),
        (
            &["<alloc::boxed::Box<app::A>>::new_uninit"],
            "alloc::boxed::Box<app::A>",
        ),
        (
            &["<alloc::boxed::Box<[app::A; 3]>>::new"],
            "alloc::boxed::Box<[app::A; 3]>",
        ),
        (
            &[
                "<alloc::boxed::Box<[app::A; 3]>>::new_uninit",
                "<alloc::boxed::Box<[app::A; 3]> as core::default::Default>::default",
            ],
            "alloc::boxed::Box<[app::A; 3]>",
        ),
    ] {
        let mut stack = HOOK.to_vec();
        stack.extend(frames.iter().map(|frame| ("is", *frame)));
        stack.push(("cu", "app::main"));
        assert_eq!(container(&stack).as_deref(), Some(of), "{frames:?}");
    }
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

#[test]
fn one_of_several_types_is_a_type_of_its_own() {
    let mut types = Types::default();
    let metre = types.number("app::Metre");
    assert_eq!(types.one_of(&[Some("app::Metre")]), metre);
    assert_eq!(
        types.one_of(&[Some("app::Metre"), Some("app::Metre")]),
        metre
    );
    let several = types.one_of(&[Some("app::Metre"), None]);
    assert_eq!(types.one_of(&[Some("app::Metre"), None]), several);
    let names = [Some("app::Metre"), Some("app::Second"), None, Some("u8")];
    types.one_of(&names);
    types.one_of(&[Some("one::Key"), Some("other::Key")]);
    let names: Vec<(String, String)> = types
        .into_values()
        .into_iter()
        .map(|name| (name.short, name.full))
        .collect();
    let names: Vec<(&str, &str)> = names
        .iter()
        .map(|(short, full)| (short.as_str(), full.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("Metre", "app::Metre"),
            ("one of Metre, ?", "one of app::Metre, ?"),
            (
                "one of Metre, Second, ?, \u{2026}",
                "one of app::Metre, app::Second, ?, \u{2026}"
            ),
            // Nothing that is shown differs.
            ("Key", "one of one::Key, other::Key"),
        ]
    );
}

#[test]
fn arms_of_a_buffer_that_were_made_one_are_of_the_container_that_asked() {
    let stack = |caller| {
        [
            (
                "is0",
                "alloc::raw_vec::try_allocate_in<alloc::alloc::Global>",
            ),
            (
                caller,
                "alloc::raw_vec::with_capacity_in<alloc::alloc::Global>",
            ),
            (
                "is",
                "alloc::raw_vec::with_capacity_in<u8, alloc::alloc::Global>",
            ),
            (
                "is",
                "alloc::vec::with_capacity_in<u8, alloc::alloc::Global>",
            ),
            ("is", "alloc::slice::to_vec<u8>"),
            ("is", "alloc::str::to_owned"),
            ("cu", "app::main"),
        ]
    };
    assert_eq!(
        container(&stack("is")).as_deref(),
        Some("alloc::string::String")
    );
    // Where the caller was merged too, it may be another one.
    assert_eq!(container(&stack("is0")), None);
}
