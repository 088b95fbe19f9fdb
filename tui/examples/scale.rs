//! Measures the CPU time per frame and the memory of the terminal UI with a large profile: by
//! default a call tree of 827,008 nodes and 600,000 sites, and 1,000 random keys and clicks. A
//! depth of 13 makes 1,398,417 nodes.
//!
//! `cargo run --release -p heapglass-tui --example scale [SITES DEPTH ACTIONS]`
//!
//! The UI runs in a process of its own on a pseudo-terminal of 200x60, and this program types.
//! After each action it waits until the thread that reads keys sleeps, and reads the CPU time of
//! that thread. So a frame includes the key, its effect, drawing and writing.

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
    #[cfg(not(target_os = "linux"))]
    println!("this example reads the CPU time of a thread in /proc, which only Linux has");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use heapglass_fixture as fixture;
    use heapglass_profiler::Early;
    use heapglass_profiler::calltree::{CallTree, CallTreeOptions};
    use heapglass_profiler::profile::{Frames, Profile};
    use heapglass_tui::{Options, Source};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{Winsize, tcsetwinsize};

    const COLUMNS: u16 = 200;
    const ROWS: u16 = 60;

    struct Sized {
        sites: u32,
        depth: u32,
    }

    impl Source for Sized {
        fn title(&self) -> String {
            "sized.hg".into()
        }

        fn load(&mut self, _: &dyn Fn(&str), _: Option<Early<'_>>) -> Result<Profile, String> {
            Ok(fixture::sized(self.sites, self.depth))
        }

        fn is_live(&self) -> bool {
            false
        }
    }

    pub(crate) fn main() {
        let mut words: Vec<String> = std::env::args().skip(1).collect();
        let is_child = words.first().is_some_and(|word| word == "--child");
        if is_child {
            words.remove(0);
        }
        let number = |at: usize, other: u32| {
            let word = words.get(at);
            word.map_or(other, |word| word.parse().expect("a number"))
        };
        let (sites, depth, actions) = (number(0, 600_000), number(1, 12), number(2, 1_000));
        if is_child {
            let shown = heapglass_tui::run(Sized { sites, depth }, Options::from_env());
            return shown.expect("the UI ends without an error");
        }
        let profile = fixture::sized(sites, depth);
        let nodes = |inverted: bool| {
            let options = CallTreeOptions {
                frames: Frames::All,
                inverted,
                ..CallTreeOptions::default()
            };
            CallTree::sorted(&profile, &options).len()
        };
        println!(
            "{} sites, {} nodes, {} nodes inverted",
            profile.sites().len(),
            nodes(false),
            nodes(true)
        );
        drop(profile);
        measure(&[sites, depth].map(|number| number.to_string()), actions);
    }

    fn measure(size: &[String], actions: u32) {
        let (mut pty, theirs) = fixture::terminal();
        let winsize = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&pty, winsize).expect("a size");
        let side = || Stdio::from(theirs.try_clone().expect("the other side"));
        let mut child = Command::new("setsid")
            .arg("--ctty")
            .arg(std::env::current_exe().expect("this program"))
            .arg("--child")
            .args(size)
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .stdin(side())
            .stdout(side())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("setsid of util-linux");
        drop(theirs);
        let process = child.id();
        let mut seen = String::new();
        // The hints, which the loading screen has not. Styles separate the words.
        while !seen.contains("help") {
            seen.push_str(&read(&mut pty, 100));
        }
        // All frames make the largest tree, which other threads build.
        pty.write_all(b"2a").expect("typed");
        // The thread that reads keys looks for a loaded profile ten times a second.
        const IDLE_NS: u64 = 50_000_000;
        let mut used = u64::MAX;
        while used > IDLE_NS {
            let before = cpu_of_all_ns(process);
            std::thread::sleep(Duration::from_secs(1));
            settle(&mut pty, process);
            // A thread that has ended takes its time with it.
            used = cpu_of_all_ns(process).abs_diff(before);
        }
        let mut dice = fixture::Dice(1);
        // Moving is most of what people do.
        const KEYS: [&str; 40] = [
            "j",
            "j",
            "j",
            "k",
            "k",
            "l",
            "h",
            "G",
            "g",
            "\x1b[6~",
            "\x1b[5~",
            "\r",
            "\x1b",
            "1",
            "2",
            "3",
            "5",
            "5",
            "6",
            "n",
            "N",
            "]",
            "o",
            "z",
            "b",
            "j",
            "k",
            "s",
            "?",
            "help",
            "click",
            "click",
            "wheel",
            "wheel",
            "/function_12\r",
            "mj\r",
            "M",
            "i",
            "f",
            "S",
        ];
        let mut frames = Vec::new();
        // A result of another thread may arrive between two actions. It counts for the next one.
        let mut before = cpu_ns(process);
        for _ in 0..actions {
            let key = KEYS[dice.roll(KEYS.len())];
            let (x, y) = (1 + dice.roll(COLUMNS.into()), 1 + dice.roll(ROWS.into()));
            let typed = match key {
                "click" => format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"),
                "wheel" => format!("\x1b[<{};{x};{y}M", 64 + dice.roll(2)),
                // Closes the help. `q` would quit if a click has opened the list of measures.
                "help" => "?\x1b".to_owned(),
                key => key.to_owned(),
            };
            pty.write_all(typed.as_bytes()).expect("typed");
            settle(&mut pty, process);
            let now = cpu_ns(process);
            frames.push((now - before, typed.escape_debug().to_string()));
            before = now;
            assert!(child.try_wait().expect("known").is_none(), "the UI ended");
        }
        frames.sort();
        let at = |percent: usize| {
            let index = (frames.len() * percent / 100).min(frames.len() - 1);
            frames[index].0 as f64 / 1e6
        };
        println!(
            "CPU ms per frame: p50 {:.2}, p90 {:.2}, p99 {:.2}",
            at(50),
            at(90),
            at(99)
        );
        for (time, key) in frames.iter().rev().take(15) {
            println!("  {:.1} ms after {key}", *time as f64 / 1e6);
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("alive");
        for line in status
            .lines()
            .filter(|line| line.starts_with("Vm") && line.contains("RSS"))
            .chain(status.lines().filter(|line| line.starts_with("VmHWM")))
        {
            println!("{line}");
        }
        pty.write_all(b"\x03").expect("typed");
        while child.try_wait().expect("known").is_none() {
            read(&mut pty, 20);
        }
    }

    /// Reads what is written within some milliseconds.
    fn read(pty: &mut File, ms: i64) -> String {
        let mut waited = [PollFd::new(pty, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: ms * 1_000_000,
        };
        if poll(&mut waited, Some(&timeout)).expect("polled") == 0 {
            return String::new();
        }
        let mut bytes = vec![0; 1 << 16];
        let read = pty.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }

    /// Waits until nothing is written and the thread that reads keys sleeps, three times in a row.
    fn settle(pty: &mut File, process: u32) {
        let mut quiet = 0;
        while quiet < 3 {
            let written = read(pty, 2);
            let stat = std::fs::read_to_string(format!("/proc/{process}/task/{process}/stat"))
                .expect("alive");
            let state = stat.rsplit(") ").next().unwrap_or_default();
            assert!(!state.starts_with('Z'), "the UI ended");
            let sleeps = state.starts_with('S');
            quiet = if written.is_empty() && sleeps {
                quiet + 1
            } else {
                0
            };
            if quiet == 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }

    /// Returns the CPU time of all threads.
    fn cpu_of_all_ns(process: u32) -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("alive");
        let names = threads.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let times = names.filter_map(|thread| thread_cpu_ns(process, &thread));
        times.sum()
    }

    /// Returns the CPU time of the thread that reads keys, which is the first thread.
    fn cpu_ns(process: u32) -> u64 {
        thread_cpu_ns(process, &process.to_string()).expect("the kernel counts CPU time")
    }

    /// Returns the CPU time of a thread; `None` if it has ended.
    fn thread_cpu_ns(process: u32, thread: &str) -> Option<u64> {
        let path = format!("/proc/{process}/task/{thread}/schedstat");
        let text = std::fs::read_to_string(path).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }
}
