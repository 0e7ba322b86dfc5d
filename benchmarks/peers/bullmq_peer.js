// BullMQ, on ioredis.
'use strict';
const { URL: url, SETTINGS, HANGING, hit, gate, forever, main } = require('./kit.js');
const { Queue, Worker } = require('bullmq');

const { hostname: host, port, pathname, username, password } = new URL(url);
const login = password ? { username: decodeURIComponent(username) || undefined, password: decodeURIComponent(password) } : {};
const connection = { host, port: Number(port), db: Number(pathname.slice(1)), maxRetriesPerRequest: null, ...login };

let queue;
main({
  install: async () => {},
  open: async () => {
    queue = new Queue('q', { connection });
    await queue.waitUntilReady();
  },
  add: (number) => queue.add('noop', { number }),
  addMany: (numbers) => queue.addBulk(numbers.map((number) => ({ name: 'noop', data: { number } }))),
  work: async () => {
    await gate();
    const noop = async (job) => {
      hit(job.data.number);
      if (HANGING) await forever();
    };
    new Worker('q', noop, { connection, ...SETTINGS }).on('error', (error) => console.error(error));
    await forever();
  },
});
