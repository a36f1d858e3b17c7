import type { ServerHttp2Stream } from 'node:http2';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../harness/gateway.ts';
import { GrpcClient, startGrpc } from '../harness/grpc.ts';
import { callHttp2 } from '../harness/http2-client.ts';
import { startHttp2 } from '../harness/http2-upstream.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';

/* The same calls through nginx and through gw: what the client sees, and what the server hears. */

const load = oneGateway();

const servers: readonly { name: string; start: (t: Owner, http: string) => Promise<number> }[] = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: startNginx }] : []),
  { name: 'gw', start: startGw },
];

async function startGw(t: Owner, http: string): Promise<number> {
  return (await load(t, (_, port) => http.replaceAll('PORT', String(port)))).port;
}

const calls = [
  { name: 'Unary', messages: ['hello'], metadata: {}, code: 0, gets: ['hello'] },
  { name: 'Collect', messages: ['a', 'b'], metadata: {}, code: 0, gets: ['ab'] },
  { name: 'Count', messages: ['n'], metadata: {}, code: 0, gets: ['n 0', 'n 1', 'n 2'] },
  { name: 'Chat', messages: ['x', 'y'], metadata: {}, code: 0, gets: ['x', 'y'] },
  { name: 'Unary', messages: ['v'.repeat(500_000)], metadata: {}, code: 0, gets: ['500000 bytes'] },
  { name: 'Unary', messages: [''], metadata: { 'x-do': 'fail' }, code: 5, gets: [] },
  { name: 'Nothing', messages: [''], metadata: {}, code: 12, gets: [] },
];

/** The fields of a call that two servers have to pass on alike. */
const FIELDS = {
  te: 'trailers',
  'content-type': 'application/grpc',
  'x-own': 'mine',
  'grpc-timeout': '1S',
};

function respond(stream: ServerHttp2Stream): void {
  const own = { server: 'theirs', 'x-one': '1', 'x-accel-charset': 'utf-8', 'set-cookie': ['a=1', 'b=2'] };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...own }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-end': 'late' }));
  stream.end('body');
}

for (const { name, start } of servers) {
  test(`${name} passes calls on`, async (t) => {
    const { port } = await startGrpc(t);
    const conf = `server { listen 127.0.0.1:PORT http2; location / { grpc_pass grpc://127.0.0.1:${port}; } }`;
    const client = new GrpcClient(t, await start(t, conf));
    for (const { name: method, messages, metadata, code, gets } of calls)
      expect(await client.call(method, { messages, metadata }), method).toMatchObject({
        code,
        messages: gets,
      });
  });

  test(`${name} sends the fields of a call, and those of its configuration`, async (t) => {
    const upstream = await startHttp2(t, respond);
    const at = await start(
      t,
      `server { listen 127.0.0.1:PORT http2; server_name a.example;
         location / { grpc_set_header X-Host $host; grpc_set_header X-Gone ""; grpc_pass 127.0.0.1:${upstream.port}; } }`,
    );
    const headers = { ...FIELDS, 'x-gone': '1', host: 'a.example' };
    await callHttp2(at, '/s/m?q=%20x', { method: 'POST', headers, body: 'abc' });
    expect(Object.fromEntries(Object.entries(upstream.heard[0] ?? {}))).toMatchObject({
      ...FIELDS,
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': `127.0.0.1:${upstream.port}`,
      ':path': '/s/m?q=%20x',
      'x-host': 'a.example',
    });
    expect(upstream.heard[0]?.['x-gone']).toBeUndefined();
  });

  test(`${name} shows the fields of a response, but some`, async (t) => {
    const { port } = await startHttp2(t, respond);
    const at = await start(
      t,
      `server { listen 127.0.0.1:PORT http2; location / { grpc_hide_header X-One; grpc_pass 127.0.0.1:${port}; }
         location /kept { grpc_pass_header Server; grpc_pass 127.0.0.1:${port}; } }`,
    );
    const first = await callHttp2(at, '/', { method: 'POST', headers: FIELDS, body: 'abc' });
    const names = ['x-one', 'x-accel-charset', 'set-cookie', 'content-type'];
    expect(names.map((field) => first.headers.get(field))).toEqual([
      null,
      null,
      'a=1, b=2',
      'application/grpc',
    ]);
    expect([first.status, first.body, first.trailers['x-end']]).toEqual([200, 'body', 'late']);
    const kept = await callHttp2(at, '/kept', { method: 'POST', headers: FIELDS, body: '' });
    expect(kept.headers.get('server')).toBe('theirs');
  });

  test(`${name} serves its recipe for errors`, async (t) => {
    const at = await start(
      t,
      `server { listen 127.0.0.1:PORT http2; error_page 502 = /error; location / { grpc_pass 127.0.0.1:1; }
         location = /error { internal; default_type application/grpc; add_header grpc-status 14; add_header grpc-message "unavailable"; return 204; } }`,
    );
    expect(await new GrpcClient(t, at).call('Unary')).toMatchObject({ code: 14, details: 'unavailable' });
  });
}
