//! Lifetimes of the blocks of a site in time.
//!
//! A recording counts lifetimes in allocations, because a clock at each event would cost more than
//! the event. Two parts of a recording have a clock: phases give an estimate, and checkpoints give
//! an upper bound. This module must never show one as the other.

use super::{Distribution, Figures, Profile, ScopeId, ScopeKind};
use crate::units::Nanos;

/// The lifetimes of some blocks in time, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lifetime {
    /// Nanoseconds of the mean lifetime, as an estimate: the mean in allocations times the mean
    /// time between allocations of the phase. `None` if the program has several threads, without a
    /// phase, or if the mean is more allocations than the phase makes each time it is entered.
    pub about_ns: Option<u64>,
    /// Nanoseconds that no block lived longer than: the longest time between two checkpoints at
    /// which none of the blocks was live. `None` if it is not less than the whole recording.
    pub at_most_ns: Option<u64>,
}

impl Lifetime {
    /// Spells what is known: `in time about 1.2 us, at most 40.0 ms`.
    fn text(&self) -> Option<String> {
        let about = self.about_ns.map(|ns| format!("about {}", Nanos(ns)));
        let at_most = self.at_most_ns.map(|ns| format!("at most {}", Nanos(ns)));
        let said: Vec<String> = about.into_iter().chain(at_most).collect();
        (!said.is_empty()).then(|| format!("in time {}", said.join(", ")))
    }
}

/// The time and the allocations of each phase, by the number of the phase.
#[derive(Debug, Default)]
pub(super) struct Paces(Vec<Pace>);

#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    entered: u64,
    /// `None` if it is not known of all entries.
    elapsed_ns: Option<u64>,
    /// Blocks allocated in the phase and the phases inside it.
    blocks: u64,
}

impl Paces {
    pub(super) fn of(profile: &Profile) -> Paces {
        let phases = profile.phases();
        let nothing = Pace {
            elapsed_ns: Some(0),
            ..Pace::default()
        };
        let mut paces = vec![nothing; profile.scopes.len().max(1)];
        for site in &profile.sites {
            let pace = &mut paces[phases.phase_of(site.scope).0 as usize];
            pace.blocks = pace.blocks.saturating_add(site.figures.total_blocks);
        }
        for (index, scope) in profile.scopes.iter().enumerate().skip(1) {
            if scope.kind == ScopeKind::Phase && scope.entered > 0 {
                let pace = &mut paces[phases.phase_of(ScopeId(index as u32)).0 as usize];
                pace.entered = pace.entered.saturating_add(scope.entered);
                let elapsed = pace.elapsed_ns.zip(scope.elapsed_ns);
                pace.elapsed_ns = elapsed.map(|(sum, more)| sum.saturating_add(more));
            }
        }
        // From the last scope to the first: parents come before children.
        for phase in (1..paces.len()).rev() {
            let parent = phases.parent(ScopeId(phase as u32)).0 as usize;
            paces[parent].blocks = paces[parent].blocks.saturating_add(paces[phase].blocks);
        }
        Paces(paces)
    }
}

impl Profile {
    /// Returns the details of the blocks of some sites for people: sizes, lifetimes, what another
    /// thread freed. `figures` are those of the same sites.
    pub fn block_details(&self, sites: &[usize], figures: &Figures) -> Vec<String> {
        let distribution = self.distribution(sites);
        let mut details = distribution.details(figures);
        details.extend(self.lifetime(sites, figures, &distribution).text());
        details
    }

    /// Returns the lifetimes of the blocks of some sites in time, as far as they are known.
    /// `figures` and `distribution` are those of the same sites.
    pub fn lifetime(
        &self,
        sites: &[usize],
        figures: &Figures,
        distribution: &Distribution,
    ) -> Lifetime {
        Lifetime {
            about_ns: self.about_ns(sites, distribution),
            at_most_ns: self.at_most_ns(sites, figures, distribution),
        }
    }

    fn about_ns(&self, sites: &[usize], distribution: &Distribution) -> Option<u64> {
        if !self.has_one_thread() {
            return None;
        }
        let phases = self.phases();
        let in_phase = |&site: &usize| Some(phases.phase_of(self.sites.get(site)?.scope));
        let phase = in_phase(sites.first()?)?;
        if phase == ScopeId(0) || sites.iter().any(|site| in_phase(site) != Some(phase)) {
            return None;
        }
        let pace = self.paces().0.get(phase.0 as usize)?;
        let mean = distribution.mean_lifetime()?;
        let elapsed_ns = pace.elapsed_ns.filter(|&ns| ns > 0)?;
        let each_entry = pace.blocks as f64 / pace.entered.max(1) as f64;
        let each_block = elapsed_ns as f64 / pace.blocks.max(1) as f64;
        (mean <= each_entry).then_some((mean * each_block).round() as u64)
    }

