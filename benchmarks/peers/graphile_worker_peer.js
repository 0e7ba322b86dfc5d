// graphile-worker: with its local queue and batched completion, or (localQueue: 0) without.
'use strict';
const { URL, SETTINGS, HANGING, hit, gate, forever, main } = require('./kit.js');
const { Logger, makeWorkerUtils, run, runMigrations } = require('graphile-worker');
const { Pool } = require('pg');

const BACKLOG_CHUNK = 50000;
const logger = new Logger(() => () => {});
const batching = SETTINGS.localQueue
  ? { localQueue: { size: SETTINGS.localQueue, ttl: 30000 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
  : {};
const preset = {
  worker: {
    connectionString: URL,
    concurrentJobs: SETTINGS.concurrentJobs,
    maxPoolSize: SETTINGS.maxPoolSize,
    pollInterval: 2000,
    logger,
    ...batching,
  },
};
const ADD_RANGE = `SELECT 1 FROM graphile_worker.add_jobs((
  SELECT array_agg(json_populate_record(null::graphile_worker.job_spec,
    json_build_object('identifier', 'noop', 'payload', json_build_object('number', number))))
  FROM generate_series($1::int, $2::int) AS number))`;

let pool, utils;
main({
  install: () => runMigrations({ connectionString: URL, logger }),
  open: async () => {
    pool = new Pool({ connectionString: URL, max: 2 });
    utils = await makeWorkerUtils({ pgPool: pool, logger });
  },
  add: (number) => utils.addJob('noop', { number }),
  addMany: (numbers) => utils.addJobs(numbers.map((number) => ({ identifier: 'noop', payload: { number } }))),
  load: async (count) => {
    for (let first = 0; first < count; first += BACKLOG_CHUNK)
      await pool.query(ADD_RANGE, [first, Math.min(count, first + BACKLOG_CHUNK) - 1]);
  },
  work: async () => {
    await gate();
    const noop = async ({ number }) => {
      hit(number);
      if (HANGING) await forever();
    };
    const runner = await run({ preset, noHandleSignals: true, taskList: { noop } });
    await runner.promise;
  },
});
