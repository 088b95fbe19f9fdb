//! A service of axum with its own profiles (docs/src/services.md shows this code).

use std::sync::Mutex;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tracking_alloc::PhaseLayer;
use tracking_alloc::pprof::Profile;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Keeps one KiB of each request.
async fn keep() -> &'static str {
    KEPT.lock().unwrap().push(vec![1; 1024]);
    "kept\n"
}

/// Answers with a document of JSON, parsed and written again.
async fn echo() -> String {
    let text = format!(
        "[{}]",
        vec!["{\"id\": 1, \"name\": \"Ada\"}"; 200].join(",")
    );
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value.to_string()
}

async fn pprof() -> Response {
    match tokio::task::spawn_blocking(tracking_alloc::pprof).await {
        Ok(Ok(profile)) => ([(CONTENT_TYPE, Profile::CONTENT_TYPE)], profile.bytes).into_response(),
        Ok(Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn router() -> Router {
    let phases = PhaseLayer::new(|request: &Request| {
        request
            .extensions()
            .get::<MatchedPath>()
            .map(MatchedPath::as_str)
    });
    Router::new()
        .route("/keep", get(keep))
        .route("/echo", get(echo))
        .route_layer(phases)
        .route("/debug/pprof/allocs", get(pprof))
        .route("/debug/pprof/heap", get(pprof))
}

async fn serve(address: &str) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    axum::serve(listener, router()).await
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:3000");
    tokio::runtime::Runtime::new()?.block_on(serve(address))
}
