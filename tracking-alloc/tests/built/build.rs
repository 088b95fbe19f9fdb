//! Builds examples of this crate with chosen flags.

use heapglass_limits::Command;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The flags with which a program is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub(crate) frame_pointers: bool,
    pub(crate) panic: &'static str,
    pub(crate) opt_level: &'static str,
    /// `true` to check each walk against a full walk, as debug builds do.
    pub(crate) checks: bool,
    /// `true` to link the C library statically.
    pub(crate) is_static: bool,
}

impl Flags {
    pub(crate) const KEPT: Flags = Flags {
        frame_pointers: true,
        panic: "unwind",
        opt_level: "3",
        checks: false,
        is_static: false,
    };
    pub(crate) const OMITTED: Flags = Flags {
        frame_pointers: false,
        ..Flags::KEPT
    };
}

/// The examples to build.
const PROGRAMS: [&str; 8] = [
    "callbacks",
    "jumps",
    "painted",
    "sandboxed",
    "segments",
    "start_routine",
    "unwiped",
    "unwound",
];

/// Creates a package with the examples as its programs. As examples they would need the
/// dependencies of all tests, and each choice of flags would build those again.
fn package() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let this = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples");
        let programs: String = PROGRAMS
            .iter()
            .map(|name| {
                let path = this.join("examples").join(name).with_extension("rs");
                format!("[[bin]]\nname = {name:?}\npath = {path:?}\n")
            })
            .collect();
        let manifest = format!(
            "[package]\nname = \"examples\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [dependencies]\ntracking-alloc = {{ path = {this:?} }}\n\
             libc = {{ version = \"0.2\", default-features = false }}\n{programs}[workspace]\n"
        );
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
        // The same versions as here, so that nothing must be fetched.
        std::fs::copy(this.join("../Cargo.lock"), folder.join("Cargo.lock")).expect("a lock file");
        folder
    })
}

/// A built example.
pub(crate) struct Program {
    executable: PathBuf,
}

impl Program {
    /// Builds `examples/NAME.rs`, or finds it already built. Tests that build with the same flags
    /// wait for each other in cargo.
    pub(crate) fn build(name: &str, flags: Flags) -> Program {
        let kept = if flags.frame_pointers { "yes" } else { "no" };
        let checks = if flags.checks { "yes" } else { "no" };
        let linked = if flags.is_static { "+" } else { "-" };
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "{kept}-{}-{}-{checks}-{linked}",
            flags.panic, flags.opt_level
        ));
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--release", "--bin", name])
            .arg("--manifest-path")
            .arg(package().join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env(
                "RUSTFLAGS",
                format!("-C force-frame-pointers={kept} -C target-feature={linked}crt-static"),
            )
            .env("CARGO_PROFILE_RELEASE_PANIC", flags.panic)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", flags.opt_level)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .env(
                "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS",
                flags.checks.to_string(),
            )
            .env_remove("HEAPGLASS_OUT")
            .output()
            .expect("cargo can be run");
        assert!(
            output.status.success(),
            "{name} cannot be built:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Program {
            executable: target.join("release").join(name),
        }
    }

    /// Returns the path of its recording in `test`. No file exists there.
    pub(crate) fn recording(&self, test: &str) -> PathBuf {
        let path = self.executable.with_extension(format!("{test}.hg"));
        // The recorder does not replace an existing file.
        let _ = std::fs::remove_file(&path);
        path
    }

    /// Returns a command that runs the program without recording.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.env_remove("HEAPGLASS_OUT");
        command
    }
}
