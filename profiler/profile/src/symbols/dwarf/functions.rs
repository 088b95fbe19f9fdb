//! Finds the functions that hold the addresses of one unit, from the concrete one to the innermost
//! inlined one, and their names. One walk of the unit answers all addresses. The walk never
//! recurses, as a file may nest entries to any depth.

use std::borrow::Cow;
use std::collections::HashMap;

use gimli::{AttributeValue, UnitOffset, UnitRef};

use super::super::SourceFrame;
use super::super::names::{self, text};
use super::super::table::Table;
use super::lines::{self, Place};
use super::units::{Index, ranges_of};
use super::{Budget, Entry, Shared, Slice};

/// The most functions found in one unit, for all its addresses. A file with more is built to fill
/// the memory. Real programs have about five for each address.
const MAX_NODES: usize = 4 << 20;
const NODES_OF_AN_ADDRESS: usize = 32;
const FEW_NODES: usize = 64 << 10;
/// The deepest nesting of inlined functions. Real programs nest a few dozen.
const MAX_INLINED: usize = 512;
/// The number of times that `DW_AT_abstract_origin` and `DW_AT_specification` are followed. Two is
/// common.
const MAX_ORIGINS: usize = 16;

/// A function that holds an address.
struct Node<'a> {
    /// Nesting of its entry in the unit.
    depth: isize,
    /// Its entry. It identifies the function that inlined functions belong to.
    entry: UnitOffset,
    name: Name<'a>,
    /// The place where it was inlined.
    call: Place,
}

/// The two names of an entry, from its attributes or from those of its origin; empty if unknown.
#[derive(Clone, Copy, Default)]
struct Name<'a> {
    linkage: &'a [u8],
    bare: &'a [u8],
    /// The line of its declaration.
    declared: Option<u32>,
}

/// The unit of an entry, and the offset in it.
type EntryId = (usize, UnitOffset);

/// Returns the frames of sorted addresses, in that order: innermost first, and none for an address
/// that no function covers.
pub(super) fn resolve_unit(
    index: &Index<'_>,
    id: usize,
    addresses: &[u64],
    table: &Table<'_>,
    budget: &Budget,
) -> Vec<Vec<SourceFrame>> {
    let unit = &index.units[id];
    let mut walk = Walk {
        index,
        id,
        addresses,
        budget,
        origins: HashMap::new(),
    };
    let mut chains: Vec<Vec<Node<'_>>> = addresses.iter().map(|_| Vec::new()).collect();
    // An error ends the walk. The functions found before it are kept.
    let _ended_early = walk.run(&mut chains);
    let skeleton = UnitRef::new(index.dwarf, &unit.unit);
    let places = lines::places(skeleton, addresses, budget);
    let mut render = Render {
        unit: skeleton,
        files: HashMap::new(),
        rust: unit.rust,
        index,
        table,
        functions: HashMap::new(),
    };
    chains
        .iter()
        .zip(places)
        .zip(addresses)
        .map(|((chain, place), &address)| render.frames(chain, place.unwrap_or_default(), address))
        .collect()
}

