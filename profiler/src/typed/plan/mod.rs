//! Plans: what to do with the words of a value, made once for each type that blocks can have.
//!
//! Fields of fields are flattened. What remains are pointers, the headers of containers, arrays and
//! enums, each with its offset in the value and the step that it is on the path to a block.

mod containers;
mod enums;

pub(super) use enums::{future_name, live_fields, state};

use super::interior::Interior;
use super::locals::Local;
use super::paths::{StepId, Steps};
use super::records::is_record;
use super::types::{Kind, Member, Type, TypeId, Types};
use crate::containers::Walk;
use crate::snapshot::WORD;
use containers::{is_counted, value_of};
use heapglass_profile::internal::{normal, short};
use rustc_hash::FxHashMap;

/// A shape, by its number. 0 is not known.
pub(super) type ShapeId = u32;

/// The size of a pointer, bytes.
const WORD_BYTES: u64 = 8;
/// Values inside each other. Futures reach 30.
const MOST_DEPTH: u32 = 256;
/// Fields that one plan may take, and all plans together.
const MOST_FIELDS: u32 = 1 << 16;
const MOST_FIELDS_OF_ALL: u32 = 1 << 25;
/// Fields that are looked at to find one of a container.
const MOST_LOOKED_AT: u32 = 4096;
/// Characters of a path.
const MOST_PATH: usize = 4096;
/// Bytes of the two counts before a shared value.
pub(super) const COUNTS: u64 = 16;
/// Fields whose raw pointers lead back.
const BACK: &[&str] = &["prev", "previous", "parent", "tail", "back", "waker"];

/// The contents of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Contents {
    /// One value.
    Value(TypeId),
    /// Values one after the other, of which a header tells the number in use.
    Elements(TypeId),
    /// A hash table.
    Table(TypeId),
    /// Two counts and a value whose type a vtable tells.
    CountedValue(TypeId),
    /// Two counts and values.
    CountedElements(TypeId),
    /// A static, by its number.
    Static(u32),
    /// A local on a stack, by its number.
    Local(u32),
}

/// The plan for reading blocks of one kind of contents.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) contents: Contents,
    /// The size of one value.
    pub(super) size: u64,
    /// `None` if the type is damaged or too large: then every word counts.
    pub(super) items: Option<Box<[Item]>>,
    /// The number of the type, the same for equal contents.
    pub(super) value_type: u64,
    /// It is one value behind the two counts of an `Rc` or `Arc`.
    pub(super) is_counted: bool,
    /// Code may change the values through a shared reference.
    pub(super) may_change: bool,
    /// The values are records: structs or enums of which all bytes are understood.
    pub(super) is_record: bool,
}

/// The target of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Nothing that is known.
    Opaque,
    Value(ShapeId),
    /// A node of a B-tree: a leaf or an inner one, which the size of the block tells.
    Node {
        leaf: ShapeId,
        inner: ShapeId,
    },
}

/// The meaning of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// `Box`, `Rc`, `Arc`.
    Owns,
    /// `*mut T`, `NonNull<T>`: it owns what has its size.
    Raw,
    /// `&T`, `*const T`, `Weak`.
    Refers,
}

/// The values of a discriminant with what to do for each.
type Variants = Box<[(Option<u64>, Box<[Item]>)]>;

