//! The flamegraph, with the root on top: stacks merged by function, with widths by the measure.
//! Zooms nest. Search, `#` and the details line use the same measure as the widths. Lays out only
//! what is visible.

mod before;
mod grouping;
mod largest;
mod layout;
mod render;
mod search;
mod tree;

use std::sync::Arc;

use heapglass_profiler::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
use heapglass_profiler::profile::{Label, Measure};
use heapglass_profiler::table::By as Rows;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{
    BACK, Binding, DOWN, ENTER, FIRST, LAST, LEFT, RIGHT, UP, bindings, char,
};
use crate::model::{
    Command, Context, Data, Jump, Later, Outcome, Pattern, SourceLine, ViewId, have_same_nodes,
};
use crate::theme;
use crate::views::View;
use crate::widgets::{Matches, write};
use before::BaseFigures;
use grouping::levels_of;
use largest::Largest;
use layout::Icicle;
use tree::Path;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "zoom", "zoom into the frame";
    BACK => Back, "out", "zoom out, end the search";
    [char('/')] => Search, "search", "search by regex";
    [char('n')] => Next, "", "go to next match by size";
    [char('N')] => Previous, "", "go to previous match";
    [char('#')] => SameSymbol, "same", "find this symbol";
    [char('b')] => Grouping, "by", "draw by stack, field, type";
    [char('i')] => Invert, "invert", "put allocations on top";
    [char('o')] => Follow, "sites", "show the frame's sites";
    [char('p')] => Phases, "phases", "show phases as frames";
    [char('f')] => NextFrames, "frames", "choose the frames";
    [char('a')] => AllFrames, "", "show all frames, or fold";
    DOWN => Down, "", "go to widest frame below";
    UP => Up, "", "go to the frame above";
    LEFT => Left, "", "go to the frame left";
    RIGHT => Right, "", "go to the frame right";
    FIRST => First, "", "go to the zoomed frame";
    LAST => Last, "", "go down widest frames";
};

/// The shown tree, the position in it, and the highlight.
#[derive(Debug, Default)]
pub(crate) struct Flame {
    /// Options of the shown tree, so that the loader can build the next one alike.
    pub(super) options: CallTreeOptions,
    tree: Option<Arc<CallTree>>,
    /// The data that the tree was built from.
    made_of: Option<Arc<Data>>,
    /// The position in the tree that was shown before the next one was asked for.
    left: Option<Left>,
    /// The place to show in the next tree, with the data that it is of, if another view asked for
    /// it while the tree was built.
    goal: Option<(Arc<Data>, Jump)>,
    before: BaseFigures,
    /// The frames that are zoomed into, each inside the one before; empty for the whole tree.
    zooms: Vec<NodeId>,
    selected: Option<NodeId>,
    /// Number of rows above the window, counted from the zoomed frame.
    top: u32,
    highlight: Option<Highlight>,
    /// The matches of the highlight; empty until they are known.
    matches: Matches,
    found: Later<Matches>,
    largest: Largest,
}

/// The position in a tree that is gone. Two large trees at the same time would take too much
/// memory.
#[derive(Debug)]
struct Left {
    options: CallTreeOptions,
    zooms: Vec<Path>,
    selected: Option<Path>,
}

/// The target of a search.
#[derive(Clone, Debug)]
enum Highlight {
    Pattern(Pattern),
    /// The function for `#`, by its full name, so that it survives a reload.
    Symbol(String),
}

impl Flame {
    fn zoom(&self) -> NodeId {
        self.zooms.last().copied().unwrap_or(NodeId::ROOT)
    }

    fn selected(&self) -> NodeId {
        self.selected.unwrap_or(self.zoom())
    }

    /// Builds the tree for `options` if data or options changed. If only the data changed, keeps
    /// zoom and selection by name.
    fn rebuild(&mut self, cx: &Context<'_>) {
        let made_of = self.made_of.as_ref();
        let same_data = made_of.is_some_and(|data| Arc::ptr_eq(data, cx.data));
        let is_small = !cx.data.computes_elsewhere();
        let options = CallTreeOptions {
            frames: cx.frames,
            measure: cx.measure,
            ..self.options
        };
        if same_data && options == self.options {
            return;
        }
        if same_data
            && is_small
            && have_same_nodes(options, self.options)
            && let Some(tree) = self.tree.as_mut().and_then(Arc::get_mut)
        {
            tree.sort(options.measure);
            self.before.refresh(tree, options, cx.data);
            self.options = options;
            self.rematch(cx);
            return;
        }
        let before = self.tree.take();
        if let Some((tree, data)) = before.as_ref().zip(self.made_of.take()) {
            let path = |id: &NodeId| tree::path_of(tree, *id, &data.profile);
            self.left = Some(Left {
                options: self.options,
                zooms: self.zooms.iter().map(path).collect(),
                selected: self.selected.as_ref().map(path),
            });
        }
        self.largest.clear();
        let Some(tree) = cx.data.take_tree(options, before) else {
            return;
        };
        let (mut zooms, mut selected) = (Vec::new(), None);
        if let Some(left) = self.left.take()
            && options.inverted == left.options.inverted
            && options.scopes == left.options.scopes
            && options.levels == left.options.levels
        {
            let node = |path: &Path| tree::node_at(path, &tree, &cx.data.profile);
            zooms = left.zooms.iter().filter_map(node).collect();
            zooms.dedup();
            selected = left.selected.as_ref().and_then(node);
        }
        self.before.refresh(&tree, options, cx.data);
        self.zooms = zooms;
        self.selected = selected;
        self.options = options;
        self.tree = Some(tree);
        self.made_of = Some(Arc::clone(cx.data));
        self.rematch(cx);
    }

