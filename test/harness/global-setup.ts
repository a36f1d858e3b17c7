import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startCluster } from './cluster.ts';
import { obtainChromium, obtainPgbouncer, obtainRedis } from './programs.ts';
import type { Services } from './services.ts';

/**
 * Runs once, in vitest's main process: starts each service that tests share at its first use, and stops it after the
 * last test. A run of unit tests starts nothing.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-tests-'));
  // The directories of gateways; those that live as long as a process of tests are removed with it.
  const gateways = mkdtempSync(join(tmpdir(), 'gws-'));
  chmodSync(gateways, 0o711);
  process.env['GW_TEST_GATEWAYS'] = gateways;
  const starting = new Map<string, Promise<Services[keyof Services]>>();
  const stops: (() => Promise<void>)[] = [];

  const start = async (name: string): Promise<Services[keyof Services]> => {
    if (name === 'redis') return { program: await obtainRedis() };
    if (name === 'chromium') return { program: await obtainChromium() };
    if (name === 'pgbouncer') return { program: await obtainPgbouncer() };
    const { stop, ...address } = await startCluster();
    stops.push(stop);
    return address;
  };
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      const name = data.toString();
      const started = starting.get(name) ?? start(name);
      starting.set(name, started);
      started.then(
        (value) => socket.end(JSON.stringify({ value })),
        (error: Error) => socket.end(JSON.stringify({ reason: error.message })),
      );
    });
  });
  await once(server.listen(join(dir, 'services')), 'listening');
  project.provide('services', join(dir, 'services'));

  return async () => {
    server.close();
    await Promise.allSettled(starting.values());
    for (const stop of stops) await stop();
    rmSync(dir, { recursive: true });
    // A gateway may still be ending.
    rmSync(gateways, { recursive: true, force: true, maxRetries: 20 });
  };
}
