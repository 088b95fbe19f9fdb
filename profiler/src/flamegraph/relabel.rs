//! Puts names and figures where inferno drew a frame's number.
//!
//! inferno's own tooltip has one figure and no blocks, and its line format cannot carry every name;
//! so it draws numbers, and the `<title>` and `<text>` of each frame are replaced. This module must
//! never write an unescaped name; an element it does not know is an error, not a guess.

use std::borrow::Cow;
use std::io::{self, Write};

use super::legend;
use super::prune::{REST, Widths};
use crate::calltree::NodeId;
use crate::units::Share;

/// Width of a character at inferno's default font (12 px, 0.59 em), of the 1,180 px that frames
/// have before the script fits them to the window.
const CHARS_ACROSS: f64 = 1180.0 / (12.0 * 0.59);

/// inferno's style of the control "Search", which can hardly be seen.
const FAINT_SEARCH: &str = "#search { text-anchor:end; opacity:0.1;";
/// The same, to be read.
const READABLE_SEARCH: &str = "#search { text-anchor:end; opacity:1;";

/// The end of inferno's style sheet.
const END_OF_STYLE: &str = "</style>";

/// The dark scheme, where the reader's system asks for one. Frames keep their colours, paler, and
/// their black text.
pub(super) const DARK: &str = "
@media (prefers-color-scheme: dark) {
  svg { background: #1b1d21; }
  #background stop { stop-color: #1b1d21; }
  #ground { fill: #1b1d21; }
  svg > text, #frames > #title, #frames > #subtitle { fill: #dcdcdc; }
  #frames > g { opacity: 0.86; }
}
";

/// The texts of one frame, not yet escaped for XML.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    pub(crate) title: String,
    pub(crate) label: String,
}

/// Writes what inferno drew; `caption` gives the texts of the nodes of `tree`, `legend` takes its
/// place in the subtitle, as elements.
pub(super) fn relabel(
    svg: &str,
    tree: &impl Widths,
    caption: impl Fn(NodeId) -> Caption,
    legend: Option<&str>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut parts = svg.split("<title>");
    let head = parts.next().and_then(|head| with_legend(head, legend));
    out.write_all(head.ok_or_else(unknown)?.as_bytes())?;
    for frame in parts {
        let frame = rewrite(frame, tree, &caption).ok_or_else(unknown)?;
        out.write_all(frame.as_bytes())?;
    }
    Ok(())
}

fn with_legend(head: &str, legend: Option<&str>) -> Option<String> {
    let (style, rest) = head.split_once(END_OF_STYLE)?;
    let style = style.replacen(FAINT_SEARCH, READABLE_SEARCH, 1);
    let head = format!("{style}{DARK}{END_OF_STYLE}{rest}");
    let Some(legend) = legend else {
        return Some(head);
    };
    // No recorded name stands before the subtitle with a quotation mark in it: they are escaped.
    let (before, rest) = head.split_once("id=\"subtitle\"")?;
    let rest = rest.replacen(legend::PLACE, legend, 1);
    Some(format!("{before}id=\"subtitle\"{rest}"))
}

/// Rewrites the part after the `<title>` of a frame, with its texts.
fn rewrite(frame: &str, tree: &impl Widths, caption: impl Fn(NodeId) -> Caption) -> Option<String> {
    let (drawn, rest) = frame.split_once("</title>")?;
    let (between, rest) = rest.split_once("<text")?;
    let (attributes, rest) = rest.split_once('>')?;
    let (_, after) = rest.split_once("</text>")?;
    let (token, figures) = drawn.split_once(' ')?;
    let (title, label) = match token {
        REST => (format!("[too narrow to draw] {figures}"), String::new()),
        token => {
            let id = if token == "all" { "0" } else { token };
            let id = id.parse().ok().map(NodeId);
            let id = id.filter(|id| (id.0 as usize) < tree.len())?;
            let Caption { title, label } = caption(id);
            let share = Share::of(tree.width(id), tree.width(NodeId::ROOT));
            (title, fit(label, share.fraction()))
        }
    };
    let (title, label) = (escape(&title), escape(&label));
    Some(format!(
        "<title>{title}</title>{between}<text{attributes}>{label}</text>{after}"
    ))
}

fn unknown() -> io::Error {
    io::Error::other(
        "inferno wrote a frame that heapglass cannot read: please report this with the recording",
    )
}

/// The beginning of the label, as much as fits. The script does the same when it runs.
fn fit(label: String, share: f64) -> String {
    let room = (share * CHARS_ACROSS) as usize;
    match room {
        0..3 => String::new(),
        _ if label.chars().count() < room => label,
        _ => label.chars().take(room - 2).chain("..".chars()).collect(),
    }
}

/// Escapes text for elements and attributes of XML and HTML. The text must be free of control
/// characters already.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}
