//! Writes an input file to standard output. The same arguments give the same bytes.
//!
//! - `generate geojson MB`: a feature collection of deep arrays, at least that many million bytes.
//! - `generate catalog PRODUCTS`: the catalog that `shop` loads.

use std::io::{self, BufWriter};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = words.get(1).and_then(|word| word.parse::<u64>().ok());
    let out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let done = match (words.first().map(String::as_str), number) {
        (Some("geojson"), Some(megabytes)) => generate::geojson(out, megabytes * 1_000_000),
        (Some("catalog"), Some(products)) => generate::catalog(out, products),
        _ => {
            eprintln!("usage: generate geojson MB | generate catalog PRODUCTS");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = done {
        eprintln!("generate: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
