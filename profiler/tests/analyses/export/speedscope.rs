//! speedscope: checks the important rules of its schema.

use super::*;

fn sampled(made: &Value) -> &[Value] {
    made["profiles"].as_array().expect("profiles")
}

fn measure_of(sampled: &Value) -> Measure {
    let name = sampled["name"].as_str().unwrap();
    let mut measures = Measure::COUNTED.into_iter();
    measures
        .find(|measure| measure.title() == name)
        .expect("a measure")
}

fn sum(sampled: &Value) -> u64 {
    let weights = sampled["weights"].as_array().unwrap();
    weights.iter().map(|weight| weight.as_u64().unwrap()).sum()
}

pub(super) fn totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let made = json(profile, Format::Speedscope, options);
    let all = sampled(&made).iter();
    all.map(|sampled| (measure_of(sampled).key().to_owned(), sum(sampled)))
        .collect()
}

#[test]
fn the_shop_as_speedscope() {
    let mut made = json(&shop(), Format::Speedscope, &options(Format::Speedscope));
    made["exporter"] = "heapglass VERSION".into();
    golden_json("speedscope", &made);
}

#[test]
fn what_the_schema_asks_for_is_there() {
    for profile in profiles() {
        for frames in Frames::ALL {
            let options = ReportOptions {
                frames,
                ..options(Format::Speedscope)
            };
            let made = json(&profile, Format::Speedscope, &options);
            let schema = "https://www.speedscope.app/file-format-schema.json";
            assert_eq!(made["$schema"], schema);
            assert!(made["exporter"].is_string() && made["name"].is_string());
            let frames = made["shared"]["frames"].as_array().unwrap();
            for frame in frames {
                assert!(frame["name"].as_str().is_some_and(|name| !name.is_empty()));
                assert!(frame.get("file").is_none_or(Value::is_string));
                assert!(frame.get("line").is_none_or(Value::is_u64));
            }
            let active = made["activeProfileIndex"].as_u64().unwrap();
            assert!((active as usize) < sampled(&made).len());
            for sampled in sampled(&made) {
                assert_eq!(sampled["type"], "sampled");
                let is_bytes = measure_of(sampled).is_bytes();
                assert_eq!(sampled["unit"], if is_bytes { "bytes" } else { "none" });
                assert_eq!(sampled["startValue"], 0);
                assert_eq!(sampled["endValue"], sum(sampled));
                let samples = sampled["samples"].as_array().unwrap();
                assert_eq!(samples.len(), sampled["weights"].as_array().unwrap().len());
                for stack in samples {
                    let stack = stack.as_array().unwrap();
                    assert!(!stack.is_empty());
                    let mut numbers = stack.iter().map(|number| number.as_u64().unwrap());
                    assert!(numbers.all(|number| (number as usize) < frames.len()));
                }
            }
        }
    }
}

#[test]
fn the_measure_that_was_asked_for_comes_first() {
    for measure in Measure::COUNTED {
        let options = ReportOptions {
            measure,
            ..options(Format::Speedscope)
        };
        let made = json(&fixture::profile(), Format::Speedscope, &options);
        assert_eq!(measure_of(&sampled(&made)[0]), measure);
        assert_eq!(sampled(&made).len(), Measure::COUNTED.len());
    }
}
