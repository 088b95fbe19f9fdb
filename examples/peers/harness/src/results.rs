//! The results, in the form of the JSON. The tables read it.

use crate::figures::Figures;
use serde::Serialize;
use std::collections::BTreeMap;

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) format: u32,
    /// The date in UTC.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    /// The versions, by crate or tool.
    pub(crate) versions: BTreeMap<String, String>,
    /// `true` for small inputs: the figures mean nothing.
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
    /// The load average of the minute before.
    pub(crate) load: f64,
}

/// A program.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) base: Option<&'static str>,
    /// The reason why it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
}

/// A workload and the result of each program.
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
    /// The results by program.
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
    /// The program cannot run this workload.
    Inapplicable(String),
}

impl Column {
    /// Returns the figures of a program, if it was measured.
    pub(crate) fn figures(&self, program: &str) -> Option<&Figures> {
        match self.cells.get(program) {
            Some(Cell::Measured(figures)) => Some(figures),
            _ => None,
        }
    }
}
