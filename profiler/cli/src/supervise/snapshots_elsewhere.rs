//! Stand-ins for systems where no snapshots can be taken.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::args::TakeSnapshots;
use crate::error::Error;
use crate::files::spool::{KeptRecording, Spool};

/// No snapshots.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    pub(super) wanted: bool,
    pub(super) problems: Vec<String>,
}

impl Snapshots {
    pub(super) fn prepare(_: &mut Command, wanted: &TakeSnapshots) -> Result<Self, Error> {
        if wanted.snapshot.is_some() {
            return Err(Error::misuse(
                "snapshots can only be taken on Linux; omit --snapshot",
            ));
        }
        Ok(Snapshots::default())
    }

    pub(super) fn begin(self, _: &Arc<Mutex<Spool>>) -> Self {
        self
    }

    pub(super) fn read_the_last(&mut self) {}

    pub(super) fn put_into(&mut self, _: &[PathBuf], _: &[KeptRecording]) {}
}
