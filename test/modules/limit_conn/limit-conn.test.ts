import { expect, test } from 'vitest';
import { oneGateway, startGateway, type Gateway } from '../../harness/gateway.ts';
import type { RawConnection } from '../../harness/raw.ts';

const load = oneGateway();

/** `/held` sends its 401 after a minute, so a request is being served until its client leaves. */
const conf = (limit: string) => `
  limit_conn_zone $arg_k zone=addr:1m;
  limit_conn_zone $server_name zone=all:1m;
  error_page 404 = @in;
  server {
    server_name a;
    location @in { return 200 "$limit_conn_status"; }
    location / { ${limit} }
    location /held { ${limit} auth_basic held; auth_basic_user_file none; auth_delay 60s; }
  }`;

async function hold(gw: Gateway, target = '/held?k=a'): Promise<RawConnection> {
  const connection = await gw.connect();
  connection.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return connection;
}

const isRefused = (connection: RawConnection) => connection.received().startsWith('HTTP/1.1 503 ');

for (const workers of [1, 4]) {
  test(`of 60 requests at once to ${workers} worker(s) exactly 7 are served, and others when those have left`, async (t) => {
    const gw = await startGateway(t, conf('limit_conn addr 7;'), { workers });
    const all = await Promise.all(Array.from({ length: 60 }, () => hold(gw)));
    await expect.poll(() => all.filter(isRefused).length).toBe(53);
    await gw.expect('GET /?k=a', { status: 503 });
    await gw.expect('GET /?k=b', { status: 200, body: 'PASSED' });
    for (const connection of all) connection.destroy();
    await expect.poll(async () => (await gw.fetch('/?k=a')).status).toBe(200);
    // At least one connection is closed now; other workers may not have noticed their clients leave.
    await expect.poll(() => gw.accessLog().match(/ 499 /g)).toHaveLength(7);
    const again = await Promise.all(Array.from({ length: 8 }, () => hold(gw)));
    await expect.poll(() => again.filter(isRefused).length).toBe(1);
    for (const connection of again) connection.destroy();
  });
}

test('a request that one of two limits refuses counts in neither', async (t) => {
  const gw = await load(t, conf('limit_conn all 2; limit_conn addr 1;'));
  const first = await hold(gw);
  await gw.waitForLog(/no user\/password|delaying unauthorized/);
  for (const _ of [1, 2, 3]) await gw.expect('GET /?k=a', { status: 503 });
  const second = await hold(gw, '/held?k=b');
  await gw.waitForLog(/k=b/);
  await gw.expect('GET /?k=c', { status: 503 });
  first.destroy();
  second.destroy();
});

const responses = [
  {
    directives: 'limit_conn_status 429;',
    status: 429,
    line: /\[error\] .*limiting connections by zone "addr", client: 127/,
  },
  {
    directives: 'limit_conn_log_level notice;',
    status: 503,
    line: /\[notice\] .*limiting connections by zone "addr"/,
  },
  {
    directives: 'limit_conn_dry_run on;',
    status: 200,
    line: /\[error\] .*limiting connections, dry run, by zone "addr"/,
  },
];
for (const { directives, status, line } of responses) {
  test(`a refusal is sent and logged as nginx does: ${directives}`, async (t) => {
    const gw = await load(t, conf(`limit_conn addr 1; ${directives}`));
    const held = await hold(gw);
    await gw.waitForLog(/delaying unauthorized/);
    await gw.expect('GET /?k=a', { status, ...(status === 200 && { body: 'REJECTED_DRY_RUN' }) });
    await gw.waitForLog(line);
    held.destroy();
  });
}

test('counts outlive a reload and end with their requests', async (t) => {
  const limited = conf('limit_conn addr 1;');
  const gw = await load(t, limited);
  const held = await hold(gw);
  await gw.waitForLog(/delaying unauthorized/);
  expect(await gw.reload(limited)).toBe('done');
  await gw.expect('GET /?k=a', { status: 503 });
  held.destroy();
  await expect.poll(async () => (await gw.fetch('/?k=a')).status).toBe(200);
});

test('a key beyond 255 bytes is not counted', async (t) => {
  const gw = await load(t, conf('limit_conn addr 1;'));
  await gw.expect(`GET /?k=${'x'.repeat(256)}`, { status: 200, body: '' });
  await gw.waitForLog(/the value of the "\$arg_k" key is more than 255 bytes, client/);
});
