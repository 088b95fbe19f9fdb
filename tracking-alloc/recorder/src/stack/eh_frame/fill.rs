//! The slow path: finds the rule of an address and puts it into the cache. The caller holds the
//! write lock.

use super::cache::{self, Cache};
use super::evaluate::{self, Entry};
use super::machine::{Base, Host, Layout, Machine, Sign};
use super::rule::{Frame, Rule};
use super::start_up::{self, Place};
use super::tables::{Sections, Tables};
use crate::images::{MOST_MODULES, Modules};
use crate::stack::{End, Limits, Start};
use crate::sys::{self, Bump, KeptStack, Stack};

/// The known code of the process, and the data needed to find rules. All-zero bytes mean that
/// nothing is known yet. Accessed under the write lock.
pub(crate) struct Code {
    pub(crate) images: Modules,
    /// Number of images seen when the cache was last known to be valid.
    images_seen: usize,
    /// The time at which the rules of generated code were last compared, in ticks.
    compared_at: u64,
    /// Number of further stacks to compare with the result of frame pointers.
    checks: u32,
    tables: [Tables; MOST_MODULES],
    bump: Bump,
    /// Rules are found and files are read on this stack, because events have little.
    stack: KeptStack,
}

/// About 0.1 to 4 s, depending on the machine's counter.
const TICKS_BETWEEN_COMPARISONS: u64 = 400_000_000;

/// Number of early stacks to compare.
const CHECKS: u32 = 32;

impl Code {
    /// Makes room for finding rules.
    pub(crate) fn prepare(&mut self) {
        self.images.prepare();
        self.stack.prepare();
    }

    /// Returns the stack for work under the write lock.
    pub(crate) fn stack(&self) -> KeptStack {
        self.stack
    }

    /// Prepares to compare the first stacks walked by frame pointers with the rules of `.eh_frame`.
    pub(crate) fn check_early_stacks(&mut self) {
        self.checks = CHECKS;
    }

    /// Returns the rule for a frame and puts it into the cache.
    pub(crate) fn fill(&mut self, frame: Frame, bounds: Stack) -> Rule {
        let (rule, sure) = self.rule(frame, bounds);
        let Some(cache) = cache::current() else {
            return rule;
        };
        let images = self.images.images_seen();
        if self.images_seen != images {
            // New code was loaded, perhaps at the addresses of unloaded code.
            cache.clear();
            self.images_seen = images;
        }
        if sure {
            cache.insert(frame.pc, rule);
        }
        rule
    }

    /// Returns `true` if generated code has other rules than those in the cache: a run-time wrote
    /// another function over one that it no longer needs, of which no mapping tells. Looks only now
    /// and then. Call at each check of the code in use.
    pub(crate) fn has_replaced_generated(&mut self) -> bool {
        let now = sys::ticks();
        let is_early = now.wrapping_sub(self.compared_at) < TICKS_BETWEEN_COMPARISONS;
        if is_early || self.images.is_closed() || !self.images.has_generated() {
            return false;
        }
        self.compared_at = now;
        let stack = self.stack;
        stack.run(|| {
            let mut rules = cache::current().into_iter().flat_map(Cache::rules);
            rules.any(|(address, rule)| self.is_replaced(address, rule))
        })
    }

    fn is_replaced(&mut self, address: u64, rule: Rule) -> bool {
        let image = self.images.image_at(address.wrapping_sub(1));
        image.is_some_and(|image| self.images.is_generated(image))
            && !matches!(rule, Rule::OUTERMOST | Rule::START_UP)
            && self.rule_of_code(address).unwrap_or(Rule::UNKNOWN) != rule
    }

    /// Returns the rule for a frame, and `true` if the rule is final.
    fn rule(&mut self, frame: Frame, bounds: Stack) -> (Rule, bool) {
        let stack = self.stack;
        stack.run(|| self.find_rule(frame, bounds))
    }

