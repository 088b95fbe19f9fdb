//! Resident memory against live bytes: what the program holds, what its allocator keeps, what
//! heapglass itself takes.
//!
//! This module must take all parts from one reading: figures of different moments have no
//! difference.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Profile, TimelinePoint};
use crate::units::Bytes;

/// The resident set at one moment, with the part of it that lies in mappings which hold blocks,
/// or ever held some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResidentParts {
    /// Nanoseconds after the start of the recording.
    pub time_ns: u64,
    /// The resident set, bytes.
    pub rss_bytes: u64,
    /// Resident bytes of mappings with blocks.
    pub heap_bytes: u64,
    /// Live bytes.
    pub live_bytes: u64,
    /// Resident bytes of heapglass itself.
    pub own_bytes: u64,
    /// Resident bytes of mappings that the reading did not reach: it took too long and ended early.
    pub unread_bytes: u64,
}

impl ResidentParts {
    /// Live bytes that are resident, at most: pages that were never touched are not.
    pub fn resident_live_bytes(&self) -> u64 {
        let may_hold_blocks = self.heap_bytes.saturating_add(self.unread_bytes);
        self.live_bytes.min(may_hold_blocks)
    }

    /// Resident bytes that hold no live block, in mappings that hold blocks: freed memory that the
    /// allocator keeps, and what it adds to each block. Where live bytes were never touched, it is
    /// more than this, and so it is if the reading ended early. Where the program maps memory next
    /// to that of its allocator, such as the arenas of Python, the kernel makes one mapping of
    /// both, and it is less.
    pub fn kept_bytes(&self) -> u64 {
        self.heap_bytes.saturating_sub(self.live_bytes)
    }

    /// Everything else that was read: code, stacks, static data, C libraries, mappings of the
    /// program's own.
    pub fn other_bytes(&self) -> u64 {
        let known = [self.heap_bytes, self.own_bytes, self.unread_bytes];
        let known = known.into_iter().fold(0, u64::saturating_add);
        self.rss_bytes.saturating_sub(known)
    }

    /// The part that belongs to none of the others, because the reading ended early.
    pub fn undivided_bytes(&self) -> u64 {
        if self.unread_bytes == 0 {
            return 0;
        }
        let [live, kept] = [self.resident_live_bytes(), self.kept_bytes()];
        let known = [live, kept, self.own_bytes, self.other_bytes()];
        let known = known.into_iter().fold(0, u64::saturating_add);
        self.rss_bytes.saturating_sub(known)
    }

    /// The parts in words: `25.1 MiB live, 3.2 MiB kept by the allocator, ..`. `kept_text` says
    /// where the second part is, from [`Profile::kept_text`].
    pub fn text(&self, kept_text: &str) -> String {
        let [live, kept, own, other] = [
            self.resident_live_bytes(),
            self.kept_bytes(),
            self.own_bytes,
            self.other_bytes(),
        ]
        .map(Bytes);
        let mut text =
            format!("{live} live, {kept} {kept_text}, {own} profiler overhead, {other} other");
        if self.undivided_bytes() > 0 {
            let undivided = Bytes(self.undivided_bytes());
            text.push_str(&format!(
                ", {undivided} not divided (reading it took too long)"
            ));
        }
        text
    }

    /// Bytes that are resident and not live.
    fn not_live_bytes(&self) -> u64 {
        self.rss_bytes.saturating_sub(self.resident_live_bytes())
    }

    /// Returns `true` if the resident set is at least twice as large as the live bytes, and much
    /// larger.
    fn is_mostly_not_live(&self) -> bool {
        self.not_live_bytes() >= self.resident_live_bytes().max(MUCH_BYTES)
    }
}

