//! The projects of gsoc-2018.json.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The projects by number.
pub(super) type Projects = BTreeMap<String, Project>;

#[derive(Debug, Deserialize)]
pub(super) struct Project {
    #[serde(rename = "@context")]
    context: String,
    #[serde(rename = "@type")]
    kind: String,
    name: String,
    description: String,
    sponsor: Sponsor,
    author: Author,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sponsor {
    #[serde(rename = "@type")]
    kind: String,
    name: String,
    disambiguating_description: String,
    description: String,
    url: String,
    logo: String,
}

#[derive(Debug, Deserialize)]
struct Author {
    #[serde(rename = "@type")]
    kind: String,
    name: String,
}
