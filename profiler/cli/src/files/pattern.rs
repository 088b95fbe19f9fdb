//! Patterns of recording paths: `%p` process id, `%e` program, `%t` start, `%%` a percent sign, as in `HEAPGLASS_OUT`.
//!
//! Works on bytes: a path need not be text.

/// What a pattern is filled with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    /// `%p`.
    pub(crate) pid: u32,
    /// `%e`: file name of the executable.
    pub(crate) program: &'a [u8],
    /// `%t`: seconds since the Unix epoch.
    pub(crate) started_unix_s: u64,
}

/// The path that `pattern` means. Other pairs with a percent sign stay as they are.
pub(crate) fn expand(pattern: &[u8], values: Values<'_>) -> Vec<u8> {
    let mut path = Vec::with_capacity(pattern.len() + 32);
    let mut rest = pattern;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail.first()) {
            (b'%', Some(b'p')) => path.extend_from_slice(values.pid.to_string().as_bytes()),
            (b'%', Some(b'e')) => path.extend_from_slice(values.program),
            (b'%', Some(b't')) => {
                path.extend_from_slice(values.started_unix_s.to_string().as_bytes());
            }
            (b'%', Some(b'%')) => path.push(b'%'),
            _ => {
                path.push(first);
                rest = tail;
                continue;
            }
        }
        rest = &tail[1..];
    }
    path
}

/// `path` as a pattern that means nothing but itself.
pub(crate) fn literal(path: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(path.len());
    for &byte in path {
        pattern.extend(std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Values<'_> = Values {
        pid: 42,
        program: b"prog",
        started_unix_s: 7,
    };

    #[test]
    fn each_sign_is_filled_and_others_stay() {
        assert_eq!(expand(b"./%e-%p.%t%%.%x%", VALUES), b"./prog-42.7%.%x%");
    }

    #[test]
    fn a_literal_path_means_itself() {
        for path in ["a%p", "%%e", "100%", "plain"] {
            assert_eq!(
                expand(&literal(path.as_bytes()), VALUES),
                path.as_bytes(),
                "{path}"
            );
        }
    }
}
