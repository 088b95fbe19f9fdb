//! Programs are compiled, count the truth about their own heap and write their memory to a file.
//! What the types say of that memory must be the truth.

mod bytes;
mod declared;
mod futures;
mod holders;
mod hostile;
mod large_variants;
mod records;
mod zoo;

use super::*;
use crate::snapshot::{
    Analysis, FutureState, HeapBuilder, Layouts, Memory, RootKind, WordOrders, analyse,
};
use heapglass_limits::Command;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

const WATCH: &str = include_str!("programs/watch.rs");

/// The memory that a program wrote to a file.
#[derive(Debug, Default)]
struct Dump {
    bias: u64,
    thread: u64,
    roots: Vec<(u64, Range<u64>)>,
    blocks: Vec<Range<u64>>,
    bytes: Vec<u8>,
    /// The address of each range, with its length and its place in `bytes`.
    ranges: Vec<(u64, usize, usize)>,
}

impl Dump {
    fn read(path: &Path) -> Dump {
        let bytes = std::fs::read(path).expect("a dump");
        let mut at = 0;
        let word = |at: &mut usize| {
            let word = bytes[*at..*at + 8].try_into().expect("a word");
            *at += 8;
            u64::from_le_bytes(word)
        };
        let mut dump = Dump {
            bias: word(&mut at),
            thread: word(&mut at),
            ..Dump::default()
        };
        for _ in 0..word(&mut at) {
            let [kind, start, length] = [(); 3].map(|()| word(&mut at));
            dump.roots.push((kind, start..start + length));
            dump.ranges.push((start, length as usize, at));
            at += length as usize;
        }
        for _ in 0..word(&mut at) {
            let [start, length] = [(); 2].map(|()| word(&mut at));
            dump.blocks.push(start..start + length);
            dump.ranges.push((start, length as usize, at));
            at += length as usize;
        }
        dump.ranges.sort_unstable();
        dump.bytes = bytes;
        dump
    }

    fn heap(&self) -> Heap {
        self.heap_by(|_| 0)
    }

    /// Returns the heap with the site of each block by its size.
    fn heap_by(&self, site: impl Fn(u64) -> u32) -> Heap {
        let mut heap = HeapBuilder::default();
        for (number, (kind, range)) in self.roots.iter().enumerate() {
            let kind = if *kind == 0 {
                RootKind::Segment
            } else {
                RootKind::ThreadLocals
            };
            heap.root(kind, number as u32, range.clone());
        }
        for (number, block) in self.blocks.iter().enumerate() {
            let size = block.end - block.start;
            heap.block(block.start, size, site(size), number as u64 + 1);
        }
        heap.finish()
    }
}

impl Memory for Dump {
    /// What lies between ranges is zero.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        let end = address + buffer.len() as u64;
        let first = (self.ranges).partition_point(|range| range.0 + range.1 as u64 <= address);
        for &(start, length, place) in &self.ranges[first..] {
            if start >= end {
                break;
            }
            let (from, to) = (start.max(address), (start + length as u64).min(end));
            buffer[(from - address) as usize..(to - address) as usize].copy_from_slice(
                &self.bytes[place + (from - start) as usize..place + (to - start) as usize],
            );
        }
        Ok(())
    }
}

/// A program that ran.
struct Run {
    folder: tempfile::TempDir,
    program: PathBuf,
    truth: BTreeMap<String, u64>,
    dump: Dump,
}

impl Run {
    fn new(source: &str, size: usize, flags: &[&str]) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("watch.rs"), WATCH).expect("a source file");
        std::fs::write(at("program.rs"), source).expect("a source file");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command
            .current_dir(folder.path())
            .args(["--edition=2024", "-Cdebuginfo=2", "-Crpath"])
            .args(flags)
            .arg("program.rs");
        let output = command.output().expect("rustc starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let program = at("program");
        let output = Command::new(&program)
            .arg(at("dump"))
            .arg(size.to_string())
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        let truth = text.lines().filter_map(|line| {
            let (name, number) = line.split_once(' ')?;
            Some((name.to_owned(), number.parse().ok()?))
        });
        Run {
            truth: truth.collect(),
            dump: Dump::read(&at("dump")),
            program,
            folder,
        }
    }

    fn truth(&self, name: &str) -> u64 {
        self.truth[name]
    }

    fn analysed(&self, heap: Heap, sites: &[Option<SiteType>]) -> (Analysis, TypedLayouts) {
        let layouts = layouts_of(&self.program, &self.dump, &heap, sites, &[]);
        let analysis = analyse(heap, &self.dump, &layouts, &|_| ());
        (analysis, layouts)
    }
}

fn layouts_of(
    program: &Path,
    dump: &Dump,
    heap: &Heap,
    sites: &[Option<SiteType>],
    declared: &[DeclaredContainer],
) -> TypedLayouts {
    let modules = [LoadedModule {
        path: program.display().to_string(),
        build_id: Vec::new(),
        bias: dump.bias,
    }];
    let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
    let types = ProgramTypes::read(&modules, &SymbolOptions::default(), declared);
    let program = Program {
        locals: &Locals::default(),
        types: &types,
        thread_pointers: &[dump.thread],
        sites,
        shapes: SiteShapes::new(Vec::new(), orders),
    };
    layouts(&program, heap)
}
