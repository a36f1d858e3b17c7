import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { testLoadFaults } from '../../harness/load-faults.ts';
import { parseKeyLines } from '../../../src/modules/auth_api_key/key-lines.ts';
import { startPeer } from '../../harness/peer.ts';

testLoadFaults(import.meta.url);

const load = oneGateway();

const ANN = 'gwk_ann_0123456789abcdef';
const BOB = 'gwk_bob_0123456789abcdef';
const OLD = 'gwk_old_0123456789abcdef';
const line = (id: string, key: string, rest = ''): string =>
  `${id}:${createHash('sha256').update(key).digest('hex')}${rest}`;
const KEYS = `# customers
${line('ann', ANN, '::plan=gold,seats=5')}

${line('bob', BOB, ':2999-12-31T00:00:00Z')}
${line('old', OLD, ':2020-01-01')}
`;
const files = { keys: KEYS };
const conf = (more = '', protection = 'shop'): string =>
  `auth_api_key_file keys; server { location / { auth_api_key ${protection}; ${more} echo -n "$api_key_id $api_key_plan|$http_x_api_key|$args"; } }`;
const key = (value: string) => ({ headers: { 'x-api-key': value } });

const accepted = [
  {
    it: 'in an argument with an escaped name',
    protection: 'shop arg=api',
    path: `/?%61pi=${ANN}`,
    with: {},
    body: 'ann gold||',
  },
  { it: 'of the file', with: key(ANN), body: 'ann gold||' },
  { it: 'that expires later', with: key(BOB), body: 'bob ||' },
  {
    it: 'in another header',
    protection: 'shop header=X-Key',
    with: { headers: { 'x-key': ANN } },
    body: 'ann gold||',
  },
  {
    it: 'in an argument',
    protection: 'shop arg=api',
    path: `/?a=1&api=${ANN}&b=2`,
    with: {},
    body: 'ann gold||a=1&b=2',
  },
  {
    it: 'in an argument alone',
    protection: 'shop arg=api',
    path: `/?api=${ANN}`,
    with: {},
    body: 'ann gold||',
  },
  { it: 'that is passed on', more: 'auth_api_key_pass on;', with: key(ANN), body: `ann gold|${ANN}|` },
];

for (const { it, protection, more, path = '/', with: init, body } of accepted)
  test(`a key ${it} is accepted`, async (t) => {
    const gw = await load(t, conf(more, protection), files);
    await gw.expect(`GET ${path}`, { status: 200, body }, init);
  });

const MALFORMED = 'line 1 is malformed, expected id:hash[:expires[:name=value,...]]';

const broken = [
  {
    it: 'a line that is cut off',
    text: line('old', OLD),
    says: 'line 1 has no end: is the file being written?',
  },
  { it: 'a line without a hash', text: 'ann\n', says: MALFORMED },
  { it: 'a time that is none', text: `${line('ann', ANN, ':soon')}\n`, says: MALFORMED },
  {
    it: 'a key twice',
    text: `${line('ann', ANN)}\n${line('bob', ANN)}\n`,
    says: 'line 2 has a key a second time',
  },
];

test.each(broken)('a file with $it is refused', ({ text, says }) => {
  expect(parseKeyLines(text)).toEqual({ fault: says });
});

const refused = [
  { it: 'no key', with: {}, says: 'no API key was provided' },
  { it: 'an unknown key', with: key('gwk_eve_0123456789abcdef'), says: 'the API key is not known' },
  { it: 'an expired key', with: key(OLD), says: 'the API key "old" has expired' },
  { it: 'too short a key', with: key('short'), says: 'the API key is malformed' },
  { it: 'too long a key', with: key('x'.repeat(257)), says: 'the API key is malformed' },
  { it: 'the hash of a key', with: key(line('ann', ANN).slice(4)), says: 'the API key is not known' },
  {
    it: 'a key in an argument where none is named',
    path: `/?api=${ANN}`,
    with: {},
    says: 'no API key was provided',
  },
];

