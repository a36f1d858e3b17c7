import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { jwks, startIssuer } from './issuer.ts';

const load = oneGateway();
const NEW = 'a new secret of at least thirty-two bytes';

const token = (kid: string, secret = SECRET) => ({
  headers: bearer(sign({ sub: 'ann' }, { secret, header: { kid } })),
});
/** Gives the status of `/` for a token that names a key. */
const statusOf = async (gw: Gateway, kid: string, secret = SECRET): Promise<number> =>
  (await gw.fetch('/', token(kid, secret))).status;
const location = (source: string): string =>
  `server { location / { auth_jwt api; auth_jwt_key_request ${source}; echo -n $jwt_claim_sub; }
   location /if { auth_jwt api; auth_jwt_key_request ${source}; if ($jwt_claim_sub = ann) { return 200 early; } return 200 nobody; } }`;

test('the keys at a URL are fetched once for all workers, and are there before rewrites', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const gw = await startGateway(t, location(issuer.url), { workers: 2, fresh: true });
  await gw.expect('GET /if', { body: 'early' }, token('a'));
  for (let n = 0; n < 20; n += 1) await gw.expect('GET /', { status: 200, body: 'ann' }, token('a'));
  expect(issuer.asked).toEqual(['GET /jwks']);
  await gw.reload(gw.confOf(location(issuer.url)));
  await gw.expect('GET /', { status: 200 }, token('a'));
  expect(issuer.asked).toEqual(['GET /jwks']);
});

test('a token that names an unknown key has the keys fetched, but not for each of many', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const gw = await startGateway(t, location(issuer.url), { workers: 2, fresh: true });
  expect(await statusOf(gw, 'a')).toBe(200);
  issuer.respond = (_request, response) => response.end(jwks({ a: SECRET, b: NEW }));
  const first = await Promise.all(Array.from({ length: 20 }, () => statusOf(gw, 'b', NEW)));
  expect(new Set(first)).toEqual(new Set([200]));
  const forged = await Promise.all(Array.from({ length: 300 }, (_, n) => statusOf(gw, `forged-${n}`, NEW)));
  expect(new Set(forged)).toEqual(new Set([401]));
  expect(issuer.asked).toHaveLength(2);
  expect(await statusOf(gw, 'a')).toBe(200);
});

test('without keys tokens get 500, and the keys are fetched again', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const { respond } = issuer;
  issuer.respond = (_request, response) => response.writeHead(503).end();
  const gw = await load(t, location(issuer.url));
  await gw.expect('GET /', { status: 500, headers: { 'retry-after': '5' } }, token('a'));
  await gw.expect('GET /', { status: 401 });
  await gw.waitForLog(
    /\[error\] .*keys of "http:.*" could not be fetched: 127.0.0.1:\d+: status 503|keys of ".*\/jwks" could not be fetched: status 503/,
  );
  issuer.respond = respond;
  await expect.poll(() => statusOf(gw, 'a'), { timeout: 12_000 }).toBe(200);
});

test('known keys serve while the issuer is away', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const gw = await load(t, location(issuer.url));
  expect(await statusOf(gw, 'a')).toBe(200);
  issuer.respond = (_request, response) => response.destroy();
  expect(await statusOf(gw, 'unknown')).toBe(401);
  expect(await statusOf(gw, 'a')).toBe(200);
  await gw.waitForLog(/\[error\] .*keys of ".*" could not be fetched: 127.0.0.1:\d+: socket hang up/);
});

const unusable = [
  { it: 'a status', text: '', status: 404, why: 'status 404' },
  { it: 'a redirect', text: '', status: 302, why: 'status 302' },
  { it: 'a text that is not JSON', text: '<html>', why: 'malformed JSON' },
  { it: 'no key that it knows', text: '{"keys":[{"kty":"new"}]}', why: 'no key that can verify a signature' },
  {
    it: 'too many keys',
    text: jwks(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, SECRET]))),
    why: 'more than 100 keys',
  },
  {
    it: 'too long a response',
    text: ' '.repeat(1_048_577),
    why: '127.0.0.1:\\d+: the response is longer than 1048576 bytes',
  },
  { it: 'no response', text: undefined, why: 'no response within 5 s' },
];

for (const { it, text, status = 200, why } of unusable)
  test(`${it} at the URL is no key set`, async (t) => {
    const issuer = await startIssuer(t, '');
    issuer.respond = (_request, response) => {
      if (text !== undefined) response.writeHead(status, { location: '/elsewhere' }).end(text);
    };
    const gw = await load(t, location(issuer.url));
    await gw.expect('GET /', { status: 500 }, token('a'));
    await gw.waitForLog(new RegExp(`\\[error\\] .*keys of "${issuer.url}" could not be fetched: ${why}`));
    expect(issuer.asked).not.toContain('GET /elsewhere');
  });

const OWN = 'location = /keys { internal; auth_jwt off; proxy_pass http://127.0.0.1:PORT/jwks; }';

