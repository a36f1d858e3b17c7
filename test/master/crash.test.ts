import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { IS_LONG, perTier } from '../harness/tier.ts';
import { connectRaw } from '../harness/raw.ts';
import type { Gateway } from '../harness/gateway.ts';
import { Lanes } from './lanes.ts';
import { isAlive, masterPid, sharedSupervised, startSupervised } from './processes.ts';
import { HANGS, sabotage, SABOTAGED } from './saboteur.ts';

const CONF = `server {
  location / { return 200 ok; }
  location ~ ^/h(.*) { return 200 $1; }
  location /events { worker_events_api; worker_events_zone z; worker_events_channel c; }
}`;
const EVENT = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"type":"t"}' };
/** Responses that show that clients are served. */
const MANY = perTier({ short: 200, long: 1_000 });
const OPTIONS = { ...SABOTAGED, workers: 2, expectAlerts: true };

const withWorkers = sharedSupervised(CONF, OPTIONS);
const withWorker = sharedSupervised(CONF, { ...OPTIONS, workers: 1 });
const withMaster = sharedSupervised(CONF, { ...OPTIONS, workers: 1 });

/**
 * Publishes an event; the generation counts the events of the zone. A connection in the backlog of a worker that ends is reset
 * unread (Linux, without tcp_migrate_req), so the next one is used.
 */
async function publish(gw: Gateway): Promise<number> {
  const send = () => gw.expect('POST /events', { status: 200 }, EVENT);
  const { body } = await send().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET') throw error;
    return send();
  });
  return (JSON.parse(body) as { generation: number }).generation;
}

for (const act of ['throw', 'reject'] as const) {
  test(`a worker that ends by a ${act} in a timer is replaced, and the process and its zones live on`, async (t) => {
    const gw = await withWorkers(t);
    const master = masterPid(gw);
    const published = await publish(gw);
    const from = gw.errorLog().length;
    sabotage(gw, act);
    await gw.waitForLog(/\[alert\].*worker \d crashed: Error: sabotage/, from);
    await gw.waitForLog(/worker \d was started again/, from);
    expect(masterPid(gw)).toBe(master);
    expect(await publish(gw)).toBe(published + 1);
  });
}

test('a crash does not affect clients of the other worker', async (t) => {
  const gw = await withWorkers(t);
  const lanes = new Lanes({ port: gw.port, kept: 32 });
  await lanes.responses(MANY);
  const from = gw.errorLog().length;
  sabotage(gw, 'throw');
  await gw.waitForLog(/was started again/, from);
  await lanes.responses(5 * MANY);
  const { failures } = await lanes.stop();
  // Each connection of the crashed worker breaks once; the lanes of the other worker go on.
  expect(failures.length).toBeLessThan(32);
});

test('the only worker serves on after a crash until another has taken its place', async (t) => {
  const gw = await startSupervised(t, CONF, { ...OPTIONS, workers: 1 });
  const kept = new Lanes({ port: gw.port, kept: 8 });
  const fresh = new Lanes({ port: gw.port, fresh: 8 });
  for (let crash = 0; crash < 3; crash += 1) {
    await fresh.responses(MANY / 2);
    const from = gw.errorLog().length;
    sabotage(gw, 'throw');
    await gw.waitForLog(/was started again as worker \d/, from);
    await kept.responses(MANY / 2);
  }
  expect((await kept.stop()).failures).toEqual([]);
  const { failures } = await fresh.stop();
  // What waits in the backlog of a socket that is closed is lost (Linux, without tcp_migrate_req).
  expect(failures.length).toBeLessThan(20);
  expect(failures.filter((failure) => /refused/i.test(failure))).toEqual([]);
});

