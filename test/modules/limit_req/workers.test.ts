import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';

/** A limit that does not drain while a test runs, and a response for requests within it. */
const ZONE = 'limit_req_zone $arg_k zone=one:1m rate=1r/m; error_page 404 = @in;';
const IN = 'location @in { return 200 in; }';
const conf = (limit: string) => `${ZONE} server { ${IN} location / { ${limit} } }`;

for (const workers of [1, 4]) {
  test(`of 300 requests at once to ${workers} worker(s) exactly the burst and one more pass`, async (t) => {
    const gw = await startGateway(t, conf('limit_req zone=one burst=36 nodelay;'), { workers });
    const responses = await Promise.all(Array.from({ length: 300 }, () => gw.fetch('/?k=a')));
    const count = (status: number) => responses.filter((response) => response.status === status).length;
    expect([count(200), count(503)]).toEqual([37, 263]);
  });
}

test('a limit is kept after a reload, and reset when the size or the key of its zone changes', async (t) => {
  const limited = conf('limit_req zone=one;');
  const gw = await startGateway(t, limited);
  await gw.expect('GET /?k=a', { status: 200 });
  expect(await gw.reload(limited)).toBe('done');
  await gw.expect('GET /?k=a', { status: 503 });
  expect(await gw.reload(limited.replace('one:1m', 'one:2m'))).toBe('done');
  await gw.expect('GET /?k=a', { status: 200 });
  await gw.expect('GET /?k=a', { status: 503 });
  expect(await gw.reload(limited.replace('one:1m', 'one:2m').replace('$arg_k', 'k-$arg_k'))).toBe('done');
  await gw.expect('GET /?k=a', { status: 200 });
});

test('a limit stays exact while the configuration is reloaded under load', async (t) => {
  const limited = conf('limit_req zone=one burst=36 nodelay;');
  const gw = await startGateway(t, limited, { workers: 4 });
  let isReloading = true;
  const statuses: number[] = [];
  const lane = async () => {
    while (isReloading || statuses.length < 60) statuses.push((await gw.fetch('/?k=a')).status);
  };
  const lanes = Array.from({ length: 8 }, lane);
  for (let n = 0; n < 5; n++) expect(await gw.reload(limited)).toBe('done');
  isReloading = false;
  await Promise.all(lanes);
  expect(statuses.filter((status) => status === 200)).toHaveLength(37);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
});
