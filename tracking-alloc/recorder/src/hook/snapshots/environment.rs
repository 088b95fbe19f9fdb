//! The variables of the environment about snapshots.
//!
//! `HEAPGLASS_SNAPSHOT` attaches a reader before the first allocation: its process ID, and words
//! behind commas: `force`, `exit`, `peak=BYTES` and `mark=NAME`, as in [`Exchange`].

use crate::sys;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Exchange, SNAPSHOT_MARKS, mark_hash};

/// Attaches the reader that the environment names. A value that cannot be understood is one line on
/// standard error.
pub(crate) fn attach(exchange: &Exchange) {
    if let Some(text) = sys::environment(b"HEAPGLASS_SNAPSHOT").filter(|text| !text.is_empty()) {
        if let Some(asked) = Asked::parse(text) {
            asked.store(exchange);
        } else {
            sys::write_stderr(&[
                b"heapglass: no snapshots: invalid HEAPGLASS_SNAPSHOT `",
                text,
                b"`; use the process ID of the reader, then any of force, exit, peak=BYTES and mark=NAME behind commas\n",
            ]);
        }
    }
}

/// The value of `HEAPGLASS_SNAPSHOT`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    reader: u32,
    is_forced: bool,
    at_exit: bool,
    peak_above: u64,
    marks: [u64; SNAPSHOT_MARKS],
}

impl Asked {
    fn parse(text: &[u8]) -> Option<Asked> {
        let mut words = text.split(|byte| *byte == b',');
        let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u64>().ok();
        let mut asked = Asked {
            reader: u32::try_from(number(words.next()?)?).ok()?,
            ..Asked::default()
        };
        let mut marks = asked.marks.iter_mut();
        for word in words {
            match word {
                b"force" => asked.is_forced = true,
                b"exit" => asked.at_exit = true,
                _ => {
                    if let Some(bytes) = word.strip_prefix(b"peak=") {
                        asked.peak_above = number(bytes)?;
                    } else {
                        *marks.next()? = mark_hash(word.strip_prefix(b"mark=")?);
                    }
                }
            }
        }
        Some(asked)
    }

    fn store(&self, exchange: &Exchange) {
        exchange.forced.store(self.is_forced.into(), Relaxed);
        exchange.at_exit.store(self.at_exit.into(), Relaxed);
        exchange.peak_above.store(self.peak_above, Relaxed);
        for (place, mark) in exchange.marks.iter().zip(self.marks) {
            place.store(mark, Relaxed);
        }
        exchange.reader.store(self.reader, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_understood_as_a_whole_or_not_at_all() {
        let mut expected = Asked {
            reader: 17,
            ..Asked::default()
        };
        assert_eq!(Asked::parse(b"17"), Some(expected));
        expected = Asked {
            reader: 17,
            is_forced: true,
            at_exit: true,
            peak_above: 1000,
            marks: [mark_hash(b"a b"), mark_hash(b"c"), 0, 0],
        };
        let text = b"17,peak=1000,mark=a b,exit,force,mark=c";
        assert_eq!(Asked::parse(text), Some(expected));
        for wrong in [
            &b"x"[..],
            b"-1",
            b"4294967296",
            b"1,",
            b"1,peak",
            b"1,peak=x",
            b"1,forced",
            b"1,mark=a,mark=a,mark=a,mark=a,mark=a",
            b"1,\xff",
        ] {
            assert_eq!(Asked::parse(wrong), None, "{wrong:?}");
        }
    }
}
