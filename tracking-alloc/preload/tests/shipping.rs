//! The library as the build script makes it, and what it needs.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use heapglass_limits::Command;
use std::collections::BTreeSet;
use std::path::Path;

/// Returns the names and versions of the packages in a lock file.
fn packages(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let words = text.split("[[package]]").skip(1);
    words
        .map(|package| {
            package
                .lines()
                .skip(1)
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

/// The build script may not use the network. Without a package of the outer build, vendored and
/// offline builds would have no library.
#[test]
fn the_library_needs_no_package_that_the_workspace_does_not_need() {
    let inner = packages(&Path::new(env!("OUT_DIR")).join("preload/Cargo.lock"));
    let outer = packages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"));
    let own = "name = \"heapglass-preload-library\" version = \"0.0.0\"".to_owned();
    let missing: Vec<_> = inner
        .difference(&outer)
        .filter(|package| **package != own)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(inner.len() < 10, "{inner:?}");
}

#[test]
fn the_library_needs_libc_alone_and_has_its_thread_local_words_from_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("library.so");
    let bytes = heapglass_preload::LIBRARY.unwrap_or_else(|why| panic!("no library: {why}"));
    std::fs::write(&path, bytes).expect("written");
    let read = |flag: &str| {
        let output = Command::new("readelf")
            .arg(flag)
            .arg("-W")
            .arg(&path)
            .output();
        String::from_utf8(output.expect("binutils").stdout).expect("text")
    };
    let dynamic = read("-d");
    assert!(dynamic.contains("STATIC_TLS"), "{dynamic}");
    let mut needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let is_libc = |line: &str| line.contains("[libc.so") || line.contains("[ld-linux");
    assert!(needed.all(is_libc), "{dynamic}");
    assert!(
        !dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"),
        "{dynamic}"
    );

    // Whatever is exported takes the place of the program's own function of that name.
    let symbols = read("--dyn-syms");
    let exported = symbols.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_own = words.len() == 8 && words[4] != "LOCAL" && words[6] != "UND";
        is_own.then(|| words[7].to_owned())
    });
    let exported: BTreeSet<String> = exported.filter(|name| name != "Name").collect();
    let expected = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "cfree",
        "free_sized",
        "free_aligned_sized",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "valloc",
        "pvalloc",
        "malloc_usable_size",
        "dlopen",
        "dlclose",
        "execve",
        "execv",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "fexecve",
        "execveat",
        "heapglass_allocated",
        "heapglass_freed",
        "heapglass_reallocating",
        "heapglass_reallocated",
        "heapglass_attach",
        "heapglass_attach_prepare",
        "heapglass_attach_text",
        "heapglass_detach",
        "heapglass_preload_records",
    ];
    assert_eq!(exported, expected.map(str::to_owned).into());
}
