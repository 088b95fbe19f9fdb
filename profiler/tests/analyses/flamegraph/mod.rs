//! Tests the picture against the totals, with hostile names and shapes, and as self-contained XML.

mod arenas;
mod data;
mod holders;

use heapglass_fixture::{self as fixture, Builder, figures};
use heapglass_profiler::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
use heapglass_profiler::flamegraph::*;
use heapglass_profiler::profile::{
    Figures, FrameId, Frames, Measure, Origin, Profile, ScopeId, StackMarks,
};
use heapglass_profiler::question::Question;
use std::io;
use std::io::Write;

fn draw(profile: &Profile, options: &CallTreeOptions) -> (String, PictureTotals) {
    let mut out = Vec::new();
    let drawn = write_svg(profile, &(*options).into(), &mut out).expect("drawing into memory");
    (String::from_utf8(out).expect("an SVG is text"), drawn)
}

/// Returns the titles of every frame without the size that follows the name.
fn tooltips(svg: &str) -> Vec<String> {
    let named = titles(svg).into_iter().map(|title| {
        let Some((label, rest)) = title.rsplit_once(" (") else {
            return title;
        };
        if label.starts_with('[') && label.ends_with("draw]") {
            return title;
        }
        let (name, size) = label.rsplit_once(' ').expect("a size");
        let name = match size {
            "B" | "KiB" | "MiB" | "GiB" => name.rsplit_once(' ').expect("a figure").0,
            count => {
                assert!(count.replace(',', "").parse::<u64>().is_ok(), "{title}");
                name
            }
        };
        format!("{name} ({rest}")
    });
    named.collect()
}

/// Returns the texts between `<title>` and `</title>` of every frame, unescaped.
fn titles(svg: &str) -> Vec<String> {
    let frames = svg
        .split_once("id=\"frames\"")
        .expect("a picture has frames")
        .1;
    let unescape = |text: &str| {
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'");
        text.replace("&amp;", "&")
    };
    frames
        .split("<title>")
        .skip(1)
        .map(|rest| unescape(rest.split("</title>").next().unwrap_or("")))
        .collect()
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element
        .split_once(&format!("{name}=\""))
        .expect("the attribute is there");
    rest.split('"').next().unwrap_or("")
}

/// Checks what an XML parser requires: balanced elements, only the five entities, and no control
/// characters.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains("]]>"), "{text:?}");
        for (entity, _) in text.match_indices('&') {
            let entity = &text[entity..];
            let known = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#39;"]
                .iter()
                .any(|e| entity.starts_with(e));
            assert!(known, "a bare & in {text:?}");
        }
        rest = &rest[at..];
        let skip = [
            ("<![CDATA[", "]]>"),
            ("<!--", "-->"),
            ("<?", "?>"),
            ("<!", ">"),
        ];
        if let Some((_, end)) = skip.iter().find(|(start, _)| rest.starts_with(start)) {
            rest = &rest[rest.find(end).expect("it ends") + end.len()..];
            continue;
        }
        let end = rest.find('>').expect("every tag ends");
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap_or(""));
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    assert!(
        !svg.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
        "a control character got through"
    );
}

#[test]
fn the_root_of_every_picture_is_the_total_of_its_measure() {
    let profile = fixture::profile();
    for measure in Measure::COUNTED {
        for inverted in [false, true] {
            let (svg, drawn) = draw(
                &profile,
                &CallTreeOptions {
                    measure,
                    inverted,
                    scopes: true,
                    ..CallTreeOptions::default()
                },
            );
            let total = measure.of(profile.totals());
            assert_eq!(drawn.total, total);
            let frames = svg.split_once("<svg id=\"frames\"").expect("frames").1;
            assert_eq!(
                attribute(frames, "total_samples"),
                total.to_string(),
                "{}",
                measure.name()
            );
            let titled = tooltips(&svg)
                .iter()
                .filter(|t| !t.starts_with("[too narrow"))
                .count();
            assert_eq!(titled, drawn.frames + 1);
            assert!(
                tooltips(&svg)
                    .iter()
                    .any(|t| t.starts_with("all (") && t.contains("100.0 %"))
            );
            assert_well_formed(&svg);
        }
    }
}

