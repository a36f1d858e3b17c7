import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { bearer, inSeconds, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway();

const octKey = (secret: string, members: object = {}): object => ({
  kty: 'oct',
  k: Buffer.from(secret).toString('base64url'),
  ...members,
});
const keySet = (...keys: readonly object[]): string => JSON.stringify({ keys });
const OTHER = 'another secret of at least thirty-two bytes';
const files = {
  'keys.json': keySet(octKey(SECRET, { kid: 'a' })),
  'two.json': keySet(octKey(SECRET, { kid: 'a' }), octKey(OTHER, { kid: 'b' }), { kty: 'unheard of' }),
};
const ANN = { sub: 'ann', exp: inSeconds(600) };

const location = (directives: string): string =>
  `server { location / { auth_jwt "the api"; auth_jwt_key_file keys.json; ${directives} echo_ok; } }`.replace(
    'echo_ok;',
    'echo -n "hello $jwt_claim_sub";',
  );

const refusals = [
  { it: 'without a token', token: undefined, error: '', line: 'no token was provided' },
  { it: 'with an empty token', token: '', line: 'it is empty' },
  { it: 'with a text that is no token', token: 'abc', line: 'it has 1 parts instead of 3' },
  { it: 'with broken parts', token: 'a.b.c', line: 'it is malformed' },
  {
    it: 'with an unsigned token',
    token: sign(ANN, { header: { alg: 'none' } }),
    line: 'it has no signature',
  },
  {
    it: 'with an unknown algorithm',
    token: sign(ANN, { header: { alg: 'XS1' } }),
    line: 'its algorithm is not supported',
  },
  {
    it: 'with critical extensions',
    token: sign(ANN, { header: { crit: ['exp'] } }),
    line: 'it has critical extensions',
  },
  { it: 'signed by another key', token: sign(ANN, { secret: OTHER }), line: 'no key verifies its signature' },
  {
    it: 'with the id of another key',
    token: sign(ANN, { header: { kid: 'b' } }),
    line: 'no key verifies its signature',
  },
  { it: 'with claims that are no object', token: sign([1]), line: 'its claims are malformed' },
  { it: 'with a claim twice', token: sign('{"sub":"ann","sub":"bob"}'), line: 'its claims are malformed' },
  { it: 'that has expired', token: sign({ exp: inSeconds(-1) }), line: 'it has expired' },
  { it: 'that is not valid yet', token: sign({ nbf: inSeconds(60) }), line: 'it is not valid yet' },
  { it: 'whose expiry is a text', token: sign({ exp: 'never' }), line: 'its claim "exp" is not a number' },
  {
    it: 'for nobody where an audience is required',
    token: sign(ANN),
    conf: 'auth_jwt_audience api;',
    line: 'it is meant for another audience',
  },
  {
    it: 'for another audience',
    token: sign({ aud: 'shop' }),
    conf: 'auth_jwt_audience api web;',
    line: 'it is meant for another audience',
  },
  {
    it: 'whose audience is a number',
    token: sign({ aud: 7 }),
    line: 'its audience is neither a text nor a list of texts',
  },
  {
    it: 'that is too large',
    token: sign({ ...ANN, x: 'x'.repeat(200) }),
    conf: 'auth_jwt_max_size 200;',
    line: 'it is larger than "auth_jwt_max_size"',
  },
  {
    it: 'of an algorithm that is not among those named',
    token: sign(ANN),
    conf: 'auth_jwt_algs HS384;',
    line: 'no key verifies its signature',
  },
  {
    it: 'that names none of several keys',
    token: sign(ANN),
    conf: 'auth_jwt_strict_kid on; auth_jwt_key_file two.json;',
    line: 'it does not name one of several keys',
  },
];

for (const { it, token, error = ', error="invalid_token"', conf = '', line } of refusals)
  test(`a request ${it} gets 401, a challenge and a line in the log`, async (t) => {
    const gw = await load(t, location(conf), files);
    await gw.expect(
      'GET /',
      { status: 401, headers: { 'www-authenticate': `Bearer realm="the api"${error}` } },
      token === undefined ? {} : { headers: bearer(token) },
    );
    await gw.waitForLog(new RegExp(`\\[info\\] .*${line.replaceAll(/[()]/g, '\\$&')}, client: 127`));
    if (token) expect(gw.errorLog()).not.toContain(token.slice(-20));
  });

const accepted = [
  { it: 'of the key', token: sign(ANN) },
  { it: 'without an expiry', token: sign({ sub: 'ann' }) },
  {
    it: 'that expired within the leeway',
    token: sign({ sub: 'ann', exp: inSeconds(-5) }),
    conf: 'auth_jwt_leeway 1m;',
  },
  {
    it: 'that begins within the leeway',
    token: sign({ sub: 'ann', nbf: inSeconds(5) }),
    conf: 'auth_jwt_leeway 1m;',
  },
  {
    it: 'for one of the audiences',
    token: sign({ sub: 'ann', aud: ['x', 'web'] }),
    conf: 'auth_jwt_audience api web;',
  },
  {
    it: 'with the scopes as words',
    token: sign({ sub: 'ann', scope: 'write read' }),
    conf: 'auth_jwt_scope read write;',
  },
  {
    it: 'with the scopes as a list',
    token: sign({ sub: 'ann', scp: ['read', 'write'] }),
    conf: 'auth_jwt_scope read;',
  },
  { it: 'of the second file', token: sign(ANN, { secret: OTHER }), conf: 'auth_jwt_key_file two.json;' },
  {
    it: 'that names its key',
    token: sign(ANN, { header: { kid: 'b' }, secret: OTHER }),
    conf: 'auth_jwt_key_file two.json; auth_jwt_strict_kid on;',
  },
  {
    it: 'with all that is required',
    token: sign(ANN),
    conf: 'auth_jwt_require $jwt_claim_sub $jwt_header_alg;',
  },
];

for (const { it, token, conf = '' } of accepted)
  test(`a token ${it} is accepted`, async (t) => {
    const gw = await load(t, location(conf), files);
    await gw.expect('GET /', { status: 200, body: 'hello ann' }, { headers: bearer(token) });
  });

const forbidden = [
  {
    it: 'a scope that is missing',
    conf: 'auth_jwt_scope read write;',
    status: 403,
    challenge: 'Bearer realm="the api", error="insufficient_scope", scope="read write"',
  },
  {
    it: 'a required value that is empty',
    conf: 'auth_jwt_require $jwt_claim_no;',
    status: 401,
    challenge: 'Bearer realm="the api", error="invalid_token"',
  },
  {
    it: 'a required value that is 0',
    conf: 'auth_jwt_require $jwt_claim_zero error=403;',
    status: 403,
    challenge: undefined,
  },
  {
    it: 'the second requirement',
    conf: 'auth_jwt_require $jwt_claim_sub; auth_jwt_require $jwt_claim_zero error=403;',
    status: 403,
    challenge: undefined,
  },
];

for (const { it, conf, status, challenge } of forbidden)
  test(`a genuine token is refused for ${it}`, async (t) => {
    const gw = await load(t, location(conf), files);
    const { headers } = await gw.expect(
      'GET /',
      { status },
      { headers: bearer(sign({ ...ANN, scope: 'read', zero: 0 })) },
    );
    expect(headers.get('www-authenticate')).toBe(challenge ?? null);
  });

const variables = [
  { it: '$jwt_claim_sub', value: 'ann' },
  { it: '$jwt_claim_number', value: '7' },
  { it: '$jwt_claim_large', value: '12345678901234567890' },
  { it: '$jwt_claim_true', value: 'true' },
  { it: '$jwt_claim_false', value: 'false' },
  { it: '$jwt_claim_null', value: '' },
  { it: '$jwt_claim_roles', value: 'a,7,{"b":1}' },
  { it: '$jwt_claim_app', value: '{"tenantId":"t 1","ids":[12345678901234567890]}' },
  { it: '$jwt_claim_none', value: '' },
  { it: '$jwt_claim___proto__', value: '' },
  { it: '$jwt_header_alg', value: 'HS256' },
  { it: '$jwt_header_typ', value: 'JWT' },
  { it: '$tenant', value: 't 1' },
  { it: '$kind', value: 'JWT' },
  { it: '$too_deep', value: '' },
];
const CLAIMS = `{"sub":"ann","number":7,"large":12345678901234567890,"true":true,"false":false,"null":null,"roles":["a",7,{"b":1}],"app":{"tenantId":"t 1","ids":[12345678901234567890]}}`;

test('the claims and the header of a token are variables', async (t) => {
  const gw = await load(
    t,
    `auth_jwt_claim_set $tenant app tenantId; auth_jwt_claim_set $too_deep sub x y; auth_jwt_header_set $kind typ;
     server { location / { auth_jwt api; auth_jwt_key_file keys.json; echo -n "${variables.map(({ it }) => it).join('|')}"; }
       location /whole { auth_jwt api; auth_jwt_key_file keys.json; echo -n $jwt_payload; }
       location /open { echo -n "$jwt_claim_sub|$jwt_payload|$tenant"; } }`,
    files,
  );
  const headers = bearer(sign(CLAIMS));
  await gw.expect('GET /', { body: variables.map(({ value }) => value).join('|') }, { headers });
  await gw.expect('GET /whole', { body: CLAIMS }, { headers });
  await gw.expect('GET /open', { body: '||' }, { headers });
});

test('claims are known before access is checked, and a token that is refused has none', async (t) => {
  const gw = await load(
    t,
    `limit_req_zone $jwt_claim_sub zone=users:1m rate=1r/m;
     map $jwt_claim_sub $who { ann 1; default 0; }
     server { auth_jwt api; auth_jwt_key_file keys.json;
       location /if { if ($who) { return 200 ann; } return 200 nobody; }
       location /limited { limit_req zone=users; echo -n served; } }`,
    files,
  );
  const ann = { headers: bearer(sign(ANN)) };
  const forged = { headers: bearer(sign(ANN, { secret: OTHER })) };
  await gw.expect('GET /if', { body: 'ann' }, ann);
  await gw.expect('GET /if', { body: 'nobody' }, forged);
  for (let n = 0; n < 3; n += 1) await gw.expect('GET /limited', { status: 401 }, forged);
  await gw.expect('GET /limited', { status: 200 }, ann);
  await gw.expect('GET /limited', { status: 503 }, ann);
});

test('the token can come from a variable, and be read where none is required', async (t) => {
  const gw = await load(
    t,
    `auth_jwt_key_file keys.json; server { auth_jwt api token=$cookie_session;
       location / { echo -n $jwt_claim_sub; }
       location /open { auth_jwt off token=$cookie_session; echo -n "hello $jwt_claim_sub"; }
       location /off { auth_jwt off; echo -n off; } }`,
    files,
  );
  const cookie = (token: string) => ({ headers: { cookie: `session=${token}` } });
  await gw.expect('GET /', { status: 200, body: 'ann' }, cookie(sign(ANN)));
  await gw.expect('GET /', { status: 401 }, { headers: bearer(sign(ANN)) });
  await gw.expect('GET /open', { status: 200, body: 'hello ann' }, cookie(sign(ANN)));
  await gw.expect('GET /open', { status: 200, body: 'hello ' }, cookie(sign(ANN, { secret: OTHER })));
  await gw.expect('GET /open', { status: 200, body: 'hello ' });
  await gw.expect('GET /off', { status: 200, body: 'off' });
});

test('satisfy any takes an address or a token, and limit_except asks for one method only', async (t) => {
  const gw = await load(
    t,
    `auth_jwt_key_file keys.json; server {
       location /inside { satisfy any; allow 127.0.0.1; deny all; auth_jwt api; echo -n "in $jwt_claim_sub"; }
       location /outside { satisfy any; allow 192.0.2.1; deny all; auth_jwt api; echo -n "in $jwt_claim_sub"; }
       location /both { satisfy all; deny all; auth_jwt api; echo no; }
       location /reads { limit_except GET { auth_jwt api; } echo -n read; } }`,
    files,
  );
  const ann = { headers: bearer(sign(ANN)) };
  await gw.expect('GET /inside', { status: 200, body: 'in ' });
  await gw.expect('GET /inside', { status: 200, body: 'in ann' }, ann);
  await gw.expect('GET /outside', { status: 401 });
  await gw.expect('GET /outside', { status: 200, body: 'in ann' }, ann);
  await gw.expect('GET /both', { status: 403 }, ann);
  await gw.expect('GET /reads', { status: 200 });
  await gw.expect('POST /reads', { status: 401 });
  await gw.expect('POST /reads', { status: 200 }, ann);
});

test('an error page has the claims of the location that refused, and each location has its own keys', async (t) => {
  const gw = await load(
    t,
    `server { auth_jwt api;
       location /a { auth_jwt_key_file keys.json; auth_jwt_require $jwt_claim_admin error=403; error_page 403 = @sorry; echo no; }
       location @sorry { auth_jwt off; return 200 "sorry $jwt_claim_sub"; }
       location /first { auth_jwt_key_file keys.json; rewrite ^ /second; }
       location /second { auth_jwt_key_file other.json; echo -n $jwt_claim_sub; } }`,
    { ...files, 'other.json': keySet(octKey(OTHER)) },
  );
  await gw.expect('GET /a', { status: 200, body: 'sorry ann' }, { headers: bearer(sign(ANN)) });
  await gw.expect('GET /first', { status: 401 }, { headers: bearer(sign(ANN)) });
  await gw.expect(
    'GET /first',
    { status: 200, body: 'ann' },
    { headers: bearer(sign(ANN, { secret: OTHER })) },
  );
});

test('quotes in the realm are escaped', async (t) => {
  const gw = await load(
    t,
    `server { location / { auth_jwt 'a "b" \\\\ $arg_r'; auth_jwt_key_file keys.json; echo x; } }`,
    files,
  );
  await gw.expect('GET /?r=c"d', {
    status: 401,
    headers: { 'www-authenticate': String.raw`Bearer realm="a \"b\" \\ c\"d"` },
  });
});
