//! Writes what a view shows to a file, and names the command that writes the same.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use heapglass_profiler::calltree::{CallTreeOptions, Levels};
use heapglass_profiler::diff::{self, Diff, DiffOptions, Recording};
use heapglass_profiler::export;
use heapglass_profiler::flamegraph::write_svg;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::By;

use crate::model::{Base, Data, Format};

/// A view to write.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) data: Arc<Data>,
    pub(crate) format: Format,
    /// The path of the recording.
    pub(crate) recording: String,
    /// The name of the view, for the name of the file.
    pub(crate) view: String,
    /// The tree of a picture.
    pub(crate) tree: CallTreeOptions,
    /// The rows of a table.
    pub(crate) by: By,
}

impl Export {
    /// Writes the view into a new file in `folder`. Returns sentences that name the file and the
    /// command that writes it again.
    ///
    /// # Errors
    /// Returns a sentence that says which file could not be written, and why.
    pub(crate) fn write_into(&self, folder: &Path) -> Result<Vec<String>, String> {
        let (path, file) = self.create(folder)?;
        let mut out = BufWriter::new(file);
        let written = self.write(&mut out).and_then(|()| out.flush());
        if let Err(error) = written {
            // Half a file is of no use, and was made just now.
            let _ = std::fs::remove_file(&path);
            return Err(format!("cannot write {}: {error}", path.display()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut texts = vec![
            format!("Wrote {}.", path.display()),
            "The same file is written by:".to_owned(),
            self.command(&name),
        ];
        if let Some(reason) = self.without_base() {
            texts.push(format!("The base is not in it: {reason}."));
        }
        Ok(texts)
    }

    /// Returns the reason why the comparison with the base is not written; `None` if it is, or if
    /// there is no base.
    fn without_base(&self) -> Option<&'static str> {
        let base = self.data.base.as_ref()?;
        let tree = CallTreeOptions {
            levels: self.tree.levels,
            measure: self.tree.measure,
            ..CallTreeOptions::default()
        };
        match self.format {
            // No recording has it, so no command could write the same.
            _ if base.is_taken_here => Some("it was taken here, and is in no file"),
            Format::Csv => Some("rows of two recordings are printed by `heapglass diff`"),
            Format::Svg if self.tree != tree => Some(
                "a picture of two recordings has folded frames, outermost first, and no phases",
            ),
            Format::Svg | Format::Html => None,
        }
    }

    /// Returns the base if the comparison with it is written.
    fn compared(&self) -> Option<&Base> {
        let base = self.data.base.as_deref()?;
        self.without_base().is_none().then_some(base)
    }

    /// Returns the rows of a comparison whose picture has these levels.
    fn rows_of_levels(&self) -> By {
        match self.tree.levels {
            Levels::Field => By::Field,
            Levels::Type => By::Type,
            Levels::Arena => By::Arena,
            _ => By::Site,
        }
    }

    fn write_comparison(&self, base: &Base, out: &mut impl Write) -> io::Result<()> {
        let base = [base.recording()];
        let new = [Recording {
            name: &self.recording,
            profile: &self.data.profile,
        }];
        let measure = self.tree.measure;
        if self.format == Format::Html {
            let options = ReportOptions {
                measure,
                ..ReportOptions::default()
            };
            return export::write_comparison_page(&base, &new, &options, None, out);
        }
        let options = DiffOptions {
            by: self.rows_of_levels(),
            measure,
            ..DiffOptions::default()
        };
        diff::write_svg(&Diff::new(&base, &new, options).into(), out).map(drop)
    }

    fn create(&self, folder: &Path) -> Result<(PathBuf, File), String> {
        let stem = Path::new(&self.recording)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let plain = |c| if is_plain(c) { c } else { '_' };
        let mut stem: String = stem.chars().take(60).map(plain).collect();
        if stem.starts_with(['.', '-']) || stem.is_empty() {
            stem.insert_str(0, "heapglass");
        }
        let extension = self.extension();
        for number in 1..1_000 {
            let number = match number {
                1 => String::new(),
                number => format!("-{number}"),
            };
            let path = folder.join(format!("{stem}.{}{number}.{extension}", self.view));
            match File::create_new(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot write {}: {error}", path.display())),
            }
        }
        Err(format!(
            "there are too many files like {stem}.{}.{extension}",
            self.view
        ))
    }

    fn extension(&self) -> &'static str {
        match self.format {
            Format::Svg => "svg",
            Format::Html => "html",
            Format::Csv => "csv",
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(base) = self.compared() {
            return self.write_comparison(base, out);
        }
        let profile = &self.data.profile;
        let format = match self.format {
            Format::Svg => return write_svg(profile, &self.tree.into(), out).map(drop),
            Format::Html => export::Format::Html,
            Format::Csv => export::Format::Csv,
        };
        let options = ReportOptions {
            measure: self.tree.measure,
            frames: self.frames(format),
            by: self.by,
            recording: Some(&self.recording),
            ..ReportOptions::default()
        };
        export::write(profile, format, &options, out)
    }

    /// Returns the frames of a table or page: those of the view if they change anything.
    fn frames(&self, format: export::Format) -> Frames {
        if self.by == By::Function || format == export::Format::Html {
            self.tree.frames
        } else {
            format.default_frames()
        }
    }

    /// Returns the command that writes the same into a file named `name`.
    fn command(&self, name: &str) -> String {
        let mut words = vec!["heapglass".to_owned()];
        let mut add = |text: &str| words.push(text.to_owned());
        let recording = quoted(&self.recording);
        let base = self.compared().map(|base| quoted(&base.name));
        let mut frames = self.tree.frames;
        if self.format == Format::Svg {
            match &base {
                Some(base) => ["diff", base, &recording].into_iter().for_each(&mut add),
                None => ["flamegraph", &recording].into_iter().for_each(&mut add),
            }
            if self.tree.levels != Levels::Stack {
                add("--by");
                add(self.tree.levels.name());
                frames = Frames::Folded;
            }
            if self.tree.inverted {
                add("--inverted");
            }
            if self.tree.scopes {
                add("--phases");
            }
        } else {
            add("export");
            add(&recording);
            if let Some(base) = &base {
                add("--base");
                add(base);
                frames = Frames::Folded;
            }
            add("--to");
            add(self.extension());
            if self.format == Format::Csv {
                add("--by");
                add(self.by.name());
                frames = self.frames(export::Format::Csv);
            }
        }
        if self.tree.measure != Measure::Peak {
            add("--measure");
            add(self.tree.measure.name());
        }
        if frames != Frames::Folded {
            add("--frames");
            add(frames.name());
        }
        add("-o");
        add(name);
        words.join(" ")
    }
}

/// Quotes a word for a shell if it needs it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+:@%=".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let word = word.replace('\'', "'\\''");
    let start = if word.starts_with('-') { "./" } else { "" };
    format!("'{start}{word}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_are_quoted_only_if_they_need_it() {
        assert_eq!(quoted("/a/b-1.hg"), "/a/b-1.hg");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted("-x.hg"), "'./-x.hg'");
    }
}
