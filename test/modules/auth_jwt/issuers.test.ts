import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { bearer, inSeconds, SECRET, sign } from '../../harness/tokens.ts';
import { jwks, startIssuer, startMetadata } from './issuer.ts';

const load = oneGateway();
const OTHER = 'another secret of at least thirty-two bytes';

const ann = (claims: object, secret = SECRET) => ({
  headers: bearer(sign({ sub: 'ann', ...claims }, { secret })),
});

const location =
  'location / { auth_jwt api; auth_jwt_issuer one two; echo -n "$jwt_claim_sub $jwt_issuer"; }';

test('"iss" selects the issuer whose keys verify a token', async (t) => {
  const one = await startMetadata(t);
  const two = await startMetadata(t, { secret: OTHER, openid: false });
  const gw = await startGateway(
    t,
    `token_issuer one { issuer ${one.iss}; } token_issuer two { issuer ${two.iss}; } server { ${location} }`,
    { workers: 2, fresh: true },
  );
  await gw.expect('GET /', { status: 200, body: 'ann one' }, ann({ iss: one.iss }));
  await gw.expect('GET /', { status: 200, body: 'ann two' }, ann({ iss: two.iss }, OTHER));
  await gw.expect('GET /', { status: 401 }, ann({ iss: two.iss }));
  await gw.expect('GET /', { status: 401 }, ann({ iss: one.iss }, OTHER));
  await gw.expect('GET /', { status: 401 }, ann({ iss: 'https://unknown.example' }));
  await gw.expect('GET /', { status: 401 }, ann({}));
  await gw.waitForLog(/\[info\] .*the token is refused: none of the issuers of this location has issued it/);
  expect(one.asked).toEqual(['GET /tenant/.well-known/openid-configuration', 'GET /keys']);
  expect(two.asked).toEqual([
    'GET /tenant/.well-known/openid-configuration',
    'GET /.well-known/oauth-authorization-server/tenant',
    'GET /keys',
  ]);
});

test('an issuer that is away refuses its own tokens only', async (t) => {
  const one = await startMetadata(t);
  const gone = 'http://127.0.0.1:1/gone';
  const gw = await load(
    t,
    `token_issuer one { issuer ${one.iss}; } token_issuer two { issuer ${gone}; } server { ${location} }`,
  );
  await gw.expect('GET /', { status: 200 }, ann({ iss: one.iss }));
  await gw.expect('GET /', { status: 500, headers: { 'retry-after': '5' } }, ann({ iss: gone }));
});

const metadata = [
  {
    it: 'of another issuer',
    members: { issuer: 'http://127.0.0.1/other' },
    why: 'its metadata name another issuer: "http://127.0.0.1/other"',
  },
  { it: 'without keys', members: { jwks_uri: undefined }, why: 'its metadata have no "jwks_uri"' },
  {
    it: 'with keys over plain HTTP',
    members: { jwks_uri: 'http://192.0.2.1/' },
    why: '"jwks_uri" of its metadata: whoever',
  },
];

for (const { it, members, why } of metadata)
  test(`metadata ${it} do not count`, async (t) => {
    const issuer = await startMetadata(t, members);
    const gw = await load(
      t,
      `token_issuer one { issuer ${issuer.iss}; } server { location / { auth_jwt api; auth_jwt_issuer one; } }`,
    );
    await gw.expect('GET /', { status: 500 }, ann({ iss: issuer.iss }));
    await gw.waitForLog(new RegExp(`no keys from "${issuer.iss}": ${why}`));
  });

