//! The names of generated code: those that the recording carries, else those in the map of perf
//! that its process wrote. A map is a file in a folder where everybody may write, so it counts only
//! if it belongs to the owner of the recording and was written while the process ran.

use super::modules::Modules;
use super::{Error, OpenOptions, read};
use crate::profile::SymbolSource;
use crate::symbols::{GeneratedNames, Progress, Symbols};
use crate::units::counted;
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use tracking_alloc_recording::{
    FrameValue, GENERATED_CODE, HeaderValue, Host, Recording, Writer, state,
};

/// The largest map that is read.
const MOST_BYTES: u64 = 1 << 30;
/// The time after the end of a recording in which the process may still write its map.
const WRITTEN_AFTER: Duration = Duration::from_secs(10);

/// The source of names of generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generated {
    /// The names that the recording carries.
    carried: Option<Vec<u8>>,
    pid: u32,
    pid_namespace: u64,
    /// `true` if the process ran in this boot and in this PID namespace, so that its number here
    /// is its own.
    is_here: bool,
    started: Duration,
    /// The end of the recording, if its process is gone.
    ended: Option<Duration>,
}

/// The names of generated code that a recording does not carry yet.
#[derive(Clone, Debug)]
pub struct FoundNames {
    /// The lines of the map that name addresses of the recording, for
    /// [`with_generated_names`](tracking_alloc_recording::with_generated_names).
    pub names: Vec<u8>,
    /// The map.
    pub map: PathBuf,
}

/// Finds the names of generated code that a recording does not carry.
///
/// # Errors
/// Returns an error if the recording cannot be read.
pub fn find_generated_names(path: &Path) -> Result<Option<FoundNames>, Error> {
    let mut recording = read(path)?;
    if recording.generated_names.is_some() || recording.symbols.is_some() {
        return Ok(None);
    }
    let generated = Generated::of(&mut recording);
    let Some((bytes, map)) = generated.map(path) else {
        return Ok(None);
    };
    let modules = Modules::of(&recording);
    let frames = recording.frames.iter();
    let addresses = frames.filter_map(|frame| address_of(&modules, frame));
    let names = GeneratedNames::find(&bytes, addresses).lines();
    Ok(Some(FoundNames { names, map }))
}

/// Returns the address of a frame in generated code, in the instruction that called.
fn address_of(modules: &Modules, frame: &FrameValue) -> Option<u64> {
    let is_generated = modules.path(frame.module) == GENERATED_CODE;
    frame.offset.checked_sub(1).filter(|_| is_generated)
}

impl Generated {
    /// Takes the names out of a recording.
    pub(super) fn of(recording: &mut Recording) -> Generated {
        let header = &recording.header;
        let started = Duration::from_nanos(header.started_unix_ns);
        let elapsed = Duration::from_nanos(header.elapsed_ns);
        let host = Host::current();
        let is_here = header.boot_id != [0; 2]
            && header.boot_id == host.boot_id
            && header.pid_namespace == host.pid_namespace;
        // The process may go on after the end of its recording, and then still writes.
        let process = Writer::of(&HeaderValue {
            state: state::RUNNING,
            ..*header
        });
        Generated {
            pid: header.pid,
            pid_namespace: header.pid_namespace,
            is_here,
            started,
            ended: process.is_gone().then(|| started.saturating_add(elapsed)),
            carried: recording.generated_names.take(),
        }
    }

