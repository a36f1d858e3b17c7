import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../../harness/gateway.ts';

const load = oneGateway({ workers: 2 });

const conf = (zone: string, more = ''): string => `
  keyval_zone zone=${zone};
  keyval $arg_k $found zone=z;
  server {
    location / { return 200 "<$found>"; }
    location /kv/ { control_api keyval; }
    ${more}
  }`;

/** `line` is a method, of which the path is `/kv/z` unless it has one. */
function ask(gw: Gateway, line: string, body?: unknown) {
  const [method = '', path = '/kv/z'] = line.split(' ');
  return gw.fetch(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

/** The status and, of an error, its code. */
async function outcome(gw: Gateway, line: string, body?: unknown): Promise<string> {
  const response = await ask(gw, line, body);
  if (response.status < 400) return String(response.status);
  const { error } = JSON.parse(response.body) as { error: { status: number; code: string } };
  expect(error.status).toBe(response.status);
  return `${response.status} ${error.code}`;
}

const entries = async (gw: Gateway): Promise<unknown> => JSON.parse((await gw.fetch('/kv/z')).body);
const found = async (gw: Gateway, text: string): Promise<string> => (await gw.fetch(`/?k=${text}`)).body;

test('a key is added, found by the variable, changed, and deleted', async (t) => {
  const gw = await load(t, conf('z:64k'));
  expect(await found(gw, 'a')).toBe('<>');
  const added = await ask(gw, 'POST', { a: '1' });
  expect([added.status, added.body]).toEqual([201, '']);
  expect(await found(gw, 'a')).toBe('<1>');
  expect(await outcome(gw, 'PATCH', { a: 'ü "2"' })).toBe('204');
  expect(await found(gw, 'a')).toBe('<ü "2">');
  await gw.expect('GET /kv/z?key=a', { status: 200, body: '{"a":"ü \\"2\\""}' });
  expect(await outcome(gw, 'PATCH', { a: null })).toBe('204');
  expect(await entries(gw)).toEqual({});
  expect(await found(gw, 'a')).toBe('<>');
});

test('several keys can be added to an empty zone at once, and all are deleted at once', async (t) => {
  const gw = await load(t, conf('z:64k state=z.json'));
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, `v${n}`]));
  expect(await outcome(gw, 'POST', many)).toBe('201');
  expect(await entries(gw)).toEqual(many);
  expect(await outcome(gw, 'POST', { x: '1', y: '2' })).toBe('400 KeyvalFormatError');
  expect(await outcome(gw, 'DELETE')).toBe('204');
  expect(await entries(gw)).toEqual({});
});

const refusals = [
  { it: 'a key that is there', method: 'POST', body: { there: '2' }, outcome: '409 KeyvalKeyExists' },
  {
    it: 'a change of a key that is not',
    method: 'PATCH',
    body: { no: '1' },
    outcome: '404 KeyvalKeyNotFound',
  },
  { it: 'a deletion of none', method: 'PATCH', body: { no: null }, outcome: '404 KeyvalKeyNotFound' },
  { it: 'two changes', method: 'PATCH', body: { there: '2', no: '1' }, outcome: '400 KeyvalFormatError' },
  { it: 'no key', method: 'POST', body: {}, outcome: '400 KeyvalFormatError' },
  { it: 'an empty key', method: 'POST', body: { '': '1' }, outcome: '400 KeyvalFormatError' },
  { it: 'a list', method: 'POST', body: ['a'], outcome: '400 KeyvalFormatError' },
  { it: 'a value that is no text', method: 'POST', body: { a: true }, outcome: '400 KeyvalFormatError' },
  { it: 'a null that would add', method: 'POST', body: { a: null }, outcome: '400 KeyvalFormatError' },
  {
    it: 'a lifetime without a timeout of the zone',
    method: 'POST',
    body: { a: { value: '1', expire: 1000 } },
    outcome: '400 KeyvalFormatError',
  },
  { it: 'an unknown zone', method: 'POST /kv/y', body: { a: '1' }, outcome: '404 KeyvalNotFound' },
  { it: 'another method', method: 'PUT', body: { a: '1' }, outcome: '405 MethodDisabled' },
  { it: 'a change of all zones', method: 'DELETE /kv/', outcome: '405 MethodDisabled' },
  {
    it: 'a value that has no room',
    method: 'POST',
    body: { a: 'x'.repeat(70_000) },
    outcome: '507 KeyvalOutOfMemory',
  },
];

for (const { it, method, body, outcome: expected } of refusals) {
  test(`${method} refuses ${it}, and changes nothing`, async (t) => {
    const gw = await load(t, conf('z:64k'));
    await outcome(gw, 'DELETE');
    await outcome(gw, 'POST', { there: '1' });
    expect(await outcome(gw, method, body)).toBe(expected);
    expect(await entries(gw)).toEqual({ there: '1' });
  });
}

