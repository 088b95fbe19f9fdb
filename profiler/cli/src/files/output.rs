//! The output of a command: standard output, or a file that appears only when it is complete.
//!
//! Never leaves half a file at the given path. A reader that closes its pipe is not a failure.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use heapglass_profiler::report::ReportOptions;

use super::first_free;
use super::leftovers::{Kind, Leftover};
use crate::error::Error;
use crate::progress::Working;
use crate::terminal;

/// The destination of a command's output. Opened before the work begins, so that a path that cannot
/// be written is reported at once.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output, for `-` or no path.
    Stdout,
    /// Something other than a regular file (a pipe, `/dev/null`), written directly.
    Through(PathBuf, File),
    /// A file that keeps a temporary name until it is complete.
    File(Temporary),
}

impl Output {
    /// Opens `path` for output; `-` is standard output. `inputs` are files that it must not
    /// overwrite.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created, or if `path` is one of `inputs`.
    pub(crate) fn open(path: &Path, inputs: &[&Path]) -> Result<Output, Error> {
        if path.as_os_str() == "-" {
            return Ok(Output::Stdout);
        }
        // Replace the target of a link, and keep the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        for input in inputs {
            if fs::canonicalize(input).is_ok_and(|input| input == target) {
                return Err(Error::misuse(format_args!(
                    "cannot write {}: it is an input of this command; write to another file with -o",
                    path.display()
                )));
            }
        }
        if let Ok(metadata) = fs::metadata(&target) {
            if metadata.is_dir() {
                return Err(cannot_write(path, "it is a folder"));
            }
            // NOTE: replacing a file needs no permission on the file itself. Replacing a
            // write-protected file would surprise its owner.
            let opened = OpenOptions::new().write(true).open(&target);
            let file = opened.map_err(|error| cannot_write(path, error))?;
            if !metadata.is_file() {
                return Ok(Output::Through(path.to_owned(), file));
            }
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(cannot_write(path, "it names a folder"));
        }
        let temporary = Temporary::beside(&target, None);
        temporary
            .map(Output::File)
            .map_err(|error| cannot_write(path, error))
    }

    /// Opens the output of a command that reads `inputs` and writes `what`. With `json`, standard
    /// output is reserved for the description of the output.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Output::open), and an error if both would go to standard
    /// output.
    pub(crate) fn open_beside(
        json: bool,
        path: &Path,
        inputs: &[&Path],
        what: &str,
    ) -> Result<Output, Error> {
        let output = Output::open(path, inputs)?;
        if json && output.is_stdout() {
            return Err(Error::misuse(format_args!(
                "--json and -o - would both write to standard output; write the {what} to a file with -o FILE"
            )));
        }
        Ok(output)
    }

    /// Returns `true` if the output goes to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    /// Returns the options of a report for this output: those of the terminal for standard output,
    /// plain text for a file.
    pub(crate) fn report_options<'a>(&self) -> ReportOptions<'a> {
        if self.is_stdout() {
            terminal::report_options(&io::stdout())
        } else {
            ReportOptions::default()
        }
    }

    /// Calls `write`, then gives a file its final name. Returns `None` if the reader of standard
    /// output or of a pipe closed it.
    ///
    /// # Errors
    /// Returns an error if writing fails. A file that was at the path is then unchanged.
    pub(crate) fn write<T>(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<Option<T>, Error> {
        let (name, result) = match self {
            Output::Stdout => (
                PathBuf::from("standard output"),
                buffered(io::stdout().lock(), write),
            ),
            Output::Through(path, file) => (path, buffered(file, write)),
            Output::File(mut temporary) => {
                let path = temporary.wanted.clone();
                let _working = Working::new(format_args!("writing {}", path.display()));
                let result = buffered(&mut temporary.file, write)
                    .and_then(|value| temporary.replace().map(|()| value));
                (path, result)
            }
        };
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(cannot_write(&name, error)),
        }
    }
}

/// Writes text to standard output. Succeeds if the reader closed it.
///
/// # Errors
/// Returns an error if standard output cannot be written for another reason.
pub(crate) fn print(text: &[u8]) -> Result<(), Error> {
    let written = Output::Stdout.write(|out| out.write_all(text));
    written.map(drop)
}

/// Writes a line of JSON to standard output.
///
/// # Errors
/// Returns the errors of [`print()`].
pub(crate) fn print_json(json: &serde_json::Value) -> Result<(), Error> {
    print(format!("{json}\n").as_bytes())
}

fn buffered<T>(
    out: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> io::Result<T> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let value = write(&mut out)?;
    out.flush()?;
    Ok(value)
}

fn cannot_write(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::misuse(format_args!(
        "cannot write {}: {why}; give another path with -o",
        path.display()
    ))
}

/// A file with a hidden name next to the path that it is for. Dropping it removes the file, and so
/// does a signal that ends the process, unless the file was given that path.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// The open file.
    pub(crate) file: File,
    leftover: Leftover,
    wanted: PathBuf,
}

/// The permissions of a file that only its owner can read.
pub(crate) const PRIVATE: Option<u32> = Some(0o600);

impl Temporary {
    /// Creates the file with these permissions, or with the usual ones.
    pub(crate) fn beside(wanted: &Path, mode: Option<u32>) -> io::Result<Temporary> {
        let name = wanted.file_name().ok_or(ErrorKind::InvalidFilename)?;
        first_free(100, |attempt| {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.{attempt}.tmp", std::process::id()));
            let path = wanted.with_file_name(hidden);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            if let Some(mode) = mode {
                options.mode(mode);
            }
            let (leftover, file) = Leftover::create(path, Kind::File, |path| options.open(path))?;
            Ok(Temporary {
                file,
                leftover,
                wanted: wanted.to_owned(),
            })
        })
    }

    /// Returns the temporary path.
    pub(crate) fn path(&self) -> &Path {
        self.leftover.path()
    }

    /// Moves the file to its final path and replaces any file there. Keeps the permissions of a
    /// replaced file.
    pub(crate) fn replace(self) -> io::Result<()> {
        if let Ok(metadata) = fs::metadata(&self.wanted) {
            let _ = fs::set_permissions(self.path(), metadata.permissions());
        }
        fs::rename(self.path(), &self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_file_that_stood_there_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.svg");
        fs::write(&path, "old").unwrap();
        let output = Output::open(&path, &[]).unwrap();
        let result = output.write(|out| -> io::Result<()> {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is on fire"))
        });
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("the disk is on fire")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_whole_write_replaces_the_file_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.svg");
        fs::write(&path, "old").unwrap();
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap().permissions();
        let output = Output::open(&path, &[]).unwrap();
        output.write(|out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions(), before);
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let result =
            Output::Stdout.write(|_| -> io::Result<()> { Err(ErrorKind::BrokenPipe.into()) });
        assert!(result.unwrap().is_none());
    }

    #[test]
    fn the_input_is_refused_as_output_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hg");
        fs::write(&path, "recording").unwrap();
        let roundabout = folder.path().join(".").join("a.hg");
        assert!(Output::open(&roundabout, &[&path]).is_err());
    }

    #[test]
    fn a_path_that_ends_with_a_slash_names_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let error = Output::open(&folder.path().join("out/"), &[]).unwrap_err();
        assert!(
            error.to_string().contains("out/: it names a folder"),
            "{error}"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_said_before_the_work_begins() {
        let folder = tempfile::tempdir().unwrap();
        let error = Output::open(&folder.path().join("no/out.svg"), &[]).unwrap_err();
        assert!(error.to_string().contains("no/out.svg"), "{error}");
    }
}
