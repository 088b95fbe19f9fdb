//! The picture of a snapshot: who holds the heap. Width is what a holder retains, or the unused
//! capacity in it.
//!
//! The picture must say of which moment it is, and must never show its bytes as those of the peak.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::captions::{Names, SUBTITLE_CHARS, shorten, to_the_byte, without_round};
use super::prune::{PrunedTree, Widths};
use super::relabel::Caption;
use super::{Picture, PictureTotals, legend, palette, prune, write_empty};
use crate::calltree::NodeId;
use crate::profile::{Measure, Profile};
use crate::table::{HolderRow, HolderRowName, SnapshotAt, program_name};
use crate::units::{Bytes, Count, Share, counted, printable};

/// Holders as a tree: node 0 is the whole snapshot.
pub(crate) struct HolderTree {
    rows: Vec<HolderRow>,
    widths: Vec<u64>,
    children: Vec<Vec<NodeId>>,
}

impl HolderTree {
    /// Creates the tree; `measure` says how wide its nodes are.
    pub(crate) fn new(rows: Vec<HolderRow>, measure: Measure) -> HolderTree {
        let mut widths = vec![0_u64];
        widths.extend(rows.iter().map(|row| row.held.of(measure).unwrap_or(0)));
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); rows.len() + 1];
        for (node, row) in (1..).zip(&rows) {
            let parent = row.parent.map_or(0, |parent| parent + 1);
            children[parent].push(NodeId(node as u32));
        }
        let width = |id: &NodeId| widths[id.0 as usize];
        let outermost = children[0].iter().map(width);
        let whole = outermost.fold(0, u64::saturating_add);
        for list in &mut children {
            list.sort_by_key(|id| (Reverse(width(id)), id.0));
        }
        widths[0] = whole;
        HolderTree {
            rows,
            widths,
            children,
        }
    }

    /// Returns the holders, each of which is the node after its index.
    pub(crate) fn rows(&self) -> &[HolderRow] {
        &self.rows
    }

    /// Returns the holder of a node; `None` for the whole snapshot.
    pub(crate) fn row(&self, id: NodeId) -> Option<&HolderRow> {
        self.rows.get((id.0 as usize).checked_sub(1)?)
    }

    /// Returns the figure of a node by any measure, 0 where it is not known.
    pub(crate) fn figure(&self, id: NodeId, measure: Measure) -> u64 {
        let of_row = |row: &HolderRow| row.held.of(measure).unwrap_or(0);
        match self.row(id) {
            Some(row) => of_row(row),
            None => {
                let outermost = self.rows.iter().filter(|row| row.parent.is_none());
                outermost.map(of_row).fold(0, u64::saturating_add)
            }
        }
    }

    /// Returns the names of a node.
    pub(crate) fn names(&self, id: NodeId) -> Names {
        let Some(row) = self.row(id) else {
            return Names {
                label: "all".to_owned(),
                name: "all".to_owned(),
                place: None,
            };
        };
        let above = row.parent.map(|parent| &self.rows[parent].name);
        let label = printable(row.name.below(above).trim()).into_owned();
        let details = details(&row.name);
        Names {
            name: if details.is_empty() {
                label.clone()
            } else {
                details.join("; ")
            },
            label,
            place: None,
        }
    }

    /// Returns the colour of a node.
    pub(crate) fn color(&self, id: NodeId, profile: &Profile) -> palette::Rgb {
        color(self, id, profile)
    }
}

impl Widths for HolderTree {
    fn len(&self) -> usize {
        self.widths.len()
    }
    fn width(&self, id: NodeId) -> u64 {
        self.widths[id.0 as usize]
    }
    fn children(&self, id: NodeId) -> &[NodeId] {
        &self.children[id.0 as usize]
    }
}

