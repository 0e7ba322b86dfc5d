// The twin of kit.py for Node: same commands, same files, same environment variables.
'use strict';
const fs = require('fs');

const FOLDER = process.env.BENCH_FOLDER;
const WARM_UP = 20;
const PING_INTERVAL_MS = 20;
const CHUNK = 1000;

exports.URL = process.env.BENCH_URL;
exports.SETTINGS = JSON.parse(process.env.BENCH_SETTINGS || '{}');
exports.HANGING = Boolean(process.env.BENCH_HANG);

// The wall clock, finer than Date.now(). Six fresh processes agreed within 0.011 ms.
const now = () => (performance.timeOrigin + performance.now()) / 1000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const range = (first, end) => Array.from({ length: end - first }, (_, index) => first + index);
const answer = (found) => fs.writeFileSync(`${FOLDER}/answer.json`, JSON.stringify(found));

let hits = null;
const line = Buffer.alloc(16);
exports.hit = (number) => {
  if (hits === null) hits = fs.openSync(`${FOLDER}/hits`, 'a', 0o600);
  line.writeDoubleLE(now(), 0);
  line.writeBigInt64LE(BigInt(number), 8);
  fs.writeSync(hits, line);
};

exports.gate = async () => {
  fs.writeFileSync(`${FOLDER}/ready.${process.pid}`, '');
  while (!fs.existsSync(`${FOLDER}/go`)) await sleep(10);
};

exports.forever = () => new Promise(() => setInterval(() => {}, 1 << 30));

const handled = () => (fs.existsSync(`${FOLDER}/hits`) ? Math.floor(fs.statSync(`${FOLDER}/hits`).size / 16) : 0);

const commands = {
  install: (script) => script.install(),
  work: (script) => script.work(),
  load: async (script, count) => {
    await script.open();
    if (script.load) return script.load(count);
    for (let first = 0; first < count; first += CHUNK) await script.addMany(range(first, Math.min(count, first + CHUNK)));
  },
  add: async (script, count) => {
    await script.open();
    for (let number = 0; number < WARM_UP; number++) await script.add(number);
    const started = performance.now();
    for (let number = 0; number < count; number++) await script.add(number);
    answer({ rate: (1000 * count) / (performance.now() - started) });
  },
  bulk: async (script, count, chunk) => {
    await script.open();
    await script.addMany(range(0, WARM_UP));
    const started = performance.now();
    for (let first = 0; first < count; first += chunk) await script.addMany(range(first, Math.min(count, first + chunk)));
    answer({ rate: (1000 * count) / (performance.now() - started) });
  },
  ping: async (script, count) => {
    await script.open();
    for (let number = -WARM_UP; number < 0; number++) {
      await script.add(number);
      await sleep(PING_INTERVAL_MS);
    }
    const adds = [];
    let due = now();
    for (let number = 0; number < count; number++) {
      due += PING_INTERVAL_MS / 1000;
      await sleep(Math.max(0, 1000 * (due - now())));
      const calledAt = now();
      await script.add(number);
      adds.push([number, calledAt, now()]);
    }
    answer({ adds });
  },
  feed: async (script, waiting) => {
    await script.open();
    for (let added = 0; ; ) {
      if (added - handled() < waiting) {
        await script.addMany(range(added, added + CHUNK));
        added += CHUNK;
      } else await sleep(2);
    }
  },
};

exports.main = async (script) => {
  const [command, ...numbers] = process.argv.slice(2);
  try {
    await commands[command](script, ...numbers.map(Number));
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
};
