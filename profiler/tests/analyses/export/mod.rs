//! Tests every format against the totals of the report and of the picture, against the rules of the
//! tools that read it, and as a golden.

mod browser;
mod dhat;
mod firefox;
mod html;
#[cfg(feature = "parquet")]
mod parquet;
mod pprof;
mod speedscope;
mod tables;

use heapglass_profiler::calltree::CallTreeOptions;
use heapglass_profiler::report::ReportOptions;
use std::collections::HashMap;
use std::io;
use std::io::Write;

use serde_json::Value;

use heapglass_fixture::{self as fixture, Builder, figures};
use heapglass_profiler::export::*;
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{
    Contents, Frame, FrameId, Frames, FunctionId, Measure, Module, Origin, Profile, ScopeId,
    ScopeKind, SymbolSource,
};
use heapglass_profiler::table::By;

fn options(format: Format) -> ReportOptions<'static> {
    ReportOptions {
        frames: format.default_frames(),
        ..ReportOptions::default()
    }
}

fn bytes(profile: &Profile, format: Format, options: &ReportOptions<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write(profile, format, options, &mut out).expect("writing to memory");
    out
}

fn text(profile: &Profile, format: Format, options: &ReportOptions<'_>) -> String {
    String::from_utf8(bytes(profile, format, options)).expect("text")
}

fn json(profile: &Profile, format: Format, options: &ReportOptions<'_>) -> Value {
    serde_json::from_slice(&bytes(profile, format, options)).expect("valid JSON")
}

