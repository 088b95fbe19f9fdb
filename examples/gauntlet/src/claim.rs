//! The claims of the sources in figures, and their comparison with the figures found here. This is
//! the only place that compares them.

/// A figure of a source, and the deviation that still counts as the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The meaning of the figure: `global takes so many times as long as the arena`.
    pub of: String,
    /// The source's figure as a range; both ends are the same if the source gives one figure.
    pub source: (f64, f64),
    /// The figure without any effect: 1 for a ratio, 0 for a count or a share.
    pub none: f64,
    /// The allowed deviation, as a share of the figure.
    pub tolerance: f64,
}

impl Claim {
    /// Claims a ratio of times, sizes or counts, within a fifth.
    pub fn times(of: impl Into<String>, times: f64) -> Self {
        Claim {
            of: of.into(),
            source: (times, times),
            none: 1.0,
            tolerance: 0.2,
        }
    }

    /// Claims an exact count.
    pub fn count(of: impl Into<String>, count: f64) -> Self {
        Claim {
            of: of.into(),
            source: (count, count),
            none: 0.0,
            tolerance: 0.0,
        }
    }

    /// Claims that there is none of something.
    pub fn none(of: impl Into<String>) -> Self {
        Claim::count(of, 0.0)
    }

    /// Claims more of something than of something else, by any factor. A twentieth less is noise.
    pub fn more(of: impl Into<String>) -> Self {
        Claim::times(of, 1.0)
            .between(1.0, f64::INFINITY)
            .within(0.05)
    }

    /// Claims clearly more of something than of something else: at least a tenth more.
    pub fn clearly_more(of: impl Into<String>) -> Self {
        Claim {
            none: 1.1,
            ..Claim::times(of, 1.1)
                .between(1.1, f64::INFINITY)
                .within(0.0)
        }
    }

    /// Claims as much of something as of something else, within a tenth.
    pub fn level(of: impl Into<String>) -> Self {
        Claim::times(of, 1.0).within(0.1)
    }

    /// Sets the range of the figure.
    pub fn between(self, from: f64, to: f64) -> Self {
        Claim {
            source: (from, to),
            ..self
        }
    }

    /// Sets another tolerance, a share of the figure.
    pub fn within(self, tolerance: f64) -> Self {
        Claim { tolerance, ..self }
    }

    /// Returns the source's figures as text: `1.40 to 5.20`.
    pub fn figures(&self) -> String {
        let (from, to) = self.source;
        match (to == from, to.is_infinite()) {
            (true, _) => figure(from),
            (_, true) => format!("{} or more", figure(from)),
            _ => format!("{} to {}", figure(from), figure(to)),
        }
    }

    /// Returns the range of figures that reproduce the claim: those within the tolerance that have
    /// at least half of the effect, so that a figure without an effect does not reproduce a small
    /// effect.
    pub fn accepted(&self) -> (f64, f64) {
        let (from, to) = self.source;
        let (least, most) = (from * (1.0 - self.tolerance), to * (1.0 + self.tolerance));
        let half = |figure: f64| self.none + (figure - self.none) / 2.0;
        if from > self.none {
            (least.max(half(from)), most)
        } else if to < self.none {
            (least, most.min(half(to)))
        } else {
            (least, most)
        }
    }

    /// Compares a figure found here with the claim. NaN means that it was not measured.
    pub fn compare(&self, here: impl Into<Span>) -> Verdict {
        let (from, to) = self.source;
        let here = here.into().value;
        if here.is_nan() {
            return Verdict::NotJudged;
        }
        let (least, most) = self.accepted();
        if (least..=most).contains(&here) {
            return Verdict::Reproduced;
        }
        // The nearest of the source's figures: its distance from no effect is the size of the
        // claimed effect.
        let nearest = if here < from { from } else { to };
        if nearest == self.none {
            return Verdict::Contradicted;
        }
        match (here - self.none) / (nearest - self.none) {
            effect if effect > 1.0 => Verdict::Stronger,
            effect if effect > NO_EFFECT => Verdict::Weaker,
            _ => Verdict::Contradicted,
        }
    }
}

/// A figure found here. A count is exact; the median of rounds has a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The figure.
    pub value: f64,
    /// Lower end of the confidence interval.
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
}

impl From<f64> for Span {
    fn from(value: f64) -> Self {
        Span {
            value,
            low: value,
            high: value,
        }
    }
}

impl std::fmt::Display for Span {
    /// Formats as `1.40 (1.10 to 1.70)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(0))
    }
}

