//! The Firefox Profiler: its tables, followed from each allocation to the names of its frames.

use super::*;

fn threads(made: &Value) -> &[Value] {
    made["threads"].as_array().expect("threads")
}

fn column<'a>(table: &'a Value, name: &str) -> &'a [Value] {
    let column = table[name].as_array().unwrap_or_else(|| panic!("{name}"));
    assert_eq!(column.len() as u64, table["length"].as_u64().unwrap());
    column
}

fn measure_of(thread: &Value) -> Measure {
    let name = thread["name"].as_str().unwrap();
    let mut measures = Measure::COUNTED.into_iter();
    measures
        .find(|measure| measure.title() == name)
        .expect("a measure")
}

pub(super) fn totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let made = json(profile, Format::Firefox, options);
    let total = |thread: &Value| {
        let allocations = &thread["nativeAllocations"];
        // A thread without allocations has no allocation table.
        let weights = allocations["weight"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let sum = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        (measure_of(thread).key().to_owned(), sum)
    };
    threads(&made).iter().map(total).collect()
}

/// Returns the stacks of a measure, outermost frame first, with their bytes.
fn stacks(made: &Value, measure: Measure) -> Vec<(Vec<String>, u64)> {
    let mut threads = threads(made).iter();
    let thread = threads
        .find(|thread| measure_of(thread) == measure)
        .unwrap();
    let strings = thread["stringArray"]
        .as_array()
        .or_else(|| made["shared"]["stringArray"].as_array())
        .expect("strings");
    let index = |column: &[Value], at: u64| column[at as usize].as_u64().expect("an index");
    let prefixes = column(&thread["stackTable"], "prefix");
    let of_stack = column(&thread["stackTable"], "frame");
    let of_frame = column(&thread["frameTable"], "func");
    let of_function = column(&thread["funcTable"], "name");
    let allocations = &thread["nativeAllocations"];
    let weights = column(allocations, "weight").iter();
    assert_eq!(allocations["weightType"], "bytes");
    let stacks = column(allocations, "stack").iter().zip(weights);
    let stack = |(stack, weight): (&Value, &Value)| {
        let mut names = Vec::new();
        let mut at = stack.as_u64();
        while let Some(stack) = at {
            let function = index(of_frame, index(of_stack, stack));
            let name = &strings[index(of_function, function) as usize];
            names.push(name.as_str().unwrap().to_owned());
            at = prefixes[stack as usize].as_u64();
        }
        names.reverse();
        (names, weight.as_u64().unwrap())
    };
    stacks.map(stack).collect()
}

#[test]
fn the_shop_for_firefox() {
    let made = json(&shop(), Format::Firefox, &options(Format::Firefox));
    let mut text = String::new();
    for measure in threads(&made).iter().map(measure_of) {
        text.push_str(&format!("{}\n", measure.title()));
        for (names, bytes) in stacks(&made, measure) {
            text.push_str(&format!("  {bytes}\n    {}\n", names.join("\n    ")));
        }
    }
    let meta = &made["meta"];
    text.push_str(&format!("product {}\n", meta["product"]));
    text.push_str(&format!("start {}\n", meta["startTime"]));
    text.push_str(&format!("first {}\n", meta["initialSelectedThreads"]));
    golden("firefox", &text);
}

#[test]
fn stacks_are_those_of_folded_stacks() {
    let profile = fixture::profile();
    let made = json(&profile, Format::Firefox, &options(Format::Firefox));
    for measure in threads(&made).iter().map(measure_of) {
        let mut stacks: Vec<String> = stacks(&made, measure)
            .into_iter()
            .map(|(names, bytes)| format!("{} {bytes}", names.join(";")))
            .collect();
        let options = ReportOptions {
            measure,
            ..options(Format::Folded)
        };
        let folded = text(&profile, Format::Folded, &options);
        let mut folded: Vec<&str> = folded.lines().collect();
        stacks.sort();
        folded.sort();
        assert_eq!(stacks, folded);
    }
}

#[test]
fn each_stack_has_an_address_of_its_own_so_that_all_of_it_is_retained() {
    let made = json(
        &fixture::profile(),
        Format::Firefox,
        &options(Format::Firefox),
    );
    for thread in threads(&made) {
        let addresses = column(&thread["nativeAllocations"], "memoryAddress");
        let mut distinct: Vec<u64> = addresses.iter().map(|a| a.as_u64().unwrap()).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), addresses.len());
    }
}
