//! The tables that the rows of several recordings refer to, as one: each module, address, stack,
//! scope and site once.
//!
//! Recordings of one build are matched by what their numbers stand for. An address is a module and
//! an offset in its file, so it does not depend on where the module was loaded.

use heapglass_profile::internal::Interned;
use tracking_alloc_recording::{
    EncodedStrings, FIRST_SITE, FrameValue, GENERATED_CODE, MAX_NAMED, MAX_SCOPES, MAX_SITES,
    ModuleValue, Recording, ScopeValue, SiteValue, StackValue, module_id, scope_flags, scope_kind,
    site_flags,
};

/// Maximum number of nodes in the tree of stacks, and of addresses. Real sums have thousands; this
/// bounds the memory that forged ones take.
const MOST_NODES: usize = 1 << 23;

/// A reference that is not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// The identity of a loaded image. A build-id is enough wherever the file lies; without one, the
/// path counts too.
type ModuleKey = (u32, u32, [u64; 4], Vec<u8>);

/// The key of a scope among its siblings: kind, name, type, size of its values, in place.
type ScopeKey = (u32, u32, u32, u32, u64, bool);

/// The tables of the sum.
#[derive(Debug)]
pub(super) struct Tables {
    /// Number 0 is the empty string.
    strings: Interned<Vec<u8>>,
    modules: Interned<ModuleKey>,
    /// The first path, in the order of bytes, and the largest generation of each module.
    module_facts: Vec<(Vec<u8>, u32)>,
    /// Module and offset.
    frames: Interned<(u32, u64)>,
    /// Parent and frame; node 0 is the empty stack.
    stacks: Interned<(u32, u32)>,
    scope_keys: Interned<ScopeKey>,
    /// The sums of scopes; names and types are numbers of `strings`.
    pub(super) scopes: Vec<ScopeValue>,
    /// The stack, the scope and the flags of each site except the fixed ones.
    site_keys: Interned<(u32, u32, u32)>,
    /// Further flags of each of these sites.
    site_flags: Vec<u32>,
    /// The number of recordings that were read.
    recordings: usize,
}

/// The numbers in the sum for those in one recording.
pub(super) struct Numbers<'a> {
    recording: &'a Recording,
    modules: Vec<u32>,
    pub(super) frames: Vec<u32>,
    stacks: Vec<u32>,
    pub(super) scopes: Vec<u32>,
}

impl Default for Tables {
    /// Creates tables with the entries that stand for "none".
    fn default() -> Tables {
        let mut tables = Tables {
            strings: Interned::new(),
            modules: Interned::new(),
            module_facts: vec![(Vec::new(), 0)],
            frames: Interned::new(),
            stacks: Interned::new(),
            scope_keys: Interned::new(),
            scopes: vec![ScopeValue::default()],
            site_keys: Interned::new(),
            site_flags: Vec::new(),
            recordings: 0,
        };
        tables.strings.number(Vec::new());
        tables.modules.number(ModuleKey::default());
        // Nothing else has these keys.
        tables.stacks.number((0, UNKNOWN));
        tables.scope_keys.number((UNKNOWN, 0, 0, 0, 0, false));
        tables
    }
}

impl Tables {
    /// Returns the number of a string of a recording.
    pub(super) fn string(&mut self, recording: &Recording, reference: u32) -> u32 {
        let bytes = recording.string_bytes(reference).unwrap_or_default();
        self.strings.number_of(bytes)
    }

