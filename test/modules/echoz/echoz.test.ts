import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';
import { startPeer } from '../../harness/peer.ts';

const load = oneGateway();

interface Case {
  readonly it: string;
  readonly conf: string;
  readonly body: string | RegExp;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly sent?: string;
}

const MORE = `location /other { return 200 "other $args"; } location @named { echozn named; }`;

const cases: readonly Case[] = [
  { it: 'writes lines', conf: 'echoz one; echoz two 2; echoz;', body: 'one\ntwo 2\n\n' },
  {
    it: 'writes text without line feeds',
    conf: 'echozn a; echozn b;',
    body: 'ab',
    headers: { 'content-length': '2' },
  },
  { it: 'expands variables', conf: 'echoz "$request_method $uri";', body: 'POST /x\n' },
  { it: 'repeats text', conf: 'echoz_duplicate 3 ab; echozn .;', body: 'ababab.' },
  { it: 'repeats several words', conf: 'echoz_duplicate 2 a b;', body: 'a ba b' },
  { it: 'repeats nothing', conf: 'echoz_duplicate 0 ab; echozn .;', body: '.' },
  {
    it: 'repeats a lot of text',
    conf: 'echoz_duplicate 100_000 abc; echozn .;',
    body: `${'abc'.repeat(100_000)}.`,
  },
  {
    it: 'sends the text so far',
    conf: 'echozn a; echoz_flush; echozn b;',
    body: 'ab',
    headers: { 'content-length': null },
  },
  { it: 'waits', conf: 'echozn a; echoz_sleep 0.01; echozn b;', body: 'ab' },
  {
    it: 'writes the request body',
    conf: 'echoz_read_request_body; echozn "<"; echoz_request_body; echozn ">";',
    sent: 'sent',
    body: '<sent>',
  },
  { it: 'reads the body where it writes it', conf: 'echoz_request_body;', sent: 'sent', body: 'sent' },
  {
    it: 'writes a large request body',
    conf: 'client_max_body_size 2m; echoz_request_body; echozn .;',
    sent: 'x'.repeat(1_500_000),
    body: `${'x'.repeat(1_500_000)}.`,
  },
  {
    it: 'reads the body for variables',
    conf: 'echoz_read_request_body; echozn "$request_body $echoz_request_body";',
    sent: 'sent',
    body: 'sent sent',
  },
  { it: 'writes nothing without a body', conf: 'echoz_request_body; echozn .;', body: '.' },
  { it: 'redirects to a location', conf: 'echoz_exec /other;', body: 'other ' },
  { it: 'redirects with arguments', conf: 'echoz_exec /other a=$uri;', body: 'other a=/x' },
  { it: 'redirects with a query', conf: 'echoz_exec /other?b=1;', body: 'other b=1' },
  { it: 'redirects to a named location', conf: 'echoz_read_request_body; echoz_exec @named;', body: 'named' },
  { it: 'resolves the target in a variable', conf: 'echoz_exec /a/../other;', body: 'other ' },
  { it: 'has a status', conf: 'echozn x; echoz_status 201 Made;', status: 201, body: 'x' },
  { it: 'has a status without a reason', conf: 'echozn x; echoz_status 503;', status: 503, body: 'x' },
  {
    it: 'adds headers',
    conf: 'echozn x; echoz_header X-One $request_method; echoz_header X-One two; echoz_header Content-Type text/x;',
    body: 'x',
    headers: { 'x-one': 'POST, two', 'content-type': 'text/x' },
  },
  {
    it: 'writes around the body',
    conf: 'echozn x; echoz_before_body a $uri; echoz_before_body b; echoz_after_body c d;',
    body: 'a /xbxc d',
  },
  {
    it: 'writes around built-in pages',
    conf: 'echoz_after_body .; return 404;',
    status: 404,
    body: /<\/html>\s*\.$/,
  },
];
for (const { it, conf, body, status = 200, headers = {}, sent = '' } of cases) {
  test(`echoz ${it}`, async (t) => {
    const gw = await load(t, `server { location /x { ${conf} } ${MORE} }`);
    await gw.expect('POST /x', { status, headers, body }, { body: sent });
    expect((await gw.fetch('/x', { method: 'HEAD' })).body).toBe('');
  });
}

