//! Colours by whose code a frame is: the user's crates warm, each dependency a cool colour of its
//! own, std grey-blue, native code grey, phases violet, cut stacks rose. Types and fields by the
//! kind of container. The same crate has the same colour in every run and every frontend.
//!
//! This module must never draw in the magenta that inferno's search uses, nor so dark that black
//! text cannot be read.

use crate::calltree::{CallTree, Levels, NodeId};
use crate::profile::{Function, Label, Origin, Profile, ScopeKind, TypeKind};

/// Red, green, blue.
pub(crate) type Rgb = (u8, u8, u8);

/// Returns a colour as SVG and style sheets have it.
pub(crate) fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

pub(super) const BACKGROUND: Rgb = (0xfd, 0xfc, 0xf9);
pub(super) const ROOT: Rgb = (0xd9, 0xd6, 0xd0);
const SCOPE: Rgb = (0xc9, 0xbc, 0xea);
pub(super) const MARK: Rgb = (0xf2, 0xc6, 0xc6);
/// Arenas, around what lies inside them: not the hue of own code.
pub(super) const ARENA: Rgb = (0xd7, 0xd7, 0xaf);

/// The kinds of types: what legends call each, and its colour as a number of the 256 of terminals.
/// No kind has the hue of own code, because functions and types stand in one picture.
pub const KINDS: [(TypeKind, &str, u8); 7] = [
    (TypeKind::Text, "text", 114),
    (TypeKind::Sequence, "sequence", 110),
    (TypeKind::Map, "map", 80),
    (TypeKind::Pointer, "box", 183),
    (TypeKind::Shared, "shared", 176),
    (TypeKind::Dynamic, "dyn", 191),
    (TypeKind::Other, "other", 250),
];

/// Returns the colour of a kind as a number of the 256 of terminals.
pub fn terminal_colour(kind: TypeKind) -> u8 {
    let mut kinds = KINDS.into_iter();
    kinds
        .find(|(of, _, _)| *of == kind)
        .map_or(250, |(_, _, colour)| colour)
}

/// Returns what a terminal shows for one of its 256 colours: a cube of six steps from 16, then
/// greys.
fn from_terminal(colour: u8) -> Rgb {
    if colour >= 232 {
        let grey = 8 + 10 * (colour - 232);
        return (grey, grey, grey);
    }
    let cube = colour.saturating_sub(16);
    let step = |number: u8| if number == 0 { 0 } else { 55 + 40 * number };
    (step(cube / 36), step(cube / 6 % 6), step(cube % 6))
}

/// The colour of a function: hue by crate, a little lighter or darker by name so that neighbours
/// differ.
fn of_function(function: &Function) -> Rgb {
    let krate = hash(&function.krate);
    let shade = f64::from(hash(&function.name) % 9) / 100.0 - 0.04;
    match function.origin {
        // 14 to 46 degrees: orange to amber.
        Origin::User => from_hsl(14.0 + f64::from(krate % 33), 0.88, 0.66 + shade),
        // 75 to 265 degrees: green over teal and blue to violet.
        Origin::Dependency => from_hsl(75.0 + f64::from(krate % 191), 0.48, 0.70 + shade),
        Origin::Std => from_hsl(213.0, 0.20, 0.76 + shade / 2.0),
        Origin::Native => from_hsl(40.0, 0.03, 0.74 + shade / 2.0),
        Origin::Unresolved => from_hsl(40.0, 0.03, 0.86 + shade / 4.0),
    }
}

/// The colour of a type or of a field of that type: by the kind of container, as in the terminal;
/// light grey when nothing tells.
pub(crate) fn of_kind(kind: Option<TypeKind>) -> Rgb {
    kind.map_or(ROOT, |kind| from_terminal(terminal_colour(kind)))
}

