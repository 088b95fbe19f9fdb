//! One unit, walked once for all its addresses: which functions hold each, from the concrete one to the innermost
//! inlined, and what they are called. Never recursive: a file may nest entries as deep as it likes.

use std::collections::HashMap;

use gimli::{Attribute, AttributeValue, UnitOffset, UnitRef};

use super::super::SourceFrame;
use super::super::names::{self, text};
use super::super::table::Table;
use super::lines::{self, Files};
use super::units::{Index, Unit, ranges_of};
use super::{Budget, Shared, Slice};

/// Functions found in one unit, for all its addresses: what holds more is built to fill the memory. Real programs have
/// some five an address.
const MAX_NODES: usize = 4 << 20;
const NODES_OF_AN_ADDRESS: usize = 32;
const FEW_NODES: usize = 64 << 10;
/// Inlining nests some dozens deep in real programs.
const MAX_INLINED: usize = 512;
/// `DW_AT_abstract_origin` and `DW_AT_specification` are followed this often; two is common.
const MAX_ORIGINS: usize = 16;

/// A function that holds an address.
struct Node<'a> {
    /// Nesting of its entry in the unit.
    depth: isize,
    /// Its entry: tells whose inlined functions follow.
    entry: UnitOffset,
    name: Name<'a>,
    /// Where it was inlined: index into the file table, and line.
    call_file: Option<u64>,
    call_line: Option<u32>,
}

/// The two names an entry may have, where its attributes or its origin's say so.
#[derive(Clone, Copy, Default)]
struct Name<'a> {
    linkage: Option<Slice<'a>>,
    name: Option<Slice<'a>>,
}

/// The frames of the addresses at `positions`, in that order: innermost first, empty where nothing covers one.
pub(super) fn resolve_unit(
    index: &Index<'_>,
    id: usize,
    addresses: &[u64],
    positions: &[usize],
    table: &Table<'_>,
    budget: &Budget,
) -> Vec<Vec<SourceFrame>> {
    let Some(unit) = index.units.get(id) else {
        return Vec::new();
    };
    let mut walk = Walk {
        index,
        id,
        unit,
        addresses,
        positions,
        budget,
        origins: HashMap::new(),
    };
    let mut chains: Vec<Vec<Node<'_>>> = positions.iter().map(|_| Vec::new()).collect();
    // An error ends the walk; what was found before it stands.
    let _ended_early = walk.run(&mut chains);
    let skeleton = UnitRef::new(index.dwarf, &unit.unit);
    let places = lines::places(skeleton, addresses, positions, budget);
    let mut render = Render {
        files: Files::new(skeleton),
        rust: unit.is_rust(),
        index,
        table,
        functions: HashMap::new(),
    };
    chains
        .iter()
        .zip(places)
        .zip(positions)
        .map(|((chain, place), &position)| render.frames(chain, place, addresses[position]))
        .collect()
}

struct Walk<'w, 'a> {
    index: &'w Index<'a>,
    id: usize,
    unit: &'w Unit<'a>,
    addresses: &'w [u64],
    positions: &'w [usize],
    budget: &'w Budget,
    /// Names by the place of the entry that has them.
    origins: HashMap<usize, Name<'a>>,
}

