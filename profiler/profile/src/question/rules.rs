//! The table of what has no answer.

use crate::profile::Measure;
use crate::table::By;

/// The kind of figures that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counters of the whole recording.
    Counters,
    /// The growth of live bytes between two moments.
    Growth,
    /// Figures of a snapshot.
    Snapshot,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Counters, Kind::Growth, Kind::Snapshot];

    /// Returns the kind of the figures that are meant by a grouping and a measure, if nothing asks
    /// for growth: holders and measures of snapshots are those of a snapshot.
    pub fn of(by: By, measure: Measure) -> Kind {
        if by == By::Holder || measure.is_of_snapshots() {
            Kind::Snapshot
        } else {
            Kind::Counters
        }
    }

    /// Returns the measure of rows if none was asked for.
    pub fn default_measure(self) -> Measure {
        match self {
            Kind::Counters => Measure::Peak,
            Kind::Growth => Measure::Live,
            Kind::Snapshot => Measure::Retained,
        }
    }
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table.
    Rows,
    /// A picture: a tree whose nodes are as wide as what lies in them. The tree by site is that of
    /// stacks.
    Tree,
    /// The HTML page of two sides.
    ComparisonPage,
    /// The table of two sides as Markdown.
    ComparisonMarkdown,
    /// Two sides of several recordings each.
    ComparisonOfSeveral,
    /// Two sides, divided by the input of each recording.
    ComparisonPerInput,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 6] = [
        Form::Rows,
        Form::Tree,
        Form::ComparisonPage,
        Form::ComparisonMarkdown,
        Form::ComparisonOfSeveral,
        Form::ComparisonPerInput,
    ];
}

/// Questions without an answer. An empty list stands for everything.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    kinds: &'static [Kind],
    forms: &'static [Form],
    by: &'static [By],
    measures: &'static [Measure],
    /// The reason, and a question that has an answer.
    pub why: &'static str,
}

impl Rule {
    const EVERYTHING: Rule = Rule {
        kinds: &[],
        forms: &[],
        by: &[],
        measures: &[],
        why: "",
    };

    fn is_about(&self, kind: Kind, form: Form, by: By, measure: Measure) -> bool {
        fn has<T: PartialEq>(list: &[T], one: T) -> bool {
            list.is_empty() || list.contains(&one)
        }
        has(self.kinds, kind)
            && has(self.forms, form)
            && has(self.by, by)
            && has(self.measures, measure)
    }
}

/// All questions without an answer. The first rule about a question gives the reason.
pub const RULES: &[Rule] = &[
    Rule {
        kinds: &[Kind::Growth],
        forms: &[Form::Tree],
        why: "there is no picture of growth; use a table",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Growth],
        forms: &[
            Form::ComparisonPage,
            Form::ComparisonMarkdown,
            Form::ComparisonOfSeveral,
            Form::ComparisonPerInput,
        ],
        why: "growth is that of one recording; leave --from and --to out to compare recordings",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Growth],
        measures: &Measure::OF_SNAPSHOTS,
        why: "checkpoints have no figures of a snapshot; leave --from and --to out",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Growth],
        by: &[By::Thread, By::Arena, By::Holder],
        why: "checkpoints have live bytes by site; use --by site, owner, type, field, function, crate, \
              module or phase",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        measures: &Measure::COUNTED,
        why: "the figures are those of a snapshot; use --measure retained or --measure unused",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        by: &[By::Thread],
        why: "any thread may free a block, so live blocks belong to no thread; use --by holder, site or \
              type",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        by: &[By::Arena],
        why: "a snapshot has blocks, and an arena's pieces lie inside them; use --by holder, site or type",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        forms: &[Form::Tree],
        by: &[By::Site],
        why: "what blocks retain does not follow the calls that allocated them; use --by holder, type or \
              field",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        forms: &[Form::ComparisonPage],
        by: &[
            By::Site,
            By::Owner,
            By::Function,
            By::Type,
            By::Field,
            By::Crate,
            By::Module,
            By::Phase,
        ],
        why: "the page of two snapshots shows holders; use --by holder, or leave -o out",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        forms: &[Form::ComparisonMarkdown],
        why: "two snapshots are compared as text, JSON, SVG or a page; leave --markdown out",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        forms: &[Form::ComparisonOfSeveral],
        why: "two snapshots are compared, one a side; leave --and-base and --and-new out",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Snapshot],
        forms: &[Form::ComparisonPerInput],
        why: "what a snapshot holds is not divided by the input; leave --per out",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Counters],
        measures: &Measure::OF_SNAPSHOTS,
        why: "retained and unused bytes are figures of a snapshot; name one with --at",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Counters],
        by: &[By::Holder],
        why: "only a snapshot knows holders; use --measure retained or --measure unused",
        ..Rule::EVERYTHING
    },
    Rule {
        kinds: &[Kind::Counters],
        forms: &[Form::Tree],
        by: &[By::Arena],
        measures: &[
            Measure::Peak,
            Measure::Blocks,
            Measure::Temporary,
            Measure::Copied,
            Measure::Grows,
        ],
        why: "arenas have only two measures: bytes used in total (--measure total) and live bytes \
              (--measure live)",
    },
    Rule {
        forms: &[Form::Tree],
        by: &[
            By::Owner,
            By::Function,
            By::Crate,
            By::Module,
            By::Thread,
            By::Phase,
        ],
        why: "such rows have nothing inside each other, so there is no picture of them; use --by stack, \
              field, type, arena or holder",
        ..Rule::EVERYTHING
    },
];

/// Looks a question up in [`RULES`].
///
/// # Errors
/// Returns the sentence that says why it has no answer, and what to ask instead.
pub fn check(kind: Kind, form: Form, by: By, measure: Measure) -> Result<(), String> {
    let mut rules = RULES.iter();
    let Some(rule) = rules.find(|rule| rule.is_about(kind, form, by, measure)) else {
        return Ok(());
    };
    let by = match (form, by) {
        (Form::Tree, By::Site) => "stack",
        _ => by.name(),
    };
    Err(format!(
        "no answer to --by {by} with --measure {}: {}",
        measure.name(),
        rule.why
    ))
}
