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
    /// `true` if characters outside ASCII may be used.
    pub unicode: bool,
    /// Folders to search for source files with relative or moved paths.
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
            unicode: true,
            source_roots: vec![PathBuf::from(".")],
            base: None,
            refresh: Duration::from_millis(700),
        }
    }
}

impl Options {
    /// Returns the defaults for this terminal. Uses no colour with `NO_COLOR` or `TERM=dumb`. Uses
    /// ASCII with `TERM=dumb`, or if the first variable that is set of `LC_ALL`, `LC_CTYPE` and
    /// `LANG` does not name UTF-8.
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"))
            .unwrap_or_default()
            .to_ascii_lowercase();
        let utf8 = cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8");
        Options {
            colour: !dumb && set("NO_COLOR").is_none(),
            unicode: !dumb && utf8,
            ..Options::default()
        }
    }
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
    fn a_dumb_terminal_gets_neither() {
        let options = options(&[("TERM", "dumb"), ("LANG", "en_GB.UTF-8")]);
        assert!(!options.colour && !options.unicode);
    }
}
