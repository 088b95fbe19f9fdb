//! The folder that keeps recordings until the next run of their case. Opens them in the terminal
//! UI.

use heapglass_gauntlet as gauntlet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Returns the folder of recordings, in cargo's target folder.
pub(crate) fn folder() -> io::Result<PathBuf> {
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        return Ok(Path::new(&target).join("gauntlet"));
    }
    // TARGET/PROFILE/gauntlet, independent of the current folder.
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent);
    Ok(target.unwrap_or(Path::new("target")).join("gauntlet"))
}

/// Returns the path of the recording of a variant's last run.
pub(crate) fn recording_of(case: &str, variant: &str) -> io::Result<PathBuf> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let variant: String = variant.chars().map(plain).collect();
    Ok(folder()?.join(format!("{case}-{variant}.hg")))
}

/// Opens a kept recording in the terminal UI of the `heapglass` command. Uses the command next to
/// this program, or the installed one.
pub(crate) fn open(id: &str, variant: Option<&str>) -> io::Result<ExitCode> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
    let Some(case) = gauntlet::find(id) else {
        let message = format!("no case is called {id:?}; `cargo gauntlet list` names them");
        return Err(invalid(message));
    };
    let first = case.variants.first().map(|variant| variant.name);
    let variant = variant.or(first).unwrap_or_default();
    if !case.variants.iter().any(|known| known.name == variant) {
        let names: Vec<&str> = case.variants.iter().map(|known| known.name).collect();
        let names = names.join(", ");
        return Err(invalid(format!(
            "{id} has no variant {variant:?}; it has {names}"
        )));
    }
    let path = recording_of(id, variant)?;
    if !path.is_file() {
        let path = path.display();
        return Err(invalid(format!(
            "there is no recording {path}: `cargo gauntlet run {id}` makes it"
        )));
    }
    let beside = std::env::current_exe()?.with_file_name("heapglass");
    let program = if beside.is_file() {
        beside
    } else {
        PathBuf::from("heapglass")
    };
    let status = Command::new(&program)
        .arg(&path)
        .status()
        .map_err(|error| {
            let program = program.display();
            let build = "build it with `cargo build --release -p heapglass`";
            invalid(format!(
                "cannot run {program} to show {}: {error}; {build}",
                path.display()
            ))
        })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}
