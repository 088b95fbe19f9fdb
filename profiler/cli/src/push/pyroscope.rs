//! The request of Pyroscope's push API, and the limits that its servers have by default.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heapglass_profiler::export::{PprofOptions, PprofSize, Since, Window, write_pprof};
use heapglass_profiler::profile::{Measure, Profile};
use serde::Serialize;

/// The path of the API.
pub(super) const PATH: &str = "/push.v1.PusherService/Push";

/// The name of a profile of memory. Pyroscope forms the names of its types from it, such as
/// `memory:alloc_space:bytes:space:bytes`.
const PROFILE_NAME: &str = "memory";

const SERVICE_NAME: &str = "service_name";

/// Maximum size of a profile before compression.
pub(super) const PROFILE_BYTES: usize = 4 << 20;

/// Maximum number of samples of a profile.
const SAMPLES: usize = 16_000;

/// Maximum number of labels of a profile.
const LABELS: usize = 30;

/// Maximum length of the name and of the value of a label.
const LABEL_BYTES: (usize, usize) = (1024, 2048);

/// The labels of all profiles that are pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels(Vec<(String, String)>);

/// Parses a label of the command line: `region=eu`.
///
/// # Errors
/// Returns the reason if Pyroscope would not accept it.
pub(crate) fn parse_label(text: &str) -> Result<(String, String), String> {
    let refuse = |what: &str| Err(format!("a label {what}; write it as name=value"));
    let Some((name, value)) = text.split_once('=') else {
        return refuse("has a name and a value");
    };
    let mut letters = name.bytes();
    let is_begin = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = letters.next().is_some_and(is_begin)
        && letters.all(|byte| is_begin(byte) || byte.is_ascii_digit());
    if !is_name || name.starts_with("__") {
        return refuse("has a name of ASCII letters, digits and single underscores in front");
    }
    if name.len() > LABEL_BYTES.0 || value.len() > LABEL_BYTES.1 {
        return refuse("has at most 1,024 bytes in its name and 2,048 in its value");
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl Labels {
    /// Checks the labels together.
    ///
    /// # Errors
    /// Returns the reason if there are too many, or two of one name.
    pub(crate) fn new(given: Vec<(String, String)>) -> Result<Self, String> {
        let mut names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the label {} is given twice", pair[0]));
        }
        // Two names are always there.
        let others = names.iter().filter(|name| **name != SERVICE_NAME).count();
        if others + 2 > LABELS {
            let most = LABELS - 2;
            return Err(format!(
                "there are {others} labels; Pyroscope accepts at most {most}, and the name of the service"
            ));
        }
        Ok(Labels(given))
    }
}

#[derive(Serialize)]
struct PushRequest<'a> {
    series: [Series<'a>; 1],
}

#[derive(Serialize)]
struct Series<'a> {
    labels: Vec<LabelPair<'a>>,
    samples: [RawSample; 1],
}

#[derive(Serialize)]
struct LabelPair<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct RawSample {
    #[serde(rename = "rawProfile")]
    raw_profile: String,
}

/// Returns the body of the request for a profile in pprof format.
pub(super) fn body(pprof: &[u8], labels: &Labels, program: &str) -> serde_json::Result<Vec<u8>> {
    let service = if program.is_empty() {
        "unknown"
    } else {
        program
    };
    let mut pairs = vec![("__name__", PROFILE_NAME)];
    if !labels.0.iter().any(|(name, _)| name == SERVICE_NAME) {
        pairs.push((SERVICE_NAME, service));
    }
    let given = labels.0.iter();
    pairs.extend(given.map(|(name, value)| (name.as_str(), value.as_str())));
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| LabelPair { name, value });
    serde_json::to_vec(&PushRequest {
        series: [Series {
            labels: pairs.collect(),
            samples: [RawSample {
                raw_profile: STANDARD.encode(pprof),
            }],
        }],
    })
}

/// Returns a window as pprof within the limits, and its size. If it has too many bytes, halves the
/// number of its samples until it fits.
pub(super) fn within_limits(
    profile: &Profile,
    window: Window<'_>,
    bytes: usize,
) -> std::io::Result<(Vec<u8>, PprofSize)> {
    let mut max_samples = SAMPLES;
    loop {
        let options = PprofOptions {
            measure: Measure::Total,
            window: Some(window),
            max_samples,
            is_for_services: true,
            ..PprofOptions::default()
        };
        let mut pprof = Vec::new();
        let size = write_pprof(profile, &options, &mut pprof)?;
        if size.bytes <= bytes || size.samples <= 1 {
            return Ok((pprof, size));
        }
        max_samples = size.samples / 2;
    }
}

/// The figures of live blocks in what is pushed.
pub(super) const SINCE: Since = Since::Allocations;