/// Something to do in a value. Offsets are from the start of the value.
#[derive(Debug)]
pub(super) enum Item {
    Pointer {
        at: u32,
        to: Target,
        hold: Hold,
        step: StepId,
    },
    /// `Box<[T]>`, `Rc<[T]>`.
    Slice {
        at: u32,
        length: u32,
        elements: ShapeId,
        is_counted: bool,
        hold: Hold,
        step: StepId,
    },
    /// `Box<dyn T>`, `Rc<dyn T>`.
    Dynamic {
        at: u32,
        vtable: u32,
        is_counted: bool,
        hold: Hold,
        step: StepId,
    },
    List {
        at: u32,
        capacity: u32,
        length: u32,
        elements: ShapeId,
        step: StepId,
    },
    Deque {
        at: u32,
        capacity: u32,
        head: u32,
        length: u32,
        elements: ShapeId,
        step: StepId,
    },
    /// `vec::IntoIter`: the elements that are left.
    Iter {
        at: u32,
        capacity: u32,
        first: u32,
        end: u32,
        elements: ShapeId,
        step: StepId,
    },
    Table {
        at: u32,
        mask: u32,
        left: u32,
        items: u32,
        elements: ShapeId,
        step: StepId,
    },
    /// A list that is in place up to a capacity.
    Small {
        capacity: u32,
        at: u32,
        length: u32,
        elements: ShapeId,
        step: StepId,
        inline: u32,
        stride: u32,
        most: u32,
        items: Box<[Item]>,
    },
    /// `BytesMut`.
    BytesMut {
        at: u32,
        length: u32,
        capacity: u32,
        data: u32,
        bytes: ShapeId,
        step: StepId,
    },
    /// A pointer whose lowest bit is no part of it.
    Tagged { at: u32, step: StepId },
    /// A number in which a pointer may be hidden.
    Address { at: u32 },
    /// An array.
    Many {
        at: u32,
        stride: u32,
        count: u32,
        items: Box<[Item]>,
    },
    /// An array of which the first elements are in use: as many as a number says, and `more`.
    First {
        at: u32,
        stride: u32,
        count: u32,
        length: u32,
        length_bytes: u8,
        more: u32,
        counts_as_unused: bool,
        items: Box<[Item]>,
    },
    /// An enum: a discriminant, and what to do for its values.
    Choice {
        discriminant: u32,
        bytes: u8,
        /// `None` stands for all other values.
        variants: Variants,
        /// The first counter of the enum, if its variants are counted.
        counters: Option<u32>,
    },
    /// A shared value, which is gone when its strong count is 0.
    Counted {
        strong: u32,
        value: u32,
        size: u32,
        items: Box<[Item]>,
    },
    /// Values that may not be there: only headers that agree with their block count.
    Uncertain(Box<[Item]>),
    /// Bytes that are no part of the value.
    Skip { at: u32, end: u32 },
}

/// An enum whose variants are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedEnum {
    pub(super) of: TypeId,
    /// The counter of its first variant.
    pub(super) first: u32,
}

/// All plans.
#[derive(Debug, Default)]
pub(super) struct Plans {
    /// By number. The first is the one that is not known.
    pub(super) shapes: Vec<Shape>,
    numbers: FxHashMap<Contents, ShapeId>,
    pub(super) steps: Steps,
    pub(super) enums: Vec<CountedEnum>,
    pub(super) counters: u32,
}

/// The way to the value at hand.
#[derive(Clone, Debug, Default)]
struct Path {
    /// The type of the values that hold the block, and its name.
    of: TypeId,
    owner: String,
    text: String,
    /// It begins at the owner, whatever holds the block.
    is_root: bool,
}

/// The knowledge about the pointers in the current value.
#[derive(Clone, Copy, Debug, Default)]
struct Mode {
    /// Raw pointers keep nothing alive.
    refers: bool,
    /// A `*const` is a `NonNull`, and owns like a `*mut`.
    is_non_null: bool,
    /// Unions hold their values.
    trusts_unions: bool,
    /// Other values may lie in the same place: its padding may be theirs.
    shares_place: bool,
}

/// Makes plans.
pub(super) struct Planner<'t> {
    types: &'t Types,
    locals: &'t [Local],
    pub(super) plans: Plans,
    next: usize,
    left: u32,
    left_of_all: u32,
    enums: FxHashMap<TypeId, u32>,
    interior: Interior,
}

