//! Reads a budget, a TOML file: tables of limits, grouped by subject.
//!
//! It must never accept an unknown word: a mistyped limit would check nothing.

use toml::{Table, Value};

use super::against::Tolerances;
use super::growth_limit::{GrowthLimit, parse_growth};
use super::limit::{Limit, Most};
use super::percent::parse_percent;
use super::subject::Subject;
use super::{COPIED, Pattern};
use crate::diff::Per;
use crate::profile::Measure;
use crate::table::By;
use crate::units::{parse_bytes, printable};

/// Maximum length of a budget, bytes.
pub const LONGEST: u64 = 1 << 20;

/// The contents of a budget.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Limits of the total, of phases, owners, types and fields, each by pattern.
    pub limits: Vec<Limit>,
    /// The limit on the growth of live bytes within the recording.
    pub growth: Option<GrowthLimit>,
    /// Allowed growth over an earlier recording.
    pub tolerances: Tolerances,
    /// `true` if the budget sets tolerances.
    pub has_tolerances: bool,
}

/// Reads a budget. Limits on `copied` are refused unless it says `allow_copied = true`, or
/// `allow_copied` is set.
///
/// # Errors
/// Returns one sentence that says what is wrong and what to write.
pub fn parse(text: &str, allow_copied: bool) -> Result<Budget, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| {
            text.get(..span.start).unwrap_or(text).matches('\n').count() + 1
        });
        format!("line {line}: not TOML: {}", error.message())
    })?;
    let mut budget = Budget::default();
    let mut allow_copied = allow_copied;
    if let Some(value) = table.get("allow_copied") {
        allow_copied |= value
            .as_bool()
            .ok_or("allow_copied must be true or false")?;
    }
    let groupings = Subject::GROUPINGS.map(By::name);
    let known = [
        &["total"],
        &groupings[..],
        &["growth", "against", "allow_copied"],
    ]
    .concat();
    if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!(
            "unknown key `{}`: write one of {}",
            printable(key),
            known.join(", ")
        ));
    }
    let table_of = |key: &str| {
        let value = table.get(key);
        let table = value.map(|value| value.as_table().ok_or(key));
        table
            .transpose()
            .map_err(|key| format!("`{key}` must be a table: write [{key}]"))
    };
    if let Some(table) = table_of("total")? {
        limits(&mut budget.limits, &Subject::Total, None, table)?;
    }
    for by in Subject::GROUPINGS {
        if let Some(table) = table_of(by.name())? {
            of_patterns(&mut budget.limits, by, table)?;
        }
    }
    if let Some(table) = table_of("growth")? {
        budget.growth = Some(growth(table)?);
    }
    if let Some(table) = table_of("against")? {
        tolerances(&mut budget.tolerances, table)?;
        budget.has_tolerances = true;
    }
    let mut limits = budget.limits.iter();
    let has_copied = limits.any(|limit| limit.measure == Measure::Copied)
        || budget.tolerances.of(Measure::Copied).is_some();
    if has_copied && !allow_copied {
        return Err(COPIED.to_owned());
    }
    Ok(budget)
}

/// The tables `[KIND."PATTERN"]`.
fn of_patterns(all: &mut Vec<Limit>, by: By, table: &Table) -> Result<(), String> {
    let kind = by.name();
    for (text, value) in table {
        let pattern = Pattern::new(text).map_err(|why| format!("[{kind}]: {why}"))?;
        let subject = Subject::Rows(by, pattern);
        let table = value.as_table().ok_or_else(|| {
            format!(
                "[{kind}]: `{}` must be a table: write [{kind}.\"PATTERN\"] above its limits",
                printable(text)
            )
        })?;
        limits(all, &subject, None, table)?;
    }
    Ok(())
}

fn measures() -> String {
    Measure::COUNTED.map(Measure::name).join(", ")
}

/// The limits of a subject; of its table `per_record` or `per_input_byte` where `per` says so.
fn limits(
    all: &mut Vec<Limit>,
    subject: &Subject,
    per: Option<Per>,
    table: &Table,
) -> Result<(), String> {
    let place = match per {
        Some(per) => format!("[{subject}] {}", per.key()),
        None => format!("[{subject}]"),
    };
    if table.is_empty() {
        return Err(format!(
            "{place}: has no limits: write one, such as peak = 1000000"
        ));
    }
    for (key, value) in table {
        let inner = Per::ALL.into_iter().find(|per| per.key() == key);
        if per.is_none() && inner.is_some() {
            let table = value
                .as_table()
                .ok_or_else(|| format!("{place}: `{key}` must be a table of limits"))?;
            limits(all, subject, inner, table)?;
            continue;
        }
        let measure = Measure::from_name(key).ok_or_else(|| {
            let also = match per {
                Some(_) => "",
                None => ", per_record, per_input_byte",
            };
            format!(
                "{place}: unknown key `{key}`: write one of {}{also}",
                measures()
            )
        })?;
        let most = most(measure, per, value).map_err(|why| format!("{place}: {key}: {why}"))?;
        all.push(Limit {
            subject: subject.clone(),
            measure,
            per,
            most,
        });
    }
    Ok(())
}

fn most(measure: Measure, per: Option<Per>, value: &Value) -> Result<Most, String> {
    match value {
        Value::Integer(number) => u64::try_from(*number)
            .map(Most::Whole)
            .map_err(|_| format!("{number} is negative: write 0 or more")),
        Value::Float(number) if per.is_some() && number.is_finite() && *number >= 0.0 => {
            Ok(Most::Each(*number))
        }
        Value::Float(number) => Err(match per {
            Some(_) => format!("{number} is not a limit: write 0 or more"),
            None => format!("{number} is not a limit: write a whole number"),
        }),
        Value::String(text) if measure.is_bytes() => parse_bytes(text).map(Most::Whole),
        _ if measure.is_bytes() => {
            Err("write a number of bytes, or a size such as \"30 MiB\"".to_owned())
        }
        _ => Err("write a number, without quotation marks".to_owned()),
    }
}

/// The table `[growth]`.
fn growth(table: &Table) -> Result<GrowthLimit, String> {
    const KEYS: [&str; 3] = ["max", "from", "to"];
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let key = printable(key);
        return Err(format!(
            "[growth]: unknown key `{key}`: write one of {}",
            KEYS.join(", ")
        ));
    }
    let text = |key: &str| {
        let value = table.get(key);
        let text = value.map(|value| {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| format!("[growth]: {key}: write a text in quotation marks"))
        });
        text.transpose()
    };
    let most = text("max")?.ok_or("[growth]: has no limit: write max = \"1 MiB\"")?;
    Ok(GrowthLimit {
        most: parse_growth(&most).map_err(|why| format!("[growth]: max: {why}"))?,
        from: text("from")?,
        to: text("to")?,
    })
}

fn tolerances(tolerances: &mut Tolerances, table: &Table) -> Result<(), String> {
    for (key, value) in table {
        if key == "tolerance" {
            tolerances.set_general(part(key, value)?);
            continue;
        }
        let measure = Measure::from_name(key).ok_or_else(|| {
            format!(
                "[against]: unknown key `{key}`: write tolerance, or one of {}",
                measures()
            )
        })?;
        tolerances.set(measure, part(key, value)?);
    }
    Ok(())
}

fn part(key: &str, value: &Value) -> Result<f64, String> {
    let text = value.as_str().ok_or_else(|| {
        format!(
            "[against]: {key}: write a percentage of the base in quotation marks, such as \"5 %\""
        )
    })?;
    parse_percent(text).map_err(|why| format!("[against]: {key}: {why}"))
}
