import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';

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

test('without it a subrequest leaves no line', async (t) => {
  const gw = await startGateway(t, site(''));
  await gw.fetch('/plain');
  await expect.poll(() => gw.read('all.log')).toBe('/last 200 GET /plain HTTP/1.1\n');
});
