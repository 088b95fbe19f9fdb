//! Frames, functions and modules: with the names packed with a recording, and without names.

use super::made::{add_lanes, add_sites, empty, lane, load, row};
use crate::parts::{Parts, seal};
use heapglass_profiler::OpenOptions;
use heapglass_profiler::profile::{Frame, Profile, Site, StackMarks, SymbolSource};
use tracking_alloc_recording::*;

const CUT_AND_DEEP: u32 = site_flags::CUT | site_flags::DEEP;

/// Returns a recording with three images, a frame in each, and four sites: `main > load > alloc`,
/// `main > ?` (with flags), one without a stack, and one without a stack in a phase. The second
/// image is the executable.
fn named() -> Parts {
    let mut parts = empty();
    let paths = ["/usr/lib/libheap.so.1", "/bin/app", "/tmp/plugin"].map(|path| parts.string(path));
    let phase = parts.string("phase");
    parts.header.executable = paths[1];
    let module = |path, id_kind, id_bytes| ModuleValue {
        path,
        id_kind,
        id_bytes,
        id: [0x0807_0605_0403_0201, 9, 0, 0],
        ..ModuleValue::default()
    };
    let modules = [
        ModuleValue::default(),
        module(paths[0], module_id::BUILD_ID, 10),
        module(paths[1], module_id::FILE, 0),
        module(paths[2], 0, 0),
    ];
    parts.append(table::MODULES, 0, &modules);
    parts.header.modules_len = 4;
    let frame = |module, offset| FrameValue {
        module,
        offset,
        ..FrameValue::default()
    };
    let frames = [frame(0, 0), frame(2, 0x10), frame(1, 0x20), frame(3, 0x30)];
    parts.append(table::FRAMES, 0, &frames);
    parts.header.frames_len = 4;
    let stacks =
        [(0, 0), (0, 1), (1, 2), (1, 3)].map(|(parent, frame)| StackValue { parent, frame });
    parts.append(table::STACKS, 0, &stacks);
    parts.header.stacks_len = 4;
    let scope = ScopeValue {
        kind: scope_kind::PHASE,
        name: phase,
        depth: 1,
        ..ScopeValue::default()
    };
    parts.append(table::SCOPES, 0, &[scope]);
    parts.header.scopes_len += 1;
    let site = |stack, scope, flags| SiteValue {
        stack,
        scope,
        flags,
        ..SiteValue::default()
    };
    add_sites(
        &mut parts,
        &[
            site(2, 0, 0),
            site(3, 0, CUT_AND_DEEP),
            site(0, 0, 0),
            site(0, 1, 0),
        ],
    );
    let rows = [0, 1, 2, 3].map(|number| row(FIRST_SITE + number, (10, 1), (0, 0), (10, 1)));
    let none = [RowValue::default(); 2];
    add_lanes(&mut parts, &[(lane(b"main\0\0\0\0"), &rows, none)]);
    (parts.header.peak_bytes, parts.header.peak_bound_bytes) = (40, 40);
    parts
}

/// The names of the first two frames: `load` was inlined into `main`.
fn symbols() -> serde_json::Value {
    let frame = |function: u32, file: u32, line: u32, inlined: bool| serde_json::json!({"function": function, "raw": 0, "file": file, "line": line, "inlined": inlined});
    serde_json::json!({
        "format": 1,
        "strings": ["app::main", "app::load", "src/main.rs", "heap_alloc"],
        "frames": [[], [frame(2, 3, 7, true), frame(1, 3, 9, false)], [frame(4, 0, 0, false)], []],
        "sources": {"3": [[7, "    load()"]]},
        "notes": ["a note of the packer"],
    })
}

fn packed(symbols: &serde_json::Value) -> Vec<u8> {
    let mut bytes = named().bytes();
    seal(&mut bytes);
    with_symbols(bytes, symbols.to_string().as_bytes()).expect("a recording")
}

fn open(bytes: &[u8], options: &OpenOptions) -> Result<Profile, heapglass_profiler::Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("named.hg");
    std::fs::write(&path, bytes).expect("written");
    heapglass_profiler::open(&path, options, &|_| ())
}

fn names<'a>(profile: &'a Profile, site: &Site) -> Vec<&'a str> {
    let frames = profile.stack(site).into_iter();
    frames
        .map(|frame| profile.function(frame).name.as_str())
        .collect()
}

fn frames<'a>(profile: &'a Profile, site: &Site) -> Vec<&'a Frame> {
    let frames = profile.stack(site).into_iter();
    frames
        .map(|frame| &profile.frames()[frame.0 as usize])
        .collect()
}

