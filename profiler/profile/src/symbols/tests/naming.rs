//! Names: joined from linkage names and debug information; the crates that they belong to.

use super::super::names::{
    CrateRoots, agrees, aliases, best, demangle, join, join_path, without_version,
};
use super::programs::{build, functions, has_tool, run};
use super::*;
use crate::name::FunctionName;
use crate::profile::{Function, Language, Origin};

fn parsed(name: &str) -> FunctionName<'_> {
    FunctionName::parse(name, Language::Rust)
}

#[test]
fn linkage_names_are_demangled_without_their_hash() {
    assert_eq!(
        demangle("_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17h0123456789abcdefE"),
        "alloc::vec::Vec<T,A>::push"
    );
    assert_eq!(
        demangle("_RNvNtCs1234_7mycrate3foo3bar"),
        "mycrate::foo::bar"
    );
    // Only the hash tells names of legacy Rust from those of C++, which are demangled later.
    assert_eq!(demangle("_ZN3foo3barEv"), "_ZN3foo3barEv");
    assert_eq!(demangle("malloc"), "malloc");
    assert_eq!(demangle(""), "");
}

#[test]
fn generics_of_the_debug_information_join_the_path_of_the_linkage_name() {
    let legacy = "_ZN10serde_json2de10from_slice17h0123456789abcdefE";
    assert_eq!(
        join(legacy, Some("from_slice<alloc::vec::Vec<u8>>")),
        "serde_json::de::from_slice<alloc::vec::Vec<u8>>"
    );
    assert_eq!(
        join(legacy, Some("from_slice")),
        "serde_json::de::from_slice"
    );
    // Another function's generics would be a lie.
    assert_eq!(
        join(legacy, Some("from_str<u8>")),
        "serde_json::de::from_slice"
    );
    assert_eq!(join(legacy, None), "serde_json::de::from_slice");
    assert!(agrees(legacy, "from_slice<u8>") && !agrees(legacy, "from_str<u8>"));
    let cpp = "_ZN4shop12_GLOBAL__N_16hiddenEi";
    assert!(agrees(cpp, "hidden") && !agrees(cpp, "hid") && !agrees(cpp, "load"));
    assert!(agrees(
        "_ZN4shop4eachIZNS_3runEiEUliE_EEvT_",
        "each<shop::run(int)::<lambda(int)> >"
    ));
    assert!(agrees(
        "_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
        "{closure#0}"
    ));
}

#[test]
fn functions_of_cpp_are_named_with_and_without_debug_information() {
    const SOURCE: &str = r#"
        #include <stddef.h>
        #define NOINLINE __attribute__((noinline))
        namespace shop {
            template <class T> struct Box {
                T held;
                NOINLINE Box(T of) : held(of) { asm volatile("" : : "r"(this) : "memory"); }
                NOINLINE T take(int by) { asm volatile("" : : "r"(this) : "memory"); return held + by; }
            };
            NOINLINE static int hidden(int n) { asm volatile("" : "+r"(n)); return n * 3; }
            int run(int n) {
                Box<int> box(n);
                auto twice = [&](int m) NOINLINE { asm volatile("" : "+r"(m)); return m * n; };
                return box.take(1) + hidden(n) + twice(2);
            }
        }
    "#;
    if !has_tool("c++") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("shop.cpp");
    std::fs::write(&source, SOURCE).expect("a source file");
    for flags in [&["-g"][..], &["-g0"]] {
        let library = folder.path().join("libshop.so");
        run(heapglass_limits::Command::new("c++")
            .args(["-std=c++11", "-O1", "-fPIC", "-shared", "-nostdlib"])
            .args(["-Wl,--build-id"])
            .args(flags)
            .arg("-o")
            .arg(&library)
            .arg(&source));
        let extents = functions(&library).into_iter().map(|(_, extent)| extent);
        let shorts = extents.flat_map(|extent| {
            let found = resolved(&library, &extent);
            let frames = found.frames.into_iter().flatten();
            let of = |frame: SourceFrame| Classifier::default().function(&frame, "libshop.so");
            frames
                .map(of)
                .map(|function| function.short)
                .collect::<Vec<_>>()
        });
        let shorts: std::collections::BTreeSet<String> = shorts.collect();
        for expected in [
            "Box::Box",
            "Box::take",
            "shop::hidden",
            "shop::run",
            "shop::run::{lambda}",
        ] {
            assert!(shorts.contains(expected), "{expected} {flags:?} {shorts:?}");
        }
    }
}