    fn find_rule(&mut self, frame: Frame, bounds: Stack) -> (Rule, bool) {
        let mut read = false;
        if self.images.image_at(frame.pc.wrapping_sub(1)).is_none() {
            read = self.images.read_again();
        }
        match self.evaluate(frame.pc) {
            Some(Rule::OUTERMOST) => (Rule::OUTERMOST, true),
            _ if self.is_start_up(frame, bounds) => (Rule::START_UP, true),
            Some(rule) => (rule, true),
            None if self.images.image_at(frame.pc.wrapping_sub(1)).is_some() => {
                // The first is proven by the end of the stack, the second is likely.
                let rule = self
                    .rule_of_main(frame, bounds)
                    .or_else(|| self.rule_of_code(frame.pc));
                (rule.unwrap_or(Rule::UNKNOWN), true)
            }
            // The address lies in no known code. Unless the mappings were read just now, it may lie
            // in code that was loaded since.
            None => (Rule::UNKNOWN, read || self.images.is_closed()),
        }
    }

    /// Returns the rule from the tables. The program's entry code needs special treatment, because
    /// it has no tables in musl.
    fn evaluate(&mut self, pc: u64) -> Option<Rule> {
        match self.entry(pc) {
            Some(entry) => entry.rule,
            None => start_up::is_entry(pc).then_some(Rule::OUTERMOST),
        }
    }

    fn entry(&mut self, pc: u64) -> Option<Entry> {
        // A return address lies just after its call, so the byte before it belongs to the calling
        // code. The hook's own address lies after an instruction that moves no register, so it is
        // treated the same way.
        let code = pc.wrapping_sub(1);
        let (sections, bias) = self.sections_at(code)?;
        let entry = evaluate::entry::<Host>(&sections, code.wrapping_sub(bias))?;
        Some(Entry {
            function: entry.function.wrapping_add(bias),
            ..entry
        })
    }

    /// Returns the tables of the image at an address, and its bias.
    fn sections_at(&mut self, address: u64) -> Option<(Sections, u64)> {
        let image = self.images.image_at(address)?;
        let bias = self.images.bias(image)?;
        let keep = (self.checks == 0).then_some(&mut self.bump);
        let tables = self.tables.get_mut(image)?;
        let sections = tables.sections(|| self.images.open(image), keep)?;
        Some((sections, bias))
    }

    /// Reads the tables of all images.
    pub(crate) fn read_tables(&mut self) {
        for image in 0..self.images.images_seen() {
            if let Some(tables) = self.tables.get_mut(image) {
                // An image that cannot be read has no rules.
                let _ = tables.sections(|| self.images.open(image), Some(&mut self.bump));
            }
        }
    }

    /// Returns the role of an address at the end of a stack.
    fn place(&mut self, pc: u64) -> Place {
        let function = self.entry(pc).map(|entry| entry.function);
        start_up::place(pc, function, |address| self.images.image_at(address))
    }

    /// Returns `true` for a frame of the C library that called `main` or a thread's function. The C
    /// library keeps no frame pointers, so a walk by frame pointers ends there. A walk by rules
    /// must end there too, so that both give the same stacks.
    ///
    /// The answer is cached by address, so it must depend on the address alone. The address lies in
    /// the part of the C library that contains such functions. The end of the stack then tells if
    /// it is one of them.
    #[inline(always)]
    fn is_start_up(&mut self, frame: Frame, bounds: Stack) -> bool {
        match self.place(frame.pc) {
            Place::Start => true,
            Place::Near => self.is_near_end(frame, bounds, true),
            Place::Library => self.is_near_end(frame, bounds, false),
            Place::Elsewhere => false,
        }
    }

    /// Returns `true` for a frame that is one step (`start_thread`), or two steps in the same image
    /// (`__libc_start_call_main`), away from the outermost frame. With `or_bare`, a caller without
    /// any rule also counts as outermost: musl's `clone` has none.
    fn is_near_end(&mut self, frame: Frame, bounds: Stack, or_bare: bool) -> bool {
        let image = self.images.image_at(frame.pc.wrapping_sub(1));
        let mut caller = frame;
        for steps in 1..=2 {
            let rule = self.evaluate(caller.pc);
            let Some(Ok(next)) = rule.map(|rule| caller.step(rule, bounds)) else {
                return false;
            };
            caller = next;
            let is_bare = steps == 1 && or_bare && self.entry(caller.pc).is_none();
            if is_bare || self.evaluate(caller.pc) == Some(Rule::OUTERMOST) {
                return true;
            }
            if steps == 1 && self.images.image_at(caller.pc.wrapping_sub(1)) != image {
                return false;
            }
        }
        false
    }

