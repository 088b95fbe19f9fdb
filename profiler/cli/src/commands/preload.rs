//! `heapglass preload`: prints the path of the library to preload.

use crate::error::Error;
use crate::files::output::print;
use crate::preload::library;
use std::os::unix::ffi::OsStrExt;

pub(super) fn run() -> Result<(), Error> {
    let path = library().map_err(Error::misuse)?;
    print(&[path.as_os_str().as_bytes(), b"\n"].concat())
}
