//! Repair of references, so that they are safe to follow.

use super::Recording;

impl Recording {
    /// Makes references safe to follow: every parent is smaller than its child, and every index
    /// exists. Counts the changes.
    pub(super) fn mend(&mut self) {
        let mut damage = 0;
        let mut bound = |index: &mut u32, limit: usize| {
            if *index != 0 && *index as usize >= limit {
                *index = 0;
                damage += 1;
            }
        };
        let (frames, stacks, scopes) = (self.frames.len(), self.stacks.len(), self.scopes.len());
        for frame in &mut self.frames {
            bound(&mut frame.module, self.modules.len());
        }
        for (index, stack) in self.stacks.iter_mut().enumerate() {
            bound(&mut stack.parent, index.max(1));
            bound(&mut stack.frame, frames);
        }
        for (index, scope) in self.scopes.iter_mut().enumerate() {
            bound(&mut scope.parent, index.max(1));
        }
        for site in &mut self.sites {
            bound(&mut site.stack, stacks);
            bound(&mut site.scope, scopes);
        }
        let sites = self.sites.len();
        for column in &mut self.lanes {
            let rows = column.rows.len();
            for row in &mut column.rows {
                bound(&mut row.site, sites);
            }
            for sizes in &mut column.sizes {
                bound(&mut sizes.row, rows);
            }
            for checkpoints in &mut column.checkpoints {
                bound(&mut checkpoints.row, rows);
            }
            for samples in &mut column.samples {
                bound(&mut samples.row, rows);
            }
            for visits in &mut column.visits {
                bound(&mut visits.scope, scopes);
            }
        }
        let arenas = self.arenas.len();
        for row in &mut self.arena_rows {
            bound(&mut row.arena, arenas);
            bound(&mut row.scope, scopes);
        }
        for chunk in &mut self.arena_chunks {
            bound(&mut chunk.arena, arenas);
            bound(&mut chunk.site, sites);
        }
        for values in &mut self.arena_values {
            bound(&mut values.arena, arenas);
            bound(&mut values.scope, scopes);
            if values.site != 0 && values.site as usize >= sites {
                // The site of these blocks does not exist, so do not count them as values.
                (values.count, values.bytes) = (0, 0);
            }
            bound(&mut values.site, sites);
        }
        for request in &mut self.failed_requests {
            bound(&mut request.site, sites);
        }
        for row in &mut self.mark_rows {
            bound(&mut row.site, sites);
        }
        self.damage += damage;
        self.mend_marks();
        self.mend_footprints();
    }

    /// Makes sure that the rows of marks exist and that no row belongs to two marks. Otherwise, a
    /// small file could claim a huge number of rows.
    fn mend_marks(&mut self) {
        let rows = self.mark_rows.len() as u64;
        let mut from = 0;
        for mark in &mut self.marks {
            if mark.rows == 0 {
                continue;
            }
            let end = mark.first_row.checked_add(mark.rows);
            match end.filter(|end| mark.first_row >= from && *end <= rows) {
                Some(end) => from = end,
                None => {
                    (mark.first_row, mark.rows) = (0, 0);
                    self.damage += 1;
                }
            }
        }
    }

    /// Makes sure that the nodes of footprints exist, that footprints together have no more nodes
    /// than there are, and that every parent comes before its child.
    fn mend_footprints(&mut self) {
        let nodes = self.footprint_nodes.len() as u64;
        // Each node belongs to one footprint, so footprints together have at most all nodes.
        let mut left = nodes;
        for footprint in &mut self.footprints {
            let end = footprint
                .first_node
                .checked_add(footprint.nodes)
                .filter(|end| *end <= nodes && footprint.nodes <= left);
            left = left.saturating_sub(footprint.nodes);
            let Some(end) = end else {
                (footprint.first_node, footprint.nodes) = (0, 0);
                self.damage += 1;
                continue;
            };
            let own = footprint.first_node as usize..end as usize;
            let own = self.footprint_nodes.get_mut(own).unwrap_or_default();
            for (index, node) in own.iter_mut().enumerate() {
                if node.parent as usize >= index.max(1) {
                    node.parent = 0;
                    self.damage += 1;
                }
            }
        }
    }
}
