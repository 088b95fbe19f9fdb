//! Containers of many kinds in random structures.

use super::*;
use crate::snapshot::Reach;

const ZOO: &str = include_str!("programs/zoo.rs");

/// What the types say.
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

fn found(analysis: &Analysis, layouts: &TypedLayouts, program: &Run) -> Found {
    let heap = analysis.heap();
    let mut found = Found::default();
    let mut rest: BTreeMap<String, u64> = BTreeMap::new();
    for block in 0..heap.len() {
        let unused = analysis.unused_bytes(block);
        let shape = layouts.shapes[block].load(Relaxed);
        let contents = layouts.plans.shapes[shape as usize].contents;
        match contents {
            _ if shape == 0 => {
                found.untyped += u64::from(analysis.reach(block) == Reach::Owned);
                let text = format!("{:?} {}", analysis.reach(block), heap.block(block).size);
                *rest.entry(text).or_default() += 1;
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
    eprintln!("{rest:?} {}", program.folder.path().display());
    found
}

/// Compares what is found with the truth.
fn assert_true(flags: &[&str], size: usize) {
    let run = Run::new(ZOO, size, flags);
    let (analysis, layouts) = run.analysed();
    assert!(layouts.notes().is_empty(), "{:?}", layouts.notes());
    let found = found(&analysis, &layouts, &run);
    eprintln!(
        "{flags:?} {found:#?} {:#?} {:?}",
        run.truth,
        analysis.losses()
    );
    for label in 1..=layouts.paths() {
        eprintln!("{}", layouts.label_text(label as u32 + 1));
    }
    for one in layouts.variants() {
        eprintln!("{one:?}");
    }
    for one in layouts.futures() {
        eprintln!("{one:?}");
    }
    assert_eq!(found.lists, run.truth("lists"));
}

#[test]
fn the_types_of_a_program_tell_the_truth() {
    assert_true(&["-Copt-level=2"], 300);
}
