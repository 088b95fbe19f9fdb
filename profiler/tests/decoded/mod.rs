//! Profiles in the format of pprof, decoded. Tests of several crates include this file.

use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;

#[path = "../../profile/src/pprof/message.rs"]
pub(crate) mod message;

/// Unpacks and decodes a profile. Returns its size before compression, too.
pub(crate) fn decode(packed: &[u8]) -> (message::Profile, usize) {
    let mut plain = Vec::new();
    GzDecoder::new(packed)
        .read_to_end(&mut plain)
        .expect("gzip");
    (
        message::Profile::decode(&plain[..]).expect("a profile"),
        plain.len(),
    )
}

/// Returns a string of the table.
pub(crate) fn string(profile: &message::Profile, index: i64) -> &str {
    &profile.string_table[usize::try_from(index).expect("an index")]
}

/// Returns the position of a sample type.
pub(crate) fn position(profile: &message::Profile, name: &str) -> usize {
    let mut types = profile.sample_type.iter();
    types
        .position(|of| string(profile, of.r#type) == name)
        .expect("a sample type")
}
