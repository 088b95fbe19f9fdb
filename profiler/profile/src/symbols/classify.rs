//! The origin of a frame's code: the program's own, a dependency's, the standard library's or
//! native.
//!
//! The source file decides if it is known, else the name. If the file of some frame shows that a
//! crate is a dependency, it is one everywhere. This module must never count code as the user's own
//! if the file says otherwise.

use std::collections::HashSet;
use std::sync::Arc;

use tracking_alloc_recording::GENERATED_CODE;

use super::generated::{class_of_method, owner_of_script};
use super::names::{is_rust, without_version};
use super::{SourceFrame, Symbols};
use crate::name::{FunctionName, Language, is_std_crate, one_of, path};
use crate::profile::{Function, OWN_CRATES, Origin};

/// Determines whose code functions are, from all that the frames of a recording say about crates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classifier {
    /// Crates that a file of theirs shows to be dependencies.
    dependencies: HashSet<String>,
    /// Crates with a `main`. They are the program under study, even if it was built from a
    /// registry (`cargo install`).
    programs: HashSet<String>,
    /// Methods of traits of other crates that a macro made, as derives do.
    derived: HashSet<Arc<str>>,
    /// Raw frames that only the standard library's symbolizer calls.
    symbolizer: HashSet<u32>,
}

/// The standard library's own copy of the crate `backtrace`. It calls nothing but what it is built
/// with.
const STD_SYMBOLIZER: &str = "std::backtrace_rs::";

impl Classifier {
    /// Learns from all frames with a source file who owns each crate.
    pub(crate) fn new(symbols: &Symbols) -> Classifier {
        let mut dependencies = HashSet::new();
        let mut programs = HashSet::new();
        let mut derived = HashSet::new();
        // Frames share strings, so their addresses show at no cost if a pair was seen before.
        let mut seen = HashSet::new();
        for frame in symbols.frames.iter().flatten() {
            let Some(file) = &frame.file else { continue };
            let name = || FunctionName::parse(&frame.function, Language::Rust);
            if frame.at_declaration && name().is_of_foreign_trait() {
                derived.insert(frame.function.clone());
            }
            if let Some(program) = frame.function.strip_suffix("::main")
                && !program.contains("::")
            {
                programs.insert(program.to_owned());
                // The package may have another name than its binary.
                programs.extend(dependency_of_file(file));
            }
            if !seen.insert((frame.function.as_ptr(), file.as_ptr())) {
                continue;
            }
            if let Some((Origin::Dependency, owner)) = by_file(file)
                // Generic code of a dependency is compiled into other crates, so only its own name
                // counts.
                && name().krate() == Some(&owner)
            {
                dependencies.insert(owner);
            }
        }
        dependencies.retain(|krate| !programs.contains(krate));
        Classifier {
            dependencies,
            programs,
            derived,
            symbolizer: HashSet::new(),
        }
    }

    /// Learns which frames the standard library's symbolizer calls. The crates that it is built
    /// with (gimli, object) have no debug information in the toolchains that people install, so no
    /// file says whose they are.
    ///
    /// `nodes` is the tree of stacks: the parent and the raw frame of each node, parents first.
    pub(crate) fn with_stacks(
        mut self,
        symbols: &Symbols,
        nodes: impl Iterator<Item = (u32, u32)>,
    ) -> Classifier {
        let is_symbolizer = |chain: &Vec<SourceFrame>| {
            let mut frames = chain.iter();
            frames.any(|frame| path(&frame.function).starts_with(STD_SYMBOLIZER))
        };
        let entries: Vec<bool> = symbols.frames.iter().map(is_symbolizer).collect();
        if !entries.contains(&true) {
            return self;
        }
        let mut inside: Vec<bool> = Vec::new();
        for (parent, raw) in nodes {
            let is_called = inside.get(parent as usize) == Some(&true);
            if is_called {
                self.symbolizer.insert(raw);
            }
            inside.push(is_called || entries.get(raw as usize) == Some(&true));
        }
        self
    }

    /// Returns `true` for a raw frame that only the standard library's symbolizer calls.
    pub(crate) fn is_symbolizer(&self, raw: u32) -> bool {
        self.symbolizer.contains(&raw)
    }

    /// Describes the function of a source frame of the raw frame with that number.
    pub(crate) fn function_of_raw(&self, raw: u32, frame: &SourceFrame, module: &str) -> Function {
        let mut function = self.function(frame, module);
        function.origin = self.called_origin(raw, frame, (function.origin, &function.krate));
        function
    }

    /// Returns the origin of a function, as in [`function_of_raw`](Classifier::function_of_raw).
    pub(crate) fn origin_of_raw(&self, raw: u32, frame: &SourceFrame, module: &str) -> Origin {
        let name = FunctionName::parse(&frame.function, language(frame));
        let (origin, krate) = self.owner(frame, &name, module);
        self.called_origin(raw, frame, (origin, &krate))
    }

