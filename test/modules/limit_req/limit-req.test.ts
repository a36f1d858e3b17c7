import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const ZONE = 'limit_req_zone $arg_k zone=one:1m rate=1r/m; error_page 404 = @in;';
const IN = 'location @in { return 200 "$limit_req_status"; }';

const lines = [
  {
    directives: '',
    line: /\[error\] .*limiting requests, excess: [01]\.\d{3} by zone "one", client: 127\.0\.0\.1/,
  },
  { directives: 'limit_req_log_level info;', line: /\[info\] .*limiting requests, excess: / },
  {
    directives: 'limit_req_dry_run on;',
    line: /\[error\] .*limiting requests, dry run, excess: [01]\.\d{3} by zone "one", /,
  },
];
for (const [index, { directives, line }] of lines.entries()) {
  test(`a refusal is logged as nginx does${directives && `: ${directives}`}`, async (t) => {
    const gw = await load(
      t,
      `${ZONE.replace('$arg_k', `${index}$arg_k`)} server { ${IN} location / { limit_req zone=one; ${directives} } }`,
    );
    await gw.fetch('/?k=a');
    const { status } = await gw.fetch('/?k=a');
    expect(status).toBe(directives.includes('dry_run') ? 200 : 503);
    await gw.waitForLog(line);
  });
}

const delays = [
  { directives: '', line: /\[warn\] .*delaying request, excess: [01]\.\d{3}, by zone "fast", client: / },
  { directives: 'limit_req_log_level warn;', line: /\[notice\] .*delaying request, excess: / },
  {
    directives: 'limit_req_dry_run on;',
    line: /\[warn\] .*delaying request, dry run, excess: [01]\.\d{3}, by zone "fast", /,
  },
];
for (const [index, { directives, line }] of delays.entries()) {
  test(`a delayed request is logged as nginx does${directives && `: ${directives}`}`, async (t) => {
    const gw = await load(
      t,
      `limit_req_zone ${index}$arg_k zone=fast:1m rate=30r/m; error_page 404 = @in;
       server { ${IN} location / { limit_req zone=fast burst=5; ${directives} } }`,
    );
    await gw.expect('GET /?k=a', { body: 'PASSED' });
    const dry = directives.includes('dry_run') ? '_DRY_RUN' : '';
    await gw.expect('GET /?k=a', { body: `DELAYED${dry}` });
    await gw.waitForLog(line);
  });
}

test('a client that leaves while its request is delayed delays nothing', async (t) => {
  const gw = await startGateway(t, `${ZONE} server { ${IN} location / { limit_req zone=one burst=5; } }`);
  await gw.fetch('/?k=a');
  const waiting = await gw.connect();
  waiting.write('GET /?k=a HTTP/1.1\r\nHost: a\r\n\r\n');
  await gw.waitForLog(/delaying request/);
  expect(waiting.received()).toBe('');
  waiting.destroy();
  // The delay would be a minute: a graceful stop would wait for it.
  await gw.waitForAccessLog(/ 499 /);
  await gw.stop('SIGQUIT');
});

test('a key beyond 65535 bytes is not counted, and is logged without its value', async (t) => {
  const gw = await startGateway(
    t,
    `${ZONE.replace('$arg_k', '$request_uri$request_uri$request_uri$request_uri')} large_client_header_buffers 4 32k;
     server { ${IN} location / { limit_req zone=one; } }`,
    { env: { UWS_HTTP_MAX_HEADERS_SIZE: '65536' } },
  );
  const long = `/${'secret'.repeat(4000)}`;
  for (const _ of [1, 2]) await gw.expect(`GET ${long}`, { status: 200, body: '' });
  const [line] = await gw.waitForLog(/the value of the ".*" key is more than 65535 bytes, client/);
  expect(line).not.toContain('secret');
});
