//! Checks the output to a terminal: no control characters and no line too wide, for any recording.

use super::*;

#[test]
fn phases_of_a_damaged_recording_neither_hang_nor_lose_bytes() {
    let mut b = Builder::new();
    let a = b.scope(2, "a", 0, 0);
    b.scope(1, "b", 0, 0);
    b.site(&[], a, figures(1, 8, 1));
    b.site(&[], ScopeId(99), figures(1, 4, 1));
    let profile = b.build();
    assert_eq!(
        sum(&rows(&profile, By::Phase, Measure::Peak, Frames::Folded)),
        *profile.totals()
    );
    assert!(text(&profile, &ReportOptions::default()).contains("(no stack)"));
}

#[test]
fn no_control_character_reaches_a_terminal() {
    let evil = "evil\u{1b}]0;x\u{7}\u{9b}31m\r\n\u{202e}";
    let mut profile = fixture::profile();
    profile.parts().process.program = evil.into();
    profile.parts().process.command = vec![evil.into()];
    profile.parts().capture.mode = "exact".into();
    profile.parts().capture.unwinder = evil.into();
    for function in profile.parts().functions {
        function.name = format!("{evil}{}", function.name);
        function.short = evil.into();
    }
    for frame in profile.parts().frames {
        frame.file = Some(evil.into());
    }
    profile.parts().scopes[1].name = evil.into();
    profile.parts().threads[0].name = evil.into();
    profile.parts().lost.notes = vec![evil.into()];
    profile.parts().modules[1].path = evil.into();
    profile.parts().modules[1].symbols = SymbolSource::Missing(evil.into());
    profile.parts().marks[0].name = evil.into();
    let harmless = |text: &str| {
        let bad = text
            .chars()
            .find(|&c| c != '\n' && (c.is_control() || c == '\u{202e}'));
        assert_eq!(bad, None, "{text}");
    };
    for by in By::COUNTED {
        let options = ReportOptions {
            by,
            recording: Some(evil),
            ..ReportOptions::default()
        };
        harmless(&text(&profile, &options));
        let (mut summary, mut raw) = (Vec::new(), Vec::new());
        write_summary(&profile, &options, &mut summary).expect("writing to memory");
        harmless(&String::from_utf8(summary).expect("text"));
        write_json(&profile, &options, &mut raw).expect("writing to memory");
        harmless(&String::from_utf8(raw).expect("text"));
    }
    // A parser still reads the name as it was recorded.
    assert_eq!(json(&profile, &ReportOptions::default())["program"], evil);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut profile = fixture::profile();
    profile.parts().functions[0].name = "日本語".repeat(60);
    profile.parts().functions[0].short = "größe".repeat(30);
    for width in [0, 40, 60, 80, 100, 200] {
        for by in By::COUNTED {
            for line in text(
                &profile,
                &ReportOptions {
                    by,
                    width,
                    top: Some(99),
                    ..ReportOptions::default()
                },
            )
            .lines()
            {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(
                    columns <= width.max(40),
                    "{columns} columns of {width}: {line}"
                );
            }
        }
    }
}

#[test]
fn marked_up_text_is_the_plain_text_with_marks() {
    fn brackets(style: Style) -> (&'static str, &'static str) {
        match style {
            Style::Warning => ("\u{1}", "\u{2}"),
            _ => ("\u{3}", "\u{4}"),
        }
    }
    let profile = fixture::profile();
    let marked = text(
        &profile,
        &ReportOptions {
            paint: brackets,
            ..ReportOptions::default()
        },
    );
    assert!(marked.contains("\u{1}  ! 9 blocks"));
    assert_eq!(
        marked.replace(['\u{1}', '\u{2}', '\u{3}', '\u{4}'], ""),
        text(&profile, &ReportOptions::default())
    );
}

#[test]
fn the_first_rows_of_twenty_thousand_sites_are_read_whole_in_a_hundred_columns() {
    let mut profile = fixture::sized(20_000, 30);
    // As long as the names of real programs.
    for function in profile.parts().functions {
        function.short = format!("SomeDeserializer::{}_of_a_vessel", function.short);
        function.does = format!("{}::{}", function.krate, function.short);
    }
    let options = ReportOptions {
        width: 100,
        ..ReportOptions::default()
    };
    let shown: Vec<SiteLabel> = rows(&profile, By::Site, Measure::Peak, Frames::Folded)
        .into_iter()
        .take(DEFAULT_TOP)
        .filter_map(|row| match row.detail {
            Detail::Site(detail) => Some(detail.label),
            _ => None,
        })
        .collect();
    let text = text(&profile, &options);
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 100, "{line}");
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert_eq!(shown.len(), DEFAULT_TOP);
    for label in shown {
        let owner = label.owner_and_source();
        for name in [&label.what, &label.location, &owner] {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(&name), "{name} is cut:\n{text}");
        }
    }
}