impl Span {
    /// Returns the median of rounds with its 95 % confidence interval, for any distribution (the
    /// interval of the sign test). Of n rounds, the whole part of `(n - 1.96 sqrt n) / 2` lie
    /// outside at each end. With fewer than six rounds, all lie inside.
    pub fn median(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        let len = rounds.len() as f64;
        let outside = ((len - 1.96 * len.sqrt()) / 2.0).max(0.0) as usize;
        let at = |index: usize| rounds.get(index).copied().unwrap_or(f64::NAN);
        Span {
            value: at(rounds.len() / 2),
            low: at(outside),
            high: at(rounds.len().wrapping_sub(1 + outside)),
        }
    }

    fn text(&self, more_digits: usize) -> String {
        if self.value.is_nan() {
            return "not measured".to_owned();
        }
        let figure = |value| figure_with(value, more_digits);
        if self.low < self.high {
            let (low, high) = (figure(self.low), figure(self.high));
            return format!("{} ({low} to {high})", figure(self.value));
        }
        figure(self.value)
    }

    /// Applies a monotonic function to the figure.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let (low, high) = (of(self.low), of(self.high));
        Span {
            value: of(self.value),
            low: low.min(high),
            high: low.max(high),
        }
    }
}

/// An effect smaller than this share of the source's counts as no effect.
const NO_EFFECT: f64 = 0.05;

/// The verdict on a source's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The effect was found here too, with the same size if the source gives one.
    Reproduced,
    /// There is nothing to compare: the source has no figure, or it was not measured here.
    NotJudged,
    /// The effect exists and is larger.
    Stronger,
    /// The effect exists and is smaller.
    Weaker,
    /// There is no such effect, or the opposite one.
    Contradicted,
}

impl Verdict {
    /// Returns the name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotJudged => "not judged",
            Verdict::Stronger => "stronger",
            Verdict::Weaker => "weaker",
            Verdict::Contradicted => "contradicted",
        }
    }
}

/// A claim and the figure found here.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The source's claim.
    pub claim: Claim,
    /// The same figure here; NaN if it was not measured.
    pub here: Span,
    /// The same figure in other runs, if several are published together.
    pub other_runs: Vec<Span>,
    /// The reason why the figure may differ here.
    pub reason: &'static str,
}

impl Compared {
    /// Returns the verdict. If the runs disagree, the difference is noise and is not judged.
    pub fn verdict(&self) -> Verdict {
        match self.runs_agree() {
            true => self.claim.compare(self.here),
            false => Verdict::NotJudged,
        }
    }

    /// Returns `true` if every run has the same verdict.
    pub fn runs_agree(&self) -> bool {
        let verdict = self.claim.compare(self.here);
        let mut others = self.other_runs.iter();
        others.all(|here| self.claim.compare(*here) == verdict)
    }

    /// Returns the figure found here. If the runs agree, its interval covers those of all runs,
    /// because builds move times more than the rounds of one build do.
    fn of_all_runs(&self) -> Span {
        if !self.runs_agree() {
            return self.here;
        }
        let others = self.other_runs.iter();
        others.fold(self.here, |all, other| Span {
            value: all.value,
            low: all.low.min(other.low),
            high: all.high.max(other.high),
        })
    }

    /// Returns the ends of the accepted range, and the figure found here, as text: with enough
    /// digits that a figure outside the range does not look like one of its ends.
    pub fn accepted_and_here(&self) -> [String; 3] {
        let (least, most) = self.claim.accepted();
        let here = self.here.value;
        let looks_equal =
            |end: f64, more_digits| figure_with(end, more_digits) == figure_with(here, more_digits);
        let is_outside = here < least || here > most;
        let differs = |digits: &usize| !looks_equal(least, *digits) && !looks_equal(most, *digits);
        let more_digits = if is_outside {
            (0..MOST_MORE_DIGITS)
                .find(differs)
                .unwrap_or(MOST_MORE_DIGITS)
        } else {
            0
        };
        [
            figure_with(least, more_digits),
            figure_with(most, more_digits),
            self.of_all_runs().text(more_digits),
        ]
    }

    /// Returns both figures, the tolerance and the verdict, without the reason.
    pub fn figures(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_figures(&mut text);
        text
    }

