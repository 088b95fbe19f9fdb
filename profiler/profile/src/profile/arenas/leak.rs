//! A leak by an arena's drop, and the sentence about it.

use crate::profile::chunks::named;
use crate::profile::{Profile, TypeId};
use crate::units::{Bytes, counted, printable};
use serde::Serialize;

/// Blocks of one site that outlived the arena of the values they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leak {
    /// The arenas (indexes into [`Profile::arenas`]) that values of the same root were built in;
    /// mostly one.
    pub arenas: Vec<usize>,
    /// Index into [`Profile::sites`].
    pub site: usize,
    /// The type that the blocks hold: from the stack, else the type of the field.
    pub type_id: Option<TypeId>,
    /// The field they were allocated in (index into
    /// [`Fields::nodes`](crate::profile::fields::Fields::nodes)).
    pub field: u32,
    /// Bytes live at exit.
    pub live_bytes: u64,
    /// Blocks live at exit.
    pub live_blocks: u64,
    /// The certainty of the leak.
    pub certainty: Certainty,
}

/// The certainty that blocks are leaked. The names are the words of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum Certainty {
    /// No value of the arena is alive: they are leaked by its drop (or reset).
    #[serde(rename = "leaked")]
    Leaked,
    /// Instances of the arena are alive, and some blocks may belong to values in them: those will
    /// be leaked.
    #[serde(rename = "instances live")]
    InstancesLive,
    /// The values may lie in the arena, or on the heap, where they drop what they own.
    #[serde(rename = "place unknown")]
    PlaceUnknown,
    /// Values in the arena pointed to the blocks; whether they own them is not known.
    #[serde(rename = "owner unknown")]
    OwnerUnknown,
    /// The arena holds chunks whose blocks could not be told from others: these may be such blocks.
    #[serde(rename = "chunks unknown")]
    ChunksUnknown,
}

/// A sentence for people without its stop, free of control characters:
/// `String at City.name: 24,000 blocks (1.2 MiB) of the global heap leaked by the arena's drop: ..`
pub fn leak_text(profile: &Profile, leak: &Leak) -> String {
    let what = profile
        .named_type(leak.type_id)
        .map_or("Blocks".into(), |name| printable(&name.short));
    let place = profile
        .fields()
        .get(leak.field)
        .map_or_else(String::new, |field| {
            format!(" at {}", printable(&field.path))
        });
    let arenas = named(profile, &leak.arenas, |name| printable(name).into_owned());
    let blocks = counted(leak.live_blocks, "block");
    let bytes = Bytes(leak.live_bytes);
    let start = format!("{what}{place}: {blocks} ({bytes}) of the global heap");
    match leak.certainty {
        Certainty::Leaked => {
            format!(
                "{start} leaked by the arena's drop, unless the program moved them out: {arenas} does not drop the values \
                 in it"
            )
        }
        Certainty::InstancesLive => format!(
            "{start} in values of {arenas}: the arena's drop leaks them. While instances live it cannot be known how many \
             are leaked already"
        ),
        Certainty::PlaceUnknown => format!(
            "{start} in values that point into {arenas}: leaked by the arena's drop if the \
             values lie in it too, freed by the values if they lie on the heap"
        ),
        Certainty::OwnerUnknown => format!(
            "{start} that values in {arenas} point to: leaked by the arena's drop if those values own them"
        ),
        Certainty::ChunksUnknown => format!(
            "{start}, either leaked by the drop or reset of {arenas} or chunks of an arena: this \
             cannot be known, because some of its chunks have unknown sites"
        ),
    }
}
