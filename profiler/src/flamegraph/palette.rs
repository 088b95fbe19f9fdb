//! Colours by whose code a frame is: the user's crates warm, each dependency a cool colour of its own, std grey-blue,
//! native code grey, phases violet, cut stacks rose. Types and fields by the kind of
//! container. The same crate has the same colour in every run and every frontend.
//!
//! Must never draw in the magenta that inferno's search uses, nor so dark that black text cannot be read.

use crate::calltree::{By, CallTree, NodeId};
use crate::profile::{Function, Label, Origin, Profile, ScopeKind, TypeKind};

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

pub(super) const BACKGROUND: Rgb = (0xfd, 0xfc, 0xf9);
pub(super) const ROOT: Rgb = (0xd9, 0xd6, 0xd0);
const SCOPE: Rgb = (0xc9, 0xbc, 0xea);
pub(super) const MARK: Rgb = (0xf2, 0xc6, 0xc6);
/// Arenas, around what lies inside them.
pub(super) const ARENA: Rgb = (0xe6, 0xc4, 0x9a);

/// The colour of a function: hue by crate, a little lighter or darker by name so that neighbours differ.
pub fn of_function(function: &Function) -> Rgb {
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

/// The colour of a type or of a field of that type: by the kind of container, as in the terminal; light grey when
/// nothing tells.
pub fn of_kind(kind: Option<TypeKind>) -> Rgb {
    match kind {
        Some(TypeKind::Text) => (0x87, 0xd7, 0x87),
        Some(TypeKind::Sequence) => (0x87, 0xaf, 0xd7),
        Some(TypeKind::Map) => (0xff, 0xaf, 0x5f),
        Some(TypeKind::Pointer) => (0xd7, 0xaf, 0xff),
        Some(TypeKind::Shared) => (0xd7, 0x87, 0xd7),
        Some(TypeKind::Dynamic) => (0xff, 0xd7, 0x5f),
        Some(TypeKind::Other) => (0xc2, 0xcb, 0xc2),
        None => ROOT,
    }
}

/// The colour of a node of a call tree.
pub fn of_node(tree: &CallTree, id: NodeId, profile: &Profile) -> Rgb {
    let label = tree.node(id).label;
    match label {
        Label::Root => ROOT,
        Label::Scope(_) => SCOPE,
        // By anything but stack, the legend says that the colour of marks is a buffer of serde.
        Label::Mark(_) if tree.by() != By::Stack => ROOT,
        Label::Mark(_) => MARK,
        Label::Function(function) => {
            let function = profile.functions.get(function.0 as usize);
            function.map_or(ROOT, of_function)
        }
        // The first frame of a run tells whose code it is.
        Label::Call(_) => {
            let first = tree.node(id).frame.and_then(|frame| profile.lookup(frame));
            first.map_or(ROOT, |(_, function)| of_function(function))
        }
        Label::Group(_) | Label::Place(_) => of_function(&Function {
            name: label.name(profile).into_owned(),
            origin: Origin::Unresolved,
            ..Function::default()
        }),
        Label::Field(number) | Label::Path(number) if is_buffer(profile, number) => MARK,
        Label::Arena(_) => ARENA,
        Label::Field(_) | Label::Path(_) | Label::Type(_) | Label::Building(_) => {
            let name = profile.named_type(label.type_id(profile));
            of_kind(name.map(|name| name.kind))
        }
    }
}

/// Whether a field is what serde buffers.
fn is_buffer(profile: &Profile, number: u32) -> bool {
    let field = profile.fields().nodes.get(number as usize);
    field.is_some_and(|field| matches!(field.kind, ScopeKind::Buffered | ScopeKind::FromBuffer))
}

/// FNV-1a, 32 bits (Fowler, Noll, Vo): the same in every build, which std's hasher does not promise.
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
        Function {
            name: name.into(),
            short: name.into(),
            krate: krate.into(),
            origin,
            ..Function::default()
        }
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
        for i in 0..2_000 {
            let name = i.to_string();
            for origin in [
                Origin::User,
                Origin::Dependency,
                Origin::Std,
                Origin::Native,
                Origin::Unresolved,
            ] {
                let (r, g, b) = of_function(&function(&name, &name, origin));
                // Relative luminance with plain sRGB weights; 0.4 gives a contrast of about 9 to black.
                let luminance =
                    (0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)) / 255.0;
                assert!(luminance > 0.5, "{origin:?} {name}: {r},{g},{b}");
            }
        }
    }
}
