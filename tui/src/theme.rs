//! Colours by meaning, and the conversion of the screen for terminals with fewer abilities.
//!
//! Views always draw the full screen. [`degrade`] then removes what the terminal cannot show, in
//! one place, so that no view can forget it. Therefore a colour never carries meaning alone: a
//! modifier or a character carries it too.

use heapglass_profiler::diff::strength;
use heapglass_profiler::flamegraph::palette;
use heapglass_profiler::profile::{Function, Label, Origin, Profile, TypeKind};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};

use crate::Options;

/// Removes colours and non-ASCII characters from `buffer` if the terminal does not support them.
pub(crate) fn degrade(terminal: &Options, buffer: &mut Buffer) {
    if !terminal.colour {
        for cell in &mut buffer.content {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    } else if terminal.light || terminal.sixteen_colours {
        for cell in &mut buffer.content {
            adapt(terminal, cell);
        }
    }
    let is_drawn = |cell: &&mut Cell| !cell.symbol().is_ascii();
    if !terminal.unicode {
        for cell in buffer.content.iter_mut().filter(is_drawn) {
            cell.set_char(to_ascii(cell.symbol()));
        }
    }
}

/// Changes the colours of a cell, which are for a dark background with 256 colours. Text on a
/// coloured background of its own needs no change for a light terminal.
fn adapt(terminal: &Options, cell: &mut Cell) {
    let has_background = cell.bg != Color::Reset;
    if terminal.light
        && !has_background
        && let Color::Indexed(colour) = cell.fg
    {
        cell.fg = Color::Indexed(darker(colour));
    }
    if !terminal.sixteen_colours {
        return;
    }
    if let Color::Indexed(colour) = cell.bg {
        let background = one_of_eight(colour);
        cell.bg = Color::Indexed(background);
        // Black is hard to read on red, blue and magenta.
        cell.fg = Color::Indexed(if matches!(background, 1 | 4 | 5) {
            15
        } else {
            0
        });
    } else if let Color::Indexed(colour) = cell.fg {
        // The bright eight colours are for dark backgrounds.
        let bright = if terminal.light { 0 } else { 8 };
        cell.fg = Color::Indexed(match one_of_eight(colour) {
            7 => 8,
            colour => colour + bright,
        });
    }
}

/// The levels of red, green and blue in the cube of the 256 colours.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Returns the coordinates of a colour in the cube of the 256 colours; `None` for a grey or one of
/// the 16 colours of ANSI.
fn in_cube(colour: u8) -> Option<[u8; 3]> {
    let at = colour.checked_sub(16).filter(|at| *at < 216)?;
    Some([at / 36, at / 6 % 6, at % 6])
}

/// Returns a colour with the same hue that can be read on white.
fn darker(colour: u8) -> u8 {
    let Some(mut cube) = in_cube(colour) else {
        // The greys from 232 to 255 are mirrored.
        return if colour < 232 {
            colour
        } else {
            232 + (255 - colour)
        };
    };
    while contrast_to_white(cube) < 3.5 {
        cube = cube.map(|level| level.saturating_sub(1));
    }
    16 + 36 * cube[0] + 6 * cube[1] + cube[2]
}

/// Returns the contrast of a colour of the cube to white, as WCAG defines it.
fn contrast_to_white(cube: [u8; 3]) -> f64 {
    let linear = cube.map(|level| {
        let value = f64::from(LEVELS.get(usize::from(level)).copied().unwrap_or(255)) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    });
    let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    1.05 / (luminance + 0.05)
}

/// Returns the one of the eight colours of ANSI with the nearest hue: 0 is black and 7 grey.
fn one_of_eight(colour: u8) -> u8 {
    let Some(cube) = in_cube(colour) else {
        return if colour == 16 { 0 } else { 7 };
    };
    let value = |level: &u8| u16::from(LEVELS.get(usize::from(*level)).copied().unwrap_or(255));
    let (least, most) = (cube.iter().map(value).min(), cube.iter().map(value).max());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    if most == 0 {
        return 0;
    } else if most == least {
        return 7;
    }
    let bits = cube.iter().zip([1, 2, 4]);
    bits.map(|(level, bit)| {
        if 2 * value(level) > most + least {
            bit
        } else {
            0
        }
    })
    .sum()
}

/// Returns the ASCII replacement of a drawn character; `?` for letters of other scripts.
fn to_ascii(symbol: &str) -> char {
    match symbol.chars().next().unwrap_or(' ') {
        '│' | '┃' | '▏' | '▎' => '|',
        '─' | '━' | '╌' | '┄' => '-',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => '+',
        '▁' | '▂' | '▃' => '.',
        '▄' | '▅' => ':',
        '▆' | '▇' | '█' | '▉' | '▊' | '▋' | '▌' | '▍' => '#',
        '░' | '▒' => ':',
        '…' => '~',
        '·' => '.',
        '›' | '▸' | '▶' | '→' => '>',
        '‹' | '←' => '<',
        '▾' | '▼' | '↓' => 'v',
        '▲' | '▴' | '↑' => '^',
        '●' | '◆' | '•' => '*',
        '↻' => '@',
        '×' => 'x',
        '–' | '—' => '-',
        '≈' => '~',
        '⠋' | '⠙' | '⠹' | '⠸' | '⠼' | '⠴' | '⠦' | '⠧' | '⠇' | '⠏' => '*',
        _ => '?',
    }
}

pub(crate) fn plain() -> Style {
    Style::new()
}

/// Returns a style for text in this colour.
fn text(colour: u8) -> Style {
    Style::new().fg(Color::Indexed(colour))
}

fn bold(colour: u8) -> Style {
    text(colour).add_modifier(Modifier::BOLD)
}

/// Returns a style for a frame of the flamegraph: black on this colour.
fn on(background: Color) -> Style {
    text(16).bg(background)
}

pub(crate) fn dim() -> Style {
    text(245).add_modifier(Modifier::DIM)
}

pub(crate) fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(crate) fn heading() -> Style {
    bold(110)
}

/// A loss, or a figure that is not exact.
pub(crate) fn warning() -> Style {
    bold(220)
}

/// Something failed.
pub(crate) fn error() -> Style {
    bold(203)
}

pub(crate) fn selected() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

pub(crate) fn key() -> Style {
    bold(215)
}

pub(crate) fn live() -> Style {
    bold(114)
}

/// The area of live bytes in the timeline, and bars. Never reversed, because the bar of a selected
/// row would disappear.
pub(crate) fn bar() -> Style {
    text(208).remove_modifier(Modifier::REVERSED)
}

/// The line of resident bytes in the timeline.
pub(crate) fn resident() -> Style {
    text(74)
}

/// More than the base.
pub(crate) fn more() -> Style {
    text(203)
}

/// Less than the base.
pub(crate) fn less() -> Style {
    text(75)
}

/// A frame of the flamegraph compared with the base: red for more, blue for less, paler for a
/// smaller part of `most`.
pub(crate) fn change_frame(difference: i128, most: u128) -> Style {
    const MORE: [u8; 4] = [224, 217, 210, 203];
    const LESS: [u8; 4] = [189, 153, 111, 69];
    let steps = match difference {
        0 => return on(Color::Indexed(252)),
        1.. => MORE,
        _ => LESS,
    };
    let step = (strength(difference, most) * steps.len() as f64) as usize;
    let step = step.min(steps.len() - 1);
    on(Color::Indexed(steps.get(step).copied().unwrap_or(252)))
}

/// A frame that matches a search or `#`.
pub(crate) fn matched() -> Style {
    on(Color::Indexed(207)).add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
}

/// The text colour of a function in lists, by its origin.
pub(crate) fn origin(function: &Function) -> Style {
    Style::new().fg(colour_of(function))
}

/// The text colour of the code that a site is charged to. The origin of a place is unknown.
pub(crate) fn charged(profile: &Profile, charged: Option<Label>) -> Style {
    match charged {
        Some(Label::Function(id)) => {
            let function = profile.functions().get(id.0 as usize);
            function.map_or(dim(), origin)
        }
        Some(_) => Style::new().fg(UNRESOLVED),
        None => dim(),
    }
}

/// The text colour of a type in lists, by its kind of container.
pub(crate) fn kind(kind: Option<TypeKind>) -> Style {
    kind.map_or(dim(), |kind| Style::new().fg(colour_of_kind(kind)))
}

/// A frame of the flamegraph by field or type, with the kind of container as a background.
pub(crate) fn kind_frame(kind: Option<TypeKind>) -> Style {
    on(kind.map_or(Color::Indexed(246), colour_of_kind))
}

fn colour_of_kind(kind: TypeKind) -> Color {
    Color::Indexed(palette::terminal_colour(kind))
}

/// Returns a legend for colours of functions, each with one such colour.
pub(crate) fn code_legend() -> Vec<(&'static str, Style)> {
    let colours = [
        ("own code", USER[0]),
        ("dependency", DEPENDENCY[0]),
        ("std", STD[0]),
        ("native", NATIVE),
    ];
    colours
        .map(|(name, colour)| (name, on(Color::Indexed(colour))))
        .to_vec()
}

/// Returns a legend for colours of types.
pub(crate) fn kind_legend() -> Vec<(&'static str, Style)> {
    let frame = |(kind, name, _)| (name, kind_frame(Some(kind)));
    palette::KINDS.map(frame).to_vec()
}

/// Returns a legend for colours of a comparison.
pub(crate) fn change_legend() -> Vec<(&'static str, Style)> {
    vec![
        ("more", change_frame(1, 1)),
        ("less", change_frame(-1, 1)),
        ("same as in the base", change_frame(0, 1)),
    ]
}

/// Code without a name, and places without recorded stacks.
const UNRESOLVED: Color = Color::Indexed(244);

/// A frame of the flamegraph for a place.
pub(crate) fn place_frame() -> Style {
    on(UNRESOLVED)
}

/// A frame of the flamegraph, with its crate as a background.
pub(crate) fn frame(function: Option<&Function>) -> Style {
    on(function.map_or(Color::Indexed(250), colour_of))
}

const USER: [u8; 6] = [208, 214, 221, 209, 215, 222];
const DEPENDENCY: [u8; 10] = [114, 79, 150, 141, 176, 116, 183, 120, 80, 147];
const STD: [u8; 3] = [110, 109, 146];
const NATIVE: u8 = 249;

/// Returns the colour of a crate, which is always the same: warm for the user's own, blue-grey for
/// std, grey for native code.
fn colour_of(function: &Function) -> Color {
    let pick = |of: &[u8], name: &str| {
        // FNV-1a: small, and the same on every machine.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        let colour = of.get((hash % of.len() as u64) as usize);
        Color::Indexed(colour.copied().unwrap_or(250))
    };
    match function.origin {
        Origin::User => pick(&USER, &function.krate),
        Origin::Dependency => pick(&DEPENDENCY, &function.krate),
        Origin::Std => pick(&STD, &function.krate),
        Origin::Native => Color::Indexed(NATIVE),
        _ => UNRESOLVED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;

    #[test]
    fn an_ascii_terminal_gets_nothing_but_ascii() {
        let mut buffer = Buffer::with_lines(["│▁▅█…·›日本é"]);
        let terminal = Options {
            colour: true,
            unicode: false,
            ..Options::default()
        };
        degrade(&terminal, &mut buffer);
        let text: String = buffer.content.iter().map(|c| c.symbol()).collect();
        assert!(text.is_ascii(), "{text}");
        assert!(text.starts_with("|.:#~.>?"), "{text}");
    }

    #[test]
    fn no_kind_of_type_has_a_colour_of_own_code() {
        for (kind, name, colour) in palette::KINDS {
            assert!(!USER.contains(&colour), "{kind:?} {name}");
        }
    }

    #[test]
    fn colours_for_a_light_background_can_be_read_on_white_and_keep_their_hue() {
        for colour in [110, 220, 203, 215, 114, 208, 74, 75, 150, 221] {
            let cube = in_cube(darker(colour)).expect("in the cube");
            assert!(contrast_to_white(cube) >= 3.5, "{colour}");
        }
        assert_eq!(darker(245), 242);
        assert_eq!(darker(208), 166, "orange stays orange");
        assert_eq!(darker(114), 28, "green stays green");
    }

    #[test]
    fn sixteen_colours_are_enough_for_every_style() {
        let terminal = Options {
            sixteen_colours: true,
            ..Options::default()
        };
        let styles = [code_legend(), kind_legend(), change_legend()].concat();
        for (name, style) in styles {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
            buffer.set_string(0, 0, "x", style);
            degrade(&terminal, &mut buffer);
            let cell = &buffer.content[0];
            let (Color::Indexed(text), Color::Indexed(background)) = (cell.fg, cell.bg) else {
                panic!("{name} has no colours");
            };
            assert!(text < 16 && background < 16 && text != background, "{name}");
        }
        assert_eq!(one_of_eight(208), 3, "orange is yellow");
        assert_eq!(one_of_eight(203), 1);
        assert_eq!(one_of_eight(75), 4);
        assert_eq!(one_of_eight(110), 4);
    }

    #[test]
    fn without_colour_modifiers_remain() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
        buffer.set_string(0, 0, "x", warning());
        let terminal = Options {
            colour: false,
            unicode: true,
            ..Options::default()
        };
        degrade(&terminal, &mut buffer);
        let cell = &buffer.content[0];
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        assert!(cell.modifier.contains(Modifier::BOLD));
    }
}
