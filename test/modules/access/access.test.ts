import { test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const ok = { status: 200, json: { ok: true } };
const forbidden = { status: 403 };
/** A location whose content is asked after the access phase. */
const served = 'kv_pass embedded; kv_key k; kv_command ping;';

const cases = [
  { it: 'lets everybody in when no rule fits', rules: 'deny 10.0.0.0/8;', expected: ok },
  { it: 'keeps a single address out', rules: 'deny 127.0.0.1;', expected: forbidden },
  { it: 'takes the first rule that fits', rules: 'allow 127.0.0.0/8; deny all;', expected: ok },
  {
    it: 'never reaches a rule behind one that fits',
    rules: 'deny all; allow 127.0.0.1;',
    expected: forbidden,
  },
  { it: 'counts the bits of a mask', rules: 'allow 127.0.0.2/31; deny all;', expected: forbidden },
  { it: 'fits every address with no bits', rules: 'deny 0.0.0.0/0;', expected: forbidden },
  { it: 'keeps IPv6 networks apart from IPv4 clients', rules: 'deny ::/0;', expected: ok },
  { it: 'takes unix: for Unix sockets only', rules: 'deny unix:;', expected: ok },
];

for (const { it, rules, expected } of cases) {
  test(`access ${it}`, async (t) => {
    const gw = await load(t, `server { location / { ${rules} ${served} } }`);
    await gw.expect('GET /', expected);
  });
}

test('a level with rules of its own forgets those above it', async (t) => {
  const gw = await load(
    t,
    `server { deny all; location /in { ${served} } location /own { allow 10.0.0.1; ${served} } }`,
  );
  await gw.expect('GET /in', forbidden);
  await gw.waitForLog(/access forbidden by rule, client: 127\.0\.0\.1/);
  await gw.expect('GET /own', ok);
});

test('return answers before the rules are asked', async (t) => {
  const gw = await load(t, 'server { location / { deny all; return 200 "seen"; } }');
  await gw.expect('GET /', { status: 200, body: 'seen' });
});
