//! Options of the UI, with defaults from the environment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use heapglass_profiler::profile::Measure;

use crate::{Base, ViewId};

/// Options for the start of the UI and the abilities of its terminal.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first view to show.
    pub view: ViewId,
    /// The first measure to show.
    pub measure: Measure,
    /// `true` if colours may be used.
    pub colour: bool,
    /// `true` if the terminal has only the 16 colours of ANSI.
    pub sixteen_colours: bool,
    /// `true` if the terminal has a light background.
    pub light: bool,
    /// `true` if characters outside ASCII may be used.
    pub unicode: bool,
    /// Folders to search for source files with relative or moved paths. Only files below them are
    /// opened in an editor.
    pub source_roots: Vec<PathBuf>,
    /// The recording to compare with.
    pub base: Option<Arc<Base>>,
    /// The pause between two loads of a live recording.
    pub refresh: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            view: ViewId::Overview,
            measure: Measure::Peak,
            colour: true,
            sixteen_colours: false,
            light: false,
            unicode: true,
            source_roots: vec![PathBuf::from(".")],
            base: None,
            refresh: Duration::from_millis(700),
        }
    }
}

impl Options {
    /// Returns the defaults for this terminal. Uses no colour with `NO_COLOR`, `TERM=dumb` or a
    /// terminal of DEC, and 16 colours unless `TERM` or `COLORTERM` promises more. Uses colours for
    /// a light background if `HEAPGLASS_THEME` or `COLORFGBG` says so. Uses ASCII with `TERM=dumb`,
    /// or if the first variable that is set of `LC_ALL`, `LC_CTYPE` and `LANG` does not name UTF-8.
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        let dumb = term == "dumb";
        let is_monochrome = dumb || MONOCHROME.iter().any(|name| term.starts_with(name));
        let has_many = cfg!(windows)
            || set("COLORTERM").is_some()
            || MANY_COLOURS.iter().any(|name| term.contains(name));
        let light = match set("HEAPGLASS_THEME").as_deref() {
            Some("light") => true,
            Some("dark") => false,
            _ => is_light(&set("COLORFGBG").unwrap_or_default()),
        };
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"))
            .unwrap_or_default()
            .to_ascii_lowercase();
        let utf8 = cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8");
        Options {
            colour: !is_monochrome && set("NO_COLOR").is_none(),
            sixteen_colours: !has_many,
            light,
            unicode: !dumb && utf8,
            ..Options::default()
        }
    }
}

/// Beginnings of `TERM` for terminals without colours.
const MONOCHROME: [&str; 3] = ["vt1", "vt2", "vt3"];

/// Parts of `TERM` for terminals with at least 256 colours.
const MANY_COLOURS: [&str; 9] = [
    "256color",
    "direct",
    "truecolor",
    "kitty",
    "ghostty",
    "alacritty",
    "wezterm",
    "foot",
    "contour",
];

/// Returns `true` if `COLORFGBG` (`0;15`, `0;default;15`) names a light background, by the rule of
/// vim: all but the dark colours and dark grey.
fn is_light(colours: &str) -> bool {
    let background = colours
        .rsplit(';')
        .next()
        .and_then(|number| number.parse().ok());
    background.is_some_and(|number: u8| number == 7 || (9..16).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Options {
        Options::from_variables(|name| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn a_utf8_terminal_gets_colour_and_unicode() {
        let options = options(&[("TERM", "xterm-256color"), ("LANG", "en_GB.UTF-8")]);
        assert!(options.colour && options.unicode);
    }

    #[test]
    fn no_color_takes_the_colour_and_leaves_unicode() {
        let options = options(&[("NO_COLOR", "1"), ("LANG", "C.utf8")]);
        assert!(!options.colour && options.unicode);
    }

    #[test]
    fn an_empty_no_color_is_as_good_as_unset() {
        assert!(options(&[("NO_COLOR", ""), ("LANG", "C.UTF-8")]).colour);
    }

    #[test]
    fn lc_all_overrules_lang() {
        assert!(!options(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]).unicode);
    }

    #[test]
    fn the_terminal_says_how_many_colours_it_has() {
        for (term, colour, sixteen) in [
            ("xterm-256color", true, false),
            ("xterm-kitty", true, false),
            ("tmux-256color", true, false),
            ("screen", true, true),
            ("xterm", true, true),
            ("linux", true, true),
            ("vt220", false, true),
        ] {
            let found = options(&[("TERM", term), ("LANG", "C.UTF-8")]);
            assert_eq!(
                (found.colour, found.sixteen_colours),
                (colour, sixteen),
                "{term}"
            );
        }
        let found = options(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]);
        assert!(!found.sixteen_colours);
    }

    #[test]
    fn a_light_background_is_known_by_two_variables() {
        for (variables, light) in [
            (&[("COLORFGBG", "0;15")][..], true),
            (&[("COLORFGBG", "15;default;0")], false),
            (&[("COLORFGBG", "0;15"), ("HEAPGLASS_THEME", "dark")], false),
            (&[("HEAPGLASS_THEME", "light")], true),
            (&[("COLORFGBG", "")], false),
        ] {
            assert_eq!(options(variables).light, light, "{variables:?}");
        }
    }

    #[test]
    fn a_dumb_terminal_gets_neither() {
        let options = options(&[("TERM", "dumb"), ("LANG", "en_GB.UTF-8")]);
        assert!(!options.colour && !options.unicode);
    }
}
