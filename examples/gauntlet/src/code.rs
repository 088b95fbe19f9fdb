//! The size of the machine code that a variant needs, including the preparation of its input: the
//! functions that its code calls or takes the address of, the functions that those need, and so on.
//!
//! The figure is a lower bound: calls through tables (`dyn`) and into shared libraries are not
//! followed. Code that every variant has is left out: the allocator, the window, and the code for
//! panics. Must never guess: if the program has no symbols, or the machine is not x86-64, there is
//! no figure.

use iced_x86::{Decoder, DecoderOptions, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// The position and size of a function, by its address in the file.
pub(crate) struct Function {
    pub(crate) size: u64,
    /// `true` if it belongs to every variant.
    pub(crate) common: bool,
}

/// Returns the bytes of machine code reachable from the function at this address in this process.
pub(crate) fn reached_from(start: *const ()) -> Option<u64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let bytes = std::fs::read("/proc/self/exe").ok()?;
    let file = object::File::parse(bytes.as_slice()).ok()?;
    let functions = functions(&file);
    let slots = slots(&file);
    let start = (start as u64).checked_sub(loaded_at(&file)?)?;
    functions.get(&start)?;
    let mut reached = BTreeSet::from([start]);
    let mut todo = vec![start];
    let mut code_bytes = 0;
    while let Some(at) = todo.pop() {
        let function = functions.get(&at)?;
        code_bytes += function.size;
        for target in targets(code(&file, at, function.size)?, at) {
            // A call through the table of offsets.
            let target = slots.get(&target).copied().unwrap_or(target);
            let known = functions.get(&target).is_some_and(|known| !known.common);
            if known && reached.insert(target) {
                todo.push(target);
            }
        }
    }
    Some(code_bytes)
}

/// Returns all functions by address. A function with several names is common if one of its names
/// is.
pub(crate) fn functions(file: &object::File<'_>) -> BTreeMap<u64, Function> {
    let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
    let symbols = file.symbols();
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let known = functions.entry(symbol.address()).or_insert(Function {
            size: 0,
            common: false,
        });
        known.size = known.size.max(symbol.size());
        known.common |= symbol.name().is_ok_and(is_common);
    }
    functions
}

/// Returns the addresses that the loader writes into the program's data, by their position.
fn slots(file: &object::File<'_>) -> BTreeMap<u64, u64> {
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations
        .filter(|(_, relocation)| relocation.target() == RelocationTarget::Absolute)
        .map(|(slot, relocation)| (slot, relocation.addend() as u64))
        .collect()
}

/// Returns `true` if a function belongs to the allocator, the window, its instruments, or the code
/// for panics.
pub(crate) fn is_common(mangled: &str) -> bool {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    let name = name.rsplit("::__rustc::").next().unwrap_or(&name);
    ["__rust", "__rg_", "rust_begin_unwind", "_Unwind"]
        .iter()
        .any(|start| name.trim_start_matches("__rustc::").starts_with(start))
        || name.contains("GlobalAlloc")
        || name.contains("::panicking::")
        || name.contains("handle_alloc_error")
        || ["dhat::", "tracking_alloc::mark"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// Returns the difference between the loaded program's addresses and those in the file, from the
/// address of this function itself.
pub(crate) fn loaded_at(file: &object::File<'_>) -> Option<u64> {
    let own = file
        .symbols()
        .find(|symbol| symbol.name() == Ok("heapglass_gauntlet_landmark"))?;
    (landmark as *const () as u64).checked_sub(own.address())
}

#[unsafe(export_name = "heapglass_gauntlet_landmark")]
extern "C" fn landmark() {}

/// Returns the bytes of a function.
fn code<'data>(file: &object::File<'data>, at: u64, size: u64) -> Option<&'data [u8]> {
    file.sections()
        .find_map(|section| section.data_range(at, size).ok().flatten())
}

/// Returns the addresses that the code calls, jumps to, or takes.
fn targets(code: &[u8], at: u64) -> impl Iterator<Item = u64> {
    let decoder = Decoder::with_ip(64, code, at, DecoderOptions::NONE);
    decoder.into_iter().filter_map(|instruction| {
        if instruction.op0_kind() == OpKind::NearBranch64 {
            Some(instruction.near_branch_target())
        } else if instruction.is_ip_rel_memory_operand() {
            Some(instruction.ip_rel_memory_address())
        } else {
            None
        }
    })
}
