//! Pictures by field and by type: sums, legend, and names, including hostile ones.

use super::*;

#[test]
fn pictures_by_field_and_type_add_up_and_say_their_colours() {
    let profile = fixture::fleet();
    for levels in [Levels::Field, Levels::Type] {
        for measure in Measure::COUNTED {
            for inverted in [false, true] {
                let options = CallTreeOptions {
                    levels,
                    measure,
                    inverted,
                    scopes: inverted,
                    ..CallTreeOptions::default()
                };
                let (svg, drawn) = draw(&profile, &options);
                let total = measure.of(profile.totals());
                assert_eq!(drawn.total, total);
                let frames = svg.split_once("<svg id=\"frames\"").expect("frames").1;
                assert_eq!(attribute(frames, "total_samples"), total.to_string());
                assert!(svg.contains("\u{25a0}</tspan> sequence "), "a legend");
                assert!(!svg.contains("[legend]"));
                assert_well_formed(&svg);
                assert!(
                    tooltips(&svg).iter().all(|t| {
                        t.ends_with(')') && t.rfind('(').is_some_and(|at| !t[at..].contains(") "))
                    }),
                    "the script takes the label from what stands before the last bracket"
                );
            }
        }
    }
}

#[test]
fn a_field_in_the_picture_says_its_path_and_type() {
    let options = CallTreeOptions {
        levels: Levels::Field,
        measure: Measure::Live,
        ..CallTreeOptions::default()
    };
    let (svg, _) = draw(&fixture::fleet(), &options);
    let tooltips = tooltips(&svg);
    let starts = |start: &str| tooltips.iter().find(|t| t.starts_with(start));
    let crew = starts(".crew (").expect("the field");
    assert!(
        crew.ends_with("Fleet.vessels[].crew: alloc::vec::Vec<fleet::model::Sailor>)"),
        "{crew}"
    );
    assert!(starts("(from buffer) (").is_some(), "{tooltips:#?}");
    let string = starts("String (").expect("a type");
    assert!(string.contains("blocks") && string.ends_with("; alloc::string::String)"));
}

#[test]
fn a_type_in_the_picture_leads_to_fields_and_functions() {
    let options = CallTreeOptions {
        levels: Levels::Type,
        measure: Measure::Total,
        ..CallTreeOptions::default()
    };
    let (svg, _) = draw(&fixture::fleet(), &options);
    let tooltips = tooltips(&svg);
    for start in [
        "Vec<Crate> (",
        "Fleet.vessels[].cargo(from buffer) (",
        "Vessel::deserialize (",
        "Vec<log::Entry> (",
        "in Vessel (",
        "(unknown type) (",
    ] {
        assert!(
            tooltips.iter().any(|t| t.starts_with(start)),
            "{start}: {tooltips:#?}"
        );
    }
}

#[test]
fn a_picture_by_field_without_fields_says_so() {
    let options = CallTreeOptions {
        levels: Levels::Field,
        ..CallTreeOptions::default()
    };
    let (svg, drawn) = draw(&fixture::profile(), &options);
    assert!(svg.contains("no fields: no Profiled&lt;T&gt; was read"));
    assert_eq!(drawn.total, fixture::profile().totals().peak_bytes);
}

#[test]
fn hostile_names_of_fields_and_types_stay_text() {
    let evil = "</title><script>alert(1)</script>[legend]\u{1b}[31m id=\"subtitle\"";
    let mut profile = fixture::fleet();
    for scope in profile.parts().scopes {
        scope.name = evil.into();
    }
    for name in profile.parts().types {
        name.short = evil.into();
        name.full = evil.into();
    }
    profile.parts().process.program = evil.into();
    for levels in [Levels::Field, Levels::Type] {
        let options = CallTreeOptions {
            levels,
            scopes: true,
            ..CallTreeOptions::default()
        };
        let (svg, _) = draw(&profile, &options);
        assert_well_formed(&svg);
        assert!(!svg.contains("<script>alert"));
        assert_eq!(svg.matches("</tspan> sequence ").count(), 1);
    }
}

#[test]
fn elements_of_a_field_are_named_after_it() {
    let options = CallTreeOptions {
        levels: Levels::Field,
        ..CallTreeOptions::default()
    };
    let (svg, _) = draw(&fixture::fleet(), &options);
    let tooltips = tooltips(&svg);
    assert!(
        tooltips.iter().any(|text| text.starts_with(".vessels[] (")),
        "{tooltips:?}"
    );
    assert!(
        !tooltips.iter().any(|text| text.starts_with("[] (")),
        "{tooltips:?}"
    );
}

#[test]
fn the_control_that_searches_can_be_read() {
    for levels in [Levels::Stack, Levels::Field] {
        let options = CallTreeOptions {
            levels,
            ..CallTreeOptions::default()
        };
        let (svg, _) = draw(&fixture::fleet(), &options);
        assert!(svg.contains("#search { text-anchor:end; opacity:1;"));
    }
}
