//! 3.6: trait objects in boxes, or enum values in one list.

use crate::cases::said::times;
use crate::{Case, Claim, Judged, Variant, Window};
use enum_dispatch::enum_dispatch;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.6",
    system: "enum_dispatch against Box<dyn>",
    headline: "an enum in place of a box needs no block, and calling it is up to ten times as fast",
    variants: &[
        Variant::new("Box<dyn>", |window| each(window, boxed)),
        Variant::new("enum_dispatch", |window| each(window, Shapes::from)),
        Variant::new("Box<dyn>, calls alone", |window| calls(window, boxed)),
        Variant::new("enum_dispatch, calls alone", |window| {
            calls(window, Shapes::from)
        }),
    ],
    judge: |found| {
        let shapes = found.of("Box<dyn>", "records");
        let holds = found.of("Box<dyn>", "total_blocks") == shapes + 1.0
            && found.of("enum_dispatch", "total_blocks") == 1.0
            && found.of("enum_dispatch, calls alone", "total_blocks") == 0.0;
        let why = format!(
            "the boxes are gone: {:.0} blocks, then {:.0}; making and calling is {} as fast, calling alone {} as \
             fast (the source up to 10 times)",
            found.of("Box<dyn>", "total_blocks"),
            found.of("enum_dispatch", "total_blocks"),
            times(found.times("Box<dyn>", "enum_dispatch")),
            times(found.times("Box<dyn>, calls alone", "enum_dispatch, calls alone")),
        );
        Judged::facts(holds, why).claim(
            Claim::times("times as long by Box<dyn>, calls alone: up to", 10.0)
                .between(1.0, 10.0)
                .within(0.1),
            found.times("Box<dyn>, calls alone", "enum_dispatch, calls alone"),
        )
    },
};

const SHAPES: usize = 100_000;

#[enum_dispatch]
trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);

struct Oblong(f64, f64);

struct Disc(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Oblong {
    fn area(&self) -> f64 {
        self.0 * self.1
    }
}

impl Shape for Disc {
    fn area(&self) -> f64 {
        self.0 * self.0 * std::f64::consts::PI
    }
}

#[enum_dispatch(Shape)]
enum Shapes {
    Square,
    Oblong,
    Disc,
}

impl Shape for Box<dyn Shape> {
    fn area(&self) -> f64 {
        (**self).area()
    }
}

fn shape(at: usize) -> Shapes {
    let side = at as f64;
    match at % 3 {
        0 => Square(side).into(),
        1 => Oblong(side, 2.0).into(),
        _ => Disc(side).into(),
    }
}

fn boxed(shape: Shapes) -> Box<dyn Shape> {
    match shape {
        Shapes::Square(square) => Box::new(square),
        Shapes::Oblong(oblong) => Box::new(oblong),
        Shapes::Disc(disc) => Box::new(disc),
    }
}

fn make<S>(shapes: usize, of: impl Fn(Shapes) -> S) -> Vec<S> {
    let mut all = Vec::with_capacity(shapes);
    (0..shapes).for_each(|at| all.push(of(shape(at))));
    all
}

fn area<S: Shape>(all: &[S]) -> f64 {
    all.iter().map(Shape::area).sum()
}

fn each<S: Shape>(window: &mut Window, of: impl Fn(Shapes) -> S) {
    let shapes = window.scaled(SHAPES);
    window.input(0, shapes);
    window.work(|| {
        let all = make(shapes, &of);
        (area(&all), all)
    });
}

fn calls<S: Shape>(window: &mut Window, of: impl Fn(Shapes) -> S) {
    let shapes = window.scaled(SHAPES);
    window.input(0, shapes);
    let all = make(shapes, of);
    window.work(|| area(&all));
}