    /// Matches modules and scopes of a recording, and adds the figures of scopes. Stacks are
    /// matched when a site needs them.
    ///
    /// # Errors
    /// Returns a sentence if the sum would exceed a limit of the format.
    pub(super) fn read<'a>(&mut self, recording: &'a Recording) -> Result<Numbers<'a>, String> {
        self.recordings += 1;
        let mut numbers = Numbers {
            recording,
            modules: vec![0; recording.modules.len()],
            frames: vec![UNKNOWN; recording.frames.len()],
            stacks: vec![UNKNOWN; recording.stacks.len()],
            scopes: vec![0; recording.scopes.len()],
        };
        for (number, module) in numbers.modules.iter_mut().zip(&recording.modules).skip(1) {
            *number = self.module(recording, module);
        }
        check("modules", self.modules.values.len(), MAX_NAMED)?;
        for (index, scope) in recording.scopes.iter().enumerate() {
            let number = match index {
                0 => 0,
                _ => self.scope_number(recording, scope, numbers.scopes[scope.parent as usize]),
            };
            numbers.scopes[index] = number;
            self.add_scope(number, scope);
        }
        check("phases and fields", self.scopes.len(), MAX_SCOPES)?;
        Ok(numbers)
    }

    fn module(&mut self, recording: &Recording, module: &ModuleValue) -> u32 {
        let path = recording.string_bytes(module.path).unwrap_or_default();
        let of_key = match module.id_kind {
            module_id::BUILD_ID => Vec::new(),
            // Each process has other code at an address.
            _ if path == GENERATED_CODE.as_bytes() => {
                [path, format!("\0{}", self.recordings).as_bytes()].concat()
            }
            _ => path.to_owned(),
        };
        let key = (module.id_kind, module.id_bytes, module.id, of_key);
        let number = self.modules.number(key);
        match self.module_facts.get_mut(number as usize) {
            None => self.module_facts.push((path.to_owned(), module.generation)),
            Some((first, generation)) => {
                if path < first.as_slice() {
                    *first = path.to_owned();
                }
                *generation = module.generation.max(*generation);
            }
        }
        number
    }

    fn scope_number(&mut self, recording: &Recording, scope: &ScopeValue, parent: u32) -> u32 {
        let (name, type_name) = (
            self.string(recording, scope.name),
            self.string(recording, scope.type_name),
        );
        let is_phase = scope.kind == scope_kind::PHASE;
        let size = if is_phase { 0 } else { scope.value_bytes };
        let in_place = scope.flags & scope_flags::IN_PLACE != 0;
        let key = (parent, scope.kind, name, type_name, size, in_place);
        let number = self.scope_keys.number(key);
        if number as usize == self.scopes.len() {
            let above = self.scopes.get(parent as usize);
            self.scopes.push(ScopeValue {
                parent,
                kind: scope.kind,
                name,
                depth: above.map_or(0, |above| above.depth) + 1,
                type_name,
                value_bytes: size,
                ..ScopeValue::default()
            });
        }
        number
    }

    fn add_scope(&mut self, number: u32, scope: &ScopeValue) {
        let Some(sum) = self.scopes.get_mut(number as usize) else {
            return;
        };
        if scope.kind == scope_kind::PHASE {
            // Of a phase, this is its time. If that of one recording is not known, that of the sum
            // is not.
            let is_known = |entered: u64, time: u64| entered == 0 || time != 0;
            let known = is_known(sum.entered, sum.value_bytes)
                && is_known(scope.entered, scope.value_bytes);
            sum.value_bytes = if known {
                sum.value_bytes.saturating_add(scope.value_bytes)
            } else {
                0
            };
        }
        sum.flags |= scope.flags;
        for (sum, more) in [
            (&mut sum.entered, scope.entered),
            (&mut sum.input_bytes, scope.input_bytes),
            (&mut sum.records, scope.records),
        ] {
            *sum = sum.saturating_add(more);
        }
        sum.stayed_bytes = sum.stayed_bytes.saturating_add(scope.stayed_bytes);
    }

    /// Returns the number of a site in the sum.
    ///
    /// # Errors
    /// Returns a sentence if the sum would exceed a limit of the format.
    pub(super) fn site(&mut self, numbers: &mut Numbers<'_>, site: u32) -> Result<u32, String> {
        if site < FIRST_SITE {
            return Ok(site);
        }
        let recording = numbers.recording;
        let site = recording
            .sites
            .get(site as usize)
            .copied()
            .unwrap_or_default();
        let stack = self.stack(numbers, site.stack)?;
        let scope = numbers.scopes.get(site.scope as usize).copied();
        // The other flags say what the stack is.
        let further = site.flags & site_flags::COLLIDED;
        let key = (stack, scope.unwrap_or(0), site.flags & !further);
        let number = self.site_keys.number(key);
        match self.site_flags.get_mut(number as usize) {
            None => self.site_flags.push(further),
            Some(flags) => *flags |= further,
        }
        let number = number + FIRST_SITE;
        check("sites", number as usize + 1, MAX_SITES as usize)?;
        Ok(number)
    }

    fn stack(&mut self, numbers: &mut Numbers<'_>, stack: u32) -> Result<u32, String> {
        let recording = numbers.recording;
        let mut unknown = Vec::new();
        let mut at = stack;
        // Parents come before children, so this ends.
        while at != 0 && numbers.stacks.get(at as usize) == Some(&UNKNOWN) {
            unknown.push(at);
            at = recording.stacks[at as usize].parent;
        }
        let known = numbers.stacks.get(at as usize).copied();
        let mut number = known.filter(|_| at != 0).unwrap_or(0);
        for at in unknown.into_iter().rev() {
            let frame = self.frame(numbers, recording.stacks[at as usize].frame);
            number = self.stacks.number((number, frame));
            numbers.stacks[at as usize] = number;
        }
        check("stacks", self.stacks.values.len(), MOST_NODES)?;
        check("addresses", self.frames.values.len(), MOST_NODES)?;
        Ok(number)
    }

    fn frame(&mut self, numbers: &mut Numbers<'_>, frame: u32) -> u32 {
        let found = numbers.recording.frames.get(frame as usize);
        let module = found.and_then(|frame| numbers.modules.get(frame.module as usize));
        let key = (
            module.copied().unwrap_or(0),
            found.map_or(0, |frame| frame.offset),
        );
        let number = self.frames.number(key);
        if let Some(known) = numbers.frames.get_mut(frame as usize) {
            *known = number;
        }
        number
    }

    /// Returns the tables in an order that does not depend on the order of the recordings.
    pub(super) fn in_order(&self) -> Ordered {
        let mut strings = EncodedStrings::default();
        let mut by_text: Vec<&Vec<u8>> = self.strings.values.iter().collect();
        by_text.extend(self.module_facts.iter().map(|(path, _)| path));
        by_text.sort_unstable();
        for text in by_text {
            strings.put(text);
        }
        let texts: Vec<u32> = self
            .strings
            .values
            .iter()
            .map(|text| strings.put(text))
            .collect();
        let modules = sorted(self.modules.values.len(), 1, |module| {
            &self.modules.values[module as usize]
        });
        let modules_of = positions(&modules);
        let module_values = modules.iter().map(|module| {
            let (id_kind, id_bytes, id, _) = self.modules.values[*module as usize];
            let (path, generation) = &self.module_facts[*module as usize];
            ModuleValue {
                path: strings.put(path),
                id_kind,
                id_bytes,
                generation: *generation,
                id,
            }
        });
        let module_values: Vec<ModuleValue> = module_values.collect();
        let frame_of = |frame: u32| {
            let (module, offset) = self.frames.values[frame as usize];
            (modules_of[module as usize], offset)
        };
        let frames = sorted(self.frames.values.len(), 0, frame_of);
        let frames_of = positions(&frames);
        let frame_values = frames.iter().map(|frame| {
            let (module, offset) = frame_of(*frame);
            FrameValue {
                module,
                offset,
                ..FrameValue::default()
            }
        });
        let frame_values = frame_values.collect();
        let parents: Vec<u32> = self
            .stacks
            .values
            .iter()
            .map(|(parent, _)| *parent)
            .collect();
        let stacks = by_level(&parents, |stack| {
            frames_of[self.stacks.values[stack as usize].1 as usize]
        });
        let stacks_of = positions(&stacks);
        let stack_values = stacks.iter().map(|stack| match stack {
            0 => StackValue::default(),
            _ => {
                let (parent, frame) = self.stacks.values[*stack as usize];
                StackValue {
                    parent: stacks_of[parent as usize],
                    frame: frames_of[frame as usize],
                }
            }
        });
        let stack_values = stack_values.collect();
        let parents: Vec<u32> = self.scopes.iter().map(|scope| scope.parent).collect();
        let scopes = by_level(&parents, |scope| {
            let (_, kind, name, type_name, size, in_place) = self.scope_keys.values[scope as usize];
            let (name, type_name) = (texts[name as usize], texts[type_name as usize]);
            (kind, name, type_name, size, in_place)
        });
        let scopes_of = positions(&scopes);
        let scope_values = scopes.iter().map(|scope| {
            let sum = self.scopes[*scope as usize];
            ScopeValue {
                parent: scopes_of[sum.parent as usize],
                name: texts[sum.name as usize],
                type_name: texts[sum.type_name as usize],
                ..sum
            }
        });
        let scope_values = scope_values.collect();
        let site_of = |site: u32| {
            let (stack, scope, flags) = self.site_keys.values[site as usize];
            (stacks_of[stack as usize], scopes_of[scope as usize], flags)
        };
        let sites = sorted(self.site_keys.values.len(), 0, site_of);
        let mut site_values = vec![SiteValue::default(); FIRST_SITE as usize];
        site_values.extend(sites.iter().map(|site| {
            let (stack, scope, flags) = site_of(*site);
            SiteValue {
                stack,
                scope,
                flags: flags | self.site_flags[*site as usize],
                ..SiteValue::default()
            }
        }));
        let fixed = 0..FIRST_SITE;
        let sites: Vec<u32> = fixed
            .chain(sites.into_iter().map(|site| site + FIRST_SITE))
            .collect();
        Ordered {
            strings,
            modules: module_values,
            frames: frame_values,
            stacks: stack_values,
            scopes: scope_values,
            sites: site_values,
            old_frames: frames,
            old_sites: sites,
            texts,
            scopes_of,
        }
    }
}

