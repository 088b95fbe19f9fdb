// The module's host: times both allocators, records them and a profiled decode, and writes the recordings to files.
//
//   node run.mjs MODULE.wasm OUT_DIR           the whole benchmark
//   node run.mjs MODULE.wasm --golden FILE.hg  the small recording that the profiler's tests read
import { readFileSync, writeFileSync } from "node:fs";

const [wasm, out, golden] = process.argv.slice(2);
if (!wasm || !out || (out === "--golden" && !golden)) {
  console.error("usage: node run.mjs MODULE.wasm OUT_DIR | --golden FILE.hg");
  process.exit(2);
}
const compiled = new WebAssembly.Module(readFileSync(wasm));
// Linear memory never shrinks: each run has an instance of its own.
const instance = () => new WebAssembly.Instance(compiled, {}).exports;
const pagesOf = (module) => module.memory.buffer.byteLength / 65536;

function start(module) {
  if (module.start() !== 1) throw new Error("the module does not record");
}

// Before anything is shown: recording must change nothing that it does not own.
function check() {
  const module = instance();
  start(module);
  const found = module.check();
  if (found !== 0) throw new Error(`check ${found} of examples/wasm/src/lib.rs does not hold`);
}

function recording(module) {
  const place = module.recording();
  if (place === 0) throw new Error("the module has no recording");
  return new Uint8Array(module.memory.buffer, place, module.recording_bytes());
}

check();
if (out === "--golden") {
  const module = instance();
  start(module);
  module.global(100);
  if (module.decode(400) !== 400) throw new Error("the people could not be read back");
  writeFileSync(golden, recording(module));
  process.exit(0);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

// Interleaved, so that a slow moment of the machine meets both.
function times(works, rounds) {
  const found = works.map(() => []);
  let pages = [];
  for (let round = 0; round < rounds; round++) {
    pages = works.map((work, index) => {
      const module = instance();
      const begun = performance.now();
      work(module);
      found[index].push(performance.now() - begun);
      return pagesOf(module);
    });
  }
  return works.map((_, index) => ({ ms: median(found[index]), pages: pages[index] }));
}

function recorded(name, work) {
  const module = instance();
  start(module);
  const begun = performance.now();
  work(module);
  const figures = {
    ms: performance.now() - begun,
    blocks: module.total_blocks(),
    peak: module.peak_bytes(),
    pages: module.pages(),
    grows: module.grows(),
    own: module.own_pages(),
  };
  writeFileSync(`${out}/${name}.hg`, recording(module));
  return figures;
}

// What structure predicts: five strings and two buffers a list (4, then 8 places), and the outer list's doublings from 4.
function expected(lists) {
  let doublings = 1;
  for (let room = 4; room < lists; room *= 2) doublings++;
  return 7 * lists + doublings;
}

const count = (value) => value.toLocaleString("en");
const mib = (pages) => `${(Number(pages) / 16).toFixed(1)} MiB`;
for (const lists of [1_000_000, 100_000]) {
  const works = [(module) => module.global(lists), (module) => module.bumpalo(lists)];
  const bare = times(works, 5);
  console.log(`${count(lists)} lists of five strings (bare: median of 5)`);
  for (const [index, name] of ["global", "bumpalo"].entries()) {
    const found = recorded(`${name}-${lists}`, works[index]);
    const holds = name === "global" ? Number(found.blocks) === expected(lists) : found.blocks < 32n;
    if (!holds) throw new Error(`${name}: ${found.blocks} blocks, which is not what its structure says`);
    console.log(
      `  ${name.padEnd(8)} ${bare[index].ms.toFixed(1).padStart(8)} ms, ${count(bare[index].pages)} pages bare; ` +
        `recorded ${found.ms.toFixed(0)} ms: ${count(found.blocks)} blocks, ${count(found.pages)} pages ` +
        `(${mib(found.pages)}), ${count(found.grows)} grows; the recording's own: ${mib(found.own)}`,
    );
  }
}
const people = 10_000;
const [bare] = times([(module) => module.decode(people)], 5);
const found = recorded("decode", (module) => module.decode(people));
console.log(`${count(people)} people written as JSON and read back as Profiled`);
console.log(
  `  ${bare.ms.toFixed(1)} ms bare; recorded ${found.ms.toFixed(1)} ms: ${count(found.blocks)} blocks, ` +
    `peak ${count(found.peak)} bytes, ${count(found.pages)} pages, ${count(found.grows)} grows`,
);
