//! The trust in headers: which of those that point to a block tells its length.

use super::super::layout::Form;
use super::super::lengths::{Probe, Trust, Used};
use super::{NOT_KNOWN, Part, REFERS, Reader, TARGET, has_bit, set_bit};
use crate::containers::{Fill, Header};
use rustc_hash::FxHashMap;

/// The statements of headers about a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// The trust in the header that counts.
    pub(super) trust: Trust,
    /// Another header, in which as much trust is, says something else.
    pub(super) is_contradicted: bool,
}

impl Reader<'_> {
    /// Chooses the size of elements that most headers of a site have, where none is known.
    pub(super) fn elect(&mut self, parts: &[Part]) {
        let mut votes: FxHashMap<(u32, u64), u64> = FxHashMap::default();
        for part in parts {
            for &(edge, header) in &part.headers {
                let block = (part.edges[edge] & TARGET) as usize;
                let site = self.heap.site(block);
                let capacity = match header {
                    Header::List { capacity, .. } | Header::Deque { capacity, .. } => capacity,
                    Header::Table { .. } => continue,
                };
                let is_known =
                    self.elements.contains_key(&site) || self.known_element(block).is_some();
                let size = self.heap.size(block);
                let is_size = !self.heap.are_sizes_usable();
                if !is_known && is_size && capacity > 0 && size.is_multiple_of(capacity) {
                    *votes.entry((site, size / capacity)).or_default() += 1;
                }
            }
        }
        self.count_votes(votes);
    }

    pub(super) fn count_votes(&mut self, votes: FxHashMap<(u32, u64), u64>) {
        let mut votes: Vec<_> = votes.into_iter().collect();
        // Of sizes with as many votes the smallest, so that the order of the map does not matter.
        votes.sort_unstable_by_key(|&((site, bytes), count)| {
            (site, std::cmp::Reverse(count), bytes)
        });
        for ((site, bytes), _) in votes {
            self.elements.entry(site).or_insert(bytes);
        }
    }

    pub(super) fn known_element(&self, block: usize) -> Option<u64> {
        self.layouts.element_bytes_of(self.heap, block)
    }

    pub(super) fn element_bytes(&self, block: usize) -> Option<u64> {
        let elected = || self.elements.get(&self.heap.site(block)).copied();
        self.known_element(block).or_else(elected)
    }

    /// Returns how full a block is by a header that agrees with it, and its unused bytes.
    pub(super) fn agreed(&self, block: usize, header: Header) -> Option<(Fill, u64)> {
        let (fill, unused, _) = self.agreed_bytes(block, header)?;
        Some((fill, unused))
    }

    /// Returns the same, and the bytes that were requested for the block, if the header tells.
    fn agreed_bytes(&self, block: usize, header: Header) -> Option<(Fill, u64, Option<u64>)> {
        let element = match header {
            Header::Table { .. } => self.known_element(block),
            _ => self.element_bytes(block),
        };
        let holds = |bytes: u64| self.heap.holds(block, bytes);
        header.fill_if(self.heap.size(block), element, &holds)
    }

    /// Takes in what a header says of a block. Returns `false` if it does not own the block: it
    /// does not agree with the block's size, or a value in which more trust is owns the block.
    pub(super) fn settle(&mut self, block: usize, header: Header, trust: Trust) -> bool {
        let Some((fill, _, requested)) = self.agreed_bytes(block, header) else {
            return false;
        };
        let Some(packed) = fill.packed() else {
            return false;
        };
        let before = self.said[block];
        let differs =
            before.trust != Trust::None && (before.is_contradicted || self.fills[block] != packed);
        let is_better = trust > before.trust;
        // What is on a stack contradicts no live value: it may be of another moment.
        let after = match before.trust.max(trust) {
            Trust::Live if before.trust != trust => Said {
                trust: Trust::Live,
                is_contradicted: before.trust == Trust::Live && before.is_contradicted,
            },
            most => Said {
                trust: most,
                is_contradicted: differs,
            },
        };
        let had = self.chosen(block);
        self.said[block] = after;
        if is_better {
            self.fills[block] = packed;
            self.heap.set_requested(block, requested);
        } else if after.is_contradicted {
            self.heap.set_requested(block, None);
        }
        if self.chosen(block) != had {
            self.ready.push(block as u32);
        }
        is_better || trust == before.trust || before.trust != Trust::Live
    }

    /// Returns the packed fill by which a block is read, and whether its contents must agree.
    pub(super) fn chosen(&self, block: usize) -> (u64, bool) {
        let said = self.said[block];
        if said.is_contradicted {
            return (NOT_KNOWN, false);
        }
        (self.fills[block], said.trust == Trust::Stack)
    }

    /// Takes from pointers that may be stale what a live value owns.
    pub(super) fn lower_weak(&mut self) {
        for (edge, trust) in std::mem::take(&mut self.weak) {
            let edge = &mut self.contents.edges[edge as usize];
            let target = (*edge & TARGET) as usize;
            if self.said[target].trust > trust {
                *edge |= REFERS;
            }
        }
    }

    /// Returns a bit for each block: whether another block or a root owns it.
    pub(super) fn owned(&self) -> Vec<u64> {
        let mut owned = vec![0; self.heap.len().div_ceil(64)];
        for node in 0..self.heap.nodes() {
            for (target, owns) in self.contents.edges(node) {
                if owns && target as usize != node {
                    set_bit(&mut owned, target as usize);
                }
            }
        }
        owned
    }

    /// Lists hold values beyond their length while they are emptied, or filled by code that keeps
    /// the length in a register. What nothing else reaches or owns is kept by such values, and the
    /// length of the list is not known.
    pub(super) fn keep_values_beyond(&mut self) {
        let mut beyond = std::mem::take(&mut self.beyond);
        beyond.sort_unstable();
        beyond.dedup();
        if beyond.is_empty() {
            return;
        }
        // What another block owns was moved there, or is in a cycle that the list has left.
        let is_owned = self.owned();
        beyond.retain(|&(_, target)| !has_bit(&is_owned, target as usize));
        let mut is_reached = vec![0; self.heap.nodes().div_ceil(64)];
        let mut open: Vec<u32> = (self.heap.len()..self.heap.nodes())
            .map(|root| root as u32)
            .collect();
        while !open.is_empty() {
            while let Some(node) = open.pop() {
                for (target, _) in self.contents.edges(node as usize) {
                    if set_bit(&mut is_reached, target as usize) {
                        open.push(target);
                    }
                }
            }
            for of_list in beyond.chunk_by(|one, other| one.0 == other.0) {
                let list = of_list[0].0 as usize;
                if !has_bit(&is_reached, list) {
                    continue;
                }
                let targets = of_list.iter().map(|&(_, target)| target);
                let targets = targets.filter(|&target| set_bit(&mut is_reached, target as usize));
                let targets: Vec<u32> = targets.collect();
                if !targets.is_empty() {
                    self.contents.refer(list, &targets);
                    self.contents.forget_length(list);
                    open.extend(targets);
                }
            }
        }
    }

    /// Returns how full a block is, and how far headers in it are to be believed. Notes what values
    /// beyond the length of a list point to.
    pub(super) fn fill_of(
        &self,
        block: usize,
        element: u64,
        bytes: Option<&[u8]>,
        beyond: &mut Vec<(u32, u32)>,
    ) -> (Option<Fill>, Trust) {
        let (packed, needs_proof) = self.chosen(block);
        let Some(fill) = Fill::unpacked(packed) else {
            return match self.layouts.form(self.heap, block) {
                Form::Whole => (None, Trust::Live),
                Form::Listed | Form::NotKnown => (None, Trust::Doubtful),
            };
        };
        let room = self.heap.size(block).checked_div(element).unwrap_or(0);
        let used = match fill {
            Fill::List { used } => Used {
                first: 0,
                count: used.checked_div(element).unwrap_or(0),
                room,
            },
            Fill::Deque { head, length } => Used {
                first: head,
                count: length,
                room,
            },
            // The control bytes tell which buckets are full.
            Fill::Table { .. } => return (Some(fill), Trust::Live),
        };
        let is_plain = self.layouts.is_plain(self.heap, block);
        if is_plain || room == 0 {
            // Nothing in the block tells how much of it is in use.
            return if needs_proof {
                (None, Trust::Doubtful)
            } else {
                (Some(fill), Trust::Live)
            };
        }
        let probe = Probe {
            heap: self.heap,
            memory: self.memory,
            layouts: self.layouts,
            agrees: &|block, header| self.agreed(block, header).is_some(),
            block,
            bytes,
            element,
        };
        if !needs_proof {
            probe.note_beyond(&used, beyond);
            (Some(fill), Trust::Live)
        } else if probe.proves(&used) {
            (Some(fill), Trust::Live)
        } else {
            (None, Trust::Doubtful)
        }
    }
}
