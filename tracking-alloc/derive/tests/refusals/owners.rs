use std::collections::HashMap;
use tracking_alloc::arena::ArenaDeserialize;

#[derive(ArenaDeserialize)]
struct City<'bump> {
    name: String,
    fine: &'bump str,
    citizens: Vec<&'bump str>,
    mayor: Option<Box<u8>>,
    by_name: HashMap<&'bump str, u8>,
    tree: std::collections::BTreeMap<u8, u8>,
    nested: bumpalo::collections::Vec<'bump, std::string::String>,
    shared: &'bump [std::sync::Arc<u8>],
}

#[derive(ArenaDeserialize)]
enum Kind {
    Named(String),
    Fine(u8),
}

fn main() {}
