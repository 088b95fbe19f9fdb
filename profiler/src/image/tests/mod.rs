//! Programs that know their live blocks, copies of them, and core files of them that the tests
//! write.

mod blocks;
mod cores;
mod locals;
mod processes;
mod written;

use super::error::Kind;
use super::*;
use heapglass_limits::{Child, Command};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

const TRUTH: &str = include_str!("programs/truth.c");

/// A program that waits.
struct Waiting {
    folder: tempfile::TempDir,
    child: Child,
    /// The line that it wrote.
    line: String,
}

impl Waiting {
    /// Compiles a program of C and starts it.
    fn of_c(source: &str, words: &[&str]) -> Waiting {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("a.c"), folder.path().join("program"));
        std::fs::write(&from, source).expect("a source file");
        let flags = ["-O1", "-g", "-w", "-fno-builtin", "-pthread", "-o"];
        let mut compiler = Command::new("cc");
        let status = compiler.args(flags).arg(&to).arg(&from).status();
        assert!(status.expect("a C compiler").success());
        Waiting::start(folder, &to, words)
    }

    /// Compiles a program of Rust, optimized and with types, and starts it.
    fn of_rust(source: &str) -> Waiting {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("program.rs"), source).expect("a source file");
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut compiler = Command::new(compiler);
        let flags = [
            "--edition=2024",
            "-Cdebuginfo=2",
            "-Copt-level=3",
            "program.rs",
        ];
        let status = compiler.current_dir(folder.path()).args(flags).status();
        assert!(status.expect("rustc").success());
        let program = folder.path().join("program");
        Waiting::start(folder, &program, &[])
    }

    fn start(folder: tempfile::TempDir, program: &Path, words: &[&str]) -> Waiting {
        // The kernel writes a core only if its size has no limit.
        let mut command = Command::new("sh");
        let mut child = command
            .current_dir(folder.path())
            .args(["-c", "ulimit -c unlimited; exec \"$0\" \"$@\""])
            .arg(program)
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        let is_read = BufReader::new(stdout).read_line(&mut line);
        assert!(is_read.expect("a line") > 1, "the program has ended");
        Waiting {
            folder,
            child,
            line,
        }
    }

    /// Returns an image of the running program. `None` and a line if this machine forbids it.
    fn image(&self, way: Way) -> Option<Image> {
        use heapglass_freeze::Error::{Forbidden, Yama};
        match Image::of_process(self.child.id(), way, None) {
            Err(error) if matches!(error.kind, Kind::Process(Forbidden(_) | Yama(_))) => {
                let thread = std::thread::current();
                let test = thread.name().unwrap_or("a test");
                let _ = writeln!(io::stderr(), "skipped: {test}: {error}");
                None
            }
            image => Some(image.expect("an image")),
        }
    }

    /// Returns the core that `gcore` writes; `None` if it is not installed.
    fn gcore(&self) -> Option<PathBuf> {
        let place = self.folder.path().join("gcore");
        let process = self.child.id().to_string();
        let mut command = Command::new("gcore");
        let output = command.arg("-o").arg(&place).arg(&process).output().ok()?;
        assert!(output.status.success(), "{output:?}");
        Some(self.folder.path().join(format!("gcore.{process}")))
    }

    /// Ends the program and returns the core that the kernel writes; `None` if it writes none here.
    fn kernel_core(&mut self) -> Option<PathBuf> {
        let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").ok()?;
        if !pattern.starts_with("core") || pattern.contains('/') {
            return None;
        }
        let mut kill = Command::new("kill");
        let status = kill.args(["-ABRT", &self.child.id().to_string()]).status();
        assert!(status.expect("kill").success());
        self.child.wait().expect("it ends");
        let mut files = std::fs::read_dir(self.folder.path()).expect("a folder");
        files.find_map(|file| {
            let path = file.expect("a file").path();
            let name = path.file_name()?.to_str()?;
            name.starts_with("core").then_some(path)
        })
    }

    /// Writes a core of the program, which waits in a system call.
    fn core(&self) -> PathBuf {
        let path = self.folder.path().join("core");
        written::write(self.child.id(), &path).expect("a core");
        path
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
