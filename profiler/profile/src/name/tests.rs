//! Names taken apart, shortened, and told whose they are, in both languages.

use super::*;
use std::sync::Arc;

fn rust(name: &str) -> FunctionName<'_> {
    FunctionName::parse(name, Language::Rust)
}

#[test]
fn names_are_split_outside_of_brackets_only() {
    let texts = |name| -> Vec<&str> {
        let all = segments(name).into_iter();
        all.map(|segment| segment.text).collect()
    };
    assert_eq!(
        texts("<a::B as c::D<e::F>>::g::{{closure}}"),
        ["<a::B as c::D<e::F>>", "g", "{{closure}}"]
    );
    assert_eq!(
        texts("core::ops::FnOnce<fn() -> a::B>::call"),
        ["core", "ops", "FnOnce<fn() -> a::B>", "call"]
    );
    assert_eq!(texts(""), Vec::<&str>::new());
    assert_eq!(
        texts("a::from_slice::<b::C>"),
        ["a", "from_slice::<b::C>"],
        "a turbofish belongs to its function"
    );
    assert_eq!(
        texts("a::Vec<b::C>::push<d::E>"),
        ["a", "Vec<b::C>", "push<d::E>"]
    );
    assert_eq!(
        texts("a::F<b::G<..> + Send>::g"),
        ["a", "F<b::G<..> + Send>", "g"]
    );
    // Brackets in constants, and comparisons.
    assert_eq!(
        texts("a::F<'<', \"::>\">::g"),
        ["a", "F<'<', \"::>\">", "g"]
    );
    assert_eq!(texts("a::F<{ N < 3 }>::g"), ["a", "F<{ N < 3 }>", "g"]);
}

#[test]
fn a_segment_knows_its_arguments_its_type_and_its_trait() {
    let parts = |name| {
        let all = segments(name).into_iter();
        all.map(|segment| (segment.plain, segment.arguments, segment.part))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        parts("alloc::Vec<T,A>::push::<u8>"),
        [
            ("alloc", "", Part::Named),
            ("Vec", "T,A", Part::Named),
            ("push", "u8", Part::Named)
        ]
    );
    let implementation = |of, implements, is_block| Part::Impl {
        of,
        implements,
        is_block,
    };
    for (name, part) in [
        ("<a::T>", implementation("a::T", None, false)),
        (
            "<T as a::B<C>>",
            implementation("T", Some("a::B<C>"), false),
        ),
        (
            "<impl a::B for [T]>",
            implementation("[T]", Some("a::B"), true),
        ),
        ("<impl [T]>", implementation("[T]", None, true)),
        ("{closure#0}", Part::Closure),
        ("{{closure}}", Part::Closure),
        ("{async_fn_env#0}", Part::Async),
        ("{shim:vtable#0}", Part::Shim),
        ("{impl#3}", Part::Unnamed),
    ] {
        assert_eq!(segments(name)[0].part, part, "{name}");
    }
    let shim = segments("call_once{{vtable.shim}}")[0];
    assert_eq!(shim.name(), "call_once");
    assert_eq!(
        path_and_arguments("std::HashMap<u8, a::B<C, D>>"),
        ("std::HashMap", vec!["u8", "a::B<C, D>"])
    );
    assert_eq!(path_and_arguments("&'a str"), ("&'a str", vec![]));
}

