//! `heapglass attach` and `heapglass detach`: records a program that runs already.

use crate::args::{Attach, Detach};
use crate::error::Error;

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &Attach) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end(_: &Detach) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(target_os = "linux")]
pub(super) use linux::{end, run};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::{self, IsTerminal, stderr, stdin};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant, SystemTime};

    use heapglass_profiler::inject::{self, Answer, Settings};
    use heapglass_profiler::units::{Nanos, printable};
    use tracking_alloc_recording::{mode, state};

    use super::{Attach, Detach, Error};
    use crate::files::leftovers::{self, ENDING, leave_signals};
    use crate::files::spool::KeptRecording;
    use crate::files::{first_free, header, live, recent};
    use crate::summary::{self, Form};
    use crate::supervise::Finished;
    use crate::{preload, terminal};

    /// The pause between two looks for a signal and for the end of the program.
    const LOOKS: Duration = Duration::from_millis(50);

    /// A program to which somebody attaches.
    struct Target {
        process: u32,
        name: String,
    }

    pub(in crate::commands) fn run(args: &Attach) -> Result<(), Error> {
        let target = Target::find(&args.target)?;
        let Target { process, name } = &target;
        let known = live::find(Path::new(&process.to_string()));
        if let Ok(live) = known {
            return Err(Error::misuse(format_args!(
                "process {process} is being recorded: {path}; `heapglass {path}` shows it, and `heapglass set` changes its mode",
                path = summary::quoted(&live.path)
            )));
        }
        let library = preload::library().map_err(Error::misuse)?;
        let output = args
            .output
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("{name}-{process}.hg")));
        let wanted = std::path::absolute(&output)
            .map_err(Error::wrap(format!("cannot use {}", output.display())))?;
        let settings = Settings {
            library: &library,
            recording: wanted.as_os_str().as_bytes(),
            samples: mode::from_name(&args.mode) == Some(mode::SAMPLE),
            sample_bytes: args.sample_bytes.unwrap_or_default(),
            max_bytes: 0,
        };
        let stays = args.duration.is_some() || stdin().is_terminal() && stderr().is_terminal();
        // A signal during the call must not leave the program recorded without anybody knowing.
        let mut signals = stays
            .then(|| leftovers::catch(&ENDING))
            .transpose()
            .map_err(Error::wrap("cannot catch signals"))?;
        if stays {
            leave_signals();
        }
        let begun = Instant::now();
        let answer = inject::attach(*process, &settings, args.force);
        let path = target.path_of(answer.map_err(|error| target.refused(error))?, |pause| {
            terminal::eprint_line(format_args!(
                "heapglass: attached to {} ({process}); one of its threads was stopped for {}",
                printable(name),
                Nanos(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX))
            ));
        })?;
        let Some(signals) = &mut signals else {
            recent::remember(&[target.kept(&path, true)]);
            terminal::eprint_line(format_args!("  to finish it: heapglass detach {process}"));
            println!("{}", path.display());
            return Ok(());
        };
        terminal::eprint_line(format_args!(
            "  recording to {}; Ctrl-C detaches",
            printable(&path.to_string_lossy())
        ));
        let end = args.duration.map(|duration| begun + duration);
        // The process ID in the recording may be that of another namespace. A process that has
        // ended has no program any more.
        let is_running = || {
            let header = header::read(&path);
            header.is_some_and(|of| of.state == state::RUNNING) && name_of(*process).is_some()
        };
        loop {
            if !is_running() {
                target.summarize(&path, begun.elapsed(), false);
                return Ok(());
            }
            let is_over = end.is_some_and(|end| Instant::now() >= end);
            if is_over || signals.pending().next().is_some() {
                break;
            }
            std::thread::sleep(LOOKS);
        }
        target.detach(args.force, begun.elapsed())
    }

    pub(in crate::commands) fn end(args: &Detach) -> Result<(), Error> {
        let target = Target::find(&args.target)?;
        let live = live::find(Path::new(&target.process.to_string())).ok();
        let began = live
            .map(|live| SystemTime::UNIX_EPOCH + Duration::from_nanos(live.header.started_unix_ns));
        let took = began.and_then(|began| began.elapsed().ok());
        target.detach(args.force, took.unwrap_or_default())
    }

    impl Target {
        /// Finds a process by its number or name.
        fn find(text: &str) -> Result<Target, Error> {
            if let Ok(process) = text.parse() {
                return Ok(Target {
                    process,
                    name: name_of(process).unwrap_or_else(|| "program".to_owned()),
                });
            }
            let entries = fs::read_dir("/proc").map_err(Error::wrap("cannot read /proc"))?;
            let processes =
                entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
            let own = std::process::id();
            let mut found: Vec<u32> = processes
                .filter(|process| *process != own && name_of(*process).as_deref() == Some(text))
                .collect();
            found.sort_unstable();
            match found[..] {
                [process] => Ok(Target {
                    process,
                    name: text.to_owned(),
                }),
                [] => Err(Error::misuse(format_args!(
                    "{text}: no process has this name; use a process ID"
                ))),
                [..] => {
                    let all: Vec<String> = found.iter().map(u32::to_string).collect();
                    Err(Error::misuse(format_args!(
                        "{text}: several processes have this name; use one of their process IDs: {}",
                        all.join(", ")
                    )))
                }
            }
        }

        fn refused(&self, error: inject::Error) -> Error {
            let process = self.process.to_string();
            let text = error.to_string().replace("PID", &process);
            Error::misuse(format_args!("process {process}: {text}"))
        }

        /// Returns the path of an answer.
        fn path_of(&self, answer: Answer, show: impl FnOnce(Duration)) -> Result<PathBuf, Error> {
            if answer.code != 0 {
                return Err(Error::misuse(format_args!(
                    "process {}: {}",
                    self.process, answer.text
                )));
            }
            show(answer.pause);
            let path = PathBuf::from(OsStr::from_bytes(answer.text.as_bytes()));
            Ok(self.reachable(path))
        }

        /// Returns the path by which this process finds a file of the program, which may see other
        /// files.
        fn reachable(&self, path: PathBuf) -> PathBuf {
            let is_its = |path: &Path| header::read(path).is_some_and(|of| of.attached != 0);
            let inside = path.strip_prefix("/").unwrap_or(&path);
            let beyond = Path::new("/proc")
                .join(self.process.to_string())
                .join("root")
                .join(inside);
            if !is_its(&path) && is_its(&beyond) {
                beyond
            } else {
                path
            }
        }

        /// Copies a finished recording that lies among the files of another container, which end
        /// with it.
        fn keep(&self, path: PathBuf) -> PathBuf {
            if !path.starts_with("/proc") {
                return path;
            }
            let copied = first_free(100, |attempt| {
                let number = match attempt {
                    0 => String::new(),
                    number => format!("-{number}"),
                };
                let kept = PathBuf::from(format!("{}-{}{number}.hg", self.name, self.process));
                let mut file = fs::File::create_new(&kept)?;
                io::copy(&mut fs::File::open(&path)?, &mut file)?;
                Ok(kept)
            });
            copied.unwrap_or(path)
        }

        /// Ends the recording, and prints a summary.
        fn detach(&self, is_forced: bool, took: Duration) -> Result<(), Error> {
            let answer =
                inject::detach(self.process, is_forced).map_err(|error| self.refused(error))?;
            let path = self.keep(self.path_of(answer, |_| ())?);
            self.summarize(&path, took, true);
            Ok(())
        }

        fn kept(&self, path: &Path, is_written: bool) -> KeptRecording {
            KeptRecording {
                path: path.to_owned(),
                program: self.name.clone(),
                pid: self.process,
                note: None,
                is_written,
                is_preferred: false,
            }
        }

        fn summarize(&self, path: &Path, took: Duration, is_detached: bool) {
            let kept = self.kept(path, false);
            recent::remember(std::slice::from_ref(&kept));
            let finished = Finished::attached(kept, took, is_detached);
            let run = summary::Run {
                name: self.name.clone(),
                how: None,
                preloads: true,
                own: &[],
                command: &[],
                executables: &[],
                finished: &finished,
            };
            summary::write(&run, Form::Text);
        }
    }

    /// Returns the file name of the program of a process.
    fn name_of(process: u32) -> Option<String> {
        let link = fs::read_link(format!("/proc/{process}/exe")).ok()?;
        let name = link.file_name()?.to_string_lossy().into_owned();
        Some(name.trim_end_matches(" (deleted)").to_owned())
    }
}