/// The largest part of a resident set that is much larger than the live bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum NotLive {
    /// Freed memory that the allocator keeps. Only a snapshot tells whether few live blocks pin it.
    Kept,
    /// Pages that few live blocks pin: bytes of the pages that hold no live block.
    Pinned(u64),
    /// Freed memory that the allocator keeps. Few live blocks pin only this many bytes of it.
    Free(u64),
    /// Arenas of Python, whose blocks are not recorded, or freed memory that the allocator keeps.
    Arenas,
    /// Memory of heapglass itself.
    Own,
    /// Blocks from before heapglass was attached: the bytes that were in use then, if known.
    Before(Option<u64>),
    /// Memory that is not of the program's allocator.
    Other,
}

impl NotLive {
    /// Returns the word of JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the sentence that leads on.
    pub fn lead(self) -> String {
        let text = match self {
            NotLive::Kept => {
                "mostly freed memory that the allocator keeps, no leak; --snapshot shows whether few blocks pin it"
            }
            NotLive::Pinned(bytes) => {
                return format!(
                    "mostly pages that few live blocks pin ({}); `heapglass advise` names these blocks (pinned_pages)",
                    Bytes(bytes)
                );
            }
            NotLive::Free(bytes) => {
                return format!(
                    "mostly freed memory that the allocator keeps, no leak; few blocks pin {} of it, malloc_trim(0) or another allocator gives back the rest",
                    Bytes(bytes)
                );
            }
            NotLive::Arenas => {
                "mostly Python's objects, which Python keeps in arenas of its own and are not recorded, or freed memory; PYTHONMALLOC=malloc shows each object"
            }
            NotLive::Own => "mostly heapglass itself, which the program alone does not take",
            NotLive::Before(Some(bytes)) => {
                return format!(
                    "mostly memory from before heapglass was attached, whose blocks are not recorded: {} were in use then",
                    Bytes(bytes)
                );
            }
            NotLive::Before(None) => {
                "mostly memory from before heapglass was attached, whose blocks are not recorded"
            }
            NotLive::Other => {
                "mostly memory outside the program's allocator: mmap, thread stacks, C libraries, code"
            }
        };
        text.to_owned()
    }
}

/// A smaller difference between resident and live bytes is no question.
const MUCH_BYTES: u64 = 16 << 20;

/// Pages are pinned by few blocks if at most one byte in this number is live.
const FEW: u64 = 4;

impl Serialize for ResidentParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("time_ns", &self.time_ns)?;
        json.serialize_entry("rss_bytes", &self.rss_bytes)?;
        json.serialize_entry("live_bytes", &self.resident_live_bytes())?;
        json.serialize_entry("kept_bytes", &self.kept_bytes())?;
        json.serialize_entry("own_bytes", &self.own_bytes)?;
        json.serialize_entry("other_bytes", &self.other_bytes())?;
        json.serialize_entry("undivided_bytes", &self.undivided_bytes())?;
        json.end()
    }
}

impl TimelinePoint {
    /// Resident but not live, bytes: the allocator's slack, C libraries, code,
    /// stacks, heapglass itself. `None` when live is larger: some of it was never touched.
    pub fn not_seen_bytes(&self) -> Option<u64> {
        self.rss_bytes.checked_sub(self.live_bytes)
    }
}

impl Profile {
    /// At the largest resident set size of the timeline; when the timeline has none, as last read.
    /// `None` when it was never read.
    pub fn resident(&self) -> Option<TimelinePoint> {
        let last = TimelinePoint {
            time_ns: self.process.duration_ns,
            live_bytes: self.totals.live_bytes,
            live_blocks: self.totals.live_blocks,
            total_bytes: self.totals.total_bytes,
            rss_bytes: self.capture.rss_bytes,
            own_bytes: self.capture.own_bytes,
        };
        let points = self.timeline.iter().filter(|point| point.rss_bytes > 0);
        let largest = points.max_by_key(|point| point.rss_bytes).copied();
        largest.or((last.rss_bytes > 0).then_some(last))
    }

    /// The resident sets that were divided, in the order of time: the largest and the last. One if
    /// they are the same.
    pub fn divided_resident(&self) -> Vec<ResidentParts> {
        let most = self.capture.most_resident;
        let last = self
            .capture
            .last_resident
            .filter(|last| Some(*last) != most);
        most.into_iter().chain(last).collect()
    }

