//! Idle web sockets: each connection said hello once, and keeps the read buffer of the library.

use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Session {
    name: String,
    seen: u64,
}
async fn serve(stream: DuplexStream) -> u64 {
    let mut ws = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let mut session = Session {
        name: String::new(),
        seen: 0,
    };
    while let Some(Ok(m)) = ws.next().await {
        match m {
            Message::Text(t) => {
                session.name = t.to_string();
                session.seen += 1;
                ws.send(Message::text("ok")).await.unwrap()
            }
            Message::Close(_) => break,
            _ => {}
        }
    }
    session.seen + session.name.len() as u64
}
fn frame(text: &str) -> Vec<u8> {
    let mut f = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
    f.extend_from_slice(text.as_bytes());
    f
}
async fn run(n: usize) -> u64 {
    let mut clients = Vec::new();
    let mut tasks = Vec::new();
    for i in 0..n {
        let (mut client, server) = tokio::io::duplex(256);
        tasks.push(tokio::spawn(serve(server)));
        client
            .write_all(&frame(&format!("hello {i}")))
            .await
            .unwrap();
        let mut answer = [0; 4];
        client.read_exact(&mut answer).await.unwrap();
        clients.push(client);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(clients);
    let mut sum = 0;
    for t in tasks {
        sum += t.await.unwrap()
    }
    sum
}
fn main() {
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    println!("{}", rt.block_on(run(1000)));
}
