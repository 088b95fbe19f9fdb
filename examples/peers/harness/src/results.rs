//! What was measured, as the JSON has it and the tables read it.

use crate::figures::Figures;
use serde::Serialize;
use std::collections::BTreeMap;

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) format: u32,
    /// UTC.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    /// By crate or tool.
    pub(crate) versions: BTreeMap<String, String>,
    /// Small inputs: the figures mean nothing.
    pub(crate) quick: bool,
    pub(crate) runs: usize,
    pub(crate) took_seconds: u64,
    pub(crate) programs: Vec<Row>,
    pub(crate) workloads: Vec<Column>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
    /// Of the minute before.
    pub(crate) load: f64,
}

/// A program.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) base: Option<&'static str>,
    /// Why it ran nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
}

/// A workload with what each program did on it.
#[derive(Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    #[serde(skip)]
    pub(crate) group: Option<peers_work::Group>,
    pub(crate) threads: usize,
    /// Allocations without reallocations.
    pub(crate) allocations: Option<u64>,
    /// Allocations, reallocations and frees.
    pub(crate) events: Option<u64>,
    /// By program.
    pub(crate) cells: BTreeMap<&'static str, Cell>,
}

/// One program on one workload.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cell {
    Measured(Figures),
    /// It ended in an error or with a wrong result.
    Failed(String),
    /// It did not run.
    Skipped(String),
    /// The program has nothing to do there.
    Inapplicable(String),
}

impl Column {
    /// The figures of a program, if it was measured.
    pub(crate) fn figures(&self, program: &str) -> Option<&Figures> {
        match self.cells.get(program) {
            Some(Cell::Measured(figures)) => Some(figures),
            _ => None,
        }
    }
}
