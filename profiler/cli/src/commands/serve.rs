//! `heapglass serve`: profiles of recordings over HTTP.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::args::Serve;
use crate::error::Error;
use crate::serve::{Access, Limits, Place, Recordings, Site, Token, serve};
use crate::{open, summary, terminal};

pub(super) fn run(args: &Serve) -> Result<(), Error> {
    let address = address(&args.listen)?;
    let access = Access::new(address, Token::find(args.token_file.as_deref())?)?;
    let target = args.target.clone();
    let shown = target.display();
    let place = if target.is_dir() {
        Place::Folder(target.clone())
    } else {
        Place::File(target.clone())
    };
    let options = open::options(&args.symbols);
    let on = || format!("--listen {}", args.listen);
    let listener = TcpListener::bind(address).map_err(Error::wrap(on()))?;
    let address = listener.local_addr().map_err(Error::wrap(on()))?;
    let is_folder = matches!(place, Place::Folder(_));
    let site = Arc::new(Site {
        recordings: Recordings::new(place, options),
        access,
        address,
    });
    terminal::eprint_line(format_args!("serving {shown} at http://{address}/"));
    if !is_folder {
        let heap = format!("http://{address}/debug/pprof/heap");
        terminal::eprint_line(format_args!(
            "  go tool pprof {}",
            summary::quoted(heap.as_ref())
        ));
    }
    match serve(listener, site, Limits::default()).map_err(Error::wrap(on()))? {}
}

fn address(text: &str) -> Result<SocketAddr, Error> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| {
        Error::misuse(format_args!(
            "--listen {text}: write an address and a port, such as 127.0.0.1:6060 or [::1]:0"
        ))
    })
}
