//! pprof's protocol buffers, compressed: `go tool pprof`, Parca, Pyroscope.
//!
//! Ids are 1, 2, 3.. and string 0 is empty. Mappings begin at 0 because a recording does not keep
//! where images were mapped: addresses are those of the binary, which pprof takes for such
//! mappings.

mod message;
pub mod names;
mod since;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use crate::calltree::stack_of;
use crate::interned::Interned;
use crate::profile::{Figures, Frames, Measure, Module, Origin, Profile, Step, notes};
use crate::units::{Count, printable};

pub use since::{Moment, Since, Window};

/// A value that each sample has.
struct SampleType {
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    figure: fn(&Figures) -> u64,
}

/// The meaning of a value over a window of time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A sum over all events, so a window has the difference of two moments.
    Sum,
    /// A level at one moment.
    Level,
    /// A level at the peak of the whole recording, which says nothing of a window.
    Peak,
}

const SAMPLE_TYPES: [SampleType; 6] = [
    sample_type("alloc_objects", "count", Kind::Sum, |of| of.total_blocks),
    sample_type("alloc_space", "bytes", Kind::Sum, |of| of.total_bytes),
    sample_type("inuse_objects", "count", Kind::Level, |of| of.live_blocks),
    sample_type("inuse_space", "bytes", Kind::Level, |of| of.live_bytes),
    sample_type("peak_space", "bytes", Kind::Peak, |of| of.peak_bytes),
    sample_type("temporary_space", "bytes", Kind::Sum, |of| {
        of.temporary_bytes
    }),
];

const fn sample_type(
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    figure: fn(&Figures) -> u64,
) -> SampleType {
    SampleType {
        name,
        unit,
        kind,
        figure,
    }
}

/// The name of the function of the sample that stands for all further stacks.
const OTHER_STACKS: &str = "[other stacks]";

/// The contents of a pprof file.
#[derive(Clone, Copy, Debug)]
pub struct PprofOptions<'a> {
    /// The measure that a viewer shows first.
    pub measure: Measure,
    /// The frames of each stack.
    pub frames: Frames,
    /// The window that the figures are of; `None` for the whole recording. A window has no figures
    /// of the peak.
    pub window: Option<Window<'a>>,
    /// Maximum number of samples. Further stacks, those with the fewest bytes, are one sample, so
    /// that the totals stay right.
    pub max_samples: usize,
    /// Leaves out what a service that stores profiles should not have: the arguments of the
    /// command, and the labels field, type and thread, each value of which would be a series.
    pub is_for_services: bool,
}

impl Default for PprofOptions<'_> {
    fn default() -> Self {
        PprofOptions {
            measure: Measure::default(),
            frames: Frames::Trimmed,
            window: None,
            max_samples: usize::MAX,
            is_for_services: false,
        }
    }
}

/// The size of a pprof file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PprofSize {
    /// Number of samples.
    pub samples: usize,
    /// Number of stacks that are in one sample because there are too many.
    pub merged_stacks: usize,
    /// Size before compression, bytes.
    pub bytes: usize,
}

/// Writes a profile as pprof.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` if the window [is not of](Moment::is_of) the same
/// recording.
pub fn write_pprof(
    profile: &Profile,
    options: &PprofOptions<'_>,
    out: impl Write,
) -> io::Result<PprofSize> {
    if options
        .window
        .is_some_and(|window| !window.begin.is_of(profile))
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the two moments are of different recordings",
        ));
    }
    let mut builder = Builder {
        profile,
        options,
        strings: Interned::new(),
        functions: Interned::new(),
        locations: Interned::new(),
    };
    builder.string("");
    let (message, merged_stacks) = builder.build();
    let bytes = message.encode_to_vec();
    let mut gzip = GzEncoder::new(out, Compression::default());
    gzip.write_all(&bytes)?;
    gzip.finish()?.flush()?;
    Ok(PprofSize {
        samples: message.sample.len(),
        merged_stacks,
        bytes: bytes.len(),
    })
}

/// A module (index into [`Profile::modules`]) and an address in it; none of what is no frame.
type Address = Option<(usize, u64)>;