test('a subrequest gives the keys, each time or for the time of its cache', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const own = OWN.replace('PORT', String(issuer.port));
  const gw = await load(
    t,
    `server { auth_jwt api; auth_jwt_key_request /keys; ${own}
       location / { if ($jwt_claim_sub = ann) { return 200 early; } return 200 nobody; }
       location /kept { auth_jwt_key_cache 1h; echo -n $jwt_claim_sub; } }`,
  );
  await gw.expect('GET /', { body: 'early' }, token('a'));
  await gw.expect('GET /', { body: 'early' }, token('a'));
  await gw.expect('GET /', { body: 'nobody' });
  expect(issuer.asked).toHaveLength(2);
  for (let n = 0; n < 3; n += 1) await gw.expect('GET /kept', { body: 'ann' }, token('a'));
  await gw.expect('GET /kept', { status: 401 }, token('b'));
  expect(issuer.asked).toHaveLength(3);
});

test('a subrequest that fails gives 500, and nothing is kept', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const { respond } = issuer;
  issuer.respond = (_request, response) => response.writeHead(404).end();
  const own = OWN.replace('PORT', String(issuer.port));
  const gw = await load(
    t,
    `server { auth_jwt api; auth_jwt_key_request /keys; auth_jwt_key_cache 1h; ${own} location / { echo x; } }`,
  );
  expect(await statusOf(gw, 'a')).toBe(500);
  await gw.waitForLog(/\[error\] .*no keys from "\/keys": status 404, client: /);
  issuer.respond = respond;
  expect(await statusOf(gw, 'a')).toBe(200);
});

test('a location whose keys come from a location that needs a token itself refuses its requests', async (t) => {
  const gw = await load(t, 'server { auth_jwt api; auth_jwt_key_request /keys; location / { echo x; } }');
  expect(await statusOf(gw, 'a')).toBe(500);
});

test('several subrequests for keys keep all of their keys, whichever ends last', async (t) => {
  const issuer = await startIssuer(t, '');
  issuer.respond = ({ url }, response) => {
    if (url === '/first') response.end(jwks({ a: SECRET }));
    else setTimeout(() => response.end(jwks({ b: NEW })), 50);
  };
  const keys = (name: string): string =>
    `location = /${name} { internal; proxy_pass http://127.0.0.1:${issuer.port}/${name}; }`;
  const gw = await load(
    t,
    `server { ${keys('first')} ${keys('second')}
       location / { auth_jwt api; auth_jwt_key_request /first; auth_jwt_key_request /second; echo -n $jwt_claim_sub; } }`,
  );
  await gw.expect('GET /', { status: 200, body: 'ann' }, token('a'));
  await gw.expect('GET /', { status: 200, body: 'ann' }, token('b', NEW));
});

test('a token keeps its claims where another location has judged it meanwhile', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const own = OWN.replace('PORT', String(issuer.port));
  const gw = await load(
    t,
    `server { ${own}
       location = /check { internal; auth_jwt other; auth_jwt_key_file other.json; if ($jwt_claim_sub = x) { return 403; } return 204; }
       location / { auth_jwt api; auth_jwt_key_cache 1h; auth_jwt_key_request /keys; auth_request /check; echo -n "[$jwt_claim_sub]"; } }`,
    { 'other.json': jwks({ b: NEW }) },
  );
  for (let n = 0; n < 3; n += 1) await gw.expect('GET /', { status: 200, body: '[ann]' }, token('a'));
});

test('the keys of one host, from a subrequest, are not those of another', async (t) => {
  const issuer = await startIssuer(t, '');
  issuer.respond = ({ url = '' }, response) => response.end(jwks({ a: url.includes('one') ? SECRET : NEW }));
  const gw = await load(
    t,
    `server { location / { auth_jwt api; auth_jwt_key_request /keys; auth_jwt_key_cache 1h; echo -n ok; }
       location = /keys { internal; proxy_pass http://127.0.0.1:${issuer.port}/$host; } }`,
  );
  const at = (host: string, secret: string) => {
    const { headers } = token('a', secret);
    return { headers: { ...headers, host } };
  };
  await gw.expect('GET /', { status: 200 }, at('one.example', SECRET));
  await gw.expect('GET /', { status: 401 }, at('two.example', SECRET));
  await gw.expect('GET /', { status: 200 }, at('two.example', NEW));
  expect(issuer.asked).toEqual(['GET /one.example', 'GET /two.example']);
});

test('an issuer that takes all of its keys back refuses their tokens', async (t) => {
  const gw = await load(
    t,
    `server { location / { auth_jwt api; auth_jwt_key_file keys.json; echo -n ok; } }`,
    { 'keys.json': jwks({ a: SECRET }) },
  );
  expect(await statusOf(gw, 'a')).toBe(200);
  writeFileSync(join(gw.dir, 'keys.json'), '{"keys":[]}');
  await expect.poll(() => statusOf(gw, 'a'), { timeout: 5_000 }).toBe(401);
});
