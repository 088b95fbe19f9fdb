//! What a source says, in figures, and how what was found here compares with it. The comparison is made in one place.

/// A figure of a source, and how far from it is still the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What it is the figure of: `global takes so many times as long as the arena`.
    pub of: String,
    /// The source's figure: from, to; both the same where it gives one.
    pub source: (f64, f64),
    /// The figure that would mean that there is no effect: 1 of a ratio, 0 of a count or a share.
    pub none: f64,
    /// What may be missing from the figure, or be beyond it, as a share of it.
    pub tolerance: f64,
}

impl Claim {
    /// How many times as long, as large or as many; within a fifth.
    pub fn times(of: impl Into<String>, times: f64) -> Self {
        Claim {
            of: of.into(),
            source: (times, times),
            none: 1.0,
            tolerance: 0.2,
        }
    }

    /// A number of something, exactly.
    pub fn count(of: impl Into<String>, count: f64) -> Self {
        Claim {
            of: of.into(),
            source: (count, count),
            none: 0.0,
            tolerance: 0.0,
        }
    }

    /// That there is none of something.
    pub fn none(of: impl Into<String>) -> Self {
        Claim::count(of, 0.0)
    }

    /// More of something than of something else, by whatever factor; less by a twentieth is noise.
    pub fn more(of: impl Into<String>) -> Self {
        Claim::times(of, 1.0)
            .between(1.0, f64::INFINITY)
            .within(0.05)
    }

    /// Clearly more of something than of something else: by a tenth at least.
    pub fn clearly_more(of: impl Into<String>) -> Self {
        Claim {
            none: 1.1,
            ..Claim::times(of, 1.1)
                .between(1.1, f64::INFINITY)
                .within(0.0)
        }
    }

    /// As much of something as of something else, to within a tenth.
    pub fn level(of: impl Into<String>) -> Self {
        Claim::times(of, 1.0).within(0.1)
    }

    /// A figure between two.
    pub fn between(self, from: f64, to: f64) -> Self {
        Claim {
            source: (from, to),
            ..self
        }
    }

    /// With another tolerance, a share of the figure.
    pub fn within(self, tolerance: f64) -> Self {
        Claim { tolerance, ..self }
    }

    /// The source's figures as text: `1.40 to 5.20`.
    pub fn figures(&self) -> String {
        let (from, to) = self.source;
        match (to == from, to.is_infinite()) {
            (true, _) => figure(from),
            (_, true) => format!("{} or more", figure(from)),
            _ => format!("{} to {}", figure(from), figure(to)),
        }
    }

    /// The figures that reproduce it, from, to: those within the tolerance that have half of the effect at least, so that
    /// a small effect is not reproduced by none.
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

    /// How a figure found here compares; one that is not a number was not measured.
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
        // The source's figure that is nearest: its distance from no effect is the size of what it claims.
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

/// A figure found here: a count is exact, of times the median of rounds is known to lie between two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The figure.
    pub value: f64,
    /// It is this at least.
    pub low: f64,
    /// It is this at most.
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
    /// `1.40 (1.10 to 1.70)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.value.is_nan() {
            return f.write_str("not measured");
        }
        f.write_str(&figure(self.value))?;
        if self.low < self.high {
            write!(f, " ({} to {})", figure(self.low), figure(self.high))?;
        }
        Ok(())
    }
}

impl Span {
    /// The median of rounds, and between which of them it lies with 95 % certainty, whatever their distribution: as many of
    /// n rounds lie outside at either end as `(n - 1.96 sqrt n) / 2` has whole ones (the sign test's interval). Of fewer
    /// than six rounds all lie inside.
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

    /// The same of another figure that grows or falls with this one.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let (low, high) = (of(self.low), of(self.high));
        Span {
            value: of(self.value),
            low: low.min(high),
            high: low.max(high),
        }
    }
}

/// An effect of less than this share of the source's is none.
const NO_EFFECT: f64 = 0.05;

/// How what a source says fared here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was found here too, and of the same size where the source gives one.
    Reproduced,
    /// There is nothing to hold it to: the source has no figure, or it was not measured here.
    NotJudged,
    /// The effect is there, and larger.
    Stronger,
    /// The effect is there, and smaller.
    Weaker,
    /// There is no such effect, or the opposite.
    Contradicted,
}

impl Verdict {
    /// For tables.
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

/// A claim beside what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The source's.
    pub claim: Claim,
    /// The same figure here; not a number where it was not measured.
    pub here: Span,
    /// The same figure in other runs, where several are published together.
    pub other_runs: Vec<Span>,
    /// Why it need not be so here.
    pub reason: &'static str,
}

impl Compared {
    /// How the two compare. Where runs do not agree, the difference is within the noise and is not judged.
    pub fn verdict(&self) -> Verdict {
        match self.runs_agree() {
            true => self.claim.compare(self.here),
            false => Verdict::NotJudged,
        }
    }

    /// Whether every run has the same verdict.
    pub fn runs_agree(&self) -> bool {
        let verdict = self.claim.compare(self.here);
        let mut others = self.other_runs.iter();
        others.all(|here| self.claim.compare(*here) == verdict)
    }

    /// Both figures, the tolerance and the verdict, without the reason.
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
        write!(f, "; here {}", self.here)?;
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

/// A figure as text: whole where it is, else three digits of it.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// What a case's judge says.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Whether what the source says without figures, and the counts that follow from it, are as found.
    facts: Verdict,
    /// What was found, in a sentence.
    pub why: String,
    /// Why nothing of the source's is judged; empty where something is.
    pub unjudged: &'static str,
    /// The source's figures beside those found.
    pub claims: Vec<Compared>,
}

impl Judged {
    /// What the source says in words, and the counts that follow from it, hold here or do not.
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

    /// The source says nothing that could be held to what was found, and why; `hold`: the counts are those that were
    /// predicted.
    pub fn unjudged(hold: bool, because: &'static str, why: String) -> Self {
        Judged {
            unjudged: because,
            ..Judged::facts(hold, why)
        }
    }

    /// Whether the counts are those that follow from what the source says, exactly.
    pub fn counts_hold(&self) -> bool {
        self.facts == Verdict::Reproduced
    }

    /// The same with what other runs found: a claim of which they have another verdict is not judged.
    pub fn with_other_runs(mut self, others: &[Judged]) -> Self {
        for other in others {
            self.facts = self.facts.max(other.facts);
            for (claim, theirs) in self.claims.iter_mut().zip(&other.claims) {
                claim.other_runs.push(theirs.here);
            }
        }
        self
    }

    /// With a figure of the source's and the same one here.
    pub fn claim(mut self, claim: Claim, here: impl Into<Span>) -> Self {
        self.claims.push(Compared {
            claim,
            here: here.into(),
            other_runs: Vec::new(),
            reason: "",
        });
        self
    }

    /// Why the figure of the last claim need not be so here.
    pub fn because(mut self, reason: &'static str) -> Self {
        if let Some(last) = self.claims.last_mut() {
            last.reason = reason;
        }
        self
    }

    /// The least favourable of all that was compared.
    pub fn verdict(&self) -> Verdict {
        let least = match self.unjudged {
            "" => self.facts,
            _ => self.facts.max(Verdict::NotJudged),
        };
        let claims = self.claims.iter().map(Compared::verdict);
        claims.fold(least, Verdict::max)
    }
}
