//! `server [REQUESTS]`: receives orders as JSON from its own clients, answers them, and exits.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

const CLIENTS: u64 = 4;

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Order {
    customer: String,
    notes: Option<String>,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Line {
    article: String,
    pieces: u32,
    price: f64,
}

#[derive(Debug, Serialize)]
struct Receipt {
    number: u64,
    customer: String,
    total: f64,
}

/// Orders by number.
type Orders = Arc<Mutex<HashMap<u64, Order>>>;

async fn take(State(orders): State<Orders>, Json(order): Json<Order>) -> Json<Receipt> {
    let total = order
        .lines
        .iter()
        .map(|line| line.price * f64::from(line.pieces))
        .sum();
    let customer = order.customer.clone();
    let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let number = orders.len() as u64;
    orders.insert(number, order);
    Json(Receipt {
        number,
        customer,
        total,
    })
}

async fn show(
    State(orders): State<Orders>,
    Path(number): Path<u64>,
) -> Result<Json<Order>, StatusCode> {
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders
        .get(&number)
        .cloned()
        .map(Json)
        .ok_or(StatusCode::NOT_FOUND)
}

fn main() -> Result<(), Box<dyn Error>> {
    let requests = match std::env::args().nth(1) {
        Some(word) => word.parse()?,
        None => 20_000,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .build()?;
    runtime.block_on(serve(requests))
}

async fn serve(requests: u64) -> Result<(), Box<dyn Error>> {
    let orders = Orders::default();
    let app = Router::new()
        .route("/orders", post(take))
        .route("/orders/{number}", get(show))
        .with_state(orders.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let share = requests / CLIENTS + u64::from(client < requests % CLIENTS);
            tokio::task::spawn_blocking(move || ask(address, client, share))
        })
        .collect();
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let mut answered = 0;
    for client in clients {
        answered += client.await?.map_err(|error| error.to_string())?;
    }
    server.abort();
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{answered} requests answered, {} orders", orders.len());
    Ok(())
}

/// Sends orders and asks for every fourth one again, over one connection; returns their number.
fn ask(address: SocketAddr, client: u64, requests: u64) -> std::io::Result<u64> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    let (mut body, mut request, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..requests {
        request.clear();
        if number % 4 == 3 {
            write!(
                request,
                "GET /orders/{} HTTP/1.1\r\nhost: localhost\r\n\r\n",
                number / 2
            )?;
        } else {
            body.clear();
            write!(
                body,
                "{{\"customer\":\"customer {client}-{number}\",\"notes\":null,\"lines\":["
            )?;
            for line in 0..=number % 5 {
                let comma = if line > 0 { "," } else { "" };
                write!(
                    body,
                    "{comma}{{\"article\":\"article {line}\",\"pieces\":{},\"price\":9.5}}",
                    line + 1
                )?;
            }
            write!(body, "]}}")?;
            write!(
                request,
                "POST /orders HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            )?;
            request.extend_from_slice(&body);
        }
        writer.write_all(&request)?;
        read_answer(&mut reader, &mut answer)?;
    }
    Ok(requests)
}

/// Reads one answer: its head, then as many bytes as the head announces.
fn read_answer(reader: &mut impl BufRead, answer: &mut Vec<u8>) -> std::io::Result<()> {
    let mut length = 0;
    loop {
        answer.clear();
        if reader.read_until(b'\n', answer)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = answer.trim_ascii();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix(b"content-length: ") {
            length = std::str::from_utf8(value)
                .ok()
                .and_then(|value| value.parse().ok())
                .unwrap_or(0);
        }
    }
    answer.clear();
    reader.take(length).read_to_end(answer)?;
    Ok(())
}
