//! Which files describe a module: the binary that ran, or its debug information kept apart.
//!
//! Identity comes first. A file is used only when its build-id (or, for binaries without one, its size and
//! modification time) is that of the image that ran: names from another build would be plausible and wrong.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::dwarf::SplitFiles;
use super::image::{Headers, Image};
use super::{Error, Identity, ModuleRef, Options};

/// Where distributions keep debug information.
const SYSTEM_DEBUG_DIR: &str = "/usr/lib/debug";

/// The files of a module, checked to be of the build that ran.
pub(super) struct Files {
    /// The binary itself.
    pub(super) binary: Option<(Image, Headers)>,
    /// A file with its debug information, or with the symbol table it was stripped of.
    pub(super) debug: Option<(Image, Headers)>,
    /// Where the split half of the debug information may be.
    pub(super) split: SplitFiles,
}

impl Files {
    /// The file to read debug information from.
    pub(super) fn debug_information(&self) -> Option<&Image> {
        let has = |file: &&(Image, Headers)| file.1.has_debug_info;
        self.binary
            .iter()
            .filter(has)
            .chain(self.debug.iter().filter(has))
            .map(|(image, _)| image)
            .next()
    }

    /// The file to read the symbol table from.
    pub(super) fn symbol_table(&self) -> Option<&Image> {
        let full = |file: &&(Image, Headers)| file.1.has_symbol_table;
        let mut files = self
            .binary
            .iter()
            .filter(full)
            .chain(self.debug.iter().filter(full));
        files
            .next()
            .or(self.binary.as_ref())
            .or(self.debug.as_ref())
            .map(|(image, _)| image)
    }

    /// Changes when any of the files does: names cached under another fingerprint may be poorer. Where the files
    /// are does not matter, their build is known.
    pub(super) fn fingerprint(&self) -> u64 {
        let packages = self
            .split
            .packages
            .iter()
            .filter_map(|path| Image::open(path).ok());
        let packages = packages.map(|image| (b'p', image.len, image.mtime_ns));
        let image = |role| move |(image, _): &(Image, Headers)| (role, image.len, image.mtime_ns);
        let mut all = crc32fast::Hasher::new();
        let mut lengths = crc32fast::Hasher::new();
        for (role, len, mtime_ns) in self
            .binary
            .iter()
            .map(image(b'b'))
            .chain(self.debug.iter().map(image(b'd')))
            .chain(packages)
        {
            lengths.update(&len.to_le_bytes());
            all.update(&[role]);
            all.update(&len.to_le_bytes());
            all.update(&mtime_ns.to_le_bytes());
        }
        u64::from(all.finalize()) << 32 | u64::from(lengths.finalize())
    }
}

