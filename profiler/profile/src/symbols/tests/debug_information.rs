//! Names, files and lines at each level of debug information and with both manglings.

use super::programs::*;
use super::*;

/// The flags of a build, and what `Grid::fill`, an inlined `Vec::push`, an inlined `Grid::one` are
/// called in it.
struct Build {
    flags: &'static [&'static str],
    fill: &'static str,
    push: &'static str,
    one: &'static str,
}

const BUILDS: &[Build] = &[
    Build {
        flags: &["-Cdebuginfo=2"],
        fill: "shapes::shapes::Grid<T>::fill<u16>",
        push: "alloc::vec::Vec<T,A>::push<u16, alloc::alloc::Global>",
        one: "shapes::shapes::Grid<T>::one<u16>",
    },
    Build {
        flags: &["-Cdebuginfo=1"],
        fill: "shapes::shapes::Grid<T>::fill<u16>",
        push: "alloc::vec::Vec<T,A>::push<u16, alloc::alloc::Global>",
        one: "shapes::shapes::Grid<T>::one<u16>",
    },
    Build {
        flags: &["-Cdebuginfo=1", "-Csymbol-mangling-version=v0"],
        fill: "<shapes::shapes::Grid<u16>>::fill",
        push: "<alloc::vec::Vec<u16>>::push",
        one: "<shapes::shapes::Grid<u16>>::one",
    },
    // No linkage names: the concrete function's comes from the symbol table, the module of inlined
    // ones from their file.
    Build {
        flags: &["-Cdebuginfo=line-tables-only"],
        fill: "shapes::shapes::Grid<T>::fill<u16>",
        push: "alloc::vec::push<u16, alloc::alloc::Global>",
        one: "shapes::one<u16>",
    },
    Build {
        flags: &[
            "-Cdebuginfo=line-tables-only",
            "-Csymbol-mangling-version=v0",
        ],
        fill: "<shapes::shapes::Grid<u16>>::fill",
        push: "alloc::vec::push<u16, alloc::alloc::Global>",
        one: "shapes::one<u16>",
    },
    Build {
        flags: &[
            "-Cdebuginfo=line-tables-only",
            "-Clto=fat",
            "-Ccodegen-units=1",
        ],
        fill: "shapes::shapes::Grid<T>::fill<u16>",
        push: "alloc::vec::push<u16, alloc::alloc::Global>",
        one: "shapes::one<u16>",
    },
    Build {
        flags: &["-Cdebuginfo=1", "-Clto=fat"],
        fill: "shapes::shapes::Grid<T>::fill<u16>",
        push: "alloc::vec::Vec<T,A>::push<u16, alloc::alloc::Global>",
        one: "shapes::shapes::Grid<T>::one<u16>",
    },
];

fn check(build: &Build, binary: &Path) {
    let flags = build.flags;
    let fill = resolved(binary, &function(binary, "::fill"));
    assert_eq!(
        fill.modules,
        [SymbolSource::Debug(binary.to_path_buf())],
        "{flags:?}: {:?}",
        fill.notes
    );
    assert!(
        has(&fill, build.fill, 9),
        "{flags:?}: {:?}",
        names_in(&fill)
    );
    assert!(
        names_in(&fill).contains(build.push),
        "{flags:?}: {:?}",
        names_in(&fill)
    );
    // Inlining is told from the outside in: the concrete function last, at the line of its call.
    for chain in fill
        .frames
        .iter()
        .filter(|chain| chain.iter().any(|frame| &*frame.function == build.push))
    {
        let outermost = chain.last().expect("a frame");
        assert_eq!(
            (&*outermost.function, outermost.line, outermost.inlined),
            (build.fill, Some(9), false),
            "{flags:?}"
        );
        let push = chain
            .iter()
            .find(|frame| &*frame.function == build.push)
            .expect("the inlined push");
        assert!(push.inlined, "{flags:?}");
        assert!(
            push.file
                .as_deref()
                .is_some_and(|file| file.ends_with("library/alloc/src/vec/mod.rs")),
            "{flags:?}: {push:?}"
        );
    }

    let once = resolved(binary, &function(binary, "::once"));
    assert!(
        has(&once, "shapes::once", 32),
        "{flags:?}: {:?}",
        names_in(&once)
    );
    assert!(
        has(&once, build.one, 14),
        "{flags:?}: {:?}",
        names_in(&once)
    );
    let load = resolved(binary, &function(binary, "::load"));
    assert!(
        has(
            &load,
            "<shapes::shapes::Grid<u16> as shapes::shapes::Load>::load",
            21
        ),
        "{flags:?}: {:?}",
        names_in(&load)
    );
}

#[test]
fn names_files_and_lines_are_right_at_every_level_and_mangling() {
    let folder = tempfile::tempdir().expect("a folder");
    for level in BUILDS {
        check(level, &build(folder.path(), "shapes", SHAPES, level.flags));
    }
}
