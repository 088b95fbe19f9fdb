//! Patterns of recording paths (`HEAPGLASS_OUT`): `%p` process id, `%e` program, `%t` start, `%%` a
//! percent sign.

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPiece<'a> {
    /// Stands for itself.
    Bytes(&'a [u8]),
    /// `%p`: the process id.
    Process,
    /// `%e`: the file name of the executable.
    Program,
    /// `%t`: the start time of the program, seconds since the Unix epoch.
    Started,
    /// A percent sign followed by anything else, which is an error.
    Unknown,
}

/// Splits a pattern into its pieces. Works on bytes, because a path need not be text.
pub fn path_pieces(pattern: &[u8]) -> impl Iterator<Item = PathPiece<'_>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        let (piece, bytes) = match rest {
            [] => return None,
            [b'%', b'p', ..] => (PathPiece::Process, 2),
            [b'%', b'e', ..] => (PathPiece::Program, 2),
            [b'%', b't', ..] => (PathPiece::Started, 2),
            [b'%', b'%', ..] => (PathPiece::Bytes(b"%"), 2),
            [b'%', ..] => (PathPiece::Unknown, 1),
            [_, tail @ ..] => {
                let plain = tail.iter().take_while(|byte| **byte != b'%').count();
                (PathPiece::Bytes(&rest[..1 + plain]), 1 + plain)
            }
        };
        rest = &rest[bytes..];
        Some(piece)
    })
}

/// Returns the pattern that stands for exactly this path.
pub fn literal_path(path: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(path.len());
    for &byte in path {
        pattern.extend(std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(pattern: &[u8]) -> Vec<u8> {
        path_pieces(pattern)
            .flat_map(|piece| match piece {
                PathPiece::Bytes(bytes) => bytes,
                PathPiece::Process => b"42",
                PathPiece::Program => b"prog",
                PathPiece::Started => b"7",
                PathPiece::Unknown => b"?",
            })
            .copied()
            .collect()
    }

    #[test]
    fn each_sign_is_filled_and_others_are_mistakes() {
        assert_eq!(expand(b"./%e-%p.%t%%.%x%"), b"./prog-42.7%.?x?");
        assert_eq!(expand(b""), b"");
    }

    #[test]
    fn a_literal_path_means_itself() {
        for path in ["a%p", "%%e", "100%", "plain", "%x%"] {
            assert_eq!(
                expand(&literal_path(path.as_bytes())),
                path.as_bytes(),
                "{path}"
            );
        }
    }
}
