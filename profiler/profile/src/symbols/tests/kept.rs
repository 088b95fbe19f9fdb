//! The cache: the same answers without the files, and nothing taken from a file that is not whole.

use super::programs::*;
use super::*;

struct Kept {
    _folder: tempfile::TempDir,
    cache: PathBuf,
    binary: PathBuf,
    identity: Identity,
    extent: std::ops::Range<u64>,
}

impl Kept {
    fn new() -> Kept {
        let folder = tempfile::tempdir().expect("a folder");
        let binary = build(folder.path(), "shapes", SHAPES, &["-Cdebuginfo=1"]);
        let extent = function(&binary, "::fill");
        let identity = module(&binary).identity;
        Kept {
            cache: folder.path().join("cache/heapglass"),
            _folder: folder,
            binary,
            identity,
            extent,
        }
    }

    fn resolve(&self, frames: &[(u32, u64)]) -> Symbols {
        let module = ModuleRef {
            path: self.binary.to_str().expect("UTF-8"),
            identity: self.identity.clone(),
        };
        let options = SymbolOptions {
            cache: Some(self.cache.clone()),
            ..SymbolOptions::default()
        };
        resolve(&[module], frames, &options, &|_| ()).expect("resolving")
    }

    fn file(&self) -> PathBuf {
        let mut files: Vec<_> = std::fs::read_dir(&self.cache)
            .expect("listing")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

#[test]
fn what_was_resolved_once_needs_no_file_again() {
    let kept = Kept::new();
    let frames = raw_frames(&kept.extent);
    let first = kept.resolve(&frames);
    assert!(has(&first, "shapes::shapes::Grid<T>::fill<u16>", 9));
    std::fs::remove_file(&kept.binary).expect("removing the binary");
    let again = kept.resolve(&frames);
    assert_eq!(first.frames, again.frames);
    assert_eq!(first.modules, again.modules);
    // Only for what was asked before; the rest is reported.
    let more = kept.resolve(&[(0, kept.extent.start + 1), (0, kept.extent.end + 64)]);
    assert!(!more.frames[0].is_empty() && more.frames[1].is_empty());
    assert!(
        more.notes
            .iter()
            .any(|note| note.contains("not in the symbol cache")),
        "{:?}",
        more.notes
    );
}

#[test]
fn new_addresses_join_the_old_ones() {
    let kept = Kept::new();
    let frames = raw_frames(&kept.extent);
    let (half, rest) = frames.split_at(frames.len() / 2);
    kept.resolve(half);
    kept.resolve(rest);
    std::fs::remove_file(&kept.binary).expect("removing the binary");
    assert!(
        kept.resolve(&frames)
            .frames
            .iter()
            .all(|chain| !chain.is_empty())
    );
}

#[test]
fn a_damaged_cache_is_as_good_as_none() {
    let kept = Kept::new();
    let frames = raw_frames(&kept.extent);
    let first = kept.resolve(&frames);
    let whole = std::fs::read(kept.file()).expect("reading the cache");
    for cut in (0..whole.len()).step_by(whole.len() / 40) {
        std::fs::write(kept.file(), &whole[..cut]).expect("writing the cache");
        assert_eq!(
            kept.resolve(&frames[..4]).frames,
            first.frames[..4],
            "cut at {cut}"
        );
    }
    for at in (0..whole.len()).step_by(whole.len() / 200) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let Identity::BuildId(id) = &kept.identity else {
            unreachable!("built with one")
        };
        std::fs::write(kept.file(), &bytes).expect("writing the cache");
        assert!(
            cache::read(&kept.cache, id).is_none(),
            "a flip at {at} went unnoticed"
        );
    }
    let Identity::BuildId(id) = &kept.identity else {
        unreachable!("built with one")
    };
    std::fs::write(kept.file(), &whole).expect("writing the cache");
    assert!(cache::read(&kept.cache, id).is_some());
}

#[cfg(unix)]
#[test]
fn the_cache_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let kept = Kept::new();
    kept.resolve(&raw_frames(&kept.extent));
    let mode = |path: &Path| {
        std::fs::metadata(path)
            .expect("metadata")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode(&kept.file()), mode(&kept.cache)), (0o600, 0o700));
}

#[test]
fn poorer_symbols_in_the_cache_do_not_hide_better_ones() {
    let kept = Kept::new();
    let frames = raw_frames(&kept.extent);
    let whole = std::fs::read(&kept.binary).expect("reading the binary");
    // As if it had been stripped when it was looked at first: the build-id is the same.
    let Ok(status) = heapglass_limits::Command::new("strip")
        .arg("--strip-debug")
        .arg(&kept.binary)
        .status()
    else {
        return;
    };
    assert!(status.success());
    assert!(matches!(
        kept.resolve(&frames).modules[0],
        SymbolSource::Table(_)
    ));
    std::fs::write(&kept.binary, whole).expect("writing the binary");
    assert!(has(
        &kept.resolve(&frames),
        "shapes::shapes::Grid<T>::fill<u16>",
        9
    ));
}

#[test]
fn names_found_while_a_file_could_not_be_read_are_not_kept() {
    if !has_tool("objcopy") || !has_tool("strip") {
        return;
    }
    let kept = Kept::new();
    let frames = raw_frames(&kept.extent);
    let debug = kept.binary.with_extension("debug");
    run(heapglass_limits::Command::new("objcopy")
        .arg("--only-keep-debug")
        .args([&kept.binary, &debug]));
    run(heapglass_limits::Command::new("strip")
        .arg("--strip-debug")
        .arg(&kept.binary));
    // Its headers are sound, but nearly all of it is a hole.
    let file = std::fs::File::options().write(true).open(&debug);
    let file = file.expect("the debug file");
    file.set_len(1 << 30).expect("a length");
    let found = kept.resolve(&frames);
    assert!(
        found.notes.iter().any(|note| note.contains("is empty")),
        "{:?}",
        found.notes
    );
    assert!(matches!(found.modules[0], SymbolSource::Table(_)));
    assert!(!kept.cache.exists());
}

#[test]
fn the_oldest_symbols_make_room_for_new_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = std::time::SystemTime::now();
    for (age, name) in ["c.symbols", "b.symbols", "a.symbols", "notes.txt"]
        .iter()
        .enumerate()
    {
        let file = std::fs::File::create(folder.path().join(name)).expect("a file");
        file.set_len(100).expect("a length");
        let age = std::time::Duration::from_secs(60 * age as u64);
        file.set_modified(now - age).expect("a time");
    }
    cache::forget_oldest(folder.path(), 250).expect("forgetting");
    let mut left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("listing")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    left.sort();
    // Only our own files are touched.
    assert_eq!(left, ["b.symbols", "c.symbols", "notes.txt"]);
}
