//! Small binaries whose debug information refers to far more data than it contains. They are
//! written here byte by byte.

use crate::parts::seal;
use crate::rich::rich;
use crate::{SMALL_FILE_BYTES, alone, golden, hold, place, write};
use heapglass_profiler::profile::Profile;
use heapglass_profiler::{OpenOptions, open};
use std::fs::File;
use std::path::Path;

/// Returns an ELF file with these sections.
fn elf(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    const HEADER: usize = 64;
    const SYMTAB: u32 = 2;
    const STRTAB: u32 = 3;
    let mut names = vec![0];
    let mut bytes = vec![0; HEADER];
    let mut headers = vec![vec![0; 64]];
    let mut add = |name: &str, kind: u32, contents: &[u8], bytes: &mut Vec<u8>| {
        let mut header = vec![0; 64];
        header[0..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        let contents = if name == ".shstrtab" {
            &names
        } else {
            contents
        };
        if kind == SYMTAB {
            // The strings are in the next section, and each symbol has 24 bytes.
            header[40..44].copy_from_slice(&(headers.len() as u32 + 1).to_le_bytes());
            header[56..64].copy_from_slice(&24_u64.to_le_bytes());
        }
        header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        bytes.extend_from_slice(contents);
        headers.push(header);
    };
    for (name, contents) in sections {
        let kind = match *name {
            ".symtab" => SYMTAB,
            ".strtab" => STRTAB,
            _ => 1,
        };
        add(name, kind, contents, &mut bytes);
    }
    add(".shstrtab", STRTAB, &[], &mut bytes);
    let table = bytes.len() as u64;
    let count = headers.len() as u16;
    bytes.extend(headers.concat());
    bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // A shared object for x86-64 of version 1.
    bytes[16..24].copy_from_slice(&[3, 0, 62, 0, 1, 0, 0, 0]);
    bytes[40..48].copy_from_slice(&table.to_le_bytes());
    bytes[52..54].copy_from_slice(&(HEADER as u16).to_le_bytes());
    bytes[58..64].copy_from_slice(&[64_u16, count, count - 1].map(u16::to_le_bytes).concat());
    bytes
}

/// Returns units of DWARF version 4, each with a table of abbreviations and the bytes after its
/// first code.
fn units(
    count: u32,
    abbreviations: impl Fn(u32) -> u32,
    entry: impl Fn(u32) -> Vec<u8>,
) -> Vec<u8> {
    let unit = |index| {
        let entry = entry(index);
        let mut unit = (entry.len() as u32 + 8).to_le_bytes().to_vec();
        unit.extend(4_u16.to_le_bytes());
        unit.extend(abbreviations(index).to_le_bytes());
        unit.extend([8, 1]);
        unit.extend(entry);
        unit
    };
    (0..count).flat_map(unit).collect()
}

/// Opens a recording of such a binary, within the limits of a small one. Returns the notes about
/// missing parts.
fn notes(name: &str, bytes: &[u8]) -> Vec<String> {
    profile(name, bytes).lost().notes.clone()
}

/// Opens a recording of such a binary, within the limits of a small one.
fn profile(name: &str, bytes: &[u8]) -> Profile {
    assert!(bytes.len() < SMALL_FILE_BYTES, "{} bytes", bytes.len());
    let _alone = alone();
    let path = place(name);
    write(&path, bytes, None);
    let addresses: Vec<u64> = (0..200).map(|index| 0x1007 + index * 16).collect();
    recorded(&path, bytes.len(), &addresses)
}

/// Opens a recording of the binary at `path` with frames at these addresses.
fn recorded(path: &Path, bytes: usize, addresses: &[u64]) -> Profile {
    let binary = path.to_str().expect("UTF-8");
    let mut recording = rich(&golden("native.hg"), binary, addresses).bytes();
    seal(&mut recording);
    let recorded = path.with_extension("hg");
    write(&recorded, &recording, None);
    let mut profile = None;
    let mut seen = Default::default();
    hold(bytes, &mut seen, || {
        let opened = open(&recorded, &OpenOptions::default(), &|_| ()).expect("a recording");
        profile = Some(opened);
        true
    })
    .expect("within the limits");
    println!("{binary}: {seen:?}");
    profile.expect("opened")
}

/// A DW_TAG_compile_unit without children: low_pc (address), high_pc (data4), and another attribute
/// of form sec_offset.
fn compile_unit(attribute: u8) -> Vec<u8> {
    vec![1, 0x11, 0, 0x11, 0x01, 0x12, 0x06, attribute, 0x17, 0, 0, 0]
}

fn with_offset(index: u32, offset: u32) -> Vec<u8> {
    let mut entry = (0x1000 + u64::from(index) * 16).to_le_bytes().to_vec();
    entry.extend(16_u32.to_le_bytes());
    entry.extend(offset.to_le_bytes());
    entry
}

const STMT_LIST: u8 = 0x10;
const RANGES: u8 = 0x55;

#[test]
fn thousands_of_units_with_one_large_line_table_do_not_each_keep_it() {
    let mut table = vec![1, 1, 1, 0, 1, 1, 0];
    for _ in 0..60_000 {
        table.extend(b"a\0\0\0\0");
    }
    table.push(0);
    let mut line = (table.len() as u32 + 6).to_le_bytes().to_vec();
    line.extend(4_u16.to_le_bytes());
    line.extend((table.len() as u32).to_le_bytes());
    line.extend(table);
    let binary = elf(&[
        (".debug_abbrev", compile_unit(STMT_LIST)),
        (
            ".debug_info",
            units(15_000, |_| 0, |index| with_offset(index, 0)),
        ),
        (".debug_line", line),
    ]);
    let notes = notes("lines.so", &binary);
    assert!(
        notes.iter().any(|note| note.contains("is broken")),
        "{notes:?}"
    );
}

#[test]
fn thousands_of_units_with_one_long_list_of_ranges_end_soon() {
    let mut ranges = Vec::new();
    for index in 0..18_000_u64 {
        ranges.extend((0x1000 + index).to_le_bytes());
        ranges.extend((0x100_0000 + index).to_le_bytes());
    }
    ranges.extend([0; 16]);
    let abbreviation = vec![1, 0x11, 0, 0x11, 0x01, 0x12, 0x06, RANGES, 0x17, 0, 0, 0];
    let binary = elf(&[
        (".debug_abbrev", abbreviation),
        (
            ".debug_info",
            units(15_000, |_| 0, |index| with_offset(index, 0)),
        ),
        (".debug_ranges", ranges),
    ]);
    notes("ranges.so", &binary);
}

#[test]
fn tables_of_abbreviations_inside_each_other_are_refused() {
    let mut abbreviations = Vec::new();
    for code in 0..50_000_u32 {
        // The codes need three bytes, and each table is one declaration shorter than the one
        // before.
        let code = code + 0x4000;
        abbreviations.extend([
            code as u8 | 0x80,
            (code >> 7) as u8 | 0x80,
            (code >> 14) as u8,
        ]);
        abbreviations.extend([0x11, 0, 0, 0]);
    }
    abbreviations.push(0);
    let binary = elf(&[
        (".debug_abbrev", abbreviations),
        (
            ".debug_info",
            units(20_000, |index| index * 7, |_| vec![0; 4]),
        ),
    ]);
    let notes = notes("abbreviations.so", &binary);
    assert!(
        notes.iter().any(|note| note.contains("overlap")),
        "{notes:?}"
    );
}

#[test]
fn a_sparse_binary_of_gigabytes_is_not_read_whole() {
    let path = place("sparse.so");
    let binary = elf(&[(".debug_info", vec![1; 64]), (".symtab", vec![0; 24])]);
    write(&path, &binary, Some(7 << 30));
    let _alone = alone();
    let notes = recorded(&path, binary.len(), &[63]).lost().notes.clone();
    File::create(&path).expect("an empty file again");
    assert!(notes.iter().any(|note| note.contains("empty")), "{notes:?}");
}

/// Returns a binary whose symbol table names a function at each address that [`symbols`] uses.
fn with_names(name: impl Fn(u64) -> String) -> Vec<u8> {
    let mut strings = vec![0];
    let mut symbols = vec![0; 24];
    for index in 0..200_u64 {
        symbols.extend((strings.len() as u32).to_le_bytes());
        // A global function in the first section.
        symbols.extend([0x12, 0, 1, 0]);
        symbols.extend((0x1000 + index * 16).to_le_bytes());
        symbols.extend(16_u64.to_le_bytes());
        strings.extend(name(index).as_bytes());
        strings.push(0);
    }
    elf(&[(".symtab", symbols), (".strtab", strings)])
}

#[test]
fn names_of_cpp_that_keep_a_demangler_busy_stay_mangled() {
    let names: [(&str, &dyn Fn(u64) -> String); 6] = [
        // Each level of these is parsed twice.
        ("busy", &|index| {
            format!("_ZN4F{index:03}cvT_I{}i", "T_I".repeat(14))
        }),
        ("new", &|index| {
            format!("_ZN4F{index:03}3runIX{}A", "nw".repeat(30))
        }),
        // Each type name is twice as long as the one before.
        ("doubling", &|index| {
            let numbers = "0123456789ABCDEFGHIJ".chars();
            let types: String = numbers
                .map(|number| format!("1bIS{number}_S{number}_E"))
                .collect();
            format!("_ZN4F{index:03}I1aIiE1bIS_S_E{types}E3runEv")
        }),
        ("deep", &|index| {
            format!("_ZN4F{index:03}3runE{}i", "P".repeat(4000))
        }),
        ("unclosed", &|index| {
            format!("_ZN4F{index:03}{}", "I1a".repeat(1000))
        }),
        ("long", &|index| {
            format!("_ZN4000F{index:03}{}E", "a".repeat(3996))
        }),
    ];
    for (what, name) in names {
        let found = profile(&format!("cpp-{what}.so"), &with_names(name));
        let is_known = |function: &str| function.contains("F010") || function.starts_with("_Z");
        let functions = found.functions().iter();
        let known = functions.filter(|function| is_known(&function.name));
        assert_ne!(known.count(), 0, "{what}");
    }
}

#[test]
fn a_name_of_cpp_is_demangled() {
    let name = |index| format!("_ZN3app4Load4f{index:03}Ei");
    let found = profile("cpp.so", &with_names(name));
    let functions: Vec<&str> = found
        .functions()
        .iter()
        .map(|function| &*function.name)
        .collect();
    assert!(functions.contains(&"app::Load::f007(int)"), "{functions:?}");
}
