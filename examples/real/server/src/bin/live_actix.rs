//! A service of actix with its own profiles (docs/src/services.md shows this code).

use actix_web::{App, HttpResponse, HttpServer, web};
use tracking_alloc::pprof::Profile;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

async fn pprof() -> HttpResponse {
    match web::block(tracking_alloc::pprof).await {
        Ok(Ok(profile)) => HttpResponse::Ok()
            .content_type(Profile::CONTENT_TYPE)
            .body(profile.bytes),
        Ok(Err(error)) => HttpResponse::ServiceUnavailable().body(error.to_string()),
        Err(error) => HttpResponse::InternalServerError().body(error.to_string()),
    }
}

fn main() -> std::io::Result<()> {
    let app = || App::new().route("/debug/pprof/allocs", web::get().to(pprof));
    let server = HttpServer::new(app).bind("127.0.0.1:3000")?;
    actix_web::rt::System::new().block_on(server.run())
}
