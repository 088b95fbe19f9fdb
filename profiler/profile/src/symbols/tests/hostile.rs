//! Files that are broken, cut short, or built to hurt: an answer or a sentence, never a panic, a
//! hang or a flood.

use super::programs::*;
use super::*;

/// Small enough to be resolved a thousand times.
const TINY: &str = r#"
#![no_std]
#![no_main]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[inline(always)]
fn twice(x: &mut [u64], by: u64) { for value in x.iter_mut() { *value = value.wrapping_mul(by).rotate_left(3); } }
#[no_mangle]
#[inline(never)]
pub extern "C" fn work(data: *mut u64, len: usize) -> u64 {
    // SAFETY: nobody calls this; the file is only read.
    let data = unsafe { core::slice::from_raw_parts_mut(data, len) };
    twice(data, 7);
    data.iter().copied().filter(|value| value % 3 == 0).map(|value| value / 5).fold(0, u64::wrapping_add)
}
"#;

fn tiny(folder: &Path) -> PathBuf {
    build(
        folder,
        "tiny",
        TINY,
        &[
            "--crate-type=cdylib",
            "-Cpanic=abort",
            "-Cdebuginfo=2",
            "-Clink-arg=-nostdlib",
            "-Clink-arg=-nostartfiles",
        ],
    )
}

/// Deterministic and good enough to choose what to break.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("below a usize")
    }
}

fn resolve_any_build(path: &Path, extent: &std::ops::Range<u64>) -> Symbols {
    let module = ModuleRef {
        path: path.to_str().expect("UTF-8"),
        identity: Identity::None,
    };
    resolve(
        &[module],
        &raw_frames(extent),
        &SymbolOptions::default(),
        &|_| (),
    )
    .expect("no --binary, no error")
}

#[test]
fn a_thousand_broken_binaries_never_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny(folder.path());
    let extent = function(&path, "work");
    let whole = std::fs::read(&path).expect("reading");
    let sound = resolve_any_build(&path, &extent);
    assert!(
        names_in(&sound).iter().any(|name| name.ends_with("twice")),
        "{:?}",
        names_in(&sound)
    );
    let sections = debug_extents(&whole);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let broken = folder.path().join("broken.so");
    for round in 0..1000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(8) {
            // Half of the blows hit the debug sections, the rest anywhere, headers included.
            let at = match random.below(2) {
                0 => random.below(bytes.len()),
                _ => {
                    let section = &sections[random.below(sections.len())];
                    section.start + random.below(section.len())
                }
            };
            bytes[at] = match random.below(3) {
                0 => 0xff,
                1 => 0,
                _ => bytes[at] ^ (1 << random.below(8)),
            };
        }
        std::fs::write(&broken, &bytes).expect("writing");
        let symbols = resolve_any_build(&broken, &extent);
        // A panic in a worker is caught and would show here.
        assert!(
            !symbols.notes.iter().any(|note| note.contains("is broken")),
            "round {round}: {:?}",
            symbols.notes
        );
    }
}

#[test]
fn a_binary_cut_anywhere_never_panics() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny(folder.path());
    let extent = function(&path, "work");
    let whole = std::fs::read(&path).expect("reading");
    let cut = folder.path().join("cut.so");
    for len in (0..whole.len()).step_by(whole.len() / 150) {
        std::fs::write(&cut, &whole[..len]).expect("writing");
        resolve_any_build(&cut, &extent);
    }
}

/// The extents of the debug sections in a file.
fn debug_extents(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    use object::{Object, ObjectSection};
    let object = object::File::parse(bytes).expect("parsing");
    let debug = object
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(".debug")));
    let extents: Vec<_> = debug
        .filter_map(|section| section.file_range())
        .map(|(start, len)| (start as usize)..(start + len) as usize)
        .filter(|extent| !extent.is_empty())
        .collect();
    assert!(!extents.is_empty());
    extents
}

#[test]
fn a_section_that_claims_to_be_huge_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny(folder.path());
    let extent = function(&path, "work");
    if !has_tool("objcopy") {
        return;
    }
    run(heapglass_limits::Command::new("objcopy")
        .arg("--compress-debug-sections=zlib")
        .arg(&path));
    let mut bytes = std::fs::read(&path).expect("reading");
    let mut packed = 0;
    for section in debug_extents(&bytes) {
        // Elf64_Chdr: type u32 (1 = zlib), reserved u32, size u64, alignment u64.
        if bytes[section.start..].starts_with(&[1, 0, 0, 0, 0, 0, 0, 0]) {
            bytes[section.start + 8..section.start + 16]
                .copy_from_slice(&(1_u64 << 31).to_le_bytes());
            packed += 1;
        }
    }
    assert!(packed > 0, "nothing was compressed");
    std::fs::write(&path, bytes).expect("writing");
    let symbols = resolve_any_build(&path, &extent);
    assert!(
        symbols
            .notes
            .iter()
            .any(|note| note.contains("once decompressed")),
        "{:?}",
        symbols.notes
    );
    // The symbol table still names the function.
    assert!(
        names_in(&symbols).contains("work"),
        "{:?}",
        names_in(&symbols)
    );
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    run(heapglass_limits::Command::new("mkfifo").arg(&pipe));
    for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
        let symbols = resolve_any_build(path, &(1..4));
        assert!(
            matches!(&symbols.modules[0], SymbolSource::Missing(why) if why.contains("not a regular file")),
            "{:?}",
            symbols.modules
        );
    }
}

#[test]
fn frames_that_make_no_sense_stay_unresolved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny(folder.path());
    let modules = [
        module(&path),
        ModuleRef {
            path: "[vdso]",
            identity: Identity::None,
        },
    ];
    let frames = [
        (0, 0),
        (0, u64::MAX),
        (0, 1),
        (1, 64),
        (2, 64),
        (u32::MAX, 1),
    ];
    let symbols =
        resolve(&modules, &frames, &SymbolOptions::default(), &|_| ()).expect("resolving");
    assert!(
        symbols.frames.iter().all(Vec::is_empty),
        "{:?}",
        symbols.frames
    );
    assert_eq!(symbols.frames.len(), frames.len());
    let nothing = resolve(&[], &frames, &SymbolOptions::default(), &|_| ()).expect("resolving");
    assert_eq!(
        (nothing.frames.len(), nothing.modules.len()),
        (frames.len(), 0)
    );
}