for (const { it, path = '/', with: init, says } of refused)
  test(`${it} gets the same 401, and a line in the log`, async (t) => {
    const gw = await load(t, conf(), files);
    await gw.expect(
      `GET ${path}`,
      { status: 401, headers: { 'www-authenticate': 'ApiKey realm="shop"' } },
      init,
    );
    await gw.waitForLog(new RegExp(`\\[info\\] .*${says}, client: 127`));
    expect(gw.errorLog().replaceAll(/request: "[^"]*"/g, '')).not.toContain(ANN);
  });

test('two keys are a bad request', async (t) => {
  const gw = await load(t, conf('', 'shop arg=api'), files);
  await gw.expect(`GET /?api=${BOB}`, { status: 400 }, key(ANN));
  await gw.expect(`GET /?api=${BOB}&API=${BOB}`, { status: 400 });
});

test('an upstream does not get the key, and access and limits know its id', async (t) => {
  const seen: object[] = [];
  const peer = await startPeer(t, 'peer', ({ url, headers }, response) => {
    seen.push({ url, user: headers['x-user'], key: headers['x-api-key'] });
    response.end('ok');
  });
  const gw = await load(
    t,
    `limit_req_zone $api_key_id zone=keys:1m rate=1r/m; auth_api_key_file keys;
     server { auth_api_key shop arg=api; limit_req zone=keys;
       location / { proxy_set_header X-User $api_key_id; proxy_pass http://127.0.0.1:${peer.port}; }
       location /if { if ($api_key_id = bob) { return 200 bob; } return 200 nobody; } }`,
    files,
  );
  await gw.expect(`GET /a?x=1&api=${ANN}`, { status: 200 }, {});
  expect(seen).toMatchObject([{ url: '/a?x=1', user: 'ann', key: undefined }]);
  await gw.expect('GET /a', { status: 503 }, key(ANN));
  await gw.expect('GET /a', { status: 200 }, key(BOB));
  await gw.expect('GET /if', { body: 'bob' }, key(BOB));
  await gw.expect('GET /if', { body: 'nobody' }, key(OLD));
  expect(JSON.stringify(seen)).not.toContain('gwk_');
  expect(gw.accessLog()).not.toContain(ANN);
});

test('satisfy any takes an address or a key, and another location judges the key again', async (t) => {
  const gw = await load(
    t,
    `server { auth_api_key shop; auth_api_key_file keys;
       location /in { satisfy any; allow 127.0.0.1; deny all; echo -n "in $api_key_id"; }
       location /first { rewrite ^ /second; }
       location /second { auth_api_key_file others; echo -n "$api_key_id"; }
       location /off { auth_api_key off; echo -n open; } }`,
    { ...files, others: `${line('ann-2', ANN)}\n` },
  );
  await gw.expect('GET /in', { body: 'in ' });
  await gw.expect('GET /in', { body: 'in ann' }, key(ANN));
  await gw.expect('GET /first', { body: 'ann-2' }, key(ANN));
  await gw.expect('GET /first', { status: 401 }, key(BOB));
  await gw.expect('GET /off', { body: 'open' });
});

test('a key is revoked by a change of the file, and a broken file leaves the last keys', async (t) => {
  const gw = await load(t, conf(), files);
  await gw.expect('GET /', { status: 200 }, key(ANN));
  writeFileSync(join(gw.dir, 'keys'), `${line('bob', BOB)}\n`);
  await expect.poll(async () => (await gw.fetch('/', key(ANN))).status, { timeout: 5_000 }).toBe(401);
  writeFileSync(join(gw.dir, 'keys'), 'bob\n');
  await expect
    .poll(async () => {
      await gw.expect('GET /', { status: 200 }, key(BOB));
      return gw.errorLog();
    })
    .toMatch(/\[error\] .*the API keys in ".*keys" cannot be used: line 1 is malformed/);
});

const ended = [
  { it: 'is too large', path: '/', init: { method: 'POST', body: 'x'.repeat(20) }, status: 413 },
  { it: 'is for an internal location', path: '/inner/', init: {}, status: 404 },
];
for (const { it, path, init, status } of ended)
  test(`a request that ${it} is logged without its key`, async (t) => {
    const protection = 'auth_api_key shop arg=api; auth_api_key_file keys;';
    const gw = await load(
      t,
      `access_log access.log; client_max_body_size 9; error_log error.log info;
       server { location / { ${protection} echo ok; } location /inner/ { internal; ${protection} echo ok; } }`,
      files,
    );
    await gw.expect(`${init.method ?? 'GET'} ${path}?a=1&api=${ANN}`, { status }, init);
    await gw.waitForAccessLog(new RegExp(`"${init.method ?? 'GET'} ${path}\\?a=1 HTTP/1.1" ${status} `));
    expect(gw.accessLog() + gw.errorLog()).not.toContain(ANN);
  });
