//! Strongly connected components, without recursion.

/// A number that no node has.
pub(super) const NONE: u32 = u32::MAX;
/// The node's component is known.
const DONE: u32 = u32::MAX - 1;

/// The edges of a node, one after the other.
pub(super) trait Edges {
    /// Returns the position of a node's first edge.
    fn first(&self, node: u32) -> u32;
    /// Returns the target of the edge at a position, if it counts, and the next position. Returns
    /// `None` behind the last edge.
    fn next(&self, node: u32, position: u32) -> Option<(Option<u32>, u32)>;
}

struct Frame {
    node: u32,
    position: u32,
    low: u32,
}

/// Finds the components of all nodes that some `starts` reach, each after all that it points to
/// (Tarjan). `emit` also gets whether the component is a cycle: several nodes, or one that points
/// to itself.
pub(super) fn components(
    nodes: usize,
    starts: impl Iterator<Item = u32>,
    edges: &impl Edges,
    mut emit: impl FnMut(&[u32], bool),
) {
    let mut index = vec![NONE; nodes];
    let (mut next, mut open, mut frames) = (0, Vec::new(), Vec::<Frame>::new());
    for start in starts {
        if index[start as usize] != NONE {
            continue;
        }
        let mut entered = Some(start);
        loop {
            if let Some(node) = entered.take() {
                index[node as usize] = next;
                open.push(node);
                frames.push(Frame {
                    node,
                    position: edges.first(node),
                    low: next,
                });
                next += 1;
            }
            let Some(frame) = frames.last_mut() else {
                break;
            };
            let Some((target, position)) = edges.next(frame.node, frame.position) else {
                let (node, low) = (frame.node, frame.low);
                frames.pop();
                if let Some(parent) = frames.last_mut() {
                    parent.low = parent.low.min(low);
                }
                if low == index[node as usize] {
                    let first = open.iter().rposition(|&other| other == node);
                    let first = first.unwrap_or_default();
                    let members = &open[first..];
                    members.iter().for_each(|&at| index[at as usize] = DONE);
                    emit(members, members.len() > 1 || points_to_itself(edges, node));
                    open.truncate(first);
                }
                continue;
            };
            frame.position = position;
            let Some(target) = target else { continue };
            match index[target as usize] {
                NONE => entered = Some(target),
                DONE => {}
                seen => frame.low = frame.low.min(seen),
            }
        }
    }
}

fn points_to_itself(edges: &impl Edges, node: u32) -> bool {
    let mut position = edges.first(node);
    while let Some((target, next)) = edges.next(node, position) {
        if target == Some(node) {
            return true;
        }
        position = next;
    }
    false
}
