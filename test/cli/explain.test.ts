import { expect, test } from 'vitest';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const CONF = `events {}
http {
  server {
    listen 8080;
    location /a { allow 10.0.0.0/8; deny all; error_page 403 /no; }
    location /no { return 403 "no"; }
    location /h { return 200 $http_x_one$http_x_two; }
  }
}
`;

const cases = [
  {
    it: 'gives the response for a path',
    args: ['GET', '/no'],
    code: 0,
    out: /ANSWER +403 Forbidden .*gw\.conf:6\n/,
  },
  {
    it: 'takes the address of the client',
    args: ['GET', '/a', '--from', '10.1.2.3'],
    code: 0,
    out: /ACCESS .*allows it/,
  },
  {
    it: 'takes headers, also several of one name',
    args: ['GET', '/h', '-H', 'X-One: 1', '-H', 'X-Two:2'],
    code: 0,
    out: /body {2}12\n/,
  },
  {
    it: 'ends with 1 where no server listens',
    args: ['GET', 'http://127.0.0.1:81/'],
    code: 1,
    out: /NOBODY +nothing listens on port 81 /,
  },
  {
    it: 'uses colours on request',
    args: ['GET', '/no'],
    env: { FORCE_COLOR: '1', NO_COLOR: '' },
    code: 0,
    out: new RegExp(`${String.fromCharCode(27)}\\[1m`),
  },
  { it: 'refuses what is no URL', args: ['GET', 'nowhere'], code: 2, err: 'gw: invalid URL "nowhere"\n' },
  {
    it: 'refuses what is no header',
    args: ['GET', '/', '-H', 'x'],
    code: 2,
    err: 'gw: invalid header "x"\n',
  },
] as const;

for (const { it, args, code, ...expected } of cases) {
  test(`explain ${it}`, async (t) => {
    const dir = directoryWith(t, { 'gw.conf': CONF });
    const env = 'env' in expected ? expected.env : { NO_COLOR: '1' };
    const said = await gw(dir, ['explain', ...args, '-c', 'gw.conf'], env);
    expect(said.code).toBe(code);
    if ('out' in expected) expect(said.stdout).toMatch(expected.out);
    if ('err' in expected) expect(said.stderr).toBe(expected.err);
  });
}

test('explain --compat=skip explains a file that names modules of others', async (t) => {
  const lua = 'http { server { listen 127.0.0.1:81; location / { content_by_lua_block { } } } }';
  const dir = directoryWith(t, { 'gw.conf': lua });
  const explain = (...words: string[]) =>
    gw(dir, ['explain', 'GET', 'http://127.0.0.1:81/', '-c', 'gw.conf', ...words]);
  expect((await explain()).code).toBe(2);
  expect((await explain('--compat=skip')).stdout).toContain('ANSWER     501 Not Implemented');
});

test('explain --json prints an account of version 1', async (t) => {
  const dir = directoryWith(t, { 'gw.conf': CONF });
  const { stdout, code } = await gw(dir, [
    'explain',
    'GET',
    'http://127.0.0.1:8080/a?x=1',
    '-c',
    'gw.conf',
    '--json',
  ]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    version: 1,
    request: { method: 'GET', uri: '/a', args: 'x=1', from: '127.0.0.1' },
    found: true,
    port: { address: '0.0.0.0:8080', place: 'gw.conf:4' },
    server: { name: '', place: 'gw.conf:3' },
    rounds: [{ uri: '/a?x=1' }, { uri: '/no' }],
    location: { text: '/no', place: 'gw.conf:6' },
    answer: { status: 403, place: 'gw.conf:6' },
    branches: [],
  });
});

test('explain reports the faults of a configuration that does not load', async (t) => {
  const dir = directoryWith(t, { 'gw.conf': 'events {} http { server { liste 80; } }' });
  const { stderr, code } = await gw(dir, ['explain', 'GET', '/', '-c', 'gw.conf']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/unknown directive "liste"/);
});
