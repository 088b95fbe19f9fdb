//! Checkpoints: what each site held at a few moments of the run.
//!
//! [`Profile::at_checkpoint`] is the composition of the heap at a checkpoint, as a profile of its
//! own: every grouping and every view of live bytes works on it. Growth between two moments is the
//! comparison of two of them (`growth` of heapglass-profiler).

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Distribution, Figures, Profile, Samples, Sampling, ScopeId, ScopeKind};

/// A moment at which the recording kept the live bytes and blocks of every site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Nanoseconds after the start.
    pub time_ns: u64,
    /// The reason for which it was taken.
    pub kind: CheckpointKind,
    /// The name of the mark or of the phase that ended; empty for a checkpoint that was due.
    pub name: String,
    /// Live bytes of all sites.
    pub live_bytes: u64,
    /// Live blocks of all sites.
    pub live_blocks: u64,
    /// Bytes allocated by the whole process up to then.
    pub total_bytes: u64,
}

/// The reason for a checkpoint. The names are those of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CheckpointKind {
    /// It was due.
    #[default]
    Time,
    /// An outermost phase ended.
    Phase,
    /// The program set a mark.
    Mark,
}

impl Serialize for Checkpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("time_ns", &self.time_ns)?;
        json.serialize_entry("kind", &self.kind)?;
        json.serialize_entry("name", &Some(&self.name).filter(|name| !name.is_empty()))?;
        json.serialize_entry("live_bytes", &self.live_bytes)?;
        json.serialize_entry("live_blocks", &self.live_blocks)?;
        json.serialize_entry("total_bytes", &self.total_bytes)?;
        json.end()
    }
}

/// A phase that ended at a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseSpan {
    /// The name, as recorded: not safe for a terminal before [`crate::units::printable`].
    pub name: String,
    /// Nanoseconds from the start of the recording to the begin of the phase. `None` if the phase
    /// was entered several times: the recording sums their times.
    pub begin_ns: Option<u64>,
    /// Nanoseconds from the start of the recording to its end.
    pub end_ns: u64,
}

/// Live bytes and blocks.
pub(crate) type Held = (u64, u64);

/// The checkpoints of a recording, with what each site held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkpoints {
    pub(super) moments: Vec<Checkpoint>,
    held: Arc<HeldBySites>,
}

/// The live bytes and blocks of each site. Most sites change between few checkpoints, so only
/// changes are kept.
#[derive(Clone, Debug, Default)]
struct HeldBySites {
    /// The index after the last change of each site.
    ends: Vec<usize>,
    changes: Vec<Change>,
}

/// From this checkpoint on, up to the next change, a site held this.
#[derive(Clone, Copy, Debug)]
struct Change {
    checkpoint: u32,
    held: Held,
}

impl HeldBySites {
    fn changes_of(&self, site: usize) -> &[Change] {
        let start = match site.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or(0),
        };
        let end = self.ends.get(site).copied().unwrap_or(start);
        self.changes.get(start..end).unwrap_or_default()
    }
}

impl Checkpoints {
    /// Creates checkpoints, oldest first, whose sites are still to be [added](Checkpoints::add).
    pub(crate) fn new(moments: Vec<Checkpoint>) -> Self {
        Checkpoints {
            moments,
            held: Arc::default(),
        }
    }

    /// Adds the next site with what it held at each checkpoint.
    pub(crate) fn add(&mut self, held: impl IntoIterator<Item = Held>) {
        let sites = Arc::make_mut(&mut self.held);
        let mut last = (0, 0);
        for (number, (held, moment)) in (0..).zip(held.into_iter().zip(&mut self.moments)) {
            moment.live_bytes = moment.live_bytes.saturating_add(held.0);
            moment.live_blocks = moment.live_blocks.saturating_add(held.1);
            if held != last {
                last = held;
                sites.changes.push(Change {
                    checkpoint: number,
                    held,
                });
            }
        }
        sites.ends.push(sites.changes.len());
    }

    fn held(&self, site: usize, checkpoint: usize) -> Held {
        let changes = self.held.changes_of(site);
        let after = changes.partition_point(|change| change.checkpoint as usize <= checkpoint);
        let last = after.checked_sub(1).and_then(|last| changes.get(last));
        last.map_or((0, 0), |change| change.held)
    }
}

