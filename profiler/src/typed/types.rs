//! Types as debug information describes them, kept as numbers: names are interned, and members of
//! all types are in one list.

use crate::containers::{self, Changes, ContainerType, DeclaredContainer, Walk};
use heapglass_profile::internal::normal;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// A type, by its number. 0 is none.
pub(super) type TypeId = u32;
/// A text, by its number.
pub(super) type NameId = u32;

/// The kind of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A number, or anything else that holds no pointers.
    #[default]
    Plain,
    /// A structure, a tuple, an enum with fields.
    Structure,
    /// A union: any of its members may be there.
    Union,
    /// A pointer to [`Type::target`].
    Pointer,
    /// An array of `count` values of [`Type::target`].
    Array { count: u64 },
}

/// One type.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    pub(super) kind: Kind,
    /// The namespace, as an index of [`Types::scopes`].
    pub(super) scope: u32,
    pub(super) name: NameId,
    /// Size in bytes; that of an array is not stored.
    pub(super) size: u64,
    /// The alignment in bytes; 0 if it is not known.
    pub(super) align: u32,
    /// The target of a pointer, the element of an array.
    pub(super) target: TypeId,
    /// The first generic argument.
    pub(super) argument: TypeId,
    pub(super) members: Range<u32>,
    pub(super) variants: Range<u32>,
    /// Offset and type of the discriminant, if there are variants and it has one.
    pub(super) discriminant: Option<(u64, TypeId)>,
    /// The discriminant is the state of an async function, an async block or a generator.
    pub(super) is_future: bool,
}

/// A field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Member {
    pub(super) name: NameId,
    pub(super) offset: u64,
    pub(super) of: TypeId,
}

/// One variant of an enum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Variant {
    pub(super) name: NameId,
    /// The value of the discriminant. `None` stands for all other values.
    pub(super) value: Option<u64>,
    /// Offset and type of its fields.
    pub(super) offset: u64,
    pub(super) of: TypeId,
    /// File and line of an await.
    pub(super) file: NameId,
    pub(super) line: u32,
}

/// The place of a static.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The address in memory.
    Address(u64),
    /// The offset in the thread-local values of a module.
    ThreadLocal { module: u32, offset: u64 },
}

/// A static or thread-local value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Static {
    pub(super) scope: u32,
    pub(super) name: NameId,
    pub(super) of: TypeId,
    pub(super) place: Place,
}

/// All types of a program.
#[derive(Debug)]
pub(super) struct Types {
    texts: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, NameId>,
    /// Each namespace, as the number of the one around it and its name.
    scopes: Vec<(u32, NameId)>,
    scope_numbers: FxHashMap<(u32, NameId), u32>,
    pub(super) types: Vec<Type>,
    pub(super) members: Vec<Member>,
    pub(super) variants: Vec<Variant>,
    pub(super) statics: Vec<Static>,
    /// The offsets in debug information of the types of the executable, which come first.
    pub(super) offsets: Vec<u32>,
    /// The type behind each vtable, by the address of the vtable.
    pub(super) vtables: Vec<(u64, TypeId)>,
    /// For each type the first one that is equal: every compilation unit describes its own.
    same: Vec<TypeId>,
    by_name: FxHashMap<String, TypeId>,
    /// Containers that the program declares.
    declared: Vec<DeclaredContainer>,
}

impl Default for Types {
    fn default() -> Types {
        let mut types = Types {
            texts: Vec::new(),
            numbers: FxHashMap::default(),
            scopes: vec![(0, 0)],
            scope_numbers: FxHashMap::default(),
            types: vec![Type::default()],
            members: Vec::new(),
            variants: Vec::new(),
            statics: Vec::new(),
            offsets: Vec::new(),
            vtables: Vec::new(),
            same: vec![0],
            by_name: FxHashMap::default(),
            declared: Vec::new(),
        };
        types.name("");
        types
    }
}

