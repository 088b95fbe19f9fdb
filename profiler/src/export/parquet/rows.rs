//! The rows of one recording, and the columns of each table.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parquet::data_type::ByteArray;
use sha2::{Digest, Sha256};

use super::column::{Column, Value};
use super::place::{Labels, recording_id, service};
use crate::pprof::names;
use crate::profile::notes;
use crate::profile::{FIGURES, Figures, FrameId, Frames, Interval, Measure, Profile, ScopeId};
use crate::table::{By, Detail, PhaseDetail, Row, SiteDetail, rows};
use crate::units::{printable, without_store};

/// Text of a recording, safe for a terminal.
fn text(recorded: &str) -> ByteArray {
    ByteArray::from(printable(recorded).as_bytes().to_vec())
}

/// The figures of a row in their order, each with its interval if it is an estimate.
type FigureCells = [(u64, Option<Interval>); FIGURES.len()];

fn cells(figures: &Figures) -> FigureCells {
    FIGURES.map(|(key, figure)| (figure(figures), figures.interval(key)))
}

/// The figures of the process: those that were counted exactly in place of their estimates.
fn totals(profile: &Profile) -> FigureCells {
    let totals = profile.totals();
    FIGURES.map(|(key, figure)| match profile.exact_total(key) {
        Some(exact) => (exact, None),
        None => (figure(totals), totals.interval(key)),
    })
}

/// The columns that all rows of a recording share.
struct Common {
    recording: ByteArray,
    host: Option<ByteArray>,
    service: ByteArray,
    version: Option<ByteArray>,
    git_revision: Option<ByteArray>,
    build_id: Option<ByteArray>,
    started_us: i64,
    mode: ByteArray,
}

impl Common {
    fn of(profile: &Profile, labels: &Labels) -> Common {
        let process = profile.process();
        let label = |name| labels.get(name).map(text);
        let mut modules = profile.modules().iter();
        let executable = modules.find(|module| module.path == process.executable);
        let build_id = executable
            .map(|module| &module.build_id)
            .filter(|id| !id.is_empty());
        Common {
            recording: text(&recording_id(process)),
            host: label("host"),
            service: text(&service(process, labels)),
            version: label("version"),
            git_revision: label("git_revision"),
            build_id: build_id.map(|id| text(id)),
            started_us: (process.started_unix_ns / 1_000).cast_signed(),
            mode: text(&profile.capture().mode),
        }
    }
}

/// A row that has what all rows of its recording have.
trait InRecording: 'static {
    fn common(&self) -> &Common;
}

fn common_columns<R: InRecording>() -> Vec<Column<R>> {
    vec![
        Column::text("recording", |row: &R| Some(row.common().recording.clone())),
        Column::text("host", |row: &R| row.common().host.clone()),
        Column::text("service", |row: &R| Some(row.common().service.clone())),
        Column::text("version", |row: &R| row.common().version.clone()),
        Column::text("git_revision", |row: &R| row.common().git_revision.clone()),
        Column::text("build_id", |row: &R| row.common().build_id.clone()),
        Column::time("started_at", |row: &R| Some(row.common().started_us)),
        Column::text("mode", |row: &R| Some(row.common().mode.clone())),
    ]
}

/// The columns of all figures: `peak_bytes`, and `peak_bytes_low` and `peak_bytes_high` of an
/// estimate. The upper end is null for blocks and other events, too.
fn figure_columns<R: 'static>(of: fn(&R) -> &FigureCells) -> impl Iterator<Item = Column<R>> {
    let keys = FIGURES.into_iter().enumerate();
    keys.map(move |(number, (key, _))| {
        let schema = ["", "_low", "_high"].map(|end| format!("OPTIONAL INT64 {key}{end};"));
        Column::several(schema.join(" "), 3, move |row, leaves| {
            let (figure, interval) = of(row)[number];
            leaves[0].push(Some(figure.into()));
            leaves[1].push(interval.map(|interval| interval.low.into()));
            let high = interval.and_then(|interval| interval.high);
            leaves[2].push(high.map(Into::into));
        })
    })
}

/// A recording.
pub(super) struct RecordingRow {
    common: Arc<Common>,
    program: ByteArray,
    pid: u64,
    state: ByteArray,
    is_exact: bool,
    sample_bytes: Option<u64>,
    duration_ns: u64,
    paused_ns: u64,
    peak_error_bytes: u64,
    peak_rss_bytes: Option<u64>,
    labels: Vec<(ByteArray, ByteArray)>,
    notes: Vec<ByteArray>,
    totals: FigureCells,
}

impl InRecording for RecordingRow {
    fn common(&self) -> &Common {
        &self.common
    }
}

