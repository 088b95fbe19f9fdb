// The modules' host in node: measures all works, and writes their recordings and that of a profiled
// decode to files.
//
//   node run.mjs MODULES_DIR OUT_DIR           the whole benchmark; its figures in OUT_DIR/node.json
//   node run.mjs MODULES_DIR --golden FILE.hg  the small recording for the profiler's tests
import { readFileSync, writeFileSync } from "node:fs";
import { asText, check, fileOf, instance, measure, median, recording, start } from "./bench.mjs";

const [folder, out, golden] = process.argv.slice(2);
if (!folder || !out || (out === "--golden" && !golden)) {
  console.error("usage: node run.mjs MODULES_DIR OUT_DIR | --golden FILE.hg");
  process.exit(2);
}
const compiled = (name) => new WebAssembly.Module(readFileSync(`${folder}/${name}.wasm`));
const modules = { dlmalloc: compiled("dlmalloc"), talc: compiled("talc") };

if (out === "--golden") {
  await check(modules.dlmalloc);
  const it = await instance(modules.dlmalloc);
  start(it);
  it.global(100);
  if (it.decode(400) !== 400) throw new Error("the people could not be read back");
  writeFileSync(golden, recording(it));
  process.exit(0);
}

const found = await measure(modules);
for (const row of found.rows) {
  writeFileSync(`${out}/${fileOf(row)}`, row.recording);
  delete row.recording;
}
writeFileSync(`${out}/node.json`, JSON.stringify({ engine: "node", version: process.version, ...found }));
console.log(asText(found.rows));

const people = 10_000;
const times = [];
for (let round = 0; round < 5; round++) {
  const it = await instance(modules.dlmalloc);
  const begun = performance.now();
  it.decode(people);
  times.push(performance.now() - begun);
}
const it = await instance(modules.dlmalloc);
start(it);
const begun = performance.now();
it.decode(people);
const took = performance.now() - begun;
writeFileSync(`${out}/decode.hg`, recording(it));
const count = (value) => value.toLocaleString("en");
console.log(`${count(people)} people written as JSON and read back as Profiled`);
console.log(
  `  ${median(times).toFixed(1)} ms bare; recorded ${took.toFixed(1)} ms: ${count(it.total_blocks())} blocks, ` +
    `peak ${count(it.peak_bytes())} bytes, ${count(it.pages())} pages, ${count(it.grows())} grows`,
);
