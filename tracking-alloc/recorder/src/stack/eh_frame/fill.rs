//! The slow path: finds the rule of an address and keeps it. Under the write lock.

use super::cache;
use super::evaluate::{self, Context, Entry};
use super::rule::{Base, Frame, Rule};
use super::start_up::{self, Place};
use super::tables::Tables;
use crate::images::{MOST_MODULES, Modules};
use crate::stack::{End, Limits, Start};
use crate::sys::{Bump, Stack};
use std::ptr::NonNull;

/// What is known of the process's code, and what rules are found in. All-zero bytes are "nothing
/// yet". Under the write lock.
pub(crate) struct Code {
    pub(crate) images: Modules,
    context: Option<NonNull<Context>>,
    /// Number of images seen when the cache was last known to be valid.
    images_seen: usize,
    /// Further stacks to be compared with the frame pointers' account.
    checks: u32,
    tables: [Tables; MOST_MODULES],
    bump: Bump,
}

/// Number of first stacks to compare.
const CHECKS: u32 = 32;

impl Code {
    /// Prepares to compare the first stacks walked by frame pointers with what `.eh_frame` says.
    pub(crate) fn check_early_stacks(&mut self) {
        self.checks = if super::IS_SUPPORTED { CHECKS } else { 0 };
    }

    /// The rule for a frame, kept in the cache.
    pub(crate) fn fill(&mut self, frame: Frame, bounds: Stack) -> Rule {
        let (rule, sure) = self.rule(frame, bounds);
        let Some(cache) = cache::current() else {
            return rule;
        };
        let images = self.images.images_seen();
        if self.images_seen != images {
            // Code was loaded, perhaps where other code had been.
            cache.clear();
            self.images_seen = images;
        }
        if sure {
            cache.insert(frame.pc, rule);
        }
        rule
    }

    /// The rule for a frame, and whether it will stay so.
    fn rule(&mut self, frame: Frame, bounds: Stack) -> (Rule, bool) {
        let mut read = false;
        if self.images.image_at(frame.pc.wrapping_sub(1)).is_none() {
            read = self.images.read_again();
        }
        match self.evaluate(frame.pc) {
            Some(Rule::OUTERMOST) => (Rule::OUTERMOST, true),
            _ if self.is_start_up(frame, bounds) => (Rule::START_UP, true),
            Some(rule) => (rule, true),
            None if self.images.image_at(frame.pc.wrapping_sub(1)).is_some() => (
                self.rule_of_main(frame, bounds).unwrap_or(Rule::UNKNOWN),
                true,
            ),
            // In no known code. Unless the mappings were looked at just now, it may be code loaded
            // since.
            None => (Rule::UNKNOWN, read || self.images.is_closed()),
        }
    }

    /// By the tables alone, except where the program begins: its code has none in musl.
    fn evaluate(&mut self, pc: u64) -> Option<Rule> {
        match self.entry(pc) {
            Some(entry) => entry.rule,
            None => start_up::is_entry(pc).then_some(Rule::OUTERMOST),
        }
    }

    // NOTE: never inlined, like `place`: an event has little stack, and gimli needs most of it.
    #[inline(never)]
    fn entry(&mut self, pc: u64) -> Option<Entry> {
        // A return address lies behind its call: the byte before it is the code. The hook's own
        // address lies behind an instruction that moves no register, so it is treated the same.
        let code = pc.wrapping_sub(1);
        let image = self.images.image_at(code)?;
        let context = self.context()?;
        let bias = self.images.bias(image)?;
        let keep = (self.checks == 0).then_some(&mut self.bump);
        let tables = self.tables.get_mut(image)?;
        let sections = tables.sections(|| self.images.open(image), keep)?;
        // SAFETY: memory for one context, filled in when it was taken, reached under the write lock
        // only.
        let context = unsafe { &mut *context.as_ptr() };
        let entry = evaluate::entry(&sections, context, code.wrapping_sub(bias))?;
        Some(Entry {
            function: entry.function.wrapping_add(bias),
            ..entry
        })
    }

    /// Reads the tables of all images now.
    pub(crate) fn read_tables(&mut self) {
        for image in 0..self.images.images_seen() {
            if let Some(tables) = self.tables.get_mut(image) {
                // What cannot be read has no rules.
                let _ = tables.sections(|| self.images.open(image), Some(&mut self.bump));
            }
        }
    }

    fn context(&mut self) -> Option<NonNull<Context>> {
        if self.context.is_none() {
            let place = self.bump.take::<Context>(1)?;
            // SAFETY: fresh memory for one context.
            unsafe { place.as_ptr().write(Context::new_in()) };
            self.context = Some(place);
        }
        self.context
    }

    /// What an address is for the end of a stack.
    #[inline(never)]
    fn place(&mut self, pc: u64) -> Place {
        let function = self.entry(pc).map(|entry| entry.function);
        start_up::place(pc, function, |address| self.images.image_at(address))
    }

    /// Returns `true` for a frame of the C library that called `main` or a thread's function: a
    /// walk by frame pointers ends there, since the C library keeps none; so must this one, for
    /// both to give the same stacks.
    ///
    /// The answer is kept by address, so the address decides: it lies where such functions are.
    /// Which of the functions there it is, the end of the stack tells.
    #[inline(always)]
    fn is_start_up(&mut self, frame: Frame, bounds: Stack) -> bool {
        match self.place(frame.pc) {
            Place::Start => true,
            Place::Near => self.is_near_end(frame, bounds, true),
            Place::Library => self.is_near_end(frame, bounds, false),
            Place::Elsewhere => false,
        }
    }

    /// Returns `true` for a frame one step (`start_thread`) or two steps in the same image
    /// (`__libc_start_call_main`) from the outermost of all. With `or_bare`, a caller without any
    /// rule is that too: musl's `clone` has none.
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

    /// The rule of a function without one that the C run-time called: rustc's `main` has none where
    /// panics abort.
    ///
    /// Its return address is the word near the stack pointer from which the rules of the run-time
    /// lead to the very end.
    fn rule_of_main(&mut self, frame: Frame, bounds: Stack) -> Option<Rule> {
        const MOST_WORDS: u64 = 8;
        (1..=MOST_WORDS).find_map(|words| {
            let rule = Rule::new(Base::Sp, 8 * words, None)?;
            let caller = frame.step(rule, bounds).ok()?;
            self.is_start_up(caller, bounds).then_some(rule)
        })
    }

    /// Returns `true` if a stack walked by frame pointers, innermost first, differs from
    /// `.eh_frame`'s account; asked as long as stacks are early.
    pub(crate) fn differs(&mut self, start: Start, limits: &Limits, addresses: &[u64]) -> bool {
        if self.checks == 0 {
            return false;
        }
        let (mut seen, mut differs) = (0, false);
        let end = super::walk_by(
            |frame, bounds| self.rule(frame, bounds).0,
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
        // What .eh_frame could not follow to the end says nothing about what lies beyond.
        differs || seen != addresses.len() && end == End::Outermost
    }

    /// Compares no further stacks, and gives back what only that took.
    pub(crate) fn end_checks(&mut self) {
        if self.checks == 0 {
            return;
        }
        self.checks = 0;
        let known = self.tables.iter_mut().take(self.images.images_seen());
        known.for_each(Tables::forget);
    }
}
