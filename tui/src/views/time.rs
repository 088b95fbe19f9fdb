//! Time: the heap at each moment that the recording keeps, and the growth between two of them. A
//! cursor on the timeline chooses the moment; a second one stays where the first one was. Rows are
//! computed when something changes, never while drawing.

use std::sync::Arc;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::growth::{Found, Grown, Growth, Moment, NO_MOMENTS, composition, growth};
use heapglass_profiler::profile::{Figures, FrameId, Frames, Measure, Profile, TypeId};
use heapglass_profiler::table::{By, Detail, Heading, Row, rows};
use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{
    Action, Command, Context, Data, Jump, Later, Outcome, Pattern, Pointer, Selection, SourceLine,
    ViewId,
};
use crate::text::{clean, fit_middle, fit_owner, fit_path};
use crate::theme;
use crate::views::{View, timeline, wheel};
use crate::widgets::{Lines, List, Search, Table, noun, rows_in, signed, split};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    LEFT => PreviousMoment, "moment", "go to previous moment";
    RIGHT => NextMoment, "moment", "go to the next moment";
    [char('v')] => Anchor, "compare", "compare from here, or end";
    [char('b')] => Grouping, "by", "group by site, type, ..";
    ENTER => Enter, "sites", "show its sites";
    BACK => Back, "out", "end filter/compare, go out";
    [char(']')] => NextMoment, "", "same as l";
    [char('[')] => PreviousMoment, "", "same as h";
    [char('/')] => Search, "filter", "filter rows by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The groupings, in the order in which the key cycles through them.
const GROUPINGS: [By; 4] = [By::Owner, By::Site, By::Type, By::Field];

/// The cursors, and the rows at them.
#[derive(Debug, Default)]
pub(crate) struct Time {
    /// Every moment of the recording, oldest first.
    moments: Vec<Moment>,
    /// The moment of the cursor, as an index.
    at: usize,
    /// The moment that the cursor is compared with.
    anchor: Option<usize>,
    /// Index of the grouping.
    grouping: usize,
    /// Every row, and those that are listed.
    lines: Vec<Arc<Line>>,
    list: List<Arc<Line>>,
    search: Search,
    /// The title and the figures above the rows.
    head: [String; 2],
    /// The data that the rows were computed from.
    made_of: Option<Arc<Data>>,
    /// The data and the key of the rows in the list.
    shown: Option<(Arc<Data>, Key)>,
    /// The data and the key of the rows that were asked for last.
    asked: Option<(Arc<Data>, Key)>,
    made: Later<Made>,
}

/// A moment, the earlier one that it is compared with, and the grouping.
type Key = (Moment, Option<Moment>, By);

/// The rows of a moment, or of the growth between two.
#[derive(Debug)]
struct Made {
    title: String,
    figures: String,
    lines: Vec<Arc<Line>>,
}

impl Made {
    fn new(data: &Data, key: Key) -> Made {
        let profile = &data.profile;
        let (moment, from, by) = key;
        let compared =
            from.map(|from| growth(profile, Found::exact(from), Found::exact(moment), by));
        let (title, figures, lines) = match &compared {
            Some(Ok(growth)) => (
                format!(
                    "from {} to {}",
                    growth.from.text(profile),
                    growth.to.text(profile)
                ),
                growth_text(data, growth),
                grown_lines(growth),
            ),
            Some(Err(error)) => (error.clone(), String::new(), Vec::new()),
            None => (
                moment.name(profile),
                moment_text(data, moment),
                lines_at(data, moment, by),
            ),
        };
        Made {
            title,
            figures,
            lines: lines.into_iter().map(Arc::new).collect(),
        }
    }

    /// Returns a moment without rows, which is shown while they are computed.
    fn empty(data: &Arc<Data>, key: Key) -> Made {
        Made {
            title: key.0.name(&data.profile),
            figures: "computing".to_owned(),
            lines: Vec::new(),
        }
    }
}