#[test]
fn short_names_keep_the_type_and_the_function() {
    for (name, expected) in [
        ("alloc::vec::Vec<T,A>::push", "Vec::push"),
        (
            "alloc::vec::Vec<T,A>::push<u16, alloc::alloc::Global>",
            "Vec::push",
        ),
        ("<alloc::vec::Vec<u16>>::push", "Vec::push"),
        (
            "<alloc::string::String as core::clone::Clone>::clone",
            "String::clone",
        ),
        (
            "<&mut app::Reader<R> as std::io::Read>::read",
            "Reader::read",
        ),
        ("serde_json::de::from_str", "de::from_str"),
        (
            "serde_json::de::from_slice::<alloc::vec::Vec<u8>>",
            "de::from_slice",
        ),
        ("app::main", "app::main"),
        ("app::main::{{closure}}", "main::{{closure}}"),
        ("app::main::{closure#1}::{closure#0}", "main::{{closure}}"),
        (
            "app::model::City::load::{{closure}}",
            "City::load::{{closure}}",
        ),
        (
            "app::_::<impl serde::de::Deserialize for app::City>::deserialize",
            "City::deserialize",
        ),
        ("alloc::slice::<impl [T]>::to_vec", "[T]::to_vec"),
        ("<[app::City]>::to_vec", "[City]::to_vec"),
        ("<[app::City; 4] as app::Load>::load", "[City]::load"),
        (
            "<[[alloc::vec::Vec<[u8; 4]>; 2]; 3] as app::Load>::load",
            "[[Vec]]::load",
        ),
        (
            "<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
            "SpecFromElem::from_elem",
        ),
        (
            "core::ptr::mut_ptr::<impl *mut T>::drop_in_place",
            "mut_ptr::drop_in_place",
        ),
        (
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            "FnOnce::call_once",
        ),
        (
            "<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>> as core::ops::function::FnOnce<()>>::call_once",
            "Box::call_once",
        ),
        ("<dyn app::Shape + core::marker::Send>::area", "Shape::area"),
        ("<(A, B) as app::Pair>::swap", "(..)::swap"),
        (
            "jaq::Loader<fn(jaq::Import<&str>) .> core::result::Result<u8,u8>>::new",
            "Loader::new",
        ),
        ("app::{async_fn#0}", "app::{{closure}}"),
        ("main", "main"),
        ("", ""),
    ] {
        assert_eq!(rust(name).short(), expected, "{name}");
    }
}

#[test]
fn closures_and_bodies_of_async_functions_belong_to_the_function_that_they_stand_in() {
    for (name, expected) in [
        ("app::main::{closure#1}::{closure#0}", "app::main"),
        ("app::api::create::{{closure}}", "api::create"),
        ("app::model::City::load::{{closure}}", "City::load"),
        (
            "<app::City as app::Load>::load::<u8>::{closure#0}",
            "City::load",
        ),
        ("app::main::{{closure}}::helper", "main::helper"),
        ("app::main", "app::main"),
        ("{{closure}}", "{{closure}}"),
    ] {
        assert_eq!(rust(name).short_outer(), expected, "{name}");
    }
}

#[test]
fn a_closure_names_the_function_around_it_without_generic_arguments() {
    for (name, expected) in [
        (
            "app::load::<u8>::{closure#0}::{closure#1}",
            Some("app::load"),
        ),
        (
            "<app::A<u8> as app::B>::f::{closure#0}",
            Some("<app::A as app::B>::f"),
        ),
        ("app::{impl#3}::load", None),
        ("app::load::<app::main::{closure_env#0}>", None),
        ("app::load", None),
    ] {
        assert_eq!(rust(name).around_closure().as_deref(), expected, "{name}");
    }
}

#[test]
fn crates_are_told_from_names_by_the_orphan_rule() {
    for (name, expected) in [
        ("serde_json::de::from_str", Some("serde_json")),
        (
            "<app::City as serde::de::Deserialize>::deserialize",
            Some("app"),
        ),
        (
            "<alloc::vec::Vec<app::City> as serde::de::Deserialize>::deserialize",
            Some("serde"),
        ),
        (
            "<alloc::string::String as core::clone::Clone>::clone",
            Some("alloc"),
        ),
        ("<T as app::Load>::load", Some("app")),
        ("<&mut app::Reader as std::io::Read>::read", Some("app")),
        ("<[u8]>::to_vec", Some("core")),
        (
            "<serde_json::de::Deserializer<R> as serde::de::Deserializer>::deserialize_any",
            Some("serde_json"),
        ),
        ("main", None),
    ] {
        assert_eq!(rust(name).krate(), expected, "{name}");
    }
}

