//! Opens the user's editor at a line. No shell is involved, and the path is always absolute.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Runs `$VISUAL`, else `$EDITOR`, else `vi`, and waits until it ends. Returns a sentence about it.
pub(super) fn open(path: &Path, line: Option<u32>) -> String {
    let set = |name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    };
    let editor = set("VISUAL")
        .or_else(|| set("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let command = Command::new(program)
        .args(words)
        .args(arguments(program, path, line))
        .status();
    match command {
        Ok(status) if status.success() => format!("{program} has ended"),
        Ok(status) => format!("{program}: {status}"),
        Err(error) => format!("cannot run {program}: {error}; set EDITOR to your editor"),
    }
}

/// Returns the arguments that open a file at a line, in the way of the editor.
fn arguments(program: &str, path: &Path, line: Option<u32>) -> Vec<OsString> {
    let path = path.as_os_str();
    let Some(line) = line else {
        return vec![path.to_owned()];
    };
    let name = Path::new(program).file_stem().unwrap_or_default();
    let mut with_line = path.to_owned();
    with_line.push(format!(":{line}"));
    match &*name.to_string_lossy() {
        "code" | "codium" | "code-insiders" | "cursor" => vec!["--goto".into(), with_line],
        "hx" | "helix" | "subl" | "zed" => vec![with_line],
        _ => vec![format!("+{line}").into(), path.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_gets_the_line_in_its_own_way() {
        let path = Path::new("/a b/$(x).rs");
        assert_eq!(
            arguments("/usr/bin/vim", path, Some(7)),
            ["+7", "/a b/$(x).rs"]
        );
        assert_eq!(arguments("hx", path, Some(7)), ["/a b/$(x).rs:7"]);
        assert_eq!(
            arguments("code", path, Some(7)),
            ["--goto", "/a b/$(x).rs:7"]
        );
        assert_eq!(arguments("nano", path, None), ["/a b/$(x).rs"]);
    }
}