/// insta's advice names its own tool; we use an alias.
fn golden(name: &str, text: &str) {
    insta::with_settings!({ description => "if the change is right, refresh with: cargo bless", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

fn golden_json(name: &str, value: &Value) {
    let text = serde_json::to_string_pretty(value).expect("JSON");
    golden(name, &text);
}

/// Has one of everything that formats contain: inlined frames at one address, two modules, a phase,
/// a field, types, a name with `;`, a frame without a name, a truncated stack, and a site without a
/// stack.
fn shop() -> Profile {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 0, 0);
    let root = b.field(load, ScopeKind::Root, "", ("shop::Catalog", 24), 1);
    let names = b.field(
        root,
        ScopeKind::Field,
        "names",
        ("alloc::vec::Vec<alloc::string::String>", 24),
        1,
    );
    let string = b.value_type("alloc::string::String");
    let main = b.function("shop::main", "shop", Origin::User);
    let parse = b.function("shop::parse::<[u8; 32]>", "shop", Origin::User);
    let from_str = b.function(
        "serde_json::de::from_str<shop::Catalog>",
        "serde_json",
        Origin::Dependency,
    );
    let push = b.function(
        "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
        "alloc",
        Origin::Std,
    );
    let malloc = b.function("libc.so.6+0x9a2e0", "libc.so.6", Origin::Unresolved);
    let main_parse = at(&mut b, main, Some(("/src/main.rs", 3)), (0, 0x1000), false);
    let main_clone = at(&mut b, main, Some(("/src/main.rs", 9)), (0, 0x1040), false);
    let parse = at(&mut b, parse, Some(("/src/lib.rs", 7)), (0, 0x2000), false);
    let from_str = at(
        &mut b,
        from_str,
        Some(("/deps/de.rs", 2701)),
        (0, 0x2000),
        true,
    );
    let clone = at(&mut b, push, Some(("/std/vec.rs", 99)), (0, 0x2000), true);
    let outer_clone = at(&mut b, push, Some(("/std/vec.rs", 99)), (0, 0x3000), false);
    let malloc = at(&mut b, malloc, None, (1, 0x9a2e0), false);
    let contents = fixture::made!(Contents {
        container: string,
        element: None,
        owner: None,
    });
    let stack = [main_parse, parse, from_str, clone];
    b.site(&stack, names, figures(800, 24, 700)).contents = Some(contents);
    // The same stack outside the field.
    b.site(&stack, load, figures(16, 24, 0)).contents = Some(contents);
    b.site(&[main_clone, outer_clone], ScopeId(0), figures(4, 1_024, 4));
    b.site(&[main_clone, malloc], ScopeId(0), figures(1, 4_096, 0))
        .marks
        .cut = true;
    b.site(&[], ScopeId(0), figures(40, 8, 1));
    surround(b)
}

fn surround(mut b: Builder) -> Profile {
    let p = b.parts();
    p.process.program = "shop".into();
    p.process.executable = "/bin/shop".into();
    p.process.command = vec!["shop".into(), "catalog.json".into()];
    p.process.pid = 4_242;
    p.process.started_unix_ns = 1_790_000_000_000_000_000;
    p.process.duration_ns = 1_840_000_000;
    p.capture.peak_error_bytes = 32_768;
    *p.modules = vec![
        fixture::made!(Module {
            path: "/bin/shop".into(),
            build_id: "5b9f0e".into(),
            symbols: SymbolSource::Debug("/bin/shop".into()),
        }),
        fixture::made!(Module {
            path: "/lib/libc.so.6".into(),
            build_id: "93ac61".into(),
            symbols: SymbolSource::Missing("it is not on this machine".into()),
        }),
    ];
    b.build()
}

/// Adds a frame of a function at a return address of a module.
fn at(
    b: &mut Builder,
    function: FunctionId,
    place: Option<(&str, u32)>,
    (module, offset): (u32, u64),
    inlined: bool,
) -> FrameId {
    let frames = &mut b.parts().frames;
    frames.push(fixture::made!(Frame {
        function,
        file: place.map(|(file, _)| file.into()),
        line: place.map(|(_, line)| line),
        module,
        offset,
        inlined,
    }));
    FrameId(frames.len() as u32 - 1)
}

/// A service after 10^12 allocations at each of two sites.
fn years() -> Profile {
    let mut b = Builder::new();
    for name in ["get", "put"] {
        let function = b.function(name, "service", Origin::User);
        let frame = b.frame(function, Some("service.rs"), 1);
        b.site(&[frame], ScopeId(0), figures(1_000_000_000_000, 1_000, 7));
    }
    b.build()
}

fn profiles() -> Vec<Profile> {
    vec![
        shop(),
        years(),
        fixture::profile(),
        fixture::fleet(),
        fixture::city_arenas(),
        Profile::default(),
    ]
}

/// Returns the format's figures for the whole program, by their keys.
fn totals(profile: &Profile, format: Format, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    match format {
        Format::Pprof => pprof::totals(profile, options),
        Format::Dhat => dhat::totals(profile, options),
        Format::Speedscope => speedscope::totals(profile, options),
        Format::Firefox => firefox::totals(profile, options),
        Format::Folded => tables::folded_totals(profile, options),
        Format::Json => tables::json_totals(profile, options),
        Format::Csv => tables::csv_totals(profile, options),
        Format::Html => html::totals(profile, options),
        other => panic!("{other:?} has no totals here"),
    }
}

#[test]
fn totals_are_the_same_in_every_format_in_the_report_and_in_the_picture() {
    for profile in profiles() {
        let report = tables::json_totals(&profile, &options(Format::Json));
        #[cfg(feature = "parquet")]
        assert_eq!(parquet::totals(&profile), report);
        for measure in Measure::COUNTED {
            for frames in Frames::ALL {
                let picture = CallTreeOptions {
                    measure,
                    frames,
                    ..CallTreeOptions::default()
                };
                let drawn = flamegraph::write_svg(&profile, &picture.into(), io::sink()).unwrap();
                assert_eq!(drawn.total, report[measure.key()], "{measure:?} {frames:?}");
                for format in Format::ALL {
                    let options = ReportOptions {
                        measure,
                        frames,
                        ..options(format)
                    };
                    let totals = totals(&profile, format, &options);
                    assert!(!totals.is_empty(), "{format:?}");
                    for (key, total) in totals {
                        let program = &profile.process().program;
                        let what = format!("{key} of {program}, {format:?} {measure:?} {frames:?}");
                        assert_eq!(total, report[&key], "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_format_is_found_by_its_name_and_only_by_that() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
    }
    assert_eq!(Format::from_name("xml"), None);
}

/// A name with what terminals and readers of lines take for commands.
const EVIL: &str = "evil\u{1b}[31m\n\u{202e};name";

/// Returns a program with one site, in which everything has this name.
fn named(name: &str) -> Profile {
    let mut b = Builder::new();
    let scope = b.scope(0, name, 0, 0);
    let function = b.function(name, name, Origin::User);
    let frame = b.frame(function, Some(name), 1);
    b.site(&[frame], scope, figures(1, 1, 1));
    let mut profile = b.build();
    profile.parts().process.program = name.into();
    profile.parts().process.command = vec![name.into()];
    profile
}

#[test]
fn no_control_character_of_a_recorded_name_gets_into_a_format() {
    let profile = named(EVIL);
    for format in Format::ALL {
        for by in [By::Site, By::Owner, By::Function, By::Crate] {
            let options = ReportOptions {
                by,
                ..options(format)
            };
            let text = match format {
                Format::Pprof => pprof::decode(&profile, &options).string_table.join(" "),
                _ => text(&profile, format, &options),
            };
            let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(bad), "{format:?}: {text:?}");
            // A quoted line break in JSON does not end a line. A table has one line per row and one
            // for its titles.
            if matches!(format, Format::Folded | Format::Csv) {
                let lines = text.lines().count();
                assert_eq!(lines, if format == Format::Csv { 2 } else { 1 }, "{text:?}");
            }
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_told_from_other_failures() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in Format::ALL {
        let error = write(&shop(), format, &options(format), Gone).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format:?}");
    }
}

#[test]
fn notes_are_the_bound_of_the_peak_and_all_losses() {
    let said = notes(&shop());
    assert_eq!(said[0], "The peak is exact to within 32.0 KiB.");
    assert_eq!(said[1..], *shop().losses());
    assert!(notes(&Profile::default()).is_empty());
}