    /// The origin of a function, given what its name and file say, and who calls it.
    fn called_origin(
        &self,
        raw: u32,
        frame: &SourceFrame,
        (origin, krate): (Origin, &str),
    ) -> Origin {
        // The symbolizer also calls an allocator of the program's own, whose file is known.
        let may_be_std = match origin {
            Origin::User => frame.file.is_none(),
            Origin::Dependency => !OWN_CRATES.contains(&krate),
            _ => false,
        };
        if may_be_std && self.is_symbolizer(raw) {
            Origin::Std
        } else {
            origin
        }
    }

    /// Describes the function of a frame. `module` is the path of the image it is in.
    pub(crate) fn function(&self, frame: &SourceFrame, module: &str) -> Function {
        let language = language(frame);
        let parse = |name| FunctionName::parse(name, language);
        let aliases = frame.aliases.iter().map(|alias| parse(alias));
        let all: Vec<FunctionName<'_>> = std::iter::once(parse(&frame.function))
            .chain(aliases)
            .collect();
        let (origin, krate) = self.owner(frame, &all[0], module);
        let short = one_of(all.iter().map(FunctionName::short));
        let outer = one_of(all.iter().map(FunctionName::short_outer));
        Function {
            name: frame.function.to_string(),
            language,
            aliases: frame.aliases.iter().map(|name| name.to_string()).collect(),
            outer: if outer == short { String::new() } else { outer },
            short,
            krate,
            origin,
            is_derived: self.derived.contains(&frame.function),
            ..Function::default()
        }
    }

    fn owner(
        &self,
        frame: &SourceFrame,
        name: &FunctionName<'_>,
        module: &str,
    ) -> (Origin, String) {
        let file = frame.file.as_deref();
        if module == GENERATED_CODE {
            let script = match file {
                Some(file) => owner_of_script(file),
                None => class_of_method(frame.raw.as_deref().unwrap_or(&frame.function)),
            };
            return (
                Origin::Native,
                script.unwrap_or_else(|| GENERATED_CODE.to_owned()),
            );
        }
        // `#[global_allocator]` puts them into the user's crate, at the line of the static.
        if name.is_allocator_shim() {
            return (Origin::Std, "alloc".to_owned());
        }
        if name.is_native_allocator() || name.is_native_std() || file.is_some_and(is_header_of_cpp)
        {
            return (Origin::Std, native_library(module).to_owned());
        }
        if !name.is_rust() {
            return (Origin::Native, image_name(module).to_owned());
        }
        let krate = name.krate();
        if let Some(own) = krate.filter(|krate| OWN_CRATES.contains(krate)) {
            return (Origin::Dependency, own.to_owned());
        }
        // A name may begin with a codegen unit instead of the crate. Then the file decides.
        if file.is_some_and(is_own_file) {
            return (Origin::Dependency, OWN_CRATES[0].to_owned());
        }
        if let Some((origin, owner)) = file.and_then(by_file) {
            // Code that a macro of a dependency wrote belongs to the crate that called the macro.
            // Generic code and impls of traits may belong to a dependency, whatever type they name.
            let is_plain = !frame.function.starts_with('<');
            if let Some(krate) = krate.filter(|krate| is_plain && **krate != *owner)
                && origin == Origin::Dependency
                && !self.programs.contains(&owner)
            {
                if self.programs.contains(krate) {
                    return (Origin::User, krate.to_owned());
                }
                if self.dependencies.contains(krate) {
                    return (origin, krate.to_owned());
                }
            }
            return match origin {
                Origin::Dependency if self.programs.contains(&owner) => (Origin::User, owner),
                // The file says that it is std. The name says better which of its crates.
                Origin::Std => {
                    let named = krate.filter(|krate| is_std_crate(krate));
                    (origin, named.map_or(owner, str::to_owned))
                }
                _ => (origin, owner),
            };
        }
        match krate {
            Some("__rustc") => (Origin::Std, "alloc".to_owned()),
            // With a file outside the standard library, a type of the standard library only lends
            // its name.
            Some(krate) if is_std_crate(krate) && file.is_none() => (Origin::Std, krate.to_owned()),
            Some(krate) if !is_std_crate(krate) => {
                let origin = if self.dependencies.contains(krate) {
                    Origin::Dependency
                } else {
                    Origin::User
                };
                (origin, krate.to_owned())
            }
            _ => (Origin::User, image_name(module).replace('-', "_")),
        }
    }
}

/// Returns `true` for the headers of the standard library of C++: its templates are compiled into
/// every program.
fn is_header_of_cpp(file: &str) -> bool {
    file.contains("/include/c++/")
}

/// Returns the name of the image that a function of C or C++ is in. The library that heapglass
/// preloads stands for the library of C, whose functions it replaces.
fn native_library(module: &str) -> &str {
    if is_preload_library(module) {
        "libc"
    } else {
        image_name(module)
    }
}