impl<'w, 'a> Walk<'w, 'a> {
    fn run(&mut self, chains: &mut [Vec<Node<'a>>]) -> gimli::Result<()> {
        let unit = self.unit.entries_in(self.index.dwarf);
        let mut entries = unit.unit.entries_raw(None)?;
        let mut attributes = Vec::new();
        // Concrete functions around the present entry: (depth, entry).
        let mut around: Vec<(isize, UnitOffset)> = Vec::new();
        let mut pending = 0;
        let mut nodes = 0;
        let most_nodes = (self.positions.len() * NODES_OF_AN_ADDRESS + FEW_NODES).min(MAX_NODES);
        while !entries.is_empty() && nodes < most_nodes {
            pending += 1;
            if pending == 1024 {
                if !self.budget.take(pending) {
                    break;
                }
                pending = 0;
            }
            let depth = entries.next_depth();
            let entry = entries.next_offset();
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
            entries.read_attributes(abbreviation.attributes(), &mut attributes)?;
            while around.last().is_some_and(|&(outer, _)| outer >= depth) {
                around.pop();
            }
            if !inlined {
                around.push((depth, entry));
            }
            let Some(&(_, function)) = around.last() else {
                continue;
            };
            let matched = self.matching(unit, &attributes, chains, |chain| {
                if inlined {
                    // Only inside the function that holds the address, and only below what was found last.
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
            let name = self.name(unit, &attributes);
            let (call_file, call_line) = call_site(&attributes);
            nodes += matched.len();
            for at in matched {
                chains[at].push(Node {
                    depth,
                    entry,
                    name,
                    call_file,
                    call_line,
                });
            }
        }
        self.budget.take(pending);
        Ok(())
    }

    /// Which of the addresses lie in an entry's ranges and may still take it.
    fn matching(
        &self,
        unit: UnitRef<'_, Slice<'a>>,
        attributes: &[Attribute<Slice<'a>>],
        chains: &[Vec<Node<'a>>],
        may_take: impl Fn(&[Node<'a>]) -> bool,
    ) -> Vec<usize> {
        let mut matched = Vec::new();
        ranges_of(unit, attributes, self.budget, |begin, end| {
            let first = self
                .positions
                .partition_point(|&position| self.addresses[position] < begin);
            let inside = self.positions[first..]
                .iter()
                .take_while(|&&position| self.addresses[position] < end)
                .count();
            if inside > 0 && self.budget.take(inside) {
                matched.extend((first..first + inside).filter(|&at| may_take(&chains[at])));
            }
        });
        matched.sort_unstable();
        matched.dedup();
        matched
    }

    /// The names of an entry, its own or those of what it is an instance of.
    fn name(
        &mut self,
        unit: UnitRef<'_, Slice<'a>>,
        attributes: &[Attribute<Slice<'a>>],
    ) -> Name<'a> {
        let (mut name, mut origin) = names_of(unit, attributes);
        let mut id = self.id;
        for _ in 0..MAX_ORIGINS {
            if name.linkage.is_some() && name.name.is_some() {
                break;
            }
            let Some(value) = origin.take() else { break };
            let Some((next_id, offset)) = self.target(id, value) else {
                break;
            };
            id = next_id;
            let place = self.index.global(id, offset);
            let known = self.origins.get(&place).copied();
            let (theirs, further) = match known {
                Some(name) => (name, None),
                None => self.read_names(id, offset),
            };
            name.linkage = name.linkage.or(theirs.linkage);
            name.name = name.name.or(theirs.name);
            if further.is_none() && known.is_none() {
                self.origins.insert(place, theirs);
            }
            origin = further;
        }
        name
    }

    /// The unit and offset a reference means, seen from unit `id`.
    fn target(&self, id: usize, value: AttributeValue<Slice<'a>>) -> Option<(usize, UnitOffset)> {
        match value {
            AttributeValue::UnitRef(offset) => Some((id, offset)),
            // Split units cannot refer to each other.
            AttributeValue::DebugInfoRef(entry) if self.unit.split.is_none() => {
                self.index.locate(entry.0)
            }
            _ => None,
        }
    }

    fn read_names(
        &self,
        id: usize,
        offset: UnitOffset,
    ) -> (Name<'a>, Option<AttributeValue<Slice<'a>>>) {
        let read = || {
            let unit = self.index.units.get(id)?.entries_in(self.index.dwarf);
            let mut entries = unit.unit.entries_raw(Some(offset)).ok()?;
            let abbreviation = entries.read_abbreviation().ok()??;
            let mut attributes = Vec::new();
            entries
                .read_attributes(abbreviation.attributes(), &mut attributes)
                .ok()?;
            Some(names_of(unit, &attributes))
        };
        read().unwrap_or_default()
    }
}

/// The names among an entry's attributes, and what it is an instance of.
fn names_of<'a>(
    unit: UnitRef<'_, Slice<'a>>,
    attributes: &[Attribute<Slice<'a>>],
) -> (Name<'a>, Option<AttributeValue<Slice<'a>>>) {
    let mut name = Name::default();
    let mut origin = None;
    for attribute in attributes {
        match attribute.name() {
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                name.linkage = unit.attr_string(attribute.value()).ok()
            }
            gimli::DW_AT_name => name.name = unit.attr_string(attribute.value()).ok(),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                origin = Some(attribute.value())
            }
            _ => {}
        }
    }
    (name, origin)
}

fn call_site(attributes: &[Attribute<Slice<'_>>]) -> (Option<u64>, Option<u32>) {
    let (mut file, mut line) = (None, None);
    for attribute in attributes {
        match attribute.name() {
            gimli::DW_AT_call_file => {
                file = match attribute.value() {
                    AttributeValue::FileIndex(index) => Some(index),
                    value => value.udata_value(),
                }
            }
            gimli::DW_AT_call_line => {
                line = attribute
                    .udata_value()
                    .and_then(|line| u32::try_from(line).ok())
                    .filter(|&line| line > 0);
            }
            _ => {}
        }
    }
    (file, line)
}

/// Linkage name, bare name, file.
type NameKey<'a> = (&'a [u8], &'a [u8], Option<Shared>);

/// Turns nodes into frames, sharing strings within a unit.
struct Render<'r, 'a> {
    files: Files<'r, 'a>,
    rust: bool,
    index: &'r Index<'a>,
    table: &'r Table<'r>,
    /// The name to show and the linkage name.
    functions: HashMap<NameKey<'a>, (Shared, Option<Shared>)>,
}

impl<'r, 'a> Render<'r, 'a> {
    fn frames(
        &mut self,
        chain: &[Node<'a>],
        place: Option<lines::Place>,
        address: u64,
    ) -> Vec<SourceFrame> {
        let mut frames = Vec::with_capacity(chain.len());
        let mut file = place.and_then(|place| self.files.name(place.file));
        let mut line = place.and_then(|place| place.line);
        for (depth, node) in chain.iter().enumerate().rev() {
            let inlined = depth > 0;
            // An inlined function nobody named would only be a hole in the stack: its caller takes the place.
            if let Some((function, raw)) =
                self.function(node.name, file.as_ref(), (!inlined).then_some(address))
            {
                frames.push(SourceFrame {
                    function,
                    raw,
                    file: file.clone(),
                    line,
                    inlined,
                    aliases: Vec::new(),
                });
            }
            if inlined {
                file = node.call_file.and_then(|file| self.files.name(file));
                line = node.call_line;
            }
        }
        frames
    }

    /// The name to show and the linkage name. `address` is given for concrete functions: they are in the symbol table.
    fn function(
        &mut self,
        name: Name<'a>,
        file: Option<&Shared>,
        address: Option<u64>,
    ) -> Option<(Shared, Option<Shared>)> {
        let linkage = name.linkage.map_or(&[][..], |linkage| linkage.slice());
        let bare = name.name.map_or(&[][..], |name| name.slice());
        let from_table = linkage.is_empty() && address.is_some();
        let key = (
            linkage,
            bare,
            if linkage.is_empty() {
                file.cloned()
            } else {
                None
            },
        );
        if !from_table && let Some(known) = self.functions.get(&key) {
            return Some(known.clone());
        }
        let bare_text = Some(text(bare)).filter(|name| !name.is_empty());
        let made = if !linkage.is_empty() {
            let linkage = text(linkage);
            (
                names::join(&linkage, bare_text.as_deref()).into(),
                Some(Shared::from(linkage)),
            )
        } else if let Some(symbol) =
            address.and_then(|address| self.symbol(address, bare_text.as_deref()))
        {
            (
                names::join(symbol, bare_text.as_deref()).into(),
                Some(Shared::from(symbol)),
            )
        } else {
            let bare = bare_text?;
            let module = file
                .filter(|_| self.rust)
                .and_then(|file| self.index.roots.module(file));
            (names::under_module(module.as_deref(), &bare).into(), None)
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
