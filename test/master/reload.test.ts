import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { Lanes } from './lanes.ts';
import { masterPid, sharedSupervised, startSupervised } from './processes.ts';
import { IS_LONG, perTier } from '../harness/tier.ts';

const generation = (n: number): string => `server { location / { return 200 "generation ${n}"; } }`;
const RELOADS = perTier({ short: 10, long: 100 });
const OLD = 'server { location / { return 200 old; } }';

/** For tests of a reload or two, which load their own configuration first. */
const shared = sharedSupervised('server { }', { workers: 2 });

test(`${RELOADS} reloads under load lose no request, and broken configurations among them change nothing`, async (t) => {
  const gw = await startSupervised(t, generation(0), { workers: 2 });
  const lanes = new Lanes({ port: gw.port, fresh: 8, kept: 64 });
  let expected = 0;
  for (let n = 1; n <= RELOADS; n++) {
    const isBroken = n % 5 === 0;
    const verdict = await gw.reload(isBroken ? 'server { location / { retrun 200; } }' : generation(n));
    expect(verdict).toBe(isBroken ? 'refused' : 'done');
    if (!isBroken) expected = n;
    await gw.expect('GET /', { status: 200, body: `generation ${expected}` });
    await lanes.responses(200);
  }
  const { answered, failures, longestGapMs } = await lanes.stop();
  expect(failures).toEqual([]);
  expect(answered).toBeGreaterThan(RELOADS * 200);
  // A design goal, for a machine that has nothing else to do.
  if (IS_LONG) expect(longestGapMs).toBeLessThan(250);
}, 120_000);