#[test]
fn tooltips_say_bytes_blocks_share_and_place() {
    let mut b = Builder::new();
    let main = b.function("app::main", "app", Origin::User);
    let push = b.function("alloc::vec::Vec<T,A>::push", "alloc", Origin::Std);
    let (main, push) = (
        b.frame(main, Some("src/main.rs"), 3),
        b.frame(push, Some("vec/mod (1).rs"), 9),
    );
    b.site(&[main, push], ScopeId(0), figures(1_000, 1_024, 1_000));
    b.site(&[main], ScopeId(0), figures(3_000, 1_024, 3_000));
    let (svg, _) = draw(
        &b.build(),
        &CallTreeOptions {
            frames: Frames::All,
            ..CallTreeOptions::default()
        },
    );
    let tooltips = titles(&svg);
    let expected = "Vec::push 1000.0 KiB (1,024,000 bytes = 1000.0 KiB, 1,000 blocks, 25.0 %; alloc::vec::Vec<T,A>::push; vec/mod [1].rs:9)";
    assert!(tooltips.iter().any(|t| t == expected), "{tooltips:#?}");
    let expected = "app::main 3.9 MiB (4,096,000 bytes = 3.9 MiB, 4,000 blocks, 100.0 %; itself 2.9 MiB; src/main.rs:3)";
    assert!(tooltips.iter().any(|t| t == expected), "{tooltips:#?}");
    // The labels have sizes, and cut ones end in dots.
    assert!(svg.contains(">Vec::push 1000.0 KiB</text>"), "{svg}");
    // Few rows are high, and the picture has a dark scheme.
    assert!(svg.contains("height=\"23\""), "{svg}");
    assert!(svg.contains("@media (prefers-color-scheme: dark)"));
    // inferno's script creates the label from everything before the last bracket.
    assert!(
        tooltips
            .iter()
            .all(|t| t.ends_with(')') && t.rfind('(').is_some_and(|at| !t[at..].contains(") ")))
    );
}

/// Returns the title of a picture.
fn titled(profile: &Profile, measure: Measure, within: Option<ScopeId>) -> String {
    let (svg, _) = draw(
        profile,
        &CallTreeOptions {
            measure,
            within,
            ..CallTreeOptions::default()
        },
    );
    let at = svg.find("id=\"title\"").expect("a title");
    svg[at..]
        .split('>')
        .nth(1)
        .and_then(|t| t.split('<').next())
        .expect("text")
        .to_owned()
}

#[test]
fn the_title_of_a_phase_has_the_number_of_the_phase() {
    let mut b = Builder::new();
    let phase = b.scope(0, "load", 0, 0);
    for (scope, blocks) in [(ScopeId(0), 7), (phase, 5)] {
        let function = b.function("main", "app", Origin::User);
        let frame = b.frame(function, None, 0);
        b.site(&[frame], scope, figures(blocks, 100, blocks));
    }
    let profile = b.build();
    let title = titled(&profile, Measure::Blocks, None);
    assert!(title.contains(", 12, exact"), "{title}");
    let title = titled(&profile, Measure::Blocks, Some(phase));
    assert!(title.contains(", 5, exact"), "{title}");
}

#[test]
fn the_title_says_how_exact_the_peak_is() {
    let mut profile = fixture::profile();
    let titled = |profile: &Profile, measure| titled(profile, measure, None);
    assert!(titled(&profile, Measure::Peak).starts_with("cities: bytes live at the peak, "));
    assert!(titled(&profile, Measure::Peak).ends_with(", within 128.0 KiB"));
    assert!(titled(&profile, Measure::Total).ends_with(", exact"));
    profile.parts().capture.peak_error_bytes = 0;
    assert!(titled(&profile, Measure::Peak).ends_with(", exact"));
    profile.parts().lost.untracked_blocks = 1;
    assert!(titled(&profile, Measure::Live).ends_with(", not exact, see the report"));
    assert!(titled(&profile, Measure::Total).ends_with(", exact"));
}

#[test]
fn hostile_names_stay_text() {
    let names = [
        "</title><script>alert(1)</script>",
        "]]><b>&amp;\u{0}\u{1b}[31m\u{202e}",
        "a;b 12 13",
        "all",
        "rest",
        "7",
        "--",
        "\u{fffe}",
        "f_[k]",
        "",
        "\" onload='x' \n",
    ];
    let mut b = Builder::new();
    let scope = b.scope(0, "<&>\u{7}", 0, 0);
    for (i, name) in names.iter().enumerate() {
        let function = b.function(name, name, Origin::User);
        let frame = b.frame(function, Some(name), 1);
        b.site(&[frame, frame], scope, figures(10 + i as u64, 100, 9))
            .marks = fixture::made!(StackMarks { cut: i % 2 == 0 });
    }
    b.parts().process.program = "<p>\u{1b}".into();
    let (svg, drawn) = draw(
        &b.build(),
        &CallTreeOptions {
            frames: Frames::All,
            scopes: true,
            within: Some(scope),
            ..CallTreeOptions::default()
        },
    );
    assert_well_formed(&svg);
    assert_eq!(drawn.frames, 2 + 2 * names.len());
    let tooltips = tooltips(&svg);
    assert!(
        tooltips
            .iter()
            .any(|t| t.starts_with("</title><script>alert(1)</script> (")),
        "{tooltips:#?}"
    );
    assert!(tooltips.iter().any(|t| t.starts_with("a;b 12 13 (")));
    assert!(!svg.contains("<script>alert"));
}

