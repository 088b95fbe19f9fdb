//! Finds the files that describe a module: the binary that ran, or its separate debug information.
//!
//! Identity comes first. A file is used only if its build-id (or, for binaries without one, its
//! size and modification time) is that of the image that ran: names from another build would be
//! plausible and wrong.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use super::dwarf::SplitFiles;
use super::image::{Headers, Image};
use super::{Error, Identity, ModuleRef, SymbolOptions};

/// The folder where distributions keep debug information.
const SYSTEM_DEBUG_DIR: &str = "/usr/lib/debug";

/// The files of a module, checked to be of the build that ran.
pub(super) struct Files {
    /// The binary itself, then a file with its debug information or with the symbol table it was
    /// stripped of: one of them or both.
    files: Vec<File>,
    /// The places where the split half of the debug information may be.
    pub(super) split: SplitFiles,
}

/// A file of a module.
struct File {
    image: Image,
    headers: Headers,
}

impl Files {
    /// The file to read debug information from.
    pub(super) fn debug_information(&self) -> Option<&Image> {
        let mut files = self.files.iter();
        let found = files.find(|file| file.headers.has_debug_info);
        found.map(|file| &file.image)
    }

    /// The file to read the symbol table from.
    pub(super) fn symbol_table(&self) -> Option<&Image> {
        let full = self.files.iter().find(|file| file.headers.has_symbol_table);
        full.or(self.files.first()).map(|file| &file.image)
    }

    /// Changes when any of the files does: names cached under another fingerprint may be poorer.
    /// The place of the files does not matter, as their build is known.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut add = |image: &Image| (image.len, image.mtime_ns).hash(&mut hasher);
        for file in &self.files {
            add(&file.image);
        }
        for package in &self.split.packages {
            if let Ok(image) = Image::open(package) {
                add(&image);
            }
        }
        hasher.finish()
    }
}