test('a request in flight completes with the configuration it began with', async (t) => {
  const conf = (text: string): string => `server { location / {
    worker_events_api; worker_events_zone z; worker_events_channel ${text}; } }`;
  const gw = await shared(t);
  expect(await gw.reload(conf('before'))).toBe('done');
  const connection = await gw.connect();
  const event = '{"type":"t"}';
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${event.length}\r\n\r\n`;
  connection.write(head);
  await gw.expect('GET /', { status: 200 });
  expect(await gw.reload(conf('after'))).toBe('done');
  connection.write(event);
  expect(await connection.until(/\}$/)).toContain('"channel":"before"');
  connection.write(head + event);
  expect(await connection.until(/\}[^]*\}$/)).toContain('"channel":"after"');
  connection.destroy();
});

test('each worker tells when what served the old configuration has ended', async (t) => {
  const gw = await startSupervised(t, generation(0), { workers: 2 });
  expect(await gw.reload(generation(1))).toBe('done');
  for (const worker of [1, 2])
    await gw.waitForLog(new RegExp(`\\[notice\\] .*worker process ${worker} exited with code 0`));
});

test('a reload adds and removes ports', async (t) => {
  const [first, second] = [await freePort(), await freePort()];
  const on = (...ports: number[]): string =>
    `server { ${ports.map((port) => `listen 127.0.0.1:${port};`).join(' ')} location / { return 200 here; } }`;
  const gw = await startSupervised(t, on(first), { port: first, workers: 2 });
  const kept = new Lanes({ port: first, kept: 4 });
  expect(await gw.reload(on(first, second))).toBe('done');
  const added = new Lanes({ port: second, kept: 4, fresh: 2 });
  await added.responses(500);
  expect((await added.stop()).failures).toEqual([]);
  expect(await gw.reload(on(first))).toBe('done');
  await kept.responses(100);
  expect((await kept.stop()).failures).toEqual([]);
  await expect.poll(() => new Lanes({ port: second, fresh: 1 }).stop()).toHaveProperty('answered', 0);
});

test('a reload with a port that another process uses is refused', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const gw = await shared(t);
  expect(await gw.reload(OLD)).toBe('done');
  expect(await gw.reload(`server { listen 127.0.0.1:${port}; }`)).toBe('refused');
  expect(gw.errorLog()).toContain(`bind() to 127.0.0.1:${port} failed (98: Address already in use)`);
  await gw.expect('GET /', { status: 200, body: 'old' });
});

test('a reload with a Unix socket that cannot be bound is refused', async (t) => {
  const gw = await shared(t);
  expect(await gw.reload(OLD)).toBe('done');
  expect(await gw.reload(`server { listen unix:${gw.dir}/no/such/folder; }`)).toBe('refused');
  await gw.expect('GET /', { status: 200, body: 'old' });
});

test('the faults of a refused reload are in the error log, one line each', async (t) => {
  const gw = await shared(t);
  const from = gw.errorLog().length;
  await gw.reload('server { retrun 200; location / { retrun 301; } }');
  const faults = gw
    .errorLog()
    .slice(from)
    .match(/\[error\] .*unknown directive "retrun" in .*gw\.conf:\d+:\d+$/gm);
  expect(faults).toHaveLength(2);
});

test('a reload raises and lowers the number of workers', async (t) => {
  const gw = await startSupervised(t, 'server { location / { return 200; } }', {
    workers: 1,
    env: { UV_THREADPOOL_SIZE: '1' },
  });
  const threads = (): number => {
    const status = readFileSync(`/proc/${masterPid(gw)}/status`, 'utf8');
    return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]);
  };
  const first = threads();
  const conf = readFileSync(gw.conf, 'utf8');
  const run = async (workers: number): Promise<void> => {
    const from = gw.errorLog().length;
    writeFileSync(gw.conf, conf.replace('worker_processes 1', `worker_processes ${workers}`));
    gw.signal('SIGHUP');
    await gw.waitForLog(/reload done/, from);
  };
  // Fresh connections may wait in the backlog of the listener that closes: the kernel resets those.
  const lanes = new Lanes({ port: gw.port, kept: 8 });
  await run(3);
  await expect.poll(threads).toBeGreaterThanOrEqual(first + 2);
  await run(1);
  // The thread of Node's pool has started meanwhile.
  await expect.poll(threads, { timeout: 5_000 }).toBeLessThanOrEqual(first + 1);
  const single = threads();
  await run(3);
  await expect.poll(threads, { timeout: 5_000 }).toBeGreaterThanOrEqual(single + 2);
  await run(1);
  await expect.poll(threads, { timeout: 5_000 }).toBe(single);
  await lanes.responses(100);
  expect((await lanes.stop()).failures).toEqual([]);
});

test('many reloads at once end with the last configuration', async (t) => {
  const gw = await shared(t);
  expect(await gw.reload(generation(0))).toBe('done');
  gw.write(generation(1));
  for (let n = 0; n < 10; n++) gw.signal('SIGHUP');
  await expect.poll(async () => (await gw.fetch('/')).body).toBe('generation 1');
  expect(await gw.reload(generation(2))).toBe('done');
  await expect.poll(async () => (await gw.fetch('/')).body).toBe('generation 2');
});

test('a pid file that cannot be written is reported, and the new configuration serves all the same', async (t) => {
  const gw = await startSupervised(t, 'server { return 200 old; }', { expectAlerts: true });
  const conf = readFileSync(gw.conf, 'utf8');
  writeFileSync(gw.conf, conf.replace('gw.pid', 'none/gw.pid').replace('200 old', '200 new'));
  gw.signal('SIGHUP');
  const [, verdict] = await gw.waitForLog(/reload (done|refused)/);
  expect(verdict).toBe('done');
  await gw.expect('GET /', { status: 200, body: 'new' });
  expect(gw.errorLog()).toMatch(
    /\[alert\] .*open\(\) ".*\/none\/gw\.pid" failed \(2: No such file or directory\)/,
  );
});

test('the pid file and the error log change with a reload', async (t) => {
  const gw = await startSupervised(t, 'server { location / { return 200; } }');
  const { pid } = gw;
  const conf = readFileSync(gw.conf, 'utf8');
  writeFileSync(gw.conf, conf.replace('gw.pid', 'new.pid').replace('error.log', 'new.log'));
  gw.signal('SIGHUP');
  await expect.poll(() => gw.read('new.log')).toMatch(/reload done/);
  expect(Number(gw.read('new.pid'))).toBe(pid);
  expect(gw.read('gw.pid')).toBe('');
});

for (const [directive, kept] of [
  ['access_log', 'access_log'],
  ['error_log', 'error_log of a server'],
] as const)
  test(`an ${kept} that cannot be opened refuses a reload`, async (t) => {
    const gw = await shared(t);
    expect(await gw.reload(OLD)).toBe('done');
    const from = gw.errorLog().length;
    expect(await gw.reload(`server { ${directive} ${gw.dir}/none/x.log; return 200 new; }`)).toBe('refused');
    await gw.waitForLog(
      /reload refused, the old configuration goes on: open\(\) ".*\/none\/x\.log" failed \(2: No such file or directory\)/,
      from,
    );
    await gw.expect('GET /', { status: 200, body: 'old' });
  });
