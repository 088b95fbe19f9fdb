//! `heapglass push`: profiles of a recording to a server.

use std::time::Duration;

use crate::args::{Push, Receiver};
use crate::error::Error;
use crate::push::{self, Credentials, Labels, Patience, Target};
use crate::{open, terminal};

/// The interval without `--every`.
const INTERVAL: Duration = Duration::from_secs(15);

pub(super) fn run(args: &Push) -> Result<(), Error> {
    let Receiver::Pyroscope = args.to;
    let push = push::Push {
        file: args.file.clone(),
        options: open::options(&args.symbols),
        target: Target::parse(&args.url)?,
        credentials: Credentials::from_environment()?,
        labels: Labels::new(args.labels.clone()).map_err(Error::misuse)?,
        patience: Patience::default(),
    };
    if push.credentials.is_some() && push.target.is_open() {
        terminal::eprint_line(format_args!(
            "{}: credentials cross the network without encryption; use https",
            push.target
        ));
    }
    if args.once {
        push::once(&push)
    } else {
        push::every(&push, args.every.unwrap_or(INTERVAL))
    }
}
