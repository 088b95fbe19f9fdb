// Measures the modules, in node and in a page alike: times each work without counting, then records
// each work once.

const LISTS = [1_000_000, 100_000];
const NAMES = 200_000;
export const ROUNDS = 9;

const onLists = (name, method, module = "dlmalloc") =>
  LISTS.map((lists) => ({ name, count: lists, module, run: (it) => it[method](lists) }));

// Names that all, mostly or rarely fit into a small string.
const onNames = (name, method) =>
  [1, 8, 40].map((syllables) => ({
    name: `${name}, names of ${syllables > 1 ? "2 to " : ""}${2 * syllables} bytes`,
    count: NAMES,
    module: "dlmalloc",
    prepare: (it) => it.prepare(NAMES, syllables),
    run: (it) => {
      if (it[method]() !== NAMES) throw new Error("the names could not be read back");
    },
  }));

// Binary data of this many bytes: a hundredth and a tenth of the source's 200 MB.
const BINARY = [2_000_000, 20_000_000];
const onBinary = (name, method) =>
  BINARY.map((bytes) => {
    let texts = 0;
    return {
      name,
      count: bytes,
      module: "dlmalloc",
      prepare: (it) => (texts = it.prepare_binary(bytes)),
      run: (it) => {
        if (it[method]() !== texts) throw new Error("the records could not be read back");
      },
    };
  });

export const WORKS = [
  ...onLists("global", "global"),
  ...onLists("global, talc", "global", "talc"),
  ...onLists("bumpalo, pre-sized", "bumpalo_sized"),
  ...onLists("bumpalo", "bumpalo"),
  ...onLists("bump-scope", "bump_scope"),
  ...onLists("bumpalo, same Vec", "bumpalo_same"),
  ...onLists("bump-scope, same Vec", "bump_scope_same"),
  ...onNames("String", "strings"),
  ...onNames("compact_str", "small_strings"),
  ...onBinary("binary data, String", "binary_strings"),
  ...onBinary("binary data, bumpalo", "binary_arena"),
  ...onBinary("binary data, bumpalo, pre-sized", "binary_arena_sized"),
];

// Linear memory never shrinks, so each run has its own instance.
export const instance = async (compiled) => (await WebAssembly.instantiate(compiled, {})).exports;

export function start(it) {
  if (it.start() !== 1) throw new Error("the module does not record");
}

export function recording(it) {
  const place = it.recording();
  if (place === 0) throw new Error("the module has no recording");
  return new Uint8Array(it.memory.buffer, place, it.recording_bytes()).slice();
}

// Checks, before any result is shown, that recording changes only what it owns.
export async function check(compiled) {
  const it = await instance(compiled);
  start(it);
  const found = it.check();
  if (found !== 0) throw new Error(`check ${found} of examples/wasm/src/lib.rs does not hold`);
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

// Returns the counts that follow from the structure: five strings and two buffers per list (4, then
// 8 places), and the outer list's doublings from 4.
function expected(work) {
  let doublings = 1;
  for (let room = 4; room < work.count; room *= 2) doublings++;
  return 7 * work.count + doublings;
}

async function recorded(work, compiled) {
  const it = await instance(compiled);
  work.prepare?.(it);
  start(it);
  work.run(it);
  const blocks = Number(it.total_blocks());
  const holds = work.name.startsWith("global") ? blocks === expected(work) : work.prepare || blocks < 32;
  if (!holds) throw new Error(`${work.name}: ${blocks} blocks, which is not what its structure says`);
  const found = { blocks, peak_bytes: Number(it.peak_bytes()), pages: Number(it.pages()), grows: Number(it.grows()) };
  return { ...found, recording: recording(it) };
}

// Times every work, interleaved, so that a slow moment of the machine affects all of them, then
// records each. `modules`: compiled modules, by their allocator. `pause`: called before each run.
// Returns one row per work: milliseconds in each round, figures, and the recording.
export async function measure(modules, pause = async () => {}) {
  for (const compiled of Object.values(modules)) await check(compiled);
  const rows = WORKS.map((work) => ({ work: work.name, count: work.count, ms: [] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, work] of WORKS.entries()) {
      await pause(`round ${round + 1} of ${ROUNDS}: ${work.name}`);
      const it = await instance(modules[work.module]);
      work.prepare?.(it);
      const begun = performance.now();
      work.run(it);
      rows[index].ms.push(performance.now() - begun);
    }
  }
  for (const [index, work] of WORKS.entries()) {
    await pause(`recording ${work.name}`);
    Object.assign(rows[index], await recorded(work, modules[work.module]));
  }
  return { inline_bytes: (await instance(modules.dlmalloc)).inline_bytes(), rows };
}

// Returns a file name for a row.
export const fileOf = (row) => `${row.work.replaceAll(/[^a-z0-9]+/gi, "-")}-${row.count}.hg`;

// The titles of the table, which has one row per work.
export const TITLES = ["work", "of", "ms", "blocks", "peak bytes", "pages", "grows"];
export const cells = (row) => [
  row.work,
  row.count.toLocaleString("en"),
  median(row.ms).toFixed(1),
  ...[row.blocks, row.peak_bytes, row.pages, row.grows].map((value) => value.toLocaleString("en")),
];

// Returns the table as text.
export function asText(rows) {
  const lines = [TITLES, ...rows.map(cells)];
  const widths = TITLES.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const padded = (line) => line.map((cell, at) => (at ? cell.padStart(widths[at]) : cell.padEnd(widths[at])));
  return lines.map((line) => padded(line).join("  ")).join("\n");
}
