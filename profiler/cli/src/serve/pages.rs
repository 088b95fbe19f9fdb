//! Finds the answer to the path of a request.

use std::ffi::OsStr;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use heapglass_profiler::export::Since;
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{Measure, State};
use heapglass_profiler::units::{Bytes, printable};
use hyper::{Request, StatusCode};
use tokio::task::spawn_blocking;
use tracking_alloc_recording::Writer;

use super::answer::Answer;
use super::paths::{self, Page, encode_name};
use super::recordings::{Document, LISTED, Listed, Place, Refusal, fresh};
use super::{SharedSite, Site};

/// Answers a request.
pub(super) async fn answer<B>(site: &SharedSite, request: &Request<B>) -> Answer {
    if let Some(refused) = site.access.refusal(request) {
        return refused;
    }
    let Some((name, page)) = paths::split(request.uri().path()) else {
        return Answer::refusal(StatusCode::NOT_FOUND, "there is no such page; see /");
    };
    let name: Option<Arc<OsStr>> = name.map(Arc::from);
    let window = match paths::window(request.uri().query()) {
        Ok(window) => window,
        Err(why) => return Answer::refusal(StatusCode::BAD_REQUEST, why),
    };
    // What a viewer shows first is that of Go's pages.
    let (since, measure) = match page {
        Page::Allocs => (Since::Change, Measure::Total),
        Page::Heap => (Since::Change, Measure::Live),
        Page::DeltaHeap if window.is_none() => {
            return Answer::refusal(
                StatusCode::BAD_REQUEST,
                "delta_heap needs the length of its window: add ?seconds=10",
            );
        }
        Page::DeltaHeap => (Since::Allocations, Measure::Total),
        Page::Index | Page::Flamegraph | Page::Metrics => {
            return on_thread(site, move |site| whole(site, name.as_deref(), page)).await;
        }
    };
    let Some(window) = window else {
        return on_thread(site, move |site| whole(site, name.as_deref(), page)).await;
    };
    let of = name.clone();
    let begun = spawn_blocking({
        let site = Arc::clone(site);
        move || site.recordings.begin(of.as_deref())
    });
    let begin = match begun.await {
        Ok(Ok(begin)) => begin,
        Ok(Err(refusal)) => return refuse(&refusal),
        Err(_) => return failed(),
    };
    let end = begin.began() + window;
    tokio::time::sleep_until(end.into()).await;
    let document = Document::Window(begin, since, measure);
    on_thread(site, move |site| {
        document_page(site, name.as_deref(), page, end, &document)
    })
    .await
}

/// Makes an answer on a thread that may wait.
async fn on_thread(
    site: &SharedSite,
    make: impl FnOnce(&Site) -> Answer + Send + 'static,
) -> Answer {
    let site = Arc::clone(site);
    let made = spawn_blocking(move || make(&site));
    made.await.unwrap_or_else(|_| failed())
}

/// Returns the answer to a request that ended in a panic, which is printed on standard error.
fn failed() -> Answer {
    let why = "the recording could not be read because of an error in heapglass";
    Answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, why)
}

