//! Locals held across an await that make the blocks of futures large, such as those of tasks.

use std::collections::BTreeSet;

use super::at_moment::AtMoment;
use super::finding::{Confidence, Finding, Kind, Place};
use crate::profile::Profile;
use crate::snapshot::LargeLocal;
use crate::table::label_of;
use crate::units::{Bytes, Count, counted, printable};

/// Returns a finding for each local of the program's own async functions.
pub(super) fn find(at: &AtMoment<'_>) -> Vec<Finding> {
    let locals = at.snapshot.large_locals().iter();
    let own = locals.filter(|large| at.own.contains(large.krate.as_str()));
    own.map(|large| finding(at, large)).collect()
}

fn finding(at: &AtMoment<'_>, large: &LargeLocal) -> Finding {
    let label = large
        .site
        .and_then(|site| label_of(at.profile, site as usize));
    let file = file(at.profile, &large.file);
    let line = Some(large.line).filter(|&line| line > 0);
    let short = file.as_deref().unwrap_or(&large.file);
    let short = short
        .strip_prefix(at.profile.source_root())
        .unwrap_or(short);
    let source = line.map(|line| format!("{short}:{line}"));
    let place = Place {
        type_name: None,
        field: Some(large.local.clone()),
        location: large.local.clone(),
        owner: if large.function.contains("::") {
            large.function.clone()
        } else {
            format!("{}::{}", large.krate, large.function)
        },
        source,
        file,
        line,
        sites: large.site.map(|site| site as usize).into_iter().collect(),
    };
    let holder = label.map(|label| format!("{} of {}", label.what, label.owner_and_source()));
    let local = printable(&large.local);
    let each = large.saves_bytes / large.blocks.max(1);
    Finding {
        saves_bytes: large.saves_bytes,
        of_bytes: large.block_bytes,
        // The compiler chooses where the other locals lie.
        confidence: Confidence::Estimate,
        evidence: vec![
            ("local_bytes", large.local_bytes),
            ("futures_waiting", large.futures),
            ("blocks", large.blocks),
            ("block_bytes", large.block_bytes),
        ],
        why: format!(
            "`{}` holds `{local}` of {} across an await. It makes {} of {} larger by {} each; {} of \
             their futures wait there.",
            printable(&large.function),
            Bytes(large.local_bytes),
            counted(large.blocks, "block"),
            Bytes(large.block_bytes / large.blocks.max(1)),
            Bytes(each),
            Count(large.futures),
        ),
        // Boxing makes only those blocks smaller whose futures wait elsewhere.
        remedy: if large.futures < large.blocks / 2 {
            format!(
                "End the scope of `{local}` before the await. Or box the future that holds it: \
                 then only the futures that get there have a block of this size."
            )
        } else {
            format!("End the scope of `{local}` before the await.")
        },
        ..at.finding_at(Kind::LargeFuture, place, holder)
    }
}

/// Returns the one file of the program with a name, with its folders as the compiler named it.
fn file(profile: &Profile, name: &str) -> Option<String> {
    let frames = profile.frames().iter();
    let files = frames.filter_map(|frame| frame.file.as_deref());
    let files: BTreeSet<&str> = files
        .filter(|file| file.rsplit('/').next() == Some(name))
        .collect();
    match files.first() {
        Some(file) if files.len() == 1 => Some((*file).to_owned()),
        _ => None,
    }
}