/// Returns `true` for the path of the library that heapglass preloads, or that it loads as memory
/// into a program that cannot open its file.
pub(crate) fn is_preload_library(module: &str) -> bool {
    let name = image_name(module);
    let name = name.strip_prefix("memfd:").unwrap_or(name);
    name.starts_with("libheapglass_preload")
}

/// The crate of the library that heapglass preloads.
const PRELOAD_CRATE: &str = "heapglass_preload";

/// Returns `true` for `.../tracking-alloc/src/..` and `.../tracking-alloc/recorder/src/..` of a
/// checkout, and `.../tracking-alloc-0.1.0/src/..` of a registry.
fn is_own_file(file: &str) -> bool {
    const FOLDERS: [&str; 4] = ["arena", "recorder", "recording", "serde"];
    let folders: Vec<&str> = file.split('/').collect();
    let is_own =
        |folder: &str| OWN_CRATES.contains(&without_version(folder).replace('-', "_").as_str());
    folders.iter().enumerate().any(|(index, folder)| {
        *folder == "src"
            && match folders[..index] {
                [.., "tracking-alloc", part] if FOLDERS.contains(&part) => true,
                [.., folder] => is_own(folder),
                [] => false,
            }
    })
}

/// A frame without a name: `libc.so.6+0x29d90`.
pub(crate) fn unresolved(module: &str, offset: u64) -> Function {
    let image = image_name(module);
    let image = if image.is_empty() { "?" } else { image };
    let name = format!("{image}+{offset:#x}");
    // Our own library is left out of stacks before its names are read, too.
    let krate = if is_preload_library(module) {
        PRELOAD_CRATE
    } else {
        image
    };
    Function {
        short: name.clone(),
        name,
        krate: krate.to_owned(),
        origin: Origin::Unresolved,
        ..Function::default()
    }
}

/// The language of a function: that of its source file or of its linkage name.
pub(crate) fn language(frame: &SourceFrame) -> Language {
    let file = frame.file.as_deref();
    let is_rust = file.is_some_and(|file| file.ends_with(".rs"))
        || match frame.raw.as_deref() {
            Some(raw) => is_rust(raw),
            None => file.is_none() && frame.function.contains("::"),
        };
    if is_rust {
        Language::Rust
    } else {
        Language::Cpp
    }
}

fn image_name(module: &str) -> &str {
    let name = module.strip_suffix(" (deleted)").unwrap_or(module);
    name.rsplit('/').next().unwrap_or(name)
}

/// The owner of a source file and its crate; `None` for the user's own files.
fn by_file(file: &str) -> Option<(Origin, String)> {
    let std = std_crate_of_file(file).map(|krate| (Origin::Std, krate));
    std.or_else(|| Some((Origin::Dependency, dependency_of_file(file)?)))
}

/// `/rustc/HASH/library/alloc/src/vec/mod.rs`, `.../rustlib/src/rust/library/...`,
/// `/rust/deps/hashbrown-0.16.1/...`, `/rustc/HASH/library/vendor/gimli-0.32.3/...`.
fn std_crate_of_file(file: &str) -> Option<String> {
    let places = ["/rustc/", "rustlib/src/rust/", "/rust/deps/"];
    let library = places.iter().any(|place| file.contains(place));
    if library && file.contains("/vendor/") {
        return dependency_of_file(file);
    }
    let named = file
        .rsplit_once("library/")
        .filter(|(before, _)| before.is_empty() || before.ends_with('/'));
    if let Some((_, rest)) = named
        && let Some((krate, _)) = rest.split_once('/')
        && (library || matches!(krate, "core" | "alloc" | "std"))
    {
        return Some(krate.replace('-', "_"));
    }
    if let Some((_, rest)) = file.split_once("/rust/deps/") {
        return Some(without_version(rest.split('/').next()?).replace('-', "_"));
    }
    library.then(|| "std".to_owned())
}

/// The crate of a file in cargo's registry, in a git checkout or in a vendor folder.
fn dependency_of_file(file: &str) -> Option<String> {
    let folder = if let Some((_, rest)) = file.split_once("/registry/src/") {
        // registry/src/INDEX/NAME-1.2.3/...
        rest.split('/').nth(1)?
    } else if let Some((_, rest)) = file.split_once("/git/checkouts/") {
        // git/checkouts/REPOSITORY-HASH/REVISION/[FOLDERS/]src/...: the folder of the package, else
        // the repository.
        let inside = rest.splitn(3, '/').nth(2)?;
        match inside
            .rsplit_once("/src/")
            .and_then(|(before, _)| before.rsplit('/').next())
        {
            Some(package) => package,
            None => rest.split('/').next()?.rsplit_once('-')?.0,
        }
    } else {
        let (_, rest) = file
            .rsplit_once("/vendor/")
            .or_else(|| Some(("", file.strip_prefix("vendor/")?)))?;
        let (folder, _) = rest.split_once('/')?;
        folder
    };
    let krate = without_version(folder).replace('-', "_");
    (!krate.is_empty()).then_some(krate)
}