    /// The divided resident set that says most: the largest if most of it is not live; else the
    /// last, where the allocator keeps more than a quarter of it, since that stays; else the
    /// largest.
    pub fn resident_parts(&self) -> Option<ResidentParts> {
        let stays = |parts: &ResidentParts| parts.kept_bytes() > parts.rss_bytes / 4;
        let most = self.capture.most_resident;
        let large = most.filter(ResidentParts::is_mostly_not_live);
        large.or(self.capture.last_resident.filter(stays)).or(most)
    }

    /// Returns `true` if the program runs Python code, whose objects lie in arenas that Python maps
    /// itself, unless it was told otherwise (`PYTHONMALLOC=malloc`, which a recording does not
    /// tell).
    fn runs_python(&self) -> bool {
        let mut paths = self.modules().iter().map(|module| &module.path);
        paths.any(|path| {
            let name = path.rsplit('/').next().unwrap_or_default();
            name.starts_with("python") || name.starts_with("libpython")
        })
    }

    /// Says where resident memory without live blocks is, in mappings that hold blocks, for
    /// [`ResidentParts::text`].
    pub fn kept_text(&self) -> &'static str {
        if self.capture.attached.is_some() {
            "in use before or kept by the allocator"
        } else if self.runs_python() {
            "kept by the allocator or in Python's arenas"
        } else {
            "kept by the allocator"
        }
    }

    /// Returns what most of the [resident set](Self::resident_parts) is that is not live, if the
    /// resident set is at least twice as large as the live bytes and much larger, and not only
    /// while the program stops. `None` if the reading ended before most of it was divided.
    pub fn mostly_not_live(&self) -> Option<NotLive> {
        let parts = self.resident_parts()?;
        if !parts.is_mostly_not_live() || !self.was_long_apart() {
            return None;
        }
        if parts.undivided_bytes() > parts.not_live_bytes() / 2 {
            return None;
        }
        let (kept, own, other) = (parts.kept_bytes(), parts.own_bytes, parts.other_bytes());
        let most = kept.max(own).max(other);
        // Older blocks lie in both other parts, and nobody knows where.
        if let Some(attached) = self.capture.attached
            && most != own
        {
            return Some(NotLive::Before(attached.in_use_bytes));
        }
        if most == other {
            return Some(NotLive::Other);
        }
        if most == own {
            return Some(NotLive::Own);
        }
        if self.runs_python() {
            return Some(NotLive::Arenas);
        }
        // The snapshot whose moment is nearest to that of the reading.
        let snapshots = self.snapshots.iter();
        let nearest = snapshots.min_by_key(|at| at.moment().time_ns.abs_diff(parts.time_ns));
        let sites = nearest.map(|snapshot| snapshot.sites()).unwrap_or_default();
        let pinned = sites.iter().map(|(_, figures)| figures.pinned);
        let (mut pages, mut few) = (0_u64, 0_u64);
        for pinned in pinned {
            pages = pages.saturating_add(pinned.page_bytes);
            if pinned.live_bytes <= pinned.page_bytes / FEW {
                few = few.saturating_add(pinned.unused_bytes());
            }
        }
        Some(match pages {
            0 => NotLive::Kept,
            _ if few >= kept / 2 => NotLive::Pinned(few),
            _ => NotLive::Free(few),
        })
    }

    /// Returns `true` if the resident set was much larger than the live bytes for a fifth of the
    /// time. A program that frees everything at its end has that only at its end.
    fn was_long_apart(&self) -> bool {
        let points: Vec<&TimelinePoint> = self.timeline.iter().collect();
        let next = |at: usize| points.get(at + 1).map(|next| next.time_ns);
        let (mut apart_ns, mut read_ns) = (0_u64, 0_u64);
        for (at, point) in points.iter().enumerate() {
            // What a point says holds until the next one.
            let end = next(at).unwrap_or(self.process.duration_ns);
            let lasted_ns = end.saturating_sub(point.time_ns);
            if point.rss_bytes > 0 {
                let not_live = point.rss_bytes.saturating_sub(point.live_bytes);
                let is_apart = not_live >= point.live_bytes.max(MUCH_BYTES);
                apart_ns += if is_apart { lasted_ns } else { 0 };
                read_ns += lasted_ns;
            }
        }
        apart_ns.saturating_mul(5) >= read_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_resident_set() {
        let parts = ResidentParts {
            time_ns: 1,
            rss_bytes: 178,
            heap_bytes: 120,
            live_bytes: 68,
            own_bytes: 40,
            unread_bytes: 0,
        };
        let kept = (parts.resident_live_bytes(), parts.kept_bytes());
        assert_eq!((kept, parts.other_bytes()), ((68, 52), 18));
        // A block of 200 bytes of which 80 were never touched.
        let untouched = ResidentParts {
            live_bytes: 200,
            ..parts
        };
        let kept = (untouched.resident_live_bytes(), untouched.kept_bytes());
        assert_eq!((kept, untouched.other_bytes()), ((120, 0), 18));
    }

    #[test]
    fn parts_of_a_reading_that_ended_early_add_up_too() {
        let parts = |live_bytes| ResidentParts {
            time_ns: 1,
            rss_bytes: 200,
            heap_bytes: 90,
            live_bytes,
            own_bytes: 40,
            unread_bytes: 60,
        };
        for (live_bytes, expected) in [(50, [50, 40, 10, 60]), (120, [120, 0, 10, 30])] {
            let parts = parts(live_bytes);
            let live = parts.resident_live_bytes();
            let shown = [
                live,
                parts.kept_bytes(),
                parts.other_bytes(),
                parts.undivided_bytes(),
            ];
            assert_eq!(shown, expected);
            assert_eq!(shown.iter().sum::<u64>() + parts.own_bytes, parts.rss_bytes);
        }
    }

    /// A profile whose allocator kept 100 MiB of 120 for the last part of the run, and whose
    /// largest reading was before that.
    fn dropped_all(points: &[(u64, u64)]) -> Profile {
        const MIB: u64 = 1 << 20;
        let parts = |time_ns, live: u64| {
            Some(ResidentParts {
                time_ns,
                rss_bytes: 120 * MIB,
                heap_bytes: 110 * MIB,
                live_bytes: live * MIB,
                ..ResidentParts::default()
            })
        };
        let mut profile = Profile::default();
        profile.process.duration_ns = 1000;
        profile.timeline = points
            .iter()
            .map(|(time_ns, live)| TimelinePoint {
                time_ns: *time_ns,
                live_bytes: live * MIB,
                rss_bytes: 120 * MIB,
                ..TimelinePoint::default()
            })
            .collect();
        profile.capture.most_resident = parts(500, 100);
        profile.capture.last_resident = parts(1000, 1);
        profile
    }

    #[test]
    fn memory_kept_after_everything_was_dropped_is_no_finding_however_many_points_are_there() {
        // As many points after the drop as before, in a hundredth of the time.
        let short = [
            (1, 100),
            (400, 100),
            (990, 1),
            (993, 1),
            (996, 1),
            (1000, 1),
        ];
        assert_eq!(dropped_all(&short).mostly_not_live(), None);
        let long = [(1, 100), (400, 100), (600, 1), (1000, 1)];
        assert_eq!(dropped_all(&long).mostly_not_live(), Some(NotLive::Kept));
    }

    #[test]
    fn both_divided_resident_sets_are_kept_and_equal_ones_once() {
        let mut profile = dropped_all(&[]);
        let times = |profile: &Profile| -> Vec<u64> {
            let parts = profile.divided_resident();
            parts.iter().map(|parts| parts.time_ns).collect()
        };
        assert_eq!(times(&profile), [500, 1000]);
        profile.capture.most_resident = profile.capture.last_resident;
        assert_eq!(times(&profile), [1000]);
    }
}
