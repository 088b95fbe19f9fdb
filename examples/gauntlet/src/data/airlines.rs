//! The airlines data of source S3: one JSON document per line, each with 8 nested objects, 5
//! strings and 18 integers.

use heapglass_examples::data::Random;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Number of lines of the original file.
pub const LINES: usize = 4_408;

/// Returns a text of this many lines.
pub fn text(lines: usize) -> String {
    let random = &mut Random::new(2003);
    let mut out = String::with_capacity(lines * 800);
    for line in 0..lines {
        write_line(&mut out, line, random);
    }
    out
}

const CODES: [&str; 8] = ["ATL", "BOS", "BWI", "CLT", "DCA", "DEN", "DFW", "DTW"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const CARRIERS: [&str; 11] = [
    "American Airlines Inc.",
    "Alaska Airlines Inc.",
    "Delta Air Lines Inc.",
    "America West Airlines Inc.",
    "Continental Air Lines Inc.",
    "JetBlue Airways",
    "AirTran Airways Corporation",
    "Northwest Airlines Inc.",
    "ATA Airlines d/b/a ATA",
    "United Air Lines Inc.",
    "Southwest Airlines Co.",
];

fn write_line(out: &mut String, line: usize, random: &mut Random) {
    let (month, year) = (line % 12, 2003 + line / 348);
    // The names have about 200 characters in total.
    let carriers = 8 + random.below(3);
    let first = random.below(CARRIERS.len());
    let names: Vec<&str> = (0..carriers)
        .map(|at| CARRIERS[(first + at) % CARRIERS.len()])
        .collect();
    let mut number = |most: usize| random.below(most) as i64 - 2;
    let code = CODES[line % CODES.len()];
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{{\"Airport\":{{\"Code\":\"{code}\",\"Name\":\"Airport of {code}, number {}\"}},\
         \"Time\":{{\"Label\":\"{year}/{:02}\",\"Month\":{},\"Month Name\":\"{}\",\"Year\":{year}}},\
         \"Statistics\":{{\"# of Delays\":{{\"Carrier\":{},\"Late Aircraft\":{},\"National Aviation System\":{},\
         \"Security\":{},\"Weather\":{}}},\"Carriers\":{{\"Names\":\"{}\",\"Total\":{carriers}}},\
         \"Flights\":{{\"Cancelled\":{},\"Delayed\":{},\"Diverted\":{},\"On Time\":{},\"Total\":{}}},\
         \"Minutes Delayed\":{{\"Carrier\":{},\"Late Aircraft\":{},\"National Aviation System\":{},\"Security\":{},\
         \"Total\":{},\"Weather\":{}}}}}}}",
        line % CODES.len(),
        month + 1,
        month + 1,
        MONTHS[month],
        number(2_000),
        number(1_500),
        number(4_000),
        number(30),
        number(300),
        names.join(","),
        number(300),
        number(7_000),
        number(100),
        number(25_000),
        number(30_000),
        number(120_000),
        number(90_000),
        number(200_000),
        number(1_500),
        number(400_000),
        number(30_000),
    );
}

/// A line. Its text is a `String`, `&str` or `Cow<str>`.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub struct Line<T> {
    /// The airport.
    #[serde(rename = "Airport")]
    pub airport: Airport<T>,
    /// The month.
    #[serde(rename = "Time")]
    pub time: Time<T>,
    /// The statistics.
    #[serde(rename = "Statistics")]
    pub statistics: Statistics<T>,
}

/// An airport.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct Airport<T> {
    code: T,
    name: T,
}

/// A month.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct Time<T> {
    label: T,
    month: i64,
    #[serde(rename = "Month Name")]
    month_name: T,
    year: i64,
}

/// The figures of an airport in a month.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub struct Statistics<T> {
    #[serde(rename = "# of Delays")]
    delays: Delays,
    #[serde(rename = "Carriers")]
    carriers: Carriers<T>,
    #[serde(rename = "Flights")]
    flights: Flights,
    #[serde(rename = "Minutes Delayed")]
    minutes_delayed: MinutesDelayed,
}

/// Number of delays, by cause.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct Delays {
    carrier: i64,
    #[serde(rename = "Late Aircraft")]
    late_aircraft: i64,
    #[serde(rename = "National Aviation System")]
    national_aviation_system: i64,
    security: i64,
    weather: i64,
}

/// The carriers.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct Carriers<T> {
    names: T,
    total: i64,
}

/// Number of flights.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct Flights {
    cancelled: i64,
    delayed: i64,
    diverted: i64,
    #[serde(rename = "On Time")]
    on_time: i64,
    total: i64,
}

/// Minutes of delay, by cause.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub struct MinutesDelayed {
    carrier: i64,
    #[serde(rename = "Late Aircraft")]
    late_aircraft: i64,
    #[serde(rename = "National Aviation System")]
    national_aviation_system: i64,
    security: i64,
    total: i64,
    weather: i64,
}
