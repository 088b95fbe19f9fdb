//! The date and the service of a recording, and the folder of its files.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use time::UtcDateTime;

use super::Table;
use crate::profile::Process;
use crate::units::printable;
use heapglass_profile::internal::hex_all;

/// Maximum length of a folder's name without its key, bytes. File systems allow 255 in all.
const LONGEST_NAME: usize = 200;

/// The facts about recordings that they do not contain themselves. Some are columns of every table:
/// `service`, `host`, `version` and `git_revision`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Checks labels: each a name and a value.
    ///
    /// # Errors
    /// Returns the reason if a name or a value is empty, or if a name occurs twice.
    pub fn new(given: impl IntoIterator<Item = (String, String)>) -> Result<Labels, String> {
        let mut labels = BTreeMap::new();
        for (name, value) in given {
            let name = printable(&name).into_owned();
            if name.is_empty() {
                return Err("a label has no name; write it as name=value".to_owned());
            }
            if value.is_empty() {
                return Err(format!(
                    "the label {name} has no value; write it as {name}=value"
                ));
            }
            if labels.contains_key(&name) {
                return Err(format!("the label {name} is given twice; give it once"));
            }
            labels.insert(name, printable(&value).into_owned());
        }
        Ok(Labels(labels))
    }

    /// Returns the value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the labels, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.0.iter();
        labels.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The date on which a recording started, and the service that it is of. Places are ordered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Place {
    /// The date in UTC: `2026-11-27`.
    pub date: String,
    /// The service: its label, else the name of the program.
    pub service: String,
}

impl Place {
    /// Returns the place of a recording; `None` if it has no start time, because it is of a
    /// WebAssembly module.
    pub fn of(process: &Process, labels: &Labels) -> Option<Place> {
        let started = Some(process.started_unix_ns).filter(|started| *started > 0)?;
        let started = UtcDateTime::from_unix_timestamp_nanos(started.into()).ok()?;
        Some(Place {
            date: started.date().to_string(),
            service: service(process, labels),
        })
    }

    /// Returns the folder of the place, as Hive names partitions: `date=2026-11-27/service=api`.
    ///
    /// A recording names the program, so the name may be anything. Every ASCII character except
    /// letters, digits, `_`, `-` and `.` is written as `%2F`; the folder always has two levels.
    pub fn folder(&self) -> String {
        let service = self.service.chars().map(encoded);
        format!("date={}/service={}", self.date, service.collect::<String>())
    }
}

/// Returns the service of a recording, cut to what a folder can be named.
pub(super) fn service(process: &Process, labels: &Labels) -> String {
    let name = labels.get("service").unwrap_or(&process.program);
    let name = match printable(name) {
        name if name.is_empty() => "(unknown program)".into(),
        name => name,
    };
    let mut length = 0;
    let fits = |c: &char| {
        length += encoded(*c).len();
        length <= LONGEST_NAME
    };
    name.chars().take_while(fits).collect()
}

/// Returns a character as the name of a folder has it. Spark decodes each byte by itself, so only
/// ASCII characters are encoded.
fn encoded(c: char) -> String {
    if c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.') {
        format!("%{:02X}", u32::from(c))
    } else {
        c.to_string()
    }
}

/// Returns the name of a recording in all tables: the program, its process ID and its start in
/// nanoseconds since the Unix epoch. A copy of a recording has the same.
pub fn recording_id(process: &Process) -> String {
    let program = printable(&process.program);
    let (pid, started) = (process.pid, process.started_unix_ns);
    format!("{program}-{pid}-{started}")
}

/// Returns the name of the file of a table, by the [IDs](recording_id) of its recordings in their
/// order: `samples-7c5bd3a4f18e2960.parquet`. An export of the same recordings has files of the
/// same names, and an export of others, such as those of another host, has other files.
pub fn file_name<'a>(table: Table, recordings: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for id in recordings {
        hash.update(id.as_bytes());
        hash.update(b"\n");
    }
    let hash = hash.finalize();
    format!("{}-{}.parquet", table.name(), hex_all(&hash[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(program: &str) -> Place {
        let process = heapglass_fixture::made!(Process {
            program: program.to_owned(),
            started_unix_ns: 1_790_000_000_000_000_000,
        });
        Place::of(&process, &Labels::default()).expect("a place")
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for (program, folder) in [
            ("api", "api"),
            ("../../etc", "..%2F..%2Fetc"),
            ("..", ".."),
            ("a=b c%2F", "a%3Db%20c%252F"),
            ("zürich", "zürich"),
            ("a\0b\n", "a%5Cu%7B0%7Db%5Cu%7Ba%7D"),
            ("", "%28unknown%20program%29"),
        ] {
            let folder = format!("date=2026-09-21/service={folder}");
            assert_eq!(of(program).folder(), folder, "{program:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_between_two_characters() {
        for name in ["/", "ü", "x"].map(|c| c.repeat(400)) {
            let place = of(&name);
            let folder = place.folder();
            let (_, last) = folder.split_once('/').expect("two levels");
            assert!(last.len() <= "service=".len() + LONGEST_NAME, "{last}");
            assert!(name.starts_with(&place.service) && !place.service.is_empty());
        }
    }

    #[test]
    fn a_recording_without_a_clock_has_no_date() {
        assert_eq!(Place::of(&Process::default(), &Labels::default()), None);
    }

    #[test]
    fn labels_are_pairs_that_occur_once() {
        let labels = |given: &[(&str, &str)]| {
            let given = given.iter();
            Labels::new(given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
        };
        assert!(labels(&[("", "x")]).is_err());
        assert!(labels(&[("host", "")]).is_err());
        assert!(labels(&[("host", "a"), ("host", "b")]).is_err());
        let known = labels(&[("region", "eu"), ("host", "a\n")]).expect("labels");
        assert_eq!(known.get("host"), Some("a\\u{a}"));
        assert_eq!(known.iter().count(), 2);
    }
}