/// The colour of a node of a call tree.
pub(crate) fn of_node(tree: &CallTree, id: NodeId, profile: &Profile) -> Rgb {
    let label = tree.node(id).label;
    match label {
        Label::Root => ROOT,
        Label::Scope(_) => SCOPE,
        // By anything but stack, the legend says that the colour of marks is a buffer of serde.
        Label::Mark(_) if tree.levels() != Levels::Stack => ROOT,
        Label::Mark(_) => MARK,
        Label::Function(function) => {
            let function = profile.functions().get(function.0 as usize);
            function.map_or(ROOT, of_function)
        }
        // The first frame of a run tells whose code it is.
        Label::Call(_) => {
            let first = tree.node(id).frame.and_then(|frame| profile.lookup(frame));
            first.map_or(ROOT, |(_, function)| of_function(function))
        }
        Label::Group(_) | Label::Place(_) => {
            let mut unresolved = Function::default();
            unresolved.name = label.name(profile).into_owned();
            unresolved.origin = Origin::Unresolved;
            of_function(&unresolved)
        }
        Label::Field(number) | Label::Path(number) if is_buffer(profile, number) => MARK,
        Label::Arena(_) => ARENA,
        Label::Field(_) | Label::Path(_) | Label::Type(_) | Label::Building(_) => {
            let name = profile.named_type(label.type_id(profile));
            of_kind(name.map(|name| name.kind))
        }
    }
}

/// Returns `true` if a field is what serde buffers.
fn is_buffer(profile: &Profile, number: u32) -> bool {
    let field = profile.fields().nodes().get(number as usize);
    field.is_some_and(|field| matches!(field.kind, ScopeKind::Buffered | ScopeKind::FromBuffer))
}

/// FNV-1a, 32 bits (Fowler, Noll, Vo): the same in every build, which std's hasher does not
/// promise.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Hue in degrees, saturation and lightness 0 to 1, by the formula of CSS Color 4, section 7.1.
fn from_hsl(hue: f64, saturation: f64, lightness: f64) -> Rgb {
    let channel = |n: f64| {
        let k = (n + hue / 30.0) % 12.0;
        let a = saturation * lightness.min(1.0 - lightness);
        let value = lightness - a * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    (channel(0.0), channel(8.0), channel(4.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, krate: &str, origin: Origin) -> Function {
        heapglass_fixture::made!(Function {
            name: name.into(),
            short: name.into(),
            krate: krate.into(),
            origin,
        })
    }

    #[test]
    fn user_code_is_warm_and_std_is_a_bluish_grey() {
        for krate in ["a", "heapglass", "cities", "zz"] {
            let (r, g, b) = of_function(&function("f", krate, Origin::User));
            assert!(r > g && g > b && r - b > 60, "{krate}: {r},{g},{b}");
        }
        let (r, g, b) = of_function(&function("f", "std", Origin::Std));
        assert!(b > g && g > r && b - r < 50, "{r},{g},{b}");
    }

    #[test]
    fn no_type_and_no_arena_looks_like_own_code() {
        let kinds = KINDS.map(|(kind, _, _)| of_kind(Some(kind)));
        for (r, g, b) in kinds.into_iter().chain([ARENA, MARK, SCOPE, ROOT]) {
            let is_warm = r > g && g > b && r - b > 60;
            assert!(!is_warm, "{r},{g},{b}");
        }
        let mut different = kinds.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), KINDS.len());
    }

    #[test]
    fn a_crate_keeps_its_hue_and_crates_differ() {
        let one = of_function(&function("f", "serde_json", Origin::Dependency));
        assert_eq!(
            one,
            of_function(&function("f", "serde_json", Origin::Dependency))
        );
        assert_ne!(
            one,
            of_function(&function("f", "regex", Origin::Dependency))
        );
    }

    #[test]
    fn black_text_is_readable_on_every_colour() {
        // Relative luminance with plain sRGB weights; 0.4 gives a contrast of about 9 to black.
        let is_readable = |(r, g, b): Rgb| {
            (0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)) / 255.0 > 0.5
        };
        for (kind, _, _) in KINDS {
            assert!(is_readable(of_kind(Some(kind))), "{kind:?}");
        }
        for i in 0..2_000 {
            let name = i.to_string();
            for origin in [
                Origin::User,
                Origin::Dependency,
                Origin::Std,
                Origin::Native,
                Origin::Unresolved,
            ] {
                let colour = of_function(&function(&name, &name, origin));
                assert!(is_readable(colour), "{origin:?} {name}: {colour:?}");
            }
        }
    }
}
