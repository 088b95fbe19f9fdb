//! Delays of flights by airport and month: nested objects of numbers. The text is that of the
//! gauntlet. The names of its fields are in lower case here, because XML allows no spaces in names.

use super::data;
use serde_json::{Map, Value};

/// Number of lines of the original file.
pub(crate) use text::LINES;

#[path = "../../../gauntlet/src/data/airlines.rs"]
mod text;

data! {
    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Lines {
        pub lines: Vec<Line>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Line {
        pub airport: Airport,
        pub time: Time,
        pub statistics: Statistics,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Airport {
        pub code: String,
        pub name: String,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Time {
        pub label: String,
        pub month: i64,
        pub month_name: String,
        pub year: i64,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Statistics {
        pub number_of_delays: Delays,
        pub carriers: Carriers,
        pub flights: Flights,
        pub minutes_delayed: MinutesDelayed,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Delays {
        pub carrier: i64,
        pub late_aircraft: i64,
        pub national_aviation_system: i64,
        pub security: i64,
        pub weather: i64,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Carriers {
        pub names: String,
        pub total: i64,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Flights {
        pub cancelled: i64,
        pub delayed: i64,
        pub diverted: i64,
        pub on_time: i64,
        pub total: i64,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct MinutesDelayed {
        pub carrier: i64,
        pub late_aircraft: i64,
        pub national_aviation_system: i64,
        pub security: i64,
        pub total: i64,
        pub weather: i64,
    }
}

/// Returns this many lines.
pub(crate) fn generate(lines: usize) -> Lines {
    let line = |line: &str| {
        let line: text::Line<String> = serde_json::from_str(line).expect("each line is JSON");
        let value = serde_json::to_value(line).expect("a line is JSON again");
        serde_json::from_value(renamed(value)).expect("it is a line of this module")
    };
    Lines {
        lines: text::text(lines).lines().map(line).collect(),
    }
}

fn renamed(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let renamed = fields.into_iter().map(|(name, value)| {
        let name = name.to_lowercase().replace('#', "number").replace(' ', "_");
        (name, renamed(value))
    });
    Value::Object(renamed.collect::<Map<String, Value>>())
}
