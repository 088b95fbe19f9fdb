//! Stacks from raw frames: the number of frames kept, the frames omitted, and the contents of
//! blocks.

use super::made::{add_lanes, add_sites, empty, lane, row};
use crate::parts::{Parts, seal};
use heapglass_profiler::OpenOptions;
use heapglass_profiler::profile::{FrameId, Profile, Site};
use serde_json::{Value, json};
use tracking_alloc_recording::*;

/// Returns a recording with one site per stack. A stack lists numbers of raw frames, outermost
/// first.
fn of_stacks(stacks: &[&[u32]]) -> Parts {
    let mut parts = empty();
    let path = parts.string("/bin/app");
    parts.header.executable = path;
    let module = ModuleValue {
        path,
        ..ModuleValue::default()
    };
    parts.append(table::MODULES, 0, &[ModuleValue::default(), module]);
    parts.header.modules_len = 2;
    let most = stacks.iter().flat_map(|stack| stack.iter()).max();
    let frames: Vec<FrameValue> = (0..=*most.expect("a frame"))
        .map(|number| FrameValue {
            module: 1,
            offset: u64::from(number) * 16,
            ..FrameValue::default()
        })
        .collect();
    parts.append(table::FRAMES, 0, &frames);
    parts.header.frames_len = frames.len() as u32;
    let mut records = vec![StackValue::default()];
    let mut sites = Vec::new();
    for stack in stacks {
        let mut parent = 0;
        for &frame in *stack {
            records.push(StackValue { parent, frame });
            parent = records.len() as u32 - 1;
        }
        sites.push(SiteValue {
            stack: parent,
            ..SiteValue::default()
        });
    }
    parts.append(table::STACKS, 0, &records);
    parts.header.stacks_len = records.len() as u32;
    add_sites(&mut parts, &sites);
    let rows: Vec<RowValue> = (FIRST_SITE..)
        .zip(stacks)
        .map(|(site, _)| row(site, (10, 1), (0, 0), (10, 1)))
        .collect();
    let none = [RowValue::default(); 2];
    add_lanes(&mut parts, &[(lane(b"main\0\0\0\0"), &rows, none)]);
    parts
}

/// Source frames of a raw frame, innermost first: names and files. All but the last were inlined.
fn source(frames: &[(&str, &str)], strings: &mut Vec<String>) -> Value {
    let mut number = |text: &str| {
        let known = strings.iter().position(|string| string == text);
        known.unwrap_or_else(|| {
            strings.push(text.to_owned());
            strings.len() - 1
        }) + 1
    };
    let mut frame = |(index, &(name, file)): (usize, &(&str, &str))| json!({"function": number(name), "raw": 0, "file": number(file), "line": 7, "inlined": index + 1 < frames.len()});
    frames.iter().enumerate().map(&mut frame).collect()
}

/// Loads a recording with the source frames of its raw frames, which are numbered from 1.
fn load(parts: &Parts, frames: &[&[(&str, &str)]]) -> Profile {
    let mut strings = Vec::new();
    let mut named = vec![json!([])];
    named.extend(frames.iter().map(|frames| source(frames, &mut strings)));
    let symbols =
        json!({"format": 1, "strings": strings, "frames": named, "sources": {}, "notes": []});
    let mut bytes = parts.bytes();
    seal(&mut bytes);
    let bytes = with_symbols(bytes, symbols.to_string().as_bytes()).expect("a recording");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("stacks.hg");
    std::fs::write(&path, bytes).expect("written");
    heapglass_profiler::open(&path, &OpenOptions::default(), &|_| ()).expect("a recording")
}

fn names<'a>(profile: &'a Profile, site: &Site) -> Vec<&'a str> {
    let frames = profile.stack(site).into_iter();
    frames
        .map(|frame| profile.function(frame).name.as_str())
        .collect()
}

const MAIN: (&str, &str) = ("app::main", "src/main.rs");
const LOAD: (&str, &str) = ("app::load", "src/main.rs");
const PROFILED: (&str, &str) = (
    "tracking_alloc_serde::profiled::deserialize",
    "/git/tracking-alloc/serde/src/profiled.rs",
);
const HOOK: (&str, &str) = (
    "heapglass_recorder::hook::alloc",
    "/git/tracking-alloc/recorder/src/hook.rs",
);

