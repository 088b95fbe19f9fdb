//! `heapglass export --to parquet`: writes tables of many recordings to a folder.
//!
//! Reads which process each recording is of, then one date and service after the other, with one
//! recording in memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use heapglass_profiler::export::parquet::{Labels, Place, Table, Tables, file_name, recording_id};
use heapglass_profiler::units::counted;

use crate::args::{Export, ExportTo};
use crate::error::Error;
use crate::files::output::{Output, Temporary, print_json};
use crate::{no_effect, open, terminal};

/// The recordings of one place: their names in the tables, and their files.
type Recordings<'a> = BTreeMap<String, &'a Path>;

pub(super) fn run(args: &Export) -> Result<(), Error> {
    let given = [
        (args.ask.figures.measure.is_some(), "--measure"),
        (args.ask.figures.at.is_some(), "--at"),
        (args.ask.by.is_some(), "--by"),
        (args.frames.is_some(), "--frames"),
        (args.base.is_some(), "--base"),
        (args.sources, "--sources"),
    ];
    if let Some((_, flag)) = given.iter().find(|(is_given, _)| *is_given) {
        return Err(Error::misuse(format_args!(
            "{flag} does not work with --to parquet, whose tables have everything; leave it out"
        )));
    }
    if args.output.as_os_str() == "-" {
        return Err(Error::misuse(
            "--to parquet writes several files; give a folder with -o DIR",
        ));
    }
    let labels = Labels::new(args.labels.iter().cloned()).map_err(Error::misuse)?;
    let places = places(&args.files, &labels)?;
    let had_folder = args.output.symlink_metadata().is_ok();
    let written = write(args, &labels, &places);
    if written.is_err() && !had_folder {
        // It stays if a place was written before.
        let _ = fs::remove_dir(&args.output);
    }
    let files = written?;
    let count: usize = places.values().map(BTreeMap::len).sum();
    if args.json {
        return print_json(&serde_json::json!({
            "format": 1,
            "path": args.output.to_string_lossy(),
            "to": ExportTo::Parquet.name(),
            "recordings": count,
            "files": files.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        }));
    }
    terminal::eprint_line(format_args!(
        "wrote {} files of {} to {}",
        files.len(),
        counted(count as u64, "recording"),
        args.output.display()
    ));
    Ok(())
}

/// Returns the recordings by place.
fn places<'a>(
    files: &'a [PathBuf],
    labels: &Labels,
) -> Result<BTreeMap<Place, Recordings<'a>>, Error> {
    let mut places: BTreeMap<Place, Recordings<'a>> = BTreeMap::new();
    for file in files {
        let process = open::read_process(file)?;
        if process.merged.is_some() {
            return Err(Error::misuse(format_args!(
                "{}: it is the sum of other recordings, which queries would count as one; export \
                 those instead",
                file.display()
            )));
        }
        let place = Place::of(&process, labels).ok_or_else(|| {
            Error::misuse(format_args!(
                "{}: the recording has no start time, so it has no date; recordings of WebAssembly \
                 modules cannot be exported to parquet",
                file.display()
            ))
        })?;
        let recordings = places.entry(place).or_default();
        if let Some(other) = recordings.insert(recording_id(&process), file) {
            return Err(Error::misuse(format_args!(
                "{} and {} are the same recording, which would count twice; leave one out",
                other.display(),
                file.display()
            )));
        }
    }
    Ok(places)
}

/// Writes all places, and returns the files.
fn write(
    args: &Export,
    labels: &Labels,
    places: &BTreeMap<Place, Recordings<'_>>,
) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    // Warnings that every recording gave.
    let mut warnings: Option<Vec<String>> = None;
    for (place, recordings) in places {
        let folder = args.output.join(place.folder());
        fs::create_dir_all(&folder).map_err(|error| {
            Error::misuse(format_args!(
                "cannot create the folder {}: {error}; give another one with -o",
                folder.display()
            ))
        })?;
        let mut warn = |new: Vec<String>| match &mut warnings {
            Some(known) => known.retain(|line| new.contains(line)),
            None => warnings = Some(new),
        };
        match write_place(args, labels, recordings, &folder, &mut warn) {
            Ok(written) => files.extend(written),
            Err(error) => {
                // Folders stay if they have files of others.
                let _ = fs::remove_dir(&folder);
                let _ = folder.parent().map(fs::remove_dir);
                return Err(error);
            }
        }
    }
    for line in warnings.unwrap_or_default() {
        terminal::eprint_line(line);
    }
    Ok(files)
}

/// Writes the tables of one place, and returns their files.
fn write_place(
    args: &Export,
    labels: &Labels,
    recordings: &Recordings<'_>,
    folder: &Path,
    warn: &mut dyn FnMut(Vec<String>),
) -> Result<Vec<PathBuf>, Error> {
    let inputs: Vec<&Path> = recordings.values().copied().collect();
    let mut outputs: Vec<(PathBuf, Temporary)> = Vec::new();
    for table in Table::ALL {
        let path = folder.join(file_name(table, recordings.keys().map(String::as_str)));
        match Output::open(&path, &inputs)? {
            Output::File(temporary) => outputs.push((path, temporary)),
            Output::Stdout | Output::Through(..) => {
                return Err(Error::misuse(format_args!(
                    "cannot write {}: it is no regular file; give another folder with -o",
                    path.display()
                )));
            }
        }
    }
    let failed = Error::wrap(format!("cannot write to {}", folder.display()));
    let mut handles = outputs.iter().map(|(_, temporary)| &temporary.file);
    let next = |_| handles.next().ok_or(std::io::ErrorKind::NotFound.into());
    let mut tables: Tables<&File> = Tables::new(next).map_err(&failed)?;
    for (id, file) in recordings {
        let profile = open::open(file, &args.symbols)?;
        if recording_id(profile.process()) != *id {
            return Err(Error::misuse(format_args!(
                "{}: another recording replaced it while it was exported; export again",
                file.display()
            )));
        }
        warn(no_effect::unmatched(&args.symbols, &[&profile]));
        tables.add(&profile, labels).map_err(&failed)?;
    }
    tables.finish().map_err(&failed)?;
    let mut paths = Vec::new();
    for (path, temporary) in outputs {
        temporary.replace().map_err(&failed)?;
        paths.push(path);
    }
    Ok(paths)
}
