//! `cargo gauntlet`: runs, profiles and compares every technique of the sources. See `cargo
//! gauntlet help`.

mod args;
mod corrections;
mod fetch;
mod keep;
mod measured;
mod predict;
mod publish;
mod run;
mod show;

use args::{Args, Command};
use clap::Parser;
use heapglass_gauntlet as gauntlet;
use heapglass_gauntlet::Gauntlet;
use std::process::ExitCode;
use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc<Gauntlet> = TrackingAlloc::new(Gauntlet);

fn main() -> ExitCode {
    let answer = match Args::parse().command {
        Command::List { group } => show::list(group.as_deref()),
        Command::Fetch => fetch::fetch(),
        Command::Run(options) => run::run(&options),
        Command::Publish(options) => publish::publish(&options),
        Command::Predict(options) => predict::predict(&options),
        Command::Open { case, variant } => keep::open(&case, variant.as_deref()),
        Command::Child(child) => {
            let variant = gauntlet::find(&child.case).and_then(|case| {
                case.variants
                    .iter()
                    .find(|variant| variant.name == child.variant)
            });
            return match variant {
                Some(variant) => {
                    gauntlet::run_child(variant, child.pass.into(), &child.with, child.divisor);
                    ExitCode::SUCCESS
                }
                None => ExitCode::from(2),
            };
        }
    };
    match answer {
        Ok(code) => code,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gauntlet: {error}");
            ExitCode::from(2)
        }
    }
}
