//! The symbol table of a file: function names by address, for addresses without debug information.
//! It must never name a function whose extent does not hold the address.

use object::{Object, ObjectSymbol, SymbolKind};

/// Functions of a file, by address.
#[derive(Default)]
pub(super) struct Table<'a> {
    /// Sorted by start; equal starts are aliases.
    symbols: Vec<Symbol<'a>>,
}

struct Symbol<'a> {
    start: u64,
    /// Exclusive.
    end: u64,
    name: &'a str,
}

/// Number of symbols before an address that are checked: functions overlap only in hand-written
/// assembly.
const LOOK_BACK: usize = 16;
/// The longest extent of a symbol without a size, bytes. It ends at the next symbol. Farther away,
/// a function whose name was stripped is more likely.
const MAX_UNSIZED_BYTES: u64 = 4096;

impl<'a> Table<'a> {
    /// Reads `.symtab`, and `.dynsym` when that has no functions.
    pub(super) fn read(object: &object::File<'a>) -> Table<'a> {
        let mut symbols = functions(object.symbols());
        if symbols.is_empty() {
            symbols = functions(object.dynamic_symbols());
        }
        symbols.sort_by_key(|symbol| symbol.start);
        give_extents(&mut symbols);
        Table { symbols }
    }

    /// The linkage names of the function at an address, aliases included; none if no function holds
    /// it.
    pub(super) fn names(&self, address: u64) -> impl Iterator<Item = &'a str> {
        let symbols = &self.symbols;
        let before = symbols.partition_point(|symbol| symbol.start <= address);
        let before = symbols[..before].iter().rev();
        let holds = move |symbol: &&Symbol<'_>| symbol.end > address;
        let start = before.clone().take(LOOK_BACK).find(holds);
        let start = start.map(|symbol| symbol.start);
        before
            .skip_while(move |symbol| Some(symbol.start) != start)
            .take_while(move |symbol| Some(symbol.start) == start)
            .filter(holds)
            .map(|symbol| symbol.name)
    }
}

fn functions<'a>(symbols: impl Iterator<Item = impl ObjectSymbol<'a>>) -> Vec<Symbol<'a>> {
    symbols
        .filter(|symbol| symbol.is_definition() && symbol.address() != 0)
        .filter(|symbol| match symbol.kind() {
            SymbolKind::Text => true,
            // Labels of assembly files. A symbol with a size and no type is data.
            SymbolKind::Unknown | SymbolKind::Label => symbol.size() == 0,
            _ => false,
        })
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            let start = symbol.address();
            Some(Symbol {
                start,
                end: start.saturating_add(symbol.size()),
                name,
            })
        })
        .collect()
}

/// Gives sorted symbols without a size the gap up to the next one, and drops those inside a
/// function.
fn give_extents(symbols: &mut Vec<Symbol<'_>>) {
    let mut covered_to = 0;
    symbols.retain(|symbol| {
        let inside = symbol.start == symbol.end && symbol.start < covered_to;
        covered_to = covered_to.max(symbol.end);
        !inside
    });
    let mut next_start = u64::MAX;
    let mut this_start = u64::MAX;
    for symbol in symbols.iter_mut().rev() {
        if symbol.start != this_start {
            next_start = this_start;
            this_start = symbol.start;
        }
        if symbol.start == symbol.end {
            symbol.end = next_start.min(symbol.start.saturating_add(MAX_UNSIZED_BYTES));
        }
    }
}