pub(super) fn of_recordings() -> Vec<Column<RecordingRow>> {
    let mut columns: Vec<Column<RecordingRow>> = common_columns();
    columns.extend([
        Column::text("program", |row: &RecordingRow| Some(row.program.clone())),
        Column::int("pid", |row: &RecordingRow| Some(row.pid)),
        Column::text("state", |row: &RecordingRow| Some(row.state.clone())),
        Column::flag("exact", |row: &RecordingRow| Some(row.is_exact)),
        Column::int("sample_bytes", |row: &RecordingRow| row.sample_bytes),
        Column::int("duration_ns", |row: &RecordingRow| Some(row.duration_ns)),
        Column::int("paused_ns", |row: &RecordingRow| Some(row.paused_ns)),
        Column::int("peak_error_bytes", |row: &RecordingRow| {
            Some(row.peak_error_bytes)
        }),
        Column::int("peak_rss_bytes", |row: &RecordingRow| row.peak_rss_bytes),
        Column::several(
            "REQUIRED group labels (MAP) { REPEATED group key_value { \
               REQUIRED BYTE_ARRAY key (UTF8); OPTIONAL BYTE_ARRAY value (UTF8); } }"
                .to_owned(),
            2,
            |row: &RecordingRow, leaves| {
                let labels = row.labels.iter();
                leaves[0].push_list(labels.clone().map(|(name, _)| Some(name.clone().into())));
                leaves[1].push_list(labels.map(|(_, value)| Some(value.clone().into())));
            },
        ),
        Column::several(
            "REQUIRED group notes (LIST) { REPEATED group list { \
               OPTIONAL BYTE_ARRAY element (UTF8); } }"
                .to_owned(),
            1,
            |row: &RecordingRow, leaves| {
                leaves[0].push_list(row.notes.iter().map(|note| Some(note.clone().into())));
            },
        ),
    ]);
    columns.extend(figure_columns(|row: &RecordingRow| &row.totals));
    columns
}

/// A call site.
pub(super) struct SampleRow {
    common: Arc<Common>,
    phase: Option<ByteArray>,
    field: Option<ByteArray>,
    type_key: Option<ByteArray>,
    owner: ByteArray,
    function: ByteArray,
    file: Option<ByteArray>,
    line: Option<u64>,
    stack_hash: i64,
    figures: FigureCells,
}

impl InRecording for SampleRow {
    fn common(&self) -> &Common {
        &self.common
    }
}

pub(super) fn of_samples() -> Vec<Column<SampleRow>> {
    let mut columns: Vec<Column<SampleRow>> = common_columns();
    columns.extend([
        Column::text("phase", |row: &SampleRow| row.phase.clone()),
        Column::text("field", |row: &SampleRow| row.field.clone()),
        Column::text("type", |row: &SampleRow| row.type_key.clone()),
        Column::text("owner", |row: &SampleRow| Some(row.owner.clone())),
        Column::text("function", |row: &SampleRow| Some(row.function.clone())),
        Column::text("file", |row: &SampleRow| row.file.clone()),
        Column::int("line", |row: &SampleRow| row.line),
        Column::int("stack_hash", |row: &SampleRow| Some(row.stack_hash)),
    ]);
    columns.extend(figure_columns(|row: &SampleRow| &row.figures));
    columns
}

/// A phase.
pub(super) struct PhaseRow {
    common: Arc<Common>,
    phase: Option<ByteArray>,
    detail: PhaseDetail,
    figures: FigureCells,
}

impl InRecording for PhaseRow {
    fn common(&self) -> &Common {
        &self.common
    }
}

pub(super) fn of_phases() -> Vec<Column<PhaseRow>> {
    let mut columns: Vec<Column<PhaseRow>> = common_columns();
    columns.extend([
        Column::text("phase", |row: &PhaseRow| row.phase.clone()),
        Column::int("entered", |row: &PhaseRow| Some(row.detail.entered)),
        Column::int("input_bytes", |row: &PhaseRow| Some(row.detail.input_bytes)),
        Column::int("records", |row: &PhaseRow| Some(row.detail.records)),
        Column::int("elapsed_ns", |row: &PhaseRow| row.detail.elapsed_ns),
        Column::int("stayed_bytes", |row: &PhaseRow| row.detail.stayed_bytes),
    ]);
    columns.extend(figure_columns(|row: &PhaseRow| &row.figures));
    columns.extend(FIGURES.map(|(key, figure)| {
        let name = format!("with_inner_{key}");
        Column::int(&name, move |row: &PhaseRow| {
            Some(figure(&row.detail.with_inner))
        })
    }));
    columns
}

/// A stack.
pub(super) struct StackRow {
    common: Arc<Common>,
    hash: i64,
    /// Innermost first, as in Parca.
    locations: Vec<Location>,
}

