import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway, startGateway, type Owner } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

async function listen(t: Owner, listener: RequestListener, path?: string): Promise<Server> {
  const server = createServer(listener);
  await once(path === undefined ? server.listen(0, '127.0.0.1') : server.listen(path), 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

test('an upstream may be a Unix socket, with and without a URI', async (t) => {
  const path = join(tmpdir(), `gw-proxy-${process.pid}.sock`);
  await listen(t, (request, response) => response.end(`${request.headers.host} ${request.url}`), path);
  const gw = await startGateway(
    t,
    `server {
       location / { proxy_pass http://unix:${path}; }
       location /uri/ { proxy_pass http://unix:${path}:/to/; }
       location /variable/ { proxy_pass http://unix:${path}:/fixed$is_args$args; }
     }`,
  );
  await gw.expect('GET /x?y', { status: 200, body: 'localhost /x?y' });
  await gw.expect('GET /uri/x', { status: 200, body: 'localhost /to/x' });
});

test('proxy_bind sets the local address of connections, also from variables', async (t) => {
  const server = await listen(t, (request, response) => response.end(request.socket.remoteAddress));
  const gw = await load(
    t,
    `server {
       location / { proxy_bind 127.0.0.5; proxy_pass http://127.0.0.1:${portOf(server)}; }
       location /variable/ { proxy_bind 127.0.0.$arg_last; proxy_pass http://127.0.0.1:${portOf(server)}; }
       location /off/ { proxy_bind off; proxy_pass http://127.0.0.1:${portOf(server)}; }
     }`,
  );
  await gw.expect('GET /', { body: '127.0.0.5' });
  await gw.expect('GET /variable/?last=7', { body: '127.0.0.7' });
  await gw.expect('GET /variable/?last=8', { body: '127.0.0.8' });
  await gw.expect('GET /off/', { body: '127.0.0.1' });
});

test('proxy_bind takes a port, for one connection at a time', async (t) => {
  const server = await listen(t, (request, response) => response.end(String(request.socket.remotePort)));
  const port = await freePort();
  const gw = await load(
    t,
    `upstream two { server 127.0.0.1:${portOf(server)}; server 127.0.0.1:${portOf(server)} backup; }
     server {
       location / { proxy_bind 127.0.0.5:${port}; proxy_pass http://127.0.0.1:${portOf(server)}; }
       location /variable/ { proxy_bind $arg_to; proxy_pass http://two; }
     }`,
  );
  await gw.expect('GET /', { body: String(port) });
  await gw.expect(`GET /variable/?to=127.0.0.6:${port}`, { body: String(port) });
  await gw.expect(`GET /variable/?to=127.0.0.1:${gw.port}`, { status: 500 });
  await gw.expect('GET /variable/?to=127.0.0', { status: 200 });
  await gw.expect('GET /variable/?to=', { status: 200 });
  const log = readFileSync(join(gw.dir, 'error.log'), 'utf8');
  expect(log).toContain(`bind(127.0.0.1:${gw.port}) failed (98: Address already in use)`);
  expect(log).toContain('invalid local address "127.0.0"');
});

const keepalives: readonly { it: string; conf: string; connections: number }[] = [
  { it: 'are used again', conf: 'keepalive 4;', connections: 1 },
  { it: 'are closed with "keepalive 0"', conf: 'keepalive 0;', connections: 5 },
  { it: 'are used again by default', conf: '', connections: 1 },
  {
    it: 'carry no more requests than configured',
    conf: 'keepalive 4; keepalive_requests 2;',
    connections: 3,
  },
];

for (const { it, conf, connections } of keepalives) {
  test(`connections to an upstream ${it}`, async (t) => {
    const upstream = await startScriptedUpstream(t, new Map());
    const gw = await load(
      t,
      `upstream one { server 127.0.0.1:${upstream.port}; ${conf} } server { location / { proxy_pass http://one; } }`,
    );
    for (let round = 0; round < 5; round++) await gw.expect('GET /x', { status: 200 });
    expect(upstream.connections()).toBe(connections);
  });
}

for (const status of [200, 204, 304]) {
  for (const cache of ['', 'proxy_cache one;', 'proxy_cache one; proxy_cache_valid any 1h;']) {
    test(`a ${status} without a body leaves the connection to its upstream open, with "${cache}"`, async (t) => {
      let connections = 0;
      const server = await listen(t, (_request, response) => response.writeHead(status).end());
      server.on('connection', () => connections++);
      const gw = await load(
        t,
        `proxy_cache_path cache${portOf(server)} keys_zone=one:1m;
          server { location / { ${cache} proxy_pass http://127.0.0.1:${portOf(server)}; } }`,
      );
      for (const path of ['/1', '/2', '/3']) await gw.expect(`GET ${path}`, { status, body: '' });
      expect(connections).toBe(1);
    });
  }
}

test('connections to an upstream outlive a reload', async (t) => {
  const upstream = await startScriptedUpstream(t, new Map());
  const conf = `upstream one { server 127.0.0.1:${upstream.port}; keepalive 4; } server { location / { proxy_pass http://one; } }`;
  const gw = await load(t, conf);
  await gw.expect('GET /before', { status: 200 });
  await gw.reload(`${conf} # changed`);
  await gw.expect('GET /after', { status: 200 });
  expect(upstream.connections()).toBe(1);
});

test('the access log has the outcome of each upstream', async (t) => {
  const upstream = await startScriptedUpstream(t, new Map());
  const gw = await load(
    t,
    `log_format up "$upstream_addr $upstream_status $upstream_response_length $upstream_bytes_sent $upstream_bytes_received $upstream_connect_time $upstream_header_time $upstream_response_time";
     access_log access.log up;
     server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`,
  );
  await gw.expect('GET /x', { status: 200, headers: {} });
  const sent = `GET /x HTTP/1.1\r\nHost: 127.0.0.1:${upstream.port}\r\n\r\n`.length;
  const [line] = await gw.waitForAccessLog(/.+/);
  expect(line).toMatch(
    new RegExp(`^127\\.0\\.0\\.1:${upstream.port} 200 6 ${sent} \\d+ 0\\.0\\d\\d 0\\.0\\d\\d 0\\.0\\d\\d$`),
  );
});

for (const [it, request, body, status] of [
  ['an intercepted response', 'GET /page', '0', 404],
  ['a response with X-Accel-Redirect', 'GET /accel', '0', 200],
  ['a response to HEAD', 'HEAD /plain', '0', 404],
  ['a response that leads to another upstream', 'GET /other', '0 : 4', 404],
] as const)
  test(`the access log has the time and the bytes of ${it}`, async (t) => {
    const gw = await load(
      t,
      (
        _,
        port,
      ) => `log_format up "$upstream_response_length|$upstream_bytes_received|$upstream_header_time|$upstream_response_time";
       server { access_log access.log up; proxy_set_header Host up; proxy_intercept_errors on;
         location / { error_page 404 @own; proxy_pass http://127.0.0.1:${port}; }
         location @own { return 404 own; }
         location /accel { proxy_pass http://127.0.0.1:${port}; }
         location /inner { return 200 inner; }
         location /plain { proxy_intercept_errors off; proxy_pass http://127.0.0.1:${port}; }
         location /other { error_page 404 @other; proxy_pass http://127.0.0.1:${port}; }
         location @other { proxy_intercept_errors off; proxy_pass http://127.0.0.1:${port}; } }
       server { listen 127.0.0.1:${port}; server_name up; access_log off; location / { return 404 none; }
         location /accel { add_header X-Accel-Redirect /inner; return 200 none; } }`,
    );
    await gw.expect(request, { status });
    const [line = ''] = await gw.waitForAccessLog(/.+/);
    const [length, ...others] = line.split('|');
    expect(length).toBe(body);
    const each = body.split(' : ').map(() => '\\d+');
    expect(others[0]).toMatch(new RegExp(`^${each.map(() => '[1-9]\\d+').join(' : ')}$`));
    for (const time of others.slice(1))
      expect(time).toMatch(new RegExp(`^${each.map(() => '\\d\\.\\d{3}').join(' : ')}$`));
  });

const smuggled: readonly { it: string; head: string; absent: RegExp }[] = [
  { it: 'headers that Connection names', head: 'Connection: close, X-Hop\r\nX-Hop: 1\r\n', absent: /x-hop/ },
  { it: 'Proxy', head: 'Proxy: http://evil/\r\n', absent: /\| proxy:/ },
  { it: 'Proxy-Connection', head: 'Proxy-Connection: keep-alive\r\n', absent: /proxy-connection/ },
  { it: 'TE and Trailer', head: 'TE: trailers\r\nTrailer: X\r\n', absent: /\| te:|trailer/ },
  { it: 'names with an underscore', head: 'X_Real_IP: 6.6.6.6\r\n', absent: /x_real_ip/ },
  {
    it: 'Upgrade unless configured',
    head: 'Upgrade: h2c\r\nConnection: Upgrade\r\n',
    absent: /upgrade/,
  },
];

for (const { it, head, absent } of smuggled) {
  test(`an upstream never sees ${it}`, async (t) => {
    const upstream = await startScriptedUpstream(t, new Map());
    const gw = await load(t, `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`);
    await gw.raw(`GET / HTTP/1.1\r\nHost: a\r\n${head}X-Kept: 1\r\n\r\n`);
    const [heard = ''] = upstream.heard();
    expect(heard).toContain('x-kept: 1');
    expect(heard).not.toMatch(absent);
  });
}

test('Connection cannot remove the headers that frame a request', async (t) => {
  const upstream = await startScriptedUpstream(t, new Map());
  const gw = await load(t, `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`);
  await gw.raw(
    'POST / HTTP/1.1\r\nHost: a\r\nConnection: Host, Authorization, Content-Length, Cookie\r\nAuthorization: Basic eA==\r\nCookie: a=1\r\nContent-Length: 2\r\n\r\nhi',
  );
  const [heard = ''] = upstream.heard();
  expect(heard).toMatch(/content-length: 2.*authorization: Basic eA==.*cookie: a=1.* << hi$/);
});

test('a length that the configuration sets cannot break the framing', async (t) => {
  const upstream = await startScriptedUpstream(t, new Map());
  const gw = await load(
    t,
    `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; proxy_set_header Content-Length 99; proxy_set_header Transfer-Encoding gzip;
       proxy_set_header Host one; proxy_set_header Host two; } }`,
  );
  await gw.expect('POST /', { status: 200 }, { body: 'body' });
  const [heard = ''] = upstream.heard();
  expect(heard.match(/content-length: \d+/g)).toEqual(['content-length: 4']);
  expect(heard.match(/transfer-encoding/g)).toBeNull();
  expect(heard.match(/host: \w+/g)).toEqual(['host: one']);
});

test('a request cannot aim variables at a Unix socket or hide a login', async (t) => {
  const gw = await load(t, 'server { location / { proxy_pass http://$arg_to; } }');
  await gw.expect('GET /?to=unix:/run/secret.sock:', { status: 502 });
  await gw.expect('GET /?to=user@127.0.0.1:1', { status: 502 });
});

test('ambiguous requests are refused before any upstream sees them', async (t) => {
  const upstream = await startScriptedUpstream(t, new Map());
  const gw = await load(t, `server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`);
  await gw.raw(
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  );
  await gw.raw('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi');
  await gw.raw('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n');
  expect(upstream.heard()).toEqual([]);
});

test('a missing socket of an upstream is logged at the level crit, with its path', async (t) => {
  const gw = await load(t, 'server { location / { proxy_pass http://unix:/no/such/dir/up.sock; } }');
  await gw.expect('GET /', { status: 502 });
  await gw.waitForLog(
    /\[crit\] .*connect\(\) to unix:\/no\/such\/dir\/up\.sock failed \(2: No such file or directory\) while connecting to upstream/,
  );
});