/// A row at one moment, or at two.
#[derive(Clone, Debug, Default)]
struct Line {
    name: String,
    style: Style,
    /// The place and the owner, for rows by site.
    owner: String,
    grown: Grown,
    /// The growth in bytes for each second; empty if it is not known.
    rate: String,
    identity: Identity,
    /// A sentence about the blocks.
    note: String,
    /// The frame that its first site is charged to.
    owner_frame: Option<FrameId>,
    /// Its sites; `None` for a row that has to be looked up.
    jump: Option<Jump>,
}

/// Returns the areas of chart, head, table and details.
fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 4] {
    let head = area.height.min(2);
    let details = cx.lines_below(if area.height >= 16 { 3 } else { 0 });
    let chart = timeline::height(cx, area);
    let table = area.height - head - details - chart;
    split(area, [chart, head, table, details])
}

impl Time {
    fn by(&self) -> By {
        GROUPINGS.get(self.grouping).copied().unwrap_or_default()
    }

    fn moment(&self) -> Moment {
        self.moments.get(self.at).copied().unwrap_or(Moment::Peak)
    }

    /// Returns the earlier and the later moment; `None` unless two are compared.
    fn compared(&self) -> Option<[Moment; 2]> {
        let anchor = self.anchor.filter(|anchor| *anchor != self.at)?;
        let moment = |at: usize| self.moments.get(at).copied();
        Some([moment(anchor.min(self.at))?, moment(anchor.max(self.at))?])
    }

    /// Shows the rows of the moment, or of the growth between two. While another thread computes
    /// them, shows those that other data had for the same moment, if any.
    fn fill(&mut self, cx: &Context<'_>, keep_first: bool) {
        let [_, _, table, _] = panes(cx, cx.area());
        if self.moments.is_empty() {
            self.shown = None;
            self.asked = None;
            self.head = Default::default();
            self.lines = Vec::new();
            self.list = List::default();
            return;
        }
        let (by, moment) = (self.by(), self.moment());
        let key = match self.compared() {
            Some([from, to]) => (to, Some(from), by),
            None => (moment, None, by),
        };
        let is_shown = |data: &Arc<Data>, of: &Key| *of == key && Arc::ptr_eq(data, cx.data);
        if self
            .shown
            .as_ref()
            .is_some_and(|(data, of)| is_shown(data, of))
        {
            return self.list.resize(rows_in(table));
        }
        if !self
            .asked
            .as_ref()
            .is_some_and(|(data, of)| is_shown(data, of))
        {
            self.asked = Some((Arc::clone(cx.data), key));
            self.made.want();
        }
        let data = Arc::clone(cx.data);
        let made = (self.made).take(cx.data, move || Made::new(&data, key));
        let is_known = made.is_some();
        let made = match made {
            Some(made) => made,
            // After a reload, keep the old rows and the selection.
            None if self.shown.as_ref().is_some_and(|(_, of)| *of == key) => {
                return self.list.resize(rows_in(table));
            }
            None => Made::empty(cx.data, key),
        };
        let (_, from, _) = key;
        self.shown = is_known.then(|| (Arc::clone(cx.data), key));
        let place = format!(
            " · moment {} of {}",
            Count(self.at as u64 + 1),
            Count(self.moments.len() as u64)
        );
        let place = if from.is_some() { "" } else { &place };
        self.head = [format!("{}{place}", made.title), made.figures];
        self.lines = made.lines;
        self.list(cx, keep_first);
    }

    /// Lists the rows that match.
    fn list(&mut self, cx: &Context<'_>, keep_first: bool) {
        let [_, _, table, _] = panes(cx, cx.area());
        let mut lines = self.lines.clone();
        self.search.retain(&mut lines, |pattern, line| {
            pattern.is_match(&line.name) || pattern.is_match(&line.owner)
        });
        let key = |line: &Arc<Line>| line.identity.clone();
        self.list.replace(lines, key, keep_first, rows_in(table));
    }

