//! Rows by phase: the time and speed of a phase, and its allocations for each byte and record of
//! its input.
//!
//! Allocations in fields count at the phase around them. This module must never divide by an input
//! that nobody stated.

use serde::Serialize;

use super::rates::{bytes_each, bytes_per_second, per_second};
use super::{Detail, Row};
use crate::profile::{Figures, Profile, ScopeId, ScopeKind, both, per_entry};
use crate::units::{Bytes, counted};

/// A phase, all its places in the tree of scopes together. The names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PhaseDetail {
    /// The first of its places in the tree of scopes; 0 = what is in no phase.
    #[serde(skip)]
    pub scope: ScopeId,
    /// Number of times that it was entered.
    pub entered: u64,
    /// Input bytes reported by the program, 0 = not said.
    pub input_bytes: u64,
    /// Records reported by the program, 0 = not said.
    pub records: u64,
    /// Nanoseconds from entry to exit, summed over entries, with the phases inside it. Threads
    /// that entered it by a handle add nothing. `None` if it is not known, or if an entry has
    /// not ended.
    pub elapsed_ns: Option<u64>,
    /// The phase and all phases inside it.
    pub with_inner: Figures,
    /// Net bytes that its threads allocated during an entry, including the phases inside it:
    /// the mean over entries that ended, negative if they freed more. `None` if it is not known, or
    /// if no entry ended.
    pub stayed_bytes: Option<i64>,
    /// The same, summed over entries.
    #[serde(skip)]
    pub net_bytes: Option<i64>,
}

/// Allocations for one byte, or one record, of input; of the phase with the phases inside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Amplification {
    /// Number of allocations. `None` if it is not known because samples were taken.
    pub blocks: Option<f64>,
    /// Bytes allocated.
    pub total: f64,
    /// Bytes that stayed when the phase ended.
    pub stayed: Option<f64>,
    /// Bytes live at the peak of the program.
    pub peak: f64,
}

impl PhaseDetail {
    /// Returns the figures for each byte of input; `None` if the program did not state its input.
    pub fn per_input_byte(&self) -> Option<Amplification> {
        self.per(self.input_bytes)
    }

    /// Returns the figures for each record; `None` if the program did not state its records.
    pub fn per_record(&self) -> Option<Amplification> {
        self.per(self.records)
    }

    /// Returns the bytes of input for each second; `None` if the program did not state its input,
    /// or if the time is not known.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.per_second(self.input_bytes)
    }

    /// Returns the records for each second; `None` if the program did not state its records, or if
    /// the time is not known.
    pub fn records_per_second(&self) -> Option<f64> {
        self.per_second(self.records)
    }

    /// Spells the input: `6.0 MiB of input (24.0 MiB/s)`. `None` if the program did not state it.
    pub fn input_text(&self, with_speed: bool) -> Option<String> {
        let input = format!("{} of input", Bytes(self.input_bytes));
        let speed = self
            .bytes_per_second()
            .filter(|_| with_speed)
            .map(bytes_per_second);
        (self.input_bytes > 0).then(|| with(input, speed))
    }

    /// Spells the records: `20,000 records (80,000/s)`. `None` if the program did not state them.
    pub fn records_text(&self, with_speed: bool) -> Option<String> {
        let speed = self.records_per_second().filter(|_| with_speed);
        let speed = speed.map(|speed| format!("{}/s", per_second(speed)));
        (self.records > 0).then(|| with(counted(self.records, "record"), speed))
    }

    /// Spells the bytes allocated for each byte of input, and for each record.
    pub fn total_each_texts(&self) -> [Option<String>; 2] {
        let per_byte = self.per_input_byte();
        let per_record = self.per_record();
        [
            per_byte.map(|per| format!("{:.2}", per.total)),
            per_record.map(|per| bytes_each(per.total)),
        ]
    }

    /// Spells the figures for each byte of input; `None` if the program did not state its input.
    pub fn per_input_byte_text(&self) -> Option<String> {
        let per = self.per_input_byte()?;
        let each = per.text(|bytes| format!("{bytes:.2} bytes"));
        Some(format!("for each byte of input {each}"))
    }

    /// Spells the figures for each record; `None` if the program did not state its records.
    pub fn per_record_text(&self) -> Option<String> {
        let per = self.per_record()?;
        Some(format!("for each record {}", per.text(bytes_each)))
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns.filter(|&ns| ns > 0 && count > 0)?;
        Some(count as f64 * 1e9 / elapsed_ns as f64)
    }

    fn per(&self, count: u64) -> Option<Amplification> {
        let count = (count > 0).then_some(count as f64)?;
        Some(Amplification {
            blocks: match self.with_inner.samples() {
                Some(_) => None,
                None => Some(self.with_inner.total_blocks as f64 / count),
            },
            total: self.with_inner.total_bytes as f64 / count,
            stayed: self.net_bytes.map(|bytes| bytes as f64 / count),
            peak: self.with_inner.peak_bytes as f64 / count,
        })
    }
}