test('a worker that crashes again and again is restarted after ever longer pauses', async (t) => {
  const gw = await startSupervised(t, CONF, { ...OPTIONS, workers: 1 });
  const pauses: number[] = [];
  for (let crash = 0; crash < 4; crash++) {
    const from = gw.errorLog().length;
    sabotage(gw, 'throw');
    await gw.waitForLog(/worker \d crashed/, from);
    const crashedMs = performance.now();
    await gw.waitForLog(/was started again/, from);
    pauses.push(performance.now() - crashedMs);
  }
  expect(Math.max(...pauses)).toBeGreaterThan(190);
  await expect.poll(() => gw.fetch('/').then(({ status }) => status, String)).toBe(200);
});

test('a worker that throws without an end does not fill the log', async (t) => {
  const gw = await withWorker(t);
  const from = gw.errorLog().length;
  sabotage(gw, 'throw without an end');
  await gw.waitForLog(/was started again/, from);
  expect(
    gw
      .errorLog()
      .slice(from)
      .match(/worker \d crashed/g)?.length,
  ).toBeLessThan(11);
  await gw.expect('GET /', { status: 200 });
});

test('a reload takes effect in a worker that was replaced', async (t) => {
  const gw = await withWorker(t);
  expect(await gw.reload(CONF.replace('ok', 'new'))).toBe('done');
  const from = gw.errorLog().length;
  sabotage(gw, 'throw');
  await gw.waitForLog(/was started again/, from);
  // The client may only now see that its kept connection to the worker that crashed is closed.
  await expect.poll(() => gw.fetch('/').then(({ body }) => body, String)).toBe('new');
  expect(await gw.reload(CONF.replace('ok', 'newer'))).toBe('done');
  await gw.expect('GET /', { status: 200, body: 'newer' });
});

/** A thread that hangs takes all of a core until it is ended: one way to hang in the short tier. */
for (const act of perTier({ short: HANGS.slice(0, 1), long: HANGS })) {
  test(`a worker that is made to ${act} ends alone, and the process and its zones live on`, async (t) => {
    const gw = await withWorkers(t);
    const master = masterPid(gw);
    const published = await publish(gw);
    const from = gw.errorLog().length;
    sabotage(gw, act);
    await gw.waitForLog(/\[alert\].*worker \d does not respond for 2000 ms, interrupting it/, from);
    await gw.waitForLog(/\[alert\].*worker \d crashed: it did not respond and was interrupted/, from);
    await gw.waitForLog(/worker \d was started again/, from);
    expect(masterPid(gw)).toBe(master);
    expect(await publish(gw)).toBe(published + 1);
  }, 30_000);
}

test('a worker that hangs in a request closes its connections and is replaced', async (t) => {
  const gw = await withWorker(t);
  const from = gw.errorLog().length;
  sabotage(gw, 'hang in a request');
  await expect.poll(() => gw.fetch('/hangs').then(() => 'answered', String)).not.toBe('answered');
  await gw.waitForLog(/worker \d crashed: it did not respond and was interrupted/, from);
  await gw.waitForLog(/worker \d was started again/, from);
  await gw.expect('GET /hangs', { status: 200, body: 'angs' });
}, 30_000);

test.runIf(IS_LONG)(
  'a worker that is busy with many requests at once is not treated as one that hangs',
  async (t) => {
    const gw = await startSupervised(t, CONF, { ...SABOTAGED, workers: 1 });
    const clients = await Promise.all(Array.from({ length: 100 }, () => connectRaw(gw.port)));
    // The worker stays in the first request while the others arrive, so one turn of its event loop takes them all, for more than 2 s.
    sabotage(gw, 'hang in a request');
    await expect.poll(() => existsSync(join(gw.dir, 'sabotage'))).toBe(false);
    for (const client of clients) client.write('GET /h/slow HTTP/1.1\r\nHost: a\r\n\r\n');
    const responses = await Promise.all(clients.map((client) => client.until(/slow$/)));
    expect(responses.filter((response) => response.startsWith('HTTP/1.1 200'))).toHaveLength(100);
    expect(gw.errorLog()).not.toMatch(/does not respond/);
  },
  30_000,
);