test('a body that is not JSON, and a read of an unknown key, are refused as by NGINX Plus', async (t) => {
  const gw = await load(t, conf('z:64k'));
  const { status, body } = await gw.fetch('/kv/z', { method: 'POST', body: '{"a"' });
  expect(status).toBe(415);
  expect(JSON.parse(body)).toEqual({
    error: { status: 415, text: 'json error', code: 'JsonError' },
    request_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    href: 'https://nginx.org/en/docs/http/ngx_http_api_module.html',
  });
  expect(await outcome(gw, 'GET /kv/z?key=none')).toBe('404 KeyvalKeyNotFound');
});

test('all zones are shown by name, also at a path of NGINX Plus and in the whole inventory', async (t) => {
  const gw = await load(
    t,
    `shared_dict_zone zone=feature_flags:64k; ${conf(
      'z:64k',
      'location /api/9/http/keyvals { control_api keyval; } location /runtime/ { control_api; } location ~ ^/re/(.*) { control_api keyval; }',
    )}`,
  );
  await outcome(gw, 'DELETE');
  await outcome(gw, 'POST /api/9/http/keyvals/z', { a: 1 });
  for (const path of ['/kv/', '/api/9/http/keyvals/', '/runtime/keyval/', '/re/'])
    await gw.expect(`GET ${path}`, { status: 200, body: '{"z":{"a":"1"}}' });
  for (const path of ['/runtime/keyval/z', '/re/z'])
    await gw.expect(`GET ${path}`, { status: 200, body: '{"a":"1"}' });
  await gw.expect('GET /kv/?fields=', { status: 200, body: '["z"]' });
});

test('pages of other sites can neither read nor change a zone', async (t) => {
  const gw = await load(t, conf('z:64k'));
  const headers = { origin: 'http://evil.test' };
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
    expect((await gw.fetch('/kv/z', { method, headers })).status, method).toBe(403);
});

const matches = [
  {
    type: 'ip',
    keys: {
      '10.0.0.0/8': 'ten',
      '10.1.0.0/16': 'ten.one',
      '10.1.2.3': 'host',
      '2001:db8::/32': 'six',
      '::/0': 'any',
    },
    texts: {
      '10.2.3.4': 'ten',
      '10.1.9.9': 'ten.one',
      '10.1.2.3': 'host',
      '10.1.2.0/24': 'ten.one',
      '10.0.0.0/4': '',
      '::ffff:10.1.2.3': 'host',
      '11.0.0.1': '',
      '2001:DB8::1': 'six',
      '2001:db9::1': 'any',
      'no-address': '',
      '': '',
    },
  },
  {
    type: 'prefix',
    keys: { '/a': 'a', '/a/b': 'ab' },
    texts: { '/a': 'a', '/abc': 'a', '/a/b/c': 'ab', '/': '', '/A': '', '': '' },
  },
  { type: 'string', keys: { '/a': 'a' }, texts: { '/a': 'a', '/A': '', '/abc': '', '': '' } },
] as const;

for (const { type, keys, texts } of matches) {
  test(`a zone of type ${type} is searched as its type says, from the first change on`, async (t) => {
    const gw = await load(t, conf(`z:64k type=${type} timeout=1h`));
    await outcome(gw, 'DELETE');
    for (const text of Object.keys(texts)) expect(await found(gw, text), text).toBe('<>');
    expect(await outcome(gw, 'POST', keys)).toBe('201');
    for (const [text, value] of Object.entries(texts)) expect(await found(gw, text), text).toBe(`<${value}>`);
    const [key = ''] = Object.keys(keys);
    expect(await outcome(gw, 'PATCH', { [key]: null })).toBe('204');
    expect(await found(gw, key.replace(/\/8$/, ''))).toBe('<>');
  });
}

test('a key that is no network is refused in a zone of networks', async (t) => {
  const gw = await load(t, conf('z:64k type=ip'));
  expect(await outcome(gw, 'POST', { 'no address': '1' })).toBe('400 KeyvalFormatError');
});

test('an entry ends with its own lifetime or that of its zone, and a shorter key is found again', async (t) => {
  const gw = await load(t, conf('z:64k type=prefix timeout=1h'));
  await outcome(gw, 'DELETE');
  await outcome(gw, 'POST', { a: 'short', ab: { value: 'long', expire: 100_000 } });
  expect(await found(gw, 'abc')).toBe('<long>');
  expect(await outcome(gw, 'PATCH', { ab: { expire: 1 } })).toBe('204');
  await expect.poll(() => found(gw, 'abc')).toBe('<short>');
});

test('a reload keeps the entries', async (t) => {
  const gw = await load(t, conf('z:64k'));
  await outcome(gw, 'POST', { kept: '1' });
  expect(await gw.reload(conf('z:64k', 'location /more { return 204; }'))).toBe('done');
  expect(await found(gw, 'kept')).toBe('<1>');
});