/// Finds the module that `--binary` stands for: the one whose identity it has, else the first.
///
/// # Errors
/// When the file cannot be read, or the first module is known to be of another build.
pub(super) fn module_of_binary(
    path: &Path,
    modules: &[ModuleRef<'_>],
) -> Result<Option<usize>, Error> {
    let image = Image::open(path).map_err(|reason| Error::unreadable(path, reason))?;
    let headers = image
        .headers()
        .map_err(|reason| Error::unreadable(path, reason))?;
    let same = |module: &ModuleRef<'_>| matches!(&module.identity, Identity::BuildId(id) if Some(id) == headers.build_id.as_ref());
    if let Some(module) = modules.iter().position(same) {
        return Ok(Some(module));
    }
    let Some(main) = modules.first() else {
        return Ok(None);
    };
    match &main.identity {
        Identity::BuildId(recorded) => Err(Error::mismatch(
            path,
            format!("build-id {}", hex(recorded)),
            headers
                .build_id
                .map_or("it has no build-id".to_owned(), |id| {
                    format!("its build-id is {}", hex(&id))
                }),
        )),
        Identity::File { size, .. } if *size != image.len => Err(Error::mismatch(
            path,
            format!("a binary of {size} bytes"),
            format!("it has {} bytes", image.len),
        )),
        Identity::File { .. } | Identity::None => Ok(Some(0)),
    }
}

/// Finds the files of a module; `binary` is where the user says it is.
///
/// # Errors
/// A sentence for people: why there are no symbols, and what to do.
pub(super) fn locate(
    module: &ModuleRef<'_>,
    binary: Option<&Path>,
    options: &Options,
) -> Result<Files, String> {
    let recorded = module
        .path
        .strip_suffix(" (deleted)")
        .unwrap_or(module.path);
    if !recorded.starts_with('/') && binary.is_none() {
        return Err(match recorded {
            "" => "its path is not in the recording".to_owned(),
            _ => format!("{recorded} is not a file"),
        });
    }
    let mut reason = None;
    let mut found = None;
    for (path, exact) in binary_candidates(recorded, binary, options) {
        match open_checked(&path, &module.identity, exact) {
            Ok(file) => {
                found = Some(file);
                break;
            }
            // The reason that counts is about the place where it ran.
            Err(why) => reason = reason.or(Some(why)),
        }
    }
    let path = found
        .as_ref()
        .map_or(PathBuf::from(recorded), |(image, _)| image.path.clone());
    let debug = match &found {
        Some((_, headers)) if headers.has_debug_info => None,
        _ => separate_debug_file(
            &path,
            found.as_ref().map(|(_, headers)| headers),
            &module.identity,
            options,
        ),
    };
    if found.is_none() && debug.is_none() {
        return Err(reason.unwrap_or_else(|| "no file".to_owned()));
    }
    let debug_path = debug.as_ref().map(|(image, _)| image.path.clone());
    Ok(Files {
        binary: found,
        debug,
        split: split_files(&path, debug_path.as_deref(), options),
    })
}

/// Where the binary may be, and whether its modification time has to be the recorded one (not for copies).
fn binary_candidates(
    recorded: &str,
    binary: Option<&Path>,
    options: &Options,
) -> Vec<(PathBuf, bool)> {
    if let Some(binary) = binary {
        return vec![(binary.to_path_buf(), false)];
    }
    let mut candidates = vec![(PathBuf::from(recorded), true)];
    for dir in &options.debug_dirs {
        candidates.push((dir.join(recorded.trim_start_matches('/')), false));
        if let Some(name) = Path::new(recorded).file_name() {
            candidates.push((dir.join(name), false));
        }
    }
    candidates
}

fn open_checked(path: &Path, identity: &Identity, exact: bool) -> Result<(Image, Headers), String> {
    let shown = path.display();
    let image = Image::open(path).map_err(|why| {
        format!("cannot read {shown}: {why}; pass --binary or --debug-dir with where it is now")
    })?;
    let headers = image
        .headers()
        .map_err(|why| format!("cannot read {shown}: {why}"))?;
    let advice = "pass --binary with the binary that ran";
    match identity {
        Identity::BuildId(recorded) => match &headers.build_id {
            Some(id) if id == recorded => {}
            Some(id) => {
                let (id, recorded) = (hex(id), hex(recorded));
                return Err(format!(
                    "{shown} was rebuilt since (build-id {id} differs from {recorded}); {advice}"
                ));
            }
            None => {
                return Err(format!(
                    "{shown} was replaced since (it has no build-id, {} ran); {advice}",
                    hex(recorded)
                ));
            }
        },
        Identity::File { size, mtime_ns } => {
            let other_time = exact && *mtime_ns != 0 && *mtime_ns != image.mtime_ns;
            if *size != image.len || other_time {
                return Err(format!(
                    "{shown} was changed since (size or modification time differ); {advice}"
                ));
            }
        }
        Identity::None => {}
    }
    Ok((image, headers))
}

/// Debug information outside the binary: by build-id, by debug link, or beside it.
fn separate_debug_file(
    path: &Path,
    headers: Option<&Headers>,
    identity: &Identity,
    options: &Options,
) -> Option<(Image, Headers)> {
    let system = PathBuf::from(SYSTEM_DEBUG_DIR);
    let dirs = || options.debug_dirs.iter().chain(std::iter::once(&system));
    let useful = |(image, headers): (Image, Headers)| {
        (headers.has_debug_info || headers.has_symbol_table).then_some((image, headers))
    };
    let name = path.file_name()?;
    let folder = path.parent()?;

    if let Identity::BuildId(id) = identity
        && let Some((first, rest)) = id.split_first()
    {
        let by_id = format!(".build-id/{first:02x}/{}.debug", hex_all(rest));
        let beside = [
            with_suffix(path, ".debug"),
            folder
                .join(".debug")
                .join(with_suffix(Path::new(name), ".debug")),
        ];
        let flat = options
            .debug_dirs
            .iter()
            .map(|dir| dir.join(with_suffix(Path::new(name), ".debug")));
        let candidates = dirs().map(|dir| dir.join(&by_id)).chain(beside).chain(flat);
        for candidate in candidates {
            if let Ok(file) = open_checked(&candidate, identity, false)
                && let Some(file) = useful(file)
            {
                return Some(file);
            }
        }
    }

    let (link, crc) = headers?.debug_link.as_ref()?;
    // A link is a bare file name; anything else could point anywhere.
    let link = std::str::from_utf8(link)
        .ok()
        .filter(|link| !link.is_empty() && !link.contains('/') && *link != "..")?;
    let places = [folder.join(link), folder.join(".debug").join(link)]
        .into_iter()
        .chain(dirs().flat_map(|dir| {
            [
                dir.join(folder.strip_prefix("/").unwrap_or(folder))
                    .join(link),
                dir.join(link),
            ]
        }));
    for place in places.filter(|place| place != path) {
        if let Ok(image) = Image::open(&place)
            && image.crc().is_ok_and(|found| found == *crc)
            && let Ok(headers) = image.headers()
            && let Some(file) = useful((image, headers))
        {
            return Some(file);
        }
    }
    None
}

/// `app.dwp` for `app`, `libx.dwp` and `libx.so.dwp` for `libx.so`; each half inside is checked by its id.
fn split_files(path: &Path, debug: Option<&Path>, options: &Options) -> SplitFiles {
    let mut packages = Vec::new();
    for base in std::iter::once(path).chain(debug) {
        packages.extend([with_suffix(base, ".dwp"), base.with_extension("dwp")]);
    }
    for dir in &options.debug_dirs {
        if let Some(name) = path.file_name() {
            let name = Path::new(name);
            packages.extend([
                dir.join(with_suffix(name, ".dwp")),
                dir.join(name.with_extension("dwp")),
            ]);
        }
    }
    packages.retain(|package| package.is_file());
    packages.dedup();
    SplitFiles {
        packages,
        folders: options.debug_dirs.clone(),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The beginning of a build-id, enough to compare by eye.
fn hex(id: &[u8]) -> String {
    let mut text = hex_all(id.get(..6).unwrap_or(id));
    if id.len() > 6 {
        text.push_str("..");
    }
    text
}

/// All of a build-id in hex.
pub(super) fn hex_all(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