struct Walk<'w, 'a> {
    index: &'w Index<'a>,
    id: usize,
    addresses: &'w [u64],
    budget: &'w Budget,
    /// Names of entries that others are instances of, and the entries that these are instances of.
    origins: HashMap<EntryId, (Name<'a>, Option<EntryId>)>,
}

impl<'w, 'a> Walk<'w, 'a> {
    fn run(&mut self, chains: &mut [Vec<Node<'a>>]) -> gimli::Result<()> {
        let unit = self.index.entries(self.id);
        let mut entries = unit.unit.entries_raw(None)?;
        let mut entry = Entry::null();
        // Concrete functions around the present entry: (depth, entry).
        let mut around: Vec<(isize, UnitOffset)> = Vec::new();
        let mut work = 0;
        let mut nodes = 0;
        let most_nodes = (self.addresses.len() * NODES_OF_AN_ADDRESS + FEW_NODES).min(MAX_NODES);
        while !entries.is_empty() && nodes < most_nodes {
            work += 1;
            if work % 1024 == 0 && !self.budget.take(1024) {
                break;
            }
            let depth = entries.next_depth();
            entry.offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let inlined = match abbreviation.tag() {
                gimli::DW_TAG_subprogram => false,
                gimli::DW_TAG_inlined_subroutine => true,
                _ => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    continue;
                }
            };
            entries.read_attributes(abbreviation.attributes(), &mut entry.attrs)?;
            while around.last().is_some_and(|&(outer, _)| outer >= depth) {
                around.pop();
            }
            if !inlined {
                around.push((depth, entry.offset));
            }
            let Some(&(_, function)) = around.last() else {
                continue;
            };
            let matched = self.matching(unit, &entry, chains, |chain| {
                if inlined {
                    // Only inside the function that holds the address, and only below what was
                    // found last.
                    chain.first().is_some_and(|outer| outer.entry == function)
                        && chain.last().is_some_and(|outer| outer.depth < depth)
                        && chain.len() < MAX_INLINED
                } else {
                    chain.is_empty()
                }
            });
            if matched.is_empty() {
                continue;
            }
            let name = self.name(unit, &entry);
            let line = entry.attr(gimli::DW_AT_call_line);
            let line = line.and_then(|line| u32::try_from(line.udata_value()?).ok());
            let call = Place {
                file: match entry.attr_value(gimli::DW_AT_call_file) {
                    Some(AttributeValue::FileIndex(file)) => Some(file),
                    _ => None,
                },
                line: line.filter(|&line| line > 0),
                has_column: entry.attr(gimli::DW_AT_call_column).is_some(),
            };
            nodes += matched.len();
            for at in matched {
                chains[at].push(Node {
                    depth,
                    entry: entry.offset,
                    name,
                    call,
                });
            }
        }
        self.budget.take(work % 1024);
        Ok(())
    }