/// The tables as they are written.
pub(super) struct Ordered {
    pub(super) strings: EncodedStrings,
    pub(super) modules: Vec<ModuleValue>,
    pub(super) frames: Vec<FrameValue>,
    pub(super) stacks: Vec<StackValue>,
    pub(super) scopes: Vec<ScopeValue>,
    pub(super) sites: Vec<SiteValue>,
    /// The number in [`Tables`] of each address.
    pub(super) old_frames: Vec<u32>,
    /// The number in [`Tables`] of each site.
    pub(super) old_sites: Vec<u32>,
    /// The reference of each string of [`Tables`].
    pub(super) texts: Vec<u32>,
    /// The number of each scope of [`Tables`].
    pub(super) scopes_of: Vec<u32>,
}

/// Refuses more than a recording can have.
pub(super) fn check(what: &str, length: usize, most: usize) -> Result<(), String> {
    if length <= most {
        return Ok(());
    }
    Err(format!(
        "with it, the sum would have more than {most} {what}; merge fewer recordings"
    ))
}

/// Returns the numbers below `length` in the order of their keys; those below `fixed` stay in
/// front.
fn sorted<K: Ord>(length: usize, fixed: u32, key: impl Fn(u32) -> K) -> Vec<u32> {
    let mut order: Vec<u32> = (0..length as u32).collect();
    order[fixed as usize..].sort_by_key(|number| key(*number));
    order
}

