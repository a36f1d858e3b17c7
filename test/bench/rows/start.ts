import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../../harness/http.ts';
import { launch } from '../../harness/launch.ts';
import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import { type Finding, type Row, sizeLine } from '../row.ts';
import { GW, writeGwConf } from '../servers.ts';

/** Time from starting the process to what its user waits for. */
export const startRow: Row = {
  name: 'start',
  async run(bench) {
    return [
      await timed(bench, { subject: 'gw -c: start to first response', goalSeconds: 0.8, once: serve }),
      await timed(bench, { subject: 'gw -v', goalSeconds: 0.15, once: version }),
    ];
  },
};

interface Timed {
  readonly subject: string;
  readonly goalSeconds: number;
  /** Gives milliseconds. */
  once(bench: Bench, port: number): Promise<number>;
}

async function timed(bench: Bench, { subject, goalSeconds, once: take }: Timed): Promise<Finding> {
  const timesMs: number[] = [];
  for (let start = 0; start < bench.starts; start++) timesMs.push(await take(bench, await freePort()));
  return sizeLine({ subject, values: timesMs.map((ms) => ms / 1_000), unit: 's', goal: goalSeconds });
}

async function serve(bench: Bench, port: number): Promise<number> {
  const dir = join(bench.dir, `start-${port}`);
  mkdirSync(dir);
  const conf = writeGwConf(dir, { server: 'location / { return 200 ok; }', port, workers: 1 });
  const startMs = performance.now();
  const gw = launch(process.execPath, [GW, '-p', dir, '-c', conf], { cwd: dir });
  try {
    while (!(await responds(port))) {
      if (gw.exit()) throw new Error(`gw ended: ${gw.output()}`);
      await sleep(2);
    }
    return performance.now() - startMs;
  } finally {
    await gw.stop();
  }
}

function responds(port: number): Promise<boolean> {
  return call(port, '/').then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function version(): Promise<number> {
  const startMs = performance.now();
  const [code] = (await once(spawn(process.execPath, [GW, '-v'], { stdio: 'ignore' }), 'exit')) as [
    number | null,
  ];
  if (code !== 0) throw new Error(`gw -v ended with exit code ${code}`);
  return performance.now() - startMs;
}
