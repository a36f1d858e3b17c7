import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { perTier } from '../harness/tier.ts';
import { sharedSupervised, startSupervised } from './processes.ts';
import { sabotage, SABOTAGED } from './saboteur.ts';

const WORKERS = 3;
const TRIES = 6_000;

/** Where requests go: a port of 127.0.0.1, or a Unix socket. */
type Target = { readonly port: number } | { readonly socketPath: string };

function ask(target: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', agent: false, ...target }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      response.on('end', () => resolve(body));
    })
      .on('error', reject)
      .end();
  });
}

/**
 * How many workers accept connections: each numbers its own, so a number comes as often as there are workers that have accepted
 * so many.
 */
async function workersOf(target: Target): Promise<number> {
  const seen = new Map<string, number>();
  for (let tries = 0; tries < TRIES; tries += 30) {
    const numbers = await Promise.all(Array.from({ length: 30 }, () => ask(target)));
    for (const number of numbers) seen.set(number, (seen.get(number) ?? 0) + 1);
    if (Math.max(...seen.values()) >= WORKERS) break;
  }
  return Math.max(...seen.values());
}

const OPTIONS = { workers: WORKERS, main: 'http_engine node;' };
const SHOWN = 'return 200 $connection;';
const shared = sharedSupervised(`server { ${SHOWN} }`, OPTIONS);

/** Sends SIGHUP with another configuration. */
async function reload(gw: Gateway, http: string): Promise<void> {
  expect(await gw.reload(http)).toBe('done');
}

test('all workers accept connections of a port of the node engine', async (t) => {
  const gw = await shared(t);
  expect(await workersOf({ port: gw.port })).toBe(WORKERS);
  expect(gw.errorLog()).not.toContain('alone');
});

test('the gateway stops, too, while a worker waits for its socket', async (t) => {
  for (const delayMs of perTier({ short: [20, 120], long: [0, 20, 60, 120, 200] })) {
    const gw = await startSupervised(t, `server { ${SHOWN} }`, OPTIONS);
    const added = await freePort();
    gw.write(`server { ${SHOWN} } server { listen 127.0.0.1:${added}; ${SHOWN} }`);
    gw.signal('SIGHUP');
    await sleep(delayMs);
    await gw.stop();
    expect(gw.read('gw.pid')).toBe('');
  }
});

test('so they do without a supervisor', async (t) => {
  const gw = await startGateway(t, `server { ${SHOWN} }`, OPTIONS);
  expect(await workersOf({ port: gw.port })).toBe(WORKERS);
});

test.runIf(process.getuid?.() === 0)('so they do after root has become another account', async (t) => {
  const gw = await startSupervised(
    t,
    (dir) => `access_log off; server { error_log ${dir}/own.log; ${SHOWN} }`,
    {
      ...OPTIONS,
      main: `${OPTIONS.main} user nobody;`,
    },
  );
  expect(await workersOf({ port: gw.port })).toBe(WORKERS);
});

test('all workers accept connections of a Unix socket of the node engine', async (t) => {
  const gw = await shared(t);
  await reload(gw, `server { listen unix:gw.sock; ${SHOWN} } server { ${SHOWN} }`);
  expect(await workersOf({ socketPath: `${gw.dir}/gw.sock` })).toBe(WORKERS);
});

test('an address beside the wildcard of its port is served by its own server in all workers', async (t) => {
  const port = await freePort();
  const gw = await startSupervised(
    t,
    `server { listen ${port}; return 200 wildcard; } server { listen 127.0.0.1:${port}; ${SHOWN} }`,
    { ...OPTIONS, port },
  );
  expect(await workersOf({ port: gw.port })).toBe(WORKERS);
});

test('a reload adds and removes ports, and keeps others in all workers', async (t) => {
  const other = await freePort();
  const gw = await shared(t);
  await reload(gw, `server { ${SHOWN} }`);
  await reload(gw, `server { listen 127.0.0.1:${gw.port}; listen 127.0.0.1:${other}; ${SHOWN} }`);
  expect(await workersOf({ port: other })).toBe(WORKERS);
  expect(await workersOf({ port: gw.port })).toBe(WORKERS);
  await reload(gw, `server { listen 127.0.0.1:${gw.port}; ${SHOWN} }`);
  await expect
    .poll(() => ask({ port: other }).catch(({ code }: { code: string }) => code))
    .toBe('ECONNREFUSED');
  await reload(gw, `server { listen 127.0.0.1:${gw.port}; listen 127.0.0.1:${other}; ${SHOWN} }`);
  expect(await workersOf({ port: other })).toBe(WORKERS);
});

test('a reload that is refused leaves no socket behind', async (t) => {
  const [added, taken] = [await freePort(), await freePort()];
  const gw = await shared(t);
  await reload(gw, `server { ${SHOWN} }`);
  const other = await startSupervised(t, `server { listen 127.0.0.1:${taken}; ${SHOWN} }`, {
    ...OPTIONS,
    port: taken,
  });
  const http = `server { listen 127.0.0.1:${gw.port}; listen 127.0.0.1:${added}; listen 127.0.0.1:${taken}; ${SHOWN} }`;
  expect(await gw.reload(http)).toBe('refused');
  await expect
    .poll(() => ask({ port: added }).catch(({ code }: { code: string }) => code))
    .toBe('ECONNREFUSED');
  expect(await workersOf({ port: other.port })).toBe(WORKERS);
});

test('a worker that is started again accepts connections, too', async (t) => {
  const gw = await startSupervised(t, `server { ${SHOWN} }`, {
    ...SABOTAGED,
    workers: WORKERS,
    expectAlerts: true,
    main: OPTIONS.main,
  });
  sabotage(gw, 'throw');
  await gw.waitForLog(/was started again/);
  // The one that has crashed serves a moment longer.
  await expect.poll(() => workersOf({ port: gw.port }), { timeout: 10_000 }).toBe(WORKERS);
});
