//! The stacks of a recording by function names, from symbol tables.

use crate::build::Program;
use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, HashMap};
use tracking_alloc_recording::{FIRST_SITE, HeaderValue, Recording};

/// The number of blocks allocated at each stack.
pub(crate) struct Stacks {
    pub(crate) header: HeaderValue,
    /// The map from stack, outermost function first, to blocks.
    pub(crate) blocks: BTreeMap<String, u64>,
    /// The flags of each stack's sites.
    flags: BTreeMap<String, u32>,
}

impl Stacks {
    /// Runs a program, and records to a file named after `test`.
    pub(crate) fn of(program: &Program, test: &str) -> Stacks {
        let path = program.recording(test);
        let mut command = program.command();
        let status = command
            .env("HEAPGLASS_OUT", &path)
            .status()
            .expect("a program just built can be run");
        assert!(status.success(), "{test}: {status}");
        let recording = &Recording::open(&path).expect("a finished program leaves a recording");
        let mut images = Images::default();
        let names: Vec<String> = recording
            .frames
            .iter()
            .map(|frame| images.name(&module_path(recording, frame.module), frame.offset))
            .collect();
        let mut blocks = BTreeMap::new();
        let mut flags = BTreeMap::new();
        for row in recording.lanes.iter().flat_map(|lane| &lane.rows) {
            let Some(site) = recording
                .sites
                .get(row.site as usize)
                .filter(|_| row.site >= FIRST_SITE)
            else {
                continue;
            };
            let (mut path, mut node) = (Vec::new(), site.stack);
            while node != 0 {
                let stack = &recording.stacks[node as usize];
                path.push(names[stack.frame as usize].as_str());
                node = stack.parent;
            }
            path.reverse();
            *blocks.entry(path.join(" > ")).or_insert(0) += row.total_blocks;
            *flags.entry(path.join(" > ")).or_insert(0) |= site.flags;
        }
        Stacks {
            header: recording.header,
            blocks,
            flags,
        }
    }

    /// Returns the stacks that pass through a function.
    pub(crate) fn through(&self, function: &str) -> Vec<&str> {
        self.blocks
            .keys()
            .map(String::as_str)
            .filter(|stack| stack.split(" > ").any(|name| name == function))
            .collect()
    }

    /// Returns the stacks that have one of these flags.
    pub(crate) fn flagged(&self, wanted: u32) -> Vec<String> {
        self.flags
            .iter()
            .filter(|(_, flags)| **flags & wanted != 0)
            .map(|(stack, _)| stack.clone())
            .collect()
    }

    /// Returns the stacks that the two do not share.
    pub(crate) fn difference(&self, other: &Stacks) -> Vec<String> {
        let lines = |sign, mine: &Stacks, theirs: &Stacks| -> Vec<String> {
            let only = mine
                .blocks
                .iter()
                .filter(|(stack, blocks)| theirs.blocks.get(*stack) != Some(blocks));
            only.map(|(stack, blocks)| format!("{sign} {blocks} {stack}"))
                .collect()
        };
        [lines('-', self, other), lines('+', other, self)].concat()
    }
}

fn module_path(recording: &Recording, module: u32) -> String {
    recording
        .modules
        .get(module as usize)
        .and_then(|module| recording.string(module.path))
        .unwrap_or_default()
}

/// Symbol tables, by path.
#[derive(Default)]
struct Images(HashMap<String, Vec<(u64, u64, String)>>);

impl Images {
    fn name(&mut self, path: &str, return_address: u64) -> String {
        let symbols = self.0.entry(path.to_owned()).or_insert_with(|| read(path));
        let address = return_address.wrapping_sub(1);
        let next = symbols.partition_point(|(start, ..)| *start <= address);
        let found = next
            .checked_sub(1)
            .map(|index| &symbols[index])
            .filter(|(start, size, _)| address - start < *size);
        // Addresses in stripped libraries are the same in both runs, because it is the same
        // library.
        found.map_or_else(
            || format!("{path}+{return_address:#x}"),
            |(.., name)| name.clone(),
        )
    }
}

fn read(path: &str) -> Vec<(u64, u64, String)> {
    let Ok(bytes) = std::fs::read(path) else {
        return Vec::new();
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return Vec::new();
    };
    let mut symbols: Vec<_> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.is_definition() && symbol.size() > 0)
        // Hashes in names depend on the build flags.
        .filter_map(|symbol| {
            Some((
                symbol.address(),
                symbol.size(),
                format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?)),
            ))
        })
        .collect();
    symbols.sort();
    symbols.dedup_by_key(|symbol| symbol.0);
    symbols
}
