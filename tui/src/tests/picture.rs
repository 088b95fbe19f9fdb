//! Pictures of screens for the README and the guide, as SVG. `cargo bless` draws them anew.
//!
//! The text of a picture must be that of the screen. Colours are not compared: other terminals have
//! others.

use std::fmt::Write as _;
use std::path::Path;

use heapglass_fixture as fixture;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::Screen;
use crate::Options;

/// Pixels of a cell.
const CELL: (f64, f64) = (8.0, 17.0);

/// Pixels around the screen.
const MARGIN: f64 = 10.0;

const GROUND: &str = "#1c1f26";
const TEXT: &str = "#d5d8df";

/// The pictures: name, keys, width and height of the terminal.
const PICTURES: [(&str, &str, u16, u16); 2] = [
    ("overview", "", 112, 30),
    ("flamegraph", "2 j j j", 112, 22),
];

fn screen(keys: &str, width: u16, height: u16) -> Screen {
    let options = Options {
        source_roots: Vec::new(),
        ..Options::default()
    };
    let mut screen = Screen::empty(width, height, options);
    screen.app.title = "shop.hg".into();
    let mut profile = fixture::real("shop-profiled");
    profile.parts().process.started_unix_ns = 0;
    screen.load(profile, false);
    screen.press(keys);
    screen
}

/// Returns the colours of a cell: the text's and, unless it is that of the ground, the
/// background's.
fn colours(cell: &Cell) -> (String, Option<String>) {
    let [fg, bg] = [cell.fg, cell.bg].map(hex);
    if cell.modifier.contains(Modifier::REVERSED) {
        let text = bg.unwrap_or_else(|| GROUND.to_owned());
        (text, Some(fg.unwrap_or_else(|| TEXT.to_owned())))
    } else {
        (fg.unwrap_or_else(|| TEXT.to_owned()), bg)
    }
}

fn hex(colour: Color) -> Option<String> {
    let (r, g, b) = match colour {
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Indexed(number @ 232..) => {
            let grey = 8 + 10 * (number - 232);
            (grey, grey, grey)
        }
        Color::Indexed(number @ 16..) => {
            let step = |at: u8| if at == 0 { 0 } else { 55 + 40 * at };
            let cube = number - 16;
            (step(cube / 36), step(cube / 6 % 6), step(cube % 6))
        }
        Color::Reset => return None,
        other => panic!("views do not use {other:?}"),
    };
    Some(format!("#{r:02x}{g:02x}{b:02x}"))
}

/// Returns the part of a cell that a block element fills: left, top, width and height.
fn block(symbol: &str) -> Option<(f64, f64, f64, f64)> {
    let eighths = |from: char, c: char| f64::from(u32::from(c) - u32::from(from)) / 8.0;
    match symbol.chars().next()? {
        // The lower eighths, from one to eight.
        c @ '▁'..='█' => {
            let height = eighths('▁', c) + 0.125;
            Some((0.0, 1.0 - height, 1.0, height))
        }
        // The left eighths, from seven to one.
        c @ '▉'..='▏' => Some((0.0, 0.0, 0.875 - eighths('▉', c), 1.0)),
        _ => None,
    }
}

/// Draws a screen.
fn svg(buffer: &Buffer, title: &str) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let [width, height] =
        [f64::from(columns) * CELL.0, f64::from(rows) * CELL.1].map(|size| size + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"13\">\n"
    );
    let rectangle = |out: &mut String, (x, y, w, h): (f64, f64, f64, f64), fill: &str| {
        // Infallible: writing to a String.
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{fill}\"/>"
        );
    };
    for row in 0..rows {
        let top = MARGIN + f64::from(row) * CELL.1;
        let cells: Vec<&Cell> = (0..columns).map(|column| &buffer[(column, row)]).collect();
        let left = |at: usize| MARGIN + at as f64 * CELL.0;
        // Backgrounds lie below the text of the whole row.
        let mut at = 0;
        for run in cells.chunk_by(|one, other| colours(one).1 == colours(other).1) {
            if let (_, Some(fill)) = colours(run[0]) {
                let size = (left(at), top, run.len() as f64 * CELL.0, CELL.1);
                rectangle(&mut out, size, &fill);
            }
            at += run.len();
        }
        let mut at = 0;
        let kind = |cell: &Cell| (colours(cell).0, cell.modifier, block(cell.symbol()));
        for run in cells.chunk_by(|one, other| kind(one) == kind(other)) {
            let (fill, modifier, block) = kind(run[0]);
            let text: String = run.iter().map(|cell| cell.symbol()).collect();
            let size = run.len() as f64 * CELL.0;
            if let Some((x, y, w, h)) = block {
                // A bar of several cells is one rectangle, if each of them is full.
                let count = if w == 1.0 { 1 } else { run.len() };
                for part in 0..count {
                    let w = if count == 1 { w * size } else { w * CELL.0 };
                    let place = (
                        left(at + part) + x * CELL.0,
                        top + y * CELL.1,
                        w,
                        h * CELL.1,
                    );
                    rectangle(&mut out, place, &fill);
                }
            } else if !text.trim().is_empty() {
                let weight = if modifier.contains(Modifier::BOLD) {
                    " font-weight=\"bold\""
                } else {
                    ""
                };
                let opacity = if modifier.contains(Modifier::DIM) {
                    " opacity=\"0.75\""
                } else {
                    ""
                };
                // Browsers collapse spaces, so what several of them part has places of its own.
                for (before, part) in parts(&text) {
                    let (x, y) = (left(at + before), top + 13.0);
                    let length = part.chars().count() as f64 * CELL.0;
                    let part = part
                        .replace('&', "&amp;")
                        .replace('<', "&lt;")
                        .replace('>', "&gt;");
                    // Infallible: writing to a String.
                    let _ = writeln!(
                        out,
                        "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{weight}{opacity}>{part}</text>"
                    );
                }
            }
            at += run.len();
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Returns the parts of a text between two or more spaces, each with the number of characters
/// before it.
fn parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut before = 0;
    for piece in text.split("  ") {
        let shown = piece.trim_start();
        let indent = piece.chars().count() - shown.chars().count();
        if !shown.is_empty() {
            parts.push((before + indent, shown.trim_end()));
        }
        before += piece.chars().count() + 2;
    }
    parts
}

/// Returns the texts of a picture without their places and colours.
fn texts(svg: &str) -> Vec<&str> {
    let elements = svg.lines().filter(|line| line.starts_with("<text "));
    let texts = elements.filter_map(|line| line.split('>').nth(1));
    texts
        .map(|text| text.strip_suffix("</text").unwrap_or(text))
        .collect()
}

#[test]
fn pictures_of_the_guide_show_the_screens_of_today() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/peak");
    for (name, keys, width, height) in PICTURES {
        let mut screen = screen(keys, width, height);
        let drawn = svg(
            screen.draw(),
            &format!("The terminal UI of heapglass: {name}"),
        );
        assert!(texts(&drawn).len() > 20, "{drawn}");
        let path = folder.join(format!("{name}.svg"));
        if std::env::var_os("HEAPGLASS_BLESS").is_some() {
            std::fs::write(&path, &drawn).expect("the picture is written");
        }
        let kept = std::fs::read_to_string(&path).expect("a picture");
        assert_eq!(
            texts(&kept),
            texts(&drawn),
            "{name}: cargo bless draws it anew"
        );
    }
}
