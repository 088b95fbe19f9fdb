//! The saved data of 500 players of a game, as in the public benchmark (`minecraft_savedata`): many
//! fields, short texts, absent values.

use super::data;
use crate::random::Random;

data! {
    struct Players {
        pub players: Vec<Player>,
    }

    #[derive(Copy)]
    #[repr(u8)]
    enum GameType {
        Survival,
        Creative,
        Adventure,
        Spectator,
    }

    struct Item {
        pub count: i8,
        pub slot: u8,
        pub id: String,
    }

    struct Abilities {
        pub walk_speed: f32,
        pub fly_speed: f32,
        pub may_fly: bool,
        pub flying: bool,
        pub invulnerable: bool,
        pub may_build: bool,
        pub instabuild: bool,
    }

    struct Entity {
        pub id: String,
        pub pos: (f64, f64, f64),
        pub motion: (f64, f64, f64),
        pub rotation: (f32, f32),
        pub fall_distance: f32,
        pub fire: u16,
        pub air: u16,
        pub on_ground: bool,
        pub no_gravity: bool,
        pub invulnerable: bool,
        pub portal_cooldown: i32,
        pub uuid: [u32; 4],
        pub custom_name: Option<String>,
        pub custom_name_visible: bool,
        pub silent: bool,
        pub glowing: bool,
    }

    struct RecipeBook {
        pub recipes: Vec<String>,
        pub to_be_displayed: Vec<String>,
        pub is_filtering_craftable: bool,
        pub is_gui_open: bool,
        pub is_furnace_filtering_craftable: bool,
        pub is_furnace_gui_open: bool,
        pub is_blasting_furnace_filtering_craftable: bool,
        pub is_blasting_furnace_gui_open: bool,
        pub is_smoker_filtering_craftable: bool,
        pub is_smoker_gui_open: bool,
    }

    struct Player {
        pub game_type: GameType,
        pub previous_game_type: GameType,
        pub score: i64,
        pub dimension: String,
        pub selected_item_slot: u32,
        pub selected_item: Item,
        pub spawn_dimension: Option<String>,
        pub spawn_x: i64,
        pub spawn_y: i64,
        pub spawn_z: i64,
        pub spawn_forced: Option<bool>,
        pub sleep_timer: u16,
        pub food_exhaustion_level: f32,
        pub food_saturation_level: f32,
        pub food_tick_timer: u32,
        pub xp_level: u32,
        pub xp_p: f32,
        pub xp_total: i32,
        pub xp_seed: i32,
        pub inventory: Vec<Item>,
        pub ender_items: Vec<Item>,
        pub abilities: Abilities,
        pub entered_nether_position: Option<(f64, f64, f64)>,
        pub root_vehicle: Option<([u32; 4], Entity)>,
        pub shoulder_entity_left: Option<Entity>,
        pub shoulder_entity_right: Option<Entity>,
        pub seen_credits: bool,
        pub recipe_book: RecipeBook,
    }
}

/// Returns this many players.
pub(crate) fn generate(players: usize) -> Players {
    let random = &mut Random::new(3);
    Players {
        players: (0..players).map(|_| player(random)).collect(),
    }
}

const DIMENSIONS: [&str; 3] = ["overworld", "nether", "end"];

fn player(random: &mut Random) -> Player {
    Player {
        game_type: game_type(random),
        previous_game_type: game_type(random),
        score: random.bits() as i64,
        dimension: random.text(&DIMENSIONS),
        selected_item_slot: random.bits() as u32,
        selected_item: item(random),
        spawn_dimension: random.maybe(|random| random.text(&DIMENSIONS)),
        spawn_x: random.bits() as i64,
        spawn_y: random.bits() as i64,
        spawn_z: random.bits() as i64,
        spawn_forced: random.maybe(Random::bool),
        sleep_timer: random.bits() as u16,
        food_exhaustion_level: random.f32(),
        food_saturation_level: random.f32(),
        food_tick_timer: random.bits() as u32,
        xp_level: random.bits() as u32,
        xp_p: random.f32(),
        xp_total: random.bits() as i32,
        xp_seed: random.bits() as i32,
        inventory: random.list(40, item),
        ender_items: random.list(27, item),
        abilities: Abilities {
            walk_speed: random.f32(),
            fly_speed: random.f32(),
            may_fly: random.bool(),
            flying: random.bool(),
            invulnerable: random.bool(),
            may_build: random.bool(),
            instabuild: random.bool(),
        },
        entered_nether_position: random.maybe(position),
        root_vehicle: random.maybe(|random| (uuid(random), entity(random))),
        shoulder_entity_left: random.maybe(entity),
        shoulder_entity_right: random.maybe(entity),
        seen_credits: random.bool(),
        recipe_book: RecipeBook {
            recipes: random.list(30, recipe),
            to_be_displayed: random.list(10, recipe),
            is_filtering_craftable: random.bool(),
            is_gui_open: random.bool(),
            is_furnace_filtering_craftable: random.bool(),
            is_furnace_gui_open: random.bool(),
            is_blasting_furnace_filtering_craftable: random.bool(),
            is_blasting_furnace_gui_open: random.bool(),
            is_smoker_filtering_craftable: random.bool(),
            is_smoker_gui_open: random.bool(),
        },
    }
}

fn game_type(random: &mut Random) -> GameType {
    random.one(&[
        GameType::Survival,
        GameType::Creative,
        GameType::Adventure,
        GameType::Spectator,
    ])
}

fn item(random: &mut Random) -> Item {
    let ids = [
        "dirt", "stone", "ladder", "sand", "gravel", "bucket", "helmet", "bread",
    ];
    Item {
        count: random.bits() as i8,
        slot: random.bits() as u8,
        id: random.text(&ids),
    }
}

fn recipe(random: &mut Random) -> String {
    let recipes = [
        "ladder",
        "torch",
        "boat",
        "chest",
        "furnace",
        "shears",
        "arrow",
        "stone bricks",
    ];
    random.text(&recipes)
}

fn entity(random: &mut Random) -> Entity {
    let ids = [
        "cow", "sheep", "pig", "wolf", "spider", "horse", "parrot", "bee",
    ];
    let names = [
        "rainbow", "duchess", "walter", "jenny", "molly", "chicken", "pixie", "edgar",
    ];
    Entity {
        id: random.text(&ids),
        pos: position(random),
        motion: position(random),
        rotation: (random.f32(), random.f32()),
        fall_distance: random.f32(),
        fire: random.bits() as u16,
        air: random.bits() as u16,
        on_ground: random.bool(),
        no_gravity: random.bool(),
        invulnerable: random.bool(),
        portal_cooldown: random.bits() as i32,
        uuid: uuid(random),
        custom_name: random.maybe(|random| random.text(&names)),
        custom_name_visible: random.bool(),
        silent: random.bool(),
        glowing: random.bool(),
    }
}

fn position(random: &mut Random) -> (f64, f64, f64) {
    (random.f64(), random.f64(), random.f64())
}

fn uuid(random: &mut Random) -> [u32; 4] {
    std::array::from_fn(|_| random.bits() as u32)
}
