//! 1.11: rkyv, which reads an archive in place, compared with serde's ways to build the same
//! values.

use super::data::{SEED, strings};
use super::{decoded, encoded};
use crate::{Case, Judged, Variant, Window};
use rkyv::rancor::Error;
use rkyv::util::AlignedVec;

/// The case: a thousand entries, each read completely.
pub(super) const CASE: Case = Case {
    id: "1.11",
    system: "rkyv: the archive read in place against values built by bincode",
    headline: "no figures: recommended where serde is not needed",
    variants: &[
        Variant::new("bincode", |window| {
            let bytes = encoded(entries(window));
            input(window, &bytes);
            window.work(|| {
                let entries: Vec<Entry> = decoded(&bytes);
                (entries.iter().map(Entry::weight).sum::<usize>(), entries)
            });
        }),
        Variant::new("rkyv checked", |window| {
            let archive = archive(window);
            window.work(|| weigh(checked(&archive)));
        }),
        Variant::new("rkyv unchecked", |window| {
            let archive = archive(window);
            // SAFETY: rkyv wrote these bytes for this type, and they lie in their aligned buffer.
            window.work(|| weigh(unsafe { rkyv::access_unchecked::<Archived>(&archive) }));
        }),
        Variant::new("rkyv with its archive", |window| {
            let archive = archive(window);
            // Copied once, as from a file, and kept, because the value borrows from it.
            window.work(|| {
                let mut kept = AlignedVec::<16>::with_capacity(archive.len());
                kept.extend_from_slice(&archive);
                (weigh(checked(&kept)), kept)
            });
        }),
        Variant::new("rkyv deserialize", |window| {
            let archive = archive(window);
            window.work(|| {
                rkyv::deserialize::<Vec<Entry>, Error>(checked(&archive))
                    .expect("the archive is of such entries")
            });
        }),
    ],
    judge: |found| {
        let blocks = |variant: &str| found.of(variant, "total_blocks");
        let built = 1.0 + 5.0 * found.of("bincode", "records");
        let archive = found.of("rkyv checked", "input_bytes");
        let retained = found.of("rkyv with its archive", "live_bytes");
        let holds = blocks("bincode") == built
            && blocks("rkyv deserialize") == built
            && blocks("rkyv checked") == 0.0
            && blocks("rkyv unchecked") == 0.0
            && blocks("rkyv with its archive") == 1.0
            && retained == archive;
        let mut why = format!(
            "{} blocks on access, {built} when the values are built, by rkyv as by bincode; whoever reads keeps the \
             whole archive, {retained} B, where the values take {} B",
            blocks("rkyv checked"),
            found.of("bincode", "live_bytes"),
        );
        let times = found.times("bincode", "rkyv checked").value;
        if !times.is_nan() {
            let unchecked = found.times("rkyv checked", "rkyv unchecked").value;
            why += &format!(
                "; bincode takes {times:.1} times as long as reading in place, of which checking is {:.0} %",
                (1.0 - 1.0 / unchecked) * 100.0
            );
        }
        Judged::unjudged(holds, "the source recommends it, without figures", why)
    },
};

/// An entry that contains strings: building it takes five blocks.
#[derive(
    serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
struct Entry {
    id: u32,
    name: String,
    tags: Vec<String>,
    scores: Vec<u32>,
}

type Archived = rkyv::Archived<Vec<Entry>>;

impl Entry {
    fn weight(&self) -> usize {
        let tags: usize = self.tags.iter().map(String::len).sum();
        let scores: usize = self.scores.iter().map(|score| *score as usize).sum();
        self.id as usize + self.name.len() + tags + scores
    }
}

/// Returns the same sum as [`Entry::weight`], over the archive.
fn weigh(entries: &Archived) -> usize {
    let weight = |entry: &ArchivedEntry| -> usize {
        let tags: usize = entry.tags.iter().map(|tag| tag.len()).sum();
        let scores: usize = entry
            .scores
            .iter()
            .map(|score| score.to_native() as usize)
            .sum();
        entry.id.to_native() as usize + entry.name.len() + tags + scores
    };
    entries.iter().map(weight).sum()
}

fn entries(window: &Window) -> Vec<Entry> {
    let count = window.scaled(1_000);
    let (words, _) = strings(count * 3, SEED);
    let entry = |(id, words): (usize, &[String])| Entry {
        id: id as u32,
        name: words.first().cloned().unwrap_or_default(),
        tags: words.iter().skip(1).cloned().collect(),
        scores: (0..8)
            .map(|score| (id as u32 * 31 + score) % 1_000)
            .collect(),
    };
    words.chunks(3).enumerate().map(entry).collect()
}

fn input(window: &mut Window, bytes: &[u8]) {
    window.input(bytes.len(), window.scaled(1_000));
}

fn archive(window: &mut Window) -> AlignedVec {
    let archive = rkyv::to_bytes::<Error>(&entries(window)).expect("entries can be written");
    input(window, &archive);
    archive
}

fn checked(archive: &[u8]) -> &Archived {
    rkyv::access::<Archived, Error>(archive).expect("the archive is of such entries")
}
