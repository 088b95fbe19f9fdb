//! Puts names and figures where inferno wrote a frame's number, while it writes.
//!
//! inferno's own tooltip has one figure and no blocks, and its line format cannot carry every name; so it draws
//! numbers, and this writer rewrites the `<title>` and `<text>` of each `<g>` as it passes. Must never hold more than
//! one frame in memory and never write an unescaped name; an element it does not know is an error, not a guess.

use std::borrow::Cow;
use std::io::{self, Write};

use super::legend;
use super::prune::REST;

/// Width of a character at inferno's default font (12 px, 0.59 em), of the 1,180 px that frames have before the
/// script fits them to the window.
const CHARS_ACROSS: f64 = 1180.0 / (12.0 * 0.59);

/// inferno's style of the control "Search", which can hardly be seen.
const FAINT_SEARCH: &str = "#search { text-anchor:end; opacity:0.1;";
/// The same, to be read.
const READABLE_SEARCH: &str = "#search { text-anchor:end; opacity:1;";

/// The texts of one frame, not yet escaped for XML.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    pub(crate) title: String,
    pub(crate) label: String,
    /// Of the whole width, 0 to 1.
    pub(crate) share: f64,
}

pub(super) struct Relabel<W, F> {
    out: W,
    root: Caption,
    caption: F,
    /// What the place in the subtitle is taken for.
    legend: Option<String>,
    pending: Vec<u8>,
    /// How much of `pending` was searched for the end of an element.
    searched: usize,
    in_frames: bool,
}

impl<W: Write, F: Fn(&str) -> Option<Caption>> Relabel<W, F> {
    /// `caption` gives the texts for the name that stood in the line; `legend` takes its place in the subtitle, as
    /// elements.
    pub(super) fn new(out: W, root: Caption, caption: F, legend: Option<String>) -> Self {
        Relabel {
            out,
            root,
            caption,
            legend,
            pending: Vec::new(),
            searched: 0,
            in_frames: false,
        }
    }

    /// Writes what stands after the last frame.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.pending)
    }

    fn drain(&mut self) -> io::Result<()> {
        loop {
            let end: &[u8] = match self.in_frames {
                true => b"</g>",
                false => b"<svg id=\"frames\"",
            };
            // The end may have begun in the bytes before.
            let from = self.searched.saturating_sub(end.len());
            let Some(at) = find(&self.pending[from..], end).map(|at| from + at + end.len()) else {
                self.searched = self.pending.len();
                return Ok(());
            };
            let text = std::str::from_utf8(&self.pending[..at]).map_err(|_| unknown())?;
            let text = match self.in_frames {
                true => self.rewrite(text).ok_or_else(unknown)?,
                false => self.rewrite_head(text).ok_or_else(unknown)?,
            };
            self.out.write_all(text.as_bytes())?;
            self.in_frames = true;
            self.pending.drain(..at);
            self.searched = 0;
        }
    }

    fn rewrite_head(&self, head: &str) -> Option<String> {
        let head = head.replacen(FAINT_SEARCH, READABLE_SEARCH, 1);
        let Some(legend) = &self.legend else {
            return Some(head);
        };
        // No recorded name stands before the subtitle with a quotation mark in it: they are escaped.
        let (before, rest) = head.split_once("id=\"subtitle\"")?;
        let rest = rest.replacen(legend::PLACE, legend, 1);
        Some(format!("{before}id=\"subtitle\"{rest}"))
    }

    fn rewrite(&self, element: &str) -> Option<String> {
        let (before, rest) = element.split_once("<title>")?;
        let (title, rest) = rest.split_once("</title>")?;
        let (between, rest) = rest.split_once("<text")?;
        let (attributes, rest) = rest.split_once('>')?;
        let (_, after) = rest.split_once("</text>")?;
        let token = title.split(' ').next()?;
        let caption = match token {
            "all" => self.root.clone(),
            REST => {
                let figures = title.split_once(' ')?.1;
                Caption {
                    title: format!("[too narrow to draw] {figures}"),
                    label: String::new(),
                    share: 0.0,
                }
            }
            token => (self.caption)(token)?,
        };
        let (title, label) = (escape(&caption.title), fit(&caption.label, caption.share));
        let label = escape(&label);
        Some(format!(
            "{before}<title>{title}</title>{between}<text{attributes}>{label}</text>{after}"
        ))
    }
}

impl<W: Write, F: Fn(&str) -> Option<Caption>> Write for Relabel<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        // PERF: inferno writes a few bytes at a time; only `>` can end an element.
        if bytes.contains(&b'>') || !self.in_frames {
            self.drain()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn unknown() -> io::Error {
    io::Error::other(
        "inferno wrote a frame that heapglass cannot read: please report this with the recording",
    )
}

/// The beginning of the label, as much as fits. The script does the same when it runs.
fn fit(label: &str, share: f64) -> Cow<'_, str> {
    let room = (share * CHARS_ACROSS) as usize;
    match room {
        0..3 => Cow::Borrowed(""),
        _ if label.chars().count() < room => Cow::Borrowed(label),
        _ => Cow::Owned(label.chars().take(room - 2).chain("..".chars()).collect()),
    }
}

/// For text and attributes of XML; the text must be free of control characters already.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
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
