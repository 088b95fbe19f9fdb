//! Builds an example of this crate with chosen flags.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program is built with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub(crate) frame_pointers: bool,
    pub(crate) panic: &'static str,
    pub(crate) opt_level: &'static str,
}

impl Flags {
    pub(crate) const KEPT: Flags = Flags {
        frame_pointers: true,
        panic: "unwind",
        opt_level: "3",
    };
    pub(crate) const OMITTED: Flags = Flags {
        frame_pointers: false,
        ..Flags::KEPT
    };
}

/// A built example.
pub(crate) struct Program {
    executable: PathBuf,
}

impl Program {
    /// Builds `examples/NAME.rs`, or finds it built already. Tests that build the same wait for each other in cargo.
    pub(crate) fn build(name: &str, flags: Flags) -> Program {
        let kept = if flags.frame_pointers { "yes" } else { "no" };
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{kept}-{}-{}", flags.panic, flags.opt_level));
        let output = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--offline",
                "--release",
                "--example",
                name,
            ])
            .args([
                "--manifest-path",
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
                "--target-dir",
            ])
            .arg(&target)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env("RUSTFLAGS", format!("-C force-frame-pointers={kept}"))
            .env("CARGO_PROFILE_RELEASE_PANIC", flags.panic)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", flags.opt_level)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .env_remove("HEAPGLASS_OUT")
            .output()
            .expect("cargo can be run");
        assert!(
            output.status.success(),
            "{name} cannot be built:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Program {
            executable: target.join("release/examples").join(name),
        }
    }

    /// Where it is recorded to in `test`.
    pub(crate) fn recording(&self, test: &str) -> PathBuf {
        self.executable.with_extension(format!("{test}.hg"))
    }

    /// The program, not recorded.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.env_remove("HEAPGLASS_OUT");
        command
    }
}