/// Finds the module that `--binary` stands for: the one whose identity it has, else the first.
///
/// # Errors
/// Returns an error if the file cannot be read, or if the first module is of another build.
pub(super) fn module_of_binary(
    path: &Path,
    modules: &[ModuleRef<'_>],
) -> Result<Option<usize>, Error> {
    let (image, headers) = Image::open(path)
        .and_then(|image| image.headers().map(|headers| (image, headers)))
        .map_err(|reason| Error::unreadable(path, &reason))?;
    let found = headers.build_id.as_deref();
    let same = |module: &ModuleRef<'_>| matches!(&module.identity, Identity::BuildId(id) if Some(&**id) == found);
    if let Some(module) = modules.iter().position(same) {
        return Ok(Some(module));
    }
    let Some(main) = modules.first() else {
        return Ok(None);
    };
    match &main.identity {
        Identity::BuildId(recorded) => {
            let recorded = format!("build-id {}", hex(recorded));
            let found = found
                .map(|id| format!("its build-id is {}", hex(id)))
                .unwrap_or_else(|| "it has no build-id".to_owned());
            Err(Error::mismatch(path, &recorded, &found))
        }
        Identity::File { size, .. } if *size != image.len => Err(Error::mismatch(
            path,
            &format!("a binary of {size} bytes"),
            &format!("it has {} bytes", image.len),
        )),
        Identity::File { .. } | Identity::None => Ok(Some(0)),
    }
}

/// Finds the files of a module; `binary` is where the user says it is.
///
/// # Errors
/// Returns a sentence for people: why there are no symbols, and what to do.
pub(super) fn locate(
    module: &ModuleRef<'_>,
    binary: Option<&Path>,
    options: &SymbolOptions,
) -> Result<Files, String> {
    let recorded = module.path;
    let recorded = recorded.strip_suffix(" (deleted)").unwrap_or(recorded);
    if !recorded.starts_with('/') && binary.is_none() {
        return Err(match recorded {
            "" => "its path is not in the recording".to_owned(),
            _ => format!("{recorded} is not a file"),
        });
    }
    let mut reason = None;
    let mut files = Vec::new();
    for (path, exact) in binary_candidates(recorded, binary, options) {
        match open_checked(&path, &module.identity, exact) {
            Ok(file) => {
                files.push(file);
                break;
            }
            // The reason that counts is about the place where it ran.
            Err(why) => reason = reason.or(Some(why)),
        }
    }
    let binary = files.first();
    let path = binary.map_or(PathBuf::from(recorded), |file| file.image.path.clone());
    let headers = binary.map(|file| &file.headers);
    if !headers.is_some_and(|headers| headers.has_debug_info) {
        files.extend(separate_debug_file(
            &path,
            headers,
            &module.identity,
            options,
        ));
    }
    if files.is_empty() {
        return Err(reason.unwrap_or_else(|| "no file".to_owned()));
    }
    let split = split_files(&path, &files, options);
    Ok(Files { files, split })
}

/// Returns the places where the binary may be, each with `true` if its modification time must be
/// the recorded one (not for copies).
fn binary_candidates(
    recorded: &str,
    binary: Option<&Path>,
    options: &SymbolOptions,
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

fn open_checked(path: &Path, identity: &Identity, exact: bool) -> Result<File, String> {
    let shown = path.display();
    let image = Image::open(path).map_err(|why| {
        format!(
            "cannot read {shown}: {why}; pass its present location with --binary or --debug-dir"
        )
    })?;
    let headers = image
        .headers()
        .map_err(|why| format!("cannot read {shown}: {why}"))?;
    let changed = match identity {
        Identity::BuildId(recorded) if headers.build_id.as_ref() != Some(recorded) => {
            let recorded = hex(recorded);
            Some(match headers.build_id.as_deref().map(hex) {
                Some(id) => format!("rebuilt since (build-id {id} differs from {recorded})"),
                None => format!("replaced since (it has no build-id, {recorded} ran)"),
            })
        }
        Identity::File { size, mtime_ns } => {
            let other_time = exact && *mtime_ns != 0 && *mtime_ns != image.mtime_ns;
            let changed = *size != image.len || other_time;
            changed.then(|| "changed since (size or modification time differ)".to_owned())
        }
        Identity::BuildId(_) | Identity::None => None,
    };
    match changed {
        Some(how) => Err(format!(
            "{shown} was {how}; pass --binary with the binary that ran"
        )),
        None => Ok(File { image, headers }),
    }
}

/// Debug information outside the binary: by build-id, by debug link, or next to it.
fn separate_debug_file(
    path: &Path,
    headers: Option<&Headers>,
    identity: &Identity,
    options: &SymbolOptions,
) -> Option<File> {
    let system = PathBuf::from(SYSTEM_DEBUG_DIR);
    let dirs = || options.debug_dirs.iter().chain(std::iter::once(&system));
    let useful = |file: &File| file.headers.has_debug_info || file.headers.has_symbol_table;
    let name = path.file_name()?;
    let folder = path.parent()?;

    if let Identity::BuildId(id) = identity
        && let Some((first, rest)) = id.split_first()
    {
        let by_id = format!(".build-id/{first:02x}/{}.debug", hex_all(rest));
        let by_name = with_suffix(Path::new(name), ".debug");
        let beside = [folder.join(&by_name), folder.join(".debug").join(&by_name)];
        let flat = options.debug_dirs.iter().map(|dir| dir.join(&by_name));
        let candidates = dirs().map(|dir| dir.join(&by_id)).chain(beside).chain(flat);
        let found = candidates
            .filter_map(|path| open_checked(&path, identity, false).ok())
            .find(useful);
        if found.is_some() {
            return found;
        }
    }

    let (link, crc) = headers?.debug_link.as_ref()?;
    // A link is a bare file name; anything else could point anywhere.
    let link = std::str::from_utf8(link)
        .ok()
        .filter(|link| !link.is_empty() && !link.contains('/') && *link != "..")?;
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    let places = [folder.join(link), folder.join(".debug").join(link)]
        .into_iter()
        .chain(dirs().flat_map(|dir| [dir.join(inside).join(link), dir.join(link)]));
    let open = |place: PathBuf| {
        let image = Image::open(&place).ok()?;
        let bytes = image.bytes().ok()?;
        let headers = image.headers().ok()?;
        (crc32fast::hash(&bytes) == *crc).then_some(File { image, headers })
    };
    let others = places.filter(|place| place != path);
    others.filter_map(open).find(useful)
}

/// `app.dwp` for `app`, `libx.dwp` and `libx.so.dwp` for `libx.so`; each half inside is checked by
/// its id.
fn split_files(path: &Path, files: &[File], options: &SymbolOptions) -> SplitFiles {
    let debug = files
        .iter()
        .map(|file| file.image.path.clone())
        .filter(|found| found != path);
    let name = path.file_name().into_iter();
    let in_dirs = name.flat_map(|name| options.debug_dirs.iter().map(move |dir| dir.join(name)));
    let mut packages: Vec<PathBuf> = std::iter::once(path.to_path_buf())
        .chain(debug)
        .chain(in_dirs)
        .flat_map(|base| [with_suffix(&base, ".dwp"), base.with_extension("dwp")])
        .collect();
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
pub fn hex_all(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
