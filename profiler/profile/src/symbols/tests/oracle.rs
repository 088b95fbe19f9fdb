//! Every address of a program against addr2line's answer: same functions, same files, same lines.

use gimli::{EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection};

use super::programs::*;
use super::*;

/// (linkage or bare name, file, line) from the inside out.
type Chain = Vec<(String, Option<String>, Option<u32>)>;

fn by_addr2line(binary: &Path, addresses: &[u64]) -> Vec<Chain> {
    let bytes = std::fs::read(binary).expect("reading the binary");
    let object = object::File::parse(&*bytes).expect("parsing the binary");
    let sections = gimli::DwarfSections::load(|id| -> Result<_, object::Error> {
        object
            .section_by_name(id.name())
            .map_or(Ok(Default::default()), |section| {
                section.uncompressed_data()
            })
    });
    let sections = sections.expect("loading the sections");
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, RunTimeEndian::Little));
    let context = addr2line::Context::from_dwarf(dwarf).expect("a context");
    addresses
        .iter()
        .map(|&address| {
            let mut frames = context
                .find_frames(address)
                .skip_all_loads()
                .expect("frames");
            let mut chain = Chain::new();
            while let Some(frame) = frames.next().expect("a frame") {
                let Some(function) = frame.function else {
                    continue;
                };
                let name = function.raw_name().expect("a name").into_owned();
                let location = frame.location.as_ref();
                let file = location
                    .and_then(|location| location.file)
                    .map(str::to_owned);
                chain.push((
                    name,
                    file,
                    location
                        .and_then(|location| location.line)
                        .filter(|&line| line > 0),
                ));
            }
            chain
        })
        .collect()
}

fn compare(flags: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = build(folder.path(), "shapes", SHAPES, flags);
    let mut addresses: Vec<u64> = functions(&binary)
        .into_iter()
        .flat_map(|(_, extent)| extent.step_by(13))
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    let frames: Vec<_> = addresses.iter().map(|&address| (0, address + 1)).collect();
    let symbols = resolve(
        &[module(&binary)],
        &frames,
        &SymbolOptions::default(),
        &|_| (),
    )
    .expect("resolving");
    let (mut compared, mut inlined) = (0, 0);
    for ((theirs, ours), address) in by_addr2line(&binary, &addresses)
        .iter()
        .zip(&symbols.frames)
        .zip(&addresses)
    {
        if theirs.is_empty() {
            // Not covered by debug information: at most the symbol table's one name.
            assert!(ours.len() <= 1, "{flags:?} {address:#x}: {ours:?}");
            continue;
        }
        assert_eq!(
            theirs.len(),
            ours.len(),
            "{flags:?} {address:#x}: {theirs:?} {ours:?}"
        );
        for ((name, file, line), frame) in theirs.iter().zip(ours) {
            let plain = |name| {
                let segments = crate::name::segments(name);
                segments.last().map_or("", |last| last.plain)
            };
            let base = plain(name);
            let same_name = frame.raw.as_deref() == Some(name)
                || plain(&frame.function) == base
                || base.starts_with('{');
            assert!(same_name, "{flags:?} {address:#x}: {name} {frame:?}");
            let file = file.as_deref().map(|file| file.replace("/./", "/"));
            assert_eq!(
                (file.as_deref(), *line),
                (frame.file.as_deref(), frame.line),
                "{flags:?} {address:#x} {name}"
            );
        }
        compared += 1;
        inlined += ours.len() - 1;
    }
    assert!(
        compared > 5000 && inlined > 5000,
        "{flags:?}: compared only {compared} addresses, {inlined} inlined frames"
    );
}

#[test]
fn every_address_has_the_frames_addr2line_finds() {
    compare(&["-Cdebuginfo=1"]);
    compare(&["-Cdebuginfo=line-tables-only", "-Clto=fat"]);
}
