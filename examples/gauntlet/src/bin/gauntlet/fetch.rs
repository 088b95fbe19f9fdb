//! Fetches the real files with the user's own npm and checks them before they are kept. Runs
//! nothing of the package.

use crate::run::at;
use flate2::read::GzDecoder;
use heapglass_gauntlet::data::fetched::{FILES, File, PACKAGE, check, folder};
use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Fetches the files that are missing.
pub(crate) fn fetch() -> io::Result<ExitCode> {
    let kept = folder()?;
    if check().is_ok() {
        eprintln!("all {} files are in {}", FILES.len(), kept.display());
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(&kept).map_err(|error| at(&kept, &error))?;
    // In the folder of kept files, so that a checked file only needs to be renamed.
    let packed = kept.join(format!("fetching-{}", std::process::id()));
    std::fs::create_dir_all(&packed).map_err(|error| at(&packed, &error))?;
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(100));
    let done = pack(&packed, &bar).and_then(|()| {
        FILES.iter().try_for_each(|file| {
            bar.set_message(format!("checking {}", file.name));
            keep(file, &packed, &kept)
        })
    });
    bar.finish_and_clear();
    let removed = std::fs::remove_dir_all(&packed).map_err(|error| at(&packed, &error));
    done.and(removed)?;
    eprintln!(
        "{} files are in {}; `cargo gauntlet run data` reads them",
        FILES.len(),
        kept.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// Downloads the package with npm and extracts the files with tar.
fn pack(folder: &Path, bar: &ProgressBar) -> io::Result<()> {
    bar.set_message(format!("npm pack {PACKAGE} (25 MB)"));
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent", PACKAGE])
        .current_dir(folder);
    run(&mut npm, "npm")?;
    let name = PACKAGE.replace('@', "-") + ".tgz";
    bar.set_message(format!("unpacking {name}"));
    let mut tar = Command::new("tar");
    tar.args(["-xzf", &name, "package/jsonexamples"])
        .current_dir(folder);
    run(&mut tar, "tar")
}

fn run(command: &mut Command, name: &str) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot run {name}: {error}; install it"),
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!(
        "{name}: {}: {}",
        output.status,
        said.trim()
    )))
}

/// Checks a file and moves it to its final path.
fn keep(file: &File, packed: &Path, kept: &Path) -> io::Result<()> {
    let ending = if file.gzip { ".json.gz" } else { ".json" };
    let from = packed
        .join("package/jsonexamples")
        .join(format!("{}{ending}", file.name));
    let whole = packed.join("whole");
    let reader = std::fs::File::open(&from).map_err(|error| at(&from, &error))?;
    let mut reader: Box<dyn Read> = if file.gzip {
        Box::new(GzDecoder::new(reader))
    } else {
        Box::new(reader)
    };
    let mut writer = std::fs::File::create(&whole).map_err(|error| at(&whole, &error))?;
    let mut hash = Sha256::new();
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        let read = reader
            .read(&mut buffer)
            .map_err(|error| at(&from, &error))?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            break;
        };
        bytes += part.len() as u64;
        if bytes > file.bytes {
            break;
        }
        hash.update(part);
        writer.write_all(part).map_err(|error| at(&whole, &error))?;
    }
    let found: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if bytes != file.bytes || found != file.sha256 {
        let (name, wanted) = (file.name, file.sha256);
        return Err(io::Error::other(format!(
            "{name} of {PACKAGE} is not the file that was expected ({bytes} bytes, SHA-256 {found}, not {} and {wanted}); \
             it was not kept",
            file.bytes
        )));
    }
    let to = kept.join(format!("{}.json", file.name));
    std::fs::rename(&whole, &to).map_err(|error| at(&to, &error))
}
