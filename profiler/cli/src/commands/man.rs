//! `heapglass man`: manual pages, made of what `--help` says.

use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::{Cli, Man};
use crate::error::Error;
use crate::files::output::Output;
use crate::say;

pub(super) fn run(args: &Man) -> Result<u8, Error> {
    let mut cli = Cli::command();
    // Names of commands in full: heapglass-export.
    cli.build();
    let Some(folder) = &args.output else {
        let page = render(cli)?;
        Output::Stdout.write(|out| out.write_all(&page))?;
        return Ok(0);
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let commands: Vec<Command> = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
        .cloned()
        .collect();
    let pages = commands.len() + 1;
    for command in [cli].into_iter().chain(commands) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = folder.join(format!("{name}.1"));
        let page = render(command)?;
        Output::open(&path, &[])?.write(|out| out.write_all(&page))?;
    }
    say::line(format_args!("wrote {pages} pages to {}", folder.display()));
    Ok(0)
}

fn render(command: Command) -> Result<Vec<u8>, Error> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(Error::misuse)?;
    Ok(page)
}

fn cannot_write(folder: &Path, error: &std::io::Error) -> Error {
    Error::misuse(format_args!("cannot write {}: {error}", folder.display()))
}