    /// Shows a place of `data` that another view asked for, or remembers it until the tree and the
    /// matches are there.
    fn arrive(&mut self, jump: &Jump, data: &Arc<Data>, cx: &Context<'_>) -> Outcome {
        let is_building = self.tree.is_none() && cx.data.is_computing();
        if is_building || self.found.is_wanted() {
            self.goal = Some((Arc::clone(data), jump.clone()));
            return Outcome::Done;
        }
        match jump {
            Jump::Function(_) => self.step_match(true, cx),
            Jump::Site(site) => {
                let site = data.same_site(*site, cx.data);
                let leaf = |tree: &CallTree| tree.leaf(site? as usize);
                self.show_found(leaf, "this site is not in the flamegraph", cx)
            }
            Jump::Selection(selection) => self.show_selection(selection, cx),
            // Its frames are spread over the whole tree.
            Jump::Group(..) => Outcome::Done,
        }
    }

    /// Finds the matches of the highlight again, in the current tree and measure.
    fn rematch(&mut self, cx: &Context<'_>) {
        self.matches = Matches::default();
        self.found.want();
        self.take_matches(cx);
    }

    /// Takes the matches if they are there.
    fn take_matches(&mut self, cx: &Context<'_>) {
        let (Some(tree), Some(highlight)) = (&self.tree, &self.highlight) else {
            self.found = Later::Taken;
            return;
        };
        let (tree, highlight) = (Arc::clone(tree), highlight.clone());
        let (data, measure) = (Arc::clone(cx.data), cx.measure);
        let find = move || {
            search::find(
                &tree,
                &data.profile,
                measure,
                |name, short| match &highlight {
                    Highlight::Pattern(pattern) => {
                        pattern.is_match(name) || pattern.is_match(short)
                    }
                    Highlight::Symbol(symbol) => name == symbol,
                },
            )
        };
        if let Some(matches) = self.found.take(cx.data, find) {
            self.matches = matches;
        }
    }

    /// Keeps selection and window on drawn frames.
    fn settle(&mut self, cx: &Context<'_>) {
        let Some(tree) = &self.tree else {
            return;
        };
        let shown = |id: NodeId| cx.measure.of(tree.total(id)) > 0;
        while self.zooms.last().is_some_and(|id| !shown(*id)) {
            self.zooms.pop();
        }
        let zoom = self.zoom();
        // If a frame is too narrow or outside the zoom, select its nearest ancestor that is drawn.
        let mut selected = self.selected();
        let icicle = self.icicle(tree, cx);
        while selected != zoom && !icicle.is_drawn(selected) {
            selected = tree.node(selected).parent.unwrap_or(zoom);
        }
        self.selected = Some(selected);
        let is_inverted = self.options.inverted;
        self.largest.refresh(tree, (zoom, is_inverted), cx);
        let row = tree
            .node(selected)
            .depth
            .saturating_sub(tree.node(zoom).depth);
        let rows = u32::from(render::frame_rows(cx)).max(1);
        self.top = row.min(self.top.max((row + 1).saturating_sub(rows)));
    }

    /// Returns the tree as it is drawn.
    fn icicle<'a>(&self, tree: &'a CallTree, cx: &Context<'_>) -> Icicle<'a> {
        Icicle {
            tree,
            measure: cx.measure,
            zoom: self.zoom(),
            width: cx.body.width,
        }
    }

    /// Returns the frame next to the selected one in its row.
    fn beside(&self, icicle: Icicle<'_>, right: bool) -> Option<NodeId> {
        let selected = self.selected();
        let depth = |id| icicle.tree.node(id).depth;
        let row = depth(selected).checked_sub(depth(icicle.zoom))?;
        let layout = icicle.layout(row, 1);
        let cells = &layout.rows.first()?.cells;
        let at = cells.iter().position(|cell| cell.node == selected)?;
        let next = if right { at + 1 } else { at.checked_sub(1)? };
        cells.get(next).map(|cell| cell.node)
    }