fn refuse(refusal: &Refusal) -> Answer {
    let (status, why) = match refusal {
        Refusal::NotFound(why) => (StatusCode::NOT_FOUND, why),
        Refusal::NothingRecords(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
        Refusal::Unreadable(why) => (StatusCode::INTERNAL_SERVER_ERROR, why),
    };
    Answer::refusal(status, printable(why))
}

/// Answers with a page about the whole recording.
fn whole(site: &Site, name: Option<&OsStr>, page: Page) -> Answer {
    let document = match page {
        Page::Index => return index(site, name),
        Page::Allocs => Document::Pprof(Measure::Total),
        Page::Heap | Page::DeltaHeap => Document::Pprof(Measure::Live),
        Page::Flamegraph => Document::Flamegraph,
        Page::Metrics => Document::Metrics,
    };
    document_page(site, name, page, fresh(), &document)
}

fn document_page(
    site: &Site,
    name: Option<&OsStr>,
    page: Page,
    not_before: Instant,
    document: &Document,
) -> Answer {
    let made = site.recordings.document(name, not_before, document);
    match (made, page) {
        (Err(refusal), _) => refuse(&refusal),
        (Ok(bytes), Page::Flamegraph) => Answer::svg(bytes),
        (Ok(bytes), Page::Metrics) => Answer::metrics(bytes),
        (Ok(bytes), Page::Allocs) => Answer::profile("allocs", bytes),
        (Ok(bytes), Page::DeltaHeap) => Answer::profile("delta_heap", bytes),
        (Ok(bytes), Page::Heap | Page::Index) => Answer::profile("heap", bytes),
    }
}

/// Answers with the index of a program, or of a folder.
fn index(site: &Site, name: Option<&OsStr>) -> Answer {
    let page = match (site.recordings.place(), name) {
        (Place::Folder(_), None) => folder_index(site),
        _ => program_index(site, name),
    };
    page.map_or_else(|refusal| refuse(&refusal), Answer::html)
}

fn program_index(site: &Site, name: Option<&OsStr>) -> Result<String, Refusal> {
    let (title, state) = site.recordings.with_profile(name, fresh(), |profile, _| {
        let process = profile.process();
        let totals = profile.totals();
        let (live, peak) = (Bytes(totals.live_bytes), Bytes(totals.peak_bytes));
        let now = if process.state == State::Running {
            "now"
        } else {
            "at the end"
        };
        let title = format!("{}, process {}", process.program, process.pid);
        let peak = match process.merged {
            Some(_) => format!("sum of peaks {peak}"),
            None => format!("{peak} at the peak"),
        };
        (title, format!("{live} live {now}, {peak}"))
    })?;
    let base = match name {
        Some(name) => format!("/p/{}/", encode_name(name)),
        None => "/".to_owned(),
    };
    let of = |page: Page| format!("{base}{}", page.path());
    let links = [
        (
            of(Page::Flamegraph),
            "flamegraph of live bytes while the program runs, and of the peak afterwards",
        ),
        (of(Page::Heap), "pprof, live bytes first"),
        (of(Page::Allocs), "pprof, allocated bytes first"),
        (
            format!("{}?seconds=10", of(Page::Heap)),
            "pprof of the next 10 seconds",
        ),
        (
            format!("{}?seconds=10", of(Page::DeltaHeap)),
            "allocations of the next 10 seconds, and live blocks",
        ),
        (of(Page::Metrics), "metrics for Prometheus"),
    ];
    let mut list = String::new();
    for (path, what) in links {
        let path = escape(&path);
        let _ = writeln!(list, "<li><a href=\"{path}\">{path}</a> {what}</li>");
    }
    let command = format!("go tool pprof http://{}{}", site.address, of(Page::Heap));
    let body = format!(
        "<p>{}</p>\n<ul>\n{list}</ul>\n<pre>{}</pre>\n",
        escape(&state),
        escape(&command)
    );
    Ok(html(&title, &body))
}

fn folder_index(site: &Site) -> Result<String, Refusal> {
    let (listed, left_out) = site.recordings.list()?;
    let mut list = String::new();
    for Listed { name, header } in &listed {
        let path = escape(&format!("/p/{}/", encode_name(name)));
        let name = name.to_string_lossy();
        let state = match Writer::of(header) {
            Writer::Running => "running",
            Writer::Finished => "finished",
            Writer::Copied => "packed",
            Writer::Ended | Writer::OtherBoot => "ended",
            Writer::Unknown => "unknown",
        };
        let name = escape(&name);
        let _ = writeln!(list, "<li><a href=\"{path}\">{name}</a> {state}</li>");
    }
    let more = match (listed.len(), left_out) {
        (0, _) => "<p>There are no recordings in this folder.</p>\n".to_owned(),
        (_, 0) => String::new(),
        (_, left_out) => {
            format!("<p>The newest {LISTED}; {left_out} more are in the folder.</p>\n")
        }
    };
    Ok(html("Recordings", &format!("<ul>\n{list}</ul>\n{more}")))
}

fn html(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title} - heapglass</title>\n\
         <style>body {{ font: 16px sans-serif; margin: 2em }}</style>\n<h1>{title}</h1>\n{body}</html>\n"
    )
}

/// Escapes text for HTML, and control characters.
fn escape(text: &str) -> String {
    flamegraph::escape(&printable(text)).into_owned()
}
