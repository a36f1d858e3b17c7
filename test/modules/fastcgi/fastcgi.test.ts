import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, oneGateway, type Owner, startGateway } from '../../harness/gateway.ts';
import { connectRaw } from '../../harness/raw.ts';
import {
  type ProgramRequest,
  record,
  type Respond,
  type ScriptedProgram,
  startProgram,
} from '../../harness/scripted-program.ts';

const load = oneGateway();

const OK = ['Content-Type: text/plain\r\n\r\n', 'ok'];

interface Passing {
  readonly gw: Gateway;
  readonly program: ScriptedProgram;
}

/** A gateway that passes requests to a FastCGI program. */
async function passing(
  t: Owner,
  { respond = () => OK, location = '', http = '' }: { respond?: Respond; location?: string; http?: string },
  start: typeof load = load,
): Promise<Passing> {
  const program = await startProgram(t, 'fastcgi', respond);
  const gw = await start(
    t,
    `${http} server { location / {
      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_LENGTH $content_length;
      ${location} fastcgi_pass 127.0.0.1:${program.port}; } }`,
  );
  return { gw, program };
}

function paramsOf({ params }: ProgramRequest): Record<string, string> {
  return Object.fromEntries(params);
}

test("the end of a program's standard error is no error", async (t) => {
  const { gw } = await passing(t, { respond: () => ['!', ...OK, '!'] });
  await gw.expect('GET /', { status: 200, body: 'ok' });
  expect(gw.errorLog()).not.toContain('stderr');
});

test('headers of a request are parameters; those of the same name are one', async (t) => {
  const { gw, program } = await passing(t, { location: 'fastcgi_param HTTP_X_OWN "";' });
  const headers = {
    'X-List': ['a', 'b'],
    Cookie: ['a=1', 'b=2'],
    Proxy: 'http://evil.example',
    'X-Own': 'theirs',
    'X-Long': 'y'.repeat(200),
  };
  await gw.expect('GET /', { status: 200, body: 'ok' }, { headers });
  const [request] = program.heard();
  expect(paramsOf(request as ProgramRequest)).toEqual({
    REQUEST_METHOD: 'GET',
    CONTENT_LENGTH: '',
    HTTP_HOST: expect.any(String),
    HTTP_CONNECTION: expect.any(String),
    HTTP_X_LIST: 'a, b',
    HTTP_COOKIE: 'a=1; b=2',
    HTTP_X_LONG: 'y'.repeat(200),
  });
});

test('parameters of more than 64 KB are sent in several records', async (t) => {
  const conf = { http: 'large_client_header_buffers 4 200k;', location: 'fastcgi_param COPY $http_x_a;' };
  // Larger heads than in the first configuration require a new start.
  const { gw, program } = await passing(t, conf, startGateway);
  const value = 'v'.repeat(100_000);
  await gw.expect('GET /', { status: 200 }, { headers: { 'X-A': value } });
  const [request] = program.heard();
  expect(paramsOf(request as ProgramRequest)).toMatchObject({ COPY: value, HTTP_X_A: value });
});

const bodies = [
  { it: 'whose length is known', chunked: false, location: '', hasLength: true },
  { it: 'that is chunked', chunked: true, location: '', hasLength: true },
  {
    it: 'that is passed on while it is received',
    chunked: false,
    location: 'fastcgi_request_buffering off;',
    hasLength: true,
  },
  {
    it: 'that is chunked, and passed on while it is received',
    chunked: true,
    location: 'fastcgi_request_buffering off;',
    hasLength: false,
  },
];

for (const { it, chunked, location, hasLength } of bodies) {
  test(`a large body ${it} reaches the program whole, ${hasLength ? 'with' : 'without'} its length`, async (t) => {
    const { gw, program } = await passing(t, { location: `${location} client_max_body_size 20m;` });
    const body = Buffer.alloc(3_000_001, 'abcdefg');
    const connection = await connectRaw(gw.port);
    const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
    connection.write(`POST / HTTP/1.1\r\nHost: a.example\r\n${framing}\r\nConnection: close\r\n\r\n`);
    if (chunked) connection.write(`${body.length.toString(16)}\r\n`);
    connection.write(body);
    if (chunked) connection.write('\r\n0\r\n\r\n');
    expect(await connection.until(/ok/)).toMatch(/^HTTP\/1\.1 200 /);
    const [request] = program.heard();
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    expect(digest((request as ProgramRequest).body)).toBe(digest(body));
    expect(paramsOf(request as ProgramRequest)['CONTENT_LENGTH']).toBe(hasLength ? String(body.length) : '');
    connection.destroy();
  });
}

for (const { keep, connections } of [
  { keep: 'on', connections: 1 },
  { keep: 'off', connections: 3 },
]) {
  test(`with "fastcgi_keep_conn ${keep}" three requests take ${connections} of the connections`, async (t) => {
    const { gw, program } = await passing(t, { location: `fastcgi_keep_conn ${keep};` });
    for (let n = 0; n < 3; n++) await gw.expect('GET /', { status: 200 });
    expect(program.heard().map(({ keeps }) => keeps)).toEqual(Array(3).fill(keep === 'on'));
    expect(program.connections()).toBe(connections);
  });
}