test('an issuer has keys in a file or at a URL, an audience, and does not hide the keys of the location', async (t) => {
  const two = await startIssuer(t, jwks({ b: OTHER }));
  const gw = await load(
    t,
    `token_issuer one { issuer https://one.example; key_file one.json; audience api; }
     token_issuer two { issuer https://two.example; key_request ${two.url}; }
     server { auth_jwt api; auth_jwt_issuer one two;
       location / { echo -n $jwt_issuer; }
       location /other { auth_jwt_audience other; echo -n $jwt_issuer; }
       location /own { auth_jwt_key_file own.json; echo -n "$jwt_claim_sub/$jwt_issuer"; } }`,
    { 'one.json': jwks({ a: SECRET }), 'own.json': jwks({ c: OTHER }) },
  );
  const iss = 'https://one.example';
  await gw.expect('GET /', { status: 200, body: 'one' }, ann({ iss, aud: ['api', 'x'] }));
  await gw.expect('GET /', { status: 401 }, ann({ iss }));
  await gw.expect('GET /', { status: 401 }, ann({ iss, aud: 'other' }));
  await gw.expect('GET /other', { status: 200 }, ann({ iss, aud: 'other' }));
  await gw.expect('GET /', { status: 200, body: 'two' }, ann({ iss: 'https://two.example' }, OTHER));
  await gw.expect('GET /own', { status: 200, body: 'ann/' }, ann({ iss: 'anybody' }, OTHER));
  await gw.expect('GET /own', { status: 200, body: 'ann/one' }, ann({ iss, aud: 'api' }));
});

/** An issuer that is asked about tokens; `says` maps a token to its response. */
async function startIntrospection(t: Parameters<typeof startIssuer>[0], says: Record<string, unknown>) {
  const issuer = await startIssuer(t, '');
  const questions: { token: string; authorization: string | undefined }[] = [];
  issuer.respond = (request, response) =>
    void text(request).then((body) => {
      const token = new URLSearchParams(body).get('token') ?? '';
      questions.push({ token, authorization: request.headers.authorization });
      response.end(JSON.stringify(says[token] ?? { active: false }));
    });
  const block = `introspect http://127.0.0.1:${issuer.port}/ask; client_id gw; client_secret "s:cret";`;
  return { issuer, questions, block };
}

const opaque = (token: string) => ({ headers: bearer(token) });

test('an issuer says what an opaque token is worth, once for a time', async (t) => {
  const { questions, block } = await startIntrospection(t, {
    good: { active: true, sub: 'ann', aud: 'api', scope: 'read write' },
    'no.audience': { active: true, sub: 'bob' },
    over: { active: true, aud: 'api', exp: inSeconds(-5) },
    early: { active: true, aud: 'api', nbf: inSeconds(60) },
    foreign: { active: true, aud: 'api', iss: 'https://other.example' },
    text: { active: 'true', aud: 'api' },
  });
  const gw = await load(
    t,
    `token_issuer one { issuer https://one.example; key_file one.json; ${block} audience api; }
     server { location / { auth_jwt api; auth_jwt_issuer one; auth_jwt_scope read; echo -n "$jwt_claim_sub $jwt_issuer"; }
       location /early { auth_jwt api; auth_jwt_issuer one; if ($jwt_claim_sub = ann) { return 200 early; } } }`,
    { 'one.json': jwks({ a: SECRET }) },
  );
  await gw.expect('GET /', { status: 401 }, { headers: { authorization: 'Bearer' } });
  for (let n = 0; n < 5; n += 1) await gw.expect('GET /', { status: 200, body: 'ann one' }, opaque('good'));
  await gw.expect('GET /early', { body: 'early' }, opaque('good'));
  for (const token of ['no.audience', 'over', 'early', 'foreign', 'unknown', 'unknown'])
    await gw.expect(
      'GET /',
      { status: 401, headers: { 'www-authenticate': /error="invalid_token"/ } },
      opaque(token),
    );
  await gw.expect('GET /', { status: 503, headers: { 'retry-after': '5' } }, opaque('text'));
  const basic = `Basic ${Buffer.from('gw:s%3Acret').toString('base64')}`;
  expect(new Set(questions.map(({ authorization }) => authorization))).toEqual(new Set([basic]));
  expect(questions.map(({ token }) => token)).toEqual([
    'good',
    'no.audience',
    'over',
    'early',
    'foreign',
    'unknown',
    'text',
  ]);
});