    fn at_most_ns(
        &self,
        sites: &[usize],
        figures: &Figures,
        distribution: &Distribution,
    ) -> Option<u64> {
        // A checkpoint sees each thread at its next event. Blocks that move between threads in this
        // time could hide others.
        let is_own = distribution.freed_elsewhere == 0
            && distribution.known_blocks() == figures.freed_blocks;
        // Blocks that were not sampled may have lived longer.
        let is_sampled = figures.samples().is_some();
        if figures.total_blocks == 0 || is_sampled || !(self.has_one_thread() || is_own) {
            return None;
        }
        let duration = self.process.duration_ns;
        let live = self.live_bytes_at_checkpoints(sites);
        let moments = self.checkpoints().iter().zip(live);
        let without = moments.filter(|(_, live)| *live == 0);
        let ends = without.map(|(checkpoint, _)| checkpoint.time_ns);
        let (longest, _) = ends
            .chain([duration])
            .fold((0, 0), |(longest, start): (u64, u64), end| {
                (longest.max(end.saturating_sub(start)), end)
            });
        (0 < longest && longest < duration).then_some(longest)
    }

    fn has_one_thread(&self) -> bool {
        let allocated = self
            .threads
            .iter()
            .filter(|thread| thread.figures.total_blocks > 0);
        allocated.fold(0, |sum: u64, thread| sum.saturating_add(thread.count)) <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Checkpoint, Distribution, Process, Scope, Site, Thread};
    use super::*;

    /// One site in a phase of 1 ms that was entered twice and made 100 blocks.
    fn profile() -> Profile {
        let figures = Figures {
            total_blocks: 100,
            freed_blocks: 100,
            ..Figures::default()
        };
        let scopes = vec![
            Scope::default(),
            Scope {
                name: "load".to_owned(),
                entered: 2,
                elapsed_ns: Some(1_000_000),
                ..Scope::default()
            },
        ];
        let sites = vec![Site {
            scope: ScopeId(1),
            figures: figures.clone(),
            distribution: Distribution {
                lifetime: 400,
                lifetime_blocks: 100,
                ..Distribution::default()
            },
            ..Site::default()
        }];
        let threads = vec![Thread {
            count: 1,
            figures,
            ..Thread::default()
        }];
        Profile {
            scopes,
            sites,
            threads,
            process: Process {
                duration_ns: 10_000_000,
                ..Process::default()
            },
            ..Profile::default()
        }
    }

    fn checkpoints(profile: &mut Profile, live: &[(u64, u64)]) {
        for &(time_ns, live) in live {
            let checkpoint = Checkpoint {
                time_ns,
                ..Checkpoint::default()
            };
            profile.add_checkpoint(checkpoint, &[(live, 1)]);
        }
    }

    fn lifetime(profile: &Profile) -> Lifetime {
        profile.lifetime(
            &[0],
            &profile.sites[0].figures,
            &profile.sites[0].distribution,
        )
    }

    #[test]
    fn a_phase_gives_the_time_between_allocations() {
        let mut profile = profile();
        // 4 allocations of 10 us each.
        assert_eq!(lifetime(&profile).about_ns, Some(40_000));
        profile.sites[0].distribution.lifetime = 5_100;
        assert_eq!(lifetime(&profile).about_ns, None, "longer than the phase");
        profile.sites[0].distribution.lifetime = 400;
        profile.threads[0].count = 2;
        assert_eq!(lifetime(&profile).about_ns, None, "several threads");
    }

    #[test]
    fn checkpoints_without_live_blocks_bound_the_time() {
        let mut profile = profile();
        assert_eq!(lifetime(&profile).at_most_ns, None);
        checkpoints(
            &mut profile,
            &[(2_000_000, 0), (5_000_000, 8), (8_000_000, 0)],
        );
        assert_eq!(lifetime(&profile).at_most_ns, Some(6_000_000));
        profile.threads[0].count = 2;
        assert_eq!(lifetime(&profile).at_most_ns, Some(6_000_000), "own frees");
        profile.sites[0].distribution.lifetime_blocks = 99;
        assert_eq!(lifetime(&profile).at_most_ns, None, "not known of all");
    }
}