/// Writes holders as a flamegraph: outermost holders at the top, what they hold below them, or the
/// other way round.
pub(super) fn write(
    profile: &Profile,
    rows: Vec<HolderRow>,
    at: SnapshotAt<'_>,
    (measure, upwards): (Measure, bool),
    out: impl Write,
) -> io::Result<PictureTotals> {
    let tree = HolderTree::new(rows, measure);
    let total = tree.width(NodeId::ROOT);
    let title = format!(
        "{}: {}, {}; snapshot {}, {}",
        shorten(&program_name(profile), 20),
        measure.name(),
        Bytes(total),
        shorten(&at.name(), 24),
        at.moment(profile)
    );
    if total == 0 {
        let why = format!("nothing to draw: the snapshot holds no {}", measure.title());
        return write_empty(&title, &why, out);
    }
    let pruned = prune(&tree)?;
    let picture = Picture {
        title,
        subtitle: subtitle(at, &pruned),
        count_name: measure.title(),
        upwards,
        legend: Some(legend::svg()),
    };
    let color = |id: NodeId| color(&tree, id, profile);
    let caption = |id: NodeId| caption(&tree, id, measure);
    picture.draw(&tree, &pruned, color, caption, out)
}

fn subtitle(at: SnapshotAt<'_>, pruned: &PrunedTree) -> String {
    // The least important last: what does not fit is left out.
    let mut parts = vec![format!("basis: {}", at.basis())];
    if !at.notes().is_empty() {
        parts.insert(0, "bounded or lost: see the report".to_owned());
    }
    if pruned.elided() > 0 {
        parts.push(format!("not drawn: {}", Count(pruned.elided() as u64)));
    }
    let room = SUBTITLE_CHARS.saturating_sub(legend::chars());
    let chars = |parts: &[String]| parts.iter().map(|part| part.len() + 2).sum::<usize>();
    while parts.len() > 1 && chars(&parts) > room {
        parts.pop();
    }
    parts.insert(0, legend::PLACE.to_owned());
    parts.join("; ")
}

fn color(tree: &HolderTree, id: NodeId, profile: &Profile) -> palette::Rgb {
    let Some(row) = tree.row(id) else {
        return palette::ROOT;
    };
    let sites = match &row.name {
        HolderRowName::Root(_) => return palette::ARENA,
        HolderRowName::Place { type_key: None, .. } => &[],
        _ => row.sites.as_slice(),
    };
    let site = sites
        .first()
        .and_then(|&site| profile.sites().get(site as usize));
    let name = profile.named_type(site.and_then(|site| profile.type_id_of(site)));
    palette::of_kind(name.map(|name| name.kind))
}

/// `.attributes{} 2.4 MiB (2,500,000 bytes = 2.4 MiB, 44.0 %; itself 1.4 MiB in 9,000 blocks;
/// HashMap<..>)`: the last bracket belongs to inferno's script, so no other round one stands in it.
fn caption(tree: &HolderTree, id: NodeId, measure: Measure) -> Caption {
    let value = tree.width(id);
    let whole = tree.width(NodeId::ROOT);
    let Some(row) = tree.row(id) else {
        let label = format!("all {}", Bytes(value));
        return Caption {
            title: format!("{label} ({})", to_the_byte(value)),
            label,
        };
    };
    let above = row.parent.map(|parent| &tree.rows[parent].name);
    let name = without_round(printable(row.name.below(above).trim()).trim());
    let label = format!("{name} {}", Bytes(value));
    let share = Share::of(value, whole);
    let mut said = vec![format!("{}, {share}", to_the_byte(value))];
    let held = &row.held;
    if held.own.blocks > 0 {
        let (bytes, blocks) = (Bytes(held.own.bytes), counted(held.own.blocks, "block"));
        said.push(format!("itself {bytes} in {blocks}"));
    }
    let bound = if held.filled.known_bytes < held.filled.bytes {
        "at least "
    } else {
        ""
    };
    match (measure, held.of(Measure::Unused)) {
        (Measure::Retained, Some(unused)) if unused > 0 => {
            said.push(format!("unused {bound}{}", Bytes(unused)));
        }
        (Measure::Unused, _) => {
            said.push(format!("retains {}", held.retained_text()));
        }
        _ => {}
    }
    let details = details(&row.name);
    said.extend(details.iter().map(|detail| without_round(detail)));
    Caption {
        title: format!("{label} ({})", said.join("; ")),
        label,
    }
}

/// Returns what the label of a holder does not say.
fn details(name: &HolderRowName) -> Vec<String> {
    let details = match name {
        HolderRowName::Place { path, type_key } => {
            vec![type_key.clone().unwrap_or_default(), path.clone()]
        }
        HolderRowName::Site(site) => vec![site.location.clone(), site.owner_and_source()],
        _ => Vec::new(),
    };
    let details = details.iter().filter(|detail| !detail.is_empty());
    details
        .map(|detail| printable(detail).into_owned())
        .collect()
}
