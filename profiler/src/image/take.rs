//! Makes a snapshot of an image.

use super::error::{Error, Kind};
use super::roots::{self, Outside as OutsideHeap};
use super::{Image, glibc, maps, unwind};
use crate::OpenOptions;
use crate::allocator::Allocator;
use crate::snapshot::{
    Basis, Heap, HeapBuilder, MOST_BLOCKS, Moment, Outside, Shape, SiteShapes, Snapshot, Step,
    WordOrders, analyse,
};
use crate::typed::{self, LoadedModule, ProgramTypes};
use crate::units::Bytes;
use tracking_alloc_recording::{
    Clock, EncodedStrings, Encoder, FIRST_SITE, HeaderValue, LaneValue, RowValue, ScopeValue,
    SiteValue, StackValue, arch, lane_kind, mode, scope_kind, state, table, unwinder,
};

/// The label of the snapshot, which every view shows beside its figures.
const LABEL: &str = "core: glibc's malloc, usable sizes, self-check passed";
/// What the figures of the recording around the snapshot mean.
const NOT_RECORDED: &str = "nothing was recorded before this moment: peak, total and live bytes are those of the blocks that were found, and what was freed before is not known";
/// The moment of the snapshot, which is the largest that is known.
const PEAK: Clock = Clock::new(1, 0);
/// Bytes below the stack pointer that a function may use.
const RED_ZONE: u64 = 128;

/// The current step of [`Image::snapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Looks for the blocks of the allocator.
    Blocks,
    /// Reads types from debug information.
    Types,
    /// Analyses.
    Analysis(Step),
}

/// The heap of an image.
struct Found {
    heap: Heap,
    /// The names of its roots.
    names: Vec<Outside>,
    left_out_bytes: u64,
    /// A sentence about the blocks.
    basis: String,
}

impl Image {
    /// Finds the blocks and analyses them. No block has a site of its own.
    ///
    /// # Errors
    /// Returns an error if the blocks of the allocator are not known.
    pub fn snapshot(
        &self,
        options: &OpenOptions,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Snapshot, Error> {
        progress(Progress::Blocks);
        let found = self.heap()?;
        progress(Progress::Types);
        let types = self.types(options);
        let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
        let shapes = SiteShapes::new(Vec::new(), orders);
        let pointers = self.threads.iter().map(|thread| thread.thread_pointer);
        let pointers: Vec<u64> = pointers.filter(|&pointer| pointer != 0).collect();
        let program = typed::Program {
            types: &types,
            thread_pointers: &pointers,
            sites: &[],
            shapes: shapes.with_others(Shape::default().changing()),
        };
        let layouts = typed::layouts(&program, &found.heap);
        let analysis = analyse(found.heap, self, &layouts, &|step| {
            progress(Progress::Analysis(step));
        });
        let heap = analysis.heap();
        let sizes = (0..heap.len()).map(|block| heap.size(block));
        let moment = Moment {
            label: LABEL.to_owned(),
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
        Ok(snapshot)
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
        let found = outside.roots();
        let mut names = Vec::new();
        for (number, root) in (0..).zip(found.roots) {
            heap.root(root.kind, number, root.range);
            names.push(Outside::new(root.name));
        }
        Ok(Found {
            heap: heap.finish(),
            names,
            left_out_bytes: found.left_out_bytes,
            basis: blocks.basis(),
        })
    }

    /// Returns a recording that has the snapshots. Its only site stands for all allocations, which
    /// nobody recorded: what is live at the last snapshot is all that it counts.
    pub fn recording(&self, snapshots: &[Snapshot]) -> Vec<u8> {
        let mut strings = EncodedStrings::default();
        let executable = strings.put(self.executable().as_bytes());
        let allocator = strings.put(b"glibc");
        let live = snapshots.last().map(|snapshot| snapshot.moment().clone());
        let live = live.unwrap_or_default();
        let (bytes, blocks) = (live.live_bytes, live.live_blocks);
        let row = RowValue {
            total_bytes: bytes,
            total_blocks: blocks,
            saved_bytes: bytes.cast_signed(),
            saved_blocks: blocks.cast_signed(),
            clock: PEAK,
            site: FIRST_SITE,
            ..RowValue::default()
        };
        let scopes = [
            ScopeValue::default(),
            ScopeValue {
                kind: scope_kind::PHASE,
                name: strings.put(b"not recorded"),
                depth: 1,
                entered: 1,
                ..ScopeValue::default()
            },
        ];
        let mut sites = vec![SiteValue::default(); FIRST_SITE as usize];
        sites.push(SiteValue {
            scope: 1,
            ..SiteValue::default()
        });
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
            rows_len: 1,
            tenancies: 1,
            checked_bytes: bytes.cast_signed(),
            checked_blocks: blocks,
            checked_total_bytes: bytes,
            ..LaneValue::default()
        };
        let all = RowValue { site: 0, ..row };
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
        file.records(table::ROWS, &[row]);
        let bytes = file.finish(header);
        let snapshots = Snapshot::table(snapshots);
        tracking_alloc_recording::with_snapshots(bytes, &snapshots).unwrap_or_default()
    }

    /// Returns the types of the executable, and the locals of its functions on all stacks.
    fn types(&self, options: &OpenOptions) -> ProgramTypes {
        let modules = self.files.first().map(|file| LoadedModule {
            path: file.path.clone(),
            build_id: file.build_id.clone(),
            bias: file.bias,
        });
        let modules: Vec<LoadedModule> = modules.into_iter().collect();
        let stacks = typed::Stacks {
            frames: &unwind::frames(self),
            memory: self,
        };
        let (symbols, containers) = (&options.symbols, &options.containers);
        ProgramTypes::read_with_stacks(&modules, symbols, containers, &stacks)
    }

    /// Returns the stacks of threads: the mapping that each stack pointer lies in.
    fn stacks(&self) -> Vec<roots::Thread> {
        let threads = self.threads.iter().map(|thread| {
            let pointer = thread.registers.stack_pointer();
            let mapping = self.mapping(pointer);
            roots::Thread {
                name: if thread.id == self.process {
                    "main".to_owned()
                } else {
                    format!("thread {}", thread.id)
                },
                stack: mapping.map_or(0..0, |mapping| mapping.range.clone()),
                stack_pointer: mapping
                    .map(|mapping| pointer.saturating_sub(RED_ZONE).max(mapping.range.start)),
                thread_pointer: thread.thread_pointer,
            }
        });
        threads.collect()
    }
}

/// Returns the words of the header that are the same for all images.
fn header() -> HeaderValue {
    HeaderValue {
        clock: PEAK,
        stacks_len: 1,
        state: state::FINISHED,
        mode: mode::COUNT,
        unwinder: unwinder::NONE,
        arch: arch::X86_64,
        lanes: 1,
        most_lanes: 1,
        ..HeaderValue::default()
    }
}
