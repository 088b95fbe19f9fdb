//! Names from another build are plausible and wrong: every way to get hold of them is refused.

use super::programs::*;
use super::*;

fn rebuilt(folder: &Path) -> (PathBuf, ModuleRef<'static>, std::ops::Range<u64>) {
    let binary = build(folder, "shapes", SHAPES, &["-Cdebuginfo=1"]);
    let identity = module(&binary).identity;
    let extent = function(&binary, "::fill");
    let path: &'static str = binary.to_str().expect("UTF-8").to_owned().leak();
    build(
        folder,
        "shapes",
        &SHAPES.replace("fill(3u16, 10)", "fill(3u16, 11)"),
        &["-Cdebuginfo=1"],
    );
    (binary, ModuleRef { path, identity }, extent)
}

#[test]
fn a_rebuilt_binary_names_nothing_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, module, extent) = rebuilt(folder.path());
    let symbols = resolve(
        &[module],
        &raw_frames(&extent),
        &SymbolOptions::default(),
        &|_| (),
    )
    .expect("resolving");
    assert!(symbols.frames.iter().all(Vec::is_empty));
    let SymbolSource::Missing(why) = &symbols.modules[0] else {
        panic!("{:?}", symbols.modules)
    };
    assert!(
        why.contains("was rebuilt since (build-id") && why.contains("--binary"),
        "{why}"
    );
    assert!(
        symbols.notes.iter().any(|note| note.contains(why)),
        "{:?}",
        symbols.notes
    );
}

#[test]
fn a_binary_given_by_name_must_be_the_one_that_ran() {
    let folder = tempfile::tempdir().expect("a folder");
    let (binary, module, extent) = rebuilt(folder.path());
    let frames = raw_frames(&extent);
    let with = |path: &Path| SymbolOptions {
        binary: Some(path.to_path_buf()),
        ..SymbolOptions::default()
    };
    let error = resolve(
        std::slice::from_ref(&module),
        &frames,
        &with(&binary),
        &|_| (),
    )
    .expect_err("another build");
    let text = error.to_string();
    assert!(
        text.contains("is not the binary that was recorded") && text.contains("--binary"),
        "{text}"
    );
    let error = resolve(
        &[module],
        &frames,
        &with(&folder.path().join("nowhere")),
        &|_| (),
    )
    .expect_err("no file");
    let text = error.to_string();
    assert!(
        text.contains("cannot read symbols from") && text.contains("nowhere"),
        "{text}"
    );
}

#[test]
fn a_binary_given_by_name_stands_for_the_module_of_its_build() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = build(folder.path(), "shapes", SHAPES, &["-Cdebuginfo=1"]);
    let identity = module(&binary).identity;
    let extent = function(&binary, "::fill");
    let moved = folder.path().join("elsewhere");
    std::fs::rename(&binary, &moved).expect("moving");
    let modules = [
        ModuleRef {
            path: "/opt/other",
            identity: Identity::BuildId(vec![1; 20]),
        },
        ModuleRef {
            path: "/opt/shapes (deleted)",
            identity,
        },
    ];
    let frames: Vec<_> = raw_frames(&extent)
        .into_iter()
        .map(|(_, offset)| (1, offset))
        .collect();
    let options = SymbolOptions {
        binary: Some(moved.clone()),
        ..SymbolOptions::default()
    };
    let symbols = resolve(&modules, &frames, &options, &|_| ()).expect("resolving");
    assert!(has(&symbols, "shapes::shapes::Grid<T>::fill<u16>", 9));
    assert_eq!(
        symbols.modules,
        [SymbolSource::NotNeeded, SymbolSource::Debug(moved)]
    );
}

#[test]
fn a_binary_without_a_build_id_is_known_by_size_and_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = build(
        folder.path(),
        "shapes",
        SHAPES,
        &["-Cdebuginfo=1", "-Clink-arg=-Wl,--build-id=none"],
    );
    let extent = function(&binary, "::fill");
    let metadata = std::fs::metadata(&binary).expect("metadata");
    let modified = metadata
        .modified()
        .expect("a time")
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970");
    let (size, mtime_ns) = (
        metadata.len(),
        u64::try_from(modified.as_nanos()).expect("this century"),
    );
    let path = binary.to_str().expect("UTF-8");
    let named = |identity: Identity, options: &SymbolOptions| {
        let symbols = resolve(
            &[ModuleRef { path, identity }],
            &raw_frames(&extent),
            options,
            &|_| (),
        )
        .expect("resolving");
        has(&symbols, "shapes::shapes::Grid<T>::fill<u16>", 9)
    };
    let nothing = SymbolOptions::default();
    assert!(named(Identity::File { size, mtime_ns }, &nothing));
    assert!(named(Identity::None, &nothing));
    assert!(!named(
        Identity::File {
            size: size + 1,
            mtime_ns
        },
        &nothing
    ));
    assert!(!named(
        Identity::File {
            size,
            mtime_ns: mtime_ns + 1
        },
        &nothing
    ));
    assert!(!named(Identity::BuildId(vec![7; 20]), &nothing));
    // A copy given by name has a time of its own.
    let given = SymbolOptions {
        binary: Some(binary.clone()),
        ..SymbolOptions::default()
    };
    assert!(named(Identity::File { size, mtime_ns: 1 }, &given));
}
