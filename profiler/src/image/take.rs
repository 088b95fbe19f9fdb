//! Makes a snapshot of an image.

use super::error::{Error, Kind};
use super::roots::{self, Outside as OutsideHeap};
use super::{Image, Registers, glibc, maps, unwind};
use crate::OpenOptions;
use crate::allocator::Allocator;
use crate::snapshot::{
    Analysis, Basis, Heap, HeapBuilder, MOST_BLOCKS, Moment, Outside, Shape, SiteShapes, Snapshot,
    Step, WordOrders, analyse,
};
use crate::typed::{self, LoadedModule, Locals, ProgramTypes, TypedLayouts};
use crate::units::Bytes;
use rustc_hash::FxHashMap;
use std::ops::Range;
use tracking_alloc_recording::{
    Clock, EncodedStrings, Encoder, FIRST_SITE, HeaderValue, LaneValue, RowValue, ScopeValue,
    SiteValue, StackValue, arch, lane_kind, mode, scope_kind, state, table, unwinder,
};

/// The labels of the snapshot, which every view shows beside its figures.
const OF_CORE: &str = "core: glibc's malloc, usable sizes, self-check passed";
const OF_PROCESS: &str = "process: glibc's malloc, usable sizes, self-check passed";
/// The meaning of the figures around the snapshot.
const NOT_RECORDED: &str = "nothing was recorded before this moment: peak, total and live bytes are those of the blocks that were found, and what was freed before is not known";
/// The moment of the snapshot, which is the largest that is known.
const PEAK: Clock = Clock::new(1, 0);
/// Types that are told apart.
const MOST_TYPES: usize = 1 << 15;
/// Bytes below the stack pointer that a function may use.
const RED_ZONE: u64 = 128;

/// The current step of [`Image::snapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Copies a running process.
    Copy,
    /// Looks for the blocks of the allocator.
    Blocks,
    /// Reads types from debug information.
    Types,
    /// Analyses.
    Analysis(Step),
}

/// A snapshot of an image.
#[derive(Debug)]
#[non_exhaustive]
pub struct Taken {
    /// The snapshot. Its sites are the types of blocks.
    pub snapshot: Snapshot,
    types: Vec<BlocksOfType>,
}

/// The blocks of a type.
#[derive(Debug, Default)]
struct BlocksOfType {
    /// `None` if it is not known.
    name: Option<String>,
    bytes: u64,
    blocks: u64,
}

/// Less memory in no heap of malloc is that of libc and of the loader.
const LEAST_ELSEWHERE: u64 = 4 << 20;

/// The heap of an image.
struct Found {
    heap: Heap,
    /// The names of its roots.
    names: Vec<Outside>,
    left_out_bytes: u64,
    /// Bytes of anonymous mappings with neither blocks nor the stack of a thread.
    elsewhere_bytes: u64,
    /// A sentence about the blocks.
    basis: String,
}

