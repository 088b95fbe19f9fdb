//! The arguments of cargo that matter to `cargo heapglass`. Cargo receives all of them unchanged.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::Error;

/// The arguments of cargo that matter here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    /// `--release` is given.
    pub(super) release: bool,
    /// Value of `--profile`.
    pub(super) profile: Option<String>,
    /// Values of `--target`.
    pub(super) targets: Vec<String>,
    /// Value of `--manifest-path`.
    pub(super) manifest_path: Option<PathBuf>,
    /// `--target-dir` is given.
    pub(super) has_target_dir: bool,
    /// `--message-format` is given.
    pub(super) has_message_format: bool,
}

impl Arguments {
    /// Reads the arguments before `--`.
    ///
    /// # Errors
    /// Returns an error if a `--config` sets rustflags or a runner, because cargo cannot extend
    /// those.
    pub(super) fn parse(words: &[OsString]) -> Result<Arguments, Error> {
        let mut arguments = Arguments::default();
        let mut words = words.iter().take_while(|word| *word != "--");
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let (name, given) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (&*text, None),
            };
            let mut value = || {
                let next = || words.next().map(|word| word.to_string_lossy().into_owned());
                given.clone().or_else(next)
            };
            match name {
                "-r" | "--release" => arguments.release = true,
                "--profile" => arguments.profile = value(),
                "--target" => arguments.targets.extend(value()),
                "--manifest-path" => arguments.manifest_path = value().map(PathBuf::from),
                "--target-dir" => arguments.has_target_dir = value().is_some(),
                "--message-format" => arguments.has_message_format = value().is_some(),
                "--config" => {
                    let config = value().unwrap_or_default();
                    if config.contains("rustflags") || config.contains("runner") {
                        return Err(Error::misuse(format_args!(
                            "cannot use `--config {config}`, because cargo heapglass extends rustflags and runner; \
                             move the setting to RUSTFLAGS or .cargo/config.toml"
                        )));
                    }
                }
                _ => {}
            }
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, Error> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn values_are_read_in_both_spellings_and_not_behind_two_dashes() {
        let arguments = parse("-p a --profile=fast --target x --target=y -- --release").unwrap();
        assert_eq!(arguments.profile.as_deref(), Some("fast"));
        assert_eq!(arguments.targets, ["x", "y"]);
        assert!(!arguments.release);
    }

    #[test]
    fn a_config_with_rustflags_is_refused_and_others_are_not() {
        assert!(parse("--config build.rustflags=['-g']").is_err());
        assert!(parse("--config=target.x.runner='r'").is_err());
        assert!(parse("--config net.offline=true").is_ok());
    }
}
