//! The paths of the server, taken apart.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// Maximum length of a window, in seconds.
pub(super) const LONGEST_WINDOW: u64 = 300;

/// A page of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Index,
    Allocs,
    Heap,
    DeltaHeap,
    Flamegraph,
    Metrics,
}

impl Page {
    pub(super) const ALL: [Page; 6] = [
        Page::Index,
        Page::Allocs,
        Page::Heap,
        Page::DeltaHeap,
        Page::Flamegraph,
        Page::Metrics,
    ];

    /// Returns its path, relative to that of the program.
    pub(super) fn path(self) -> &'static str {
        match self {
            Page::Index => "",
            Page::Allocs => "debug/pprof/allocs",
            Page::Heap => "debug/pprof/heap",
            Page::DeltaHeap => "debug/pprof/delta_heap",
            Page::Flamegraph => "flamegraph.svg",
            Page::Metrics => "metrics",
        }
    }
}

/// Splits the path of a request into the name of a recording, if it has one, and the page. `None`
/// for a path that the server does not have.
pub(super) fn split(path: &str) -> Option<(Option<OsString>, Page)> {
    let rest = path.strip_prefix('/')?;
    let (name, rest) = match rest.strip_prefix("p/") {
        Some(rest) => {
            let (name, rest) = rest.split_once('/')?;
            (Some(decode_name(name)?), rest)
        }
        None => (None, rest),
    };
    // As in Go, whose index has this path.
    let rest = match rest {
        "debug/pprof/" => "",
        rest => rest,
    };
    let page = Page::ALL.into_iter().find(|page| page.path() == rest)?;
    Some((name, page))
}

/// Decodes the name of a file in a folder. `None` for anything that is not the name of one file in
/// that very folder.
fn decode_name(text: &str) -> Option<OsString> {
    let mut name = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        name.push(if byte == b'%' {
            let mut digit = || (bytes.next()? as char).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        });
    }
    let is_file = !matches!(name.as_slice(), b"" | b"." | b"..")
        && !name.iter().any(|byte| matches!(byte, b'/' | 0));
    is_file.then(|| OsString::from_vec(name))
}

/// Encodes the name of a file for a path: everything but letters, digits and `-_.~`.
pub(super) fn encode_name(name: &OsStr) -> String {
    let mut text = String::new();
    for &byte in name.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(byte as char);
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Returns the window that the query of a request asks for with `seconds=N`.
///
/// # Errors
/// Returns an error text if it is no number or too long.
pub(super) fn window(query: Option<&str>) -> Result<Option<Duration>, String> {
    let pairs = query.unwrap_or_default().split('&');
    let mut given = pairs.filter_map(|pair| pair.strip_prefix("seconds="));
    let Some(text) = given.next() else {
        return Ok(None);
    };
    match text.parse::<u64>() {
        Ok(0) => Ok(None),
        Ok(seconds) if seconds <= LONGEST_WINDOW => Ok(Some(Duration::from_secs(seconds))),
        _ => Err(format!(
            "seconds is a whole number of at most {LONGEST_WINDOW}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_path_at_the_root_and_below_a_name() {
        for page in Page::ALL {
            assert_eq!(split(&format!("/{}", page.path())), Some((None, page)));
            assert_eq!(
                split(&format!("/p/app%2D1.hg/{}", page.path())),
                Some((Some("app-1.hg".into()), page))
            );
        }
        assert_eq!(split("/debug/pprof/"), Some((None, Page::Index)));
    }

    #[test]
    fn nothing_outside_the_folder_has_a_path() {
        for path in [
            "",
            "metrics",
            "//metrics",
            "/p/",
            "/p/app.hg",
            "/p//metrics",
            "/p/./metrics",
            "/p/../metrics",
            "/p/%2e%2e/metrics",
            "/p/%2E/metrics",
            "/p/..%2fapp/metrics",
            "/p/%2fetc%2fpasswd/metrics",
            "/p/app%00/metrics",
            "/p/app%/metrics",
            "/p/app%2/metrics",
            "/p/app%zz/metrics",
            "/p/app%+1/metrics",
            "/p/app/../metrics",
            "/p/app/p/app/metrics",
            "/metrics/",
            "/debug/pprof",
        ] {
            assert_eq!(split(path), None, "{path}");
        }
    }

    #[test]
    fn names_of_any_bytes_are_encoded_and_decoded() {
        let name = OsStr::from_bytes(b"a b\xff%2f\"<\n.hg");
        let text = encode_name(name);
        assert_eq!(text, "a%20b%FF%252f%22%3C%0A.hg");
        assert_eq!(decode_name(&text).as_deref(), Some(name));
    }

    #[test]
    fn windows_are_whole_seconds_up_to_five_minutes() {
        let seconds = |number| Ok(Some(Duration::from_secs(number)));
        assert_eq!(window(None), Ok(None));
        assert_eq!(window(Some("debug=0")), Ok(None));
        assert_eq!(window(Some("seconds=0")), Ok(None));
        assert_eq!(window(Some("debug=0&seconds=5")), seconds(5));
        assert_eq!(window(Some("seconds=300")), seconds(300));
        for bad in [
            "seconds=301",
            "seconds=-1",
            "seconds=",
            "seconds=1.5",
            "seconds=99999999999999999999",
        ] {
            assert!(window(Some(bad)).is_err(), "{bad}");
        }
    }
}