test('echoz repeats an endless text only while its client reads it, and other requests are served meanwhile', async (t) => {
  const gw = await load(
    t,
    'server { location / { echoz_duplicate 10_000_000_000 x; } location /other { return 200 other; } }',
  );
  expect((await gw.fetch('/', { method: 'HEAD' })).status).toBe(200);
  const client = await gw.connect();
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.until(/x{100}/);
  await gw.expect('GET /other', { body: 'other' });
  client.destroy();
  await gw.expect('GET /other', { body: 'other' });
});

test('echoz has the reason of its status, and the same response over HTTP/2', async (t) => {
  const gw = await load(
    t,
    'server { http2 on; location / { echozn a; echoz_flush; echozn b; echoz_status 201 "Made it"; echoz_after_body .; } }',
  );
  expect(await gw.raw('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 201 Made it\r\n/,
  );
  const session = openHttp2(gw.port);
  expect(await callOn(session, '/')).toMatchObject({ status: 201, body: 'ab.' });
  session.close();
});

test('echoz writes around the body of an upstream, but not around a range or a compressed body', async (t) => {
  const peer = await startPeer(t, 'peer', (request, response) => {
    if (request.url === '/part') response.writeHead(206, { 'Content-Range': 'bytes 0-0/4' });
    if (request.url === '/coded') response.setHeader('Content-Encoding', 'br');
    if (request.url === '/none') response.writeHead(204);
    if (request.url === '/refused') response.writeHead(403);
    response.end(request.url === '/none' ? undefined : 'body');
  });
  const gw = await load(
    t,
    `server { location / { echoz_before_body "<"; echoz_after_body ">"; echoz_status 202; proxy_pass http://127.0.0.1:${peer.port}; } }`,
  );
  await gw.expect('GET /', { status: 202, body: '<body>' });
  await gw.expect('GET /part', { status: 206, body: 'body' });
  await gw.expect('GET /coded', { status: 202, body: 'body' });
  await gw.expect('GET /none', { status: 204, body: '' });
  await gw.expect('GET /refused', { status: 403 });
});

test('echoz serves subrequests, and makes them in the background', async (t) => {
  const peer = await startPeer(t, 'peer');
  const gw = await load(
    t,
    `server { location /page { ssi on; default_type text/html; echozn "<!--# include virtual='/part' -->!"; }
       location = /part { echozn part; } location = /auth { echoz_status 401; echozn no; }
       location = /closed { auth_request /auth; return 200; } location = /guarded { auth_request /auth; echozn x; }
       location = /go { echoz_location_async /back a=1; echozn gone; }
       location = /back { proxy_pass http://127.0.0.1:${peer.port}; } }`,
  );
  await gw.expect('GET /page', { body: 'part!' });
  await gw.expect('GET /guarded', { status: 401 });
  await gw.expect('GET /go', { status: 200, body: 'gone' });
  await expect.poll(() => peer.requests).toEqual(['GET /back?a=1']);
});

test('subrequests in the background that call each other end, which is logged once', async (t) => {
  const gw = await load(
    t,
    `server { location = /fan { echoz_location_async /fan2; echoz_location_async /fan2; echozn fan; }
       location = /fan2 { echoz_location_async /fan; echoz_location_async /fan; }
       location = /other { return 200 other; } }`,
  );
  const from = gw.errorLog().length;
  await gw.expect('GET /fan', { body: 'fan' });
  await gw.expect('GET /other', { body: 'other' });
  expect(
    gw
      .errorLog()
      .slice(from)
      .match(/subrequests cycle while processing "\/fan2?"/g),
  ).toHaveLength(1);
});