#[test]
fn packed_names_files_and_lines_are_those_of_the_frames() {
    let profile = open(&packed(&symbols()), &OpenOptions::default()).expect("a recording");
    let [first, second, third, fourth] = profile.sites() else {
        panic!("four sites: {:?}", profile.sites());
    };
    assert_eq!(
        names(&profile, first),
        ["app::main", "app::load", "heap_alloc"]
    );
    let told: Vec<_> = frames(&profile, first)
        .into_iter()
        .map(|frame| {
            (
                frame.file.as_deref(),
                frame.line,
                frame.module,
                frame.offset,
                frame.inlined,
            )
        })
        .collect();
    let file = Some("src/main.rs");
    let expected = [
        (file, Some(9), 0, 0x10, false),
        (file, Some(7), 0, 0x10, true),
        (None, None, 1, 0x20, false),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        first.owner,
        Some(profile.stack(first)[1]),
        "the innermost frame of the program's own"
    );
    assert_eq!(names(&profile, second)[..2], ["app::main", "app::load"]);
    let unnamed = names(&profile, second)[2];
    assert!(
        unnamed.contains("plugin") && unnamed.contains("30"),
        "{unnamed}"
    );
    assert_eq!(frames(&profile, second)[2].module, 2);
    assert_eq!(frames(&profile, second)[2].offset, 0x30);
    let marks = heapglass_fixture::made!(StackMarks {
        cut: true,
        deep: true,
    });
    assert_eq!((first.marks, second.marks), (StackMarks::default(), marks));
    assert_eq!(names(&profile, third), ["(no stack)"]);
    assert_eq!(names(&profile, fourth), ["(no stack)"]);
    assert_eq!((third.scope.0, fourth.scope.0), (0, 1));
    assert_eq!(profile.lost().unresolved_frames, 1);
    assert!(
        profile
            .lost()
            .notes
            .iter()
            .any(|note| note == "a note of the packer")
    );
    let lines = profile.source_lines("src/main.rs").expect("lines");
    assert_eq!(lines, [(7, "    load()".to_owned())]);
    let modules: Vec<_> = profile
        .modules()
        .iter()
        .map(|module| {
            (
                module.path.as_str(),
                module.build_id.as_str(),
                &module.symbols,
            )
        })
        .collect();
    let expected = [
        ("/bin/app", "", &SymbolSource::Packed),
        (
            "/usr/lib/libheap.so.1",
            "01020304050607080900",
            &SymbolSource::Packed,
        ),
        ("/tmp/plugin", "", &SymbolSource::Packed),
    ];
    assert_eq!(modules, expected);
}

#[test]
fn without_stacks_a_site_is_charged_to_its_phase_alone() {
    let mut parts = named();
    parts.header.unwinder = unwinder::NONE;
    let profile = load(&parts);
    assert_eq!(
        names(&profile, &profile.sites()[2]),
        ["(no stack)"],
        "it has neither"
    );
    assert_eq!(names(&profile, &profile.sites()[3]), [""; 0]);
    assert_eq!(profile.sites()[3].owner, None);
}

#[test]
fn frames_of_binaries_that_are_not_there_keep_their_place() {
    let profile = load(&named());
    let first = names(&profile, &profile.sites()[0]);
    assert!(
        first[0].contains("app") && first[0].contains("10"),
        "{first:?}"
    );
    assert!(
        first[1].contains("libheap.so.1") && first[1].contains("20"),
        "{first:?}"
    );
    assert_eq!(profile.lost().unresolved_frames, 3);
}

#[test]
fn a_binary_that_was_changed_since_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("app");
    std::fs::copy("/proc/self/exe", &binary).expect("a binary");
    let length = std::fs::metadata(&binary).expect("its length").len();
    let missing = |size| {
        let mut parts = named();
        let path = parts.string(binary.to_str().expect("UTF-8"));
        for (segment, bytes) in &mut parts.segments {
            if segment.table == table::MODULES {
                let at = 3 * ModuleValue::SIZE;
                let module = ModuleValue {
                    path,
                    id_kind: module_id::FILE,
                    id: [size, 0, 0, 0],
                    ..ModuleValue::default()
                };
                bytes[at..at + ModuleValue::SIZE].copy_from_slice(&module.to_bytes());
            }
        }
        let profile = load(&parts);
        let mut modules = profile.modules().iter();
        let module =
            modules.find(|module| module.path.ends_with("/app") && module.path != "/bin/app");
        match &module.expect("it").symbols {
            SymbolSource::Missing(why) => why.clone(),
            _ => String::new(),
        }
    };
    let changed = "was changed since (size or modification time differ)";
    assert!(missing(length + 1).contains(changed));
    assert!(!missing(length).contains(changed));
}

#[test]
fn what_was_packed_is_packed_again_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("named.hg");
    let pack = |bytes: &[u8], options: &OpenOptions| {
        std::fs::write(&path, bytes).expect("written");
        heapglass_profiler::pack(&path, options, &|_| ())
    };
    let once = packed(&symbols());
    let again = pack(&once, &OpenOptions::default()).expect("packed");
    let profile = open(&again, &OpenOptions::default()).expect("a recording");
    assert_eq!(
        names(&profile, &profile.sites()[0]),
        ["app::main", "app::load", "heap_alloc"]
    );
    assert!(profile.source_lines("src/main.rs").is_some());
    // If a binary is found, its symbols are used; this file is not a binary.
    let mut options = OpenOptions::default();
    options.symbols.binary = Some(folder.path().join("missing"));
    let error = pack(&once, &options).expect_err("there is no such file");
    assert!(error.is_binary() && !error.is_foreign(), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    // None of the binaries exist: frames keep their positions, and the packed file reports this.
    let mut bytes = named().bytes();
    seal(&mut bytes);
    let packed = pack(&bytes, &OpenOptions::default()).expect("packed");
    let profile = open(&packed, &OpenOptions::default()).expect("a recording");
    assert_eq!(profile.lost().unresolved_frames, 3);
    assert!(
        profile
            .modules()
            .iter()
            .all(|module| module.symbols == SymbolSource::Packed)
    );
}

#[test]
fn damaged_symbols_and_other_files_are_told_apart() {
    let mut of_later = symbols();
    of_later["format"] = 2.into();
    let error = open(&packed(&of_later), &OpenOptions::default()).expect_err("another format");
    assert!(!error.is_binary() && !error.is_foreign());
    let told = error.to_string();
    assert!(
        told.contains("named.hg") && told.contains("format 2"),
        "{told}"
    );
    assert!(std::error::Error::source(&error).is_none());
    let error =
        open(b"a letter, not a recording", &OpenOptions::default()).expect_err("no recording");
    assert!(error.is_foreign() && !error.is_binary());
    assert!(error.path().ends_with("named.hg"));
    assert!(error.to_string().contains("named.hg"));
    assert!(std::error::Error::source(&error).is_some());
}
