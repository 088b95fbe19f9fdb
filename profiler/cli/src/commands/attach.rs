//! `heapglass attach` and `heapglass detach`: records a program that runs already.

use crate::args::{Attach, Detach};
use crate::error::Error;

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &Attach) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn begin(_: &str) -> Result<std::path::PathBuf, Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end(_: &Detach) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(target_os = "linux")]
pub(super) use linux::{begin, end, run};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::{self, IsTerminal, Seek, SeekFrom, stderr, stdin};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant, SystemTime};

    use heapglass_profiler::inject::{self, Answer, Settings};
    use heapglass_profiler::units::{Nanos, counted, printable};
    use rustix::fs::{Mode, OFlags};
    use tracking_alloc_recording::{HeaderValue, MAGIC, Record, mode, state};

    use super::{Attach, Detach, Error};
    use crate::files::leftovers::{self, ENDING, leave_signals};
    use crate::files::spool::KeptRecording;
    use crate::files::{first_free, header, live, recent};
    use crate::summary::{self, Form};
    use crate::supervise::Finished;
    use crate::{no_effect, preload, terminal};

    /// The pause between two looks for a signal and for the end of the program.
    const LOOKS: Duration = Duration::from_millis(50);
    /// Attempts to detach at the end of the command.
    const MOST_TRIES: u32 = 3;

    /// A program to which somebody attaches.
    struct Target {
        process: u32,
        name: String,
    }

    pub(in crate::commands) fn run(args: &Attach) -> Result<(), Error> {
        let target = Target::find(&args.target)?;
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
        let wanted = Wanted {
            mode: &args.mode,
            sample_bytes: args.sample_bytes,
            output: args.output.as_deref(),
            is_forced: args.force,
        };
        if wanted.sample_bytes.is_some() && wanted.mode != "sample" {
            no_effect::warn("--sample-bytes", "the mode is not `sample`");
        }
        let (recorded, life) = target.attach(&wanted)?;
        let path = &recorded.path;
        let process = target.process;
        let Some(signals) = &mut signals else {
            target.say_how_to_finish();
            println!("{}", printable(&path.to_string_lossy()));
            return Ok(());
        };
        terminal::eprint_line(format_args!(
            "  recording to {}; Ctrl-C detaches",
            printable(&path.to_string_lossy())
        ));
        let end = args.duration.map(|duration| begun + duration);
        let is_running = || {
            recorded
                .header()
                .is_some_and(|of| of.state == state::RUNNING)
        };
        loop {
            if life.has_ended() {
                if name_of(process).is_some() && is_running() {
                    terminal::eprint_line(format_args!(
                        "heapglass: process {process} has become {} (exec), which is not recorded",
                        printable(&name_of(process).unwrap_or_default())
                    ));
                }
                target.summarize(&target.keep(&recorded), begun.elapsed(), false);
                return Ok(());
            }
            if !is_running() {
                target.summarize(&target.keep(&recorded), begun.elapsed(), false);
                return Ok(());
            }
            let is_over = end.is_some_and(|end| Instant::now() >= end);
            if is_over || signals.pending().next().is_some() {
                break;
            }
            std::thread::sleep(LOOKS);
        }
        // A thread that is safe to use may come.
        let mut tries = 1;
        loop {
            match target.detach(args.force, Some(begun.elapsed())) {
                Ok(()) => return Ok(()),
                Err(_) if life.has_ended() => {
                    target.summarize(&target.keep(&recorded), begun.elapsed(), false);
                    return Ok(());
                }
                Err(_) if tries < MOST_TRIES && signals.pending().next().is_none() => tries += 1,
                Err(error) => {
                    terminal::eprint_line("heapglass: the recording goes on");
                    target.say_how_to_finish();
                    return Err(error);
                }
            }
        }
    }

    /// Attaches to a process with the default settings. Returns the path of the recording, which
    /// goes on.
    pub(in crate::commands) fn begin(target: &str) -> Result<PathBuf, Error> {
        let target = Target::find(target)?;
        let wanted = Wanted {
            mode: "sample",
            sample_bytes: None,
            output: None,
            is_forced: false,
        };
        let (recorded, _) = target.attach(&wanted)?;
        target.say_how_to_finish();
        Ok(recorded.path)
    }

    /// The settings of a recording.
    struct Wanted<'a> {
        mode: &'a str,
        sample_bytes: Option<u64>,
        output: Option<&'a Path>,
        is_forced: bool,
    }

    /// A recording to which the program writes.
    struct Recorded {
        path: PathBuf,
        /// The open file, which stays when the files of a container end with it.
        file: Option<fs::File>,
    }

    impl Recorded {
        /// Opens the file at a path, if it is a recording of a program to which somebody attached.
        /// A link in a container may lead anywhere, so the last part of the path is none.
        fn open(path: &Path) -> Option<Recorded> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
            let recorded = Recorded {
                path: path.to_owned(),
                file: Some(file),
            };
            recorded.header().filter(|of| of.attached != 0)?;
            Some(recorded)
        }

        fn header(&self) -> Option<HeaderValue> {
            let file = self.file.as_ref()?;
            let is_file = file.metadata().is_ok_and(|data| data.is_file());
            let header = header::prefix(file, HeaderValue::SIZE).ok()?;
            header.filter(|header| is_file && header.magic == MAGIC)
        }
    }

    /// The memory of a process, which ends with it and when it becomes another program.
    struct Life {
        memory: Option<fs::File>,
        process: u32,
    }

    impl Life {
        fn of(process: u32) -> Life {
            let memory = fs::File::open(format!("/proc/{process}/mem")).ok();
            Life { memory, process }
        }

        fn has_ended(&self) -> bool {
            match &self.memory {
                // There is no memory at this address, which is an error while there is any at all.
                Some(memory) => memory.read_at(&mut [0], 0).is_ok_and(|bytes| bytes == 0),
                None => name_of(self.process).is_none(),
            }
        }
    }

    pub(in crate::commands) fn end(args: &Detach) -> Result<(), Error> {
        Target::find(&args.target)?.detach(args.force, None)
    }

    impl Target {
        /// Starts a recording. Returns its path.
        fn attach(&self, wanted: &Wanted<'_>) -> Result<(Recorded, Life), Error> {
            let Target { process, name } = self;
            if let Ok(live) = live::find(Path::new(&process.to_string())) {
                return Err(Error::misuse(format_args!(
                    "process {process} is being recorded: {path}; `heapglass {path}` shows it, and `heapglass set` changes its mode",
                    path = summary::quoted(&live.path)
                )));
            }
            let library = preload::library().map_err(Error::misuse)?;
            let named = PathBuf::from(format!("{name}-{process}.hg"));
            let output = wanted.output.unwrap_or(&named);
            let absolute = std::path::absolute(output)
                .map_err(Error::wrap(format!("cannot use {}", output.display())))?;
            let settings = Settings {
                library: &library,
                recording: absolute.as_os_str().as_bytes(),
                samples: mode::from_name(wanted.mode) == Some(mode::SAMPLE),
                sample_bytes: wanted.sample_bytes.unwrap_or_default(),
                max_bytes: 0,
            };
            let life = Life::of(*process);
            let answer = inject::attach(*process, &settings, wanted.is_forced)
                .map_err(|error| self.refused(error))?;
            let unchanged = u64::from(answer.unchanged_threads);
            let recorded = self.recorded(answer, |pause| {
                terminal::eprint_line(format_args!(
                    "heapglass: attached to {} ({process}); one of its threads was stopped for {}",
                    printable(name),
                    Nanos(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX))
                ));
            })?;
            if unchanged != 0 {
                terminal::eprint_line(format_args!(
                    "  {} could not be stopped in time; blocks that such a thread frees in a loop may be told as live",
                    counted(unchanged, "thread")
                ));
            }
            terminal::eprint_line(
                "  not recorded: programs that it starts, and what it becomes by exec",
            );
            recent::remember(&[self.kept(&recorded.path, true)]);
            Ok((recorded, life))
        }

        fn say_how_to_finish(&self) {
            let process = self.process;
            terminal::eprint_line(format_args!("  to finish it: heapglass detach {process}"));
        }

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
            Error::misuse(format_args!("process {process}: {}", printable(&text)))
        }

        /// Returns the recording of an answer.
        fn recorded(&self, answer: Answer, show: impl FnOnce(Duration)) -> Result<Recorded, Error> {
            if answer.code != 0 {
                return Err(Error::misuse(format_args!(
                    "process {}: {}",
                    self.process,
                    printable(&answer.text)
                )));
            }
            show(answer.pause);
            let path = PathBuf::from(OsStr::from_bytes(answer.text.as_bytes()));
            Ok(self.reachable(path))
        }

        /// Opens a recording by the path by which this process finds it: the program may see other
        /// files.
        fn reachable(&self, path: PathBuf) -> Recorded {
            let inside = path.strip_prefix("/").unwrap_or(&path);
            let beyond = Path::new("/proc")
                .join(self.process.to_string())
                .join("root")
                .join(inside);
            Recorded::open(&path)
                .or_else(|| Recorded::open(&beyond))
                .unwrap_or(Recorded { path, file: None })
        }

        /// Copies a finished recording that lies among the files of another container, which end
        /// with it.
        fn keep(&self, recorded: &Recorded) -> PathBuf {
            let path = recorded.path.clone();
            let Some(from) = recorded.file.as_ref().filter(|_| path.starts_with("/proc")) else {
                return path;
            };
            let copied = first_free(100, |attempt| {
                let number = match attempt {
                    0 => String::new(),
                    number => format!("-{number}"),
                };
                let kept = PathBuf::from(format!("{}-{}{number}.hg", self.name, self.process));
                let mut file = fs::File::create_new(&kept)?;
                let mut from = from;
                let copied = from
                    .seek(SeekFrom::Start(0))
                    .and_then(|_| io::copy(&mut from, &mut file));
                // A part of a recording is none.
                copied.inspect_err(|_| _ = fs::remove_file(&kept))?;
                Ok(kept)
            });
            copied.unwrap_or_else(|error| {
                terminal::eprint_line(format_args!(
                    "heapglass: the recording could not be copied to this folder: {error}; copy it before the container ends: {}",
                    printable(&path.to_string_lossy())
                ));
                path
            })
        }

        /// Ends the recording, and prints a summary. Without a duration, it is that of the
        /// recording.
        fn detach(&self, is_forced: bool, took: Option<Duration>) -> Result<(), Error> {
            let answer =
                inject::detach(self.process, is_forced).map_err(|error| self.refused(error))?;
            let path = self.keep(&self.recorded(answer, |_| ())?);
            let recorded = || {
                let began = header::read(&path)?.started_unix_ns;
                let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(began);
                began.elapsed().ok()
            };
            self.summarize(&path, took.or_else(recorded).unwrap_or_default(), true);
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
