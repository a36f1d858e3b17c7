import { createSocket } from 'node:dgram';
import { expect, test } from 'vitest';
import { freePort } from '../../harness/ports.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';
import { postgres } from '../../harness/postgres.ts';
import { connectRaw } from '../../harness/raw.ts';
import { perTier } from '../../harness/tier.ts';

const load = oneGateway();
type Gateway = Awaited<ReturnType<typeof load>>;

/** The first line of a log, once it has one. */
async function firstLine(gw: Gateway, file: string): Promise<Record<string, unknown>> {
  await expect.poll(() => gw.read(file)).toContain('\n');
  return JSON.parse(gw.read(file).split('\n')[0] as string) as Record<string, unknown>;
}

test('"json" has the usual members, numbers as numbers, and null for what is absent', async (t) => {
  const gw = await load(t, 'server { access_log a.log json; location / { return 200 "hello"; } }');
  await gw.fetch('/x%20y?b=1&token=abc', { headers: { referer: 'http://r/?key=1', 'user-agent': 'a "q"' } });
  const line = await firstLine(gw, 'a.log');
  expect(line).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    remote_addr: '127.0.0.1',
    remote_user: null,
    method: 'GET',
    uri: '/x%20y',
    query: 'b=1&token=***',
    protocol: 'HTTP/1.1',
    host: '127.0.0.1',
    status: 200,
    bytes: 5,
    request_time: expect.any(Number),
    referer: 'http://r/?key=***',
    user_agent: 'a "q"',
    request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    trace_id: null,
  });
});

test('"json_full" adds the server, the location, upstreams as lists, and who refused', async (t) => {
  const [gone, peer] = [
    await freePort(),
    await startPeer(t, 'peer', (_, response) => void response.end('ok')),
  ];
  const gw = await load(
    t,
    `upstream both { server 127.0.0.1:${gone}; server 127.0.0.1:${peer.port} backup; }
     server { server_name a.example; access_log off;
       location /one { access_log one.log json_full; proxy_pass http://127.0.0.1:${peer.port}; }
       location /two { access_log two.log json_full; proxy_pass http://both; }
       location ~ ^/none { access_log none.log json_full; return 204; }
     }`,
  );
  for (const path of ['/one', '/two', '/none']) await gw.fetch(path);
  const seen = { upstream_status: 200, upstream_response_time: expect.any(Number) };
  expect(await firstLine(gw, 'one.log')).toMatchObject({
    server: 'a.example',
    location: '/one',
    upstream_addr: `127.0.0.1:${peer.port}`,
    ...seen,
    refused_by: null,
  });
  expect(await firstLine(gw, 'two.log')).toMatchObject({
    upstream_addr: [`127.0.0.1:${gone}`, `127.0.0.1:${peer.port}`],
    upstream_status: [502, 200],
    upstream_response_time: [expect.any(Number), expect.any(Number)],
  });
  const absent =
    'upstream_addr upstream_status upstream_response_time cache_status sub api_key_id tls refused_by sqlstate';
  expect(await firstLine(gw, 'none.log')).toMatchObject({
    status: 204,
    location: '^/none',
    ...Object.fromEntries(absent.split(' ').map((name) => [name, null])),
  });
});