#[test]
fn traits_of_other_crates_are_told_from_those_of_the_crate_itself() {
    for (name, is) in [
        ("<app::City as prost::message::Message>::encode_raw", true),
        ("<app::City as core::fmt::Debug>::fmt", true),
        (
            "<app::City as bincode::de::Decode<C>>::decode::<D>::{{closure}}",
            true,
        ),
        ("app::_::<impl rkyv::Archive for app::City>::resolve", true),
        ("<app::City as app::Load>::load", false),
        ("<alloc::string::String as app::Load>::load", false),
        ("app::load", false),
    ] {
        assert_eq!(rust(name).is_of_foreign_trait(), is, "{name}");
    }
}

#[test]
fn a_name_without_generic_arguments_keeps_the_type_of_its_impl() {
    for (name, expected) in [
        ("app::load<u8>", "app::load"),
        ("app::load::<alloc::vec::Vec<u8>>", "app::load"),
        (
            "<app::A as app::B>::f::<fn() -> u8>",
            "<app::A as app::B>::f",
        ),
        (
            "app::x::<impl app::T for app::U<u8>>::f",
            "app::x::<impl app::T for app::U>::f",
        ),
        ("app::main::{{closure}}", "app::main::{{closure}}"),
        (
            "<<a::A<u8> as b::B>::f as c::C>::g",
            "<<a::A as b::B>::f as c::C>::g",
        ),
        ("", ""),
    ] {
        assert_eq!(rust(name).without_arguments(), expected, "{name}");
    }
}

/// Demangles a linkage name, and returns the text with the short name and the name without
/// arguments.
fn cpp(linkage: &str) -> [String; 3] {
    let name = Demangler::default().demangle(&Arc::from(linkage));
    let parsed = FunctionName::parse(&name, Language::Cpp);
    [name.to_string(), parsed.short(), parsed.without_arguments()]
}