impl Image {
    /// Finds the blocks and analyses them. Nobody recorded what allocated them, so the blocks of
    /// each type have one site.
    ///
    /// # Errors
    /// Returns an error if the blocks of the allocator are not known.
    pub fn snapshot(
        &self,
        options: &OpenOptions,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Taken, Error> {
        progress(Progress::Blocks);
        let found = self.heap()?;
        progress(Progress::Types);
        let (types, locals) = self.types(options);
        let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
        let shapes = SiteShapes::new(Vec::new(), orders);
        let pointers = self.threads.iter().map(|thread| thread.thread_pointer);
        let pointers: Vec<u64> = pointers.filter(|&pointer| pointer != 0).collect();
        let program = typed::Program {
            types: &types,
            locals: &locals,
            thread_pointers: &pointers,
            sites: &[],
            shapes: shapes.with_others(Shape::default().changing()),
        };
        let layouts = typed::layouts(&program, &found.heap);
        let mut analysis = analyse(found.heap, self, &layouts, &|step| {
            progress(Progress::Analysis(step));
        });
        let types = types_of(&mut analysis, &layouts);
        let heap = analysis.heap();
        let sizes = (0..heap.len()).map(|block| heap.size(block));
        let moment = Moment {
            label: self.pause.map_or(OF_CORE, |_| OF_PROCESS).to_owned(),
            pause_ns: self.pause.map_or(0, |pause| pause.as_nanos() as u64),
            live_bytes: sizes.fold(0, u64::saturating_add),
            live_blocks: heap.len() as u64,
            ..Moment::default()
        };
        let known = if layouts.has_types() {
            Basis::Types
        } else {
            Basis::Sizes
        };
        let mut snapshot = Snapshot::of(&analysis, &layouts, &found.names, moment, known);
        let mut basis = found.basis;
        if heap.rounding_bytes() > 0 {
            basis.push_str(&format!(
                "; {} of rounding are left out where a type or header tells the requested size",
                Bytes(heap.rounding_bytes())
            ));
        }
        snapshot.add_note(NOT_RECORDED);
        snapshot.add_first_note(basis);
        let notes = layouts.notes().iter().chain(&self.notes);
        notes.for_each(|note| snapshot.add_note(note.clone()));
        if known == Basis::Sizes {
            snapshot.add_note(
                "types and field names need an executable with debug = 2 of the same build",
            );
        }
        if found.left_out_bytes > 0 {
            snapshot.add_note(format!(
                "{} of memory outside the heap were not read: what only they hold is listed as not reached",
                Bytes(found.left_out_bytes)
            ));
        }
        if found.elsewhere_bytes >= LEAST_ELSEWHERE {
            snapshot.add_note(format!(
                "{} of writable memory are in no heap of malloc: mappings of the program, or \
                 blocks of another allocator. They are not in these figures",
                Bytes(found.elsewhere_bytes)
            ));
        }
        Ok(Taken { snapshot, types })
    }

    /// Returns the bytes of anonymous mappings with neither a heap nor the stack of a thread in
    /// them.
    fn elsewhere(&self, heaps: &[Range<u64>]) -> u64 {
        let has_heap = |range: &Range<u64>| {
            let after = heaps.partition_point(|heap| heap.end <= range.start);
            heaps.get(after).is_some_and(|heap| heap.start < range.end)
        };
        let has_stack = |range: &Range<u64>| {
            let mut pointers = self.threads.iter();
            pointers.any(|thread| range.contains(&thread.registers.stack_pointer()))
        };
        let anonymous = self.mappings.iter().filter(|one| one.is_anonymous());
        let elsewhere = anonymous.map(|mapping| &mapping.range);
        let elsewhere = elsewhere.filter(|range| !has_heap(range) && !has_stack(range));
        elsewhere.map(|range| range.end - range.start).sum()
    }

    /// Returns the blocks and roots.
    fn heap(&self) -> Result<Found, Error> {
        let fail = |kind| Error::new(&self.path, kind);
        let blocks = glibc::blocks(self).map_err(|why| fail(Kind::Allocator(why)))?;
        if blocks.live.len() > MOST_BLOCKS {
            return Err(fail(Kind::TooManyBlocks));
        }
        let mut heap = HeapBuilder::default();
        heap.sizes_are_usable(Allocator::Glibc);
        for block in &blocks.live {
            // Nobody counted the allocations, so no block has a number.
            heap.block(block.address, block.usable_bytes, FIRST_SITE, 0);
        }
        let read = |address: u64, buffer: &mut [u8]| self.memory.read(address, buffer);
        let outside = OutsideHeap {
            mappings: &self.mappings,
            images: &maps::images(&self.mappings, &read),
            threads: &self.stacks(),
            blocks: &blocks.ranges,
            read: &read,
        };
        let registers = self.registers_as_memory();
        let (names, left_out_bytes) = outside.add_roots(&mut heap, registers);
        Ok(Found {
            heap: heap.finish(),
            names,
            left_out_bytes,
            elsewhere_bytes: self.elsewhere(&blocks.ranges),
            basis: blocks.basis(),
        })
    }

    /// Returns a recording that has the snapshot. Each of its sites stands for the blocks of a
    /// type. It counts what is live in the snapshot, and nothing else.
    pub fn recording(&self, taken: &Taken) -> Vec<u8> {
        let mut strings = EncodedStrings::default();
        let executable = strings.put(self.executable().as_bytes());
        let allocator = strings.put(b"glibc");
        let live = taken.snapshot.moment();
        let (bytes, blocks) = (live.live_bytes, live.live_blocks);
        let mut scopes = vec![ScopeValue::default()];
        let mut sites = vec![SiteValue::default(); FIRST_SITE as usize];
        let mut rows = Vec::new();
        for (of, site) in taken.types.iter().zip(FIRST_SITE..) {
            sites.push(SiteValue {
                scope: scopes.len() as u32,
                ..SiteValue::default()
            });
            scopes.push(scope(of.name.as_deref(), &mut strings));
            rows.push(row(site, of.bytes, of.blocks));
        }
        let header = HeaderValue {
            executable,
            allocator,
            pid: self.process,
            peak_bytes: bytes.cast_signed(),
            peak_bound_bytes: bytes.cast_signed(),
            scopes_len: scopes.len() as u32,
            sites_len: sites.len() as u32,
            strings_len: strings.table().len() as u64,
            ..header()
        };
        let lane = LaneValue {
            kind: lane_kind::OWNED,
            rows_len: rows.len() as u32,
            tenancies: 1,
            checked_bytes: bytes.cast_signed(),
            checked_blocks: blocks,
            checked_total_bytes: bytes,
            ..LaneValue::default()
        };
        let all = row(0, bytes, blocks);
        let mut file = Encoder::default();
        file.bytes(table::STRINGS, strings.table());
        file.records(table::STACKS, &[StackValue::default()]);
        file.records(table::SCOPES, &scopes);
        file.records(table::SITES, &sites);
        file.records(table::LANES, &[lane]);
        file.records(
            table::FIXED_ROWS,
            &[all, RowValue::default(), RowValue::default()],
        );
        file.records(table::ROWS, &rows);
        let bytes = file.finish(header);
        let snapshots = Snapshot::table(std::slice::from_ref(&taken.snapshot));
        tracking_alloc_recording::with_snapshots(bytes, &snapshots).unwrap_or_default()
    }

    /// Returns the types of the executable, and the locals of its functions on all stacks.
    fn types(&self, options: &OpenOptions) -> (ProgramTypes, Locals) {
        let Some(file) = self.files.first() else {
            return Default::default();
        };
        let executable = LoadedModule {
            path: file.place.clone(),
            build_id: file.build_id.clone(),
            bias: file.bias,
        };
        let modules = std::slice::from_ref(&executable);
        let types = ProgramTypes::read(modules, &options.symbols, &options.containers);
        let threads = self.registers().into_iter();
        let stacks = typed::Stacks {
            frames: &unwind::frames(&self.mappings, self, threads),
            memory: self,
        };
        let locals = types.locals(&executable, &options.symbols, &stacks);
        (types, locals)
    }

    /// Returns the stacks of threads: the mapping that each stack pointer lies in.
    pub(crate) fn stacks(&self) -> Vec<roots::Thread> {
        let threads = self.threads.iter().map(|thread| {
            let pointer = thread.registers.stack_pointer();
            let mapping = self.mapping(pointer);
            roots::Thread {
                name: match &*thread.name {
                    _ if thread.id == self.process => "main".to_owned(),
                    "" => format!("thread {}", thread.id),
                    name => name.to_owned(),
                },
                stack: mapping.map_or(0..0, |mapping| mapping.range.clone()),
                stack_pointer: mapping
                    .map(|mapping| pointer.saturating_sub(RED_ZONE).max(mapping.range.start)),
                thread_pointer: thread.thread_pointer,
            }
        });
        threads.collect()
    }

    /// Returns the registers of threads.
    pub(crate) fn registers(&self) -> Vec<unwind::Registers> {
        let threads = self.threads.iter();
        threads.map(|thread| thread.registers.0.map(Some)).collect()
    }

    /// Returns the places at which the registers of threads are read as memory, with the names of
    /// the threads.
    pub(crate) fn registers_as_memory(&self) -> Vec<(String, Range<u64>)> {
        let threads = self.stacks().into_iter().enumerate();
        let place = |(number, of): (usize, roots::Thread)| (of.name, Registers::range(number));
        threads.map(place).collect()
    }
}

/// Returns the words of the header that are the same for all images.
fn header() -> HeaderValue {
    HeaderValue {
        clock: PEAK,
        stacks_len: 1,
        state: state::NOT_RECORDED,
        mode: mode::COUNT,
        unwinder: unwinder::NONE,
        arch: arch::X86_64,
        lanes: 1,
        most_lanes: 1,
        ..HeaderValue::default()
    }
}

/// Gives the blocks of each type a site, and returns the types in the order of their sites. Blocks
/// without a type come first.
fn types_of(analysis: &mut Analysis, layouts: &TypedLayouts) -> Vec<BlocksOfType> {
    let mut types = vec![BlocksOfType::default()];
    let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
    let mut names: FxHashMap<String, usize> = FxHashMap::default();
    let heap = analysis.heap();
    for block in 0..heap.len() {
        let of = layouts.type_of(heap, block);
        let number = *numbers.entry(of).or_insert_with(|| {
            let name = layouts.type_name(of).filter(|_| types.len() < MOST_TYPES);
            let Some(name) = name else { return 0 };
            *names.entry(name.clone()).or_insert_with(|| {
                types.push(BlocksOfType {
                    name: Some(name),
                    ..BlocksOfType::default()
                });
                types.len() - 1
            })
        });
        let sum = &mut types[number];
        sum.bytes = sum.bytes.saturating_add(heap.size(block));
        sum.blocks += 1;
    }
    analysis.set_sites(|heap, block| {
        let number = numbers.get(&layouts.type_of(heap, block));
        FIRST_SITE + number.copied().unwrap_or(0) as u32
    });
    types
}

/// Returns the scope of the blocks of a type.
fn scope(name: Option<&str>, strings: &mut EncodedStrings) -> ScopeValue {
    let of = match name {
        Some(name) => ScopeValue {
            kind: scope_kind::ROOT,
            type_name: strings.put(name.as_bytes()),
            ..ScopeValue::default()
        },
        None => ScopeValue {
            kind: scope_kind::PHASE,
            name: strings.put(b"not recorded"),
            ..ScopeValue::default()
        },
    };
    ScopeValue {
        depth: 1,
        entered: 1,
        ..of
    }
}

/// Returns the row of blocks that are live.
fn row(site: u32, bytes: u64, blocks: u64) -> RowValue {
    RowValue {
        total_bytes: bytes,
        total_blocks: blocks,
        saved_bytes: bytes.cast_signed(),
        saved_blocks: blocks.cast_signed(),
        clock: PEAK,
        site,
        ..RowValue::default()
    }
}
