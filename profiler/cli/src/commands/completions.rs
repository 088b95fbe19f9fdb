//! `heapglass completions SHELL`.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::error::Error;
use crate::files::output::Output;

pub(super) fn run(args: &Completions) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "heapglass", &mut script);
    let written = Output::Stdout.write(|out| out.write_all(&script));
    written.map(drop)
}
