// How much script a first visit loads, compressed: the entry and everything it imports at once. Fails above the budget.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET = 350_000;
const out = new URL("../../src/dibs/server/web/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", out), "utf8"));
const START = "src/screens/now/index.tsx";

const seen = new Set();
function load(key) {
  const chunk = manifest[key];
  if (!chunk || seen.has(chunk.file)) return;
  seen.add(chunk.file);
  for (const next of chunk.imports ?? []) load(next);
}
for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry) load(key);
load(START);

let total = 0;
for (const file of [...seen].filter((name) => name.endsWith(".js"))) {
  const size = gzipSync(readFileSync(new URL(file, out)), { level: 9 }).length;
  total += size;
  console.log(`${String(size).padStart(8)}  ${file}`);
}
console.log(`${String(total).padStart(8)}  bytes of gzipped script at the first visit (at most ${BUDGET})`);
if (total > BUDGET) {
  console.error("The first visit loads more script than it may: load what is rarely needed later.");
  process.exit(1);
}
