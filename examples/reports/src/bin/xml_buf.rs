//! An event reader's buffer is never cleared, so it grows to the size of the whole file.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

use quick_xml::Reader;
use quick_xml::events::Event;
use std::fmt::Write;
use std::io::BufReader;

fn file(n: usize) -> String {
    let mut s = String::from("<feed>");
    for i in 0..n {
        write!(
            s,
            "<item id=\"{i}\"><title>Title of {i}</title><body>{}</body></item>",
            "text ".repeat(40)
        )
        .unwrap()
    }
    s + "</feed>"
}
fn titles(src: impl std::io::Read) -> Vec<String> {
    let mut r = Reader::from_reader(BufReader::new(src));
    let (mut buf, mut out, mut inside) = (Vec::new(), Vec::new(), false);
    loop {
        match r.read_event_into(&mut buf).unwrap() {
            Event::Start(e) => inside = e.name().as_ref() == b"title",
            Event::Text(t) if inside => out.push(t.decode().unwrap().into_owned()),
            Event::End(_) => inside = false,
            Event::Eof => return out,
            _ => {}
        }
    }
}
fn main() {
    let path = std::env::temp_dir().join(format!("feed-{}.xml", std::process::id()));
    std::fs::write(&path, file(60_000)).unwrap();
    let t = titles(std::fs::File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    println!(
        "{} titles, {} bytes",
        t.len(),
        t.iter().map(String::len).sum::<usize>()
    );
}
