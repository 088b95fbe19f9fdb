//! `heapglass man`: manual pages with the contents of `--help`.

use clap::{Command, CommandFactory};

use crate::args::{Cli, Man};
use crate::error::Error;
use crate::files::output::Output;
use crate::terminal;

pub(super) fn run(args: &Man) -> Result<(), Error> {
    let mut cli = Cli::command();
    // Gives the commands their full names: heapglass-export.
    cli.build();
    let Some(folder) = &args.output else {
        return write_page(cli, Output::Stdout);
    };
    let shown = folder.display();
    std::fs::create_dir_all(folder).map_err(Error::wrap(format_args!("cannot write {shown}")))?;
    let mut commands: Vec<Command> = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
        .cloned()
        .collect();
    commands.push(cli);
    let pages = commands.len();
    for command in commands {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = folder.join(format!("{name}.1"));
        write_page(command, Output::open(&path, &[])?)?;
    }
    terminal::eprint_line(format_args!("wrote {pages} pages to {shown}"));
    Ok(())
}

fn write_page(command: Command, output: Output) -> Result<(), Error> {
    let page = clap_mangen::Man::new(command);
    let written = output.write(|mut out| page.render(&mut out));
    written.map(drop)
}
