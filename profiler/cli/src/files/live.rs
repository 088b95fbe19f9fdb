//! The recording of a running program, by its process ID or its path.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use heapglass_profiler::units::Nanos;
use tracking_alloc_recording::{HeaderValue, Writer};

use super::{header, place, recent};
use crate::error::Error;

/// The recording of a program.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) path: PathBuf,
    pub(crate) header: HeaderValue,
}

/// Returns the number of a running process if a target is one and no file.
pub(crate) fn process(target: &Path) -> Option<u32> {
    let pid = target.to_str()?.parse::<u32>().ok()?;
    let is_process = target.symlink_metadata().is_err() && runs(pid);
    is_process.then_some(pid)
}

fn runs(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Returns the recording at a path, or that of the process with that number. A file of that name
/// comes first.
///
/// # Errors
/// Returns an error if there is no such recording.
pub(crate) fn find(target: &Path) -> Result<Live, Error> {
    let pid = target.to_str().and_then(|text| text.parse::<u32>().ok());
    match pid {
        Some(pid) if target.symlink_metadata().is_err() => of_process(pid),
        _ => {
            let path = target.to_owned();
            let header = header::read(target).ok_or_else(|| {
                Error::misuse(format_args!(
                    "{}: no recording, and no process ID; run `heapglass` to list recordings",
                    target.display()
                ))
            })?;
            Ok(Live { path, header })
        }
    }
}

/// Returns the sentence about a program that has not followed a request: what it `does` at one of
/// its next allocations.
pub(crate) fn not_yet(quiet_since_ns: Option<u64>, does: &str) -> String {
    match quiet_since_ns {
        Some(since) => format!(
            "the program has not allocated since {}; it {does} at its next allocation; wait for that with --wait SECONDS",
            Nanos(since)
        ),
        None => format!("the program {does} at one of its next allocations"),
    }
}

fn of_process(pid: u32) -> Result<Live, Error> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let is_its =
        |header: &HeaderValue| header.pid == pid && matches!(Writer::of(header), Writer::Running);
    // The program may see other files than we do.
    let seen_by_it = |path: PathBuf| {
        let inside = path.strip_prefix("/").unwrap_or(&path);
        let beyond = Path::new("/proc")
            .join(pid.to_string())
            .join("root")
            .join(inside);
        [path, beyond]
    };
    let mapped = mapped_files(&maps)
        .into_iter()
        .flat_map(seen_by_it)
        .filter_map(|path| Some((header::read(&path)?, path)));
    let left = place::left().into_iter();
    let left = left.map(|left| (left.header, left.path));
    let here = recent::in_this_folder()
        .chain(recent::remembered())
        .map(|(path, header)| (header, path));
    let mut all = mapped.chain(left).chain(here);
    let found = all
        .find(|(header, path)| is_its(header) && !is_left_by_exec(header, path, &maps))
        .map(|(header, path)| Live { path, header });
    found.ok_or_else(|| {
        let why = if runs(pid) {
            format!(
                "it has no recording that heapglass can see; record it from now on with `heapglass attach {pid}`, or start it with `heapglass run`"
            )
        } else {
            "there is no such process".to_owned()
        };
        Error::misuse(format_args!("process {pid}: {why}"))
    })
}

/// Returns `true` if a process to which somebody attached has become another program since: it does
/// not map its recording any more. `maps` is empty if it cannot be read.
fn is_left_by_exec(header: &HeaderValue, path: &Path, maps: &str) -> bool {
    let Ok(metadata) = path.metadata() else {
        return false;
    };
    let inode = metadata.ino().to_string();
    let is_mapped = |line: &str| line.split_ascii_whitespace().nth(4) == Some(inode.as_str());
    header.attached != 0 && !maps.is_empty() && !maps.lines().any(is_mapped)
}

/// Returns the files that a process maps and shares.
fn mapped_files(maps: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(6, ' ');
            let rights = fields.nth(1)?;
            let path = fields.nth(3)?.trim_start();
            (rights.ends_with('s') && path.starts_with('/')).then(|| PathBuf::from(path))
        })
        .collect();
    paths.dedup();
    paths
}
