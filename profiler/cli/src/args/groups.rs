//! The list of commands in the help of `heapglass`, in groups by what a reader wants to do.

use std::io::stdout;

use clap::Command;

use crate::terminal::columns;

/// The groups, and the commands of each in the order of the help.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Record", &["run", "demo", "preload"]),
    ("Look", &["tui", "report", "advise", "flamegraph"]),
    (
        "While a program runs",
        &[
            "attach", "detach", "snapshot", "serve", "push", "pause", "resume", "set",
        ],
    ),
    ("Compare", &["diff", "check", "compare-allocators", "merge"]),
    ("Share", &["export", "pack"]),
    ("Shell", &["completions", "man"]),
];

/// The column in which descriptions begin.
const INDENT: usize = 22;

/// Columns of the help, unless the terminal is narrower.
const MOST_COLUMNS: usize = 100;

/// Makes the help list the commands in groups.
pub(super) fn grouped(cli: Command) -> Command {
    let columns = columns(&stdout()).unwrap_or(MOST_COLUMNS).min(MOST_COLUMNS);
    let mut list = String::new();
    for (title, names) in GROUPS {
        list.push_str(&format!("{title}:\n"));
        for name in names {
            // A build without a feature lacks its commands.
            let Some(command) = cli.find_subcommand(name) else {
                continue;
            };
            let about = command.get_about().map(ToString::to_string);
            list.push_str(&entry(name, &about.unwrap_or_default(), columns));
        }
        list.push('\n');
    }
    cli.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Arguments:\n{{positionals}}\n\n\
         Options:\n{{options}}{{after-help}}"
    ))
}

/// A command and its description, broken at blanks.
fn entry(name: &str, about: &str, columns: usize) -> String {
    let mut text = format!("  {name:<0$}", INDENT - 2);
    let mut used = INDENT;
    for word in about.split(' ') {
        if used > INDENT && used + 1 + word.len() > columns {
            text.push_str(&format!("\n{:INDENT$}", ""));
            used = INDENT;
        } else if used > INDENT {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += word.len();
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let cli = Cli::command();
        let visible = cli
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let mut names: Vec<&str> = visible.map(Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        names.sort_unstable();
        listed.retain(|name| cfg!(feature = "serve") || !["serve", "push"].contains(name));
        listed.sort_unstable();
        assert_eq!(listed, names);
        let help = grouped(cli).render_long_help().to_string();
        for text in [
            "Record:\n  run ",
            "Compare:\n  diff ",
            "Arguments:\n",
            "Options:\n",
            "Examples:",
        ] {
            assert!(help.contains(text), "{text}\n{help}");
        }
        assert!(
            help.lines().all(|line| line.len() <= MOST_COLUMNS),
            "{help}"
        );
    }
}
