//! Function names as people read them: linkage names demangled without the hash, joined with what only the debug
//! information knows (generics of inlined functions), and a module path guessed from the source file where there is
//! no linkage name at all. It must never invent a path: with nothing to go by, the bare name stays.

use super::SourceFrame;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longest name handed on, bytes. Generic-heavy names reach a few KiB; what is longer is hostile or useless.
const MAX_NAME_BYTES: usize = 8 << 10;

/// Symbols of one address that are looked at.
const MOST_SYMBOLS: usize = 64;
/// Aliases that are kept of a function.
pub(super) const MOST_ALIASES: usize = 8;

/// How a linkage name is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mangling {
    /// `_R...`: carries all generics.
    RustV0,
    /// `_ZN...17h<hash>E`: carries none of the function's generics.
    RustLegacy,
    /// Anything else: C, assembly, C++.
    Foreign,
}

/// Tells the manglings apart.
pub(super) fn mangling(linkage: &str) -> Mangling {
    // Legacy mangling is valid Itanium mangling: only the hash segment tells it from C++.
    match rustc_demangle::try_demangle(linkage) {
        Ok(_) if linkage.trim_start_matches('_').starts_with('R') => Mangling::RustV0,
        Ok(_) if has_legacy_hash(linkage) => Mangling::RustLegacy,
        _ => Mangling::Foreign,
    }
}

fn has_legacy_hash(linkage: &str) -> bool {
    linkage.rfind("17h").is_some_and(|at| {
        let rest = &linkage.as_bytes()[at + 3..];
        rest.len() >= 17 && rest[..16].iter().all(u8::is_ascii_hexdigit) && rest[16] == b'E'
    })
}

/// A linkage name for people: Rust demangled without the hash, all others as they are.
pub(super) fn demangle(linkage: &str) -> String {
    match mangling(linkage) {
        Mangling::Foreign => cut(linkage.to_owned()),
        _ => cut(format!("{:#}", rustc_demangle::demangle(linkage))),
    }
}

/// Joins a linkage name and a `DW_AT_name`: the path of the first, the generics of whichever has them.
///
/// Legacy mangling gives `serde_json::de::from_slice`, the debug information `from_slice<Vec<u8>>`: the result is
/// `serde_json::de::from_slice<Vec<u8>>`. v0 has everything already.
pub(super) fn join(linkage: &str, name: Option<&str>) -> String {
    let demangled = demangle(linkage);
    if let Some(name) = name
        && mangling(linkage) != Mangling::RustV0
        && let Some(at) = name.find('<').filter(|&at| at > 0)
        && last_segment(&demangled) == &name[..at]
    {
        return cut(demangled + &name[at..]);
    }
    demangled
}

/// The name to show among the aliases at one address: Rust before others, then the plainest.
pub(super) fn best<'a>(aliases: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    aliases.min_by_key(|name| {
        let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
        (
            mangling(name) == Mangling::Foreign,
            underscores,
            name.len(),
            *name,
        )
    })
}

/// The names of the Rust functions at one address that are not the one of a frame, in alphabetical order. Symbols that differ
/// in the hash alone are mostly one instance that several crates made: nothing tells them from instances with other
/// arguments, which legacy mangling leaves out.
pub(super) fn aliases<'a>(
    symbols: impl Iterator<Item = &'a str>,
    of: &SourceFrame,
) -> Vec<Arc<str>> {
    let is_rust = |name: &&str| mangling(name) != Mangling::Foreign;
    let mut others = symbols
        .take(MOST_SYMBOLS)
        .filter(|symbol| of.raw.as_deref() != Some(symbol))
        .peekable();
    // PERF: nearly every function has one name; demangling it would cost more than all else here.
    if others.peek().is_none() {
        return Vec::new();
    }
    let Some(own) = of.raw.as_deref().filter(is_rust).map(demangle) else {
        return Vec::new();
    };
    let others: BTreeSet<String> = others
        .filter(is_rust)
        .map(demangle)
        .filter(|name| *name != own)
        .collect();
    others
        .into_iter()
        .take(MOST_ALIASES)
        .map(Arc::from)
        .collect()
}

/// Whether a linkage name can belong to the function the debug information calls `name`.
pub(super) fn agrees(linkage: &str, name: &str) -> bool {
    let demangled = demangle(linkage);
    let last = strip_generics(last_segment(&demangled));
    let base = strip_generics(name);
    last == base || (last.starts_with('{') && base.starts_with('{'))
}

/// A function without a linkage name: its name under the module path its source file suggests.
pub(super) fn under_module(module: Option<&str>, name: &str) -> String {
    match module {
        // Drop glue has no source of its own: the file is that of whatever was inlined into it.
        Some(_) if name.starts_with("drop_in_place<") => cut(format!("core::ptr::{name}")),
        Some(module) => cut(format!("{module}::{name}")),
        None => cut(name.to_owned()),
    }
}

