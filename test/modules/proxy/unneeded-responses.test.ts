import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const SCRIPTS = readScripts(String.raw`
sent-elsewhere: "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /own\r\nContent-Length: 0\r\n\r\n"
intercepted: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
unchanged: "HTTP/1.1 304 Not Modified\r\n\r\n"
with-a-body: "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n" <pause> "hello"`);

/** The number of connections for two requests. */
const cases = [
  { it: 'one with a redirect inside the gateway', path: '/~sent-elsewhere', connections: 1 },
  { it: 'one with an error page of the gateway', path: '/~intercepted', connections: 1 },
  { it: 'one for a client that has the file', path: '/~unchanged', status: 304, connections: 1 },
  { it: 'one whose body is still to come', path: '/~with-a-body', connections: 2 },
];

for (const { it, path, status = 200, connections } of cases) {
  const takes = connections === 1 ? 'leaves its connection open' : 'costs its connection';
  test(`a response that is not needed ${takes}: ${it}`, async (t) => {
    const upstream = await startScriptedUpstream(t, SCRIPTS);
    const gw = await load(
      t,
      `upstream kept { server 127.0.0.1:${upstream.port}; keepalive 4; }
       server {
         proxy_http_version 1.1; proxy_set_header Connection ""; proxy_intercept_errors on; error_page 404 =200 /own;
         location / { proxy_pass http://kept; }
         location = /own { return 200 own; }
       }`,
    );
    for (let count = 0; count < 2; count++) await gw.expect(`GET ${path}`, { status });
    expect(upstream.connections()).toBe(connections);
  });
}
