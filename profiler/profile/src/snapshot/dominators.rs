//! Dominators by semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related
//! Problems"), without recursion. Cooper, Harvey and Kennedy's iteration needs a round for each
//! node of a linked list.

/// Returns the immediate dominator of each node of a graph whose nodes are numbered in the order of
/// a depth-first search from node 0. `parent` is the tree of that search. The predecessors of a
/// node `n` are `predecessors[first[n]..first[n + 1]]`.
pub(super) fn dominators(parent: &[u32], first: &[u32], predecessors: &[u32]) -> Vec<u32> {
    let nodes = parent.len();
    let mut idom = parent.to_vec();
    let mut ancestor = parent.to_vec();
    let mut semi = numbers(nodes);
    let mut label = numbers(nodes);
    let mut stack = Vec::new();
    for node in (1..nodes).rev() {
        let linked = node as u32 + 1;
        let mut least = parent[node];
        for &from in &predecessors[first[node] as usize..first[node + 1] as usize] {
            let best = evaluate(from, linked, &mut ancestor, &mut label, &semi, &mut stack);
            least = least.min(semi[best as usize]);
        }
        semi[node] = least;
    }
    for node in 1..nodes {
        let mut dominator = idom[node];
        while dominator > semi[node] {
            dominator = idom[dominator as usize];
        }
        idom[node] = dominator;
    }
    idom
}

fn numbers(count: usize) -> Vec<u32> {
    (0..).take(count).collect()
}

/// Returns the node with the least semidominator on the path from a node to the root of its part
/// of the forest, and shortens that path.
fn evaluate(
    node: u32,
    linked: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    stack: &mut Vec<u32>,
) -> u32 {
    if ancestor[node as usize] < linked {
        return label[node as usize];
    }
    let mut at = node;
    while ancestor[at as usize] >= linked {
        stack.push(at);
        at = ancestor[at as usize];
    }
    while let Some(below) = stack.pop() {
        ancestor[below as usize] = ancestor[at as usize];
        let (above, own) = (label[at as usize], label[below as usize]);
        if semi[above as usize] < semi[own as usize] {
            label[below as usize] = above;
        }
        at = below;
    }
    label[node as usize]
}