    fn go(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        let Some(tree) = &self.tree else {
            return Outcome::Done;
        };
        let page = u32::from(render::frame_rows(cx)).saturating_sub(1).max(1);
        let steps = match command {
            Command::PageUp | Command::PageDown => page,
            Command::First | Command::Last => u32::MAX,
            _ => 1,
        };
        let icicle = self.icicle(tree, cx);
        let widest = |id| tree.children(id).first().copied();
        let mut at = self.selected();
        for _ in 0..steps {
            let next = match command {
                Command::Up | Command::PageUp | Command::First if at == icicle.zoom => None,
                Command::Up | Command::PageUp | Command::First => tree.node(at).parent,
                Command::Left => self.beside(icicle, false),
                Command::Right => self.beside(icicle, true),
                _ => widest(at).filter(|id| icicle.is_drawn(*id)),
            };
            let Some(next) = next else { break };
            at = next;
        }
        let stuck =
            at == self.selected() && command == Command::Down && !tree.children(at).is_empty();
        self.selected = Some(at);
        if stuck {
            return Outcome::notice(
                "the frames below are too narrow to select; press Enter to zoom in",
            );
        }
        Outcome::Done
    }

    fn enter(&mut self, cx: &Context<'_>) -> Outcome {
        let Some(tree) = &self.tree else {
            return Outcome::Done;
        };
        let selected = self.selected();
        if selected == self.zoom() {
            return Outcome::notice("this frame already fills the width");
        }
        if cx.measure.of(tree.total(selected)) > 0 {
            self.zooms.push(selected);
            self.top = 0;
        }
        Outcome::Done
    }

    fn back(&mut self) -> Outcome {
        if let Some(zoomed) = self.zooms.pop() {
            self.selected = Some(zoomed);
            self.top = 0;
        } else if self.highlight.take().is_some() {
            (self.matches, self.found) = (Matches::default(), Later::Taken);
        } else {
            return Outcome::Out;
        }
        Outcome::Done
    }

    /// Selects `id` and zooms so that it is drawn.
    fn show(&mut self, id: NodeId, cx: &Context<'_>) {
        let Some(tree) = &self.tree else {
            return;
        };
        let mut icicle = self.icicle(tree, cx);
        while !self.zooms.is_empty() && !icicle.is_inside(id) {
            self.zooms.pop();
            icicle.zoom = self.zooms.last().copied().unwrap_or(NodeId::ROOT);
        }
        if !icicle.is_drawn(id) {
            let (around, mut zoom) = (icicle.zoom, id);
            while let Some(parent) = tree.node(zoom).parent.filter(|parent| *parent != around) {
                icicle.zoom = parent;
                if !icicle.is_drawn(id) {
                    break;
                }
                zoom = parent;
            }
            if cx.measure.of(tree.total(zoom)) > 0 {
                self.zooms.push(zoom);
            }
        }
        self.selected = Some(id);
    }

    /// Shows the node that `find` returns, or the text `otherwise`.
    fn show_found(
        &mut self,
        find: impl Fn(&CallTree) -> Option<NodeId>,
        otherwise: &str,
        cx: &Context<'_>,
    ) -> Outcome {
        let tree = self.tree.as_deref();
        let found = tree.and_then(|tree| Some((find(tree)?, tree)));
        let Some((id, tree)) = found else {
            return Outcome::notice(otherwise);
        };
        if cx.measure.of(tree.total(id)) == 0 {
            return Outcome::notice(nothing(cx.measure));
        }
        self.show(id, cx);
        Outcome::Done
    }

    fn step_match(&mut self, forward: bool, cx: &Context<'_>) -> Outcome {
        if self.highlight.is_none() {
            let text = "no search is active; press / to search, or # to find the selected symbol";
            return Outcome::notice(text);
        }
        if self.found.is_wanted() {
            return Outcome::notice("still searching");
        }
        match self.matches.step(forward) {
            Some(id) => {
                self.show(NodeId(id), cx);
                Outcome::Done
            }
            None => Outcome::notice("nothing found"),
        }
    }

    fn selected_label(&self) -> Option<Label> {
        Some(self.tree.as_ref()?.node(self.selected()).label)
    }

    /// Returns the sites of the selection; `None` if it has no name to find them by.
    fn selected_sites(&self, cx: &Context<'_>) -> Option<Jump> {
        if self.options.levels != Levels::Stack {
            return self.selection(cx).map(Jump::Selection);
        }
        let charged = match self.selected_label()? {
            label @ (Label::Function(_) | Label::Place(_)) => label,
            // Use the function of the outermost frame of the call.
            Label::Call(_) => {
                let frame = self.tree.as_ref()?.node(self.selected()).frame?;
                Label::Function(cx.data.frame(frame)?.function)
            }
            Label::Group(group) => {
                return Some(Jump::Group(Rows::Owner, group.name().to_owned()));
            }
            _ => return None,
        };
        Some(Jump::Function(charged))
    }