test('the standard error of a program is logged with the context of the request', async (t) => {
  const respond = (): string[] => ['!PHP message: bad thing.\n', ...OK, '!later'];
  const { gw } = await passing(t, { respond });
  await gw.expect('GET /x', { status: 200, body: 'ok' });
  await gw.waitForLog(/later/);
  expect(gw.errorLog()).toMatch(
    /\[error\] .* FastCGI sent in stderr: "PHP message: bad thing" while reading response header from upstream, client: 127\.0\.0\.1, server: , request: "GET \/x HTTP\/1\.1", upstream: "fastcgi:\/\/127\.0\.0\.1:\d+"/,
  );
  expect(gw.errorLog()).toMatch(/FastCGI sent in stderr: "later" while reading upstream/);
});

test('a program that writes endlessly to its standard error does not fill the log', async (t) => {
  const respond = (): string[] => [...Array<string>(1_500).fill('!again'), ...OK];
  const { gw } = await passing(t, { respond });
  await gw.expect('GET /', { status: 200, body: 'ok' });
  await gw.waitForLog(/FastCGI sends more in stderr, which is left out/);
  expect(gw.errorLog().match(/FastCGI sent in stderr/g)).toHaveLength(1_000);
});

test('"fastcgi_catch_stderr" makes a response invalid, and another peer is asked', async (t) => {
  const broken = await startProgram(t, 'fastcgi', () => ['!PHP Fatal error: x', ...OK]);
  const sound = await startProgram(t, 'fastcgi', () => ['Content-Type: text/plain\r\n\r\n', 'sound']);
  const gw = await load(
    t,
    `upstream pool { server 127.0.0.1:${broken.port}; server 127.0.0.1:${sound.port} backup; }
     server { location / { fastcgi_catch_stderr "PHP Fatal error"; fastcgi_next_upstream invalid_header; fastcgi_pass pool; } }`,
  );
  await gw.expect('GET /', { status: 200, body: 'sound' });
});

const raw = (type: number, content: string): string => `=${record(type, content).toString('latin1')}`;

/** Faults before the head: the client gets a 502, and the reason is logged. */
const faults = [
  {
    it: 'another version',
    script: ['=\x02\x06\0\x01\0\0\0\0'],
    says: 'upstream sent unsupported FastCGI protocol version: 2',
  },
  {
    it: 'another request',
    script: ['=\x01\x06\0\x05\0\0\0\0'],
    says: 'upstream sent unexpected FastCGI request id: 5',
  },
  { it: 'an unknown record', script: [raw(11, 'x')], says: 'upstream sent unexpected FastCGI record: 11' },
  { it: 'no head at all', script: [], says: 'upstream prematurely closed FastCGI stdout' },
  {
    it: 'the end before a head',
    script: [raw(3, '\0'.repeat(8))],
    says: 'upstream prematurely closed FastCGI request',
  },
  {
    it: 'half a record',
    script: ['=\x01\x06\0\x01\0\x50\0\0Content', '<close>'],
    says: 'upstream prematurely closed connection',
  },
  { it: 'a head without end', script: ['A: b\r\n'.repeat(2_000)], says: 'upstream sent too big header' },
  { it: 'an invalid status', script: ['Status: OK\r\n\r\n'], says: 'upstream sent invalid status "OK"' },
  { it: 'a folded line', script: ['A: b\r\n c\r\n\r\n'], says: 'upstream sent invalid header: " c' },
];

for (const { it, script, says } of faults) {
  test(`the client gets a 502 if the program sends ${it}`, async (t) => {
    const { gw } = await passing(t, { respond: () => script });
    await gw.expect('GET /', { status: 502 });
    expect(gw.errorLog()).toContain(`${says}`);
    expect(gw.errorLog()).toContain('while reading response header from upstream');
  });
}

/** Responses that end too early: the connection of the client is cut, and nothing is stored. */
const cuts = [
  {
    it: 'dies',
    script: ['\r\nhello', '<close>'],
    says: 'upstream prematurely closed connection while reading upstream',
  },
  {
    it: 'dies within a record',
    script: ['\r\nhello', '=\x01\x06\0\x01\0\x50\0\0more', '<close>'],
    says: 'upstream prematurely closed connection',
  },
  {
    it: 'sends less than its length',
    script: ['Content-Length: 9\r\n\r\nhello'],
    says: 'upstream prematurely closed FastCGI stdout',
  },
  {
    it: 'sends junk',
    script: ['\r\nhello', raw(9, 'x')],
    says: 'upstream sent unexpected FastCGI record: 9 while reading upstream',
  },
];

for (const { it, script, says } of cuts) {
  test(`a response whose program ${it} is cut and not stored`, async (t) => {
    const respond = (): string[] => [`Cache-Control: max-age=60\r\n${script[0]}`, ...script.slice(1)];
    const { gw, program } = await passing(t, {
      respond,
      http: 'fastcgi_cache_path cache keys_zone=one:1m;',
      location: 'fastcgi_cache one;',
    });
    for (let n = 0; n < 2; n++) await expect(gw.fetch('/')).rejects.toThrow(/aborted|reset|closed/);
    expect(program.heard()).toHaveLength(2);
    expect(gw.errorLog()).toContain(says);
  });
}

