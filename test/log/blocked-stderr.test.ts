import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../harness/ports.ts';

const GW = new URL('../../dist/bin/gw.js', import.meta.url).pathname;
/** A pipe holds 64 KB, and each line has more than 200 bytes. */
const REQUESTS = 1_500;

test('a standard error that nobody reads delays no response, and the lines that it loses are counted', async () => {
  const port = await freePort();
  const prefix = await mkdtemp(join(tmpdir(), 'gw-stderr-'));
  await chmod(prefix, 0o755);
  onTestFinished(() => rm(prefix, { recursive: true, force: true }));
  await writeFile(
    join(prefix, 'gw.conf'),
    `daemon off; worker_processes 1; pid gw.pid; error_log stderr error; events {}
     http { access_log off; server { listen 127.0.0.1:${port}; root ${prefix};
       location = /metrics { control_api metrics; } } }`,
  );
  const gw = spawn(process.execPath, [GW, '-p', prefix, '-c', 'gw.conf'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(async () => {
    gw.kill('SIGTERM');
    if (gw.exitCode === null) await once(gw, 'exit');
  });
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  await vi.waitFor(async () => expect((await get('/metrics')).status).toBe(200), 15_000);
  for (let n = 0; n < REQUESTS; n++) expect((await get(`/missing-${'x'.repeat(100)}-${n}`)).status).toBe(404);
  const metrics = await (await get('/metrics')).text();
  const [, lost] = /^gw_log_dropped_total\{log="stderr"\} (\d+)$/m.exec(metrics) ?? [];
  expect(Number(lost)).toBeGreaterThan(0);

  let text = '';
  gw.stderr.on('data', (piece: Buffer) => (text += piece.toString()));
  const toldIn = (): number => Number(/\[error\] .*: (\d+) lines of this log were lost/.exec(text)?.[1] ?? 0);
  await vi.waitFor(async () => {
    await get('/missing');
    expect(toldIn() >= Number(lost)).toBe(true);
  }, 10_000);
});