impl Amplification {
    /// `3.40 bytes allocated in 0.05 blocks, 1.10 bytes stayed, 1.20 bytes at the peak`
    fn text(&self, spell: fn(f64) -> String) -> String {
        let stayed = self
            .stayed
            .map(|bytes| format!("{} stayed, ", spell(bytes)))
            .unwrap_or_default();
        let blocks = self
            .blocks
            .map(|blocks| format!(" in {blocks:.2} blocks"))
            .unwrap_or_default();
        format!(
            "{} allocated{blocks}, {stayed}{} at the peak",
            spell(self.total),
            spell(self.peak)
        )
    }
}

fn with(text: String, speed: Option<String>) -> String {
    match speed {
        Some(speed) => format!("{text} ({speed})"),
        None => text,
    }
}

pub(super) fn rows(profile: &Profile) -> Vec<Row> {
    let phases = profile.phases();
    // Even a profile without a table of scopes has the root.
    let count = profile.scopes.len().max(1);
    // What was allocated in each phase itself, and the rest of its row.
    let nothing = PhaseDetail {
        elapsed_ns: Some(0),
        net_bytes: Some(0),
        ..PhaseDetail::default()
    };
    let mut rows = vec![(Figures::default(), nothing); count];
    let mut running = vec![0_u64; count];
    for site in &profile.sites {
        // A scope that does not exist counts at the root: never lost.
        let (own, detail) = &mut rows[phases.phase_of(site.scope).0 as usize];
        own.add(&site.figures);
        detail.with_inner.add(&site.figures);
    }
    for (index, scope) in profile.scopes.iter().enumerate().skip(1) {
        if scope.kind != ScopeKind::Phase {
            continue;
        }
        let phase = phases.phase_of(ScopeId(index as u32)).0 as usize;
        let (_, detail) = &mut rows[phase];
        running[phase] = running[phase].saturating_add(scope.running);
        detail.entered = detail.entered.saturating_add(scope.entered);
        detail.input_bytes = detail.input_bytes.saturating_add(scope.input_bytes);
        detail.records = detail.records.saturating_add(scope.records);
        if scope.entered > 0 {
            detail.net_bytes = both(detail.net_bytes, scope.stayed_bytes);
            detail.elapsed_ns = detail
                .elapsed_ns
                .zip(scope.elapsed_ns)
                .map(|(sum, more)| sum.saturating_add(more));
        }
    }
    // From the last scope to the first: parents come before children. A scope that is no phase of
    // its own has nothing.
    for phase in (1..count).rev() {
        let figures = rows[phase].1.with_inner.clone();
        let parent = phases.parent(ScopeId(phase as u32)).0 as usize;
        rows[parent].1.with_inner.add(&figures);
    }
    let rows = (0..).map(ScopeId).zip(rows);
    rows.filter(|(_, (_, detail))| detail.entered > 0 || detail.with_inner != Figures::default())
        .map(|(scope, (figures, mut detail))| {
            detail.scope = scope;
            detail.net_bytes = detail.net_bytes.filter(|_| detail.entered > 0);
            let ended = detail.entered.saturating_sub(running[scope.0 as usize]);
            detail.stayed_bytes = detail.net_bytes.and_then(|sum| per_entry(sum, ended));
            detail.elapsed_ns = detail.elapsed_ns.filter(|_| detail.entered > 0);
            Row {
                key: phases.path(profile, scope),
                figures,
                detail: Detail::Phase(Box::new(detail)),
            }
        })
        .collect()
}