struct Builder<'a> {
    profile: &'a Profile,
    options: &'a PprofOptions<'a>,
    strings: Interned<String>,
    /// Name and file.
    functions: Interned<(i64, i64)>,
    locations: Interned<(Address, Vec<message::Line>)>,
}

impl Builder<'_> {
    /// Returns the message, and the number of stacks that are in one sample.
    fn build(mut self) -> (message::Profile, usize) {
        let window = self.options.window;
        let profile = self.profile;
        let types: Vec<&SampleType> = SAMPLE_TYPES
            .iter()
            .filter(|of| window.is_none() || of.kind != Kind::Peak)
            .collect();
        let sample_type = types
            .iter()
            .map(|of| self.value_type(of.name, of.unit))
            .collect();
        let period_type = self.value_type("space", "bytes");
        let shown_first = default_type(self.options.measure)
            .filter(|name| types.iter().any(|of| of.name == *name));
        let default_sample_type = self.string(shown_first.unwrap_or(if window.is_some() {
            "alloc_space"
        } else {
            "peak_space"
        }));
        let (samples, merged) = self.samples(&types);
        let comment = self.comments(merged);
        let mapping = self.mappings();
        let location = self.numbered_locations(&mapping);
        let functions = (1..).zip(&self.functions.values);
        let function = functions.map(|(id, &(name, filename))| message::Function {
            id,
            name,
            system_name: 0,
            filename,
        });
        let (time_ns, duration_ns) = match &window {
            Some(window) => window.unix_ns(profile),
            None => (profile.process.started_unix_ns, profile.process.duration_ns),
        };
        let message = message::Profile {
            sample_type,
            sample: samples,
            mapping: mapping.into_values().collect(),
            location,
            function: function.collect(),
            string_table: self.strings.values,
            time_nanos: signed(time_ns),
            duration_nanos: signed(duration_ns),
            period_type: Some(period_type),
            // 1 = nothing is sampled.
            period: profile
                .capture
                .sampling
                .as_ref()
                .map_or(1, |sampling| signed(sampling.sample_bytes)),
            comment,
            default_sample_type,
        };
        (message, merged)
    }

    /// Returns the samples, and the number of stacks that are in the last one because there are
    /// too many. Sites that differ in neither locations nor labels are one sample.
    fn samples(&mut self, types: &[&SampleType]) -> (Vec<message::Sample>, usize) {
        let profile = self.profile;
        let &PprofOptions {
            window,
            frames,
            max_samples,
            ..
        } = self.options;
        let value = |site: usize, of: &SampleType| {
            let now = signed((of.figure)(&profile.sites[site].figures));
            let Some(window) = &window else {
                return now;
            };
            if of.kind == Kind::Sum || window.since == Since::Change {
                now.saturating_sub(signed((of.figure)(&window.before(profile, site))))
            } else {
                now
            }
        };
        let counted = profile
            .counted_sites()
            .map(|(index, _)| -> (usize, Vec<i64>) {
                (index, types.iter().map(|of| value(index, of)).collect())
            });
        // Most sites do nothing in a window.
        let is_counted = |(_, values): &(usize, Vec<i64>)| {
            window.is_none() || values.iter().any(|value| *value != 0)
        };
        let mut counted: Vec<(usize, Vec<i64>)> = counted.filter(is_counted).collect();
        let mut other: Vec<i64> = Vec::new();
        let mut merged = 0;
        if counted.len() > max_samples {
            let size = |values: &[i64]| {
                let bytes = types
                    .iter()
                    .zip(values)
                    .filter(|(of, _)| of.unit == "bytes");
                bytes.map(|(_, value)| value.unsigned_abs()).max()
            };
            counted.sort_by_cached_key(|(_, values)| Reverse(size(values)));
            // One sample is that of the others.
            let rest = counted.split_off(max_samples.saturating_sub(1));
            merged = rest.len();
            rest.iter().for_each(|(_, values)| add(&mut other, values));
        }
        let mut stacks: Interned<(Vec<u64>, Vec<message::Label>)> = Interned::new();
        let mut sums: Vec<Vec<i64>> = Vec::new();
        for (index, values) in counted {
            let steps = stack_of(profile, frames, index);
            let locations = self.location_ids(&steps, frames);
            let key = (locations, self.labels(index));
            add(stacks.entry(&mut sums, key), &values);
        }
        if merged > 0 {
            let name = self.string(OTHER_STACKS);
            let line = message::Line {
                function_id: u64::from(self.functions.number((name, 0))) + 1,
                line: 0,
            };
            let location = u64::from(self.locations.number((None, vec![line]))) + 1;
            add(
                stacks.entry(&mut sums, (vec![location], Vec::new())),
                &other,
            );
        }
        let samples = stacks
            .values
            .into_iter()
            .zip(sums)
            .map(|((location_id, label), value)| message::Sample {
                location_id,
                value,
                label,
            });
        (samples.collect(), merged)
    }

    fn string(&mut self, text: &str) -> i64 {
        i64::from(self.strings.number(printable(text).into_owned()))
    }

    fn value_type(&mut self, name: &str, unit: &str) -> message::ValueType {
        message::ValueType {
            r#type: self.string(name),
            unit: self.string(unit),
        }
    }

    /// The locations of a stack, innermost first. The frames inlined at one address are lines of
    /// one location.
    fn location_ids(&mut self, steps: &[Step], frames: Frames) -> Vec<u64> {
        let mut locations: Vec<(Address, Vec<message::Line>)> = Vec::new();
        for step in steps {
            let line = self.line(step);
            let frame = names::frame_of(self.profile, step);
            // A run of frames has no one address, nor has a frame without those that it was inlined
            // into.
            let address = frame
                .filter(|_| matches!(frames, Frames::All | Frames::Trimmed))
                .and_then(|frame| names::address(self.profile, frame));
            let is_inlined = frame.is_some_and(|frame| frame.inlined);
            match locations.last_mut() {
                Some((outer, lines)) if is_inlined && address.is_some() && *outer == address => {
                    lines.insert(0, line);
                }
                _ => locations.push((address, vec![line])),
            }
        }
        let locations = locations.into_iter().rev();
        locations
            .map(|location| u64::from(self.locations.number(location)) + 1)
            .collect()
    }

    fn line(&mut self, step: &Step) -> message::Line {
        let profile = self.profile;
        let name = self.string(&names::name(profile, step.label));
        let frame = names::frame_of(profile, step);
        let file = frame.and_then(names::file).unwrap_or_default();
        let file = self.string(&file);
        message::Line {
            function_id: u64::from(self.functions.number((name, file))) + 1,
            line: frame.and_then(|frame| frame.line).map_or(0, i64::from),
        }
    }

    /// Returns the labels of a site. Figures are not kept by thread, so the thread's name is known
    /// only if there was one thread.
    fn labels(&mut self, index: usize) -> Vec<message::Label> {
        let profile = self.profile;
        let site = &profile.sites[index];
        let phases = profile.phases();
        let phase = (phases.phase_of(site.scope).0 != 0).then(|| phases.path(profile, site.scope));
        let fields = profile.fields();
        let field = Some(fields.field_of_site(index)).filter(|&field| field != 0);
        let field = field.and_then(|field| fields.nodes.get(field as usize));
        let type_id = profile.type_id_of(site);
        let type_key = type_id.map(|id| profile.type_key(Some(id)).to_owned());
        let threads: Vec<_> = (profile.threads.iter())
            .filter(|thread| thread.count > 0)
            .collect();
        let thread = match threads[..] {
            [only] if only.count == 1 => Some(only.key().to_owned()),
            _ => None,
        };
        let is_for_services = self.options.is_for_services;
        let values = [
            ("thread", thread),
            ("phase", phase),
            ("field", field.map(|field| field.path.clone())),
            ("type", type_key),
        ];
        let values = values
            .into_iter()
            .filter(|(key, _)| !is_for_services || *key == "phase");
        let label = |(key, value): (&str, Option<String>)| {
            let value = value?;
            Some(message::Label {
                key: self.string(key),
                str: self.string(&value),
            })
        };
        values.filter_map(label).collect()
    }

    fn comments(&mut self, merged: usize) -> Vec<i64> {
        let mut comments = vec![concat!("heapglass ", env!("CARGO_PKG_VERSION")).to_owned()];
        if !self.options.is_for_services {
            comments.push(format!("command: {}", names::command(self.profile)));
        }
        if let Some(window) = &self.options.window {
            comments.push(window.describe(self.profile));
        }
        if merged > 0 {
            comments.push(format!(
                "{} stacks with the fewest bytes are one sample, {OTHER_STACKS}: with all of them, the profile \
                 would be too large for its receiver.",
                Count(merged as u64)
            ));
        }
        comments.extend(self.objects_of_samples());
        comments.extend(notes(self.profile));
        comments.iter().map(|text| self.string(text)).collect()
    }

    /// Says what the numbers of objects of samples are worth: viewers show them as counts.
    fn objects_of_samples(&self) -> Option<String> {
        self.profile.capture.sampling.as_ref()?;
        let blocks = |key| self.profile.number(key).of("block");
        Some(format!(
            "alloc_objects and inuse_objects are estimates without an upper bound, because small blocks may \
             never have been sampled: {} were allocated, {} are live.",
            blocks("total_blocks"),
            blocks("live_blocks")
        ))
    }

    /// The modules that locations are in, by their indexes into [`Profile::modules`]: the
    /// executable first.
    fn mappings(&mut self) -> BTreeMap<usize, message::Mapping> {
        let locations = self.locations.values.iter();
        let used: BTreeSet<usize> = locations
            .filter_map(|(address, _)| Some((*address)?.0))
            .collect();
        let profile = self.profile;
        let mapping = |(id, module): (u64, usize)| {
            let Module { path, build_id, .. } = &profile.modules[module];
            let mapping = message::Mapping {
                id,
                filename: self.string(path),
                build_id: self.string(build_id),
                ..message::Mapping::default()
            };
            (module, mapping)
        };
        let mut mappings: BTreeMap<usize, message::Mapping> =
            (1..).zip(used).map(mapping).collect();
        for frame in &profile.frames {
            if let Some((module, _)) = names::address(profile, frame)
                && let Some(mapping) = mappings.get_mut(&module)
            {
                let function = profile.functions.get(frame.function.0 as usize);
                mapping.has_functions |= function.is_some_and(|f| f.origin != Origin::Unresolved);
                // Files, lines and inlined frames come together.
                let has_lines = frame.file.is_some();
                mapping.has_filenames |= has_lines;
                mapping.has_line_numbers |= has_lines;
                mapping.has_inline_frames |= has_lines;
            }
        }
        mappings
    }

    fn numbered_locations(
        &self,
        mappings: &BTreeMap<usize, message::Mapping>,
    ) -> Vec<message::Location> {
        let locations = (1..).zip(&self.locations.values);
        let location = |(id, (address, lines)): (u64, &(Address, Vec<message::Line>))| {
            message::Location {
                id,
                mapping_id: address.map_or(0, |(module, _)| mappings[&module].id),
                // Inside the call: what is recorded is the address behind it.
                address: address.map_or(0, |(_, offset)| offset - 1),
                line: lines.clone(),
            }
        };
        locations.map(location).collect()
    }
}

/// Returns the sample type that a viewer shows first; `None` for measures without a sample
/// type.
pub fn default_type(measure: Measure) -> Option<&'static str> {
    Some(match measure {
        Measure::Copied | Measure::Grows | Measure::Retained | Measure::Unused => return None,
        Measure::Peak => "peak_space",
        Measure::Live => "inuse_space",
        Measure::Total => "alloc_space",
        Measure::Blocks => "alloc_objects",
        Measure::Temporary => "temporary_space",
    })
}

/// Adds `values` to `sums`, column by column. An empty list of sums is all zeros.
fn add(sums: &mut Vec<i64>, values: &[i64]) {
    sums.resize(values.len(), 0);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.saturating_add(*value);
    }
}

fn signed(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}
