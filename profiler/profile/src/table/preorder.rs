//! Trees as rows: each node below the one around it.

use std::cmp::Reverse;

/// The `top` heaviest nodes, each below its parent, siblings by weight, with their depths. Parents
/// come before children and weigh at least as much, so every parent of a node that is taken is
/// taken.
pub fn preorder(parents: &[Option<usize>], weights: &[u64], top: usize) -> Vec<(usize, usize)> {
    let mut taken: Vec<usize> = (0..parents.len()).collect();
    taken.sort_by_key(|&node| (Reverse(weights[node]), node));
    taken.truncate(top);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut todo: Vec<(usize, usize)> = Vec::new();
    // Lightest first: the last one pushed is the first one popped.
    for &node in taken.iter().rev() {
        match parents[node] {
            Some(parent) => children[parent].push(node),
            None => todo.push((node, 0)),
        }
    }
    let mut ordered = Vec::with_capacity(taken.len());
    while let Some((node, depth)) = todo.pop() {
        ordered.push((node, depth));
        todo.extend(children[node].iter().map(|&child| (child, depth + 1)));
    }
    ordered
}

/// Returns the number of nodes with a weight.
pub fn weighty(weights: &[u64]) -> usize {
    weights.iter().filter(|weight| **weight > 0).count()
}
