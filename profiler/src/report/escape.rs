//! The JSON writer: indented, and harmless on a terminal.
//!
//! It must never change what a parser reads.

use std::io::{self, Write};

use serde::Serialize;

use crate::units::is_unprintable;

/// Writes `value` as indented JSON that ends with a line break.
///
/// # Errors
/// Returns the errors of `out`.
pub(crate) fn write_json(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(Escaping(&mut out), value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A measure among the fields of an object: its name, and the key of the figure that it reads.
pub(crate) fn measure<S: serde::Serializer>(
    measure: &crate::profile::Measure,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("measure", measure.name()), ("measure_key", measure.key())])
}

/// JSON with every character that [`printable`](crate::units::printable) would not let through as a
/// JSON escape: the same string to a parser, harmless on a terminal. Outside of strings JSON has
/// none but line breaks, which are left alone; in strings serde_json has escaped those already.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // NOTE: serde_json writes whole characters.
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut rest = text;
        while let Some(at) = rest.find(|c| c != '\n' && is_unprintable(c)) {
            self.0.write_all(&rest.as_bytes()[..at])?;
            let mut chars = rest[at..].chars();
            let mut units = [0; 2];
            for unit in chars.next().unwrap_or_default().encode_utf16(&mut units) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