    fn write_figures(&self, f: &mut impl std::fmt::Write) -> std::fmt::Result {
        let (from, to) = self.claim.source;
        write!(f, "{}: source {}", self.claim.of, self.claim.figures())?;
        match self.claim.tolerance {
            0.0 => f.write_str(" exactly")?,
            tolerance => write!(f, ", within {:.0} %", tolerance * 100.0)?,
        }
        let (least, most) = self.claim.accepted();
        if least > from * (1.0 - self.claim.tolerance) || most < to * (1.0 + self.claim.tolerance) {
            f.write_str(" and half of the effect at least")?;
        }
        let [_, _, here] = self.accepted_and_here();
        write!(f, "; here {here}")?;
        if self.runs_agree() {
            return write!(f, ": {}", self.verdict().name());
        }
        let name = |here| self.claim.compare(here).name();
        write!(f, " ({})", name(self.here))?;
        for here in &self.other_runs {
            write!(f, ", {here} ({})", name(*here))?;
        }
        write!(f, ": {}, the runs do not agree", self.verdict().name())
    }
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.write_figures(f)?;
        match self.verdict() {
            Verdict::Stronger | Verdict::Weaker | Verdict::Contradicted
                if !self.reason.is_empty() =>
            {
                write!(f, ", {}", self.reason)
            }
            Verdict::Contradicted => {
                f.write_str(", the effect is absent or the opposite; its cause is not known")
            }
            _ => Ok(()),
        }
    }
}

/// The most digits that are added to tell two figures apart.
const MOST_MORE_DIGITS: usize = 6;

/// Formats a figure: whole numbers as they are, others with three digits, or more of them.
fn figure_with(value: f64, more_digits: usize) -> String {
    let digits = if value.fract() == 0.0 {
        0
    } else if value.abs() >= 1000.0 {
        more_digits
    } else if value.abs() >= 10.0 {
        1 + more_digits
    } else {
        2 + more_digits
    };
    format!("{value:.digits$}")
}

fn figure(value: f64) -> String {
    figure_with(value, 0)
}

/// The judgement of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The verdict on the source's statements without figures, and on the counts that follow from
    /// them.
    facts: Verdict,
    /// The result, in a sentence.
    pub why: String,
    /// The reason why no claim of the source is judged; empty if one is.
    pub unjudged: &'static str,
    /// The source's figures and the figures found here.
    pub claims: Vec<Compared>,
}

impl Judged {
    /// Judges if the source's statements in words, and the counts that follow from them, hold here.
    pub fn facts(hold: bool, why: String) -> Self {
        let facts = match hold {
            true => Verdict::Reproduced,
            false => Verdict::Contradicted,
        };
        let not = if hold {
            ""
        } else {
            " (NOT the counts that follow from what the source says)"
        };
        Judged {
            facts,
            why: format!("{why}{not}"),
            unjudged: "",
            claims: Vec::new(),
        }
    }

    /// Judges only the predicted counts, because the source has no claim that can be compared;
    /// `because` is the reason. `hold` is `true` if the counts are as predicted.
    pub fn unjudged(hold: bool, because: &'static str, why: String) -> Self {
        Judged {
            unjudged: because,
            ..Judged::facts(hold, why)
        }
    }

    /// Returns `true` if the counts are exactly those that follow from the source.
    pub fn counts_hold(&self) -> bool {
        self.facts == Verdict::Reproduced
    }

    /// Adds the results of other runs. A claim with different verdicts in them is not judged.
    pub fn with_other_runs(mut self, others: &[Judged]) -> Self {
        for other in others {
            self.facts = self.facts.max(other.facts);
            for (claim, theirs) in self.claims.iter_mut().zip(&other.claims) {
                claim.other_runs.push(theirs.here);
            }
        }
        self
    }

    /// Adds a figure of the source, and the same figure here.
    pub fn claim(mut self, claim: Claim, here: impl Into<Span>) -> Self {
        self.claims.push(Compared {
            claim,
            here: here.into(),
            other_runs: Vec::new(),
            reason: "",
        });
        self
    }

    /// Adds the reason why the figure of the last claim may differ here.
    pub fn because(mut self, reason: &'static str) -> Self {
        if let Some(last) = self.claims.last_mut() {
            last.reason = reason;
        }
        self
    }

    /// Returns the least favourable verdict of all comparisons.
    pub fn verdict(&self) -> Verdict {
        let least = match self.unjudged {
            "" => self.facts,
            _ => self.facts.max(Verdict::NotJudged),
        };
        let claims = self.claims.iter().map(Compared::verdict);
        claims.fold(least, Verdict::max)
    }
}