/// The text after the last `::` that is not inside brackets. Generics of the segment itself stay.
pub(super) fn last_segment(path: &str) -> &str {
    let bytes = path.as_bytes();
    let mut depth = 0_i32;
    let mut start = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => {
                // `foo::<T>`: the turbofish belongs to foo.
                depth += 1;
            }
            // `->` closes nothing.
            b'>' if i > 0 && bytes[i - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth -= 1,
            b':' if depth == 0
                && i > 0
                && bytes[i - 1] == b':'
                && bytes.get(i + 1) != Some(&b'<') =>
            {
                start = i + 1
            }
            _ => {}
        }
    }
    path.get(start..).unwrap_or(path)
}

/// A segment up to its generics: `from_slice` of `from_slice<Vec<u8>>` and of `from_slice::<Vec<u8>>`.
pub(super) fn strip_generics(segment: &str) -> &str {
    match segment.find('<') {
        Some(0) | None => segment,
        Some(at) => segment[..at].trim_end_matches(':'),
    }
}

fn cut(mut name: String) -> String {
    if name.len() > MAX_NAME_BYTES {
        let mut at = MAX_NAME_BYTES;
        while !name.is_char_boundary(at) {
            at -= 1;
        }
        name.truncate(at);
        name.push('…');
    }
    name
}

/// Where the crates of a binary have their root files: turns a source file into a module path.
#[derive(Default)]
pub(super) struct CrateRoots {
    /// (directory with a trailing slash, file name of the root, crate name), longest directory first.
    roots: Vec<(String, String, String)>,
}

impl CrateRoots {
    /// Takes note of a unit named by rustc: `src/main.rs/@/app.1a2b-cgu.0`, relative to `directory`.
    pub(super) fn add(&mut self, unit_name: &str, directory: &str) {
        let Some((root, codegen_unit)) = unit_name.split_once("/@/") else {
            return;
        };
        let krate = codegen_unit.split('.').next().unwrap_or_default();
        let root = join_path(directory, root);
        let Some((folder, file)) = root.rsplit_once('/') else {
            return;
        };
        if !krate.is_empty()
            && !self
                .roots
                .iter()
                .any(|(d, f, k)| d.trim_end_matches('/') == folder && f == file && k == krate)
        {
            self.roots
                .push((format!("{folder}/"), file.to_owned(), krate.to_owned()));
        }
    }

    /// To be called once after the last [`add`](Self::add).
    pub(super) fn finish(&mut self) {
        self.roots
            .sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    }

    /// The module path a Rust source file suggests: `alloc::vec` for `/rustc/../library/alloc/src/vec/mod.rs`.
    pub(super) fn module(&self, file: &str) -> Option<String> {
        let inside = |(folder, root, krate): &(String, String, String)| {
            let rest = file.strip_prefix(folder.as_str())?;
            Some(module_path(krate, if rest == root { "" } else { rest }))
        };
        // Of two crates in one folder (main.rs, lib.rs) the one whose root file it is comes first.
        let exact = self
            .roots
            .iter()
            .find(|(folder, root, _)| file.strip_prefix(folder.as_str()) == Some(root.as_str()));
        exact
            .and_then(inside)
            .or_else(|| self.roots.iter().find_map(inside))
            .or_else(|| module_by_convention(file))
    }
}

/// `.../NAME/src/a/b.rs` is module `NAME::a::b`, for crates without a unit of their own (all inlined).
fn module_by_convention(file: &str) -> Option<String> {
    let (before, rest) = file.rsplit_once("/src/")?;
    let folder = before
        .rsplit('/')
        .next()
        .filter(|folder| !folder.is_empty())?;
    let krate = without_version(folder).replace('-', "_");
    Some(module_path(&krate, rest))
}

/// `serde_json-1.0.149` is `serde_json`; names without a version stay.
pub(super) fn without_version(folder: &str) -> &str {
    match folder
        .char_indices()
        .find(|&(at, c)| c == '-' && folder[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        Some((at, _)) if at > 0 => &folder[..at],
        _ => folder,
    }
}

fn module_path(krate: &str, relative: &str) -> String {
    let mut path = krate.to_owned();
    let modules = relative.strip_suffix(".rs").unwrap_or(relative);
    let modules = modules.strip_suffix("/mod").unwrap_or(modules);
    for module in modules
        .split('/')
        .filter(|module| !module.is_empty() && !matches!(*module, "lib" | "main"))
    {
        path.push_str("::");
        path.push_str(module);
    }
    path
}

/// Joins a folder and a path the way compilers mean it: absolute paths stand alone, `./` says nothing.
pub(super) fn join_path(folder: &str, path: &str) -> String {
    let mut rest = path;
    while let Some(stripped) = rest.strip_prefix("./") {
        rest = stripped;
    }
    let absolute = rest.starts_with('/') || rest.as_bytes().get(1) == Some(&b':');
    if absolute || folder.is_empty() || folder == "." {
        return rest.to_owned();
    }
    let folder = folder.trim_end_matches('/');
    if rest.is_empty() || rest == "." {
        folder.to_owned()
    } else {
        format!("{folder}/{rest}")
    }
}

/// Bytes from a debug section as text; what is no UTF-8 is replaced.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.get(..MAX_NAME_BYTES * 4).unwrap_or(bytes))
}
