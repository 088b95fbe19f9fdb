//! The snapshots of a run: taken while it runs, and put into its recordings at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use heapglass_profiler::Beside;

use super::lock;
use crate::args::TakeSnapshots;
use crate::error::Error;
use crate::files::spool::{KeptRecording, Spool};
use crate::snapshots::{self, OfRecording, Told, Wants, Watch};

/// The snapshots of a run.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// `true` if any were wanted.
    pub(super) wanted: bool,
    /// The reasons why there are no snapshots, or fewer.
    pub(super) problems: Vec<String>,
    wants: Option<Wants>,
    watch: Option<Watch>,
    told: Told,
    found: BTreeMap<PathBuf, OfRecording>,
}

impl Snapshots {
    /// Sets the variables that attach this process to the command.
    pub(super) fn prepare(command: &mut Command, wanted: &TakeSnapshots) -> Result<Self, Error> {
        let is_forced = wanted.force.force_snapshot;
        let Some(moments) = &wanted.snapshot else {
            // A reader of an outer run is not the reader of this one.
            command.env_remove("HEAPGLASS_SNAPSHOT");
            return Ok(Snapshots::default());
        };
        command.envs(snapshots::environment(moments, is_forced));
        Ok(Snapshots {
            wanted: true,
            wants: Some(Wants {
                moments: moments.clone(),
                is_forced,
                containers: wanted.containers.clone(),
            }),
            ..Snapshots::default()
        })
    }

    /// Returns the state that is shared with the reader of snapshots.
    pub(super) fn told(&self) -> Told {
        self.told.clone()
    }

    /// Begins to read snapshots.
    pub(super) fn begin(mut self, recordings: &Arc<Mutex<Spool>>) -> Self {
        if let Some(wants) = self.wants.take() {
            let recordings = Arc::clone(recordings);
            let told = self.told();
            let watch = Watch::start(wants, told, move || lock(&recordings).sources());
            match watch {
                Ok(watch) => self.watch = Some(watch),
                Err(error) => self
                    .problems
                    .push(format!("cannot start a thread: {error}")),
            }
        }
        self
    }

    /// Reads the snapshots that the command took last. Call after it has ended.
    pub(super) fn read_the_last(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.found = watch.finish();
        }
    }

    /// Puts the snapshots into the recordings, which were moved from `sources` to the paths kept.
    pub(super) fn put_into(&mut self, sources: &[PathBuf], kept: &[KeptRecording]) {
        for (source, kept) in sources.iter().zip(kept) {
            let Some(found) = self.found.remove(source) else {
                continue;
            };
            self.problems.extend(found.problems);
            if found.snapshots.is_empty() {
                continue;
            }
            if kept.is_written {
                self.problems.push(format!(
                    "{} is still written, so its snapshots are not kept",
                    kept.path.display()
                ));
            } else if let Err(error) = snapshots::append(&kept.path, &found.snapshots) {
                self.problems.push(error.to_string());
            }
        }
        // Also of recordings without snapshots: another command may have asked for one.
        for file in sources.iter().flat_map(|source| Beside::all_of(source)) {
            let _ = std::fs::remove_file(file);
        }
    }
}