#[test]
fn names_of_cpp_are_demangled_and_short() {
    for (linkage, full, short, plain) in [
        (
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            "vector::push_back",
            "std::vector::push_back",
        ),
        (
            "_ZNSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EE17_M_realloc_insertIJRKS5_EEEvN9__gnu_cxx17__normal_iteratorIPS5_S7_EEDpOT_",
            "std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > >::_M_realloc_insert<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&>(__gnu_cxx::__normal_iterator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >*, std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > > >, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
            "vector::_M_realloc_insert",
            "std::vector::_M_realloc_insert",
        ),
        // A type that a template returns and that no demangler here reads: the name before it.
        (
            "_ZSt11make_sharedI3RowJiEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES4_E4typeEEDpOT0_",
            "std::make_shared<Row, int>",
            "std::make_shared",
            "std::make_shared",
        ),
        (
            "_ZSt4swapIPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleISB_ESt18is_move_assignableISB_EEE5valueEvE4typeERSB_SL_",
            "std::swap<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >*>",
            "std::swap",
            "std::swap",
        ),
        (
            "_Znwm",
            "operator new(unsigned long)",
            "operator new",
            "operator new",
        ),
        (
            "_Znam",
            "operator new[](unsigned long)",
            "operator new[]",
            "operator new[]",
        ),
        (
            "_ZdlPvm",
            "operator delete(void*, unsigned long)",
            "operator delete",
            "operator delete",
        ),
        (
            "_ZN3FoonwEm",
            "Foo::operator new(unsigned long)",
            "Foo::operator new",
            "Foo::operator new",
        ),
        // Constructors and destructors.
        (
            "_ZN6WidgetC1Ei",
            "Widget::Widget(int)",
            "Widget::Widget",
            "Widget::Widget",
        ),
        (
            "_ZN6WidgetD0Ev",
            "Widget::~Widget()",
            "Widget::~Widget",
            "Widget::~Widget",
        ),
        (
            "_ZNSt10unique_ptrI3FooSt14default_deleteIS0_EED2Ev",
            "std::unique_ptr<Foo, std::default_delete<Foo> >::~unique_ptr()",
            "unique_ptr::~unique_ptr",
            "std::unique_ptr::~unique_ptr",
        ),
        // Lambdas, also in each other and in templates.
        (
            "_ZZ4mainENKUliE_clEi",
            "main::{lambda(int)#1}::operator()(int) const",
            "main::{lambda}",
            "main::{lambda(int)#1}",
        ),
        (
            "_ZZZ3barIiEvT_ENKUlvE_clEvENKUlS0_E_clEi",
            "bar<int>(int)::{lambda()#1}::operator()() const::{lambda(auto:1)#1}::operator()(int) const",
            "bar::{lambda}",
            "bar::{lambda()#1}::{lambda(auto:1)#1}",
        ),
        (
            "_ZNSt8functionIFviEEaSIRZ4mainEUliE_EERS1_OT_",
            "std::function<void (int)>::operator=<main::{lambda(int)#1}&>(main::{lambda(int)#1}&)",
            "function::operator=",
            "std::function::operator=",
        ),
        // Templates, operators and conversions.
        ("_Z3maxIiET_S0_S0_", "max<int>(int, int)", "max", "max"),
        (
            "_ZN2ns1SIiE1TIcE3bazIdEEvT_",
            "ns::S<int>::T<char>::baz<double>(double)",
            "T::baz",
            "ns::S::T::baz",
        ),
        (
            "_ZN1aIXgtLi3ELi2EEE1fEv",
            "a<((3)>(2))>::f()",
            "a::f",
            "a::f",
        ),
        (
            "_ZN3Foo3runIXadL_ZNS_1gEvEEEEvv",
            "Foo::run<&Foo::g()>()",
            "Foo::run",
            "Foo::run",
        ),
        (
            "_ZlsRSoRK3Foo",
            "operator<<(std::ostream&, Foo const&)",
            "operator<<",
            "operator<<",
        ),
        (
            "_ZN3FooltERKS_",
            "Foo::operator<(Foo const&)",
            "Foo::operator<",
            "Foo::operator<",
        ),
        (
            "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
            "std::operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
            "std::operator<<",
            "std::operator<<",
        ),
        (
            "_ZN3FooclEi",
            "Foo::operator()(int)",
            "Foo::operator()",
            "Foo::operator()",
        ),
        (
            "_ZNK3FooptEv",
            "Foo::operator->() const",
            "Foo::operator->",
            "Foo::operator->",
        ),
        (
            "_ZN3FoocvSt6vectorIiSaIiEEEv",
            "Foo::operator std::vector<int, std::allocator<int> >()",
            "Foo::operator std::vector<int, std::allocator<int> >",
            "Foo::operator std::vector<int, std::allocator<int> >",
        ),
        // What is around a name.
        (
            "_ZN12_GLOBAL__N_13fooEv",
            "(anonymous namespace)::foo()",
            "foo",
            "(anonymous namespace)::foo",
        ),
        ("_Z3fooB5cxx11v", "foo[abi:cxx11]()", "foo", "foo"),
        (
            "_ZN3foo3barEv.part.0.cold",
            "foo::bar() [clone .part.0] [clone .cold]",
            "foo::bar",
            "foo::bar",
        ),
        (
            "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*) const",
            "basic_string::append",
            "std::__cxx11::basic_string::append",
        ),
        (
            "_ZNSt7__cxx114stoiEv",
            "std::__cxx11::stoi()",
            "std::stoi",
            "std::__cxx11::stoi",
        ),
        // Names of C, and text that is no name.
        ("malloc", "malloc", "malloc", "malloc"),
        ("foo.part.0", "foo.part.0", "foo.part.0", "foo.part.0"),
        ("_Zq", "_Zq", "_Zq", "_Zq"),
        ("_Z", "_Z", "_Z", "_Z"),
        ("", "", "", ""),
    ] {
        assert_eq!(cpp(linkage), [full, short, plain], "{linkage}");
    }
}

