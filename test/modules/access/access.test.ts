import { test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const ok = { status: 200, json: { ok: true } };
const forbidden = { status: 403 };
/** A location whose content handler runs after the access phase. */
const served = 'kv_pass embedded; kv_key k; kv_command ping;';

const cases = [
  { it: 'allows every client when no rule matches', rules: 'deny 10.0.0.0/8;', expected: ok },
  { it: 'denies a single address', rules: 'deny 127.0.0.1;', expected: forbidden },
  { it: 'applies the first rule that matches', rules: 'allow 127.0.0.0/8; deny all;', expected: ok },
  {
    it: 'ignores the rules after one that matches',
    rules: 'deny all; allow 127.0.0.1;',
    expected: forbidden,
  },
  { it: 'counts the bits of a mask', rules: 'allow 127.0.0.2/31; deny all;', expected: forbidden },
  { it: 'matches every address with a mask of no bits', rules: 'deny 0.0.0.0/0;', expected: forbidden },
  { it: 'does not match IPv4 clients with IPv6 networks', rules: 'deny ::/0;', expected: ok },
  { it: 'matches Unix sockets only with unix:', rules: 'deny unix:;', expected: ok },
];

for (const { it, rules, expected } of cases) {
  test(`access ${it}`, async (t) => {
    const gw = await load(t, `server { location / { ${rules} ${served} } }`);
    await gw.expect('GET /', expected);
  });
}

test('a level with its own rules does not inherit those of outer levels', async (t) => {
  const gw = await load(
    t,
    `server { deny all; location /in { ${served} } location /own { allow 10.0.0.1; ${served} } }`,
  );
  await gw.expect('GET /in', forbidden);
  await gw.waitForLog(/access forbidden by rule, client: 127\.0\.0\.1/);
  await gw.expect('GET /own', ok);
});

test('return sends its response before the access rules apply', async (t) => {
  const gw = await load(t, 'server { location / { deny all; return 200 "seen"; } }');
  await gw.expect('GET /', { status: 200, body: 'seen' });
});