#[test]
fn functions_with_equal_code_know_each_other() {
    const LIBRARY: &str = r#"
        pub struct Metre(pub u64);
        pub struct Second(pub u64);
        impl From<u64> for Metre { fn from(of: u64) -> Metre { Metre(of) } }
        impl From<u64> for Second { fn from(of: u64) -> Second { Second(of) } }
        #[inline(never)]
        pub fn make<T: From<u64>>(of: u64) -> Box<T> { Box::new(T::from(of)) }
        pub fn metre(of: u64) -> Box<Metre> { make(of) }
        pub fn second(of: u64) -> Box<Second> { make(of) }
    "#;
    const PROGRAM: &str = r#"
        fn main() {
            let count = std::env::args().count() as u64;
            println!("{}", measures::metre(count).0 + measures::second(count).0);
        }
    "#;
    let make = |names: &Symbols| -> Vec<String> {
        let frames = names.frames.iter().flatten();
        let mut made = frames.filter(|frame| frame.function.starts_with("measures::make"));
        let frame = made.next().expect("make");
        assert!(made.all(|other| other.aliases == frame.aliases));
        let names = std::iter::once(&frame.function).chain(&frame.aliases);
        names.map(|name| name.to_string()).collect()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["-Csymbol-mangling-version=v0", "-Cdebuginfo=1"];
    let library = ["--crate-type=rlib", "--crate-name=measures"];
    let library = [&flags[..], &library].concat();
    let library = build(folder.path(), "libmeasures.rlib", LIBRARY, &library);
    let path = format!("measures={}", library.display());
    let with_library = [&flags[..], &["--extern", &path]].concat();
    let program = build(folder.path(), "program", PROGRAM, &with_library);
    let (_, extent) = functions(&program)
        .into_iter()
        .find(|(name, _)| name.starts_with("measures::make"))
        .expect("make in the program");
    let mut names = make(&resolved(&program, &extent));
    names.sort();
    assert_eq!(
        names,
        [
            "measures::make::<measures::Metre>",
            "measures::make::<measures::Second>"
        ]
    );
}

#[test]
fn symbols_that_differ_in_the_hash_alone_are_one_function() {
    let frame = SourceFrame {
        function: "app::load<u8>".into(),
        raw: Some("_ZN3app4load17h0123456789abcdefE".into()),
        file: None,
        line: None,
        inlined: false,
        at_declaration: false,
        aliases: Vec::new(),
    };
    let symbols = [
        "memcpy",
        "_ZN3app4load17h0123456789abcdefE",
        "_ZN3app4load17h1111111111111111E",
        "_ZN3app4save17h1111111111111111E",
        "_ZN3app4keep17h1111111111111111E",
    ];
    let names = |frame: &SourceFrame| {
        let names: Vec<String> = aliases(symbols.into_iter(), frame)
            .iter()
            .map(|name| name.to_string())
            .collect();
        names.join(" ")
    };
    assert_eq!(names(&frame), "app::keep app::save");
    let foreign = SourceFrame {
        raw: Some("memcpy".into()),
        ..frame.clone()
    };
    assert_eq!(names(&foreign), "");
    let short = |names: &[&str]| {
        let frame = SourceFrame {
            aliases: names.iter().map(|&name| name.into()).collect(),
            ..frame.clone()
        };
        Classifier::default().function(&frame, "/opt/app").short
    };
    assert_eq!(short(&[]), "app::load");
    assert_eq!(short(&["app::load<i8>"]), "app::load", "reads the same");
    assert_eq!(
        short(&["app::keep", "app::save"]),
        "one of app::load, app::keep, app::save"
    );
    assert_eq!(
        short(&["app::keep", "app::save", "app::tell"]),
        "one of app::load, app::keep, app::save, \u{2026}"
    );
}

#[test]
fn the_plainest_alias_stands_for_an_address() {
    assert_eq!(
        best(["__libc_malloc", "malloc", "__malloc"].into_iter()),
        Some("malloc")
    );
    assert_eq!(
        best(["aaa", "_ZN1a1b17h0123456789abcdefE"].into_iter()),
        Some("_ZN1a1b17h0123456789abcdefE")
    );
    assert_eq!(best(std::iter::empty()), None);
}

#[test]
fn source_files_suggest_module_paths() {
    let mut roots = CrateRoots::default();
    roots.add("src/main.rs/@/app.1a2b-cgu.0", "/home/u/app");
    roots.add("src/lib.rs/@/applib.1a2b-cgu.0", "/home/u/app");
    roots.add(
        "/home/u/.cargo/registry/src/x/foo-bar-1.0.0/src/lib.rs/@/foo_bar.99-cgu.3",
        "/",
    );
    let module = |file| roots.module(file);
    assert_eq!(module("/home/u/app/src/main.rs").as_deref(), Some("app"));
    assert_eq!(module("/home/u/app/src/lib.rs").as_deref(), Some("applib"));
    assert_eq!(
        module("/home/u/.cargo/registry/src/x/foo-bar-1.0.0/src/de/mod.rs").as_deref(),
        Some("foo_bar::de")
    );
    assert_eq!(
        module("/rustc/0123/library/alloc/src/vec/mod.rs").as_deref(),
        Some("alloc::vec")
    );
    assert_eq!(
        module("/rust/deps/hashbrown-0.16.1/src/raw/mod.rs").as_deref(),
        Some("hashbrown::raw")
    );
    assert_eq!(module("/tmp/lonely.rs"), None);
}

#[test]
fn paths_are_joined_as_compilers_mean_them() {
    assert_eq!(join_path("/home/u", "src/main.rs"), "/home/u/src/main.rs");
    assert_eq!(join_path("/home/u", "./src/main.rs"), "/home/u/src/main.rs");
    assert_eq!(join_path("/home/u/", "/abs/main.rs"), "/abs/main.rs");
    assert_eq!(join_path("", "main.rs"), "main.rs");
    assert_eq!(join_path("/home/u", ""), "/home/u");
    assert_eq!(without_version("serde-json-1.0.2-rc.1"), "serde-json");
    assert_eq!(without_version("serde"), "serde");
}

fn classified(function: &str, raw: Option<&str>, file: Option<&str>) -> (Origin, String) {
    let frame = SourceFrame {
        function: function.into(),
        raw: raw.map(Arc::from),
        file: file.map(Arc::from),
        line: Some(1),
        inlined: false,
        at_declaration: false,
        aliases: Vec::new(),
    };
    let function = Classifier::default().function(&frame, "/opt/my-app");
    (function.origin, function.krate)
}

#[test]
fn heapglasss_own_code_is_known_by_its_file_where_the_name_begins_with_a_codegen_unit() {
    for (file, own) in [
        ("/home/me/heapglass/tracking-alloc/src/events.rs", true),
        (
            "/home/me/heapglass/tracking-alloc/recording/src/words.rs",
            true,
        ),
        (
            "/home/me/heapglass/tracking-alloc/recorder/src/hook/event.rs",
            true,
        ),
        (
            "/home/me/.cargo/registry/src/index/heapglass-recorder-0.1.0/src/hook/event.rs",
            true,
        ),
        (
            "/home/me/.cargo/registry/src/index/tracking-alloc-0.1.0/src/events.rs",
            true,
        ),
        ("/home/me/tracking-alloc/my-app/src/events.rs", false),
        ("/home/me/tracking-alloc-tricks/src/events.rs", false),
        ("/home/me/heapglass/tracking-alloc/tests/events.rs", false),
    ] {
        let (origin, krate) = classified("events::allocated", None, Some(file));
        assert_eq!(krate == "tracking_alloc", own, "{file}");
        assert_eq!(origin == Origin::User, !own, "{file}");
    }
}

#[test]
fn the_source_file_says_whose_code_it_is() {
    let is = |function: &str, file: &str, origin: Origin, krate: &str| {
        assert_eq!(
            classified(function, None, Some(file)),
            (origin, krate.to_owned()),
            "{function} {file}"
        );
    };
    is(
        "alloc::vec::Vec<T,A>::push",
        "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/vec/mod.rs",
        Origin::Std,
        "alloc",
    );
    is(
        "push<u8>",
        "/home/u/.rustup/toolchains/s/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
        Origin::Std,
        "alloc",
    );
    is(
        "hashbrown::map::HashMap<K,V>::insert",
        "/rust/deps/hashbrown-0.16.1/src/map.rs",
        Origin::Std,
        "hashbrown",
    );
    is(
        "from_str",
        "/home/u/.cargo/registry/src/registry.example-1949/serde_json-1.0.149/src/de.rs",
        Origin::Dependency,
        "serde_json",
    );
    is(
        "x::y",
        "/home/u/.cargo/git/checkouts/tokio-util-1a2b/0c1d2e/tokio-util/src/lib.rs",
        Origin::Dependency,
        "tokio_util",
    );
    is(
        "x::y",
        "/home/u/app/vendor/rayon-core/src/job.rs",
        Origin::Dependency,
        "rayon_core",
    );
    for vendor in [
        "/rustc/59807616e1fa/library",
        "/opt/rustlib/src/rust/library",
        "/rustc/1",
    ] {
        is(
            "gimli::read::abbrev::Abbreviations::insert",
            &format!("{vendor}/vendor/gimli-0.32.3/src/read/abbrev.rs"),
            Origin::Std,
            "gimli",
        );
    }
    is("app::load", "/home/u/app/src/main.rs", Origin::User, "app");
    // A dependency's name does not make the user's derived code a dependency's.
    is(
        "<app::City as serde::de::Deserialize>::deserialize",
        "/home/u/app/src/city.rs",
        Origin::User,
        "app",
    );
    is(
        "<alloc::vec::Vec<T> as app::Load>::load",
        "/home/u/app/src/city.rs",
        Origin::User,
        "app",
    );
    is("lonely", "/home/u/x.rs", Origin::User, "my_app");
    is(
        "inflate",
        "/home/u/.cargo/registry/src/i/libz-sys-1.0.0/src/zlib/inflate.c",
        Origin::Native,
        "my-app",
    );
    // Our own crates are never the user's, wherever they are built.
    is(
        "heapglass_recorder::hook::alloc",
        "/home/u/heapglass/tracking-alloc/recorder/src/hook.rs",
        Origin::Dependency,
        "heapglass_recorder",
    );
}

#[test]
fn without_a_file_the_name_has_to_do() {
    let rust = Some("_ZN3app4load17h0123456789abcdefE");
    assert_eq!(
        classified("app::load", rust, None),
        (Origin::User, "app".to_owned())
    );
    assert_eq!(
        classified("alloc::fmt::format", rust, None),
        (Origin::Std, "alloc".to_owned())
    );
    assert_eq!(
        classified("inflate", Some("inflate"), None),
        (Origin::Native, "my-app".to_owned())
    );
    // Whoever calls these owns what they return.
    for name in ["malloc", "operator new(unsigned long)"] {
        assert_eq!(
            classified(name, Some("malloc"), None),
            (Origin::Std, "my-app".to_owned())
        );
    }
    let templates = "std::vector<int, std::allocator<int> >::reserve(unsigned long)";
    assert_eq!(
        classified(templates, Some("_ZNSt6vectorIiSaIiEE7reserveEm"), None),
        (Origin::Std, "my-app".to_owned())
    );
    assert_eq!(
        classified("__rust_alloc", Some("__rust_alloc"), None),
        (Origin::Std, "alloc".to_owned())
    );
}

#[test]
fn one_frame_with_a_file_shows_a_crate_to_be_a_dependency_everywhere() {
    let file = "/home/u/.cargo/registry/src/i/serde_json-1.0.149/src/de.rs";
    let with = SourceFrame {
        function: "serde_json::de::from_str".into(),
        raw: None,
        file: Some(file.into()),
        line: None,
        inlined: true,
        at_declaration: false,
        aliases: Vec::new(),
    };
    let without = SourceFrame {
        function: "serde_json::read::next".into(),
        raw: Some("_ZN10serde_json4read4next17h0123456789abcdefE".into()),
        file: None,
        ..with.clone()
    };
    let symbols = Symbols {
        frames: vec![vec![with], vec![without.clone()]],
        ..Symbols::default()
    };
    assert_eq!(
        Classifier::new(&symbols).function(&without, "app").origin,
        Origin::Dependency
    );
    assert_eq!(
        Classifier::default().function(&without, "app").origin,
        Origin::User
    );
}

#[test]
fn a_program_installed_from_a_registry_is_still_the_program() {
    let file = "/home/u/.cargo/registry/src/i/ripgrep-14.1.0/crates/core/main.rs";
    let frame = |function: &str| SourceFrame {
        function: function.into(),
        raw: None,
        file: Some(file.into()),
        line: Some(1),
        inlined: false,
        at_declaration: false,
        aliases: Vec::new(),
    };
    let symbols = Symbols {
        frames: vec![vec![frame("rg::search"), frame("rg::main")]],
        ..Symbols::default()
    };
    let search = Classifier::new(&symbols).function(&symbols.frames[0][0], "rg");
    assert_eq!(
        (search.origin, search.krate.as_str()),
        (Origin::User, "ripgrep")
    );
}

#[test]
fn an_unresolved_frame_is_named_by_its_module_and_offset() {
    let function = unresolved("/usr/lib/libc.so.6", 0x29d90);
    assert_eq!(
        (
            function.name.as_str(),
            function.krate.as_str(),
            function.origin
        ),
        ("libc.so.6+0x29d90", "libc.so.6", Origin::Unresolved)
    );
}

fn stack(names: &[&str]) -> Vec<Function> {
    let of = |name: &&str| {
        let (origin, krate) = match *name {
            "?" => return unresolved("libc.so.6", 1),
            name if !name.contains("::") => (Origin::Native, "app"),
            name if parsed(name)
                .krate()
                .is_some_and(|krate| matches!(krate, "std" | "core" | "alloc" | "__rustc")) =>
            {
                (Origin::Std, "std")
            }
            _ => (Origin::User, "app"),
        };
        Function {
            name: (*name).to_owned(),
            short: parsed(name).short(),
            krate: krate.to_owned(),
            origin,
            ..Function::default()
        }
    };
    names.iter().map(of).collect()
}

#[test]
fn trimming_never_leaves_nothing() {
    let range = |names: &[&str]| {
        let stack = stack(names);
        trim(&stack.iter().map(Part::of).collect::<Vec<_>>())
    };
    assert_eq!(range(&[]), 0..0);
    assert_eq!(range(&["_start"]), 0..1);
    assert_eq!(range(&["_start", "main", "std::rt::lang_start"]), 2..3);
    assert_eq!(
        range(&["alloc::alloc::alloc", "__rustc::__rust_alloc"]),
        1..2
    );
    assert_eq!(range(&["_start", "alloc::alloc::alloc"]), 0..1);
    assert_eq!(range(&["?", "?"]), 0..2);
    // Allocations of the run-time itself keep what they are about.
    assert_eq!(
        range(&[
            "_start",
            "main",
            "std::rt::init",
            "alloc::sync::Arc<T>::new",
            "alloc::alloc::alloc"
        ]),
        3..4
    );
}

#[test]
fn trimming_never_hides_the_users_own_code() {
    let range = |names: &[&str]| {
        let stack = stack(names);
        trim(&stack.iter().map(Part::of).collect::<Vec<_>>())
    };
    // The user's closure below the machinery, and a function of theirs called like the run-time's.
    assert_eq!(
        range(&[
            "app::main",
            "alloc::raw_vec::grow",
            "app::fill",
            "alloc::alloc::alloc"
        ]),
        0..3
    );
    assert_eq!(
        range(&[
            "?",
            "?",
            "std::rt::lang_start",
            "app::start_thread",
            "app::x"
        ]),
        3..5
    );
    // Nameless frames with nothing known above them stay.
    assert_eq!(range(&["?", "app::callback", "alloc::alloc::alloc"]), 0..2);
    // std called by the user is not start-up.
    assert_eq!(
        range(&[
            "app::main",
            "std::panic::catch_unwind",
            "core::ops::function::FnOnce::call_once",
            "app::x"
        ]),
        0..4
    );
}

#[test]
fn what_the_symbolizer_of_std_calls_is_std_where_no_file_says_whose_it_is() {
    let frame = |function: &str, file: Option<&str>| SourceFrame {
        function: function.into(),
        raw: Some("_ZN5gimli4read3get17h0123456789abcdefE".into()),
        file: file.map(Into::into),
        line: None,
        inlined: false,
        at_declaration: false,
        aliases: Vec::new(),
    };
    let library = "/rustc/1/library/std/src/../../backtrace/src/symbolize/gimli.rs";
    let registry = "/home/u/.cargo/registry/src/i/gimli-0.33.0/src/read.rs";
    let chains = [
        frame("app::main", Some("/app/src/main.rs")),
        frame(
            "std::backtrace_rs::symbolize::gimli::resolve",
            Some(library),
        ),
        frame("gimli::read::get", None),
        frame("addr2line::Context::find", None),
        frame("app::Alloc::alloc", Some("/app/src/main.rs")),
        frame("gimli::read::get", None),
        frame("gimli::read::put", Some(registry)),
    ];
    let symbols = Symbols {
        frames: chains.iter().cloned().map(|frame| vec![frame]).collect(),
        ..Symbols::default()
    };
    // main calls std, which calls its gimli, its addr2line and the program's allocator; main calls
    // its own gimli, too.
    let nodes = [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6)];
    let classifier = Classifier::new(&symbols).with_stacks(&symbols, nodes.into_iter());
    let origins: Vec<Origin> = (0..)
        .zip(&chains)
        .map(|(raw, frame)| classifier.function_of_raw(raw, frame, "app").origin)
        .collect();
    assert_eq!(
        origins,
        [
            Origin::User,
            Origin::Std,
            Origin::Std,
            Origin::Std,
            Origin::User,
            Origin::Dependency,
            Origin::Dependency,
        ]
    );
}

