//! [`Layouts`](crate::snapshot::Layouts) by the types in debug information (`debug = 2`).
//!
//! | module | what |
//! |---|---|
//! | `types` | the types of a program, as numbers |
//! | `dwarf` | reads them from debug information |
//! | `plan` | what to do with the words of a value of each type |
//! | `paths` | the places of blocks, such as `Catalog.products[]` |
//! | `locals` | the locals of functions on stacks |
//! | `walk` | walks blocks by their plans |
//! | `records` | types whose values can be compared field by field |
//! | `interior` | types whose values may change while they are shared |
//! | `variants` | rare variants that make all values of an enum large |
//! | `futures` | the locals that futures hold, and what each adds to the blocks |
//!
//! The walk begins at statics and thread-local values, whose types are known. The pointer that owns
//! a block tells the type of the block, and so on. Of a stack, only locals have types whose functions
//! and registers are known. A block that only other words of a stack point to has the type of its
//! site, and so has a block behind a pointer to an unknown type.
//! Where neither is known, each word that points into a block owns it.
//!
//! A union may hold any of its members, and the place of a value may be empty. Pointers in there
//! count only if they are part of a header that agrees with its block, as `capacity * size` does.

mod dwarf;
mod futures;
mod interior;
mod locals;
mod paths;
mod plan;
mod records;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod types;
mod variants;
mod walk;
mod work;

use crate::SymbolOptions;
use crate::containers::{self, BlockKind, DeclaredContainer, Held, block_kind};
use crate::profile::{Profile, Site};
use crate::snapshot::{Heap, Root, RootKind, SiteShapes};
use heapglass_profile::internal::{
    Identity, ModuleRef, Slice, ThreadLocals, normal, path_and_arguments, short,
    with_debug_information,
};
#[cfg(target_os = "linux")]
pub(crate) use locals::evaluate;
pub use locals::{Frame, Stacks};
use paths::Paths;
use plan::{Contents, Planner, Plans, ShapeId, Target};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use types::{Place, TypeId, Types};

/// Locals on stacks that are looked at.
const MOST_LOCALS: usize = 1 << 14;

/// A file that the program had loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedModule {
    /// Its path in the target. The first module is the executable.
    pub path: String,
    /// Its build-id, empty if it has none. Then any file at the path is taken.
    pub build_id: Vec<u8>,
    /// The address that it was loaded at, less the address that its file gives.
    pub bias: u64,
}

/// The blocks of a site: [`Contents`](crate::profile::Contents) of the profile with full names.
#[derive(Clone, Debug, Default)]
pub struct SiteType {
    /// The container: `alloc::vec::Vec<shop::Product>`.
    pub container: String,
    /// The type of one element: `shop::Product`.
    pub element: Option<String>,
}

impl SiteType {
    /// Returns the type of a site of a profile, if its stack tells it.
    pub fn of(profile: &Profile, site: &Site) -> Option<SiteType> {
        let contents = site.contents?;
        let name = |id| profile.type_name(id).full.clone();
        Some(SiteType {
            container: name(contents.container),
            element: contents.element.map(name),
        })
    }
}

/// The types of a program. Reading them takes long, and they stay the same while it runs.
#[derive(Clone, Debug, Default)]
pub struct ProgramTypes {
    types: Arc<Types>,
    /// By module.
    thread_locals: Vec<ThreadLocals>,
    notes: Vec<String>,
}

/// The locals of functions on the stacks of a program at one moment.
#[derive(Clone, Debug, Default)]
pub struct Locals(Vec<locals::Local>);

/// The facts about a program.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Its types.
    pub types: &'a ProgramTypes,
    /// The thread pointers of all threads, for thread-local values.
    pub thread_pointers: &'a [u64],
    /// The locals on its stacks.
    pub locals: &'a Locals,
    /// The types of sites, by number.
    pub sites: &'a [Option<SiteType>],
    /// The shapes of sites, for stacks and other memory without types.
    pub shapes: SiteShapes,
}

/// The blocks of a site, by the name of its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SiteKind {
    #[default]
    Unknown,
    Value(ShapeId),
    Node {
        leaf: ShapeId,
        inner: ShapeId,
    },
    Elements(ShapeId),
    CountedElements(ShapeId),
    Table(ShapeId),
}

/// A local on a stack.
#[derive(Clone, Debug)]
struct LocalPlace {
    range: Range<u64>,
    is_std: bool,
    /// Its shape, with which paths begin with its name.
    named: ShapeId,
    /// The same, with which they begin with its type.
    nameless: ShapeId,
}