impl InRecording for StackRow {
    fn common(&self) -> &Common {
        &self.common
    }
}

pub(super) fn of_stacks() -> Vec<Column<StackRow>> {
    let mut columns: Vec<Column<StackRow>> = common_columns();
    columns.push(Column::int("stack_hash", |row: &StackRow| Some(row.hash)));
    columns.push(Column::several(
        "REQUIRED group locations (LIST) { REPEATED group list { REQUIRED group element { \
           OPTIONAL INT64 address; \
           OPTIONAL BYTE_ARRAY mapping_file (UTF8); \
           OPTIONAL BYTE_ARRAY mapping_build_id (UTF8); \
           OPTIONAL INT64 line; \
           OPTIONAL BYTE_ARRAY function_name (UTF8); \
           OPTIONAL BYTE_ARRAY function_filename (UTF8); } } }"
            .to_owned(),
        6,
        |row: &StackRow, leaves| {
            let columns: [fn(&Location) -> Option<Value>; 6] = [
                |at| Some(at.address?.into()),
                |at| Some(at.mapping.as_ref()?.0.clone().into()),
                |at| Some(at.mapping.as_ref()?.1.clone()?.into()),
                |at| Some(at.line?.into()),
                |at| Some(at.function.name.clone().into()),
                |at| Some(at.function.file.clone()?.into()),
            ];
            for (leaf, column) in leaves.iter_mut().zip(columns) {
                leaf.push_list(row.locations.iter().map(column));
            }
        },
    ));
    columns
}

/// A function in its file, as tables name it.
struct Function {
    name: ByteArray,
    file: Option<ByteArray>,
}

/// A frame. Without an address or a line where the stacks of one hash differ in it.
#[derive(Clone)]
struct Location {
    address: Option<u64>,
    /// Path and build ID.
    mapping: Option<(ByteArray, Option<ByteArray>)>,
    line: Option<u64>,
    function: Arc<Function>,
}

