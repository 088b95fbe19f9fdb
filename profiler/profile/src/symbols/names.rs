//! Function names as people read them. Linkage names are demangled without the hash, and joined
//! with the generics of inlined functions, which only the debug information knows. Without a
//! linkage name, the module path is guessed from the source file. This module must never invent a
//! path: if nothing suggests one, the bare name stays.

use super::SourceFrame;
use crate::name::{FunctionName, Language, is_mangled_cpp};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The longest name that is kept whole, bytes. Names with many generics reach a few KiB; longer
/// ones are hostile or useless.
const MAX_NAME_BYTES: usize = 8 << 10;

/// Number of symbols of one address that are checked.
const MOST_SYMBOLS: usize = 64;
/// Number of aliases that are kept of a function.
pub(super) const MOST_ALIASES: usize = 8;

/// Returns `true` if a linkage name is Rust's, not one of C, C++ or assembly: `_R..` with all
/// generics (v0), or `_ZN..17h<hash>E` with none of the function's (legacy).
pub(super) fn is_rust(linkage: &str) -> bool {
    // Legacy mangling is valid Itanium mangling: only the hash segment tells it from C++.
    rustc_demangle::try_demangle(linkage).is_ok() && (is_v0(linkage) || has_legacy_hash(linkage))
}

/// Returns `true` if a linkage name is one of C++.
fn is_cpp(linkage: &str) -> bool {
    is_mangled_cpp(linkage) && !is_rust(linkage)
}

/// Returns `true` if a Rust name is v0, not legacy.
fn is_v0(linkage: &str) -> bool {
    linkage.trim_start_matches('_').starts_with('R')
}

fn has_legacy_hash(linkage: &str) -> bool {
    linkage.rfind("17h").is_some_and(|at| {
        let rest = &linkage.as_bytes()[at + 3..];
        rest.len() >= 17 && rest[..16].iter().all(u8::is_ascii_hexdigit) && rest[16] == b'E'
    })
}

/// A linkage name for people: Rust demangled without the hash, all others as they are. Names of C++
/// are demangled when all names of a module are known ([`Demangler`](crate::name::Demangler)).
pub(super) fn demangle(linkage: &str) -> String {
    cut(if is_rust(linkage) {
        format!("{:#}", rustc_demangle::demangle(linkage))
    } else {
        linkage.to_owned()
    })
}

/// Joins a linkage name and a `DW_AT_name`: the path of the first, with the generics of either.
///
/// Legacy mangling gives `serde_json::de::from_slice`, the debug information `from_slice<Vec<u8>>`:
/// the result is `serde_json::de::from_slice<Vec<u8>>`. v0 has everything already.
pub(super) fn join(linkage: &str, name: Option<&str>) -> String {
    let demangled = demangle(linkage);
    if let Some(name) = name
        && !(is_v0(linkage) && is_rust(linkage))
        && let Some(bare) = parsed(name).last()
        && let Some(generics) = name.strip_prefix(bare.plain)
        && generics.starts_with('<')
        && parsed(&demangled).last().map(|last| last.text) == Some(bare.plain)
    {
        return cut(demangled + generics);
    }
    demangled
}

/// The name to show among the aliases at one address: Rust before others, then the plainest.
pub(super) fn best<'a>(aliases: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    aliases.min_by_key(|name| {
        let underscores = name.bytes().take_while(|&byte| byte == b'_').count();
        (!is_rust(name), underscores, name.len(), *name)
    })
}

/// The names of the Rust functions at one address that are not the one of a frame, in alphabetical
/// order. Symbols that differ in the hash alone are mostly one instance that several crates made:
/// nothing tells them from instances with other arguments, which legacy mangling leaves out.
pub(super) fn aliases<'a>(
    symbols: impl Iterator<Item = &'a str>,
    of: &SourceFrame,
) -> Vec<Arc<str>> {
    let is_rust = |name: &&str| is_rust(name);
    let mut others = symbols
        .take(MOST_SYMBOLS)
        .filter(|symbol| of.raw.as_deref() != Some(symbol))
        .peekable();
    // PERF: nearly every function has one name. Demangling it would cost more than all the rest.
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
    let kept = others.into_iter().take(MOST_ALIASES);
    kept.map(Arc::from).collect()
}

/// Returns `true` if a linkage name can belong to the function the debug information calls `name`.
pub(super) fn agrees(linkage: &str, name: &str) -> bool {
    let bare = parsed(name);
    if is_cpp(linkage) {
        // An identifier stands behind its length: `_ZN3app4loadEv`. A lambda has only an operator.
        return bare.last().is_some_and(|base| match base.plain {
            "operator()" => linkage.contains("cl"),
            name => linkage.contains(&format!("{}{name}", name.len())),
        });
    }
    let demangled = demangle(linkage);
    match (parsed(&demangled).last(), bare.last()) {
        (Some(last), Some(base)) => {
            last.plain == base.plain || (last.text.starts_with('{') && base.text.starts_with('{'))
        }
        (last, base) => last == base,
    }
}