#[test]
fn nothing_outside_the_file_is_loaded() {
    let (svg, _) = draw(&fixture::profile(), &CallTreeOptions::default());
    for reference in [
        "href=",
        "src=",
        "@import",
        "url(http",
        "@font-face",
        "fetch(",
    ] {
        assert!(!svg.contains(reference), "{reference}");
    }
}

#[test]
fn the_root_is_at_the_top_unless_the_picture_is_to_grow_upwards() {
    let profile = fixture::profile();
    for (inverted, upwards) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut question = Question::default();
        question.shape.inverted = inverted;
        question.shape.upwards = upwards;
        let mut out = Vec::new();
        write_svg(&profile, &question, &mut out).expect("drawing into memory");
        let svg = String::from_utf8(out).expect("an SVG is text");
        let frames = svg.split_once("id=\"frames\"").expect("frames").1;
        let mut root = None;
        let mut others: Vec<u64> = Vec::new();
        for frame in frames.split("<g>").skip(1) {
            let y = attribute(frame, " y").parse().expect("a number");
            if frame.starts_with("<title>all ") {
                root = Some(y);
            } else {
                others.push(y);
            }
        }
        let root = root.expect("a root");
        let is_first = others.iter().all(|y| *y > root);
        let is_last = others.iter().all(|y| *y < root);
        assert_eq!(
            (is_first, is_last),
            (!upwards, upwards),
            "inverted: {inverted}"
        );
        let side = if upwards {
            "callers above"
        } else {
            "callers below"
        };
        assert_eq!(svg.contains(side), inverted, "{side}");
    }
}

#[test]
fn the_same_profile_draws_the_same_bytes() {
    let profile = fixture::profile();
    assert_eq!(
        draw(&profile, &CallTreeOptions::default()).0,
        draw(&profile, &CallTreeOptions::default()).0
    );
}

#[test]
fn the_widest_frames_stand_left_and_a_caller_is_not_torn_apart() {
    let mut b = Builder::new();
    // Sorted as text, `main::x` would come between `main` and `main;f`.
    let stacks: [(&[&str], u64); 4] = [
        (&["main"], 5),
        (&["main::x", "g"], 90),
        (&["main", "f"], 7),
        (&["main", "e"], 20),
    ];
    for (stack, blocks) in stacks {
        let functions: Vec<_> = stack
            .iter()
            .map(|name| b.function(name, "k", Origin::User))
            .collect();
        let stack: Vec<FrameId> = functions.into_iter().map(|f| b.frame(f, None, 0)).collect();
        b.site(&stack, ScopeId(0), figures(blocks, 1, blocks));
    }
    let (svg, _) = draw(
        &b.build(),
        &CallTreeOptions {
            measure: Measure::Live,
            ..CallTreeOptions::default()
        },
    );
    let mut frames: Vec<(u64, String)> = svg
        .split("<g>")
        .skip(1)
        .map(|g| {
            (
                attribute(g, "fg:x").parse().expect("a number"),
                tooltips(&format!("id=\"frames\"{g}")).remove(0),
            )
        })
        .collect();
    frames.sort();
    let at: Vec<(u64, &str)> = frames
        .iter()
        .map(|(x, tooltip)| (*x, tooltip.split(' ').next().unwrap_or("")))
        .collect();
    assert_eq!(
        at,
        [
            (0, "all"),
            (0, "g"),
            (0, "main::x"),
            (90, "e"),
            (90, "main"),
            (110, "f")
        ]
    );
}

