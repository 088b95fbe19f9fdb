//! The data sets as messages of Protocol Buffers: the types that prost's generator makes from the
//! schemas of the data. Bytes and short numbers are 32 bits long, and each nested message is an
//! `Option`.

use crate::data::{airlines, geo, log, mesh, mk48, requests, savedata};

/// Declares a message, and how it is filled from the data.
macro_rules! message {
    ($name:ident from |$from:ident: &$source:ty| {
        $([$($attribute:tt)*] $field:ident: $type:ty = $value:expr;)*
    }) => {
        #[derive(Clone, PartialEq, prost::Message)]
        pub(crate) struct $name {
            $(#[prost($($attribute)*)] $field: $type,)*
        }

        impl From<&$source> for $name {
            fn from($from: &$source) -> Self {
                $name { $($field: $value,)* }
            }
        }
    };
}

fn some<'a, S, M: From<&'a S>>(source: &'a S) -> Option<M> {
    Some(source.into())
}

fn all<'a, S, M: From<&'a S>>(sources: &'a [S]) -> Vec<M> {
    sources.iter().map(Into::into).collect()
}

message!(Logs from |from: &log::Logs| {
    [message, repeated, tag = "1"] logs: Vec<Log> = all(&from.logs);
});
message!(Log from |from: &log::Log| {
    [message, optional, tag = "1"] address: Option<Address> = some(&from.address);
    [string, tag = "2"] identity: String = from.identity.clone();
    [string, tag = "3"] userid: String = from.userid.clone();
    [string, tag = "4"] date: String = from.date.clone();
    [string, tag = "5"] request: String = from.request.clone();
    [uint32, tag = "6"] code: u32 = from.code.into();
    [uint64, tag = "7"] size: u64 = from.size;
});
message!(Address from |from: &log::Address| {
    [uint32, tag = "1"] x0: u32 = from.x0.into();
    [uint32, tag = "2"] x1: u32 = from.x1.into();
    [uint32, tag = "3"] x2: u32 = from.x2.into();
    [uint32, tag = "4"] x3: u32 = from.x3.into();
});

message!(Mesh from |from: &mesh::Mesh| {
    [message, repeated, tag = "1"] triangles: Vec<Triangle> = all(&from.triangles);
});
message!(Triangle from |from: &mesh::Triangle| {
    [message, optional, tag = "1"] v0: Option<Vector3> = some(&from.v0);
    [message, optional, tag = "2"] v1: Option<Vector3> = some(&from.v1);
    [message, optional, tag = "3"] v2: Option<Vector3> = some(&from.v2);
    [message, optional, tag = "4"] normal: Option<Vector3> = some(&from.normal);
});
message!(Vector3 from |from: &mesh::Vector3| {
    [float, tag = "1"] x: f32 = from.x;
    [float, tag = "2"] y: f32 = from.y;
    [float, tag = "3"] z: f32 = from.z;
});

message!(Players from |from: &savedata::Players| {
    [message, repeated, tag = "1"] players: Vec<Player> = all(&from.players);
});
message!(Item from |from: &savedata::Item| {
    [int32, tag = "1"] count: i32 = from.count.into();
    [uint32, tag = "2"] slot: u32 = from.slot.into();
    [string, tag = "3"] id: String = from.id.clone();
});
message!(Abilities from |from: &savedata::Abilities| {
    [float, tag = "1"] walk_speed: f32 = from.walk_speed;
    [float, tag = "2"] fly_speed: f32 = from.fly_speed;
    [bool, tag = "3"] may_fly: bool = from.may_fly;
    [bool, tag = "4"] flying: bool = from.flying;
    [bool, tag = "5"] invulnerable: bool = from.invulnerable;
    [bool, tag = "6"] may_build: bool = from.may_build;
    [bool, tag = "7"] instabuild: bool = from.instabuild;
});
message!(Vector3d from |from: &(f64, f64, f64)| {
    [double, tag = "1"] x: f64 = from.0;
    [double, tag = "2"] y: f64 = from.1;
    [double, tag = "3"] z: f64 = from.2;
});
message!(Vector2f from |from: &(f32, f32)| {
    [float, tag = "1"] x: f32 = from.0;
    [float, tag = "2"] y: f32 = from.1;
});
message!(Uuid from |from: &[u32; 4]| {
    [uint32, tag = "1"] x0: u32 = from[0];
    [uint32, tag = "2"] x1: u32 = from[1];
    [uint32, tag = "3"] x2: u32 = from[2];
    [uint32, tag = "4"] x3: u32 = from[3];
});
message!(Entity from |from: &savedata::Entity| {
    [string, tag = "1"] id: String = from.id.clone();
    [message, optional, tag = "2"] pos: Option<Vector3d> = some(&from.pos);
    [message, optional, tag = "3"] motion: Option<Vector3d> = some(&from.motion);
    [message, optional, tag = "4"] rotation: Option<Vector2f> = some(&from.rotation);
    [float, tag = "5"] fall_distance: f32 = from.fall_distance;
    [uint32, tag = "6"] fire: u32 = from.fire.into();
    [uint32, tag = "7"] air: u32 = from.air.into();
    [bool, tag = "8"] on_ground: bool = from.on_ground;
    [bool, tag = "9"] no_gravity: bool = from.no_gravity;
    [bool, tag = "10"] invulnerable: bool = from.invulnerable;
    [int32, tag = "11"] portal_cooldown: i32 = from.portal_cooldown;
    [message, optional, tag = "12"] uuid: Option<Uuid> = some(&from.uuid);
    [string, optional, tag = "13"] custom_name: Option<String> = from.custom_name.clone();
    [bool, tag = "14"] custom_name_visible: bool = from.custom_name_visible;
    [bool, tag = "15"] silent: bool = from.silent;
    [bool, tag = "16"] glowing: bool = from.glowing;
});
message!(RecipeBook from |from: &savedata::RecipeBook| {
    [string, repeated, tag = "1"] recipes: Vec<String> = from.recipes.clone();
    [string, repeated, tag = "2"] to_be_displayed: Vec<String> = from.to_be_displayed.clone();
    [bool, tag = "3"] is_filtering_craftable: bool = from.is_filtering_craftable;
    [bool, tag = "4"] is_gui_open: bool = from.is_gui_open;
    [bool, tag = "5"] is_furnace_filtering_craftable: bool = from.is_furnace_filtering_craftable;
    [bool, tag = "6"] is_furnace_gui_open: bool = from.is_furnace_gui_open;
    [bool, tag = "7"] is_blasting_furnace_filtering_craftable: bool =
        from.is_blasting_furnace_filtering_craftable;
    [bool, tag = "8"] is_blasting_furnace_gui_open: bool = from.is_blasting_furnace_gui_open;
    [bool, tag = "9"] is_smoker_filtering_craftable: bool = from.is_smoker_filtering_craftable;
    [bool, tag = "10"] is_smoker_gui_open: bool = from.is_smoker_gui_open;
});
message!(Vehicle from |from: &([u32; 4], savedata::Entity)| {
    [message, optional, tag = "1"] uuid: Option<Uuid> = some(&from.0);
    [message, optional, tag = "2"] entity: Option<Entity> = some(&from.1);
});
message!(Player from |from: &savedata::Player| {
    [int32, tag = "1"] game_type: i32 = from.game_type as i32;
    [int32, tag = "2"] previous_game_type: i32 = from.previous_game_type as i32;
    [int64, tag = "3"] score: i64 = from.score;
    [string, tag = "4"] dimension: String = from.dimension.clone();
    [uint32, tag = "5"] selected_item_slot: u32 = from.selected_item_slot;
    [message, optional, tag = "6"] selected_item: Option<Item> = some(&from.selected_item);
    [string, optional, tag = "7"] spawn_dimension: Option<String> = from.spawn_dimension.clone();
    [int64, tag = "8"] spawn_x: i64 = from.spawn_x;
    [int64, tag = "9"] spawn_y: i64 = from.spawn_y;
    [int64, tag = "10"] spawn_z: i64 = from.spawn_z;
    [bool, optional, tag = "11"] spawn_forced: Option<bool> = from.spawn_forced;
    [uint32, tag = "12"] sleep_timer: u32 = from.sleep_timer.into();
    [float, tag = "13"] food_exhaustion_level: f32 = from.food_exhaustion_level;
    [float, tag = "14"] food_saturation_level: f32 = from.food_saturation_level;
    [uint32, tag = "15"] food_tick_timer: u32 = from.food_tick_timer;
    [uint32, tag = "16"] xp_level: u32 = from.xp_level;
    [float, tag = "17"] xp_p: f32 = from.xp_p;
    [int32, tag = "18"] xp_total: i32 = from.xp_total;
    [int32, tag = "19"] xp_seed: i32 = from.xp_seed;
    [message, repeated, tag = "20"] inventory: Vec<Item> = all(&from.inventory);
    [message, repeated, tag = "21"] ender_items: Vec<Item> = all(&from.ender_items);
    [message, optional, tag = "22"] abilities: Option<Abilities> = some(&from.abilities);
    [message, optional, tag = "23"] entered_nether_position: Option<Vector3d> =
        from.entered_nether_position.as_ref().map(Into::into);
    [message, optional, tag = "24"] root_vehicle: Option<Vehicle> =
        from.root_vehicle.as_ref().map(Into::into);
    [message, optional, tag = "25"] shoulder_entity_left: Option<Entity> =
        from.shoulder_entity_left.as_ref().map(Into::into);
    [message, optional, tag = "26"] shoulder_entity_right: Option<Entity> =
        from.shoulder_entity_right.as_ref().map(Into::into);
    [bool, tag = "27"] seen_credits: bool = from.seen_credits;
    [message, optional, tag = "28"] recipe_book: Option<RecipeBook> = some(&from.recipe_book);
});

message!(Updates from |from: &mk48::Updates| {
    [message, repeated, tag = "1"] updates: Vec<Update> = all(&from.updates);
});
message!(Update from |from: &mk48::Update| {
    [message, repeated, tag = "1"] contacts: Vec<Contact> = all(&from.contacts);
    [uint32, tag = "2"] score: u32 = from.score;
    [float, tag = "3"] world_radius: f32 = from.world_radius;
    [message, repeated, tag = "4"] terrain_updates: Vec<TerrainUpdate> = all(&from.terrain_updates);
});
message!(Contact from |from: &mk48::Contact| {
    [uint32, tag = "1"] damage: u32 = from.damage.into();
    [uint32, tag = "2"] entity_id: u32 = from.entity_id;
    [int32, optional, tag = "3"] entity_type: Option<i32> = from.entity_type.map(|of| of as i32);
    [message, optional, tag = "4"] guidance: Option<Guidance> = some(&from.guidance);
    [uint32, optional, tag = "5"] player_id: Option<u32> = from.player_id.map(Into::into);
    [bool, repeated, tag = "6"] reloads: Vec<bool> = from.reloads.clone();
    [message, optional, tag = "7"] transform: Option<Transform> = some(&from.transform);
    [uint32, repeated, tag = "8"] turret_angles: Vec<u32> =
        from.turret_angles.iter().map(|angle| u32::from(*angle)).collect();
});
message!(Guidance from |from: &mk48::Guidance| {
    [uint32, tag = "1"] angle: u32 = from.angle.into();
    [bool, tag = "2"] submerge: bool = from.submerge;
    [int32, tag = "3"] velocity: i32 = from.velocity.into();
});
message!(Transform from |from: &mk48::Transform| {
    [int32, tag = "1"] altitude: i32 = from.altitude.into();
    [uint32, tag = "2"] angle: u32 = from.angle.into();
    [message, optional, tag = "3"] position: Option<Vector2f> = some(&from.position);
    [int32, tag = "4"] velocity: i32 = from.velocity.into();
});
message!(TerrainUpdate from |from: &mk48::TerrainUpdate| {
    [message, optional, tag = "1"] chunk_id: Option<ChunkId> = some(&from.chunk_id);
    [bytes, tag = "2"] data: Vec<u8> = from.data.clone();
});
message!(ChunkId from |from: &(i8, i8)| {
    [int32, tag = "1"] x: i32 = from.0.into();
    [int32, tag = "2"] y: i32 = from.1.into();
});

message!(Features from |from: &geo::Features| {
    [message, repeated, tag = "1"] features: Vec<Feature> = all(&from.features);
});
message!(Feature from |from: &geo::Feature| {
    [uint64, tag = "1"] id: u64 = from.id;
    [message, optional, tag = "2"] properties: Option<Properties> = some(&from.properties);
    [message, optional, tag = "3"] geometry: Option<Geometry> = some(&from.geometry);
});
message!(Properties from |from: &geo::Properties| {
    [string, tag = "1"] name: String = from.name.clone();
    [string, tag = "2"] zone: String = from.zone.clone();
    [uint64, tag = "3"] storeys: u64 = from.storeys;
});
message!(Geometry from |from: &geo::Geometry| {
    [message, repeated, tag = "1"] polygons: Vec<Polygon> = all(&from.coordinates);
});
message!(Polygon from |from: &Vec<Vec<[f64; 3]>>| {
    [message, repeated, tag = "1"] rings: Vec<Ring> = all(from);
});
message!(Ring from |from: &Vec<[f64; 3]>| {
    [message, repeated, tag = "1"] points: Vec<Point> = all(from);
});
message!(Point from |from: &[f64; 3]| {
    [double, tag = "1"] longitude: f64 = from[0];
    [double, tag = "2"] latitude: f64 = from[1];
    [double, tag = "3"] height: f64 = from[2];
});

message!(Lines from |from: &airlines::Lines| {
    [message, repeated, tag = "1"] lines: Vec<Line> = all(&from.lines);
});
message!(Line from |from: &airlines::Line| {
    [message, optional, tag = "1"] airport: Option<Airport> = some(&from.airport);
    [message, optional, tag = "2"] time: Option<Time> = some(&from.time);
    [message, optional, tag = "3"] statistics: Option<Statistics> = some(&from.statistics);
});
message!(Airport from |from: &airlines::Airport| {
    [string, tag = "1"] code: String = from.code.clone();
    [string, tag = "2"] name: String = from.name.clone();
});
message!(Time from |from: &airlines::Time| {
    [string, tag = "1"] label: String = from.label.clone();
    [int64, tag = "2"] month: i64 = from.month;
    [string, tag = "3"] month_name: String = from.month_name.clone();
    [int64, tag = "4"] year: i64 = from.year;
});
message!(Statistics from |from: &airlines::Statistics| {
    [message, optional, tag = "1"] number_of_delays: Option<Delays> = some(&from.number_of_delays);
    [message, optional, tag = "2"] carriers: Option<Carriers> = some(&from.carriers);
    [message, optional, tag = "3"] flights: Option<Flights> = some(&from.flights);
    [message, optional, tag = "4"] minutes_delayed: Option<MinutesDelayed> =
        some(&from.minutes_delayed);
});
message!(Delays from |from: &airlines::Delays| {
    [int64, tag = "1"] carrier: i64 = from.carrier;
    [int64, tag = "2"] late_aircraft: i64 = from.late_aircraft;
    [int64, tag = "3"] national_aviation_system: i64 = from.national_aviation_system;
    [int64, tag = "4"] security: i64 = from.security;
    [int64, tag = "5"] weather: i64 = from.weather;
});
message!(Carriers from |from: &airlines::Carriers| {
    [string, tag = "1"] names: String = from.names.clone();
    [int64, tag = "2"] total: i64 = from.total;
});
message!(Flights from |from: &airlines::Flights| {
    [int64, tag = "1"] cancelled: i64 = from.cancelled;
    [int64, tag = "2"] delayed: i64 = from.delayed;
    [int64, tag = "3"] diverted: i64 = from.diverted;
    [int64, tag = "4"] on_time: i64 = from.on_time;
    [int64, tag = "5"] total: i64 = from.total;
});
message!(MinutesDelayed from |from: &airlines::MinutesDelayed| {
    [int64, tag = "1"] carrier: i64 = from.carrier;
    [int64, tag = "2"] late_aircraft: i64 = from.late_aircraft;
    [int64, tag = "3"] national_aviation_system: i64 = from.national_aviation_system;
    [int64, tag = "4"] security: i64 = from.security;
    [int64, tag = "5"] total: i64 = from.total;
    [int64, tag = "6"] weather: i64 = from.weather;
});

message!(Requests from |from: &requests::Requests| {
    [message, repeated, tag = "1"] requests: Vec<Request> = all(&from.requests);
});
message!(Request from |from: &requests::Request| {
    [int64, tag = "1"] timestamp: i64 = from.timestamp;
    [uint32, tag = "2"] zone_id: u32 = from.zone_id;
    [uint32, tag = "3"] zone_plan: u32 = from.zone_plan.into();
    [message, optional, tag = "4"] http: Option<Http> = some(&from.http);
    [message, optional, tag = "5"] origin: Option<Origin> = some(&from.origin);
    [uint32, tag = "6"] country: u32 = from.country.into();
    [uint32, tag = "7"] cache_status: u32 = from.cache_status.into();
    [string, tag = "8"] server_ip: String = from.server_ip.clone();
    [string, tag = "9"] server_name: String = from.server_name.clone();
    [string, tag = "10"] remote_ip: String = from.remote_ip.clone();
    [uint64, tag = "11"] bytes_dlv: u64 = from.bytes_dlv;
    [string, tag = "12"] ray_id: String = from.ray_id.clone();
});
message!(Http from |from: &requests::Http| {
    [uint32, tag = "1"] protocol: u32 = from.protocol.into();
    [uint32, tag = "2"] status: u32 = from.status;
    [uint32, tag = "3"] host_status: u32 = from.host_status;
    [uint32, tag = "4"] up_status: u32 = from.up_status;
    [uint32, tag = "5"] method: u32 = from.method.into();
    [string, tag = "6"] content_type: String = from.content_type.clone();
    [string, tag = "7"] user_agent: String = from.user_agent.clone();
    [string, tag = "8"] referer: String = from.referer.clone();
    [string, tag = "9"] request_uri: String = from.request_uri.clone();
});
message!(Origin from |from: &requests::Origin| {
    [string, tag = "1"] ip: String = from.ip.clone();
    [uint32, tag = "2"] port: u32 = from.port;
    [string, tag = "3"] hostname: String = from.hostname.clone();
    [uint32, tag = "4"] protocol: u32 = from.protocol.into();
});
