//! Cores that lack something, that are of something else, and that are hostile.

use super::*;
use crate::image::error::{Kind, Why};
use crate::image::glibc;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::ops::Range;

/// Returns a small program's core, and the program, which must live as long.
fn small() -> (Waiting, PathBuf) {
    let program = Waiting::of_c(TRUTH, &["2"]);
    let core = program.core();
    (program, core)
}

fn kind_of(path: &Path, binary: Option<&Path>) -> Kind {
    let image = Image::of_core(path, binary);
    image.expect_err("no image").kind
}

fn word(bytes: &[u8], at: usize) -> u64 {
    word_at(bytes, at)
}

/// Returns the program headers of a core, each with its place.
fn headers(core: &[u8]) -> Vec<Range<usize>> {
    let count = usize::from(u16::from_le_bytes([core[56], core[57]]));
    let places = (0..count).map(|header| 64 + 56 * header..120 + 56 * header);
    places.collect()
}

#[test]
fn a_core_that_is_cut_anywhere_is_refused_and_says_how_much_is_missing() {
    let (program, core) = small();
    let bytes = std::fs::read(&core).expect("a core");
    let cut = program.folder.path().join("cut");
    let mut ends = vec![64, 70, 600];
    for header in headers(&bytes) {
        let (at, length) = (
            word(&bytes, header.start + 8),
            word(&bytes, header.start + 32),
        );
        if length > 0 {
            ends.extend([at as usize + 1, (at + length - 1) as usize]);
        }
    }
    for end in ends {
        std::fs::write(&cut, &bytes[..end]).expect("a file");
        let kind = kind_of(&cut, None);
        assert!(
            matches!(
                kind,
                Kind::Truncated {
                    missing_bytes: 1..,
                    ..
                }
            ),
            "{end}: {kind:?}"
        );
    }
    std::fs::write(&cut, &bytes[..63]).expect("a file");
    assert!(matches!(kind_of(&cut, None), Kind::NotACore));
}

#[test]
fn a_core_without_the_memory_of_the_heap_is_refused() {
    let (program, core) = small();
    let mut bytes = std::fs::read(&core).expect("a core");
    let image = Image::of_core(&core, None).expect("an image");
    let found = glibc::blocks(&image).expect("blocks");
    let heap = found.live[0].address;
    let path = program.folder.path().join("filtered");
    let without = |bytes: &mut Vec<u8>, of: &dyn Fn(u64, u32) -> bool| {
        for header in headers(bytes) {
            let (start, flags) = (word(bytes, header.start + 16), bytes[header.start + 4]);
            if bytes[header.start] == 1 && of(start, flags.into()) {
                bytes[header.start + 32..header.start + 40].fill(0);
            }
        }
        std::fs::write(&path, bytes).expect("a file");
    };
    // One mapping, as MADV_DONTDUMP leaves it out.
    let start = image.mapping(heap).expect("a mapping").range.start;
    without(&mut bytes, &|at, _| at == start);
    let image = Image::of_core(&path, None).expect("an image");
    let why = glibc::blocks(&image).expect_err("no blocks");
    assert!(matches!(why, Why::Missing(_)), "{why}");
    assert!(why.to_string().contains("coredump_filter"), "{why}");
    // All of them, as a filter does.
    without(&mut bytes, &|at, flags| {
        flags & 2 != 0 && image.mapping(at).is_some_and(|of| of.inode == 0)
    });
    assert!(matches!(kind_of(&path, None), Kind::Filtered));
}

#[test]
fn compressed_files_and_others_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("core.zst");
    for (start, command) in [
        (&b"\x28\xb5\x2f\xfd"[..], "zstd -d"),
        (b"\x04\x22\x4d\x18", "lz4 -d"),
        (b"\xfd7zXZ\0", "xz -dc"),
        (b"\x1f\x8b", "gzip -dc"),
    ] {
        let mut bytes = start.to_vec();
        bytes.resize(200, 7);
        std::fs::write(&path, bytes).expect("a file");
        assert!(Image::is_core(&path));
        let error = Image::of_core(&path, None).expect_err("no image");
        assert!(error.to_string().contains(command), "{error}");
    }
    for other in ["/bin/sh", "/dev/null", "/proc/self/maps", "/nonexistent"] {
        assert!(!Image::is_core(Path::new(other)), "{other}");
        assert!(Image::of_core(Path::new(other), None).is_err(), "{other}");
    }
}