test('many requests with one opaque token ask once', async (t) => {
  const { questions, block } = await startIntrospection(t, { good: { active: true, sub: 'ann' } });
  const gw = await load(
    t,
    `token_issuer one { ${block} } server { location / { auth_jwt api; auth_jwt_issuer one; echo ok; } }`,
  );
  const all = await Promise.all(Array.from({ length: 50 }, () => gw.fetch('/', opaque('good'))));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
  expect(questions).toHaveLength(1);
});

test('an issuer that does not say whether a token counts gives 503, and not for what is known', async (t) => {
  const { issuer, block } = await startIntrospection(t, { good: { active: true } });
  const gw = await load(
    t,
    `token_issuer one { ${block} } server { location / { auth_jwt api; auth_jwt_issuer one; echo ok; } }`,
  );
  await gw.expect('GET /', { status: 200 }, opaque('good'));
  const silent = [
    {
      respond: ((_request, response) => response.writeHead(401).end()) as RequestListener,
      why: 'status 401',
    },
    {
      respond: ((_request, response) => response.end('<html>')) as RequestListener,
      why: 'the response does not say "active"',
    },
    { respond: ((_request, response) => response.destroy()) as RequestListener, why: 'socket hang up' },
    { respond: (() => undefined) as RequestListener, why: 'no response within 3 s' },
    {
      respond: ((_request, response) => response.end(' '.repeat(70_000))) as RequestListener,
      why: 'longer than 65536 bytes',
    },
  ];
  for (const [index, { respond, why }] of silent.entries()) {
    issuer.respond = respond;
    await gw.expect('GET /', { status: 503, headers: { 'retry-after': '5' } }, opaque(`token-${index}`));
    await gw.waitForLog(new RegExp(`\\[error\\] .*"one" could not be asked about a token: .*${why}`));
  }
  await gw.expect('GET /', { status: 200 }, opaque('good'));
  expect(gw.errorLog()).not.toMatch(/token-\d|s:cret/);
});

test('with "jwt" the issuer is asked about signed tokens, after their signature', async (t) => {
  const iss = 'https://one.example';
  const good = sign({ iss, sub: 'ann' });
  const revoked = sign({ iss, sub: 'bob' });
  const { questions, block } = await startIntrospection(t, { [good]: { active: true, sub: 'someone' } });
  const gw = await load(
    t,
    `token_issuer one { issuer ${iss}; key_file one.json; ${block.replace('/ask', '/ask jwt')} }
     server { location / { auth_jwt api; auth_jwt_issuer one; echo -n $jwt_claim_sub; } }`,
    { 'one.json': jwks({ a: SECRET }) },
  );
  for (let n = 0; n < 3; n += 1) await gw.expect('GET /', { status: 200, body: 'ann' }, opaque(good));
  await gw.expect('GET /', { status: 401 }, opaque(revoked));
  await gw.expect('GET /', { status: 401 }, ann({ iss }, OTHER));
  expect(questions.map(({ token }) => token)).toEqual([good, revoked]);
});

test('what one issuer says of a token does not count where another one is asked', async (t) => {
  const one = await startIntrospection(t, { first: { active: true, sub: 'ann' }, second: { active: true } });
  const two = await startIntrospection(t, {});
  const gw = await load(
    t,
    `token_issuer one { ${one.block} } token_issuer two { ${two.block} }
     server { location /a { auth_jwt api; auth_jwt_issuer one; try_files /none /b; }
       location /c { auth_jwt api; auth_jwt_issuer one; auth_jwt_scope admin; error_page 403 = /b; }
       location /b { auth_jwt api; auth_jwt_issuer two; echo -n "$jwt_claim_sub $jwt_issuer"; } }`,
  );
  await gw.expect('GET /a', { status: 401 }, opaque('first'));
  await gw.expect('GET /c', { status: 401 }, opaque('second'));
  expect(two.questions.map(({ token }) => token)).toEqual(['first', 'second']);
});
