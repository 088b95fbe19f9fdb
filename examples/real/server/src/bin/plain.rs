//! An axum server of JSON orders that knows nothing of heapglass, to attach to: says its address,
//! and answers until its input ends.

use axum::extract::Path;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use std::error::Error;
use std::io::Read;

#[derive(Serialize)]
struct Order {
    number: u64,
    customer: String,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    article: String,
    price: f64,
}

async fn show(Path(number): Path<u64>) -> Json<Order> {
    let lines = (0..100 + number % 100).map(|line| Line {
        article: format!("article {line} of {number}"),
        price: (line * number) as f64 / 8.0,
    });
    Json(Order {
        number,
        customer: format!("customer {}", number % 97),
        lines: lines.collect(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .build()?;
    runtime.spawn(async {
        let app = Router::new().route("/orders/{number}", get(show));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}/", listener.local_addr()?);
        axum::serve(listener, app).await
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
