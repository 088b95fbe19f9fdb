//! DHAT: checks the rules of `dh_view.html` and of the Firefox Profiler's importer.

use std::collections::HashSet;

use super::*;

fn figure(point: &Value, key: &str) -> u64 {
    point[key].as_u64().expect("a figure")
}

fn points(made: &Value) -> &[Value] {
    made["pps"].as_array().expect("program points")
}

pub(super) fn totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let made = json(profile, Format::Dhat, options);
    let sum = |key: &str| points(&made).iter().map(|point| figure(point, key)).sum();
    let keys = [
        ("tb", "total_bytes"),
        ("tbk", "total_blocks"),
        ("gb", "peak_bytes"),
        ("gbk", "peak_blocks"),
        ("eb", "live_bytes"),
        ("ebk", "live_blocks"),
    ];
    keys.map(|(theirs, ours)| (ours.to_owned(), sum(theirs)))
        .into()
}

#[test]
fn the_shop_as_dhat() {
    golden_json("dhat", &json(&shop(), Format::Dhat, &options(Format::Dhat)));
}

#[test]
fn every_key_that_the_viewer_asks_for_is_there_and_no_stack_twice() {
    for profile in profiles() {
        for frames in Frames::ALL {
            let options = ReportOptions {
                frames,
                ..options(Format::Dhat)
            };
            let made = json(&profile, Format::Dhat, &options);
            assert_eq!(made["dhatFileVersion"], 2);
            assert_eq!(
                (&made["bklt"], &made["bkacc"]),
                (&true.into(), &false.into())
            );
            for key in ["mode", "verb", "tu", "Mtu", "cmd"] {
                assert!(made[key].is_string(), "{key}");
            }
            for key in ["pid", "te", "tg", "tuth"] {
                assert!(made[key].is_u64(), "{key}");
            }
            let table = made["ftbl"].as_array().unwrap();
            assert_eq!(table[0], "[root]");
            let mut stacks = HashSet::new();
            for point in points(&made) {
                for key in ["tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"] {
                    assert!(point[key].is_u64(), "{key}");
                }
                let stack: Vec<u64> = point["fs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|f| f.as_u64().unwrap())
                    .collect();
                assert!(!stack.is_empty());
                assert!(stack.iter().all(|&f| f > 0 && (f as usize) < table.len()));
                assert!(stacks.insert(stack), "a stack twice");
            }
        }
    }
}

#[test]
fn maxima_are_no_less_than_what_was_live_at_the_peak_and_at_the_end() {
    let made = json(&shop(), Format::Dhat, &options(Format::Dhat));
    for point in points(&made) {
        for (max, others) in [("mb", ["gb", "eb"]), ("mbk", ["gbk", "ebk"])] {
            let most = others.map(|key| figure(point, key)).into_iter().max();
            assert_eq!(Some(figure(point, max)), most);
        }
    }
    assert!(made["mode"].as_str().unwrap().contains("lower bounds"));
}

/// The importer of the Firefox Profiler takes a frame apart by
/// `^0x([0-9a-f]+): (.+) \((?:in )?(.+?)(?::(\d+))?(?::(\d+))?\)$`.
fn taken_apart(frame: &str) -> Option<(u64, &str, &str, Option<u32>)> {
    let (address, rest) = frame.strip_prefix("0x")?.split_once(": ")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (name, place) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let place = place.strip_prefix("in ").unwrap_or(place);
    match place.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => {
            Some((address, name, file, line.parse().ok()))
        }
        _ => Some((address, name, place, None)),
    }
}

#[test]
fn frames_have_the_form_that_the_firefox_profiler_takes_apart() {
    let made = json(&shop(), Format::Dhat, &options(Format::Dhat));
    let frames: Vec<&str> = made["ftbl"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| frame.as_str().unwrap())
        .collect();
    let apart: Vec<_> = frames
        .iter()
        .filter_map(|frame| taken_apart(frame))
        .collect();
    for expected in [
        (0x1000, "shop::main", "/src/main.rs", Some(3)),
        (0x2000, "shop::parse::<[u8; 32]>", "/src/lib.rs", Some(7)),
        (0x9a2e0, "libc.so.6+0x9a2e0", "/lib/libc.so.6", None),
    ] {
        assert!(apart.contains(&expected), "{expected:?} in {frames:?}");
    }
    // An entry that is not a frame is only a name.
    assert!(frames.contains(&"[truncated]"), "{frames:?}");
}
