//! Phases of the routes of a service, as a layer of tower.

use crate::phase::{PhaseCall, PhaseFuture};
use std::fmt;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// A layer of tower that runs each request in a phase, so that figures are by route.
///
/// The name must be that of the route, such as `/users/{id}`, not the path of the request: a
/// recording has a limited number of phases. Requests without a name are in no phase of their own.
///
/// ```
/// use axum::extract::{MatchedPath, Request};
/// # use tracking_alloc::PhaseLayer;
///
/// let phases = PhaseLayer::new(|request: &Request| {
///     request.extensions().get::<MatchedPath>().map(MatchedPath::as_str)
/// });
/// let app: axum::Router = axum::Router::new()
///     .route("/users/{id}", axum::routing::get(|| async { "a user" }))
///     .route_layer(phases);
/// ```
#[derive(Clone, Copy)]
pub struct PhaseLayer<F> {
    name: F,
}

impl<F> PhaseLayer<F> {
    /// Creates a layer that takes the name of the phase from the request.
    pub fn new<R>(name: F) -> Self
    where
        F: Fn(&R) -> Option<&str>,
    {
        PhaseLayer { name }
    }
}

impl<F> fmt::Debug for PhaseLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhaseLayer").finish_non_exhaustive()
    }
}

impl<S, F: Clone> Layer<S> for PhaseLayer<F> {
    type Service = PhaseService<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        let name = self.name.clone();
        PhaseService { inner, name }
    }
}

/// The service of a [`PhaseLayer`].
#[derive(Clone, Copy)]
pub struct PhaseService<S, F> {
    inner: S,
    name: F,
}

impl<S: fmt::Debug, F> fmt::Debug for PhaseService<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhaseService")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<S, F, R> Service<R> for PhaseService<S, F>
where
    S: Service<R>,
    F: Fn(&R) -> Option<&str>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = PhaseFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let phase = PhaseCall::new((self.name)(&request));
        phase.call(|| self.inner.call(request))
    }
}