test('"json_full" names the module that refused a request', async (t) => {
  const { port } = await startPeer(t, 'peer', (_, response) => void response.end('ok'));
  const gw = await load(
    t,
    `limit_req_zone $binary_remote_addr zone=json:1m rate=1r/m;
     server { access_log refused.log json_full;
       location /denied { deny all; proxy_pass http://127.0.0.1:${port}; }
       location /limited { limit_req zone=json; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  for (const path of ['/denied', '/limited', '/limited']) await gw.fetch(path);
  const lines = () => gw.read('refused.log').trim().split('\n');
  await expect
    .poll(() => lines().map((line) => (JSON.parse(line || '{}') as { refused_by: unknown }).refused_by))
    .toEqual(['access', null, 'limit_req']);
});

test('"json_full" has the code of an error of PostgreSQL, and no code of gw', async (t) => {
  const { dsn } = await postgres('create table items (id int primary key); grant select on items to public;');
  const gw = await load(
    t,
    `server { access_log sql.log json_full; location / { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`,
  );
  await gw.fetch('/items?id=eq.word');
  await gw.fetch('/nothing');
  await expect.poll(() => gw.read('sql.log').match(/"sqlstate":"22P02"/g)).toHaveLength(1);
  await expect.poll(() => gw.read('sql.log').match(/"sqlstate":null/g)).toHaveLength(1);
});

test('a log_format of the configuration replaces the predefined one of its name', async (t) => {
  const gw = await load(
    t,
    `log_format json escape=json '{"mine":"$uri"}';
     server { access_log mine.log json; location / { return 200; } }`,
  );
  await gw.fetch('/a');
  expect(await firstLine(gw, 'mine.log')).toEqual({ mine: '/a' });
});

test('long values are cut at 8 KB, and the line says so', async (t) => {
  const gw = await load(
    t,
    'server { large_client_header_buffers 4 32k; access_log long.log json; location / { return 200; } }',
  );
  await gw.fetch(`/${'p'.repeat(9_000)}`, { headers: { 'user-agent': 'short' } });
  const line = await firstLine(gw, 'long.log');
  expect(line).toMatchObject({ user_agent: 'short', truncated: true });
  expect(line['uri']).toBe(`/${'p'.repeat(8_191)}`);
});

test('a line to a syslog server fits into 4 KB and stays JSON', async (t) => {
  const socket = createSocket('udp4');
  const packets: string[] = [];
  socket.on('message', (packet) => packets.push(packet.toString()));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.onTestFinished(() => void socket.close());
  const gw = await load(
    t,
    `server { large_client_header_buffers 4 32k; location / { return 200; }
       access_log syslog:server=127.0.0.1:${socket.address().port},nohostname json_full; }`,
  );
  await gw.fetch(`/${'p'.repeat(9_000)}`, { headers: { referer: '"'.repeat(9_000) } });
  await expect.poll(() => packets).toHaveLength(1);
  const text = (packets[0] as string).replace(/^.*? gw: /, '');
  expect(Buffer.byteLength(text)).toBeLessThan(4_097);
  expect(JSON.parse(text)).toMatchObject({ status: 200, truncated: true });
});

const SECRET = 's3cretPlanted';

test('lines about requests of random bytes are JSON, in valid UTF-8, and have no planted secret', async (t) => {
  const gw = await load(
    t,
    'server { access_log random.log json_full; error_log random-error.log info json; location / { deny all; } }',
  );
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed % below;
  };
  const bytes = (from: number): Buffer => {
    const all = Buffer.from(Array.from({ length: random(200) }, () => from + random(256 - from)));
    return Buffer.from(all.filter((byte) => byte !== 0x7f));
  };
  const count = perTier({ short: 500, long: 20_000 });
  for (let n = 0; n < count; n++) {
    const connection = await connectRaw(gw.port);
    const noise = encodeURIComponent(bytes(0x21).toString('latin1'));
    connection.write(
      Buffer.concat([
        Buffer.from(`GET /${n}?token=${SECRET}&x=${noise} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n`),
        Buffer.from(`Authorization: Bearer ${SECRET}\r\nCookie: sid=${SECRET}\r\nReferer: `),
        bytes(0x21),
        Buffer.from(`?password=${SECRET}\r\nUser-Agent: `),
        bytes(0x80),
        Buffer.from('\r\n\r\n'),
      ]),
    );
    expect(await connection.closed).toContain('403 Forbidden');
  }
  await expect.poll(() => gw.read('random.log').split('\n').length).toBe(count + 1);
  const lines = [gw.read('random.log'), gw.read('random-error.log')].flatMap((log) =>
    log.split('\n').slice(0, -1),
  );
  for (const line of lines) JSON.parse(line);
  expect(lines.filter((line) => line.includes(SECRET))).toEqual([]);
});