impl Profile {
    /// Returns the phases that ended at a checkpoint: outermost phases, in the order of their ends.
    pub fn phase_spans(&self) -> Vec<PhaseSpan> {
        let phases = self.phases();
        let outermost = (1..)
            .map(ScopeId)
            .zip(self.scopes.iter().skip(1))
            .filter(|(id, scope)| {
                scope.kind == ScopeKind::Phase && phases.parent(*id) == ScopeId(0)
            });
        // The time of a phase that was entered once; `None` if it was entered more often.
        let mut entered_once: HashMap<&str, Option<u64>> = HashMap::new();
        for (_, scope) in outermost {
            let elapsed_ns = scope.elapsed_ns.filter(|_| scope.entered == 1);
            let known = entered_once.entry(&scope.name);
            known.and_modify(|ns| *ns = None).or_insert(elapsed_ns);
        }
        let ended = self
            .checkpoints
            .moments
            .iter()
            .filter(|moment| moment.kind == CheckpointKind::Phase);
        ended
            .map(|moment| {
                let elapsed_ns = entered_once.get(moment.name.as_str()).copied().flatten();
                PhaseSpan {
                    name: moment.name.clone(),
                    begin_ns: elapsed_ns.and_then(|ns| moment.time_ns.checked_sub(ns)),
                    end_ns: moment.time_ns,
                }
            })
            .collect()
    }

