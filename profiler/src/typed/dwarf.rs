//! Reads the types, statics and vtables of one file out of its debug information.
//!
//! The file is hostile input: each entry costs a part of a budget that grows with the size of the
//! debug information, and nothing here follows a reference.

use super::types::{Kind, Member, NameId, Place, Static, Type, TypeId, Types, Variant};
use super::work::Work;
use gimli::{AttributeValue, DwTag, UnitRef};
use heapglass_profile::internal::Slice;
use std::collections::HashMap;

/// Namespaces and types inside each other: more are not written by people.
const MOST_DEPTH: usize = 512;

type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// An entry whose children are being read.
#[derive(Default)]
struct Open {
    depth: isize,
    /// The namespace of what is inside.
    scope: u32,
    what: What,
    /// The type, its fields and its variants so far.
    id: TypeId,
    members: Vec<Member>,
    variants: Vec<Variant>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum What {
    /// Nothing of interest: a function.
    #[default]
    Other,
    Unit,
    Namespace,
    Type,
    VariantPart,
    Variant,
}

struct Reader<'t> {
    types: &'t mut Types,
    module: u32,
    bias: u64,
    /// The offset in the debug information of each type from `first` on.
    offsets: Vec<u32>,
    first: usize,
    work: Work,
    open: Vec<Open>,
    /// Types of vtables, by offset, with the type that each is for.
    vtable_types: HashMap<u32, u32>,
    /// Vtables: address and offset of its type.
    vtables: Vec<(u64, u32)>,
    statics: usize,
}

/// Adds the types of a file. Until the end, types refer to others by their offset.
///
/// Returns `false` if something was not read: the file asks for more work than its size explains.
pub(super) fn read(
    types: &mut Types,
    dwarf: &gimli::Dwarf<Slice<'_>>,
    bytes: usize,
    module: u32,
    bias: u64,
) -> bool {
    let first = types.types.len();
    let (members, variants) = (types.members.len(), types.variants.len());
    let statics = types.statics.len();
    let mut reader = Reader {
        types,
        module,
        bias,
        offsets: Vec::new(),
        first,
        work: Work::of_file(bytes),
        open: Vec::new(),
        vtable_types: HashMap::new(),
        vtables: Vec::new(),
        statics,
    };
    let mut is_whole = true;
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let is_small = header
            .debug_info_offset()
            .is_some_and(|offset| u32::try_from(offset.0 + header.length_including_self()).is_ok());
        let Ok(unit) = dwarf.unit(header) else {
            is_whole = false;
            continue;
        };
        let unit = UnitRef::new(dwarf, &unit);
        is_whole &= is_small && reader.unit(unit).is_some();
        if reader.work.is_done() {
            break;
        }
    }
    reader.resolve(members, variants);
    is_whole
}