fn parsed(name: &str) -> FunctionName<'_> {
    FunctionName::parse(name, Language::Rust)
}

/// The name of a function without a linkage name, under the module path that its source file
/// suggests.
pub(super) fn under_module(module: Option<&str>, name: &str) -> String {
    match module {
        // Drop glue has no source of its own. Its file belongs to code that was inlined into it.
        Some(_) if name.starts_with("drop_in_place<") => cut(format!("core::ptr::{name}")),
        Some(module) => cut(format!("{module}::{name}")),
        None => cut(name.to_owned()),
    }
}

/// Returns the beginning of a text in whole characters, at most `most_bytes` bytes.
pub(super) fn beginning(text: &str, most_bytes: usize) -> &str {
    let mut end = text.len().min(most_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn cut(name: String) -> String {
    match beginning(&name, MAX_NAME_BYTES) {
        all if all.len() == name.len() => name,
        start => format!("{start}…"),
    }
}

/// The folders of the root files of a binary's crates. They turn a source file into a module path.
#[derive(Default)]
pub(super) struct CrateRoots {
    /// (length of the folder, folder with a trailing slash, file name of the root, crate name):
    /// the longest folder first.
    roots: BTreeSet<(Reverse<usize>, String, String, String)>,
}

impl CrateRoots {
    /// Takes note of a unit named by rustc: `src/main.rs/@/app.1a2b-cgu.0`, relative to
    /// `directory`.
    pub(super) fn add(&mut self, unit_name: &str, directory: &str) {
        let Some((root, codegen_unit)) = unit_name.split_once("/@/") else {
            return;
        };
        let krate = codegen_unit.split('.').next().unwrap_or_default();
        let root = join_path(directory, root);
        let Some((folder, file)) = root.rsplit_once('/') else {
            return;
        };
        if !krate.is_empty() {
            let (folder, file) = (format!("{folder}/"), file.to_owned());
            let length = Reverse(folder.len());
            self.roots.insert((length, folder, file, krate.to_owned()));
        }
    }

    /// The module path a Rust source file suggests: `alloc::vec` for
    /// `/rustc/../library/alloc/src/vec/mod.rs`.
    pub(super) fn module(&self, file: &str) -> Option<String> {
        let mut around = self.roots.iter().filter_map(|(_, folder, root, krate)| {
            Some((file.strip_prefix(folder.as_str())?, root, krate))
        });
        // Of two crates in one folder (main.rs, lib.rs) the one whose root file it is comes first.
        if let Some((_, _, krate)) = around.clone().find(|(rest, root, _)| rest == root) {
            return Some(krate.clone());
        }
        match around.next() {
            Some((rest, _, krate)) => Some(module_path(krate, rest)),
            None => module_by_convention(file),
        }
    }
}

/// `.../NAME/src/a/b.rs` is module `NAME::a::b`, for crates without a unit of their own (all
/// inlined).
fn module_by_convention(file: &str) -> Option<String> {
    let (before, rest) = file.rsplit_once("/src/")?;
    let folder = before.rsplit('/').next()?;
    let krate = without_version(folder).replace('-', "_");
    (!krate.is_empty()).then(|| module_path(&krate, rest))
}

/// `serde_json-1.0.149` is `serde_json`; names without a version stay.
pub(super) fn without_version(folder: &str) -> &str {
    let is_version = |at: &usize| folder[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let mut dashes = folder.match_indices('-').map(|(at, _)| at);
    match dashes.find(is_version) {
        Some(at) if at > 0 => &folder[..at],
        _ => folder,
    }
}

fn module_path(krate: &str, relative: &str) -> String {
    let modules = relative.strip_suffix(".rs").unwrap_or(relative);
    let modules = modules
        .strip_suffix("/mod")
        .unwrap_or(modules)
        .split('/')
        .filter(|module| !matches!(*module, "" | "lib" | "main"));
    let path: Vec<&str> = std::iter::once(krate).chain(modules).collect();
    path.join("::")
}

/// Joins a folder and a path as compilers mean it: absolute paths stand alone, and `./` is dropped.
pub(super) fn join_path(folder: &str, path: &str) -> String {
    let rest = path.trim_start_matches("./");
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

/// Bytes from a debug section as text. Bytes that are not UTF-8 are replaced.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.get(..MAX_NAME_BYTES * 4).unwrap_or(bytes))
}
