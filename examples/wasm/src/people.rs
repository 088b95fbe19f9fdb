//! People as JSON, read back as `Profiled`: every allocation is charged to its field.

use serde::{Deserialize, Serialize};
use tracking_alloc::Profiled;

#[derive(Serialize, Deserialize)]
pub(crate) struct Person {
    name: String,
    city: String,
    age: u8,
    tags: Vec<String>,
}

/// Returns `people` people. Strings have one length each, so that the figures follow from the
/// number.
pub(crate) fn json(people: u32) -> Vec<u8> {
    let person = |number: u32| Person {
        name: format!("person {number:08}"),
        city: format!("city {:03}", number % 100),
        age: (number % 100) as u8,
        tags: vec!["first".to_owned(), "second".to_owned()],
    };
    let people: Vec<Person> = (0..people).map(person).collect();
    serde_json::to_vec(&people).unwrap_or_default()
}

pub(crate) fn read(json: &[u8]) -> serde_json::Result<Vec<Person>> {
    Ok(serde_json::from_slice::<Profiled<Vec<Person>>>(json)?.0)
}
