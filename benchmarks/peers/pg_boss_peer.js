// pg-boss: several loops that fetch large batches at its shortest polling interval.
'use strict';
const { URL, SETTINGS, HANGING, hit, gate, forever, main } = require('./kit.js');
const PgBoss = require('pg-boss');

const QUEUE = 'q';
const boss = new PgBoss({ connectionString: URL, max: 10, schedule: false, supervise: false });
boss.on('error', (error) => console.error(error));

main({
  install: async () => {
    await boss.start();
    await boss.createQueue(QUEUE);
  },
  open: () => boss.start(),
  add: (number) => boss.send(QUEUE, { number }),
  addMany: (numbers) => boss.insert(numbers.map((number) => ({ name: QUEUE, data: { number } }))),
  work: async () => {
    await boss.start();
    await gate();
    const options = { batchSize: SETTINGS.batchSize, pollingIntervalSeconds: SETTINGS.pollingIntervalSeconds };
    for (let loop = 0; loop < SETTINGS.loops; loop++)
      await boss.work(QUEUE, options, async (jobs) => {
        for (const job of jobs) hit(job.data.number);
        if (HANGING) await forever();
      });
    await forever();
  },
});
