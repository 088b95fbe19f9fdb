//! 0.9: the viral lifetime: the article's structs, with a leaf type that the program defines.

use super::derive::in_arena;
use super::people;
use super::{read_growths, times};
use crate::{Case, Judged, Variant, Window};
use bumpalo::Bump;
use heapglass_examples::data::Random;
use serde::{Deserialize, Deserializer, Serialize};
use tracking_alloc::arena::{Arena, ArenaDeserialize};

/// Number of preludes in a full run.
const PRELUDES: usize = 10_000;
/// Number of locations of each prelude.
const LOCATIONS: usize = 8;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.9",
    system: "the viral lifetime: ZipPrelude with a byte string of the program's own",
    headline: "ergonomics: each struct carries 'bump, and the derive must take foreign leaf types",
    variants: &[
        Variant::new("owned", |window| {
            let bytes = input(window);
            window.work(|| people::decoded::<Vec<owned::ZipPrelude>>(&bytes));
        }),
        Variant::new("arena", |window| {
            let bytes = input(window);
            let mut read = 0;
            window.work(|| {
                let bump = Bump::new();
                let preludes: &[ZipPrelude<'_>] = in_arena(&bytes, &bump);
                read = preludes.iter().map(ZipPrelude::bytes).sum();
                bump
            });
            window.note("bytes in byte strings", read as f64);
        }),
    ],
    judge: |found| {
        let preludes = found.of("owned", "records");
        let owned = preludes * (LOCATIONS + 3) as f64
            + read_growths(size_of::<owned::ZipPrelude>(), preludes);
        let (blocks, chunks) = (
            found.of("owned", "total_blocks"),
            found.of("arena", "total_blocks"),
        );
        let holds =
            blocks == owned && chunks < 32.0 && found.of("arena", "bytes in byte strings") > 0.0;
        let why = format!(
            "the derive takes the program's own byte string; {blocks:.0} blocks ({} a prelude) become {chunks:.0} chunks, \
             and owned takes {} as long",
            LOCATIONS + 3,
            times(found.times("owned", "arena")),
        );
        Judged::facts(holds, why)
    },
};

/// A string that is UTF-8 by convention only: a leaf type that the derive does not know.
struct ByteString<'bump>(&'bump [u8]);

impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for ByteString<'a> {
    fn deserialize_in<D: Deserializer<'de>>(
        deserializer: D,
        arena: &'a A,
    ) -> Result<Self, D::Error> {
        ArenaDeserialize::deserialize_in(deserializer, arena).map(ByteString)
    }
}

#[derive(ArenaDeserialize)]
struct ZipPrelude<'bump> {
    metadata: Metadata<'bump>,
}

#[derive(ArenaDeserialize)]
struct Metadata<'bump> {
    compatibility: Compatibility<'bump>,
    playthrough_id: ByteString<'bump>,
    playthrough_name: ByteString<'bump>,
}

#[derive(ArenaDeserialize)]
struct Compatibility<'bump> {
    locations: bumpalo::collections::Vec<'bump, ByteString<'bump>>,
}

impl ZipPrelude<'_> {
    fn bytes(&self) -> usize {
        let Metadata {
            compatibility,
            playthrough_id,
            playthrough_name,
        } = &self.metadata;
        let locations: usize = compatibility
            .locations
            .iter()
            .map(|location| location.0.len())
            .sum();
        locations + playthrough_id.0.len() + playthrough_name.0.len()
    }
}

mod owned {
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub(super) struct ZipPrelude {
        pub(super) metadata: Metadata,
    }

    #[derive(Serialize, Deserialize)]
    pub(super) struct Metadata {
        pub(super) compatibility: Compatibility,
        pub(super) playthrough_id: Vec<u8>,
        pub(super) playthrough_name: Vec<u8>,
    }

    #[derive(Serialize, Deserialize)]
    pub(super) struct Compatibility {
        pub(super) locations: Vec<Vec<u8>>,
    }
}

fn input(window: &mut Window) -> Vec<u8> {
    let count = window.scaled(PRELUDES);
    let random = &mut Random::new(9);
    let mut name = || {
        (0..8 + random.below(24))
            .map(|_| b'a' + random.below(26) as u8)
            .collect::<Vec<u8>>()
    };
    let preludes: Vec<owned::ZipPrelude> = (0..count)
        .map(|_| owned::ZipPrelude {
            metadata: owned::Metadata {
                compatibility: owned::Compatibility {
                    locations: (0..LOCATIONS).map(|_| name()).collect(),
                },
                playthrough_id: name(),
                // In Latin-1, thus not UTF-8.
                playthrough_name: [name(), b"\xfc".to_vec()].concat(),
            },
        })
        .collect();
    let bytes = people::encoded(&preludes);
    window.input(bytes.len(), count);
    bytes
}
