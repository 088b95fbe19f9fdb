//! `heapglass completions SHELL`: prints a completion script.

use clap::CommandFactory;

use crate::args::{CargoCli, Cli, Completions};
use crate::error::Error;
use crate::files::output::print;

pub(super) fn run(args: &Completions) -> Result<(), Error> {
    let (mut command, name) = if args.cargo {
        (CargoCli::for_shells(), "cargo-heapglass")
    } else {
        (Cli::command(), "heapglass")
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    print(&script)
}