    /// Returns the addresses that lie in an entry's ranges and may still take it.
    fn matching(
        &self,
        unit: UnitRef<'_, Slice<'a>>,
        entry: &Entry<'a>,
        chains: &[Vec<Node<'a>>],
        may_take: impl Fn(&[Node<'a>]) -> bool,
    ) -> Vec<usize> {
        let mut matched = Vec::new();
        ranges_of(unit, entry, self.budget, |begin, end| {
            let first = self.addresses.partition_point(|&address| address < begin);
            let rest = self.addresses[first..].iter();
            let inside = rest.take_while(|&&address| address < end).count();
            if inside > 0 && self.budget.take(inside) {
                matched.extend((first..first + inside).filter(|&at| may_take(&chains[at])));
            }
        });
        matched.sort_unstable();
        matched.dedup();
        matched
    }

    /// The names of an entry, its own or those of what it is an instance of.
    fn name(&mut self, unit: UnitRef<'_, Slice<'a>>, entry: &Entry<'a>) -> Name<'a> {
        let (mut name, mut origin) = self.names_of(self.id, unit, entry);
        for _ in 0..MAX_ORIGINS {
            if !name.linkage.is_empty() && !name.bare.is_empty() && name.declared.is_some() {
                break;
            }
            let Some(id) = origin else { break };
            let known = self.origins.get(&id).copied();
            let theirs = known.unwrap_or_else(|| self.read_names(id));
            // Only the last of a chain is kept, so that there is at most one for each entry.
            if known.is_none() && theirs.1.is_none() {
                self.origins.insert(id, theirs);
            }
            if name.linkage.is_empty() {
                name.linkage = theirs.0.linkage;
            }
            if name.bare.is_empty() {
                name.bare = theirs.0.bare;
            }
            name.declared = name.declared.or(theirs.0.declared);
            origin = theirs.1;
        }
        name
    }

    fn read_names(&self, (id, offset): EntryId) -> (Name<'a>, Option<EntryId>) {
        let unit = self.index.entries(id);
        let entry = unit.unit.entry(offset);
        entry.map_or_else(|_| Default::default(), |it| self.names_of(id, unit, &it))
    }

    /// The names among the attributes of an entry of unit `id`, and what it is an instance of.
    fn names_of(
        &self,
        id: usize,
        unit: UnitRef<'_, Slice<'a>>,
        entry: &Entry<'a>,
    ) -> (Name<'a>, Option<EntryId>) {
        let string = |attribute| {
            let text = unit.attr_string(entry.attr_value(attribute)?).ok()?;
            Some(text.slice())
        };
        let linkage = string(gimli::DW_AT_linkage_name);
        let linkage = linkage.or_else(|| string(gimli::DW_AT_MIPS_linkage_name));
        let declared = entry.attr(gimli::DW_AT_decl_line);
        let name = Name {
            linkage: linkage.unwrap_or_default(),
            bare: string(gimli::DW_AT_name).unwrap_or_default(),
            declared: declared.and_then(|line| u32::try_from(line.udata_value()?).ok()),
        };
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        let origin = match origin.or_else(|| entry.attr_value(gimli::DW_AT_specification)) {
            Some(AttributeValue::UnitRef(offset)) => Some((id, offset)),
            // Split units cannot refer to each other.
            Some(AttributeValue::DebugInfoRef(entry))
                if self.index.units[self.id].split.is_none() =>
            {
                self.index.locate(entry)
            }
            _ => None,
        };
        (name, origin)
    }
}

/// Linkage name, bare name, file.
type NameKey<'a> = (&'a [u8], &'a [u8], Option<Shared>);

/// Turns nodes into frames, sharing strings within a unit.
struct Render<'r, 'a> {
    unit: UnitRef<'r, Slice<'a>>,
    /// The files of the unit's line table, by number.
    files: HashMap<u64, Option<Shared>>,
    rust: bool,
    index: &'r Index<'a>,
    table: &'r Table<'r>,
    /// The name to show and the linkage name.
    functions: HashMap<NameKey<'a>, (Shared, Option<Shared>)>,
}

impl<'r, 'a> Render<'r, 'a> {
    fn frames(&mut self, chain: &[Node<'a>], mut place: Place, address: u64) -> Vec<SourceFrame> {
        let mut frames = Vec::with_capacity(chain.len());
        for (depth, node) in chain.iter().enumerate().rev() {
            let inlined = depth > 0;
            let file = place.file.and_then(|file| {
                let name = self.files.entry(file);
                let name = name.or_insert_with(|| Some(lines::file_name(self.unit, file)?.into()));
                name.clone()
            });
            let address = (!inlined).then_some(address);
            // An inlined function without a name would only be a hole in the stack. Its caller
            // takes its place.
            if let Some((function, raw)) = self.function(node.name, file.as_ref(), address) {
                frames.push(SourceFrame {
                    function,
                    raw,
                    file,
                    line: place.line,
                    inlined,
                    at_declaration: place.has_column
                        && place.line.is_some()
                        && place.line == node.name.declared,
                    aliases: Vec::new(),
                });
            }
            place = node.call;
        }
        frames
    }

    /// The name to show and the linkage name. `address` is given for concrete functions: they are
    /// in the symbol table.
    fn function(
        &mut self,
        name: Name<'a>,
        file: Option<&Shared>,
        address: Option<u64>,
    ) -> Option<(Shared, Option<Shared>)> {
        let Name { linkage, bare, .. } = name;
        let from_table = linkage.is_empty() && address.is_some();
        let key = (linkage, bare, file.filter(|_| linkage.is_empty()).cloned());
        if !from_table && let Some(known) = self.functions.get(&key) {
            return Some(known.clone());
        }
        let bare = Some(text(bare)).filter(|bare| !bare.is_empty());
        let bare = bare.as_deref();
        let linkage = match linkage {
            [] => address.and_then(|address| self.symbol(address, bare).map(Cow::Borrowed)),
            linkage => Some(text(linkage)),
        };
        let made = match (linkage, bare) {
            (Some(linkage), _) => (names::join(&linkage, bare).into(), Some(linkage.into())),
            (None, bare) => {
                // NOTE: first, as the module of an entry without a name is looked for in vain, each
                // time.
                let bare = bare?;
                let module = file.filter(|_| self.rust);
                let module = module.and_then(|file| self.index.roots.module(file));
                (names::under_module(module.as_deref(), bare).into(), None)
            }
        };
        if !from_table {
            self.functions.insert(key, made.clone());
        }
        Some(made)
    }

    /// The symbol at an address that can be the function called `bare`.
    fn symbol(&self, address: u64, bare: Option<&str>) -> Option<&'r str> {
        self.table
            .names(address)
            .find(|symbol| bare.is_none_or(|bare| names::agrees(symbol, bare)))
    }
}
