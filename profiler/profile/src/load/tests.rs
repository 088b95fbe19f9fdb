//! The recording of a WebAssembly module, opened like any other; every figure follows from what the
//! module did: 100 lists of five strings, then 400 people written as JSON and read back as
//! `Profiled` (`examples/wasm/src`).
//!
//! Refreshed by `examples/wasm/run --golden`. Pointers have 4 bytes there, `String` and `Vec` 12, a
//! person 40.

use super::names::Addresses;
use super::{OpenOptions, Session, Unnamed, open};
use crate::profile::{Distribution, Figures, Frames, Profile, State};
use crate::table::{By, Detail, Row, rows};
use std::path::Path;
use tracking_alloc_recording::Recording;

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tracking-alloc/recording/tests/golden/wasm.hg"
);
const LISTS: u64 = 100;
const PEOPLE: u64 = 400;
/// The bytes of the JSON of all people: 77 bytes each, two digits of age except for one in ten,
/// commas, and brackets.
const JSON_BYTES: u64 = 77 * PEOPLE + 2 * PEOPLE - PEOPLE / 10 + (PEOPLE - 1) + 2;
/// `serde_json::to_vec` begins with 128 bytes and doubles.
const JSON_BUFFER: u64 = JSON_BYTES.next_power_of_two();
/// The people's list grows 4, 8, .. 512.
const PEOPLE_BUFFERS: u64 = 40 * (4 + 8 + 16 + 32 + 64 + 128 + 256 + 512);
const LAST_BUFFER: u64 = 40 * 512;
/// Strings of a person: name 15, city 8; the list of tags has room for 4, the tags 5 and 6.
const IN_A_PERSON: u64 = 15 + 8 + 4 * 12 + 5 + 6;

fn golden() -> Profile {
    open(Path::new(GOLDEN), &OpenOptions::default(), &|_| {})
        .unwrap_or_else(|error| panic!("{error}\nrefresh it with: examples/wasm/run --golden"))
}

fn row(profile: &Profile, by: By, key: &str) -> Row {
    let rows = rows(profile, by, Default::default(), Frames::Folded);
    let found = rows.into_iter().find(|row| row.key == key);
    found.unwrap_or_else(|| panic!("no row {key}"))
}

fn blocks_and_bytes(figures: &Figures) -> (u64, u64) {
    (figures.total_blocks, figures.total_bytes)
}

#[test]
fn the_recording_of_a_module_says_what_it_is() {
    let profile = golden();
    let (process, capture) = (&profile.process, &profile.capture);
    assert_eq!(process.program, "heapglass_wasm.wasm");
    assert_eq!((process.state, process.pid), (State::Finished, 0));
    assert_eq!(
        (capture.architecture.as_str(), capture.unwinder.as_str()),
        ("wasm32", "none")
    );
    assert_eq!(
        (capture.mode.as_str(), capture.peak_error_bytes),
        ("exact", 0)
    );
    assert_eq!((process.duration_ns, profile.timeline.len()), (0, 0));
    assert!(profile.losses().is_empty());
    assert_eq!(profile.threads.len(), 1);
    let without_live = Figures {
        live_bytes: 0,
        live_blocks: 0,
        peak_bytes: 0,
        peak_blocks: 0,
        ..profile.totals
    };
    assert_eq!(profile.threads[0].figures, without_live);
}

#[test]
fn lists_of_a_module_have_the_blocks_of_their_structure() {
    let lists = row(&golden(), By::Phase, "lists");
    // Five strings of 10 bytes and two buffers, 4 and 8 pointers with length; the outer list grows
    // 4, 8, .. 128.
    let blocks = LISTS * 7 + 6;
    let bytes = LISTS * (5 * 10 + 4 * 8 + 8 * 8) + 12 * (4 + 8 + 16 + 32 + 64 + 128);
    assert_eq!(blocks_and_bytes(&lists.figures), (blocks, bytes));
    assert_eq!(lists.figures.grows, LISTS + 5);
    assert_eq!(
        (lists.figures.freed_bytes, lists.figures.live_bytes),
        (bytes, 0)
    );
    let Detail::Phase(detail) = &lists.detail else {
        panic!("a phase");
    };
    assert_eq!((detail.entered, detail.records), (1, LISTS));
}