impl<'t> Planner<'t> {
    pub(super) fn new(types: &'t Types, locals: &'t [Local]) -> Planner<'t> {
        let mut plans = Plans::default();
        plans.shapes.push(Shape {
            contents: Contents::Value(0),
            size: 0,
            items: None,
            value_type: 0,
            is_counted: false,
            may_change: true,
            is_record: false,
        });
        Planner {
            types,
            locals,
            plans,
            next: 1,
            left: 0,
            left_of_all: MOST_FIELDS_OF_ALL,
            enums: FxHashMap::default(),
            interior: Interior::default(),
        }
    }

    /// Returns the shape of some contents. It is planned by [`Planner::finish`].
    pub(super) fn shape(&mut self, contents: Contents) -> ShapeId {
        let contents = match contents {
            Contents::Value(of) => Contents::Value(self.types.canonical(of)),
            Contents::Elements(of) => Contents::Elements(self.types.canonical(of)),
            Contents::Table(of) => Contents::Table(self.types.canonical(of)),
            Contents::CountedValue(of) => Contents::CountedValue(self.types.canonical(of)),
            Contents::CountedElements(of) => Contents::CountedElements(self.types.canonical(of)),
            other @ (Contents::Static(_) | Contents::Local(_)) => other,
        };
        if let Some(number) = self.plans.numbers.get(&contents) {
            return *number;
        }
        let of = self.type_of(contents);
        let size = self.types.size(of).unwrap_or(0);
        let number = self.plans.shapes.len() as ShapeId;
        self.plans.numbers.insert(contents, number);
        self.plans.shapes.push(Shape {
            contents,
            size,
            items: None,
            value_type: 0,
            is_counted: matches!(contents, Contents::Value(of)
                if is_counted(self.types, self.types.get(of))),
            may_change: true,
            is_record: false,
        });
        number
    }

    fn type_of(&self, contents: Contents) -> TypeId {
        match contents {
            Contents::Value(of)
            | Contents::Elements(of)
            | Contents::Table(of)
            | Contents::CountedValue(of)
            | Contents::CountedElements(of) => of,
            Contents::Static(number) => self.types.statics[number as usize].of,
            Contents::Local(number) => self.locals[number as usize].of,
        }
    }

    /// Returns what a pointer to a type points to.
    pub(super) fn target(&mut self, of: TypeId) -> Target {
        let types = self.types;
        let this = types.get(of);
        if types.size(of).unwrap_or(0) <= 1 || of == 0 {
            return Target::Opaque;
        }
        if types.walk(this) == Some(Walk::Node)
            && let Some(parent) = member(types, this, "parent")
            && let Some(inner) = self.pointee(parent.of, 0, &mut MOST_LOOKED_AT.clone())
        {
            return Target::Node {
                leaf: self.shape(Contents::Value(of)),
                inner: self.shape(Contents::Value(inner)),
            };
        }
        Target::Value(self.shape(Contents::Value(of)))
    }

    /// Plans all shapes, and those that they lead to.
    pub(super) fn finish(mut self) -> Plans {
        while self.next < self.plans.shapes.len() {
            let contents = self.plans.shapes[self.next].contents;
            let of = self.type_of(contents);
            let items = self.plan(contents, of);
            let may_change = self
                .interior
                .may_change(self.types, value_of(self.types, of));
            let size = self.plans.shapes[self.next].size;
            let cost = items.as_ref().map_or(0, |items| cost(items));
            // Fields of a damaged type may all lie in one place.
            let is_sane = cost <= size.saturating_mul(8).saturating_add(64);
            let is_record = is_sane && items.is_some() && is_record(self.types, of);
            let shape = &mut self.plans.shapes[self.next];
            shape.is_record = is_record && matches!(contents, Contents::Elements(_));
            shape.items = items.filter(|_| is_sane).map(Vec::into_boxed_slice);
            shape.value_type = value_type(self.types, contents, of);
            shape.may_change = may_change;
            self.next += 1;
        }
        self.plans
    }

    fn plan(&mut self, contents: Contents, of: TypeId) -> Option<Vec<Item>> {
        self.left = MOST_FIELDS.min(self.left_of_all);
        self.left_of_all -= self.left;
        let held = self.held(of);
        let mut path = Path {
            of: held,
            owner: self.owner(held),
            ..Path::default()
        };
        let mut items = Vec::new();
        let mode = Mode::default();
        let this = self.types.get(of);
        let members = self.types.members(this);
        let is_entry = matches!(contents, Contents::Table(_))
            && members.len() == 2
            && self.types.text(this.name).starts_with('(');
        let root = match contents {
            Contents::Static(number) => Some(self.static_name(number)),
            Contents::Local(number) => Some(self.locals[number as usize].name.clone()),
            _ => None,
        };
        let done = if let Some(root) = root {
            path.owner = root;
            path.is_root = true;
            self.value(of, 0, &path, mode, 0, &mut items)
        } else if is_entry {
            members.iter().try_for_each(|member| {
                let mut path = path.clone();
                if self.types.text(member.name) == "__0" {
                    "{key}".clone_into(&mut path.text);
                }
                self.value(member.of, member.offset, &path, mode, 1, &mut items)
            })
        } else {
            self.value(of, 0, &path, mode, 0, &mut items)
        };
        self.left_of_all += self.left;
        done.map(|()| items)
    }

    /// Returns the type that people would say a block holds: what a shared value or a node wraps.
    fn held(&self, of: TypeId) -> TypeId {
        let types = self.types;
        let this = types.get(of);
        let is_tree = types.walk(this) == Some(Walk::Node);
        let is_wrapper =
            is_counted(types, this) || !is_tree && types.container_of_node(this).is_some();
        let inner = member(types, this, "data").map(|data| data.of);
        let held = match inner {
            Some(inner) if is_tree => inner,
            _ if is_wrapper && this.argument != 0 => this.argument,
            _ => of,
        };
        types.canonical(held)
    }

    /// Returns the name that a path begins with if its first block holds a type.
    fn owner(&self, of: TypeId) -> String {
        let types = self.types;
        if types.get(of).is_future {
            return self.future_name(of);
        }
        let mut text = short(&normal(&types.full_name(of)));
        if let Some(container) = types.container_of_node(types.get(of))
            && let Some((_, arguments)) = text.split_once('<')
        {
            text = format!("{}<{arguments}", short(container.path));
        }
        text.chars().take(MOST_PATH).collect()
    }

    /// Returns the name of an async function or block.
    pub(super) fn future_name(&self, of: TypeId) -> String {
        future_name(self.types, of)
    }

    fn static_name(&self, number: u32) -> String {
        let variable = self.types.statics[number as usize];
        let own = self.types.text(variable.name);
        // `thread_local!` makes a static inside of a closure inside of a constant.
        let made = own.starts_with("__") || own == "VAL";
        let mut around = self.types.path(variable.scope);
        let outer = around.find(|name| !name.starts_with('{'));
        outer.filter(|_| made).unwrap_or(own).to_owned()
    }

    /// Finds a field by name in a structure and in the structures inside.
    fn find(&self, of: TypeId, name: &str) -> Option<(u64, TypeId)> {
        self.find_inside(of, name, 0, &mut MOST_LOOKED_AT.clone())
    }

    fn find_inside(
        &self,
        of: TypeId,
        name: &str,
        depth: u32,
        left: &mut u32,
    ) -> Option<(u64, TypeId)> {
        let this = self.types.get(of);
        if this.kind == Kind::Pointer || depth > 6 {
            return None;
        }
        let members = self.types.members(this);
        *left = left.checked_sub(members.len() as u32)?;
        if let Some(found) = member(self.types, this, name) {
            return Some((found.offset, found.of));
        }
        members.iter().find_map(|member| {
            let (offset, of) = self.find_inside(member.of, name, depth + 1, left)?;
            Some((offset.checked_add(member.offset)?, of))
        })
    }

    fn offset(&self, of: TypeId, name: &str) -> Option<u64> {
        self.find(of, name).map(|found| found.0)
    }

    /// Returns the offset of a field that is as large as a pointer.
    fn word(&self, of: TypeId, name: &str) -> Option<u64> {
        let (offset, of) = self.find(of, name)?;
        (self.types.size(of) == Some(WORD_BYTES)).then_some(offset)
    }

    /// Returns the type behind the first pointer in a type.
    fn pointee(&self, of: TypeId, depth: u32, left: &mut u32) -> Option<TypeId> {
        let types = self.types;
        let this = types.get(of);
        if this.kind == Kind::Pointer {
            return Some(this.target);
        }
        *left = left.checked_sub(1)?;
        if depth > 8 {
            return None;
        }
        let fields = types.members(this).iter().map(|member| member.of);
        let variants = types.variants(this).iter().map(|variant| variant.of);
        let mut all = fields.chain(variants);
        all.find_map(|of| self.pointee(of, depth + 1, left))
    }

    fn step(&mut self, path: &Path, end: &str) -> StepId {
        let text = format!("{}{end}", path.text);
        let of = if path.is_root { 0 } else { path.of };
        self.plans.steps.number(of, &path.owner, &text)
    }

    /// Adds what there is to do in a value. Returns `None` if its type cannot be.
    fn value(
        &mut self,
        of: TypeId,
        at: u64,
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        self.left = self.left.checked_sub(1 + path.text.len() as u32 / 64)?;
        if depth > MOST_DEPTH || path.text.len() > MOST_PATH {
            return None;
        }
        let types = self.types;
        let this = types.get(of);
        match this.kind {
            // Pointers with bits of other things are kept as such.
            Kind::Plain if this.size == WORD && types.text(this.name) == "usize" => {
                out.push(Item::Address { at: fit(at)? });
            }
            Kind::Plain => {}
            Kind::Pointer => self.pointer(this, at, path, mode, out)?,
            Kind::Array { count } => {
                let stride = types.size(this.target)?;
                let mut items = Vec::new();
                let path = with(path, "[]");
                self.value(this.target, 0, &path, mode, depth + 1, &mut items)?;
                if !items.is_empty() && stride > 0 && count > 0 {
                    out.push(Item::Many {
                        at: fit(at)?,
                        stride: fit(stride)?,
                        count: fit(count)?,
                        items: items.into(),
                    });
                }
            }
            Kind::Union => {
                let mut items = Vec::new();
                let mode = Mode {
                    shares_place: true,
                    ..mode
                };
                for member in types.members(this) {
                    let place = inside(types, this, member, at)?;
                    self.value(member.of, place, path, mode, depth + 1, &mut items)?;
                }
                if mode.trusts_unions || is_numbers(&items) {
                    out.append(&mut items);
                } else if !items.is_empty() {
                    out.push(Item::Uncertain(items.into()));
                }
            }
            Kind::Structure => {
                if self.known(of, at, path, mode, depth, out).is_none() {
                    self.structure(of, at, path, mode, depth, out)?;
                }
            }
        }
        Some(())
    }

    fn structure(
        &mut self,
        of: TypeId,
        at: u64,
        path: &Path,
        mut mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let this = types.get(of);
        let of_std = types.is_std(this);
        if of_std {
            let path_of = |count: usize| types.path(this.scope).take(count);
            let own = types.text(this.name);
            let own = own.split('<').next().unwrap_or_default();
            match own {
                "NonNull" | "Unique" => mode.is_non_null = true,
                "Weak" => mode.refers = true,
                "Rc" | "Arc" => mode.refers = false,
                "OnceLock" | "LazyLock" => mode.trusts_unions = true,
                _ if path_of(3).eq(["iter", "slice", "core"]) => mode.refers = true,
                _ => {}
            }
        } else {
            let own = types.text(this.name);
            let crates = types.path(this.scope).last();
            if crates == Some("once_cell") && own.starts_with("OnceCell<") {
                mode.trusts_unions = true;
            }
        }
        let is_plain = of_std && !types.text(this.name).starts_with('(');
        let members = types.members(this);
        // A number named `len` beside an array of places says how many of them are in use.
        let length = member(types, this, "len");
        let length = length.filter(|member| {
            types.get(member.of).kind == Kind::Plain
                && matches!(types.size(member.of), Some(1 | 2 | 4 | 8))
        });
        for member in members {
            let size = types.size(member.of)?;
            let place = inside(types, this, member, at)?;
            if size == 0 {
                continue;
            }
            let name = types.text(member.name);
            let mut inner = mode;
            inner.refers |= BACK.contains(&name);
            let path = if is_plain {
                path.clone()
            } else {
                with(path, &field(name))
            };
            let places = length.and_then(|length| Some((length, self.places(member.of)?)));
            match places {
                Some((length, value)) => {
                    let length = (
                        inside(types, this, length, at)?,
                        types.size(length.of)? as u8,
                    );
                    let found = self.first(member.of, value, place, length, &path, mode, depth)?;
                    out.extend(found);
                }
                None => self.value(member.of, place, &path, inner, depth + 1, out)?,
            }
        }
        if types.variants(this).is_empty() {
            let used = members.iter().map(|member| (member.offset, member.of));
            return self.gaps(this, used.collect(), at, mode, out);
        }
        self.choice(of, at, path, mode, depth, out)
    }

    /// Adds the bytes of a value between its parts, which are given by offset and type.
    fn gaps(
        &self,
        this: &Type,
        parts: Vec<(u64, TypeId)>,
        at: u64,
        mode: Mode,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        if mode.shares_place || parts.is_empty() {
            return Some(());
        }
        let mut used = Vec::with_capacity(parts.len() + 1);
        for (start, of) in parts {
            used.push((start, start.checked_add(self.types.size(of)?)?));
        }
        used.sort_unstable();
        used.push((this.size, this.size));
        let mut end = 0;
        for (start, next) in used {
            if start > end {
                out.push(Item::Skip {
                    at: fit(at.checked_add(end)?)?,
                    end: fit(at.checked_add(start)?)?,
                });
            }
            end = end.max(next);
        }
        Some(())
    }

    /// Returns `T` of `[MaybeUninit<T>; N]`.
    fn places(&self, of: TypeId) -> Option<TypeId> {
        let array = self.types.get(of);
        let element = self.types.get(array.target);
        let is_places = matches!(array.kind, Kind::Array { .. })
            && element.kind == Kind::Union
            && (self.types).is_at(element, "core::mem::maybe_uninit::MaybeUninit");
        is_places.then_some(element.argument)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all of them differ between the callers"
    )]
    fn first(
        &mut self,
        array: TypeId,
        value: TypeId,
        at: u64,
        (length, length_bytes): (u64, u8),
        path: &Path,
        mode: Mode,
        depth: u32,
    ) -> Option<Option<Item>> {
        let Kind::Array { count } = self.types.get(array).kind else {
            return Some(None);
        };
        let stride = self.types.size(value)?;
        if stride == 0 {
            return Some(None);
        }
        let mut items = Vec::new();
        self.value(value, 0, path, mode, depth + 1, &mut items)?;
        Some(Some(Item::First {
            at: fit(at)?,
            stride: fit(stride)?,
            count: fit(count)?,
            length: fit(length)?,
            length_bytes,
            more: 0,
            counts_as_unused: false,
            items: items.into(),
        }))
    }

    fn pointer(
        &mut self,
        this: &Type,
        at: u64,
        path: &Path,
        mode: Mode,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let hold = self.hold(this, mode);
        // References to code, and to plain data elsewhere, are no pointers into the heap. They may
        // be, so all are looked at.
        let to = self.target(this.target);
        let step = self.step(path, "");
        out.push(Item::Pointer {
            at: fit(at)?,
            to,
            hold,
            step,
        });
        Some(())
    }

    fn hold(&self, this: &Type, mode: Mode) -> Hold {
        let name = self.types.text(this.name);
        if name.starts_with("alloc::boxed::Box<") {
            Hold::Owns
        } else if mode.refers {
            Hold::Refers
        } else if name.starts_with("*mut ") || mode.is_non_null {
            Hold::Raw
        } else {
            Hold::Refers
        }
    }
}