impl Reader<'_> {
    fn take(&mut self, work: usize) -> Option<()> {
        self.work.take(work)
    }

    fn unit(&mut self, unit: UnitRef<'_, Slice<'_>>) -> Option<()> {
        let base = u32::try_from(unit.header.debug_info_offset()?.0).ok()?;
        let mut files: Vec<Option<NameId>> = Vec::new();
        let mut entries = unit.entries();
        self.open.clear();
        while let Some(entry) = entries.next_dfs().ok()? {
            self.take(entry.attrs.len() + 1)?;
            while self
                .open
                .last()
                .is_some_and(|open| open.depth >= entry.depth())
            {
                self.close();
            }
            self.entry(unit, base, entry, &mut files)?;
        }
        while !self.open.is_empty() {
            self.close();
        }
        Some(())
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let around = self.open.last_mut();
        match (open.what, around) {
            (What::Type, _) => {
                let members = self.types.members.len() as u32;
                self.types.members.extend(open.members);
                let variants = self.types.variants.len() as u32;
                self.types.variants.extend(open.variants);
                let this = &mut self.types.types[open.id as usize];
                this.members = members..self.types.members.len() as u32;
                this.variants = variants..self.types.variants.len() as u32;
            }
            (What::VariantPart | What::Variant, Some(around)) => {
                around.variants.extend(open.variants);
            }
            _ => {}
        }
    }

    fn entry<'a>(
        &mut self,
        unit: UnitRef<'_, Slice<'a>>,
        base: u32,
        entry: &Entry<'a>,
        files: &mut Vec<Option<NameId>>,
    ) -> Option<()> {
        let around = self.open.last();
        let (scope, within) = around.map_or((0, What::Other), |open| (open.scope, open.what));
        let is_inside = matches!(within, What::Unit | What::Namespace | What::Type);
        let reference = |at| match entry.attr_value(at) {
            Some(AttributeValue::UnitRef(offset)) => {
                u32::try_from(offset.0).ok()?.checked_add(base)
            }
            Some(AttributeValue::DebugInfoRef(offset)) => u32::try_from(offset.0).ok(),
            _ => None,
        };
        let number = |at| {
            let value = entry.attr_value(at)?;
            value
                .udata_value()
                .or(value.sdata_value().map(|signed| signed as u64))
        };
        let of = reference(gimli::DW_AT_type).unwrap_or(0);
        let mut open = Open {
            depth: entry.depth(),
            scope,
            ..Open::default()
        };
        match entry.tag() {
            gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit => {
                let language = entry.attr_value(gimli::DW_AT_language);
                if language == Some(AttributeValue::Language(gimli::DW_LANG_Rust)) {
                    open.what = What::Unit;
                }
            }
            gimli::DW_TAG_namespace if is_inside => {
                let name = self.name(unit, entry)?;
                open.scope = self.types.scope(scope, name);
                open.what = What::Namespace;
            }
            tag if is_inside && kind_of(tag).is_some() => {
                let name = self.name(unit, entry)?;
                let this = Type {
                    kind: kind_of(tag).unwrap_or_default(),
                    scope,
                    name,
                    size: number(gimli::DW_AT_byte_size).unwrap_or(0),
                    align: number(gimli::DW_AT_alignment)
                        .and_then(|align| u32::try_from(align).ok())
                        .unwrap_or(0),
                    target: of,
                    ..Type::default()
                };
                let offset = base.checked_add(u32::try_from(entry.offset().0).ok()?)?;
                open.id = self.types.types.len() as TypeId;
                self.types.types.push(this);
                self.offsets.push(offset);
                open.what = What::Type;
                if matches!(within, What::Unit | What::Namespace | What::Type) {
                    open.scope = self.types.scope(scope, name);
                }
                if let Some(behind) = reference(gimli::DW_AT_containing_type) {
                    self.vtable_types.insert(offset, behind);
                }
            }
            gimli::DW_TAG_subrange_type => {
                let count = number(gimli::DW_AT_count);
                let last = number(gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                if let Some(id) = self.inner()
                    && let Kind::Array { count: all } = &mut self.types.types[id].kind
                {
                    *all = all.saturating_mul(count.or(last).unwrap_or(0));
                }
            }
            gimli::DW_TAG_template_type_parameter => {
                if let Some(id) = self.inner()
                    && self.types.types[id].argument == 0
                {
                    self.types.types[id].argument = of;
                }
            }
            gimli::DW_TAG_variant_part if within == What::Type => {
                open.what = What::VariantPart;
                open.id = around.map_or(0, |open| open.id);
            }
            gimli::DW_TAG_variant if within == What::VariantPart => {
                open.what = What::Variant;
                open.id = around.map_or(0, |open| open.id);
                open.variants.push(Variant {
                    value: number(gimli::DW_AT_discr_value),
                    ..Variant::default()
                });
            }
            gimli::DW_TAG_member if of != 0 => {
                let name = self.name(unit, entry)?;
                let offset = number(gimli::DW_AT_data_member_location).unwrap_or(0);
                let is_state = self.types.text(name) == "__state";
                let line = number(gimli::DW_AT_decl_line).and_then(|line| u32::try_from(line).ok());
                let file = match entry.attr_value(gimli::DW_AT_decl_file) {
                    Some(AttributeValue::FileIndex(file)) if within == What::Variant => {
                        self.file(unit, file, files)?
                    }
                    _ => 0,
                };
                let Some(around) = self.open.last_mut() else {
                    return Some(());
                };
                let id = around.id as usize;
                match within {
                    What::Type => around.members.push(Member { name, offset, of }),
                    What::VariantPart => {
                        self.types.types[id].discriminant = Some((offset, of));
                        self.types.types[id].is_future = is_state;
                    }
                    What::Variant => {
                        if let Some(variant) = around.variants.last_mut() {
                            (variant.name, variant.offset, variant.of) = (name, offset, of);
                            (variant.file, variant.line) = (file, line.unwrap_or(0));
                        }
                    }
                    _ => {}
                }
            }
            gimli::DW_TAG_variable if matches!(within, What::Unit | What::Namespace) => {
                if let Some(place) = self.place(unit, entry) {
                    let name = self.name(unit, entry)?;
                    if let Place::Address(address) = place {
                        self.vtables.push((address, of));
                    }
                    self.types.statics.push(Static {
                        scope,
                        name,
                        of,
                        place,
                    });
                }
            }
            _ => {}
        }
        if entry.has_children() && self.open.len() < MOST_DEPTH {
            self.open.push(open);
        } else if open.what == What::Type || open.what == What::Variant {
            self.open.push(open);
            self.close();
        }
        Some(())
    }

    /// Returns the type that is being read.
    fn inner(&self) -> Option<usize> {
        let open = self.open.last()?;
        (open.what == What::Type).then_some(open.id as usize)
    }

    /// Returns the name of an entry. 0 is none.
    fn name<'a>(&mut self, unit: UnitRef<'_, Slice<'a>>, entry: &Entry<'a>) -> Option<NameId> {
        let Some(value) = entry.attr_value(gimli::DW_AT_name) else {
            return Some(0);
        };
        let Ok(text) = unit.attr_string(value) else {
            return Some(0);
        };
        self.take(text.len() / 16)?;
        Some(self.types.name(&text.to_string_lossy()))
    }

    /// Returns the name of a source file without its folders.
    fn file(
        &mut self,
        unit: UnitRef<'_, Slice<'_>>,
        file: u64,
        files: &mut Vec<Option<NameId>>,
    ) -> Option<NameId> {
        let index = usize::try_from(file).unwrap_or(usize::MAX);
        if let Some(Some(name)) = files.get(index) {
            return Some(*name);
        }
        let Some(program) = &unit.line_program else {
            return Some(0);
        };
        let header = program.header();
        let Some(entry) = header.file(file) else {
            return Some(0);
        };
        let Ok(text) = unit.attr_string(entry.path_name()) else {
            return Some(0);
        };
        self.take(text.len() / 16)?;
        let text = text.to_string_lossy();
        let name = self.types.name(text.rsplit('/').next().unwrap_or_default());
        if index < header.file_names().len() + 1 {
            files.resize(files.len().max(index + 1), None);
            files[index] = Some(name);
        }
        Some(name)
    }

    /// Returns where a variable is, if it is a static.
    fn place<'a>(&self, unit: UnitRef<'_, Slice<'a>>, entry: &Entry<'a>) -> Option<Place> {
        let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location)
        else {
            return None;
        };
        let mut operations = expression.operations(unit.encoding());
        let place = match operations.next().ok()?? {
            gimli::Operation::Address { address } => {
                Place::Address(address.checked_add(self.bias)?)
            }
            gimli::Operation::AddressIndex { index } => {
                Place::Address(unit.address(index).ok()?.checked_add(self.bias)?)
            }
            gimli::Operation::UnsignedConstant { value: offset } => {
                let is_tls = matches!(operations.next(), Ok(Some(gimli::Operation::TLS)));
                let module = self.module;
                is_tls.then_some(Place::ThreadLocal { module, offset })?
            }
            _ => return None,
        };
        matches!(operations.next(), Ok(None)).then_some(place)
    }

    /// Replaces offsets by numbers of types.
    fn resolve(&mut self, members: usize, variants: usize) {
        let (offsets, first) = (&self.offsets, self.first);
        let id = |offset: u32| {
            let at = offsets.binary_search(&offset);
            at.map_or(0, |at| (first + at) as TypeId)
        };
        for this in &mut self.types.types[self.first..] {
            this.target = id(this.target);
            this.argument = id(this.argument);
            if let Some((_, of)) = &mut this.discriminant {
                *of = id(*of);
            }
        }
        for member in &mut self.types.members[members..] {
            member.of = id(member.of);
        }
        for variant in &mut self.types.variants[variants..] {
            variant.of = id(variant.of);
        }
        let behind = |of: u32| self.vtable_types.get(&of).map(|&behind| id(behind));
        let vtables = self.vtables.iter();
        let vtables = vtables.filter_map(|&(address, of)| Some((address, behind(of)?)));
        self.types
            .vtables
            .extend(vtables.filter(|vtable| vtable.1 != 0));
        for variable in &mut self.types.statics[self.statics..] {
            variable.of = id(variable.of);
        }
        if self.module == 0 {
            self.types.offsets = std::mem::take(&mut self.offsets);
        }
    }
}

/// Returns what an entry with some tag describes, if it is a type.
fn kind_of(tag: DwTag) -> Option<Kind> {
    Some(match tag {
        gimli::DW_TAG_structure_type => Kind::Structure,
        gimli::DW_TAG_union_type => Kind::Union,
        gimli::DW_TAG_enumeration_type | gimli::DW_TAG_base_type => Kind::Plain,
        gimli::DW_TAG_pointer_type => Kind::Pointer,
        gimli::DW_TAG_array_type => Kind::Array { count: 1 },
        _ => return None,
    })
}