/// The rows of a recording.
pub(super) struct Rows<'a> {
    profile: &'a Profile,
    pub(super) recording: RecordingRow,
    sites: Vec<(Row, i64)>,
    stacks: BTreeMap<i64, Vec<Location>>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(profile: &'a Profile, labels: &Labels) -> Rows<'a> {
        let (process, capture) = (profile.process(), profile.capture());
        let recording = RecordingRow {
            common: Arc::new(Common::of(profile, labels)),
            program: text(&process.program),
            pid: process.pid.into(),
            state: text(&state(profile)),
            is_exact: capture.is_exact(),
            sample_bytes: capture.sampling.as_ref().map(|of| of.sample_bytes),
            duration_ns: process.duration_ns,
            paused_ns: process.pauses.paused_ns,
            peak_error_bytes: capture.peak_error_bytes,
            peak_rss_bytes: Some(capture.peak_rss_bytes).filter(|bytes| *bytes > 0),
            labels: labels
                .iter()
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
            notes: notes(profile).iter().map(|note| text(note)).collect(),
            totals: totals(profile),
        };
        let mut frames = Locations::new(profile);
        let mut stacks: BTreeMap<i64, Vec<Location>> = BTreeMap::new();
        let sites = rows(profile, By::Site, Measure::Peak, Frames::Trimmed)
            .into_iter()
            .map(|row| {
                let Detail::Site(detail) = &row.detail else {
                    return (row, stack_hash(&[]));
                };
                // The stack of the row has the functions and lines of all its sites, but the address of
                // each frame where that line was seen first.
                let sites = detail.sites.iter();
                let sites = sites.filter_map(|&site| profile.sites().get(site));
                let mut hash = stack_hash(&[]);
                for (number, site) in sites.enumerate() {
                    let inward = profile.frames_of(site, Frames::Trimmed);
                    let outward = inward.into_iter().rev();
                    let stack: Vec<Location> = outward.map(|frame| frames.of(frame)).collect();
                    if number == 0 {
                        hash = stack_hash(&stack);
                    }
                    match stacks.get_mut(&hash) {
                        Some(known) => keep_common(known, &stack),
                        None => drop(stacks.insert(hash, stack)),
                    }
                }
                (row, hash)
            });
        Rows {
            profile,
            recording,
            sites: sites.collect(),
            stacks,
        }
    }

    pub(super) fn samples(
        &self,
        mut add: impl FnMut(&SampleRow) -> io::Result<()>,
    ) -> io::Result<()> {
        for (row, hash) in &self.sites {
            if let Detail::Site(detail) = &row.detail {
                add(&self.sample(row, detail, *hash))?;
            }
        }
        Ok(())
    }

    fn sample(&self, row: &Row, detail: &SiteDetail, stack_hash: i64) -> SampleRow {
        let profile = self.profile;
        let owner = detail.owner;
        let owner = owner.and_then(|owner| profile.frames().get(owner.0 as usize));
        let function = owner.map(|frame| profile.function_name(frame.function));
        SampleRow {
            common: self.recording.common.clone(),
            phase: self.phase(detail.phase),
            field: detail.field.as_deref().map(text),
            type_key: detail.type_key.as_deref().map(text),
            owner: text(&detail.label.owner),
            function: text(function.unwrap_or(&row.key)),
            file: owner.and_then(|frame| file(profile, frame.file.as_deref())),
            line: owner.and_then(|frame| frame.line).map(u64::from),
            stack_hash,
            figures: cells(&row.figures),
        }
    }

    /// The path of a phase; `None` outside all phases.
    fn phase(&self, phase: ScopeId) -> Option<ByteArray> {
        let path = || self.profile.phases().path(self.profile, phase);
        (phase != ScopeId(0)).then(|| text(&path()))
    }

    pub(super) fn phases(
        &self,
        mut add: impl FnMut(&PhaseRow) -> io::Result<()>,
    ) -> io::Result<()> {
        for row in rows(self.profile, By::Phase, Measure::Peak, Frames::Folded) {
            if let Detail::Phase(detail) = row.detail {
                add(&PhaseRow {
                    common: self.recording.common.clone(),
                    phase: self.phase(detail.scope),
                    detail: *detail,
                    figures: cells(&row.figures),
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn stacks(self, mut add: impl FnMut(&StackRow) -> io::Result<()>) -> io::Result<()> {
        for (hash, locations) in self.stacks {
            add(&StackRow {
                common: self.recording.common.clone(),
                hash,
                locations,
            })?;
        }
        Ok(())
    }
}

/// The end of the process, as JSON names it.
fn state(profile: &Profile) -> String {
    let name = serde_json::to_value(profile.process().state).ok();
    let name = name.and_then(|name| Some(name.as_str()?.to_owned()));
    name.unwrap_or_default()
}

/// A source file without the folder of the program, of a registry or of a toolchain, which differ
/// between the machines that build a service.
fn file(profile: &Profile, file: Option<&str>) -> Option<ByteArray> {
    let file = without_store(file?);
    Some(text(
        file.strip_prefix(profile.source_root()).unwrap_or(file),
    ))
}

/// The frames of a profile as tables have them, each made once.
struct Locations<'a> {
    profile: &'a Profile,
    known: Vec<Option<Location>>,
}

impl<'a> Locations<'a> {
    fn new(profile: &'a Profile) -> Self {
        Locations {
            profile,
            known: vec![None; profile.frames().len()],
        }
    }

    fn of(&mut self, id: FrameId) -> Location {
        let profile = self.profile;
        let make = || {
            let frame = profile.frames().get(id.0 as usize);
            let name = frame.map_or("[unnamed]", |frame| profile.function_name(frame.function));
            let address = frame.and_then(|frame| names::address(profile, frame));
            let module = address.and_then(|(module, _)| profile.modules().get(module));
            let build_id = |id: &str| (!id.is_empty()).then(|| text(id));
            Location {
                address: address.map(|(_, address)| address),
                mapping: module.map(|module| (text(&module.path), build_id(&module.build_id))),
                line: frame.and_then(|frame| frame.line).map(u64::from),
                function: Arc::new(Function {
                    name: text(name),
                    file: frame.and_then(|frame| file(profile, frame.file.as_deref())),
                }),
            }
        };
        match self.known.get_mut(id.0 as usize) {
            Some(known) => known.get_or_insert_with(make).clone(),
            None => make(),
        }
    }
}

/// Removes what another stack of the same hash has differently.
fn keep_common(known: &mut [Location], other: &[Location]) {
    for (known, other) in known.iter_mut().zip(other) {
        known.address = known.address.filter(|_| known.address == other.address);
        known.line = known.line.filter(|_| known.line == other.line);
        if known.mapping != other.mapping {
            known.mapping = None;
        }
    }
}

/// Returns the first eight bytes of the SHA-256 of a stack, as a signed number, the first byte
/// highest. Hashed are the name of each function and its file, each followed by a line feed, the
/// innermost first; an unknown file is empty. Lines and addresses change with every build, so they
/// are left out.
fn stack_hash(stack: &[Location]) -> i64 {
    let mut hash = Sha256::new();
    for Location { function, .. } in stack {
        hash.update(function.name.data());
        hash.update(b"\n");
        hash.update(function.file.as_ref().map_or(&[][..], ByteArray::data));
        hash.update(b"\n");
    }
    let hash = hash.finalize();
    let (first, _) = hash.split_first_chunk().expect("32 bytes");
    i64::from_be_bytes(*first)
}