    /// Moves the cursor.
    fn step(&mut self, forward: bool, cx: &Context<'_>) -> Outcome {
        let last = self.moments.len().saturating_sub(1);
        let to = if forward {
            (self.at + 1).min(last)
        } else {
            self.at.saturating_sub(1)
        };
        if to == self.at {
            let end = if forward { "last" } else { "first" };
            return Outcome::notice(format!("this is the {end} moment of the recording"));
        }
        self.at = to;
        self.fill(cx, false);
        Outcome::Done
    }

    fn enter(&self, cx: &Context<'_>) -> Outcome {
        let Some(line) = self.list.selected() else {
            return Outcome::notice("nothing is selected");
        };
        if let Some(jump) = line.jump.clone() {
            return Outcome::Goto(ViewId::Sites, jump);
        }
        // The rows that other views show too: other ones would take their place.
        let rows = match self.by() {
            By::Site => Some(cx.data.site_rows().to_vec()),
            by => cx.rows(by),
        };
        let Some(rows) = rows else {
            return Outcome::notice("its sites are not known yet; press Enter again");
        };
        let look_up = || {
            let profile = &cx.data.profile;
            let mut rows = rows.iter();
            let row = rows.find(|row| Identity::of(profile, row) == line.identity)?;
            jump_to(cx.data, row)
        };
        Outcome::goto(ViewId::Sites, look_up(), "this row has no sites")
    }
}

/// Returns the index of the moment in other data that corresponds to one of the old data.
fn same_moment(old: (&Profile, Moment), new: &Profile, moments: &[Moment]) -> Option<usize> {
    let (profile, moment) = old;
    let time_ns = moment.time_ns(profile);
    let is_kind = |other: &Moment| std::mem::discriminant(other) == std::mem::discriminant(&moment);
    let candidates = moments
        .iter()
        .enumerate()
        .filter(|(_, other)| is_kind(other));
    let distance = |other: &Moment| other.time_ns(new).abs_diff(time_ns);
    candidates
        .min_by_key(|(_, other)| distance(other))
        .map(|(at, _)| at)
}

/// Returns the place in the view Sites of a row.
fn jump_to(data: &Data, row: &Row) -> Option<Jump> {
    match &row.detail {
        Detail::Site(detail) => Some(Jump::Site(*detail.sites.first()? as u32)),
        Detail::Owner { .. } => Some(Jump::Group(By::Owner, row.key.clone())),
        Detail::Type(detail) => {
            let id = detail.full_name.as_ref().map(|full| {
                let mut types = (0..).zip(data.profile.types());
                types.find(|(_, name)| name.full == *full)
            });
            // A type that this data does not have.
            let id = match id {
                Some(None) => return None,
                Some(Some((id, _))) => Some(TypeId(id)),
                None => None,
            };
            Selection::new(data, Some(id), None, false).map(Jump::Selection)
        }
        Detail::Field(detail) => {
            Selection::new(data, None, Some(detail.node), false).map(Jump::Selection)
        }
        _ => None,
    }
}

/// Returns the live bytes and blocks at a moment, with their exactness.
fn moment_text(data: &Data, moment: Moment) -> String {
    let profile = &data.profile;
    let (bytes, blocks) = moment.live(profile);
    let mark = data.mark(Measure::Live);
    let share = Share::of(bytes, profile.totals().peak_bytes);
    let mut text = format!(
        "{mark}{} live in {}, {share} of the peak",
        Bytes(bytes),
        blocks.of("block")
    );
    if let Some(total) = moment.total_bytes(profile) {
        text.push_str(&format!("; {} allocated so far", Bytes(total)));
    }
    match (moment, profile.capture().peak_error_bytes) {
        (Moment::Peak, bound @ 1..) if profile.counts_exactly(Measure::Peak) => {
            text.push_str(&format!(" (within {})", Bytes(bound)))
        }
        _ if profile.checkpoints().is_empty() => {
            text.push_str("; no checkpoints were recorded");
        }
        _ => {}
    }
    text
}

