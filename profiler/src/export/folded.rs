//! Folded stacks of one measure, as inferno and `flamegraph.pl` read them.

use std::io::{self, Write};

use super::{Options, tree};
use crate::calltree::write_folded;
use crate::profile::Profile;

pub(super) fn write(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let mut tree = tree(profile, options);
    tree.sort(options.measure);
    write_folded(&tree, profile, options.measure, out)
}