#[test]
fn fields_of_a_profiled_decode_in_a_module_have_theirs() {
    let profile = golden();
    let field = |key: &str| {
        let row = row(&profile, By::Field, key);
        let Detail::Field(detail) = &row.detail else {
            panic!("a field");
        };
        (blocks_and_bytes(&row.figures), detail.values)
    };
    assert_eq!(field("Vec<Person>"), ((8, PEOPLE_BUFFERS), 1));
    assert_eq!(field("Vec<Person>[].name"), ((PEOPLE, 15 * PEOPLE), PEOPLE));
    assert_eq!(field("Vec<Person>[].city"), ((PEOPLE, 8 * PEOPLE), PEOPLE));
    assert_eq!(field("Vec<Person>[].tags"), ((PEOPLE, 48 * PEOPLE), PEOPLE));
    assert_eq!(
        field("Vec<Person>[].tags[]"),
        ((2 * PEOPLE, 11 * PEOPLE), 2 * PEOPLE)
    );
    let decode = row(&profile, By::Phase, "decode");
    let Detail::Phase(detail) = &decode.detail else {
        panic!("a phase");
    };
    assert_eq!(detail.input_bytes, JSON_BYTES);
}

#[test]
fn the_peak_of_a_module_is_when_everybody_is_read_and_the_text_still_there() {
    let profile = golden();
    let totals = &profile.totals;
    assert_eq!(
        totals.peak_bytes,
        JSON_BUFFER + LAST_BUFFER + PEOPLE * IN_A_PERSON
    );
    assert_eq!(totals.peak_blocks, 2 + 5 * PEOPLE);
    assert_eq!((totals.live_bytes, totals.live_blocks), (0, 0));
    assert_eq!(totals.freed_bytes, totals.total_bytes);
    let peak_of = |phase: &str| row(&profile, By::Phase, phase).figures.peak_bytes;
    assert_eq!((peak_of("lists"), peak_of("write")), (0, JSON_BUFFER));
}

#[test]
fn linear_memory_is_shown_and_no_stack_is_claimed() {
    let profile = golden();
    let memory = profile.capture.linear_memory.expect("linear memory");
    // The peak does not fit beside static data and stack into the pages that were there.
    assert!(
        memory.grows >= 1 && memory.pages > memory.first_pages,
        "{memory:?}"
    );
    assert!(memory.bytes > profile.totals.peak_bytes);
    assert_eq!(memory.own_bytes(), 2 << 16);
    // No frame, but called by its scope: nobody takes it for a stack.
    let named = |site: &crate::profile::Site| {
        assert!(!profile.has_stack(site));
        assert_eq!(site.distribution, Distribution::default(), "not recorded");
        let charged = profile.charged_to(site).expect("a place");
        charged.name(&profile).into_owned()
    };
    let mut names: Vec<String> = profile.sites.iter().map(named).collect();
    names.sort_unstable();
    let expected = [
        "(in decode > Vec<Person>)",
        "(in decode > Vec<Person>[].city)",
        "(in decode > Vec<Person>[].name)",
        "(in decode > Vec<Person>[].tags)",
        "(in decode > Vec<Person>[].tags[])",
        "(in lists)",
        "(in write)",
    ];
    assert_eq!(names, expected);
}

#[test]
fn symbols_of_recordings_that_are_opened_are_kept_in_the_users_cache() {
    let options = OpenOptions::with_cache();
    assert_eq!(options.symbols.cache, crate::symbols::default_cache_dir());
    assert_eq!(options.symbols.binary, None);
}

/// Where blocks came from and what was counted of them, by addresses: what is known without names.
fn by_address(profile: &Profile) -> Vec<impl PartialEq + std::fmt::Debug> {
    let sites = profile.sites.iter().map(|site| {
        let frames = profile.innermost_first(site);
        let mut addresses: Vec<_> = frames
            .filter_map(|frame| profile.frames.get(frame.0 as usize))
            .map(|frame| (frame.module, frame.offset))
            .collect();
        // Inlined functions share an address.
        addresses.dedup();
        let marks = (site.marks, site.scope);
        (
            addresses,
            marks,
            site.figures.clone(),
            site.distribution.clone(),
        )
    });
    sites.collect()
}

#[test]
fn a_profile_before_it_has_names_has_the_figures_of_the_one_with_names() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tracking-alloc/recording/tests/golden"
    );
    let mut with_stacks = 0;
    for golden in std::fs::read_dir(folder).expect("goldens") {
        let path = golden.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "hg") {
            continue;
        }
        let options = OpenOptions::default();
        let mut recording = Recording::open(&path).expect("a recording");
        let addresses = Addresses::of(&mut recording);
        let early = Unnamed::of(recording, Vec::new()).early(&addresses, &options);
        let mut session = Session::new(options);
        for _ in 0..2 {
            let named = session.load(&path, &|_| (), None).expect("a recording");
            assert_eq!(early.totals, named.totals);
            assert_eq!(by_address(&early), by_address(&named));
            let threads = |profile: &Profile| -> Vec<Figures> {
                profile
                    .threads
                    .iter()
                    .map(|thread| thread.figures.clone())
                    .collect()
            };
            assert_eq!(threads(&early), threads(&named));
            with_stacks += usize::from(named.capture.has_stacks());
        }
    }
    assert!(with_stacks > 0);
}
