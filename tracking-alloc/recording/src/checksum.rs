//! The checksum of a finished recording. It detects damage, not manipulation.

const MULTIPLIER: u64 = 0xff51_afd7_ed55_8ccd;
const STREAMS: usize = 4;

/// A checksum over little-endian words, fed in pieces of a multiple of 32 bytes.
///
/// Every step is a bijection of the state for a given word, so a single flipped bit always changes
/// the result.
#[derive(Clone, Debug)]
pub struct Checksum {
    streams: [u64; STREAMS],
    bytes: u64,
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum {
            streams: [1, 2, 3, 4],
            bytes: 0,
        }
    }
}

impl Checksum {
    /// Adds four words.
    #[inline]
    pub fn add(&mut self, words: [u64; STREAMS]) {
        for (stream, word) in self.streams.iter_mut().zip(words) {
            *stream = (stream.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
        }
        self.bytes += 8 * STREAMS as u64;
    }

    /// Adds bytes; a remainder shorter than 32 bytes is padded with zeros.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8 * STREAMS) {
            let mut words = [0; STREAMS];
            for (word, piece) in words.iter_mut().zip(chunk.chunks(8)) {
                let mut buffer = [0; 8];
                buffer[..piece.len()].copy_from_slice(piece);
                *word = u64::from_le_bytes(buffer);
            }
            self.add(words);
        }
    }

    /// Returns the checksum. It is never 0, which means "none".
    pub fn finish(&self) -> u64 {
        let sum = self.streams.iter().fold(self.bytes, |hash, &stream| {
            (hash.rotate_left(17) ^ stream).wrapping_mul(MULTIPLIER)
        });
        sum.max(1)
    }
}
