import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../../harness/gateway.ts';
import { call } from '../../harness/http.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const SCRIPTS = readScripts(String.raw`
closes: <close>
s500: "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops"
s404: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"
garbage: "garbage\r\n\r\n"
stalls: <stall>
half: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf" <pause> <close>
`);

/** Two peers: the first one misbehaves as its script says, the second one echoes. */
const cases: readonly {
  it: string;
  conf?: string;
  line: string;
  script: string;
  status: number;
  asked: number;
  body?: string;
}[] = [
  { it: 'a GET whose connection is closed', line: 'GET', script: 'closes', status: 200, asked: 2 },
  { it: 'a PUT, which may be repeated', line: 'PUT', script: 'closes', status: 200, asked: 2, body: 'again' },
  {
    it: 'a POST only when configured',
    line: 'POST',
    script: 'closes',
    conf: 'proxy_next_upstream error non_idempotent;',
    status: 200,
    asked: 2,
    body: 'again',
  },
  {
    it: 'a 500 when configured',
    line: 'GET',
    script: 's500',
    conf: 'proxy_next_upstream http_500;',
    status: 200,
    asked: 2,
  },
  {
    it: 'a 404 when configured',
    line: 'GET',
    script: 's404',
    conf: 'proxy_next_upstream http_404;',
    status: 200,
    asked: 2,
  },
  { it: 'a timeout', line: 'GET', script: 'stalls', status: 200, asked: 2 },
  {
    it: 'garbage when configured',
    line: 'GET',
    script: 'garbage',
    conf: 'proxy_next_upstream invalid_header;',
    status: 200,
    asked: 2,
  },
  { it: 'no POST that was sent', line: 'POST', script: 'closes', status: 502, asked: 1, body: 'once' },
  { it: 'no PATCH that was sent', line: 'PATCH', script: 'closes', status: 502, asked: 1, body: 'once' },
  {
    it: 'no POST on a 500',
    line: 'POST',
    script: 's500',
    conf: 'proxy_next_upstream http_500;',
    status: 500,
    asked: 1,
    body: 'once',
  },
  {
    it: 'no request whose body was sent unbuffered',
    line: 'PUT',
    script: 'closes',
    conf: 'proxy_request_buffering off;',
    status: 502,
    asked: 1,
    body: 'once',
  },
  { it: 'no 500 by default', line: 'GET', script: 's500', status: 500, asked: 1 },
  { it: 'no garbage by default', line: 'GET', script: 'garbage', status: 502, asked: 1 },
  {
    it: 'nothing when it is off',
    line: 'GET',
    script: 'closes',
    conf: 'proxy_next_upstream off;',
    status: 502,
    asked: 1,
  },
  {
    it: 'nothing beyond the tries',
    line: 'GET',
    script: 'closes',
    conf: 'proxy_next_upstream_tries 1;',
    status: 502,
    asked: 1,
  },
  { it: 'nothing once the response has begun', line: 'GET', script: 'half', status: 200, asked: 1 },
];

for (const { it, conf = '', line, script, status, asked, body } of cases) {
  test(`the next peer gets ${it}`, async (t) => {
    const bad = await startScriptedUpstream(t, new Map([['here', SCRIPTS.get(script) ?? []]]));
    const good = await startScriptedUpstream(t, new Map());
    const gw = await load(
      t,
      `proxy_read_timeout 300ms; ${conf}
       upstream two { server 127.0.0.1:${bad.port} max_fails=0; server 127.0.0.1:${good.port} backup; }
       server { location / { proxy_pass http://two; } }`,
    );
    const response = gw.raw(
      `${line} /~here HTTP/1.1\r\nHost: a\r\n${body === undefined ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body ?? ''}`,
    );
    expect(await response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const heard = [...bad.heard(), ...good.heard()];
    expect(heard).toHaveLength(asked);
    if (body !== undefined) expect(heard.every((request) => request.endsWith(` << ${body}`))).toBe(true);
  });
}

