//! A service of hyper with its own profiles (docs/src/services.md shows this code).

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tracking_alloc::pprof::Profile;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() != "/debug/pprof/allocs" {
        return Ok(Response::new("hello\n".into()));
    }
    let made = tokio::task::spawn_blocking(tracking_alloc::pprof).await;
    let Ok(Ok(profile)) = made else {
        let mut response = Response::new("nothing records\n".into());
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return Ok(response);
    };
    let mut response = Response::new(profile.bytes.into());
    let content_type = HeaderValue::from_static(Profile::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(response)
}

async fn serve() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            let served = connection.serve_connection(TokioIo::new(stream), service_fn(answer));
            served.await
        });
    }
}

fn main() -> std::io::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(serve())
}