/// Returns the growth of the whole process between two moments.
fn growth_text(data: &Data, growth: &Growth<'_>) -> String {
    let (bytes, _) = growth.total.difference();
    let mark = data.mark(Measure::Live);
    let mut text = format!("{mark}{}", signed(bytes));
    if let Some(blocks) = growth.blocks_text(&growth.total) {
        text.push_str(&format!(" in {blocks} blocks"));
    }
    text.push_str(&format!(", in {}", Nanos(growth.span_ns())));
    if let Some((bytes, blocks)) = growth.rate_texts(&growth.total) {
        text.push_str(&format!(": {bytes}"));
        text.extend(blocks.map(|blocks| format!(" and {blocks}")));
    }
    if let Some(allocated) = growth.allocated_bytes() {
        text.push_str(&format!("; {} allocated", Bytes(allocated)));
    }
    text
}

/// Returns the rows of the heap at a moment, the largest first.
fn lines_at(data: &Data, moment: Moment, by: By) -> Vec<Line> {
    let then = composition(&data.profile, moment);
    let rows = rows(&then, by, Measure::Live, Frames::Folded).into_iter();
    let live = rows.filter(|row| row.figures.live_blocks > 0 || row.figures.live_bytes > 0);
    live.map(|row| {
        let identity = Identity::of(&then, &row);
        let (style, sites) = match &row.detail {
            Detail::Owner { sites, .. } => {
                let style = theme::charged(&data.profile, data.charged(&row));
                (style, sites.as_slice())
            }
            Detail::Site(detail) => (theme::plain(), detail.sites.as_slice()),
            _ => (theme::plain(), [].as_slice()),
        };
        let mut notes = Vec::new();
        if !sites.is_empty() {
            notes.push(counted(sites.len() as u64, "site"));
        }
        if moment == Moment::End && !sites.is_empty() {
            let age = data.profile.age(sites, &figures_of(data, sites)).text();
            notes.extend(age.map(|age| format!("median age of its blocks {age}")));
        }
        Line {
            style,
            jump: jump_to(data, &row),
            owner_frame: sites
                .first()
                .and_then(|&site| data.site(site as u32)?.owner),
            note: notes.join(", "),
            grown: Grown::new(
                (0, 0),
                (
                    row.figures.live_bytes,
                    row.figures.number("live_blocks").value,
                ),
            ),
            ..Line::named(identity, &row.key, by)
        }
    })
    .collect()
}

/// Returns the figures of sites.
fn figures_of(data: &Data, sites: &[usize]) -> Figures {
    let mut sum = Figures::default();
    let sites = sites
        .iter()
        .filter_map(|&site| data.profile.sites().get(site));
    sites.for_each(|site| sum.add(&site.figures));
    sum
}

/// Returns the rows that differ between two moments, those that grew first.
fn grown_lines(growth: &Growth<'_>) -> Vec<Line> {
    let span = Nanos(growth.span_ns());
    let lines = growth.rows.iter().map(|row| {
        let rate = growth.rate_texts(&row.grown).map(|(bytes, _)| bytes);
        let (_, blocks) = row.difference();
        // Estimates prove nothing.
        let note = if blocks > 0 && growth.profile.capture().sampling.is_none() {
            format!(
                "at least {} of its {} then were younger than {span}",
                Count(blocks.unsigned_abs()),
                counted(row.grown.to.1, "block")
            )
        } else {
            String::new()
        };
        Line {
            grown: row.grown,
            rate: rate.unwrap_or_default(),
            note,
            ..Line::named(row.identity.clone(), &row.identity.name, growth.by)
        }
    });
    lines.collect()
}

