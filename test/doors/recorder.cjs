// Loaded into each thread of a gateway (`--require`): counts the functions that run, and writes them when it is asked.
const { existsSync, writeFileSync, renameSync } = require('node:fs');
const { Session } = require('node:inspector');
const { join } = require('node:path');
const { threadId } = require('node:worker_threads');

const DIRECTORY = process.env.GW_DOORS;
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

let taken = 0;
setInterval(() => {
  if (!existsSync(join(DIRECTORY, `take-${taken}`))) return;
  const file = join(DIRECTORY, `${taken}-${process.pid}-${threadId}`);
  taken++;
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error;
    const entered = coverage.result
      .filter(({ url }) => url.includes('/dist/src/chunks/'))
      .map(({ url, functions }) => ({
        url,
        offsets: functions
          .map(({ ranges: [range] }) => range)
          // The whole script is evaluated where it is loaded.
          .filter(({ count, startOffset }) => count > 0 && startOffset > 0)
          .map(({ startOffset }) => startOffset),
      }));
    writeFileSync(`${file}.part`, JSON.stringify({ title: process.title, threadId, entered }));
    renameSync(`${file}.part`, `${file}.json`);
  });
}, 5).unref();