#[test]
fn what_a_macro_of_a_dependency_wrote_belongs_to_the_crate_that_called_it() {
    let registry = "/home/u/.cargo/registry/src/i";
    let frame = |function: &str, file: &str| SourceFrame {
        function: function.into(),
        file: Some(file.into()),
        line: Some(7),
        ..SourceFrame::default()
    };
    let select = format!("{registry}/tokio-1.54.1/src/macros/select.rs");
    let frames = [
        frame("app::main", "/app/src/main.rs"),
        frame(
            "axum::serve::serve",
            &format!("{registry}/axum-0.8.0/src/serve.rs"),
        ),
        frame("axum::serve::handle::{{closure}}", &select),
        frame("app::wait::{{closure}}", &select),
        frame("tokio::runtime::run", &select),
        frame("<app::City as tokio::Load>::load", &select),
    ];
    let symbols = Symbols {
        frames: frames.iter().cloned().map(|frame| vec![frame]).collect(),
        ..Symbols::default()
    };
    let classifier = Classifier::new(&symbols);
    let owners = frames.iter().map(|frame| {
        let function = classifier.function(frame, "app");
        (function.origin, function.krate)
    });
    let expected = [
        (Origin::User, "app"),
        (Origin::Dependency, "axum"),
        (Origin::Dependency, "axum"),
        (Origin::User, "app"),
        (Origin::Dependency, "tokio"),
        (Origin::Dependency, "tokio"),
    ];
    let expected = expected.map(|(origin, krate)| (origin, krate.to_owned()));
    assert_eq!(owners.collect::<Vec<_>>(), expected);
}

#[test]
fn the_preloaded_library_is_ours_before_its_names_are_read() {
    let of = |module| unresolved(module, 16);
    assert!(of("/home/u/.cache/heapglass/libheapglass_preload-1.so").is_own());
    assert!(!of("/lib/libc.so.6").is_own());
    assert_eq!(of("/lib/libc.so.6").short, "libc.so.6+0x10");
}
