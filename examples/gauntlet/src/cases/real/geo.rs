//! The part of GeoJSON that canada.json and sf_citylots.json use.

use serde::Deserialize;

/// The type of canada.json: points of two numbers.
pub(super) type Country = Collection<Named, [f64; 2]>;
/// The type of sf_citylots.json: points of three numbers.
pub(super) type City = Collection<Lot, [f64; 3]>;

#[derive(Debug, Deserialize)]
pub(super) struct Collection<P, Point> {
    features: Vec<Feature<P, Point>>,
}

#[derive(Debug, Deserialize)]
struct Feature<P, Point> {
    properties: P,
    /// `None` for a few lots.
    geometry: Option<Geometry<Point>>,
}

/// The tag comes before the coordinates, so nothing is buffered.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "coordinates")]
#[expect(dead_code, reason = "only read into")]
enum Geometry<Point> {
    Polygon(Vec<Vec<Point>>),
    MultiPolygon(Vec<Vec<Vec<Point>>>),
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct Lot {
    mapblklot: Option<String>,
    blklot: Option<String>,
    block_num: Option<String>,
    lot_num: Option<String>,
    from_st: Option<String>,
    to_st: Option<String>,
    street: Option<String>,
    st_type: Option<String>,
    odd_even: Option<String>,
}