/// [`Layouts`](crate::snapshot::Layouts) by types.
#[derive(Debug)]
pub struct TypedLayouts {
    types: Arc<Types>,
    plans: Plans,
    sites: Vec<SiteKind>,
    by_site: SiteShapes,
    table_group: u64,
    /// Statics and thread-local values by address.
    statics: Vec<(Range<u64>, ShapeId)>,
    /// Locals on stacks, those first that count before others at the same place.
    locals: Vec<LocalPlace>,
    largest_static: u64,
    /// The shapes of a boxed and of a shared value behind each vtable.
    vtables: FxHashMap<u64, (ShapeId, ShapeId)>,
    /// The shape of each block that a typed pointer leads to.
    shapes: Vec<AtomicU32>,
    /// The path of each block.
    labels: Vec<AtomicU32>,
    paths: Mutex<Paths>,
    /// Values by variant, for each counted enum.
    counters: Vec<AtomicU64>,
    notes: Vec<String>,
}

/// The values of one variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VariantCount {
    /// The type.
    pub name: String,
    /// The variant.
    pub variant: String,
    /// Values of this variant that are elements of a list or table, or alone in a block.
    pub values: u64,
    /// The size of each value of the type.
    pub slot_bytes: u64,
    /// The bytes that fields of this variant take.
    pub variant_bytes: u64,
}

impl ProgramTypes {
    /// Reads the types of a program's modules: its executable first, then libraries. `symbols` says
    /// where to look for their files, and `declared` lists containers of the program's own.
    ///
    /// A module without debug information adds no types, and [`TypedLayouts::notes`] says why.
    pub fn read(
        modules: &[LoadedModule],
        symbols: &SymbolOptions,
        declared: &[DeclaredContainer],
    ) -> ProgramTypes {
        let mut types = Types::default();
        types.declare(declared);
        let mut found = ProgramTypes::default();
        for (number, module) in modules.iter().enumerate() {
            let read = with_module(number, module, symbols, |dwarf, locals, bytes| {
                let is_whole = dwarf::read(&mut types, dwarf, bytes, number as u32, module.bias);
                (locals, is_whole)
            });
            let (locals, note) = match read {
                Ok((locals, true)) => (locals, None),
                Ok((locals, false)) => (
                    locals,
                    Some(
                        "some types are missing: the debug information cannot be read to its end"
                            .to_owned(),
                    ),
                ),
                Err(why) => (ThreadLocals::default(), Some(format!("no types: {why}"))),
            };
            found.thread_locals.push(locals);
            let note = note.map(|note| format!("{}: {note}", module.path));
            found.notes.extend(note);
        }
        types.finish();
        if types.types.len() > 1 {
            let planner = Planner::new(&types, &[]);
            let problems = declared.iter();
            let problems = problems.filter_map(|container| planner.problem(container));
            found.notes.extend(problems);
        }
        found.types = Arc::new(types);
        found
    }

    /// Returns the locals of the executable's functions on the stacks at one moment. `executable` is
    /// the first of the modules whose types were read.
    pub fn locals(
        &self,
        executable: &LoadedModule,
        symbols: &SymbolOptions,
        stacks: &Stacks<'_>,
    ) -> Locals {
        if stacks.frames.is_empty() || self.types.offsets.is_empty() {
            return Locals::default();
        }
        let read = with_module(0, executable, symbols, |dwarf, _, bytes| {
            locals::read(&self.types, dwarf, bytes, executable.bias, stacks)
        });
        // Notes about the file are those of its types.
        Locals(read.unwrap_or_default())
    }
}

/// Returns layouts of a heap by the types of its program.
pub fn layouts(program: &Program<'_>, heap: &Heap) -> TypedLayouts {
    let ProgramTypes {
        types,
        thread_locals,
        notes,
    } = program.types;
    let mut planner = Planner::new(types, &program.locals.0);
    let statics = statics(types, program, heap, thread_locals, &mut planner);
    let locals = locals_on_stacks(program, heap, &mut planner);
    let vtables = types.vtables.iter().map(|&(address, of)| {
        let value = planner.shape(Contents::Value(of));
        (address, (value, planner.shape(Contents::CountedValue(of))))
    });
    let vtables = vtables.collect();
    let sites = program.sites.iter().map(|site| {
        let kind = site.as_ref();
        let kind = kind.and_then(|site| kind_of(types, &mut planner, site));
        kind.unwrap_or_default()
    });
    let sites = sites.collect();
    let plans = planner.finish();
    let each = |_| AtomicU32::new(0);
    let places = statics.iter().map(|(place, _)| place);
    let places = places.chain(locals.iter().map(|local| &local.range));
    let largest = places.map(|place| place.end - place.start);
    TypedLayouts {
        sites,
        by_site: program.shapes.clone(),
        table_group: program.shapes.table_group(),
        largest_static: largest.max().unwrap_or(0),
        statics,
        locals,
        vtables,
        shapes: (0..heap.len()).map(each).collect(),
        labels: (0..heap.len()).map(each).collect(),
        paths: Mutex::default(),
        counters: (0..plans.counters).map(|_| AtomicU64::new(0)).collect(),
        plans,
        types: Arc::clone(types),
        notes: notes.clone(),
    }
}

