//! Not compiled: the source that the sites of the sample profile point to.

use serde::Deserialize;

/// A city.
#[derive(Deserialize)]
pub struct City {
	pub name: String,
    pub country: String,
    pub timezone: String,
    pub admin: String,
    pub aliases: Vec<String>,
    pub region: String,
}

impl City {
    // One visitor per field.

    // Lines 20 to 25 of the sample:
    fn visit_name(&mut self, value: &str) { self.name = value.into(); }
    fn visit_country(&mut self, value: &str) { self.country = value.into(); }
    fn visit_timezone(&mut self, value: &str) { self.timezone = value.into(); }
    fn visit_admin(&mut self, value: &str) { self.admin = value.into(); }
    fn visit_aliases(&mut self, value: &str) { self.aliases = value.into(); }
    fn visit_region(&mut self, value: &str) { self.region = value.into(); }
}