impl Line {
    fn named(identity: Identity, key: &str, by: By) -> Line {
        let mut owner = String::new();
        let mut name = key.to_owned();
        if by == By::Site {
            let source = identity.source.as_deref().unwrap_or_default();
            owner = format!("{}  {source}", identity.owner)
                .trim_end()
                .to_owned();
            name = match (identity.name.as_str(), identity.location.as_str()) {
                ("", _) => owner.clone(),
                (what, "") => what.to_owned(),
                (what, location) => format!("{what}  {location}"),
            };
        }
        Line {
            name,
            owner,
            identity,
            ..Line::default()
        }
    }
}

impl View for Time {
    fn refresh(&mut self, cx: &Context<'_>) {
        let moments = Moment::with_peak(&cx.data.profile);
        let before = self.made_of.replace(Arc::clone(cx.data));
        let moved = |at: usize| {
            let (old, moment) = (before.as_ref()?, *self.moments.get(at)?);
            same_moment((&old.profile, moment), &cx.data.profile, &moments)
        };
        let peak = moments.iter().position(|moment| *moment == Moment::Peak);
        let (at, anchor) = (moved(self.at), self.anchor.and_then(moved));
        self.at = at.or(peak).unwrap_or(0);
        self.anchor = anchor;
        self.moments = moments;
        self.fill(cx, false);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.list.command(command) {
            return Outcome::Done;
        }
        if let Some(outcome) = self.search.step(&mut self.list, command, |_| true) {
            return outcome;
        }
        match command {
            Command::NextMoment => return self.step(true, cx),
            Command::PreviousMoment => return self.step(false, cx),
            Command::Anchor => {
                self.anchor = match self.anchor {
                    Some(_) => None,
                    None => Some(self.at),
                };
                self.fill(cx, false);
                if self.anchor.is_some() {
                    return Outcome::notice("h and l now show what grew from this moment");
                }
            }
            Command::Grouping => {
                self.grouping = (self.grouping + 1) % GROUPINGS.len();
                self.fill(cx, false);
                return Outcome::notice(format!("by {}", self.by().name()));
            }
            Command::Enter => return self.enter(cx),
            Command::Back if self.search.end() => self.list(cx, false),
            Command::Back if self.anchor.take().is_some() => self.fill(cx, false),
            Command::Back => return Outcome::Out,
            _ => {}
        }
        Outcome::Done
    }

    fn rows_by(&self) -> Option<By> {
        None
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [_, _, table, _] = panes(cx, cx.area());
        self.list.select_at(at, table)
    }

