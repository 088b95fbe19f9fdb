//! A finding: a change to make, the bytes and blocks that it saves, and the evidence.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::profile::{Measure, Profile};

/// A kind of finding. The names are the words of JSON.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The allocator refused a request.
    FailedRequest,
    /// Containers that grow step by step, where `with_capacity(n)` makes one block.
    MissingCapacity,
    /// Blocks that are freed at once, again and again.
    Temporary,
    /// Live bytes that grow until the end of the recording, or until the program stops.
    Growing,
    /// Values that serde buffers for `flatten`, `untagged` and internal tags.
    Buffered,
    /// Maps of a `Value` where a type of the program would do.
    ValueTree,
    /// Strings that are short enough to be stored inline.
    SmallStrings,
    /// A phase that takes many times its input at the peak.
    Amplification,
    /// Capacity of lists and tables that holds nothing.
    UnusedCapacity,
    /// Lists and tables that hold nothing and keep their blocks.
    EmptyContainer,
    /// Values that equal another one.
    DuplicateContent,
    /// Large blocks of which only small parts are referenced.
    HeldBySmallPart,
    /// Blocks of dropped values, which only `Weak` pointers keep.
    KeptByWeak,
    /// A text that lives beside the values that were read from it.
    InputKept,
    /// Texts that lie in a larger one, which could be borrowed.
    CouldBorrow,
    /// Pages of large blocks that were never touched.
    Untouched,
    /// Blocks that nothing reaches.
    Unreachable,
    /// Blocks that only reach each other.
    Cycle,
    /// Maps of a few entries.
    SmallMap,
    /// Locals held across an await that make tasks large.
    LargeFuture,
    /// Rare variants of an enum that make all its values large.
    LargeVariant,
    /// Resident pages that few live blocks keep.
    PinnedPages,
    /// Blocks that are all live at once and all freed.
    FreedTogether,
    /// Values that were visited in place and allocated anew.
    InPlaceFellBack,
    /// Usable bytes that the allocator adds to what was requested.
    AllocatorRounding,
}

impl Kind {
    /// Every kind, in the order of findings that save the same.
    pub const ALL: [Kind; 25] = [
        Kind::FailedRequest,
        Kind::MissingCapacity,
        Kind::Temporary,
        Kind::Growing,
        Kind::Buffered,
        Kind::ValueTree,
        Kind::SmallStrings,
        Kind::Amplification,
        Kind::UnusedCapacity,
        Kind::EmptyContainer,
        Kind::DuplicateContent,
        Kind::HeldBySmallPart,
        Kind::KeptByWeak,
        Kind::InputKept,
        Kind::CouldBorrow,
        Kind::Untouched,
        Kind::Unreachable,
        Kind::Cycle,
        Kind::SmallMap,
        Kind::LargeFuture,
        Kind::LargeVariant,
        Kind::PinnedPages,
        Kind::FreedTogether,
        Kind::InPlaceFellBack,
        Kind::AllocatorRounding,
    ];

    /// Returns the word of JSON: `missing_capacity`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if a finding of this kind names a problem, and no saving of its own.
    pub fn saves_nothing(self) -> bool {
        matches!(self, Kind::FailedRequest | Kind::Amplification)
    }

    /// Returns `true` if a finding of this kind saves blocks and no bytes.
    pub fn saves_blocks_only(self) -> bool {
        self == Kind::FreedTogether
    }
}

/// The bytes that a saving is counted in. Savings of different lists are never compared with each
/// other: a byte that is allocated once more is not a byte that stays.
///
/// Findings are listed in this order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SavesOf {
    /// Bytes that are live at the end, or that grow.
    Live,
    /// Bytes that are live at the peak, or at a snapshot before the end.
    Peak,
    /// Resident memory that is no live block.
    Resident,
    /// Bytes or blocks that are allocated, however short they live.
    Allocated,
}

impl SavesOf {
    /// Every list, in order.
    pub const ALL: [SavesOf; 4] = [
        SavesOf::Live,
        SavesOf::Peak,
        SavesOf::Resident,
        SavesOf::Allocated,
    ];

    /// Returns the word of JSON: `live`, `peak`, `resident` or `allocated`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the words after a saving: `of live bytes`, `at the peak`.
    pub(super) fn words(self) -> &'static str {
        match self {
            SavesOf::Live => "of live bytes",
            SavesOf::Peak => "at the peak",
            SavesOf::Resident => "of resident memory",
            SavesOf::Allocated => "of allocated bytes",
        }
    }

    /// Returns the heading of the list.
    pub fn heading(self) -> &'static str {
        match self {
            SavesOf::Live => "Live bytes: what stays, or grows",
            SavesOf::Peak => "Bytes at the peak",
            SavesOf::Resident => "Resident memory that is no live block",
            SavesOf::Allocated => "Allocated bytes, however short they live",
        }
    }
}

/// The relation of a saving to the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Confidence {
    /// The saving to the byte.
    Exact,
    /// The change saves at least this.
    #[strum(serialize = "bound")]
    AtLeast,
    /// The saving depends on something that the recording does not tell.
    Estimate,
}

impl Confidence {
    /// Returns the word of JSON: `exact`, `bound` or `estimate`. A bound is a lower one.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the words before a saving: `at least `, or nothing for an exact one.
    pub(super) fn words(self) -> &'static str {
        match self {
            Confidence::Exact => "",
            Confidence::AtLeast => "at least ",
            Confidence::Estimate => "about ",
        }
    }
}

