//! 1,000 updates that the server of a ship game sends, as in the public benchmark: many small
//! lists.

use super::data;
use crate::random::Random;

data! {
    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Updates {
        pub updates: Vec<Update>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Update {
        pub contacts: Vec<Contact>,
        pub score: u32,
        pub world_radius: f32,
        pub terrain_updates: Vec<TerrainUpdate>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Contact {
        pub damage: u8,
        pub entity_id: u32,
        pub entity_type: Option<EntityType>,
        pub guidance: Guidance,
        pub player_id: Option<u16>,
        pub reloads: Vec<bool>,
        pub transform: Transform,
        pub turret_angles: Vec<u16>,
    }

    #[derive(Copy, miniserde::Serialize, miniserde::Deserialize)]
    #[repr(u8)]
    enum EntityType {
        ArleighBurke,
        Bismarck,
        Clemenceau,
        Fletcher,
        G5,
        Iowa,
        Kolkata,
        Osa,
        Yasen,
        Zubr,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Guidance {
        pub angle: u16,
        pub submerge: bool,
        pub velocity: i16,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Transform {
        pub altitude: i8,
        pub angle: u16,
        pub position: (f32, f32),
        pub velocity: i16,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct TerrainUpdate {
        pub chunk_id: (i8, i8),
        pub data: Vec<u8>,
    }
}

/// The ships: how many of a thousand there are, and the numbers of turrets and weapons of each.
const SHIPS: [(EntityType, usize, usize, usize); 10] = [
    (EntityType::ArleighBurke, 48, 1, 20),
    (EntityType::Bismarck, 12, 4, 10),
    (EntityType::Clemenceau, 22, 4, 16),
    (EntityType::Fletcher, 32, 4, 18),
    (EntityType::G5, 293, 0, 2),
    (EntityType::Iowa, 35, 3, 28),
    (EntityType::Kolkata, 18, 1, 15),
    (EntityType::Osa, 162, 2, 6),
    (EntityType::Yasen, 90, 0, 14),
    (EntityType::Zubr, 288, 3, 11),
];

/// Returns this many updates.
pub(crate) fn generate(updates: usize) -> Updates {
    let random = &mut Random::new(4);
    Updates {
        updates: (0..updates).map(|_| update(random)).collect(),
    }
}

fn update(random: &mut Random) -> Update {
    Update {
        contacts: (0..20 + random.below(20))
            .map(|_| contact(random))
            .collect(),
        score: random.below(2_000) as u32,
        world_radius: 2_000.0 + 500.0 * random.f32(),
        terrain_updates: (0..3 + random.below(7)).map(|_| terrain(random)).collect(),
    }
}

fn contact(random: &mut Random) -> Contact {
    let mut share = random.below(1_000);
    let ship = SHIPS.iter().find(|ship| {
        let found = share < ship.1;
        share = share.saturating_sub(ship.1);
        found
    });
    // A contact that is only seen on the radar has no type, and neither weapons nor turrets.
    let seen = random.below(10) < 7;
    let ship = ship.filter(|_| seen);
    let (weapons, turrets) = ship.map_or((0, 0), |ship| (ship.3, ship.2));
    Contact {
        damage: random.bits() as u8,
        entity_id: random.bits() as u32,
        entity_type: ship.map(|ship| ship.0),
        guidance: Guidance {
            angle: random.bits() as u16,
            submerge: random.bool(),
            velocity: random.bits() as i16,
        },
        player_id: if seen {
            Some(random.below(400) as u16)
        } else {
            None
        },
        reloads: (0..weapons).map(|_| random.bool()).collect(),
        transform: Transform {
            altitude: random.bits() as i8,
            angle: random.bits() as u16,
            position: (2_000.0 * random.f32(), 2_000.0 * random.f32()),
            velocity: random.bits() as i16,
        },
        turret_angles: (0..turrets).map(|_| random.bits() as u16).collect(),
    }
}

fn terrain(random: &mut Random) -> TerrainUpdate {
    // Few chunks are new and sent whole.
    let bytes = if random.below(50) == 0 {
        900 + random.below(200)
    } else {
        3 + random.below(6)
    };
    TerrainUpdate {
        chunk_id: (random.below(4) as i8 - 2, random.below(4) as i8 - 2),
        data: (0..bytes).map(|_| random.bits() as u8).collect(),
    }
}
