//! Containers of many kinds in random structures.

use super::*;
use crate::snapshot::Reach;

const ZOO: &str = include_str!("programs/zoo.rs");

/// The layouts by types.
#[derive(Debug, Default)]
struct Found {
    lists: u64,
    unused: u64,
    tables: u64,
    table_unused: u64,
    nodes: u64,
    node_entry_bytes: u64,
    others: u64,
    untyped: u64,
}

fn found(analysis: &Analysis, layouts: &TypedLayouts) -> Found {
    let heap = analysis.heap();
    let mut found = Found::default();
    for block in 0..heap.len() {
        let unused = analysis.unused_bytes(block);
        let shape = layouts.shapes[block].load(Relaxed);
        let contents = layouts.plans.shapes[shape as usize].contents;
        match contents {
            _ if shape == 0 => {
                found.untyped += u64::from(analysis.reach(block) == Reach::Owned);
            }
            Contents::Elements(_) => {
                found.lists += u64::from(unused.is_some());
                found.unused += unused.unwrap_or(0);
            }
            Contents::Table(_) => {
                found.tables += u64::from(unused.is_some());
                found.table_unused += unused.unwrap_or(0);
            }
            Contents::Value(of) => {
                let types = &layouts.types;
                let this = types.get(of);
                let name = types.text(this.name);
                if name.starts_with("LeafNode<") || name.starts_with("InternalNode<") {
                    let leaf = if name.starts_with("LeafNode<") {
                        of
                    } else {
                        types.members(this)[0].of
                    };
                    let arguments = types.members(types.get(leaf)).iter();
                    let places = arguments.filter_map(|member| match types.get(member.of).kind {
                        types::Kind::Array { .. } => types.size(member.of),
                        _ => None,
                    });
                    found.nodes += 1;
                    found.node_entry_bytes += places.sum::<u64>() - unused.unwrap_or(0);
                } else {
                    found.others += 1;
                }
            }
            _ => found.others += 1,
        }
    }
    found
}

/// Compares what is found with the truth.
fn assert_true(run: &Run) {
    let (analysis, layouts) = run.analysed(run.dump.heap(), &[]);
    assert!(layouts.notes().is_empty(), "{:?}", layouts.notes());
    let found = found(&analysis, &layouts);
    let truth = |name: &str| run.truth(name);
    let pairs = [
        ("lists", found.lists),
        ("unused", found.unused),
        ("tables", found.tables),
        ("table_unused", found.table_unused),
        ("nodes", found.nodes),
        ("node_entry_bytes", found.node_entry_bytes),
        ("others", found.others),
    ];
    for (name, found) in pairs {
        assert_eq!(found, truth(name), "{name}");
    }
    // What the standard library itself holds: the buffer of standard output, the main thread.
    assert!(found.untyped < 9, "{found:?}");
    assert_eq!(analysis.losses().ambiguous_headers, 0);
    assert_eq!(analysis.cycles().count, truth("rings"));
    assert_eq!(analysis.cycles().blocks, 3 * truth("rings"));
    // And the arguments, which are on the stack.
    let not_reached = analysis.not_reached().len() as u64;
    let unreachable = truth("unreachable");
    assert!((unreachable..unreachable + 9).contains(&not_reached));
    assert_futures(run, &layouts);
    assert_labels(&analysis, &layouts);
}

fn assert_futures(run: &Run, layouts: &TypedLayouts) {
    let futures = layouts.futures();
    let line = |text: &str| {
        let at = ZOO.lines().position(|line| line.contains(text));
        format!("await at program.rs:{}", at.expect("a line") + 1)
    };
    let of = |function: &str, text: &str| {
        let state = line(text);
        let mut all = futures.iter();
        let found = all.find(|future| future.function == function && future.state == state);
        found.unwrap_or_else(|| panic!("{function} {state}: {futures:#?}"))
    };
    let (first, second) = (run.truth("first"), run.truth("second"));
    assert_eq!(of("inner", "// inner").futures, first);
    let at_first = of("worker", "// first");
    assert_eq!(at_first.futures, first);
    assert_eq!(at_first.locals[0], ("buffer".to_owned(), 2000));
    let names = |future: &FutureState| -> Vec<String> {
        let names = future.locals.iter().map(|local| local.0.clone());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('(')).collect();
        names.sort();
        names
    };
    assert_eq!(names(at_first), ["buffer", "count", "list", "text"]);
    let at_second = of("worker", "// second");
    assert_eq!(at_second.futures, second);
    assert_eq!(
        names(at_second),
        ["buffer", "count", "first", "more", "text"]
    );
    assert_eq!(futures.len(), 3);
}

fn assert_labels(analysis: &Analysis, layouts: &TypedLayouts) {
    let labels: std::collections::BTreeSet<String> = (0..analysis.heap().len())
        .map(|block| layouts.label_text(layouts.label(block)))
        .collect();
    for label in [
        "CONFIG{key}",
        "CONFIG{}[]",
        "LOCAL[]",
        "SHOP.products[].name",
        "SHOP.products[].attributes{}",
        "SHOP.products[].attributes{key}",
        "SHOP.queue[].note",
        "SHOP.chain",
        "SHOP.cells[].0[]",
        "SHOP.handlers[].left{}",
        "SHOP.values[]::Object{key}",
        "SHOP.values[]::Object{}::Text",
        "SHOP.items[].children[]",
        "SHOP.stale.tree{}",
    ] {
        assert!(labels.contains(label), "{label}: {labels:#?}");
    }
    let of_futures = |text: &&String| text.starts_with("worker (await at program.rs:");
    let of_futures: Vec<&str> = labels
        .iter()
        .filter(of_futures)
        .filter_map(|text| text.split_once(")."))
        .map(|(_, field)| field)
        .collect();
    assert_eq!(of_futures, ["list[]", "text", "more[]", "text"]);
    assert!(labels.len() < 100, "{labels:#?}");
}

