//! Owners: sites added up by the function they are charged to.

use super::{Figures, FrameId, FunctionId, Profile, Site};
use std::collections::HashMap;

/// The sites charged to one function, added up.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The function; `None` where there is no stack.
    pub function: Option<FunctionId>,
    /// What they came to.
    pub figures: Figures,
    /// How many there are.
    pub sites: u64,
}

impl Site {
    /// The frame the site is charged to: its owner, else its innermost frame.
    pub fn charged(&self) -> Option<FrameId> {
        let owner = self.owner.and_then(|owner| self.stack.get(owner));
        owner.or(self.stack.last()).copied()
    }
}

pub(super) fn owners(profile: &Profile) -> Vec<Owner> {
    let mut at: HashMap<Option<FunctionId>, usize> = HashMap::new();
    let mut owners: Vec<Owner> = Vec::new();
    for site in &profile.sites {
        let frame = site.charged();
        let frame = frame.and_then(|frame| profile.frames.get(frame.0 as usize));
        let function = frame.map(|frame| frame.function);
        let index = *at.entry(function).or_insert_with(|| {
            owners.push(Owner {
                function,
                figures: Figures::default(),
                sites: 0,
            });
            owners.len() - 1
        });
        owners[index].figures.add(&site.figures);
        owners[index].sites += 1;
    }
    owners
}
