//! A mesh of 125,000 triangles, as in the public benchmark: numbers only.

use super::data;
use crate::random::Random;

data! {
    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Mesh {
        pub triangles: Vec<Triangle>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Triangle {
        pub v0: Vector3,
        pub v1: Vector3,
        pub v2: Vector3,
        pub normal: Vector3,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Vector3 {
        pub x: f32,
        pub y: f32,
        pub z: f32,
    }
}

/// Returns this many triangles.
pub(crate) fn generate(triangles: usize) -> Mesh {
    let random = &mut Random::new(2);
    let mut vector = || Vector3 {
        x: random.f32(),
        y: random.f32(),
        z: random.f32(),
    };
    let triangle = |_| Triangle {
        v0: vector(),
        v1: vector(),
        v2: vector(),
        normal: vector(),
    };
    Mesh {
        triangles: (0..triangles).map(triangle).collect(),
    }
}
