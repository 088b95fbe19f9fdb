//! Recordings of programs that others wrote, with their symbols: what `../real/README.md` says.

use std::io::Read;

use flate2::read::GzDecoder;
use heapglass_profiler::profile::Profile;

/// Each by its name: the demo, a web shop's loader with and without `Profiled`, jaq 3 on GeoJSON,
/// ripgrep, an axum server.
pub(crate) const REAL: [(&str, &[u8]); 6] = [
    ("demo", include_bytes!("../real/demo.hg.gz")),
    ("jaq", include_bytes!("../real/jaq.hg.gz")),
    ("rg", include_bytes!("../real/rg.hg.gz")),
    ("server", include_bytes!("../real/server.hg.gz")),
    ("shop", include_bytes!("../real/shop.hg.gz")),
    (
        "shop-profiled",
        include_bytes!("../real/shop-profiled.hg.gz"),
    ),
];

/// The recording of that name.
pub(crate) fn real(name: &str) -> Profile {
    let found = REAL.into_iter().find(|(known, _)| *known == name);
    let (_, packed) = found.expect("a recording of that name");
    let mut bytes = Vec::new();
    (GzDecoder::new(packed).read_to_end(&mut bytes)).expect("a gzip file");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("{name}.hg"));
    std::fs::write(&path, bytes).expect("a file");
    let options = heapglass_profiler::OpenOptions::default();
    heapglass_profiler::open(&path, &options, &|_| ()).expect("a recording")
}