test('the other worker responds while one hangs', async (t) => {
  const gw = await withWorkers(t);
  const lanes = new Lanes({ port: gw.port, kept: 32 });
  await lanes.responses(MANY);
  const from = gw.errorLog().length;
  sabotage(gw, 'spin');
  await gw.waitForLog(/does not respond for 2000 ms/, from);
  await lanes.responses(MANY);
  await gw.waitForLog(/was started again/, from);
  await lanes.responses(MANY);
  const { failures } = await lanes.stop();
  expect(failures.length).toBeLessThan(32);
}, 30_000);

test('a worker that hangs outside of JavaScript ends with its process, and the supervisor restores the service', async (t) => {
  const gw = await withMaster(t);
  const [master, from] = [masterPid(gw), gw.errorLog().length];
  sabotage(gw, 'hang outside of JavaScript');
  await gw.waitForLog(/\[alert\].*worker \d does not respond for 2000 ms, interrupting it/, from);
  await gw.waitForLog(/\[emerg\].*worker \d hangs, ending the process/, from);
  await gw.waitForLog(
    /\[alert\].*the master process ended unexpectedly \(SIGKILL\); shared zones were lost/,
    from,
  );
  await expect.poll(() => masterPid(gw)).not.toBe(master);
  await gw.expect('GET /', { status: 200 });
  await gw.expect('POST /events', { status: 200 }, EVENT);
}, 60_000);

test('a master that is killed is restarted, and the pid file and signals work as before', async (t) => {
  const gw = await withMaster(t);
  expect(await gw.reload(CONF)).toBe('done');
  const [master, supervisor] = [masterPid(gw), gw.pid];
  process.kill(master, 'SIGKILL');
  await expect.poll(() => masterPid(gw)).not.toBe(master);
  await gw.expect('GET /', { status: 200, body: 'ok' });
  expect(gw.pid).toBe(supervisor);
  expect(await gw.reload(CONF.replace('ok', 'new'))).toBe('done');
  await gw.expect('GET /', { status: 200, body: 'new' });
});

test('a master that dies while its configuration file is broken is restarted with the last good configuration', async (t) => {
  const gw = await withMaster(t);
  expect(await gw.reload(CONF.replace('ok', 'second'))).toBe('done');
  for (let accident = 0; accident < 2; accident++) {
    const [master, from] = [masterPid(gw), gw.errorLog().length];
    gw.write('server { retrun 200; }');
    process.kill(master, 'SIGKILL');
    await gw.waitForLog(/the configuration has errors, the one that served before goes on/, from);
    await gw.waitForLog(/start worker processes/, from);
    await gw.expect('GET /', { status: 200, body: 'second' });
  }
  expect(gw.output()).toContain('unknown directive "retrun"');
  expect(await gw.reload(CONF.replace('ok', 'mended'))).toBe('done');
  await gw.expect('GET /', { status: 200, body: 'mended' });
});

test('a master whose supervisor is killed ends by itself', async (t) => {
  const gw = await startSupervised(t, CONF, OPTIONS);
  const master = masterPid(gw);
  gw.signal('SIGKILL');
  await gw.ended();
  await expect.poll(() => isAlive(master), { timeout: 5_000 }).toBe(false);
  expect(gw.errorLog()).toMatch(/#0: exit$/m);
});

for (const act of ['garble', 'acknowledge'] as const) {
  test(`a master that breaks the protocol with its supervisor is replaced (${act})`, async (t) => {
    const gw = await withMaster(t);
    // The supervisor passes a signal on only after its master has reported that it serves; an end before that is a failed start.
    expect(await gw.reload(CONF)).toBe('done');
    const master = masterPid(gw);
    sabotage(gw, act);
    await expect.poll(() => masterPid(gw), { timeout: 10_000 }).not.toBe(master);
    await gw.expect('GET /', { status: 200, body: 'ok' });
    expect(isAlive(gw.pid)).toBe(true);
  });
}
