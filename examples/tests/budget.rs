//! Budgets in three formats. A decode that needs more fails with the place and the figure, and
//! nothing else changes.

use heapglass_examples::data::Fleet;
use serde::de::{DeserializeOwned, DeserializeSeed};
use std::fmt::Debug;
use tracking_alloc::{Budget, Profiled, TrackingAlloc, measure};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

/// A format's own functions, with its errors as text.
trait Format {
    fn encode(fleet: &Fleet) -> Vec<u8>;
    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String>;
}

struct Json;
struct Postcard;
struct Rmp;

impl Format for Json {
    fn encode(fleet: &Fleet) -> Vec<u8> {
        serde_json::to_vec(fleet).expect("JSON")
    }
    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        serde_json::from_slice(input).map_err(|error| error.to_string())
    }
}

impl Format for Postcard {
    fn encode(fleet: &Fleet) -> Vec<u8> {
        postcard::to_allocvec(fleet).expect("postcard")
    }
    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        postcard::from_bytes(input).map_err(|error| error.to_string())
    }
}

impl Format for Rmp {
    fn encode(fleet: &Fleet) -> Vec<u8> {
        rmp_serde::to_vec_named(fleet).expect("MessagePack")
    }
    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        rmp_serde::from_slice(input).map_err(|error| error.to_string())
    }
}

fn failed<T: Debug>(outcome: Result<T, String>) -> String {
    outcome.expect_err("more than allowed")
}

/// Returns the path and the two figures of `memory budget exceeded at PATH: N bytes live, M
/// allowed`.
fn told(error: &str) -> (String, u64, u64) {
    let words = error
        .strip_prefix("memory budget exceeded at ")
        .unwrap_or_else(|| panic!("{error:?}"));
    let (path, figures) = words.split_once(": ").expect("a path and figures");
    let numbers: Vec<u64> = figures
        .split([' ', ','])
        .filter_map(|word| word.parse().ok())
        .collect();
    (path.to_owned(), numbers[0], numbers[1])
}

fn holds<F: Format>(says_why: bool) {
    let fleet = Fleet::generate(300, 5);
    let input = F::encode(&fleet);
    let (bare, needed) = measure(|| F::decode::<Fleet>(&input));
    assert_eq!(bare, Ok(fleet));
    // The budget is enough: the same value, by the same allocations.
    let enough = Budget::new()
        .total_bytes(needed.total_bytes)
        .live_bytes(needed.peak_bytes);
    let (read, mut taken) = measure(|| enough.run(|| F::decode::<Profiled<Fleet>>(&input)));
    assert_eq!(read.map(|read| read.0), bare);
    // The inner allocator decides if a realloc moves its block.
    taken.copied_bytes = needed.copied_bytes;
    assert_eq!(taken, needed);
    // One byte less than is live at the end.
    let scarce = Budget::new().live_bytes(needed.live_bytes as u64 - 1);
    let (error, left) = measure(|| failed(scarce.run(|| F::decode::<Profiled<Fleet>>(&input))));
    assert_eq!(
        left.live_bytes as usize,
        error.capacity(),
        "all that was read is gone"
    );
    if says_why {
        let (path, bytes, allowed) = told(&error);
        assert!(path.starts_with("Fleet.vessels"), "{error}");
        assert_eq!(allowed, needed.live_bytes as u64 - 1, "{error}");
        assert!(bytes > allowed && bytes <= needed.peak_bytes, "{error}");
    }
    // For a field: each vessel's crew has the whole budget, however many vessels there are.
    let largest = |fleet: &Fleet| {
        let crews = fleet
            .vessels
            .iter()
            .map(|vessel| measure(|| vessel.crew.clone()).1.live_bytes);
        crews.max().unwrap_or(0) as u64
    };
    let of_crew =
        |bytes: u64| Budget::new().field("Fleet.vessels[].crew", Budget::new().live_bytes(bytes));
    let largest = largest(bare.as_ref().expect("a fleet"));
    assert!(
        of_crew(largest * 4)
            .run(|| F::decode::<Profiled<Fleet>>(&input))
            .is_ok()
    );
    let error = failed(of_crew(largest / 2).run(|| F::decode::<Profiled<Fleet>>(&input)));
    if says_why {
        assert_eq!(told(&error).0, "Fleet.vessels[].crew", "{error}");
        assert_eq!(told(&error).2, largest / 2, "{error}");
    } else {
        // postcard does not keep the messages of other crates' errors; it only reports that there
        // was one.
        assert_eq!(error, "Serde Deserialization Error");
    }
    // Afterwards, no budget is left behind, and errors are the format's own again.
    assert!(F::decode::<Profiled<Fleet>>(&input).is_ok());
    let cut = &input[..input.len() / 2];
    let within = enough.run(|| F::decode::<Profiled<Fleet>>(cut));
    assert_eq!(within.map(|read| read.0), F::decode::<Fleet>(cut));
}

#[test]
fn json_fails_with_the_place_and_the_figure_and_nothing_else_changes() {
    holds::<Json>(true);
}

#[test]
fn rmp_fails_with_the_place_and_the_figure_and_nothing_else_changes() {
    holds::<Rmp>(true);
}

#[test]
fn postcard_fails_and_nothing_else_changes() {
    holds::<Postcard>(false);
}

#[test]
fn a_seed_carries_its_budget_to_a_deserializer() {
    let input = Json::encode(&Fleet::generate(20, 5));
    let read = |bytes: u64| {
        let seed = Budget::new().live_bytes(bytes).seed::<Fleet>();
        seed.deserialize(&mut serde_json::Deserializer::from_slice(&input))
    };
    assert_eq!(read(1 << 20).expect("a fleet"), Fleet::generate(20, 5));
    let error = read(100).expect_err("more than allowed").to_string();
    assert!(
        error.starts_with("memory budget exceeded at Fleet"),
        "{error}"
    );
}