test('data beyond the length of a response is left out and logged', async (t) => {
  const { gw } = await passing(t, { respond: () => ['Content-Length: 2\r\n\r\nhello', ' more'] });
  await gw.expect('GET /', { status: 200, body: 'he' });
  expect(gw.errorLog()).toMatch(
    /\[warn\] .*upstream sent more data than specified in "Content-Length" header/,
  );
});

test('the client gets a 504 if the program is silent, and a 502 if it is not running', async (t) => {
  const { gw } = await passing(t, { respond: () => ['<stall>'], location: 'fastcgi_read_timeout 200ms;' });
  await gw.expect('GET /', { status: 504 });
});

test('a client that leaves ends the request to its program', async (t) => {
  const { gw, program } = await passing(t, { respond: () => ['\r\nhello', '<stall>'] });
  const connection = await connectRaw(gw.port);
  connection.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await connection.until(/hello/);
  expect(program.open()).toBe(1);
  connection.destroy();
  await expect.poll(() => program.open()).toBe(0);
});

test('a stored response is served without its program, also to HEAD, which stores whole responses', async (t) => {
  let count = 0;
  const respond = ({ params }: ProgramRequest): string[] => [
    'Cache-Control: max-age=60\r\nETag: "e"\r\n\r\n',
    `${Object.fromEntries(params)['REQUEST_METHOD']} ${++count}`,
  ];
  const { gw, program } = await passing(t, {
    respond,
    http: 'fastcgi_cache_path cache keys_zone=one:1m;',
    location: 'fastcgi_cache one; add_header X-Cache $upstream_cache_status;',
  });
  const status = async (path: string, method = 'GET'): Promise<string> => {
    const { headers, body } = await gw.fetch(path, { method, headers: { 'If-None-Match': '"other"' } });
    return `${headers.get('x-cache')} ${body}`;
  };
  expect(await status('/a', 'HEAD')).toBe('MISS ');
  expect(await status('/a')).toBe('HIT GET 1');
  expect(await status('/b')).toBe('MISS GET 2');
  expect(program.heard().map((request) => paramsOf(request)['HTTP_IF_NONE_MATCH'])).toEqual([
    undefined,
    undefined,
  ]);
  await gw.expect('GET /a', { status: 304 }, { headers: { 'If-None-Match': '"e"' } });
});

test.each(['HTTP_RANGE', 'Range'])('pieces of a response are fetched by the parameter %s', async (name) => {
  const t = { onTestFinished };
  const whole = 'abcdefghijklmnop';
  const respond = ({ params }: ProgramRequest): string[] => {
    const [, from = '', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(Object.fromEntries(params)[name] ?? '') ?? [];
    const piece = whole.slice(Number(from), Number(to) + 1);
    const end = Number(from) + piece.length - 1;
    return [
      `Status: 206 Partial\r\nContent-Range: bytes ${from}-${end}/${whole.length}\r\nContent-Length: ${piece.length}\r\n\r\n`,
      piece,
    ];
  };
  const { gw, program } = await passing(t, {
    respond,
    http: 'fastcgi_cache_path cache keys_zone=z:1m; fastcgi_cache_key $uri$slice_range; fastcgi_cache_valid 206 1m;',
    location: `slice 6; fastcgi_param ${name} $slice_range; fastcgi_cache z; fastcgi_force_ranges on;`,
  });
  const asked = (): unknown[] => program.heard().map((request) => paramsOf(request)[name]);
  await gw.expect(`GET /${name}`, { status: 200, body: whole });
  expect(asked()).toEqual(['bytes=0-5', 'bytes=6-11', 'bytes=12-17']);
  await gw.expect(`GET /${name}`, { status: 206, body: 'h' }, { headers: { Range: 'bytes=7-7' } });
  await gw.expect(`GET /other/${name}`, { status: 206, body: 'h' }, { headers: { Range: 'bytes=7-7' } });
  expect(asked()).toEqual(['bytes=6-11']);
});

const scripts = [
  { path: '/a.php', says: '/a.php||/a.php/' },
  { path: '/a.php/b/c', says: '/a.php|/b/c|/a.php/' },
  { path: '/a/', says: '/a/index.php||/a/index.php/' },
  { path: '/a', says: '/a||/a/' },
  { path: '/x.php/y.php/z', says: '/x.php|/y.php/z|/x.php/' },
];

test('"fastcgi_split_path_info" and "fastcgi_index" make the name of the script', async (t) => {
  const { gw } = await passing(t, {
    location: `fastcgi_split_path_info ^(.+?\\.php)(/.*)$; fastcgi_index index.php;
      if ($request_method = GET) { return 200 "$fastcgi_script_name|$fastcgi_path_info|\${fastcgi_script_name}/"; }`,
  });
  for (const { path, says } of scripts) await gw.expect(`GET ${path}`, { status: 200, body: says });
});
