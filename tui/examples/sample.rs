//! Shows the terminal UI with a made-up profile, or with one of the recordings of real programs
//! from the tests: `cargo run -p heapglass-tui --example sample
//! [fleet|arenas|moving|sampled|held|sized|live|fail|panic|jaq|rg|server|..]`.

use std::time::Duration;

use heapglass_fixture as fixture;
use heapglass_profiler::Early;
use heapglass_profiler::profile::{Profile, State};
use heapglass_tui::{Options, Source};

struct Sample {
    kind: String,
    loads: u64,
}

impl Source for Sample {
    fn title(&self) -> String {
        format!("sample-{}.hg", self.kind)
    }

    fn load(&mut self, progress: &dyn Fn(&str), _: Option<Early<'_>>) -> Result<Profile, String> {
        self.loads += 1;
        match self.kind.as_str() {
            "fleet" => Ok(fixture::fleet()),
            "arenas" => Ok(fixture::city_arenas()),
            "moving" => Ok(fixture::moving()),
            "sampled" => Ok(fixture::sampled()),
            "held" => Ok(fixture::with_made_up_snapshots()),
            "sized" => {
                progress("making 20,000 sites of 60 frames");
                Ok(fixture::sized(20_000, 60))
            }
            "live" => {
                let mut profile = fixture::profile();
                profile.parts().process.state = if self.is_live() {
                    State::Running
                } else {
                    State::Finished
                };
                let growth = self.loads.min(60);
                for site in profile.parts().sites {
                    site.figures.live_bytes = site.figures.live_bytes * growth / 60;
                }
                profile.parts().timeline.truncate(growth as usize + 1);
                profile.parts().process.duration_ns = growth * 30_000_000;
                Ok(profile)
            }
            "fail" => {
                progress("reading sample.hg");
                std::thread::sleep(Duration::from_secs(2));
                Err("sample.hg is no recording: record one with `heapglass run -- COMMAND`".into())
            }
            "panic" => {
                progress("about to panic");
                std::thread::sleep(Duration::from_secs(2));
                panic!("as asked for")
            }
            name if fixture::REAL.iter().any(|(real, _)| *real == name) => Ok(fixture::real(name)),
            _ => Ok(fixture::profile()),
        }
    }

    fn is_live(&self) -> bool {
        self.kind == "live" && self.loads < 200
    }
}

fn main() -> Result<(), heapglass_tui::Error> {
    let kind = std::env::args().nth(1).unwrap_or_else(|| "plain".into());
    heapglass_tui::run(Sample { kind, loads: 0 }, Options::from_env())
}
