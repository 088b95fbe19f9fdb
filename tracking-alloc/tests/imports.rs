//! No two modules of a crate import each other, directly or through others.
//!
//! The test resolves each `use` and each path, also in function bodies and macros, to the module
//! that defines the item, through re-exports if necessary. A resolved path is an edge between two
//! modules. Both are children of the innermost module that contains the two ends. Code under
//! `#[cfg(test)]` does not count, nor does an edge between a module and one inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Each crate by the folder of its `lib.rs`, with the modules that may import each other.
const CRATES: &[(&str, &[Group])] = &[
    ("tracking-alloc/src", &[]),
    ("tracking-alloc/arena/src", &[]),
    ("tracking-alloc/derive/src", &[]),
    ("tracking-alloc/pprof/src", &[]),
    ("tracking-alloc/preload/library", &[]),
    ("tracking-alloc/recorder/src", &[]),
    ("tracking-alloc/recording/src", &[]),
    (
        "tracking-alloc/serde/src",
        // Wrappers of serde's traits, which call each other: a deserializer takes a visitor, a
        // visitor is given an access, and an access takes a seed, which is given a deserializer.
        &[("profiled", &["access", "deserializer", "visitor"])],
    ),
    ("profiler/profile/src", &[]),
    ("profiler/freeze/src", &[]),
    ("profiler/src", &[]),
    ("profiler/cli/src", &[]),
    ("tui/src", &[]),
];

/// The path of a module (`""`, `"load::counters"`), and those of its children that are allowed to
/// import each other.
type Group = (&'static str, &'static [&'static str]);

/// A path from the crate's root, without `crate`.
type Names = Vec<String>;

#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// The names that `use` imports, each with its path as written.
    imports: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// Every path in the module as written, including those of `use`.
    paths: BTreeSet<Names>,
}

#[derive(Default)]
struct Crate {
    modules: BTreeMap<Names, Module>,
}

#[test]
fn no_two_modules_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cycles = Vec::new();
    for (folder, groups) in CRATES {
        let parsed = Crate::read(&root.join(folder));
        for (parent, mut edges) in parsed.edges() {
            let here = parent.join("::");
            for (_, modules) in groups.iter().filter(|(of, _)| *of == here) {
                let is_in = |name: &String| modules.contains(&name.as_str());
                edges.retain(|(from, to), _| !(is_in(from) && is_in(to)));
            }
            let left = in_cycles(&edges);
            if !left.is_empty() {
                cycles.push(format!("{folder} {}:", parent.join("::")));
                cycles.extend(left.into_iter().map(|((from, to), because)| {
                    format!("    {from} -> {to}: {}", because.join(", "))
                }));
            }
        }
    }
    assert!(cycles.is_empty(), "import cycles:\n{}", cycles.join("\n"));
}

/// Compares the import graph with `imports.txt`: the modules of each crate, each below those that
/// it imports. `HEAPGLASS_BLESS=1` rewrites the file.
#[test]
fn the_graph_is_the_one_that_is_shown() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut text = String::from("The modules of each crate, each below those that it imports.\n");
    for (folder, _) in CRATES {
        let parsed = Crate::read(&tests.join("../..").join(folder));
        text.push_str(&format!("\n{folder}\n"));
        let edges = parsed.edges().remove(&Names::new()).unwrap_or_default();
        let mut imports: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        for name in &parsed.modules[&Names::new()].children {
            imports.entry(name).or_default();
        }
        for (from, to) in edges.keys() {
            imports.entry(from).or_default().insert(to);
        }
        let mut shown: BTreeSet<&String> = BTreeSet::new();
        while shown.len() < imports.len() {
            let is_next =
                |name: &&String| !shown.contains(name) && imports[*name].is_subset(&shown);
            let next: Vec<&String> = imports.keys().copied().filter(is_next).collect();
            assert!(!next.is_empty(), "{folder} has a cycle");
            for name in &next {
                let below: Vec<&str> = imports[*name].iter().map(|name| name.as_str()).collect();
                if below.is_empty() {
                    text.push_str(&format!("    {name}\n"));
                } else {
                    text.push_str(&format!("    {name}: {}\n", below.join(", ")));
                }
            }
            shown.extend(next);
        }
    }
    let golden = tests.join("imports.txt");
    if std::env::var_os("HEAPGLASS_BLESS").is_some() {
        std::fs::write(&golden, &text).expect("written");
    }
    let kept = std::fs::read_to_string(&golden).expect("the graph");
    assert_eq!(text, kept, "the imports changed; bless tests/imports.txt");
}

