//! The service of the guide (docs/src/leak.md shows this code). It never forgets a login.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Session {
    user: String,
    visits: Vec<u64>,
}

type Sessions = Arc<Mutex<HashMap<usize, Session>>>;

async fn login(State(sessions): State<Sessions>, Path(user): Path<String>) -> String {
    let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    let visits = Vec::with_capacity(16);
    let number = sessions.len();
    sessions.insert(number, Session { user, visits });
    format!("session {number}\n")
}

async fn visit(State(sessions): State<Sessions>, Path(number): Path<usize>) -> String {
    let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(session) = sessions.get_mut(&number) else {
        return "log in first\n".to_owned();
    };
    session.visits.push(session.visits.len() as u64);
    format!("{}: visit {}\n", session.user, session.visits.len())
}

/// Runs a request in a phase that has the name of its route.
async fn in_phase(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let name = route.map_or("no route", MatchedPath::as_str).to_owned();
    tracking_alloc::phase_async(&name, next.run(request)).await
}

async fn serve() -> std::io::Result<()> {
    let app = Router::new()
        .route("/login/{user}", post(login))
        .route("/visit/{number}", get(visit))
        .layer(from_fn(in_phase))
        .with_state(Sessions::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, app).await
}

fn main() -> std::io::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(serve())
}
