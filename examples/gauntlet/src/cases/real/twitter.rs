//! The part of twitter.json that a timeline shows; the rest is skipped while it is read.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Timeline {
    statuses: Vec<Status>,
}

#[derive(Debug, Deserialize)]
struct Status {
    created_at: String,
    id: u64,
    id_str: String,
    text: String,
    source: String,
    in_reply_to_screen_name: Option<String>,
    user: User,
    retweeted_status: Option<Box<Status>>,
    retweet_count: u32,
    favorite_count: u32,
    lang: String,
}

#[derive(Debug, Deserialize)]
struct User {
    id: u64,
    name: String,
    screen_name: String,
    location: String,
    description: String,
    url: Option<String>,
    followers_count: u32,
    friends_count: u32,
    statuses_count: u32,
    lang: String,
    profile_image_url: String,
}
