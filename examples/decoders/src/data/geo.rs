//! The outlines of lots, in the shape of GeoJSON: coordinates in four nested lists.

use super::data;

data! {
    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Features {
        pub features: Vec<Feature>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Feature {
        pub id: u64,
        pub properties: Properties,
        pub geometry: Geometry,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Properties {
        pub name: String,
        pub zone: String,
        pub storeys: u64,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Geometry {
        pub coordinates: Vec<Vec<Vec<[f64; 3]>>>,
    }
}

/// Returns features whose GeoJSON has at least this many bytes.
pub(crate) fn generate(bytes: u64) -> Features {
    let mut text = Vec::new();
    generate::geojson(&mut text, bytes).expect("a list of bytes takes everything");
    serde_json::from_slice(&text).expect("it is the features of this module")
}
