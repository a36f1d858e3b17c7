import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';

const site = (log: string): string => `
  log_format f '$uri $status $request';
  access_log all.log f;
  server {
    location = /ask { internal; ${log} return 204; }
    location /plain { auth_request /ask; ${log} try_files /none /last; }
    location = /last { return 200 "x"; }
  }`;

test('a subrequest is logged where log_subrequest is on', async (t) => {
  const gw = await startGateway(t, site('log_subrequest on;'));
  await gw.fetch('/plain');
  await expect
    .poll(() => gw.read('all.log'))
    .toBe('/ask 204 GET /plain HTTP/1.1\n/last 200 GET /plain HTTP/1.1\n');
});

test('a subrequest is not logged by default', async (t) => {
  const gw = await startGateway(t, site(''));
  await gw.fetch('/plain');
  await expect.poll(() => gw.read('all.log')).toBe('/last 200 GET /plain HTTP/1.1\n');
});

test('a finished subrequest is logged once, also when the client leaves', async (t) => {
  const silent = await startPeer(t, '', () => undefined);
  const gw = await startGateway(
    t,
    site('log_subrequest on;').replace('try_files /none /last', `proxy_pass http://127.0.0.1:${silent.port}`),
  );
  const client = await gw.connect();
  client.write('GET /plain HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(() => silent.requests.length).toBe(1);
  client.destroy();
  await expect
    .poll(() => gw.read('all.log'))
    .toBe('/ask 204 GET /plain HTTP/1.1\n/plain 499 GET /plain HTTP/1.1\n');
});
