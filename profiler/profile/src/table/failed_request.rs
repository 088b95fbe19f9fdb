//! Requests that the allocator refused, with the names that rows by site have.

use serde::Serialize;

use super::site::{SiteLabel, label_of};
use crate::profile::{Profile, State};
use crate::units::{Bytes, counted};

/// Requests of a site that the allocator refused. The names are the keys in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedRequestRow {
    /// The names of the site.
    #[serde(flatten)]
    pub label: SiteLabel,
    /// Number of refused requests.
    pub count: u64,
    /// The largest of them, bytes.
    pub largest_bytes: u64,
}

impl FailedRequestRow {
    /// `115.5 GiB for Vec<u8> by shop::parse src/lib.rs:92 (3 times)`, not yet safe for a terminal.
    pub fn text(&self) -> String {
        let SiteLabel {
            what,
            location,
            owner,
            source,
            ..
        } = &self.label;
        let mut text = Bytes(self.largest_bytes).to_string();
        if !what.is_empty() {
            text.push_str(&format!(" for {what}"));
        }
        if !location.is_empty() {
            text.push_str(&format!(" in {location}"));
        }
        text.push_str(&format!(" by {owner}"));
        if let Some(source) = source {
            text.push_str(&format!(" {source}"));
        }
        if self.count > 1 {
            text.push_str(&format!(" (largest of {})", counted(self.count, "request")));
        }
        text
    }
}

/// Returns the requests that the allocator refused, the last one first.
pub fn failed_requests(profile: &Profile) -> Vec<FailedRequestRow> {
    let rows = profile.failed_requests.iter().filter_map(|request| {
        Some(FailedRequestRow {
            label: label_of(profile, request.site)?,
            count: request.count,
            largest_bytes: request.largest_bytes,
        })
    });
    rows.collect()
}

/// Returns a sentence about the last refused request if the program then ended without finishing.
/// The refused request is the most likely cause.
pub fn fatal_request(profile: &Profile) -> Option<String> {
    let has_died = profile.process.state == State::Ended;
    let request = profile.failed_requests.first().filter(|_| has_died)?;
    let row = FailedRequestRow {
        label: label_of(profile, request.site)?,
        count: request.count,
        largest_bytes: request.largest_bytes,
    };
    Some(format!(
        "The allocator refused {}; after that the program ended without finishing.",
        row.text()
    ))
}
