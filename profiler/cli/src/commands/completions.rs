//! `heapglass completions SHELL`: prints a completion script.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::error::Error;
use crate::files::output::print;

pub(super) fn run(args: &Completions) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "heapglass", &mut script);
    print(&script)
}