/// Reads the debug information of a module.
fn with_module<R>(
    number: usize,
    module: &LoadedModule,
    symbols: &SymbolOptions,
    read: impl FnOnce(&gimli::Dwarf<Slice<'_>>, ThreadLocals, usize) -> R,
) -> Result<R, String> {
    let identity = if module.build_id.is_empty() {
        Identity::None
    } else {
        Identity::BuildId(module.build_id.clone())
    };
    let place = ModuleRef {
        path: &module.path,
        identity,
    };
    let binary = symbols.binary.as_deref().filter(|_| number == 0);
    with_debug_information(&place, binary, symbols, read)
}

/// Returns the statics and thread-local values in the roots of a heap.
fn statics(
    types: &Types,
    program: &Program<'_>,
    heap: &Heap,
    thread_locals: &[ThreadLocals],
    planner: &mut Planner<'_>,
) -> Vec<(Range<u64>, ShapeId)> {
    let mut found: Vec<(Range<u64>, u32)> = Vec::new();
    for (number, variable) in types.statics.iter().enumerate() {
        let Some(size) = types.size(variable.of).filter(|&size| size > 0) else {
            continue;
        };
        let mut add = |address: Option<u64>| {
            let Some(start) = address else { return };
            let Some(end) = start.checked_add(size) else {
                return;
            };
            let mut roots = heap.roots().iter();
            if roots.any(|root| root.range.start < end && start < root.range.end) {
                found.push((start..end, number as u32));
            }
        };
        match variable.place {
            Place::Address(address) => add(Some(address)),
            Place::ThreadLocal { module, offset } => {
                let locals = thread_locals.get(module as usize);
                // Where those of libraries are is known to the program alone.
                let locals = locals.filter(|_| module == 0).copied().unwrap_or_default();
                for &pointer in program.thread_pointers {
                    if offset < locals.bytes {
                        add(thread_local(pointer, offset, locals));
                    }
                }
            }
        }
    }
    found.sort_by_key(|(place, _)| (place.start, place.end));
    // Values do not overlap in what a compiler made.
    let mut end = 0;
    found.retain(|(place, _)| {
        let is_apart = place.start >= end;
        if is_apart {
            end = place.end;
        }
        is_apart
    });
    let found = found.into_iter();
    let found = found.map(|(place, number)| (place, planner.shape(Contents::Static(number))));
    found.collect()
}

/// Returns the locals in the stacks of a heap. Those of the program come before those of the standard
/// library, which often are the same values, and larger ones before what is inside them.
fn locals_on_stacks(
    program: &Program<'_>,
    heap: &Heap,
    planner: &mut Planner<'_>,
) -> Vec<LocalPlace> {
    let mut found: Vec<(bool, Range<u64>, u32, TypeId)> = Vec::new();
    for (number, local) in (0..).zip(&program.locals.0) {
        let size = program.types.types.size(local.of).filter(|&size| size > 0);
        let start = local.address;
        let Some(end) = size.and_then(|size| start.checked_add(size)) else {
            continue;
        };
        let is_inside = |root: &Root| {
            root.kind == RootKind::Stack && root.range.start <= start && end <= root.range.end
        };
        if heap.roots().iter().any(is_inside) {
            found.push((local.is_std, start..end, number, local.of));
        }
    }
    found.sort_by_key(|(is_std, place, ..)| {
        let bytes = place.end - place.start;
        (*is_std, Reverse(bytes), place.start)
    });
    found.truncate(MOST_LOCALS);
    let found = found.into_iter();
    let found = found.map(|(is_std, range, number, of)| LocalPlace {
        range,
        is_std,
        named: planner.shape(Contents::Local(number)),
        nameless: planner.shape(Contents::Value(of)),
    });
    found.collect()
}

/// Returns the address of a thread-local value of the executable.
fn thread_local(pointer: u64, offset: u64, locals: ThreadLocals) -> Option<u64> {
    if cfg!(target_arch = "x86_64") {
        let below = locals.bytes.checked_next_multiple_of(locals.align.max(1))?;
        pointer.checked_sub(below)?.checked_add(offset)
    } else {
        let head = 16_u64.checked_next_multiple_of(locals.align.max(1))?;
        pointer.checked_add(head)?.checked_add(offset)
    }
}

/// Returns what the blocks of a site hold, by the name of the type.
fn kind_of(types: &Types, planner: &mut Planner<'_>, site: &SiteType) -> Option<SiteKind> {
    let container = normal(&site.container);
    let (path, arguments) = path_and_arguments(&container);
    let first = arguments.first().copied().unwrap_or_default();
    let value = |planner: &mut Planner<'_>, name: &str| {
        let of = types.by_name(name)?;
        Some(SiteKind::Value(planner.shape(Contents::Value(of))))
    };
    let Some(known) = containers::by_path(path) else {
        return value(planner, &container);
    };
    let element = |held: Held<'_>| {
        if known.is_text() || held == Held::Text {
            return types.by_name("u8");
        }
        let element = site.element.as_deref().map(normal)?;
        types.by_name(&element)
    };
    let held = Held::of_argument(first);
    let is_one = matches!(held, Held::Value(_) | Held::Dynamic);
    Some(match block_kind(&container, None) {
        BlockKind::List | BlockKind::Deque | BlockKind::Elements | BlockKind::Slice => {
            SiteKind::Elements(planner.shape(Contents::Elements(element(held)?)))
        }
        BlockKind::Boxed => value(planner, first)?,
        BlockKind::Counted if !is_one => {
            SiteKind::CountedElements(planner.shape(Contents::CountedElements(element(held)?)))
        }
        BlockKind::Counted => {
            let mut nodes = known.nodes.iter();
            nodes.find_map(|node| value(planner, &format!("{node}<{first}>")))?
        }
        BlockKind::Table => {
            let entry = match (arguments.as_slice(), known.unit) {
                ([key, ..], Some(unit)) => format!("({key}, {unit})"),
                ([key, value, ..], None) => format!("({key}, {value})"),
                // A table of values that are no entries.
                ([value], None) => (*value).to_owned(),
                ([], _) => return None,
            };
            let of = types.by_name(&entry)?;
            SiteKind::Table(planner.shape(Contents::Table(of)))
        }
        BlockKind::Nodes => {
            let arguments = match known.unit {
                Some(unit) => format!("{first}, {unit}"),
                None => arguments.join(", "),
            };
            let node = format!("{}<{arguments}>", known.nodes.first()?);
            match planner.target(types.by_name(&node)?) {
                Target::Node { leaf, inner } => SiteKind::Node { leaf, inner },
                Target::Value(shape) => SiteKind::Value(shape),
                Target::Opaque => return None,
            }
        }
        // The blocks of its parts are blocks of one site.
        BlockKind::Parts => return None,
        BlockKind::Unknown => value(planner, &container)?,
    })
}

