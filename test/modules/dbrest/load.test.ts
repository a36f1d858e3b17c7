import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { GW } from '../../harness/gateway.ts';

const CONF = `events {}
http {
  dbrest_timeout 0;
  dbrest_pool_size 0;
  server {
    location /a/ { dbrest_pool_size 17; dbrest_pass "hots=db"; }
    location /b/ { dbrest_anon_role none; dbrest_pass postgres://db/x?sslmode=on; }
    location /c/ { dbrest_schemas ","; dbrest_pass host=db port=x; }
    location /e/ { dbrest_jwt_secret "-----BEGIN PUBLIC KEY-----"; dbrest_jwt_role_claim .a..b; }
    location /f/ { dbrest_jwt_secret '{"kty":"RSA","n":1}'; dbrest_jwt_invalid maybe; }
    location /g/ { dbrest_jwt_secret '{kty}'; dbrest_jwt_role_claim ".a[x]"; }
    location /h/ { dbrest_pre_request a.b.c; dbrest_setting 'x y' 1; dbrest_tx_end never; dbrest_plan maybe; }
    location /i/ { dbrest_pass host=db; dbrest_schemas '"open'; dbrest_extra_search_path 'a, ""'; }
    location /j/ { dbrest_pass host=db; dbrest_schemas ""; dbrest_extra_search_path ","; }
    location /k/ { dbrest_max_rows 0; location /k/l/ { dbrest_max_rows a=1 9; } location /k/m/ { dbrest_max_rows 9 a=1 a=2; } }
    location /d/ { dbrest_jwt_secret short; dbrest_jwt_role_claim '.app."x y"[0]'; dbrest_anon_role shop; dbrest_pass "host=db user=shop"; }
  }
}
`;

const SAID = [
  ['value must be between 1 and 16', '4:20'],
  ['value must be between 1 and 16', '6:37'],
  ['invalid value in "dbrest_pass" directive, unknown keyword "hots"', '6:54'],
  ['invalid role in "dbrest_anon_role" directive', '7:37'],
  ['invalid value in "dbrest_pass" directive, invalid "sslmode"', '7:71'],
  ['no name in "dbrest_schemas" directive', '8:20'],
  ['invalid value in "dbrest_pass" directive, invalid port', '8:60'],
  ['invalid function in "dbrest_pre_request" directive', '12:39'],
  ['invalid name "x y" in "dbrest_setting" directive', '12:61'],
  ['invalid value "never"', '12:84'],
  ['invalid value "maybe" in "dbrest_plan" directive, it must be "on" or "off"', '12:103'],
  ['invalid value in "dbrest_jwt_secret" directive, a PEM key cannot be used, expected a JWK', '9:38'],
  ['invalid path in "dbrest_jwt_role_claim" directive, malformed at character 3', '9:90'],
  ['invalid value in "dbrest_jwt_secret" directive, no key that can verify a signature', '10:38'],
  ['invalid value "maybe"', '10:80'],
  ['invalid value in "dbrest_jwt_secret" directive, malformed JSON', '11:38'],
  ['invalid path in "dbrest_jwt_role_claim" directive, malformed at character 3', '11:69'],
  ['malformed name in "dbrest_schemas" directive', '13:56'],
  ['malformed name in "dbrest_extra_search_path" directive', '13:90'],
  ['no name in "dbrest_schemas" directive', '14:41'],
  ['no name in "dbrest_extra_search_path" directive', '14:60'],
  ['value must be between 1 and 2147483647', '15:36'],
  ['"dbrest_max_rows" directive invalid number', '15:76'],
  ['duplicate "a" in "dbrest_max_rows" directive', '15:120'],
];