    /// Returns the moments at which the recording kept what each site held, oldest first.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints.moments
    }

    /// Returns the live bytes and blocks of some sites, by their indexes, at each checkpoint.
    pub fn live_at_checkpoints(&self, sites: &[usize]) -> Vec<Held> {
        let mut sums = vec![(0_u64, 0_u64); self.checkpoints.moments.len()];
        for &site in sites {
            let changes = self.checkpoints.held.changes_of(site);
            let ends = changes
                .iter()
                .skip(1)
                .map(|change| change.checkpoint)
                .chain([sums.len() as u32]);
            for (change, end) in changes.iter().zip(ends) {
                let held = sums.get_mut(change.checkpoint as usize..end as usize);
                for sum in held.unwrap_or_default() {
                    sum.0 = sum.0.saturating_add(change.held.0);
                    sum.1 = sum.1.saturating_add(change.held.1);
                }
            }
        }
        sums
    }

    /// Returns the live bytes of some sites, by their indexes, at each checkpoint.
    pub fn live_bytes_at_checkpoints(&self, sites: &[usize]) -> Vec<u64> {
        let held = self.live_at_checkpoints(sites).into_iter();
        held.map(|(bytes, _)| bytes).collect()
    }

    /// Returns the composition of the heap at a checkpoint, as a profile: live bytes and blocks of
    /// each site, and nothing else. Its sites, fields, phases and types have the numbers that they
    /// have here. Returns `None` if there is no such checkpoint.
    ///
    /// Rows of every grouping that consists of sites, the call tree and comparisons work on it,
    /// with [`Measure::Live`](super::Measure::Live). Threads and arenas have none: they are not
    /// sites.
    ///
    /// ```
    /// use heapglass_profile::profile::{Frames, Measure};
    /// use heapglass_profile::table::{By, rows};
    ///
    /// # let profile = heapglass_fixture::real("shop-profiled");
    /// let last = profile.checkpoints().len() - 1;
    /// let then = profile.at_checkpoint(last).expect("a checkpoint");
    /// let types = rows(&then, By::Type, Measure::Live, Frames::Folded);
    /// let sum: u64 = types.iter().map(|row| row.figures.live_bytes).sum();
    /// assert_eq!(sum, profile.checkpoints()[last].live_bytes);
    /// ```
    pub fn at_checkpoint(&self, checkpoint: usize) -> Option<Profile> {
        let time_ns = self.checkpoints.moments.get(checkpoint)?.time_ns;
        Some(self.holding(time_ns, |site| self.checkpoints.held(site, checkpoint)))
    }

    /// Returns the composition of the heap at the peak, in the same form as
    /// [`at_checkpoint`](Profile::at_checkpoint).
    #[must_use]
    pub fn at_peak(&self) -> Profile {
        self.holding(self.capture.peak_time_ns, |site| {
            let figures = self.sites.get(site).map(|site| site.figures.clone());
            figures.map_or((0, 0), |figures| (figures.peak_bytes, figures.peak_blocks))
        })
    }

    /// Returns the composition of the heap at the end of the recording, or now if the program still
    /// runs, in the same form as [`at_checkpoint`](Profile::at_checkpoint).
    #[must_use]
    pub fn at_end(&self) -> Profile {
        self.holding(self.process.duration_ns, |site| {
            let figures = self.sites.get(site).map(|site| site.figures.clone());
            figures.map_or((0, 0), |figures| (figures.live_bytes, figures.live_blocks))
        })
    }

    /// Returns the composition of the heap at the start of the recording: nothing is live.
    #[must_use]
    pub fn at_start(&self) -> Profile {
        self.holding(0, |_| (0, 0))
    }

    /// Returns a profile in which each site holds what `held` says of its index.
    fn holding(&self, time_ns: u64, held: impl Fn(usize) -> Held) -> Profile {
        let mut then = Profile {
            process: self.process.clone(),
            capture: self.capture.clone(),
            modules: self.modules.clone(),
            functions: self.functions.clone(),
            frames: self.frames.clone(),
            stacks: self.stacks.clone(),
            sites: self.sites.clone(),
            scopes: self.scopes.clone(),
            types: self.types.clone(),
            sources: self.sources.clone(),
            site_numbers: self.site_numbers.clone(),
            ..Profile::default()
        };
        // Stacks fold in the same way, whatever their sites hold.
        if let Some(folding) = self.known_folding() {
            then.set_folding(folding);
        }
        then.process.duration_ns = time_ns;
        for (index, site) in then.sites.iter_mut().enumerate() {
            let (live_bytes, live_blocks) = held(index);
            let estimate = site.figures.samples().filter(|_| live_bytes > 0);
            let samples = estimate.map(|samples| samples.of_live(live_bytes));
            site.figures = Figures {
                live_bytes,
                live_blocks,
                samples: samples.map(Box::new),
                ..Figures::default()
            };
            site.distribution = Distribution::default();
            then.totals.add(&site.figures);
        }
        then
    }

    /// Returns the number of blocks that were live at a checkpoint.
    pub fn blocks_at(&self, checkpoint: &Checkpoint) -> super::Number {
        let mut then = Figures {
            live_blocks: checkpoint.live_blocks,
            ..Figures::default()
        };
        if let Some(samples) = self.totals.samples() {
            then.samples = Some(Box::new(samples.of_live(checkpoint.live_bytes)));
        }
        then.number("live_blocks")
    }

    /// Makes the figures estimates from samples that are this many bytes apart; for tests, as
    /// [`parts`](Profile::parts).
    #[doc(hidden)]
    pub fn estimate(&mut self, mean: u64) {
        let estimated = |figures: &mut Figures| {
            let sums = [figures.total_bytes, figures.live_bytes, figures.peak_bytes];
            figures.samples = Some(Box::new(Samples::at_most(mean, sums)));
        };
        let sites = self.sites.iter_mut().map(|site| &mut site.figures);
        sites.chain([&mut self.totals]).for_each(estimated);
        self.capture.mode = "sample".to_owned();
        self.capture.peak_error_bytes = 0;
        self.capture.peak_discrepancy_bytes = 0;
        self.capture.sampling = Some(Sampling {
            sample_bytes: mean,
            most_sample_bytes: mean,
            changes: 0,
            since_ns: 0,
            total_bytes: self.totals.total_bytes,
            total_blocks: None,
            freed_bytes: None,
            freed_blocks: None,
        });
    }

    /// Removes all checkpoints; for tests, as [`parts`](Profile::parts).
    #[doc(hidden)]
    pub fn clear_checkpoints(&mut self) {
        self.checkpoints = Checkpoints::default();
    }

    /// Adds a checkpoint at the end, with what each site holds; for tests, as
    /// [`parts`](Profile::parts).
    #[doc(hidden)]
    pub fn add_checkpoint(&mut self, checkpoint: Checkpoint, held: &[(u64, u64)]) {
        let number = self.checkpoints.moments.len();
        let old = std::mem::take(&mut self.checkpoints);
        let sites = self.sites.len().max(held.len()).max(old.held.ends.len());
        let moments = old.moments.iter().cloned().map(|moment| Checkpoint {
            live_bytes: 0,
            live_blocks: 0,
            ..moment
        });
        let mut new = Checkpoints::new(moments.chain([checkpoint]).collect());
        for site in 0..sites {
            let before = (0..number).map(|checkpoint| old.held(site, checkpoint));
            new.add(before.chain([held.get(site).copied().unwrap_or_default()]));
        }
        self.checkpoints = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_hold_what_was_added_at_each_checkpoint() {
        let mut profile = Profile::default();
        let at = |time_ns| Checkpoint {
            time_ns,
            ..Checkpoint::default()
        };
        profile.add_checkpoint(at(1), &[(10, 1), (0, 0), (7, 1)]);
        profile.add_checkpoint(at(2), &[(10, 1), (5, 2), (0, 0)]);
        profile.add_checkpoint(at(3), &[(30, 3), (5, 2)]);
        assert_eq!(
            profile.live_at_checkpoints(&[0, 1, 2, 9]),
            [(17, 2), (15, 3), (35, 5)]
        );
        assert_eq!(profile.live_bytes_at_checkpoints(&[2]), [7, 0, 0]);
        let moments = profile.checkpoints();
        let live: Vec<_> = moments.iter().map(|moment| moment.live_bytes).collect();
        assert_eq!(live, [17, 15, 35]);
        assert_eq!(profile.checkpoints.held(0, 1), (10, 1));
        assert!(profile.at_checkpoint(3).is_none());
    }
}