/// Edges between children of one module, each with the paths that cause it.
type Edges = BTreeMap<(String, String), Vec<String>>;

/// Returns the edges that are part of a cycle.
fn in_cycles(edges: &Edges) -> Edges {
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(node) = open.pop() {
            let next = edges.keys().filter(|edge| edge.0 == node);
            open.extend(
                next.map(|edge| edge.1.as_str())
                    .filter(|to| seen.insert(to)),
            );
        }
        seen.contains(to)
    };
    let is_cyclic = |edge: &(String, String)| reaches(&edge.1, &edge.0);
    let cyclic = edges.iter().filter(|(edge, _)| is_cyclic(edge));
    cyclic
        .map(|(edge, because)| (edge.clone(), because.clone()))
        .collect()
}

impl Crate {
    fn read(folder: &Path) -> Crate {
        let mut all = Crate::default();
        all.add_file(Names::new(), &folder.join("lib.rs"), folder);
        all
    }

    fn add_file(&mut self, names: Names, file: &Path, folder: &Path) {
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add_items(names, &parsed.items, folder);
    }

    /// Adds a module. `folder` contains the files of its child modules.
    fn add_items(&mut self, names: Names, items: &[syn::Item], folder: &Path) {
        let mut collector = Collector::default();
        items.iter().for_each(|item| collector.visit_item(item));
        let Collector { module, modules } = collector;
        self.modules.insert(names.clone(), module);
        for child in modules {
            let name = child.ident.to_string();
            let mut below = names.clone();
            below.push(name.clone());
            let inside = folder.join(&name);
            match &child.content {
                Some((_, items)) => self.add_items(below, items, &inside),
                None => {
                    let files = [folder.join(format!("{name}.rs")), inside.join("mod.rs")];
                    let file = files.iter().find(|file| file.exists());
                    let file = file.unwrap_or_else(|| panic!("no file of module {name}"));
                    self.add_file(below, file, &inside);
                }
            }
        }
    }

    /// Returns the module that defines the item at a path in a module. Returns `None` if the item
    /// is unknown or belongs to another crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Names> {
        let mut here = from.to_vec();
        let mut rest = path;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => _ = here.pop(),
                _ => break,
            }
            rest = others;
        }
        let is_relative = rest.len() == path.len();
        let start = here.len();
        for (index, name) in rest.iter().enumerate() {
            let module = self.modules.get(&here)?;
            if module.children.contains(name) {
                here.push(name.clone());
                continue;
            }
            if module.items.contains(name) {
                return Some(here);
            }
            if depth > 16 {
                return None;
            }
            if let Some(imported) = module.imports.get(name) {
                // `use name;` of another crate resolves to itself.
                if imported.first() == Some(name) {
                    return None;
                }
                let mut whole = imported.clone();
                whole.extend_from_slice(&rest[index + 1..]);
                return self.resolve(&here, &whole, depth + 1);
            }
            let globs = module.globs.iter();
            let found = globs
                .filter_map(|glob| self.resolve(&here, glob, depth + 1))
                .find(|of| self.modules[of].items.contains(name));
            // The items that a macro defines are unknown. The path then leads to the module that it
            // names.
            let is_named = !is_relative || here.len() > start;
            return found.or_else(|| is_named.then_some(here));
        }
        Some(here)
    }

    /// Returns the edges by the module that contains both ends.
    fn edges(&self) -> BTreeMap<Names, Edges> {
        let mut all: BTreeMap<Names, Edges> = BTreeMap::new();
        for (from, module) in &self.modules {
            for path in &module.paths {
                let Some(to) = self.resolve(from, path, 0) else {
                    continue;
                };
                let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(one), Some(other)) = (from.get(same), to.get(same)) {
                    let because = format!("{} in {}", path.join("::"), from.join("::"));
                    let edges = all.entry(from[..same].to_vec()).or_default();
                    let edge = edges.entry((one.clone(), other.clone()));
                    edge.or_default().push(because);
                }
            }
        }
        all
    }
}

