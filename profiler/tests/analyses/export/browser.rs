//! Drives the page in Chromium, over its debugging pipe: nothing of a hostile recording runs, and
//! click, search and sort do what they say. Skipped where there is no Chromium.

use heapglass_limits::{Child, Command};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use heapglass_profiler::profile::{Checkpoint, CheckpointKind};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// Names of the browser's command.
const COMMANDS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    requests: u64,
    /// Everything that the page asked for or complained about.
    events: Vec<Value>,
    folder: TempDir,
}

/// Prints why a test cannot run here, in a line that `.ci/run` lists even if the test passes.
fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(io::stderr(), "skipped: {test}: {why}");
}

impl Browser {
    /// Starts a browser; `None` if there is none.
    fn start() -> Option<Browser> {
        let is_there = |command: &&str| {
            let version = Command::new(command).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        };
        let Some(command) = COMMANDS.into_iter().find(is_there) else {
            skipped("Chromium is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args([&input, &output]).status();
        assert!(made.expect("mkfifo").success());
        // The debugging pipe is descriptors 3 and 4.
        let script = format!(
            "exec {command} --headless --no-sandbox --disable-gpu --disable-background-networking \
             --no-first-run --user-data-dir=\"$1/profile\" --window-size=1280,800 \
             --remote-debugging-pipe about:blank 3<\"$1/in\" 4>\"$1/out\""
        );
        let child = Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let to = File::options().write(true).open(&input).expect("a pipe");
        let from = BufReader::new(File::open(&output).expect("a pipe"));
        let mut browser = Browser {
            child,
            to,
            from,
            session: String::new(),
            requests: 0,
            events: Vec::new(),
            folder,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and returns its result.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let mut request = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            request["sessionId"] = self.session.as_str().into();
        }
        let mut request = serde_json::to_vec(&request).expect("JSON");
        request.push(0);
        self.to.write_all(&request).expect("a browser that reads");
        loop {
            let message = self.message();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn message(&mut self) -> Value {
        let mut message = Vec::new();
        self.from
            .read_until(0, &mut message)
            .expect("a browser that answers");
        message.pop();
        serde_json::from_slice(&message).expect("a message")
    }

    /// Opens a page and waits until its script is done.
    fn open(&mut self, page: &str, address: &str) {
        let path = self.folder.path().join("page.html");
        std::fs::write(&path, page).expect("written");
        self.events.clear();
        let url = format!("file://{}{address}", path.display());
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": url }));
        for _ in 0..600 {
            if self.eval("document.documentElement?.dataset.shown ?? ''") != "" {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("the page shows nothing: {:?}", self.complaints());
    }

    /// Evaluates an expression in the page.
    fn eval(&mut self, expression: &str) -> Value {
        let call = json!({ "expression": expression, "returnByValue": true });
        let result = self.call("Runtime.evaluate", call);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
            .to_owned()
    }

    /// Clicks at a place of the window.
    fn click(&mut self, x: f64, y: f64) {
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Clicks in the middle of an element that the script finds.
    fn click_on(&mut self, element: &str) {
        let place = format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        );
        let place = self.eval(&place);
        let [x, y] = [0, 1].map(|at| place[at].as_f64().expect("a place"));
        self.click(x, y);
    }

    /// Returns the left end and the top of the flamegraph, in the window.
    fn corner(&mut self) -> [f64; 2] {
        let place = self.eval(
            "(() => { const r = document.getElementById('canvas').getBoundingClientRect(); \
             return [r.x, r.y]; })()",
        );
        [0, 1].map(|at| place[at].as_f64().expect("a place"))
    }

    fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key.chars().count() == 1 { key } else { "" };
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key, "text": text }),
            );
        }
    }

    /// Errors, violations of the policy, and requests for anything but the page.
    fn complaints(&self) -> Vec<String> {
        let events = self.events.iter().filter(|event| {
            let url = event["params"]["request"]["url"]
                .as_str()
                .unwrap_or_default();
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled" => true,
                "Page.javascriptDialogOpening" | "Page.windowOpen" => true,
                "Network.requestWillBeSent" => !url.contains("/page.html") && url != "about:blank",
                _ => false,
            }
        });
        events.map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nothing_of_a_hostile_recording_runs_in_a_browser() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let profile = html::hostile();
    let side = (html::EVIL, &profile);
    let pages = [
        html::page(&profile, &options(Format::Html)),
        html::comparison(side, side),
    ];
    for page in pages {
        browser.open(&page, "");
        let count = browser.eval("document.querySelectorAll('#views button').length");
        for view in 0..count.as_u64().expect("a number") {
            browser.click_on(&format!(
                "document.querySelectorAll('#views button')[{view}]"
            ));
            let tables = browser.eval("document.getElementById('table').options.length");
            for table in 0..tables.as_u64().unwrap_or(0) {
                browser.eval(&format!(
                    "(() => {{ const t = document.getElementById('table'); \
                     t.selectedIndex = {table}; t.dispatchEvent(new Event('change')); \
                     document.querySelector('tbody tr')?.click(); }})()"
                ));
            }
        }
        browser.open(
            &page,
            "#search=%3Cscript%3E&zoom=2&view=%3Cimg%3E&sort=__proto__",
        );
        assert!(browser.eval("window.owned").is_null());
        assert_eq!(browser.eval("document.scripts.length"), 2);
        assert_eq!(
            browser.eval("document.querySelectorAll('img, iframe, object, a').length"),
            0
        );
        assert!(browser.text("document.title").contains("<img src=x"));
        assert_eq!(browser.complaints(), [] as [String; 0]);
        // The policy holds: what is not the page's own does not run.
        browser.eval(
            "(() => { const s = document.createElement('script'); s.textContent = 'window.owned = 3'; \
             document.body.append(s); })()",
        );
        assert!(browser.eval("window.owned").is_null());
        browser.eval("document.body.append(Object.assign(new Image(), { src: 'https://example.invalid/x' }))");
        browser.eval("0");
        assert!(!browser.complaints().is_empty(), "the policy was violated");
    }
}

#[test]
fn the_page_zooms_searches_sorts_and_filters() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let profile = fixture::real("shop-profiled");
    browser.open(&html::page(&profile, &options(Format::Html)), "");
    let hash = "decodeURIComponent(location.hash)";