impl Types {
    /// Returns `true` if there is a future among the types.
    pub(super) fn has_futures(&self) -> bool {
        self.types.iter().any(|of| of.is_future)
    }

    /// Returns the type of the executable at an offset in its debug information; 0 if there is none.
    pub(super) fn at_offset(&self, offset: u32) -> TypeId {
        let at = self.offsets.binary_search(&offset);
        at.map_or(0, |at| at as TypeId + 1)
    }

    /// Returns the number of a text.
    pub(super) fn name(&mut self, text: &str) -> NameId {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as NameId;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    pub(super) fn text(&self, name: NameId) -> &str {
        self.texts.get(name as usize).map_or("", |text| text)
    }

    /// Returns the number of a namespace.
    pub(super) fn scope(&mut self, around: u32, name: NameId) -> u32 {
        let next = self.scopes.len() as u32;
        let number = *self.scope_numbers.entry((around, name)).or_insert(next);
        if number == next {
            self.scopes.push((around, name));
        }
        number
    }

    /// Returns the names of a namespace and of those around it, innermost first.
    pub(super) fn path(&self, mut scope: u32) -> impl Iterator<Item = &str> {
        std::iter::from_fn(move || {
            // A namespace has a larger number than the one around it.
            let (around, name) = *self.scopes.get(scope as usize).filter(|_| scope != 0)?;
            scope = around;
            Some(self.text(name))
        })
    }

    /// Returns the type that stands for a type and all that are equal.
    pub(super) fn canonical(&self, of: TypeId) -> TypeId {
        self.same.get(of as usize).copied().unwrap_or(0)
    }

    pub(super) fn get(&self, of: TypeId) -> &Type {
        &self.types[self.canonical(of) as usize]
    }

    pub(super) fn members(&self, of: &Type) -> &[Member] {
        let range = of.members.start as usize..of.members.end as usize;
        self.members.get(range).unwrap_or_default()
    }

    pub(super) fn variants(&self, of: &Type) -> &[Variant] {
        let range = of.variants.start as usize..of.variants.end as usize;
        self.variants.get(range).unwrap_or_default()
    }

    /// Returns the size of a type. Returns `None` if it has none that can be.
    pub(super) fn size(&self, mut of: TypeId) -> Option<u64> {
        let mut count = 1_u64;
        // Arrays of arrays; more of them than this are not written by people.
        for _ in 0..16 {
            let this = self.get(of);
            match this.kind {
                Kind::Array { count: more } => count = count.checked_mul(more)?,
                Kind::Pointer => return count.checked_mul(8),
                _ => return count.checked_mul(this.size),
            }
            of = this.target;
        }
        None
    }

    /// Returns the full name of a type, as debug information spells it.
    pub(super) fn full_name(&self, of: TypeId) -> String {
        let this = self.get(of);
        if let Kind::Array { count } = this.kind {
            let element = self.get(this.target);
            if matches!(element.kind, Kind::Array { .. }) {
                return format!("[[..]; {count}]");
            }
            return format!("[{}; {count}]", self.full_name(this.target));
        }
        let mut path: Vec<&str> = self.path(this.scope).collect();
        path.reverse();
        path.push(self.text(this.name));
        path.join("::")
    }

    /// Returns the type with a full name in its normal spelling.
    pub(super) fn by_name(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    /// Returns `true` if a type is of the standard library, or of the hash table below its maps.
    pub(super) fn is_std(&self, of: &Type) -> bool {
        matches!(
            self.path(of.scope).last(),
            Some("core" | "alloc" | "std" | "hashbrown")
        )
    }

    /// Adds containers that the program declares.
    pub(super) fn declare(&mut self, containers: &[DeclaredContainer]) {
        self.declared.extend_from_slice(containers);
    }

    /// Returns how to read the values of a type by the fields of a container.
    pub(super) fn walk(&self, of: &Type) -> Option<Walk<'_>> {
        let own = self.text(of.name).split('<').next().unwrap_or_default();
        let mut known = containers::values_of(own);
        if let Some((_, walk)) = known.find(|(path, _)| self.is_at(of, path)) {
            return Some(walk);
        }
        let mut declared = self.declared.iter();
        let container = declared.find(|container| self.is_at(of, &container.path))?;
        Some(container.walk())
    }

    /// Returns the container whose blocks are values of a type.
    pub(super) fn container_of_node(&self, of: &Type) -> Option<&'static ContainerType> {
        containers::all().find(|known| known.nodes.iter().any(|node| self.is_at(of, node)))
    }

