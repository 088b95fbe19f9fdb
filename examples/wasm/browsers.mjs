// Measures in headless browsers and combines the results with those of node.
//
//   node browsers.mjs MODULES_DIR OUT_DIR [--publish FILE.json]
//   node browsers.mjs MODULES_DIR --serve   serves the page until stopped, for other browsers
//
// Serves the page on 127.0.0.1 to each installed browser, one after another. The page sends back
// its figures.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { asText } from "./bench.mjs";

const [modules, out, publish, published] = process.argv.slice(2);
const here = new URL(".", import.meta.url).pathname;
/** Longer than this no browser takes. */
const MOST_MS = 300_000;

const BROWSERS = [
  {
    engine: "Chromium",
    programs: ["chromium", "chromium-browser", "google-chrome"],
    words: (profile, url) => ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`, url],
  },
  {
    engine: "Firefox",
    programs: ["firefox-esr", "firefox"],
    words: (profile, url) => ["--headless", "--no-remote", "--profile", profile, url],
  },
];

const TYPES = { ".html": "text/html", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const FILES = { "/": join(here, "index.html"), "/bench.mjs": join(here, "bench.mjs") };
for (const name of ["dlmalloc.wasm", "talc.wasm"]) FILES[`/${name}`] = join(modules, name);

// Called with the path and the body of a message from a page.
let receive = () => {};
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://127.0.0.1");
  if (request.method === "POST") {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      response.end();
      receive(pathname, Buffer.concat(parts));
    });
    return;
  }
  const file = FILES[pathname];
  // An isolated page gets a finer clock.
  const headers = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
  response.writeHead(file ? 200 : 404, { ...headers, "Content-Type": TYPES[extname(file ?? "")] ?? "text/plain" });
  response.end(file ? readFileSync(file) : "");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const page = `http://127.0.0.1:${server.address().port}/`;
if (out === "--serve") {
  console.log(`${page} (Ctrl+C ends it)`);
  await new Promise(() => {});
}

const installed = (program) => spawnSync(program, ["--version"], { encoding: "utf8" });

async function inBrowser({ engine, programs, words }) {
  const program = programs.find((program) => installed(program).status === 0);
  if (!program) return { skipped: `${engine} is not installed (${programs.join(", ")})` };
  const version = installed(program).stdout.match(/[0-9][0-9.]*(esr)?/)?.[0] ?? "of an unknown version";
  const profile = mkdtempSync(join(tmpdir(), "heapglass-browser-"));
  const browser = spawn(program, words(profile, `${page}?send`), { stdio: "ignore" });
  try {
    const figures = await new Promise((found, failed) => {
      const late = setTimeout(() => failed(new Error(`${engine} sent nothing in ${MOST_MS / 1000} s`)), MOST_MS);
      browser.on("exit", () => failed(new Error(`${engine} ended before it sent its figures`)));
      receive = (path, body) => {
        if (path === "/recording") writeFileSync(`${out}/${engine}.hg`, body);
        else clearTimeout(late);
        if (path === "/figures") found(JSON.parse(body));
        if (path === "/failed") failed(new Error(`${engine}: ${body}`));
      };
    });
    return { engine, version, ...figures };
  } finally {
    const ended = new Promise((ended) => browser.on("close", ended));
    browser.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const engines = [JSON.parse(readFileSync(`${out}/node.json`))];
for (const browser of BROWSERS) {
  const found = await inBrowser(browser);
  if (found.skipped) console.log(`skipped: ${found.skipped}`);
  else engines.push(found);
}
server.close();

for (const { engine, version, rows } of engines.slice(1)) {
  console.log(`\n${engine} ${version}\n${asText(rows)}`);
}
if (publish === "--publish") {
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(published, `${JSON.stringify({ date, engines }, null, 1)}\n`);
  console.log(`\nwrote ${published}`);
}