/// Returns the field with a name.
fn member<'t>(types: &'t Types, this: &Type, name: &str) -> Option<&'t Member> {
    let mut members = types.members(this).iter();
    members.find(|member| types.text(member.name) == name)
}

/// Returns the text of a field on a path.
fn field(name: &str) -> String {
    let name = name.strip_prefix("__").map_or(name, |rest| {
        let is_number = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { rest } else { name }
    });
    format!(".{name}")
}

fn with(path: &Path, more: &str) -> Path {
    Path {
        text: format!("{}{more}", path.text),
        ..path.clone()
    }
}

fn fit(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

/// Returns the offset of a member, if it lies inside of the type that has it.
fn inside(types: &Types, this: &Type, member: &Member, at: u64) -> Option<u64> {
    let end = member.offset.checked_add(types.size(member.of)?)?;
    (end <= this.size).then_some(at.checked_add(member.offset)?)
}

/// Returns `true` if values have no pointers, except those that are hidden in numbers.
pub(super) fn is_plain(items: &[Item]) -> bool {
    items.iter().all(|item| match item {
        Item::Address { .. } | Item::Skip { .. } => true,
        Item::Many { items, .. } => is_plain(items),
        Item::Choice { variants, .. } => variants.iter().all(|(_, items)| is_plain(items)),
        _ => false,
    })
}

/// Returns `true` if all bytes of values are numbers, whatever they are.
fn is_numbers(items: &[Item]) -> bool {
    items.iter().all(|item| match item {
        Item::Address { .. } => true,
        Item::Many { items, .. } => is_numbers(items),
        _ => false,
    })
}

/// Returns the most items that one value costs.
fn cost(items: &[Item]) -> u64 {
    let each = items.iter().map(|item| match item {
        Item::Many { count, items, .. }
        | Item::First { count, items, .. }
        | Item::Small {
            most: count, items, ..
        } => u64::from(*count).saturating_mul(cost(items)),
        Item::Choice { variants, .. } => {
            let all = variants.iter().map(|(_, items)| cost(items));
            let search = variants.len() as u64 / 16;
            all.max().unwrap_or(0).saturating_add(1 + search)
        }
        Item::Counted { items, .. } | Item::Uncertain(items) => cost(items),
        Item::Skip { at, end } => u64::from(end.saturating_sub(*at)) / 8,
        Item::Address { .. } => 0,
        _ => 1,
    });
    each.fold(0, u64::saturating_add)
}

/// Returns a number for the values of some contents: equal for a `String` and a `Vec<u8>`.
fn value_type(types: &Types, contents: Contents, of: TypeId) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    std::mem::discriminant(&contents).hash(&mut hasher);
    types.full_name(of).hash(&mut hasher);
    hasher.finish() | 1
}
