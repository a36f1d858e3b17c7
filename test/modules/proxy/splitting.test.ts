import { expect, test } from 'vitest';
import { passedTrailers } from '../../../src/forwarding/response-delivery.ts';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const OK = 'HTTP/1.1 200 OK\\r\\n';
const SCRIPTS = readScripts(String.raw`
type: "${OK}Content-Type: text/html\rX-Evil: 1\r\nContent-Length: 2\r\n\r\nhi"
value: "${OK}X-A: a\rX-Evil: 1\r\nContent-Length: 2\r\n\r\nhi"
kept-type: "${OK}X-Accel-Redirect: /kept\r\nContent-Type: text/html\rX-Evil: 1\r\nContent-Length: 2\r\n\r\nno"
trailer: "${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-A: a\rX-Evil: 1\r\nContent-Length: 9\r\nX-Good: g\r\n\r\n"
switch: "HTTP/1.1 101 Fine\r\nConnection: upgrade\r\nUpgrade: other\r\nX-A: a\r\n\r\n"
`);

for (const name of ['type', 'kept-type', 'value', 'trailer']) {
  test(`an upstream cannot put a header into a response by a carriage return in a ${name}`, async (t) => {
    const upstream = await startScriptedUpstream(t, SCRIPTS);
    const gw = await load(
      t,
      `server { location / {
        proxy_http_version 1.1; proxy_pass_trailers on; proxy_pass http://127.0.0.1:${upstream.port};
      } location = /kept { return 200 hi; } }`,
    );
    const response = await gw.raw(`GET /~${name} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n(?:2\r\n)?hi/);
    expect(response).not.toMatch(/Evil|Content-Length: 9/);
  });
}

test('a 502 for an upgrade that cannot be passed on has no headers of the upstream', async (t) => {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  const port = await freePort();
  const conf = `server { listen 127.0.0.1:${port} engine=uws; location / {
    proxy_http_version 1.1; proxy_upgrade_protocols other; proxy_set_header Upgrade $http_upgrade; proxy_pass http://127.0.0.1:${upstream.port};
  } }`;
  const gw = await startGateway(t, conf, { port });
  const response = await gw.raw('GET /~switch HTTP/1.1\r\nHost: a\r\nUpgrade: other\r\n\r\n');
  expect(response).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
  expect(response).not.toContain('X-A');
});

test('trailers that would frame or split a response are dropped, the others pass', () => {
  const framing = ['Content-Length', '5', 'transfer-encoding', 'chunked'];
  const splitting = ['Bad Name', '1', 'X-Split', 'a\rb', 'X-Nul', '\0'];
  expect(passedTrailers(['X-Sum', '1', ...framing, ...splitting, 'Server-Timing', 'db;dur=1'])).toEqual([
    'X-Sum',
    '1',
    'Server-Timing',
    'db;dur=1',
  ]);
});