    /// Looks up all frames of a recording, in the binaries and in the map of generated code.
    ///
    /// # Errors
    /// Returns an error if [`binary`](crate::SymbolOptions::binary) is not the binary that ran.
    pub(super) fn resolve(
        &self,
        (modules, frames): (&Modules, &[FrameValue]),
        path: &Path,
        options: &OpenOptions,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Symbols, Error> {
        let mut symbols = modules.resolve(frames, path, options, progress)?;
        self.name((modules, frames), path, &mut symbols);
        Ok(symbols)
    }

    /// Names the frames of generated code.
    fn name(
        &self,
        (modules, frames): (&Modules, &[FrameValue]),
        recording: &Path,
        symbols: &mut Symbols,
    ) {
        let addresses: Vec<(usize, u64)> = (0..)
            .zip(frames)
            .filter_map(|(at, frame)| Some((at, address_of(modules, frame)?)))
            .collect();
        let Some((first, _)) = addresses.first() else {
            return;
        };
        let module = modules.position(frames[*first].module) as usize;
        let carried = || Some((self.carried.clone()?, recording.to_owned()));
        let Some((map, path)) = carried().or_else(|| self.map(recording)) else {
            symbols.notes.push(format!(
                "{GENERATED_CODE}: {} of generated code {} no names; `heapglass run --jit-names` asks Node, Python \
                 (3.12 and later) and Java for them",
                counted(addresses.len() as u64, "frame"),
                if addresses.len() == 1 { "has" } else { "have" },
            ));
            if let Some(source) = symbols.modules.get_mut(module) {
                *source = SymbolSource::NotNeeded;
            }
            return;
        };
        let names = GeneratedNames::find(&map, addresses.iter().map(|(_, address)| *address));
        for (at, address) in &addresses {
            if let Some(chain) = symbols.frames.get_mut(*at) {
                *chain = names.frame(*address).into_iter().collect();
            }
        }
        if let Some(source) = symbols.modules.get_mut(module) {
            *source = SymbolSource::Table(path);
        }
        let all: BTreeSet<u64> = addresses.iter().map(|(_, address)| *address).collect();
        let missing = (all.len() - names.covered()) as u64;
        if missing > 0 {
            symbols.notes.push(format!(
                "{GENERATED_CODE}: {} of generated code {} not in the map of names",
                counted(missing, "address"),
                if missing == 1 { "is" } else { "are" },
            ));
        }
        let unsure = names.unsure() as u64;
        if unsure > 0 {
            symbols.notes.push(format!(
                "{GENERATED_CODE}: {} of generated code {} no name, because several functions were there, one after \
                 the other",
                counted(unsure, "address"),
                if unsure == 1 { "has" } else { "have" },
            ));
        }
    }

    /// Reads the map of the process, as it sees its folder of temporary files or as we do. Returns
    /// its path too.
    fn map(&self, recording: &Path) -> Option<(Vec<u8>, PathBuf)> {
        let owner = owner(&recording.metadata().ok()?);
        let name = format!("tmp/perf-{}.map", self.pid);
        let live = self.ended.is_none().then(|| self.host_pid()).flatten();
        let folders = [
            live.map(|pid| format!("/proc/{pid}/root")),
            // Another process may have this number here.
            self.is_here.then(|| "/".to_owned()),
        ];
        let mut paths = folders
            .into_iter()
            .flatten()
            .map(|folder| Path::new(&folder).join(&name));
        paths.find_map(|path| Some((self.read(&path, owner)?, path)))
    }

    fn read(&self, path: &Path, owner: u32) -> Option<Vec<u8>> {
        let link = path.symlink_metadata().ok().filter(Metadata::is_file)?;
        let mut options = File::options();
        options.read(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY);
        }
        let file = options.open(path).ok()?;
        let data = file.metadata().ok().filter(Metadata::is_file)?;
        let written = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        // Processes get the numbers of others that ended.
        let is_of_process = written >= self.started
            && self
                .ended
                .is_none_or(|ended| written <= ended.saturating_add(WRITTEN_AFTER));
        if !is_of_process || self::owner(&data) != owner || self::owner(&link) != owner {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns the number of the process here, which differs from its own in a container.
    fn host_pid(&self) -> Option<u32> {
        let is_in_namespace = |pid: u32| {
            let link = std::fs::read_link(format!("/proc/{pid}/ns/pid"));
            let wanted = format!("pid:[{}]", self.pid_namespace);
            link.is_ok_and(|link| link.as_os_str() == wanted.as_str())
        };
        if is_in_namespace(self.pid) {
            return Some(self.pid);
        }
        let is_it = |pid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            let status = status.unwrap_or_default();
            let mut lines = status.lines();
            let numbers = lines.find_map(|line| line.strip_prefix("NSpid:"));
            let own = numbers.and_then(|numbers| numbers.split_whitespace().next_back());
            own.and_then(|own| own.parse().ok()) == Some(self.pid) && is_in_namespace(*pid)
        };
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.find(is_it)
    }
}

#[cfg(unix)]
fn owner(data: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(data)
}

#[cfg(not(unix))]
fn owner(_: &Metadata) -> u32 {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::SystemTime;

    /// Returns the process with a number that no process has, which ended just now.
    fn ended(pid: u32) -> Generated {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time");
        Generated {
            carried: None,
            pid,
            pid_namespace: 0,
            is_here: true,
            started: now - Duration::from_secs(60),
            ended: Some(now),
        }
    }

    #[test]
    fn a_map_counts_only_if_its_process_wrote_it() {
        // Larger than any number of a process.
        let pid = 0x7000_0000 + std::process::id();
        let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        let recording = tempfile::NamedTempFile::new().expect("a file");
        let found = |process: &Generated| process.map(recording.path());
        assert!(found(&ended(pid)).is_none(), "there is none");
        std::fs::write(&map, "1000 20 a\n").expect("written");
        let (bytes, path) = found(&ended(pid)).expect("a map");
        assert_eq!((bytes.as_slice(), &path), (&b"1000 20 a\n"[..], &map));
        let before = Generated {
            ended: Some(ended(pid).started + Duration::from_secs(5)),
            ..ended(pid)
        };
        assert!(found(&before).is_none(), "of a later process");
        let after = Generated {
            started: ended(pid).ended.expect("a time") + Duration::from_secs(5),
            ..ended(pid)
        };
        assert!(found(&after).is_none(), "of an earlier process");
        let elsewhere = Generated {
            is_here: false,
            ..ended(pid)
        };
        assert!(
            found(&elsewhere).is_none(),
            "of another machine or container"
        );
        std::fs::remove_file(&map).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", &map).expect("a link");
        assert!(found(&ended(pid)).is_none(), "a link");
        std::fs::remove_file(&map).expect("removed");
    }
}