/// Returns the nodes of a tree level by level, each level in the order of the parents, then of the
/// keys. Node 0 is the root, and parents have smaller numbers than their children.
fn by_level<K: Ord>(parents: &[u32], key: impl Fn(u32) -> K) -> Vec<u32> {
    let mut depths = vec![0_u32; parents.len()];
    for (node, parent) in parents.iter().enumerate().skip(1) {
        depths[node] = depths[*parent as usize] + 1;
    }
    let mut order: Vec<u32> = (0..parents.len() as u32).collect();
    order.sort_by_key(|node| depths[*node as usize]);
    let mut places = vec![0_u32; parents.len()];
    let mut begin = 1;
    while begin < order.len() {
        let depth = depths[order[begin] as usize];
        let level = order[begin..].partition_point(|node| depths[*node as usize] == depth);
        let level = &mut order[begin..begin + level];
        level.sort_by_key(|node| (places[parents[*node as usize] as usize], key(*node)));
        for (place, node) in (begin as u32..).zip(level.iter()) {
            places[*node as usize] = place;
        }
        begin += level.len();
    }
    order
}

/// Returns the position of each number in an order.
pub(super) fn positions(order: &[u32]) -> Vec<u32> {
    let mut positions = vec![0; order.len()];
    for (position, number) in (0..).zip(order) {
        positions[*number as usize] = position;
    }
    positions
}
