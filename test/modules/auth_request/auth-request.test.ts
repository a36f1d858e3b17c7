import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';

const load = oneGateway();

test('a response that neither allows nor denies is logged as nginx logs it', async (t) => {
  const gw = await load(
    t,
    'server { location / { auth_request /auth; return 200; } location /x { auth_request /auth; } location = /auth { return 418; } }',
  );
  await gw.expect('GET /x', { status: 500 });
  await gw.waitForLog(/\[error\] .*auth request unexpected status: 418, client: 127\.0\.0\.1, /);
});

test('a location that is its own auth_request does not loop', async (t) => {
  const gw = await load(
    t,
    'server { error_page 404 = @in; auth_request /a; location @in { return 200 in; } location / { } }',
  );
  // A subrequest is not authorised again, because its request was.
  await gw.expect('GET /a', { status: 200, body: 'in' });
});

test('a client that leaves during the subrequest delays nothing', async (t) => {
  const gw = await startGateway(
    t,
    `limit_req_zone all zone=slow:1m rate=1r/m;
     server { location / { auth_request /slow; } location /slow { limit_req zone=slow burst=5; error_page 404 = @ok; } location @ok { return 204; } }`,
  );
  await gw.fetch('/');
  const waiting = await gw.connect();
  waiting.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await gw.waitForLog(/delaying request/);
  expect(waiting.received()).toBe('');
  waiting.destroy();
  await gw.waitForAccessLog(/ 499 /);
  await gw.stop('SIGQUIT');
});