    // A click zooms in on the frame under the pointer, and the keyboard zooms out.
    let [left, top] = browser.corner();
    browser.click(left + 20.0, top + 24.0 * 2.0 + 12.0);
    assert_eq!(browser.text(hash), "#zoom=2");
    assert_eq!(
        browser.text("document.getElementById('path').textContent"),
        "shop::main > shop::parse_profiled"
    );
    let details = browser.text("document.getElementById('details').textContent");
    assert!(details.contains("of all"), "{details}");
    browser.press("Escape");
    browser.press("Escape");
    assert_eq!(browser.text(hash), "");

    // The keyboard changes what is shown.
    browser.press("i");
    assert_eq!(browser.text(hash), "#inverted=1");
    browser.press("i");
    browser.press("m");
    assert_eq!(browser.text(hash), "#measure=live_bytes");
    browser.press("M");

    // A search finds frames and says their share.
    browser.press("/");
    browser.type_text("read_to_string");
    let found = browser.text("document.getElementById('found').textContent");
    assert!(
        found.starts_with("1 frame, ") && found.contains(" %, "),
        "{found}"
    );
    let text = browser.text("document.getElementById('search').value");
    assert_eq!(text, "read_to_string");

    // Rows in the order of the report, then by another column.
    browser.click_on("document.querySelectorAll('#views button')[1]");
    let report = json(&profile, Format::Json, &options(Format::Json));
    let first =
        |browser: &mut Browser| browser.text("document.querySelector('tbody tr').innerText");
    let row = first(&mut browser);
    assert!(
        row.contains(report["rows"][0]["what"].as_str().unwrap()),
        "{row}"
    );
    let by_name = "document.querySelector('th button[data-sort=\"what\"]')";
    browser.click_on(by_name);
    let last = first(&mut browser);
    browser.click_on(by_name);
    assert_ne!(first(&mut browser), last);
    assert!(browser.text(hash).contains("sort=what&asc=1"));
    browser.click_on("document.getElementById('filter')");
    browser.type_text("reviews[].user");
    let rows = browser.eval("document.querySelectorAll('tbody tr').length");
    assert_eq!(rows, 1);
    browser.click_on("document.querySelector('tbody tr')");
    let row = browser.text("document.getElementById('row').innerText");
    assert!(row.contains("Catalog.products[].reviews[].user"), "{row}");