#[test]
fn a_name_that_is_too_long_loses_its_template_arguments() {
    // Each type is a pair of the type before it, so the text doubles with each.
    let mut doubled = "_ZN3boxI1aIiiE".to_owned();
    for level in 0..14 {
        let number = [
            "", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B", "C",
        ][level];
        doubled.push_str(&format!("1bIS{number}_S{number}_E"));
    }
    doubled.push_str("E3putEv");
    let [name, short, plain] = cpp(&doubled);
    assert!(name.len() < 5000, "{} bytes", name.len());
    assert_eq!((&*short, &*plain), ("box::put", "box::put"), "{name}");
}

#[test]
fn hostile_names_end_soon_and_without_a_panic() {
    let repeated = |text: &str, count| text.repeat(count);
    let mut names = vec![
        "_ZN3Foo3runIX".to_owned() + &repeated("nw", 40) + &repeated("A", 90),
        "_Z1fIX".to_owned() + &repeated("srT_I", 200),
        "_ZN3FoocvT_I".to_owned() + &repeated("T_I", 200),
        "_Z1f".to_owned() + &repeated("S_I", 500),
    ];
    for text in [
        "P", "1aI", "I", "J", "F", "N", "Z", "X", "UlUl", "DTcl", "L_Z", "T_", ".a",
    ] {
        for count in [20, 90, 500, 100_000] {
            names.push(format!("_Z1f{}i{}", text.repeat(count), "E".repeat(count)));
        }
    }
    for open in [
        "<",
        "(",
        "[",
        "{",
        "<<",
        "a<",
        "a::<",
        "<a as ",
        "<impl ",
        "&<",
        "operator<",
        "'",
        "\"",
        "\"\\",
        "for<'a",
        "::",
        "[[",
        "fn(",
    ] {
        for count in [1, 50, 8000] {
            names.push(open.repeat(count));
            names.push(format!("{}a{}", open.repeat(count), ">)]}".repeat(count)));
        }
    }
    let mut demangler = Demangler::default();
    for name in names {
        let demangled = demangler.demangle(&Arc::from(name.as_str()));
        for language in [Language::Rust, Language::Cpp] {
            let parsed = FunctionName::parse(&demangled, language);
            let _ = (
                parsed.short(),
                parsed.short_outer(),
                parsed.without_arguments(),
            );
            let _ = (
                parsed.krate(),
                parsed.around_closure(),
                parsed.is_of_foreign_trait(),
            );
        }
    }
}

#[test]
fn any_text_has_some_answers() {
    const PIECES: [&str; 40] = [
        "<",
        ">",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "::",
        ",",
        " ",
        "'",
        "\"",
        "\\",
        "->",
        "=",
        "&",
        "'a",
        "operator",
        "impl ",
        " as ",
        " for ",
        "dyn ",
        "{closure#0}",
        "{impl#1}",
        "{{vtable.shim}}",
        "_",
        "T",
        "alloc",
        "Vec",
        "u8",
        "core::clone::Clone",
        "for<'a> ",
        "..",
        ".> ",
        "\u{e4}",
        "\u{2026}",
        "+",
        ";",
        "~",
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % limit as u64).expect("below a usize")
    };
    for _ in 0..20_000 {
        let name: String = (0..1 + below(24))
            .map(|_| PIECES[below(PIECES.len())])
            .collect();
        for language in [Language::Rust, Language::Cpp] {
            let parsed = FunctionName::parse(&name, language);
            let all = [
                parsed.short(),
                parsed.short_outer(),
                parsed.without_arguments(),
            ];
            assert!(
                all.iter().all(|text| text.len() <= name.len() + 24),
                "{name} {all:?}"
            );
            let _ = (
                parsed.krate(),
                parsed.around_closure(),
                parsed.is_of_foreign_trait(),
            );
            let _ = (parsed.is_call(), parsed.is_allocator_shim(), parsed.path());
        }
        let _ = (path_and_arguments(&name), split_at_commas(&name));
        let spelled = crate::types::normal(&name);
        let _ = crate::types::short(&spelled);
    }
}
