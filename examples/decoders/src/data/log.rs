//! 10,000 lines of a web server's log, as in the public benchmark.

use super::data;
use crate::random::Random;

data! {
    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Logs {
        pub logs: Vec<Log>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Log {
        pub address: Address,
        pub identity: String,
        pub userid: String,
        pub date: String,
        pub request: String,
        pub code: u16,
        pub size: u64,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Address {
        pub x0: u8,
        pub x1: u8,
        pub x2: u8,
        pub x3: u8,
    }
}

/// Returns this many lines.
pub(crate) fn generate(lines: usize) -> Logs {
    let random = &mut Random::new(1);
    Logs {
        logs: (0..lines).map(|_| line(random)).collect(),
    }
}

fn line(random: &mut Random) -> Log {
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let users = [
        "-", "ann", "boris", "chloe", "dilip", "eva", "farid", "gwen",
    ];
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE"];
    let paths = [
        "/",
        "/robots.txt",
        "/style/main.css",
        "/style/fonts.min.css",
        "/images/banner.svg",
        "/images/logo.jpg",
        "/api/session",
    ];
    let versions = ["HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"];
    let codes = [
        200, 204, 206, 301, 302, 304, 400, 401, 403, 404, 429, 500, 502, 503,
    ];
    let mut byte = || random.bits() as u8;
    let address = Address {
        x0: byte(),
        x1: byte(),
        x2: byte(),
        x3: byte(),
    };
    Log {
        address,
        identity: "-".to_owned(),
        userid: random.text(&users),
        date: format!(
            "{}/{}/{}:{}:{}:{} {}{:02}00",
            1 + random.below(28),
            random.one(&months),
            1970 + random.below(52),
            random.below(24),
            random.below(60),
            random.below(60),
            random.one(&["+", "-"]),
            random.below(13),
        ),
        request: format!(
            "{} {} {}",
            random.one(&methods),
            random.one(&paths),
            random.one(&versions)
        ),
        code: random.one(&codes),
        size: random.below(100_000_000) as u64,
    }
}
