use tracking_alloc::arena::ArenaDeserialize;

#[derive(ArenaDeserialize)]
#[arena(rename_all = "Camel")]
struct Case {
    one: u8,
}

#[derive(ArenaDeserialize)]
struct Flatten<'a> {
    #[arena(flatten)]
    rest: &'a str,
}

#[derive(ArenaDeserialize)]
struct Twice {
    #[arena(alias = "two")]
    one: u8,
    two: u8,
}

#[derive(ArenaDeserialize)]
struct Skipped {
    #[arena(skip, rename = "other")]
    one: u8,
}

#[derive(ArenaDeserialize)]
struct Two<'a, 'b> {
    one: &'a str,
    two: &'b str,
}

#[derive(ArenaDeserialize)]
#[arena(transparent)]
struct Transparent {
    one: u8,
    two: u8,
}

#[derive(ArenaDeserialize)]
union Union {
    one: u8,
}

fn main() {}
