//! Rows by thread. Threads whose names differ only in their numbers are one row.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{By, Detail, Row, by_key};
use crate::profile::{Figures, Profile, Thread};

/// The threads of a row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadDetail {
    /// Number of threads.
    pub count: u64,
    /// Each name with its threads, by name: several where the row stands for numbered ones.
    pub members: Vec<Thread>,
}

impl ThreadDetail {
    /// Returns a row for each of the members.
    pub fn rows(&self) -> Vec<Row> {
        let members = self.members.iter();
        members
            .map(|thread| row(thread.key().to_owned(), vec![thread.clone()]))
            .collect()
    }
}

impl Serialize for ThreadDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members: Vec<Member<'_>> = self.members.iter().map(Member).collect();
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("threads", &self.count)?;
        json.serialize_entry("members", &members)?;
        json.end()
    }
}

struct Member<'a>(&'a Thread);

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("key", self.0.key())?;
        json.serialize_entry("threads", &self.0.count)?;
        for (key, figure) in by_key(&self.0.figures, By::Thread) {
            json.serialize_entry(key, &figure)?;
        }
        json.end()
    }
}

pub(super) fn rows(profile: &Profile) -> Vec<Row> {
    let mut groups: BTreeMap<String, Vec<Thread>> = BTreeMap::new();
    for thread in &profile.threads {
        let group = groups.entry(without_numbers(thread.key())).or_default();
        group.push(thread.clone());
    }
    let row = |(pattern, members): (String, Vec<Thread>)| {
        let key = match &members[..] {
            [one] => one.key().to_owned(),
            _ => pattern,
        };
        row(key, members)
    };
    groups.into_iter().map(row).collect()
}

fn row(key: String, members: Vec<Thread>) -> Row {
    let mut figures = Figures::default();
    members
        .iter()
        .for_each(|thread| figures.add(&thread.figures));
    let counts = members.iter().map(|thread| thread.count);
    Row {
        key,
        figures,
        detail: Detail::Thread(Box::new(ThreadDetail {
            count: counts.fold(0, u64::saturating_add),
            members,
        })),
    }
}

/// A name with `*` for each number: `worker-12` is `worker-*`.
fn without_numbers(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            pattern.push(c);
        } else if !pattern.ends_with('*') {
            pattern.push('*');
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_threads_are_one_row_with_its_members() {
        let thread = |name: &str, total_bytes| Thread {
            name: name.to_owned(),
            count: 2,
            figures: Figures {
                total_bytes,
                ..Figures::default()
            },
        };
        let profile = Profile {
            threads: vec![
                thread("main", 1),
                thread("pool-1-worker-10", 10),
                thread("pool-1-worker-9", 100),
                thread("worker-3", 1_000),
            ],
            ..Profile::default()
        };
        let rows: Vec<_> = rows(&profile)
            .into_iter()
            .map(|row| {
                let Detail::Thread(detail) = row.detail else {
                    panic!("a thread");
                };
                let members = detail.members.len();
                (row.key, row.figures.total_bytes, detail.count, members)
            })
            .collect();
        let expected = [
            ("main", 1, 2, 1),
            ("pool-*-worker-*", 110, 4, 2),
            ("worker-3", 1_000, 2, 1),
        ];
        assert_eq!(
            rows,
            expected.map(|(key, a, b, c)| (key.to_owned(), a, b, c))
        );
    }
}