    // The address leads back to it.
    let address = browser.text("location.hash");
    browser.open(&html::page(&profile, &options(Format::Html)), &address);
    assert_eq!(
        browser.eval("document.querySelectorAll('tbody tr').length"),
        1
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn a_comparison_without_sites_shows_its_first_table() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    // Only one side has fields.
    let [base, new] = ["shop", "shop-profiled"].map(fixture::real);
    let page = html::comparison(("base", &base), ("new", &new));
    browser.open(&page, "#view=tables");
    assert_eq!(
        browser.text("document.getElementById('table').value"),
        "owner"
    );
    assert_ne!(
        browser.eval("document.querySelectorAll('tbody tr').length"),
        0
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn a_comparison_of_snapshots_begins_with_the_holders() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let profile = fixture::with_made_up_snapshots();
    browser.open(&html::held_comparison(&profile, ["peak", "exit"]), "");
    let chosen =
        ["by", "measure"].map(|id| browser.text(&format!("document.getElementById('{id}').value")));
    assert_eq!(chosen, ["holder", "unused_bytes"]);
    browser.click_on("document.querySelectorAll('#views button')[1]");
    assert_eq!(
        browser.text("document.getElementById('table').value"),
        "holder"
    );
    let notes = browser.text("document.getElementById('table-notes').innerText");
    assert!(notes.contains("do not add up"), "{notes}");
    assert_ne!(
        browser.eval("document.querySelectorAll('tbody tr').length"),
        0
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn rows_of_nothing_are_hidden_and_the_tab_of_snapshots_has_the_holders_of_each() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let profile = fixture::with_made_up_snapshots();
    let page = html::page(&profile, &options(Format::Html));
    browser.open(&page, "#view=tables&table=site&measure=live_bytes");
    let rows = "document.querySelectorAll('#rows tbody tr').length";
    let some = browser.eval(rows);
    let said = browser.text("document.getElementById('row-count').textContent");
    assert!(
        said.contains("hold none of the measure and are hidden"),
        "{said}"
    );
    browser.click_on("document.getElementById('zeros')");
    let all = browser.eval(rows);
    assert!(some.as_u64() < all.as_u64(), "{some} {all}");

    browser.click_on("[...document.querySelectorAll('#views button')].find((one) => one.dataset.view === 'snapshot')");
    let shown = "document.getElementById('snapshot').innerText";
    let largest = browser.text(shown);
    assert!(largest.contains("stack of main"), "{largest}");
    let choices = "document.querySelectorAll('#snapshot select option').length";
    assert_eq!(browser.eval(choices), profile.snapshots().len());
    browser.eval("(() => { const select = document.querySelector('#snapshot select'); select.value = '3'; select.onchange(); })()");
    assert!(browser.text("location.hash").contains("snapshot=3"));
    assert_ne!(browser.text(shown), largest);

    // The picture turns upside down, and the arrow keys with it.
    browser.open(&page, "");
    browser.press("u");
    assert_eq!(
        browser.text("decodeURIComponent(location.hash)"),
        "#upwards=1"
    );
    browser.press("ArrowUp");
    let details = browser.text("document.getElementById('details').textContent");
    assert!(details.starts_with("shop::main"), "{details}");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn the_timeline_has_the_ends_of_outermost_phases() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let mut profile = fixture::profile();
    let held: Vec<_> = profile.sites().iter().map(|_| (0, 0)).collect();
    let ended = fixture::made!(Checkpoint {
        time_ns: 1_700_000_000,
        kind: CheckpointKind::Phase,
        name: "decode".to_owned(),
    });
    profile.add_checkpoint(ended, &held);
    browser.open(&html::page(&profile, &options(Format::Html)), "#view=time");
    let shown = browser.text("document.getElementById('time').textContent");
    assert!(shown.contains("decode ends"), "{shown}");
    assert!(shown.contains("decode ended"), "{shown}");
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

/// Checks that a click on a large page takes at most 100 ms of CPU time.
pub(super) fn a_click_is_quick(page: &str) {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    browser.call("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    browser.open(page, "");
    let seconds = |browser: &mut Browser| {
        let metrics = browser.call("Performance.getMetrics", json!({}));
        let metrics = metrics["metrics"].as_array().expect("metrics").clone();
        let task = metrics
            .iter()
            .find(|metric| metric["name"] == "TaskDuration");
        task.expect("a duration")["value"]
            .as_f64()
            .expect("a number")
    };
    let [left, top] = browser.corner();
    for (x, row) in [(100.0, 1.0), (300.0, 2.0), (600.0, 3.0), (600.0, 0.0)] {
        let before = seconds(&mut browser);
        browser.click(left + x, top + row * 16.0 + 8.0);
        let took = seconds(&mut browser) - before;
        println!("a click takes {:.1} ms", took * 1e3);
        assert!(took < 0.1, "{took} s");
    }
    assert_eq!(browser.complaints(), [] as [String; 0]);
}