/** The messages of `gw -t` for a configuration, without the quoted lines. */
function check(
  t: { onTestFinished(stop: () => void): void },
  conf: string,
): { status: number | null; said: string[]; stderr: string } {
  const dir = mkdtempSync(join(tmpdir(), 'gw-test-'));
  t.onTestFinished(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, 'gw.conf'), conf);
  const { status, stderr } = spawnSync(process.execPath, [GW, '-t', '-p', dir, '-c', join(dir, 'gw.conf')], {
    encoding: 'utf8',
    env: { ...process.env, SECRET: '@/hidden/name' },
  });
  const said = stderr.split('\n').filter((line) => / in .*gw\.conf:/.test(line));
  return { status, said: said.map((line) => line.replace(`${dir}/`, '')), stderr };
}

test('every bad directive is refused in one run, each at its place', (t) => {
  const { status, said } = check(t, CONF);
  expect(status).toBe(1);
  for (const [message, place] of SAID) expect(said).toContain(`gw: [emerg] ${message} in gw.conf:${place}`);
});

test('time limits out of range are refused', (t) => {
  const limits = 'dbrest_timeout 0; dbrest_pool_timeout 0; dbrest_pool_lifetime 999ms;';
  const long =
    'location /l/ { dbrest_pass host=db; dbrest_timeout 25h; dbrest_pool_timeout 25h; dbrest_pool_lifetime 25h; }';
  const { said } = check(
    t,
    `events {}\nhttp {\n${limits}\nserver {\nlocation /s/ { dbrest_pass host=db; }\n${long}\n} dbrest_anon_role a; }\n`,
  );
  expect(said).toEqual([
    'gw: [emerg] "dbrest_timeout" must be between 1ms and 1d in gw.conf:3:1',
    'gw: [emerg] "dbrest_pool_timeout" must be between 1ms and 1d in gw.conf:3:19',
    'gw: [emerg] "dbrest_pool_lifetime" must be between 1s and 1d in gw.conf:3:42',
    'gw: [emerg] "dbrest_timeout" must be between 1ms and 1d in gw.conf:6:37',
    'gw: [emerg] "dbrest_pool_timeout" must be between 1ms and 1d in gw.conf:6:57',
    'gw: [emerg] "dbrest_pool_lifetime" must be between 1s and 1d in gw.conf:6:82',
  ]);
});

const refused: [directives: string, message: RegExp][] = [
  ['dbrest_jwt_secret @/run/secrets/jwt;', /^"dbrest_jwt_secret" takes no "@file"/],
  ['dbrest_jwt_secret @jwt.key;', /^"dbrest_jwt_secret" takes no "@file"/],
  ['dbrest_jwt_secret ${env:SECRET};', /^"dbrest_jwt_secret" takes no "@file"/],
  ['dbrest_pass @/run/secrets/dsn;', /^"dbrest_pass" takes no "@file"/],
  ['dbrest_pass ${env:SECRET};', /^"dbrest_pass" takes no "@file"/],
  ['dbrest_openapi_server ftp://a;', /^invalid URL in "dbrest_openapi_server" directive/],
  ['dbrest_openapi_server https://user:pass@a/;', /^invalid URL in/],
  ['dbrest_openapi_server https://a/?b;', /^invalid URL in/],
  ['dbrest_trace_header "a b";', /^invalid header "a b" in "dbrest_trace_header" directive/],
  ['dbrest_trace_header Content-Length;', /^invalid header/],
  ['dbrest_trace_header Authorization;', /^invalid header/],
  ['dbrest_root a.b.c;', /^invalid function in "dbrest_root" directive/],
  [
    'dbrest_root hidden.f; dbrest_anon_role anon; dbrest_pass postgres://db/x;',
    /"dbrest_root" is in schema "hidden", which is not one of/,
  ],
];
test.each(refused)('%s is refused by name', (directives, message) => {
  const conf = `events {} http { server { location / { ${directives} } } }`;
  const { said, stderr } = check({ onTestFinished }, conf);
  expect(said.map((line) => line.replace('gw: [emerg] ', ''))).toEqual([expect.stringMatching(message)]);
  expect(stderr).not.toContain('/hidden/name');
});