#[test]
fn optimized() {
    let run = Run::new(ZOO, 300, &["-Copt-level=2"]);
    assert_true(&run);
    by_site(&run);
}

#[test]
fn not_optimized() {
    assert_true(&Run::new(ZOO, 200, &["-Copt-level=0"]));
}

#[test]
fn with_fat_lto_and_v0_mangling() {
    let flags = ["-Copt-level=3", "-Clto=fat", "-Csymbol-mangling-version=v0"];
    assert_true(&Run::new(ZOO, 200, &flags));
}

#[test]
#[ignore = "a benchmark, to be run optimized"]
fn a_million_blocks() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("the status");
        let mut lines = status.lines().filter(|line| line.starts_with("VmRSS"));
        lines.next().expect("VmRSS").to_owned()
    };
    let run = Run::new(ZOO, 5000, &["-Copt-level=2"]);
    println!("{} blocks, {}", run.dump.blocks.len(), resident());
    let heap = run.dump.heap();
    println!("heap: {}", resident());
    let start = std::time::Instant::now();
    let layouts = layouts_of(&run.program, &run.dump, &heap, &[], &[]);
    println!("layouts: {:?}, {}", start.elapsed(), resident());
    println!(
        "{} types, {} plans",
        layouts.types.types.len(),
        layouts.plans.shapes.len()
    );
    let start = std::time::Instant::now();
    let analysis = analyse(heap, &run.dump, &layouts, &|_| ());
    println!("analysis: {:?}, {}", start.elapsed(), resident());
    println!("{} paths", layouts.paths());
    drop((analysis, layouts));
    assert_true(&run);
}

/// Nothing is known but the sites: no static and no thread-local value leads to a block.
fn by_site(run: &Run) {
    let (typed, layouts) = run.analysed(run.dump.heap(), &[]);
    let mut names: Vec<Option<SiteType>> = Vec::new();
    for shape in &layouts.plans.shapes {
        names.push(site_type(&layouts.types, shape.contents));
    }
    let mut heap = HeapBuilder::default();
    for number in 0..typed.heap().len() {
        let block = typed.heap().block(number);
        let site = layouts.shapes[number].load(Relaxed);
        heap.block(block.address, block.size, site, block.birth);
    }
    let (analysis, layouts) = run.analysed(heap.finish(), &names);
    let mut lists = [0, 0];
    for block in 0..typed.heap().len() {
        if typed.unused_bytes(block).is_some() {
            let same = analysis.unused_bytes(block) == typed.unused_bytes(block);
            lists[usize::from(same)] += 1;
        }
    }
    // The lists and tables right in the statics have no header then.
    assert!(lists[0] * 200 < lists[1], "{lists:?}");
    assert_eq!(layouts.notes().len(), 0);
}

/// The type of a site that allocates blocks of some contents.
fn site_type(types: &Types, contents: Contents) -> Option<SiteType> {
    let name = |of: TypeId| types.full_name(of);
    let site = |container: String, element: Option<String>| Some(SiteType { container, element });
    let inner = |text: &str, head: &str| {
        let rest = text.strip_prefix(head)?;
        Some(rest.strip_suffix('>')?.to_owned())
    };
    match contents {
        Contents::Value(0) | Contents::Static(_) | Contents::Local(_) => None,
        Contents::CountedValue(of) => site(format!("alloc::rc::Rc<{}>", name(of)), None),
        Contents::Value(of) => {
            let text = name(of);
            let node = "alloc::collections::btree::node::";
            if let Some(of) = inner(&text, &format!("{node}LeafNode<"))
                .or_else(|| inner(&text, &format!("{node}InternalNode<")))
            {
                return match of.strip_suffix(", alloc::collections::btree::set_val::SetValZST") {
                    Some(key) => site(
                        format!("alloc::collections::btree::set::BTreeSet<{key}>"),
                        None,
                    ),
                    None => site(
                        format!("alloc::collections::btree::map::BTreeMap<{of}>"),
                        None,
                    ),
                };
            }
            if let Some(of) = inner(&text, "alloc::rc::RcInner<") {
                return site(format!("alloc::rc::Rc<{of}>"), None);
            }
            if let Some(of) = inner(&text, "alloc::collections::linked_list::Node<") {
                let list = format!("alloc::collections::linked_list::LinkedList<{of}>");
                return site(list, None);
            }
            site(
                format!("alloc::boxed::Box<{text}, alloc::alloc::Global>"),
                None,
            )
        }
        Contents::Elements(of) if name(of) == "u8" => {
            site("alloc::string::String".to_owned(), None)
        }
        Contents::Elements(of) => site(
            format!("alloc::vec::Vec<{}, alloc::alloc::Global>", name(of)),
            Some(name(of)),
        ),
        Contents::CountedElements(of) => site(
            format!("alloc::sync::Arc<[{}], alloc::alloc::Global>", name(of)),
            Some(name(of)),
        ),
        Contents::Table(of) => {
            let text = name(of);
            let entry = text.strip_prefix('(')?.strip_suffix(')')?;
            let set = entry.strip_suffix(", ()");
            let head = "std::collections::hash::";
            site(
                set.map_or_else(
                    || format!("{head}map::HashMap<{entry}>"),
                    |key| format!("{head}set::HashSet<{key}>"),
                ),
                None,
            )
        }
    }
}