test('a kept-alive connection that the peer has closed fails no request', async (t) => {
  let served = 0;
  const upstream = await startServer(t, 0, () => served++);
  const gw = await load(
    t,
    `upstream one { server 127.0.0.1:${upstream.port}; keepalive 4; } server { location / { proxy_pass http://one; } }`,
  );
  for (let round = 0; round < 20; round++) {
    await gw.expect('GET /', { status: 200 });
    upstream.server.closeIdleConnections();
  }
  expect(served).toBe(20);
});

test('a kept-alive connection that the peer has closed does not use up a try', async (t) => {
  let isBad = false;
  const bad = createServer(({ socket }, response) => void (isBad ? socket.destroy() : response.end('ok')));
  await once(bad.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => bad.close().closeAllConnections());
  const good = await startServer(t, 0, () => undefined);
  const gw = await load(
    t,
    `proxy_next_upstream_tries 2;
     upstream two { server 127.0.0.1:${(bad.address() as AddressInfo).port}; server 127.0.0.1:${good.port} backup; keepalive 4; }
     server { location / { proxy_pass http://two; } }`,
  );
  await gw.expect('GET /', { status: 200 });
  isBad = true;
  await gw.expect('GET /', { status: 200 });
});

test('a request that meets kept connections which end gets a new one after the third', async (t) => {
  const held: (() => void)[] = [];
  const known = new Set<unknown>();
  let ended = 0;
  const server = createServer(({ socket, url }, response) => {
    if (known.has(socket)) return void (ended++, socket.destroy());
    known.add(socket);
    if (url === '/held') held.push(() => response.end('ok'));
    else response.end('new');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const gw = await load(
    t,
    `upstream one { server 127.0.0.1:${port}; keepalive 8; } server { location / { proxy_pass http://one; } }`,
  );
  const first = Array.from({ length: 6 }, () => gw.fetch('/held'));
  await expect.poll(() => held.length).toBe(6);
  for (const respond of held) respond();
  await Promise.all(first);
  await gw.expect('GET /', { status: 200, body: 'new' });
  expect(ended).toBe(3);
});

interface Started {
  readonly server: Server;
  readonly port: number;
}

async function startServer(t: Owner, port: number, served: () => void): Promise<Started> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      served();
      setTimeout(() => response.end('ok'), 5);
    });
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    if (server.listening) await once(server.close(), 'close');
  });
  return { server, port: (server.address() as AddressInfo).port };
}

test('an upstream killed under load loses only requests that it got and that may not be repeated', async (t) => {
  const staying = await startServer(t, 0, () => undefined);
  const killed = await startServer(t, 0, () => undefined);
  const gw = await load(
    t,
    `upstream two { server 127.0.0.1:${staying.port}; server 127.0.0.1:${killed.port}; keepalive 16; }
     server { location / { proxy_pass http://two; } }`,
  );
  const statuses = { GET: new Map<number, number>(), POST: new Map<number, number>() };
  const lane = async (method: 'GET' | 'POST'): Promise<void> => {
    for (let round = 0; round < 40; round++) {
      const { status } = await call(gw.port, '/', { method, ...(method === 'POST' && { body: 'x' }) });
      statuses[method].set(status, (statuses[method].get(status) ?? 0) + 1);
      if (round === 15 && killed.server.listening) {
        killed.server.close();
        killed.server.closeAllConnections();
      }
    }
  };
  await Promise.all([lane('GET'), lane('GET'), lane('GET'), lane('POST'), lane('POST')]);
  expect([...statuses.GET]).toEqual([[200, 120]]);
  // At most one request of each lane was in flight; a closed idle connection may fail one more.
  expect(statuses.POST.get(502) ?? 0).toBeLessThanOrEqual(4);
  expect((statuses.POST.get(200) ?? 0) + (statuses.POST.get(502) ?? 0)).toBe(80);
});
