import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const OK = 'HTTP/1.1 200 OK\\r\\n';
const SCRIPTS = readScripts(String.raw`
closes: <close>
resets: <reset>
stalls: <stall>
half-head: "HTTP/1.1 200 OK\r\nContent-" <close>
half-body: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" <pause> <close>
bad-chunk: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n" <pause> "zz\r\n"
big-head: "HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(2000)}\r\n\r\n"
sixteen-interims: ${'"HTTP/1.1 103 Early Hints\\r\\n\\r\\n" '.repeat(16)} "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
endless-interims: "${'HTTP/1.1 100 Continue\\r\\n\\r\\n'.repeat(100_000)}" <stall>
slow-interims: ${'"HTTP/1.1 103 Early Hints\\r\\n\\r\\n" <pause> '.repeat(40)} <stall>
garbage: "garbage\r\n\r\n"
folded: "HTTP/1.1 200 OK\r\nX-A: 1\r\n folded\r\n\r\n"
`);

const FRAMINGS = [
  'Content-Length: 2\\r\\nContent-Length: 3',
  'Content-Length: 2\\r\\nContent-Length: 2',
  'Content-Length: 2\\r\\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\\r\\nContent-Length: 2',
  'Content-Length: two',
  'Content-Length: -2',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
];

const faults: readonly { path: string; status: number; log: string }[] = [
  {
    path: '/refused/x',
    status: 502,
    log: 'connect() failed (111: Connection refused) while connecting to upstream',
  },
  {
    path: '/~closes',
    status: 502,
    log: 'upstream prematurely closed connection while reading response header from upstream',
  },
  {
    path: '/~half-head',
    status: 502,
    log: 'upstream prematurely closed connection while reading response header from upstream',
  },
  {
    path: '/~resets',
    status: 502,
    log: 'recv() failed (104: Connection reset by peer) while reading response header from upstream',
  },
  {
    path: '/~stalls',
    status: 504,
    log: 'upstream timed out (110: Connection timed out) while reading response header from upstream',
  },
  {
    path: '/~big-head',
    status: 502,
    log: 'upstream sent too big header while reading response header from upstream',
  },
  {
    path: '/~garbage',
    status: 502,
    log: 'upstream sent no valid HTTP/1.0 header while reading response header from upstream',
  },
  {
    path: '/~folded',
    status: 502,
    log: 'upstream sent invalid header: " folded\\x0d..." while reading response header from upstream',
  },
  ...['/~endless-interims', '/~slow-interims'].map((path) => ({
    path,
    status: 502,
    log: 'upstream sent too many interim responses while reading response header from upstream',
  })),
  { path: '/down/x', status: 502, log: 'no live upstreams while connecting to upstream' },
];

for (const { path, status, log } of faults) {
  test(`${path} gets ${status} and is logged as nginx logs it`, async (t) => {
    const upstream = await startScriptedUpstream(t, SCRIPTS);
    const gw = await load(
      t,
      `proxy_read_timeout 200ms; proxy_buffer_size 1k; proxy_next_upstream off;
       upstream down { server 127.0.0.1:${upstream.port} down; }
       server {
         location / { proxy_pass http://127.0.0.1:${upstream.port}; }
         location /refused/ { proxy_pass http://127.0.0.1:${await freePort()}; }
         location /down/ { proxy_pass http://down; }
       }`,
    );
    await gw.expect(`GET ${path}`, { status });
    const [line] = await gw.waitForLog(/ \[error\] .*/);
    expect(line).toContain(log);
    expect(line).toMatch(
      /, client: 127\.0\.0\.1, server: , request: "GET \S+ HTTP\/1\.1", upstream: "http:\/\/[^"]+", host: "[^"]+"$/,
    );
  });
}

test('a response may follow sixteen interim ones', async (t) => {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  const gw = await load(t, `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`);
  await gw.expect('GET /~sixteen-interims', { status: 200, body: 'hi' });
});

for (const framing of FRAMINGS) {
  test(`a response framed by ${framing} is a 502, and its connection is not used again`, async (t) => {
    const upstream = await startScriptedUpstream(t, readScripts(`odd: "${OK}${framing}\\r\\n\\r\\nhi"`));
    const gw = await load(t, `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`);
    await gw.expect('GET /~odd', { status: 502 });
    await gw.expect('GET /x', { status: 200, body: 'GET /x' });
    expect(upstream.connections()).toBe(2);
  });
}

test('a body that breaks off cuts the connection of the client', async (t) => {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  const gw = await load(t, `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`);
  expect(await gw.raw('GET /~half-body HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(
    /\r\nContent-Length: 10\r\n[^]*\r\nhalf$/,
  );
  expect(await gw.raw('GET /~bad-chunk HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(/\r\n2\r\nhi(?:\r\n)?$/);
  await gw.waitForLog(/upstream prematurely closed connection while reading upstream/);
  await gw.waitForLog(/upstream sent invalid chunked response while reading upstream/);
});
