//! `heapglass man`: manual pages with the contents of `--help`.

use clap::{Command, CommandFactory};

use crate::args::{CargoCli, Cli, Man};
use crate::error::Error;
use crate::files::output::Output;
use crate::terminal;

pub(super) fn run(args: &Man) -> Result<(), Error> {
    let mut clis = [Cli::command(), CargoCli::for_shells()];
    // Gives the commands their full names: heapglass-export.
    clis.iter_mut().for_each(Command::build);
    let Some(folder) = &args.output else {
        let [heapglass, _] = clis;
        return write_page(heapglass, Output::Stdout);
    };
    let shown = folder.display();
    std::fs::create_dir_all(folder).map_err(Error::wrap(format_args!("cannot write {shown}")))?;
    let commands = clis.into_iter().flat_map(|cli| {
        let subcommands = cli.get_subcommands();
        let mut pages: Vec<Command> = subcommands
            .filter(|command| !command.is_hide_set() && command.get_name() != "help")
            .cloned()
            .collect();
        pages.push(cli);
        pages
    });
    let mut pages = 0;
    for command in commands {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = folder.join(format!("{name}.1"));
        write_page(command, Output::open(&path, &[])?)?;
        pages += 1;
    }
    terminal::eprint_line(format_args!("wrote {pages} pages to {shown}"));
    Ok(())
}

fn write_page(command: Command, output: Output) -> Result<(), Error> {
    let page = clap_mangen::Man::new(command);
    let written = output.write(|mut out| page.render(&mut out));
    written.map(drop)
}