#[test]
fn another_executable_is_refused() {
    let (program, core) = small();
    let own = program.folder.path().join("program");
    let image = Image::of_core(&core, Some(&own)).expect("an image");
    assert_eq!(Path::new(image.executable()), own);
    let kind = kind_of(&core, Some(Path::new("/bin/sh")));
    assert!(matches!(kind, Kind::OtherBinary { .. }), "{kind:?}");
    // A file that was replaced is not read: its pages would be those of another build.
    std::fs::copy("/bin/sh", &own).unwrap_err();
    std::fs::remove_file(&own).expect("removed");
    std::fs::copy("/bin/sh", &own).expect("copied");
    let image = Image::of_core(&core, None).expect("an image");
    assert!(
        image
            .notes
            .iter()
            .any(|note| note.contains("another build"))
    );
    let code = image.mappings.iter();
    let mut code = code.filter(|of| of.name == image.executable() && !of.is_writable);
    let code = code.find(|of| of.offset > 0).expect("code");
    assert!(image.word(code.range.start).is_none());
}

/// Memory with changed words.
struct Changed {
    image: Image,
    words: Vec<(u64, u64)>,
}

impl Memory for Changed {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.image.read(address, buffer)?;
        for (at, word) in &self.words {
            for (byte, at) in word.to_le_bytes().into_iter().zip(*at..) {
                let inside = at.checked_sub(address).map(|at| at as usize);
                if let Some(place) = inside.and_then(|inside| buffer.get_mut(inside)) {
                    *place = byte;
                }
            }
        }
        Ok(())
    }
}

#[test]
fn changed_heaps_have_blocks_or_a_reason_and_never_a_panic() {
    let (_program, core) = small();
    let image = || Image::of_core(&core, None).expect("an image");
    let first = image();
    let found = glibc::blocks(&first).expect("blocks");
    // Headers of chunks, links of lists, arenas and settings.
    let arena = glibc::main_arena_of(&first);
    let mut places: Vec<u64> = (0..275).map(|word| arena + 8 * word).collect();
    places.extend((0..400).map(|word| arena - 3200 + 8 * word));
    for block in &found.live {
        places.extend([block.address - 8, block.address, block.address + 8]);
        places.push(block.address + block.usable_bytes);
    }
    for range in &found.ranges {
        places.extend((0..100).map(|word| range.start + 8 * word));
    }
    let some_word = prop_oneof![
        Just(0_u64),
        Just(u64::MAX),
        Just(arena),
        any::<u64>(),
        0..4096_u64,
        prop::sample::select(places.clone()),
    ];
    let changes = prop::collection::vec((prop::sample::select(places), some_word), 1..6);
    let mut refused = 0;
    let mut runner = TestRunner::new(ProptestConfig::with_cases(300));
    let is_done = runner.run(&changes, |words| {
        let changed = Image {
            memory: Box::new(Changed {
                image: image(),
                words,
            }),
            ..image()
        };
        let _ = glibc::blocks(&changed);
        Ok(())
    });
    is_done.expect("no panic");
    for (at, word) in [
        (arena + 96, 8),
        (arena + 2160, arena + 8),
        (arena + 2160, 0),
    ] {
        let changed = Image {
            memory: Box::new(Changed {
                image: image(),
                words: vec![(at, word)],
            }),
            ..image()
        };
        refused += usize::from(glibc::blocks(&changed).is_err());
    }
    assert_eq!(refused, 3);
}

#[test]
fn changed_cores_are_read_or_refused_and_never_a_panic() {
    let (program, core) = small();
    let bytes = std::fs::read(&core).expect("a core");
    let path = program.folder.path().join("changed");
    let end = headers(&bytes)[0].clone();
    let notes_end = (word(&bytes, end.start + 8) + word(&bytes, end.start + 32)) as usize;
    let byte = prop_oneof![Just(0_u8), Just(0xff), any::<u8>()];
    let changes = prop::collection::vec((0..notes_end, byte), 1..8);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(200));
    let file = std::fs::File::options();
    std::fs::copy(&core, &path).expect("a copy");
    let file = { file }.read(true).write(true).open(&path).expect("a file");
    let is_done = runner.run(&changes, |changes| {
        use std::os::unix::fs::FileExt;
        let mut start = bytes[..notes_end].to_vec();
        for (at, byte) in changes {
            start[at] = byte;
        }
        file.write_all_at(&start, 0).expect("written");
        if let Ok(image) = Image::of_core(&path, None) {
            let _ = glibc::blocks(&image);
            let registers = image.threads.iter().map(|of| of.registers.0.map(Some));
            let _ = unwind::frames(&image.mappings, &image, registers);
        }
        Ok(())
    });
    is_done.expect("no panic");
}