    /// Returns the rule of a function without an entry, as its instructions tell it: generated
    /// code, and the builtins of V8 in its library. The function returns just after the call, or
    /// it keeps a frame pointer. Of others, which use the register for data, nothing is known.
    #[inline(never)]
    fn rule_of_code(&mut self, pc: u64) -> Option<Rule> {
        /// Few functions are longer.
        const MOST_BYTES: [usize; 2] = [4 << 10, 64 << 10];
        if self.entry(pc).is_some() {
            return None;
        }
        if let Some(layout) = Host::returns_by(&self.images.code_after(pc)) {
            return Rule::new::<Host>(layout);
        }
        let image = self.images.image_at(pc.wrapping_sub(1))?;
        let generated = self.images.is_generated(image);
        let (place, sign) = MOST_BYTES.into_iter().find_map(|most| {
            let code = self.images.code_before(pc, most)?;
            let len = code.len() as u64;
            let (offset, sign) = Host::last_sign(code, generated)?;
            Some((pc - len + offset as u64, sign))
        })?;
        if sign == Sign::Data || !generated && !self.is_without_entries(place, pc) {
            return None;
        }
        Rule::new::<Host>(Layout::LINK)
    }

    /// Returns `true` if the code between two addresses of a file has no entry, though others of
    /// the file have: an assembler wrote it. Files without any are built that way, and nothing
    /// tells where their functions end.
    fn is_without_entries(&mut self, from: u64, to: u64) -> bool {
        let last = to.wrapping_sub(1);
        let end = self.sections_at(last).and_then(|(sections, bias)| {
            let end = evaluate::last_end::<Host>(&sections, last.wrapping_sub(bias))?;
            Some(if end == 0 { 0 } else { end.wrapping_add(bias) })
        });
        end.is_some_and(|end| end <= from)
    }

    /// Returns the rule of a function without a rule that the C run-time called. If panics abort,
    /// rustc's `main` has no rule.
    ///
    /// Its return address is one of the words near the stack pointer: the one from which the rules
    /// of the run-time lead to the outermost frame.
    #[inline(never)]
    fn rule_of_main(&mut self, frame: Frame, bounds: Stack) -> Option<Rule> {
        const MOST_WORDS: u64 = 8;
        let image = self.images.image_at(frame.pc.wrapping_sub(1))?;
        if self.images.is_generated(image) {
            return None;
        }
        let words = |end| (1..=end).map(move |address| (8 * end, 8 * address));
        let layouts = (1..=MOST_WORDS).flat_map(words);
        layouts
            .filter_map(|(end, address)| {
                Rule::new::<Host>(Layout {
                    base: Base::Sp,
                    end,
                    address,
                    bp: None,
                })
            })
            .find(|rule| {
                let caller = frame.step(*rule, bounds);
                caller.is_ok_and(|caller| self.is_start_up(caller, bounds))
            })
    }

    /// Returns `true` if a stack walked by frame pointers, innermost address first, differs from
    /// the result of `.eh_frame`. Only early stacks are compared.
    pub(crate) fn differs(&mut self, start: Start, limits: &Limits, addresses: &[u64]) -> bool {
        if self.checks == 0 {
            return false;
        }
        let (mut seen, mut differs) = (0, false);
        let mut last = Rule::UNKNOWN;
        let end = super::walk_by(
            |frame, bounds| {
                last = self.rule(frame, bounds).0;
                last
            },
            start,
            limits,
            None,
            |address| {
                differs |= addresses.get(seen).is_some_and(|other| *other != address);
                seen += 1;
            },
        );
        if self.checks == 1 {
            self.end_checks();
        } else {
            self.checks -= 1;
        }
        // If .eh_frame could not be followed to the end, nothing is known about the frames beyond.
        // On aarch64, the C library keeps frame pointers too, so a walk by them goes on through its
        // start functions.
        let goes_on = Host::KEEPS_LINKS && last == Rule::START_UP && seen < addresses.len();
        differs || seen != addresses.len() && end == End::Outermost && !goes_on
    }

    /// Ends the comparisons and frees the memory that only they needed.
    pub(crate) fn end_checks(&mut self) {
        if self.checks == 0 {
            return;
        }
        self.checks = 0;
        let known = self.tables.iter_mut().take(self.images.images_seen());
        known.for_each(Tables::forget);
    }
}