    fn same_symbol(&mut self, label: Option<Label>, cx: &Context<'_>) -> Outcome {
        let symbol = match label {
            None | Some(Label::Root | Label::Scope(_) | Label::Mark(_) | Label::Group(_)) => {
                return Outcome::notice("no function is selected");
            }
            Some(label) => label.name(&cx.data.profile).into_owned(),
        };
        self.highlight = Some(Highlight::Symbol(symbol));
        self.rematch(cx);
        Outcome::Done
    }

    fn act(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        match command {
            Command::Up
            | Command::Down
            | Command::Left
            | Command::Right
            | Command::PageUp
            | Command::PageDown
            | Command::First
            | Command::Last => self.go(command, cx),
            Command::Enter => self.enter(cx),
            Command::Back => self.back(),
            Command::Next => self.step_match(true, cx),
            Command::Previous => self.step_match(false, cx),
            Command::SameSymbol => self.same_symbol(self.selected_label(), cx),
            Command::Grouping => self.next_grouping(cx),
            Command::Follow => {
                let otherwise = match self.options.levels {
                    Levels::Stack => "no function is selected",
                    _ => "no field or type is selected",
                };
                Outcome::goto(ViewId::Sites, self.selected_sites(cx), otherwise)
            }
            Command::Invert => {
                self.options.inverted = !self.options.inverted;
                self.reshape(cx)
            }
            Command::Phases if !has_phases(cx) => Outcome::notice(
                "no phases were recorded; name one with tracking_alloc::phase(\"load\")",
            ),
            Command::Phases => {
                self.options.scopes = !self.options.scopes;
                self.reshape(cx)
            }
            _ => Outcome::Done,
        }
    }

    /// Shows the tree for the changed options, from its root.
    fn reshape(&mut self, cx: &Context<'_>) -> Outcome {
        (self.goal, self.left) = (None, None);
        self.zooms.clear();
        self.selected = None;
        self.top = 0;
        self.made_of = None;
        self.rebuild(cx);
        Outcome::Done
    }
}

fn has_phases(cx: &Context<'_>) -> bool {
    let mut scopes = cx.data.profile.scopes().iter().skip(1);
    scopes.any(|scope| !scope.kind.is_field())
}

impl View for Flame {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.rebuild(cx);
        self.take_matches(cx);
        if let Some((data, jump)) = self.goal.take() {
            self.arrive(&jump, &data, cx);
        }
        self.settle(cx);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        let outcome = self.act(command, cx);
        self.settle(cx);
        outcome
    }

    fn rows_by(&self) -> Option<Rows> {
        None
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        if let Some(tree) = &self.tree {
            render::render(self, tree, cx, area, buffer);
        } else if cx.data.is_computing() {
            write(buffer, area, "building the flamegraph", theme::dim());
        }
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let pattern = match &self.highlight {
            Some(Highlight::Pattern(pattern)) => Some(pattern.clone()),
            _ => None,
        };
        Some(("search", pattern))
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let tree = self.tree.as_ref()?;
        let (id, is_listed) = render::frame_at(self, tree, cx, at)?;
        let was_selected = id == self.selected();
        if is_listed {
            self.show(id, cx);
        } else {
            self.selected = Some(id);
        }
        self.settle(cx);
        Some(was_selected && !is_listed)
    }

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        let frame = self.tree.as_ref()?.node(self.selected()).frame?;
        SourceLine::of(cx.data, frame)
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        self.highlight
            .as_ref()
            .filter(|_| !self.found.is_wanted())?;
        Some(self.matches.summary("frame", cx))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.highlight = pattern.map(Highlight::Pattern);
        self.rematch(cx);
    }

    fn jump(&mut self, jump: &Jump, cx: &Context<'_>) -> Outcome {
        match jump {
            Jump::Function(charged) => {
                self.group(Levels::Stack, cx);
                self.same_symbol(Some(*charged), cx);
            }
            Jump::Site(_) => self.group(Levels::Stack, cx),
            Jump::Selection(selection) => self.group(levels_of(selection, cx), cx),
            Jump::Group(..) => {}
        }
        let outcome = self.arrive(jump, cx.data, cx);
        self.settle(cx);
        outcome
    }
}

/// Returns the reason why a frame of no width cannot be shown.
fn nothing(measure: Measure) -> String {
    format!(
        "nothing to show for {}; press m to change the measure",
        measure.title()
    )
}