    fn pointed(&mut self, pointer: Pointer, cx: &Context<'_>) -> Outcome {
        let [chart, ..] = panes(cx, cx.area());
        let profile = &cx.data.profile;
        let is_pressed = matches!(pointer.action, Action::Press | Action::Drag);
        let time_ns = timeline::moment_at(profile, chart, pointer.at).filter(|_| is_pressed);
        if let Some(time_ns) = time_ns {
            let distance = |moment: &Moment| moment.time_ns(profile).abs_diff(time_ns);
            let moments = self.moments.iter().enumerate();
            let nearest = moments.min_by_key(|(_, moment)| distance(moment));
            if let Some((at, _)) = nearest.filter(|(at, _)| *at != self.at) {
                self.at = at;
                self.fill(cx, false);
            }
            return Outcome::Done;
        }
        match pointer.action {
            Action::WheelUp => wheel(self, Command::Up, cx),
            Action::WheelDown => wheel(self, Command::Down, cx),
            Action::Press if self.select_at(pointer.at, cx) == Some(true) => self.enter(cx),
            Action::Press | Action::Drag => Outcome::Done,
        }
    }

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        let line = self.list.selected()?;
        SourceLine::of(cx.data, line.owner_frame?)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let has_moments = !self.moments.is_empty();
        has_moments.then(|| ("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.list(cx, false);
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        let part = || {
            let lines = self.list.rows.iter();
            if self.compared().is_some() {
                let grown = lines.map(|line| line.grown.difference().0);
                format!("growth {}", signed(grown.fold(0, i64::saturating_add)))
            } else {
                let live = lines
                    .map(|line| line.grown.to.0)
                    .fold(0, u64::saturating_add);
                let whole = self.moment().live(&cx.data.profile).0;
                format!("{} of all", Share::of(live, whole))
            }
        };
        self.search
            .found_rows(self.list.rows.len(), noun(self.by()), part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [chart, head, table, details] = panes(cx, area);
        if self.moments.is_empty() {
            let mut lines = Lines::new(area, buffer);
            lines.paragraph(NO_MOMENTS, theme::plain());
            return;
        }
        let profile = &cx.data.profile;
        let time_ns = |at: usize| self.moments.get(at).map(|moment| moment.time_ns(profile));
        let overlay = timeline::Overlay {
            cursor: time_ns(self.at),
            anchor: self.anchor.and_then(time_ns),
            has_phases: true,
            ..timeline::Overlay::default()
        };
        timeline::render(cx.data, overlay, chart, buffer);
        let [title, figures] = &self.head;
        let mut lines = Lines::new(head, buffer);
        let rows = counted(self.lines.len() as u64, noun(self.by()));
        lines.rule(&clean(&format!("{title} · {rows}")));
        let found = self.found(cx).map(|found| format!("{found} · {figures}"));
        lines.line(&clean(found.as_ref().unwrap_or(figures)), theme::plain());
        let empty = match (cx.data.is_computing(), self.compared()) {
            (true, _) => String::new(),
            (false, Some(_)) => self.search.empty("nothing differs"),
            (false, None) => self.search.empty("nothing was live"),
        };
        self.table(cx, area)
            .render(table, buffer, &self.list, &empty);
        if let Some(line) = self.list.selected() {
            let mut lines = Lines::new(details, buffer);
            lines.rule(&self.list.place(noun(self.by())));
            let name = [line.name.as_str(), line.owner.as_str()].join("  ");
            lines.line(&clean(name.trim_end()), theme::strong());
            lines.line(&clean(&line.note), theme::dim());
        }
    }
}

impl Time {
    fn table<'a>(&self, cx: &'a Context<'_>, area: Rect) -> Table<'a, Arc<Line>> {
        let whole = self.moment().live(&cx.data.profile).0;
        let is_wide = area.width >= 100;
        let table = Table::new(cx);
        let table = if self.compared().is_some() {
            let size = |line: &Arc<Line>| line.grown.difference();
            // The difference of two lower bounds is not known.
            let is_counted = cx.data.profile.capture().sampling.is_none();
            table
                .right(Heading::GROWN, move |line| signed(size(line).0))
                .right(Heading::GROWN_RATE, |line| line.rate.clone())
                .only_if(is_wide)
                .right(Heading::GROWN_BLOCKS, move |line| {
                    if is_counted {
                        Measure::Blocks.difference(size(line).1.into())
                    } else {
                        "-".to_owned()
                    }
                })
                .figure(Heading::THEN, |line| line.grown.from.0)
                .only_if(is_wide)
                .figure(Heading::NOW, |line| line.grown.to.0)
        } else {
            let bytes = |line: &Arc<Line>| line.grown.to.0;
            table
                .share(Heading::SHARE, bytes, whole)
                .figure(Heading::of(Measure::Live), bytes)
                .bars(16, bytes, whole)
                .only_if(is_wide)
                .figure(Heading::blocks_of(Measure::Live), |line| line.grown.to.1)
        };
        let is_by_site = self.by() == By::Site;
        let table = table
            .left(self.by().name(), 0, |line, _| {
                (line.name.clone(), line.style)
            })
            .shortened(if is_by_site { fit_middle } else { fit_path });
        if is_by_site {
            table
                .left("owner", 0, |line, _| (line.owner.clone(), theme::plain()))
                .shortened(fit_owner)
        } else {
            table
        }
    }
}