#[test]
fn frames_of_heapglass_between_those_of_the_program_are_left_out_and_those_inside_are_kept() {
    let profile = load(
        &of_stacks(&[&[1, 2, 3, 4], &[1, 2, 2, 3], &[2, 4]]),
        &[&[MAIN], &[PROFILED], &[LOAD], &[HOOK]],
    );
    let [first, second, third] = profile.sites() else {
        panic!("three sites");
    };
    assert_eq!(names(&profile, first), [MAIN.0, LOAD.0, HOOK.0]);
    let owner = first.owner.map(|frame| &*profile.function(frame).name);
    assert_eq!((first.shown.clone(), owner), (0..2, Some(LOAD.0)));
    assert_eq!(names(&profile, second), [MAIN.0, LOAD.0]);
    // There are no other frames, so the innermost one is the best answer.
    assert_eq!(names(&profile, third), [HOOK.0]);
}

#[test]
fn a_stack_says_what_its_blocks_hold() {
    let buffer = (
        "<alloc::raw_vec::RawVec<u8>>::with_capacity_in",
        "/rustc/1/library/alloc/src/raw_vec/mod.rs",
    );
    let clone = (
        "<alloc::string::String as core::clone::Clone>::clone",
        "/rustc/1/library/alloc/src/string.rs",
    );
    let untyped = (
        "<alloc::raw_vec::RawVecInner>::with_capacity_in",
        "/rustc/1/library/alloc/src/raw_vec/mod.rs",
    );
    // This is all that is known of code that the linker merged with other code. Here the frame has
    // a line, so it was not merged.
    let merged = (
        "core::num::f64::deserialize_any<serde_json::read::StrRead, serde_core::de::impls::StringVisitor>",
        "/rustc/1/library/core/src/num/f64.rs",
    );
    let profile = load(
        &of_stacks(&[&[1, 2], &[1, 3]]),
        &[&[MAIN], &[buffer, clone], &[untyped, merged]],
    );
    let contents = profile.sites()[0].contents.expect("a string");
    let name = |id| profile.type_name(id).full.as_str();
    assert_eq!(name(contents.container), "alloc::string::String");
    assert_eq!(contents.element.map(name), None);
    assert_eq!(profile.sites()[1].contents, None);
}

#[test]
fn a_stack_is_cut_after_as_many_addresses_as_a_recorder_keeps() {
    let (longest, longer) = (vec![1; 256], vec![1; 257]);
    let profile = load(&of_stacks(&[&longest, &longer]), &[&[MAIN]]);
    let lengths = profile.sites().iter().map(|site| profile.stack(site).len());
    assert_eq!(lengths.collect::<Vec<_>>(), [256, 256]);
}

/// Loads 100 stacks, each with one address three times, into which 499 functions were inlined.
/// Returns the number of frames that each stack keeps.
fn kept(name: &str, file: &str) -> Vec<usize> {
    let raw = vec![(name, file); 500];
    let profile = load(&of_stacks(&[&[1, 1, 1][..]; 100]), &[&raw]);
    assert!(profile.sites().iter().all(|site| site.marks.deep));
    let sites = profile.sites().iter();
    sites.map(|site| profile.stack(site).len()).collect()
}

#[test]
fn frames_of_all_stacks_together_are_bounded_and_long_names_count_for_several() {
    // Of each stack 1,008 frames at the inner end, 16 at the outer one, and one in place of the
    // rest; but no more than 512 frames for each of the 100 sites and of the reserved ones, plus
    // 65,536, all together. 16 frames at each end are kept even then.
    let all = (100 + FIRST_SITE as usize) * 512 + (64 << 10);
    assert_eq!(all, 118_272);
    assert_eq!(kept("app::f", "src/main.rs"), [1_025; 100]);
    // 200 bytes of a name and 400 of a file count as two more frames.
    let (name, file) = (
        format!("app::{}", "f".repeat(195)),
        format!("src/{}.rs", "m".repeat(393)),
    );
    let mut expected = vec![1_025; 39];
    expected.push((all - 39 * 3 * 1_008) / 3 + 17);
    expected.extend([33; 60]);
    assert_eq!(kept(&name, &file), expected);
}

#[test]
fn a_stack_that_is_too_long_keeps_its_outermost_frames_and_their_owner() {
    let inlined = vec![
        (
            "<alloc::vec::Vec<u8>>::push",
            "/rustc/1/library/alloc/src/vec/mod.rs"
        );
        500
    ];
    let profile = load(&of_stacks(&[&[2, 1, 1, 1]]), &[&inlined, &[MAIN]]);
    let site = &profile.sites()[0];
    let name =
        |frame: FrameId| &*profile.functions()[profile.frame(frame).function.0 as usize].name;
    let stack: Vec<&str> = profile
        .stack(site)
        .iter()
        .map(|frame| name(*frame))
        .collect();
    assert_eq!(stack.len(), 1_025);
    assert_eq!((stack[0], stack[16]), (MAIN.0, "(frames omitted)"));
    assert_eq!(site.owner.map(name), Some(MAIN.0));
}
