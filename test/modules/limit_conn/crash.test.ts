import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { sabotage, SABOTAGED } from '../../master/saboteur.ts';

test('the counts of a crashed worker are removed', async (t) => {
  const gw = await startGateway(
    t,
    `limit_conn_zone all zone=addr:1m; error_page 404 = @in;
     server {
       location @in { return 200 in; }
       location / { limit_conn addr 1; }
       location /held { limit_conn addr 1; auth_basic held; auth_basic_user_file none; auth_delay 60s; }
     }`,
    { ...SABOTAGED, workers: 1, expectAlerts: true },
  );
  const held = await gw.connect();
  held.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
  await gw.waitForLog(/delaying unauthorized/);
  await gw.expect('GET /', { status: 503 });
  sabotage(gw, 'throw');
  await gw.waitForLog(/worker 1 was started again/);
  // The requests of the crashed worker may continue for a while.
  await gw.expect('GET /', { status: 503 });
  expect(await held.closed).toBe('');
  await expect.poll(() => gw.fetch('/').then(({ status }) => status)).toBe(200);
});