#[test]
fn what_is_too_narrow_is_counted_and_stays_in_its_caller() {
    let mut b = Builder::new();
    let main = b.function("main", "k", Origin::User);
    let main = b.frame(main, None, 0);
    for i in 0..50 {
        let tiny = b.function(&format!("tiny{i}"), "k", Origin::User);
        let tiny = b.frame(tiny, None, 0);
        b.site(&[main, tiny], ScopeId(0), figures(1, 1, 1));
        b.site(&[tiny], ScopeId(0), figures(1, 1, 1));
    }
    b.site(&[main], ScopeId(0), figures(1, 10_000_000, 1));
    let (svg, drawn) = draw(&b.build(), &CallTreeOptions::default());
    assert_eq!(
        (drawn.frames, drawn.elided, drawn.total),
        (1, 100, 10_000_100)
    );
    assert!(
        svg.contains("frames below 1001 B not drawn: 100"),
        "the subtitle says so"
    );
    let tooltips = tooltips(&svg);
    assert!(
        tooltips
            .iter()
            .any(|t| t.starts_with("main (10,000,050 bytes")),
        "{tooltips:?}"
    );
    assert!(
        tooltips
            .iter()
            .any(|t| t.starts_with("[too narrow to draw] (50 bytes")),
        "{tooltips:?}"
    );
    assert!(svg.contains("total_samples=\"10000100\""));
}

#[test]
fn a_measure_of_nothing_draws_a_picture_that_says_so() {
    let mut b = Builder::new();
    let main = b.function("main", "k", Origin::User);
    let main = b.frame(main, None, 0);
    b.site(&[main], ScopeId(0), figures(1, 8, 1));
    let (svg, drawn) = draw(
        &b.build(),
        &CallTreeOptions {
            measure: Measure::Copied,
            ..CallTreeOptions::default()
        },
    );
    assert_eq!(
        drawn,
        fixture::made!(PictureTotals {
            total: 0,
            frames: 0,
            elided: 0
        })
    );
    assert!(svg.contains("the recording holds no bytes copied by growth"));
    assert_well_formed(&svg);
    let (svg, _) = draw(&Profile::default(), &CallTreeOptions::default());
    assert_well_formed(&svg);
}

#[test]
fn ten_thousand_frames_are_drawn_to_a_limit_and_counted() {
    let mut b = Builder::new();
    let (even, odd) = (
        b.function("even", "k", Origin::User),
        b.function("odd", "k", Origin::User),
    );
    let (even, odd) = (b.frame(even, None, 0), b.frame(odd, None, 0));
    let stack: Vec<FrameId> = (0..10_000)
        .map(|i| if i % 2 == 0 { even } else { odd })
        .collect();
    b.site(&stack, ScopeId(0), figures(1, 64, 1));
    let profile = b.build();
    let work = move || {
        let (svg, drawn) = draw(
            &profile,
            &CallTreeOptions {
                frames: Frames::All,
                ..CallTreeOptions::default()
            },
        );
        assert_eq!((drawn.frames, drawn.elided), (500, 9_500));
        assert!(svg.contains("deeper than 500: 9,500"));
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(work)
        .expect("a thread")
        .join()
        .expect("no overflow");
}

#[test]
fn figures_beyond_64_bits_are_an_error() {
    let mut b = Builder::new();
    for i in 0..3 {
        let f = b.function(&format!("f{i}"), "k", Origin::User);
        let f = b.frame(f, None, 0);
        b.site(
            &[f],
            ScopeId(0),
            fixture::made!(Figures {
                peak_bytes: u64::MAX / 2,
            }),
        );
    }
    let error = write_svg(&b.build(), &Question::default(), &mut Vec::new()).expect_err("too much");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_reader_that_goes_away_ends_the_drawing_with_its_own_error() {
    struct Closed(usize);
    impl Write for Closed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for space in [0, 100, 20_000, 22_000] {
        let error = write_svg(&fixture::profile(), &Question::default(), Closed(space))
            .expect_err("a full pipe");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

#[test]
fn twenty_thousand_sites_of_sixty_frames_are_drawn_within_seconds() {
    let profile = fixture::sized(20_000, 60);
    let start = std::time::Instant::now();
    let (svg, drawn) = draw(&profile, &CallTreeOptions::default());
    eprintln!("{drawn:?}, {} bytes in {:?}", svg.len(), start.elapsed());
    assert!(drawn.frames <= 10_000 && drawn.elided > 0);
    assert_eq!(drawn.total, profile.totals().peak_bytes);
    // Unoptimized and together with other tests; a release build takes a fraction of this time.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    let tree = CallTree::build(&profile, &CallTreeOptions::default());
    assert_eq!(*tree.total(NodeId::ROOT), *profile.totals());
}