/// The place that a finding is about. Names are as recorded: not safe for a terminal before
/// [`printable`](crate::units::printable).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The type of the blocks, if it is known.
    pub type_name: Option<String>,
    /// The path of the field, for data in `Profiled<T>`.
    pub field: Option<String>,
    /// The phase, and the field or the call of a library that asked, as in rows by site.
    pub location: String,
    /// The function that owns the blocks.
    pub owner: String,
    /// Its file, as the compiler named it.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// Its file and line for people: `src/main.rs:12`.
    pub source: Option<String>,
    /// The sites, indexes into [`Profile::sites`]; empty if the finding is about no single place.
    pub sites: Vec<usize>,
}

impl Place {
    /// Writes the entries of a place into a map.
    pub(super) fn serialize_into<M: SerializeMap>(&self, json: &mut M) -> Result<(), M::Error> {
        json.serialize_entry("type", &self.type_name)?;
        json.serialize_entry("where", &self.location)?;
        json.serialize_entry("field", &self.field)?;
        json.serialize_entry("owner", &self.owner)?;
        json.serialize_entry("file", &self.file)?;
        json.serialize_entry("line", &self.line)
    }
}

/// The snapshot that a finding is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FromSnapshot {
    /// Its label, as recorded: not safe for a terminal before
    /// [`printable`](crate::units::printable).
    pub label: String,
    /// Nanoseconds from the start of the recording.
    pub time_ns: u64,
    /// All bytes that were live.
    pub live_bytes: u64,
    /// It was taken at the end of the recording: it shows what stays.
    pub at_end: bool,
}

/// A change to make, and what it saves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The bytes that the change saves, counted by [`measure`](Finding::measure).
    pub saves_bytes: u64,
    /// The blocks that the change saves.
    pub saves_blocks: u64,
    /// The bytes that the finding is about. For a refused request, its size.
    pub of_bytes: u64,
    /// The measure of all three: bytes live at the peak, live at the end, or allocated. For a
    /// finding from a snapshot, bytes live at its moment; for growth, at the last moment of it.
    pub measure: Measure,
    /// The snapshot that shows it. `None` for a finding from events.
    pub snapshot: Option<FromSnapshot>,
    /// The relation of the saving to the real one.
    pub confidence: Confidence,
    /// The place.
    pub place: Place,
    /// What holds most of the blocks, for a finding from a snapshot: the outermost blocks with the
    /// line that made them, a thread, or a static. As recorded: not safe for a terminal before
    /// [`printable`](crate::units::printable).
    pub holder: Option<String>,
    /// The figures that the finding rests on, by their keys in JSON.
    pub evidence: Vec<(&'static str, u64)>,
    /// The evidence in one phrase.
    pub why: String,
    /// The change to make, one or two sentences.
    pub remedy: String,
    /// The kind of a finding about the same bytes whose remedy excludes this one.
    pub alternative_to: Option<Kind>,
}

impl Finding {
    /// Returns the bytes that order the findings of a list: the saving; for a refused request, its
    /// size.
    pub fn size(&self) -> u64 {
        if self.kind == Kind::FailedRequest {
            self.of_bytes
        } else {
            self.saves_bytes
        }
    }

    /// Returns the list that the finding belongs to. `None` if it saves nothing.
    pub fn saves_of(&self) -> Option<SavesOf> {
        if self.kind.saves_nothing() {
            return None;
        }
        let is_earlier = |snapshot: &FromSnapshot| !snapshot.at_end;
        Some(match (self.kind, self.measure) {
            (Kind::PinnedPages | Kind::AllocatorRounding, _) => SavesOf::Resident,
            (_, Measure::Total) => SavesOf::Allocated,
            (_, Measure::Live) if self.snapshot.as_ref().is_some_and(is_earlier) => SavesOf::Peak,
            (_, Measure::Live) => SavesOf::Live,
            _ => SavesOf::Peak,
        })
    }

    /// Returns what orders findings: refused requests first, then the lists, then what saves
    /// nothing.
    pub(super) fn list(&self) -> (bool, bool, Option<SavesOf>) {
        let saves_of = self.saves_of();
        (
            self.kind != Kind::FailedRequest,
            saves_of.is_none(),
            saves_of,
        )
    }

    /// Returns all bytes of the measure, of which the finding saves a part.
    pub(super) fn whole(&self, profile: &Profile) -> u64 {
        let totals = profile.totals();
        match (&self.snapshot, self.measure) {
            (Some(snapshot), _) => snapshot.live_bytes,
            (None, Measure::Total) => totals.total_bytes,
            (None, Measure::Live) => totals.live_bytes,
            (None, _) => totals.peak_bytes,
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let evidence: std::collections::BTreeMap<&str, u64> =
            self.evidence.iter().copied().collect();
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("kind", &self.kind)?;
        json.serialize_entry("saves_bytes", &self.saves_bytes)?;
        json.serialize_entry("saves_blocks", &self.saves_blocks)?;
        json.serialize_entry("of_bytes", &self.of_bytes)?;
        json.serialize_entry("measure", self.measure.name())?;
        json.serialize_entry("saves_of", &self.saves_of())?;
        json.serialize_entry("snapshot", &self.snapshot)?;
        json.serialize_entry("confidence", self.confidence.name())?;
        self.place.serialize_into(&mut json)?;
        json.serialize_entry("holder", &self.holder)?;
        json.serialize_entry("evidence", &evidence)?;
        json.serialize_entry("remedy", &self.remedy)?;
        json.serialize_entry("alternative_to", &self.alternative_to)?;
        json.end()
    }
}
