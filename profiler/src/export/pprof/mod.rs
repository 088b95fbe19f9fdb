//! pprof's protocol buffers, compressed: `go tool pprof`, Parca, Pyroscope.
//!
//! Ids are 1, 2, 3.. and string 0 is empty. Mappings begin at 0 because a recording does not keep
//! where images were mapped: addresses are those of the binary, which pprof takes for such
//! mappings.

pub(super) mod message;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::{ReportOptions, names, notes};
use crate::calltree::stack_of;
use crate::interned::Interned;
use crate::profile::{Figures, Frames, Measure, Module, Origin, Profile, Site, Step};
use crate::units::printable;

/// Type and unit of each value of a sample, and the figure.
type SampleType = (&'static str, &'static str, fn(&Figures) -> u64);

const SAMPLE_TYPES: [SampleType; 6] = [
    ("alloc_objects", "count", |figures| figures.total_blocks),
    ("alloc_space", "bytes", |figures| figures.total_bytes),
    ("inuse_objects", "count", |figures| figures.live_blocks),
    ("inuse_space", "bytes", |figures| figures.live_bytes),
    ("peak_space", "bytes", |figures| figures.peak_bytes),
    ("temporary_space", "bytes", |figures| {
        figures.temporary_bytes
    }),
];

pub(super) fn write(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut builder = Builder {
        profile,
        strings: Interned::new(),
        functions: Interned::new(),
        locations: Interned::new(),
    };
    builder.string("");
    let message = builder.build(options);
    let mut gzip = GzEncoder::new(out, Compression::default());
    gzip.write_all(&message.encode_to_vec())?;
    gzip.finish()?.flush()
}

/// A module (index into [`Profile::modules`]) and an address in it; none of what is no frame.
type Address = Option<(usize, u64)>;

struct Builder<'a> {
    profile: &'a Profile,
    strings: Interned<String>,
    /// Name and file.
    functions: Interned<(i64, i64)>,
    locations: Interned<(Address, Vec<message::Line>)>,
}

impl Builder<'_> {
    fn build(mut self, options: &ReportOptions<'_>) -> message::Profile {
        let profile = self.profile;
        let sample_type = SAMPLE_TYPES.map(|(name, unit, _)| self.value_type(name, unit));
        let period_type = self.value_type("space", "bytes");
        let default_sample_type =
            self.string(default_type(options.measure).unwrap_or("peak_space"));
        // Sites that differ in neither locations nor labels are one sample.
        let mut stacks: Interned<(Vec<u64>, Vec<message::Label>)> = Interned::new();
        let mut sums: Vec<Figures> = Vec::new();
        for (index, site) in profile.counted_sites() {
            let steps = stack_of(profile, options.frames, index);
            let locations = self.location_ids(&steps, options.frames);
            let key = (locations, self.labels(site));
            stacks.entry(&mut sums, key).add(&site.figures);
        }
        let samples = stacks.values.into_iter().zip(&sums);
        let samples = samples.map(|((location_id, label), sum)| message::Sample {
            location_id,
            value: SAMPLE_TYPES
                .map(|(_, _, figure)| signed(figure(sum)))
                .into(),
            label,
        });
        let comment = self.comments();
        let mapping = self.mappings();
        let location = self.numbered_locations(&mapping);
        let functions = (1..).zip(&self.functions.values);
        let function = functions.map(|(id, &(name, filename))| message::Function {
            id,
            name,
            system_name: 0,
            filename,
        });
        message::Profile {
            sample_type: sample_type.into(),
            sample: samples.collect(),
            mapping: mapping.into_values().collect(),
            location,
            function: function.collect(),
            string_table: self.strings.values,
            time_nanos: signed(profile.process.started_unix_ns),
            duration_nanos: signed(profile.process.duration_ns),
            period_type: Some(period_type),
            // 1 = nothing is sampled.
            period: profile
                .capture
                .sampling
                .as_ref()
                .map_or(1, |sampling| signed(sampling.sample_bytes)),
            comment,
            default_sample_type,
        }
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
    fn labels(&mut self, site: &Site) -> Vec<message::Label> {
        let profile = self.profile;
        let phases = profile.phases();
        let phase = (phases.phase_of(site.scope).0 != 0).then(|| phases.path(profile, site.scope));
        let fields = profile.fields();
        let field = Some(fields.field_of(site.scope)).filter(|&field| field != 0);
        let field = field.and_then(|field| fields.nodes.get(field as usize));
        let type_id = profile.type_id_of(site);
        let type_key = type_id.map(|id| profile.type_key(Some(id)).to_owned());
        let thread = match &profile.threads[..] {
            [only] if only.count == 1 => Some(only.key().to_owned()),
            _ => None,
        };
        let values = [
            ("thread", thread),
            ("phase", phase),
            ("field", field.map(|field| field.path.clone())),
            ("type", type_key),
        ];
        let label = |(key, value): (&str, Option<String>)| {
            let value = value?;
            Some(message::Label {
                key: self.string(key),
                str: self.string(&value),
            })
        };
        values.into_iter().filter_map(label).collect()
    }

    fn comments(&mut self) -> Vec<i64> {
        let mut comments = vec![
            concat!("heapglass ", env!("CARGO_PKG_VERSION")).to_owned(),
            format!("command: {}", names::command(self.profile)),
        ];
        comments.extend(notes(self.profile));
        comments.iter().map(|text| self.string(text)).collect()
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

/// Returns the sample type that a viewer shows first; `None` for copied bytes and grows, which have
/// no sample type.
pub(super) fn default_type(measure: Measure) -> Option<&'static str> {
    Some(match measure {
        Measure::Copied | Measure::Grows => return None,
        Measure::Peak => "peak_space",
        Measure::Live => "inuse_space",
        Measure::Total => "alloc_space",
        Measure::Blocks => "alloc_objects",
        Measure::Temporary => "temporary_space",
    })
}

fn signed(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}