impl TypedLayouts {
    /// Returns `true` if the types of any value are known: without debug information of types,
    /// walking by them tells nothing.
    pub fn has_types(&self) -> bool {
        !self.statics.is_empty()
            || !self.locals.is_empty()
            || self.sites.iter().any(|site| *site != SiteKind::Unknown)
    }

    /// Returns a number for the type of the values in a block, after the heap was analysed; 0 if it
    /// is not known.
    pub fn type_of(&self, heap: &Heap, block: usize) -> u32 {
        self.shape_of(heap, block)
    }

    /// Returns the name of the type with a number: that of the value in a block, or of its elements
    /// in brackets.
    pub fn type_name(&self, number: u32) -> Option<String> {
        let shape = self.plans.shapes.get(number as usize)?;
        let name = |of| self.types.full_name(of);
        let name = match shape.contents {
            Contents::Value(0) | Contents::Static(_) | Contents::Local(_) => return None,
            Contents::Value(of) | Contents::CountedValue(of) => name(of),
            Contents::Elements(of) | Contents::CountedElements(of) | Contents::Table(of) => {
                format!("[{}]", name(of))
            }
        };
        Some(name)
    }

    /// Returns sentences about types that could not be read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of paths of blocks.
    pub fn paths(&self) -> usize {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.len()
    }

    /// Returns the values of enums by variant, after the heap was analysed. Enums of fewer than 16
    /// bytes are not counted.
    pub fn variants(&self) -> Vec<VariantCount> {
        let mut all = Vec::new();
        self.counted(|of, variant, values| {
            let this = self.types.get(of);
            if this.is_future {
                return;
            }
            let fields = self.types.members(self.types.get(variant.of));
            let sizes = fields.iter().filter_map(|field| self.types.size(field.of));
            all.push(VariantCount {
                name: short(&normal(&self.types.full_name(of))),
                variant: self.types.text(variant.name).to_owned(),
                values,
                slot_bytes: this.size,
                variant_bytes: sizes.fold(0, u64::saturating_add),
            });
        });
        all
    }

    /// Calls `each` with the enums, variants and numbers of values that were counted.
    fn counted<'a>(&'a self, mut each: impl FnMut(TypeId, &'a types::Variant, u64)) {
        for counted in &self.plans.enums {
            let variants = self.types.variants(self.types.get(counted.of));
            let counters = self.counters.get(counted.first as usize..);
            for (variant, counter) in variants.iter().zip(counters.unwrap_or_default()) {
                let values = counter.load(Relaxed);
                if values > 0 {
                    each(counted.of, variant, values);
                }
            }
        }
    }
}
