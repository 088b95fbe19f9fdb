//! Random programs with one thread, compared with the model.

use crate::child::{Block, Programs, Run};
use crate::model::{Model, Op, PHASES, PLACES, steps};
use crate::read::{all, by_phase};

pub(crate) const PROGRAMS: Programs = &[
    ("random-1", || run(SEEDS[0])),
    ("random-2", || run(SEEDS[1])),
    ("random-3", || run(SEEDS[2])),
];

const SEEDS: [u64; 3] = [0x1234_5678_9abc_def1, 77_777, 0xfeed_beef];
const STEPS: usize = 6_000;

fn run(seed: u64) {
    let mut blocks = [None; PLACES];
    let mut phase = Some(tracking_alloc::phase(PHASES[0]));
    steps(seed, STEPS, |op| match op {
        Op::Alloc(place, bytes) => blocks[place] = Some(Block::new(bytes)),
        Op::Resize(place, bytes) => blocks[place].as_mut().expect("a block").resize(bytes),
        Op::Free(place) => blocks[place].take().expect("a block").free(),
        Op::Phase(number) => {
            phase.take();
            phase = Some(tracking_alloc::phase(PHASES[number]));
        }
    });
}

#[test]
fn rows_of_random_programs_are_those_of_a_plain_model() {
    for (index, seed) in SEEDS.into_iter().enumerate() {
        for word in ["move", "stay", "pack"] {
            let name = format!("random-{}", index + 1);
            let recording = Run::new(&name, word).finished();
            let model = Model::after(seed, STEPS, word != "stay");
            let (mut found, mut expected) = (by_phase(&recording), model.by_phase());
            if word == "pack" {
                // Here, small blocks may keep their birth number, depending on their addresses.
                let all = found.values_mut().chain(expected.values_mut());
                all.for_each(|counts| (counts.lifetime, counts.lifetime_blocks) = (0, 0));
            }
            assert_eq!(found, expected, "{name} {word}");
            let peak = all(&recording).peak.0;
            assert_eq!(recording.header.peak_bytes, peak, "{name} {word}");
            assert_eq!(recording.header.untracked_blocks, 0);
        }
    }
}
