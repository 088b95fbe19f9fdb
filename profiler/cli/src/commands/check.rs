//! `heapglass check`: compares a recording with a budget and with earlier recordings.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use heapglass_profiler::check::{
    self, Budget, COPIED, GrowthLimit, LONGEST, Limit, Most, Subject, check_against, check_growth,
    check_limit, write_json, write_markdown, write_text,
};
use heapglass_profiler::diff::{Per, Recording};
use heapglass_profiler::profile::Measure;

use crate::args::Check;
use crate::error::Error;
use crate::files::output::Output;
use crate::open::Side;
use crate::{no_effect, open, terminal};

/// Exit status if a check failed.
const FAILED: u8 = 1;

pub(super) fn run(args: &Check) -> Result<u8, Error> {
    let mut budget = match &args.budget {
        Some(path) => read(path, args.allow_copied)?,
        None => Budget::default(),
    };
    let of_file = budget.limits.len();
    budget.limits.extend(of_flags(args)?);
    if let Some(part) = args.tolerance {
        budget.tolerances.set_general(part);
    }
    if let Some(most) = args.max_growth {
        match &mut budget.growth {
            Some(limit) => limit.most = most,
            none => {
                *none = Some(GrowthLimit {
                    most,
                    from: None,
                    to: None,
                });
            }
        }
    }
    if let Some(limit) = &mut budget.growth {
        let moments = args.between.clone();
        limit.from = moments.from.or(limit.from.take());
        limit.to = moments.to.or(limit.to.take());
    } else if args.between.are_given() {
        no_effect::warn(
            "--from or --to",
            "there is no limit on growth; pass --max-growth",
        );
    }
    if budget.limits.is_empty() && budget.growth.is_none() && args.against.is_empty() {
        return Err(match &args.budget {
            Some(path) => Error::misuse(format_args!(
                "{}: the budget has no limits; add one, such as peak = \"30 MiB\" below [total], or pass --against BASE",
                path.display()
            )),
            None => Error::misuse(
                "nothing to check; pass --budget BUDGET.toml, --against BASE or a limit such as --max-peak 30MiB",
            ),
        });
    }
    if let Some(path) = args.budget.as_ref().filter(|_| budget.has_tolerances)
        && args.against.is_empty()
    {
        terminal::eprint_line(format_args!(
            "heapglass: {}: [against] was not checked, because --against BASE is missing",
            path.display()
        ));
    }
    let against: Vec<&Path> = args.against.iter().map(PathBuf::as_path).collect();
    let mut inputs: Vec<&Path> = vec![&args.input.file];
    inputs.extend(&against);
    inputs.extend(args.budget.as_deref());
    let output = Output::open(&args.output, &inputs)?;
    let profile = open::open(&args.input.file, &args.input.symbols)?;
    // `--binary` is the executable of the recording, not of the earlier ones.
    let symbols = args.input.symbols.with_binary(&args.base_binary);
    let before = Side::open(&against, &symbols)?;
    no_effect::warn_of_symbols(
        &args.input.symbols,
        &[vec![&profile], before.profiles()].concat(),
    );
    if args.allow_copied && args.budget.is_none() && args.max_copied.is_none() {
        no_effect::warn("--allow-copied", "there is no limit on copied bytes");
    }
    let name = args.input.file.display().to_string();
    let recording = Recording {
        name: &name,
        profile: &profile,
    };
    let mut check = check::Check::new(&recording);
    for (number, limit) in budget.limits.iter().enumerate() {
        let outcome = check_limit(&recording, limit).map_err(|why| match &args.budget {
            Some(path) if number < of_file => Error::wrap(path.display())(why),
            _ => Error::misuse(why),
        })?;
        check.outcomes.push(outcome);
    }
    if let Some(limit) = &budget.growth {
        let outcome = check_growth(&recording, limit).map_err(Error::misuse)?;
        check.outcomes.push(outcome);
    }
    if !against.is_empty() {
        let base = before.recordings();
        let (outcomes, warnings) = check_against(&base, &recording, &budget.tolerances, args.per)
            .map_err(Error::misuse)?;
        check.outcomes.extend(outcomes);
        // These warnings include the losses of the recording.
        check.warnings = warnings;
    }
    write(args, &check, output)?;
    let has_failed = check.failed().next().is_some();
    Ok(if has_failed { FAILED } else { 0 })
}

fn write(args: &Check, check: &check::Check, output: Output) -> Result<(), Error> {
    let (options, to_stdout) = (output.report_options(), output.is_stdout());
    output.write(|out| {
        if args.json {
            write_json(check, out)
        } else if args.markdown {
            write_markdown(check, out)
        } else {
            write_text(check, &options, out)
        }
    })?;
    if !to_stdout {
        // A CI log also shows the verdict.
        terminal::eprint_line(format_args!("{}: {}", check.recording, check.verdict()));
    }
    Ok(())
}

/// Reads a budget, up to the maximum length of one.
fn read(path: &Path, allow_copied: bool) -> Result<Budget, Error> {
    let name = path.display();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            Error::misuse(format_args!(
                "{name}: cannot read the budget: {error}; pass the path of a TOML file"
            ))
        })?;
    let refuse = Error::wrap(&name);
    if bytes.len() as u64 > LONGEST {
        return Err(refuse(
            "too large for a budget, which has at most 1 MiB; pass another file",
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| refuse("the budget is not UTF-8 text; pass a TOML file"))?;
    check::parse(&text, allow_copied).map_err(Error::wrap(&name))
}

fn of_flags(args: &Check) -> Result<Vec<Limit>, Error> {
    if args.max_copied.is_some() && !args.allow_copied {
        return Err(Error::misuse(format_args!("--max-copied: {COPIED}")));
    }
    let flags = [
        (Measure::Peak, args.max_peak),
        (Measure::Live, args.max_live),
        (Measure::Total, args.max_total),
        (Measure::Blocks, args.max_blocks),
        (Measure::Temporary, args.max_temporary),
        (Measure::Copied, args.max_copied),
        (Measure::Grows, args.max_grows),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(measure, most)| Some((measure, most?)));
    let limit = |(measure, most)| Limit {
        subject: Subject::Total,
        measure,
        per: None,
        most: Most::Whole(most),
    };
    let amplification = args.max_amplification.map(|most| Limit {
        subject: Subject::Total,
        measure: Measure::Peak,
        per: Some(Per::InputByte),
        most: Most::Each(most),
    });
    Ok(given.map(limit).chain(amplification).collect())
}
