//! Phases of routes and of spans.

#![cfg(target_os = "linux")]

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::routing::get;
use heapglass_profile::profile::{Frames, Measure};
use heapglass_profile::table::{By, rows};
use heapglass_profile::{OpenOptions, open};
use tower_service::Service;
use tracing_subscriber::layer::SubscriberExt;
use tracking_alloc::{PhaseLayer, Recorder, SpanPhases, TrackingAlloc};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

const BLOCK: usize = 10_000;

fn allocate(blocks: usize) {
    for _ in 0..blocks {
        drop(black_box(Vec::<u8>::with_capacity(BLOCK)));
    }
}

/// Is ready at the second poll.
#[derive(Default)]
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return output;
        }
    }
}

async fn user() {
    allocate(1);
    Later::default().await;
    // Another request or span may have run on this thread in between.
    allocate(2);
}

#[test]
fn routes_and_spans_are_phases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("phases.hg");
    let recorder = Recorder::start(&path).unwrap();

    let phases = PhaseLayer::new(|request: &Request| {
        let route = request.extensions().get::<MatchedPath>();
        route.map(MatchedPath::as_str)
    });
    let routes = Router::new()
        .route("/users/{id}", get(user))
        .route("/status", get(async || allocate(4)))
        .route_layer(phases);
    for path in ["/users/1", "/users/2", "/users/3", "/status", "/nothing"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = block_on(routes.clone().call(request)).unwrap();
        assert_eq!(response.status().is_success(), path != "/nothing");
    }

    let subscriber = tracing_subscriber::registry().with(SpanPhases::default());
    tracing::subscriber::with_default(subscriber, || {
        let outer = tracing::info_span!("outer", id = 7);
        let entered = outer.enter();
        allocate(8);
        tracing::info_span!("inner").in_scope(|| allocate(16));
        allocate(32);
        drop(entered);
        allocate(64);
        // Out of order, and on another thread.
        let (first, second) = (tracing::info_span!("first"), tracing::info_span!("second"));
        let entered = (first.enter(), second.enter());
        drop(entered.0);
        allocate(128);
        drop(entered.1);
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        thread::scope(|scope| {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || outer.in_scope(|| allocate(256)));
            });
        });
    });
    recorder.finish().unwrap();

    let profile = open(&path, &OpenOptions::default(), &|_| ()).unwrap();
    let rows = rows(&profile, By::Phase, Measure::Total, Frames::All);
    let blocks = |phase: &str| {
        let row = rows.iter().find(|row| row.key == phase);
        let bytes = row.map_or(0, |row| row.figures.total_bytes as usize);
        bytes / BLOCK
    };
    let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(blocks("/users/{id}"), 9, "{keys:?}");
    assert_eq!(blocks("/status"), 4);
    assert_eq!(blocks("outer"), 8 + 32 + 256, "{keys:?}");
    assert_eq!(blocks("outer > inner"), 16, "{keys:?}");
    assert_eq!(blocks("first > second"), 128, "{keys:?}");
    assert!(!keys.contains(&"/nothing") && !keys.contains(&"/users/1"));
}