/// Collects the items and paths of one module, and its child modules.
#[derive(Default)]
struct Collector<'a> {
    module: Module,
    modules: Vec<&'a syn::ItemMod>,
}

impl Collector<'_> {
    fn add_use(&mut self, before: &Names, tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| {
            let mut path = before.clone();
            path.push(ident.to_string());
            path
        };
        let mut import = |name: &syn::Ident, mut path: Names| {
            let mut name = name.to_string();
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
                if name == "self" {
                    name = path.last().cloned().unwrap_or_default();
                }
            }
            self.module.paths.insert(path.clone());
            self.module.imports.insert(name, path);
        };
        match tree {
            syn::UseTree::Path(path) => self.add_use(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => import(&name.ident, with(&name.ident)),
            syn::UseTree::Rename(rename) => import(&rename.rename, with(&rename.ident)),
            syn::UseTree::Glob(_) => {
                self.module.paths.insert(before.clone());
                self.module.globs.push(before.clone());
            }
            syn::UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|tree| self.add_use(before, tree));
            }
        }
    }

    /// Adds the paths in a macro's tokens.
    fn add_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        use proc_macro2::TokenTree::*;
        let (mut path, mut colons) = (Names::new(), 0);
        for token in tokens {
            match token {
                Punct(punct) if punct.as_char() == ':' => colons += 1,
                Ident(ident) => {
                    if colons != 2 {
                        self.module.paths.insert(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.module.paths.insert(std::mem::take(&mut path));
                    colons = 0;
                    if let Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.module.paths.insert(path);
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|of| of == "test")
    })
}

impl<'a> Visit<'a> for Collector<'a> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        use syn::Item::*;
        let (attributes, name) = match item {
            Const(item) => (&item.attrs, Some(&item.ident)),
            Enum(item) => (&item.attrs, Some(&item.ident)),
            Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Impl(item) => (&item.attrs, None),
            Macro(item) => (&item.attrs, item.ident.as_ref()),
            Static(item) => (&item.attrs, Some(&item.ident)),
            Struct(item) => (&item.attrs, Some(&item.ident)),
            Trait(item) => (&item.attrs, Some(&item.ident)),
            Type(item) => (&item.attrs, Some(&item.ident)),
            Union(item) => (&item.attrs, Some(&item.ident)),
            Use(item) if !is_test(&item.attrs) => {
                return self.add_use(&Names::new(), &item.tree);
            }
            Mod(item) if !is_test(&item.attrs) => {
                self.module.children.insert(item.ident.to_string());
                return self.modules.push(item);
            }
            _ => return,
        };
        if !is_test(attributes) {
            self.module.items.extend(name.map(ToString::to_string));
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.module.paths.insert(names.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.add_tokens(item.tokens.clone());
        visit::visit_path(self, &item.path);
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
}

#[test]
fn a_cycle_through_a_re_export_and_a_macro_is_found() {
    let folder: PathBuf = tempfile::tempdir().expect("a folder").keep();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    write(
        "lib.rs",
        "mod one; mod two; mod three; pub use two::Two; #[cfg(test)] mod tests;",
    );
    write("one.rs", "pub fn one() { assert!(crate::Two::NEW) }");
    write(
        "two.rs",
        "use crate::three; pub struct Two; fn two() { three::three() }",
    );
    write("three.rs", "#[cfg(test)] use crate::one; pub fn three() {}");
    let edges = |all: &Crate| {
        all.edges()
            .remove(&Names::new())
            .expect("edges of the crate")
    };
    let all = Crate::read(&folder);
    assert_eq!(edges(&all).len(), 2);
    assert!(in_cycles(&edges(&all)).is_empty());
    write("three.rs", "pub fn three() { super::one::one() }");
    assert_eq!(in_cycles(&edges(&Crate::read(&folder))).len(), 3);
    std::fs::remove_dir_all(folder).expect("removed");
}