    /// Returns `true` for a container whose values nobody changes, whatever it has inside.
    pub(super) fn never_changes(&self, of: &Type) -> bool {
        let mut all = containers::all().filter(|known| known.changes == Changes::Never);
        all.any(|known| self.is_at(of, known.path))
    }

    /// Returns `true` for a type at a path, in which `..` stands for any modules.
    pub(super) fn is_at(&self, of: &Type, path: &str) -> bool {
        let own = self.text(of.name).split('<').next().unwrap_or_default();
        let Some((modules, name)) = path.rsplit_once("::") else {
            return false;
        };
        name == own
            && match modules.strip_suffix("::..") {
                Some(krate) => self.path(of.scope).last() == Some(krate),
                None => self.path(of.scope).eq(modules.rsplit("::")),
            }
    }

    /// Finds equal types and names. Called when all types are there.
    pub(super) fn finish(&mut self) {
        let mut first: FxHashMap<u64, TypeId> = FxHashMap::default();
        let mut same: Vec<TypeId> = (0..self.types.len() as TypeId).collect();
        // In a damaged file many variants may claim the same fields.
        let mut left = self.members.len().saturating_mul(8);
        for (id, this) in self.types.iter().enumerate().skip(1) {
            if this.name != 0 {
                let id = id as TypeId;
                let fingerprint = self.fingerprint(this, &mut left);
                same[id as usize] = *first.entry(fingerprint).or_insert(id);
            }
        }
        self.same = same;
        let mut by_name = FxHashMap::default();
        for (id, this) in self.types.iter().enumerate().skip(1) {
            let named = matches!(this.kind, Kind::Plain | Kind::Structure | Kind::Union);
            if named && this.name != 0 && self.same[id] as usize == id {
                let name = normal(&self.full_name(id as TypeId));
                by_name.entry(name).or_insert(id as TypeId);
            }
        }
        self.by_name = by_name;
        self.vtables.sort_unstable();
        self.vtables.dedup_by_key(|vtable| vtable.0);
    }

    /// Returns a number in which types differ that are laid out in different ways: two versions of
    /// a crate have types of the same name.
    fn fingerprint(&self, this: &Type, left: &mut usize) -> u64 {
        let mut hasher = FxHasher::default();
        let name_of = |of: TypeId| self.types.get(of as usize).map(|of| (of.name, of.size));
        (this.kind, this.scope, this.name, this.size).hash(&mut hasher);
        (name_of(this.target), name_of(this.argument)).hash(&mut hasher);
        for member in self.members(this) {
            (member.name, member.offset, name_of(member.of)).hash(&mut hasher);
        }
        for variant in self.variants(this) {
            (variant.name, variant.value, variant.offset, variant.line).hash(&mut hasher);
            let fields = self.types.get(variant.of as usize);
            let fields = fields.map_or(&[][..], |fields| self.members(fields));
            let fields = &fields[..fields.len().min(*left)];
            *left -= fields.len();
            for member in fields {
                (member.name, member.offset, name_of(member.of)).hash(&mut hasher);
            }
        }
        let discriminant = this.discriminant;
        discriminant
            .map(|(offset, of)| (offset, name_of(of)))
            .hash(&mut hasher);
        hasher.finish()
    }
}
