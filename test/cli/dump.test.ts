import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../harness/owner.ts';
import { directoryWith, gw, type Said } from './command.ts';

const env = { GW_T_PW: 'fromtheenvironment', GW_T_DSN: 'postgres://u:fromdsn@127.0.0.1/db' };

const secrets: readonly { written: string; shown: string }[] = [
  {
    written: 'kv_pass redis://user:topsecret@127.0.0.1:6379',
    shown: 'kv_pass redis://user:***@127.0.0.1:6379',
  },
  { written: 'kv_pass redis://:topsecret@127.0.0.1', shown: 'kv_pass redis://:***@127.0.0.1' },
  {
    written: 'kv_pass "redis://:${env:GW_T_PW}@127.0.0.1"',
    shown: 'kv_pass "redis://:${env:GW_T_PW}@127.0.0.1"',
  },
  {
    written: 'kv_pass ${env:GW_T_NONE:-redis://:topsecret@127.0.0.1}',
    shown: 'kv_pass ${env:GW_T_NONE:-redis://:***@127.0.0.1}',
  },
  {
    written: 'dynamic_upstreams_redis redis://:topsecret@127.0.0.1/2 peers',
    shown: 'dynamic_upstreams_redis redis://:***@127.0.0.1/2 peers',
  },
  {
    written: `dbrest_pass "host=127.0.0.1 dbname=a password='top secret' user=u"`,
    shown: `dbrest_pass "host=127.0.0.1 dbname=a password=*** user=u"`,
  },
  {
    written: 'dbrest_pass postgres://u:topsecret@127.0.0.1/db',
    shown: 'dbrest_pass postgres://u:***@127.0.0.1/db',
  },
  { written: 'dbrest_pass ${env:GW_T_DSN}', shown: 'dbrest_pass ${env:GW_T_DSN}' },
  {
    written: 'proxy_set_header Authorization "Basic dG9wOnNlY3JldA=="',
    shown: 'proxy_set_header Authorization "Basic ***"',
  },
  {
    written: 'proxy_set_header Authorization "Bearer $http_x_token"',
    shown: 'proxy_set_header Authorization "Bearer $http_x_token"',
  },
  { written: 'proxy_set_header X-Api-Key topsecret', shown: 'proxy_set_header X-Api-Key ***' },
  { written: 'proxy_set_header Cookie "a=topsecret"', shown: 'proxy_set_header Cookie "***"' },
  { written: 'proxy_set_header Cookie $http_cookie', shown: 'proxy_set_header Cookie $http_cookie' },
  {
    written: 'proxy_set_header X-Api-Key ${env:GW_T_PW}',
    shown: 'proxy_set_header X-Api-Key ${env:GW_T_PW}',
  },
  { written: 'set $api_key topsecret', shown: 'set $api_key ***' },
  { written: 'set $backend_token "top $arg_a secret"', shown: 'set $backend_token "***"' },
  { written: 'set $token $arg_a', shown: 'set $token $arg_a' },
  { written: 'set $cache_key topsecret', shown: 'set $cache_key topsecret' },
  { written: 'dbrest_setting mail topsecret', shown: 'dbrest_setting mail ***' },
  { written: 'dbrest_setting jwt_exp 3600', shown: 'dbrest_setting jwt_exp 3600' },
  { written: 'dbrest_setting debug on', shown: 'dbrest_setting debug on' },
  { written: 'dbrest_setting maxRows 100', shown: 'dbrest_setting maxRows 100' },
  ...['signing_key', 'smtpPassword', 'api_key_v2', 'pass', 'otp', 'tokenSecret', 'pinCode'].map((name) => ({
    written: `dbrest_setting ${name} 12345678`,
    shown: `dbrest_setting ${name} ***`,
  })),
  { written: 'dbrest_setting webhook https://s3cr3t.example', shown: 'dbrest_setting webhook ***' },
  {
    written: 'secure_link $arg_a; secure_link_md5 "$uri topsecret"',
    shown: 'secure_link $arg_a; secure_link_md5 "***"',
  },
  { written: `${EVENTS()} topsecret`, shown: `${EVENTS()} ***` },
  { written: `${EVENTS()} "top secret"`, shown: `${EVENTS()} "***"` },
  { written: `${EVENTS()} \${env:GW_T_PW}`, shown: `${EVENTS()} \${env:GW_T_PW}` },
  { written: `${EVENTS()} \${env:GW_T_NONE:-topsecret}`, shown: `${EVENTS()} ***` },
];

function EVENTS(): string {
  return 'worker_events_api; worker_events_zone z 1m; worker_events_channel c; worker_events_publish_key';
}

const confWith = (directives: string) =>
  `http { server { listen 127.0.0.1:18999; location / { ${directives}; } } }\n`;

/** All cases in one configuration, each in a line of its own. */
const lineOf = (index: number, directives: string) => `location /${index} { ${directives}; }`;
const file = wholeFile();
let said: Said;
beforeAll(async () => {
  const lines = secrets.map(({ written }, index) => lineOf(index, written));
  const conf = `http { server { listen 127.0.0.1:18999;\n${lines.join('\n')}\n} }\n`;
  said = await gw(directoryWith(file, { 'gateway.conf': conf }), ['-T'], env);
});

for (const [index, { written, shown }] of secrets.entries()) {
  test(`-T shows ${written} as ${shown}`, () => {
    const { code, stdout, stderr } = said;
    expect(stderr).toContain('test is successful');
    expect(stdout.split('\n').slice(index + 2, index + 3)).toEqual([lineOf(index, shown)]);
    expect(code).toBe(0);
  });
}

test('-T shows every file once, byte for byte except for the secrets, on standard output', async (t) => {
  const files = {
    'gateway.conf':
      '# äöü \t\r\nhttp { include sub/*.conf; server { listen 127.0.0.1:18999; include sub/a.inc; } }\n',
    'sub/a.conf': 'log_format a "$uri";\n',
    'sub/b.conf': 'log_format b "$uri";',
    'sub/a.inc': 'return 200;\n',
  };
  const dir = directoryWith(t, files);
  const { stdout } = await gw(dir, ['-Tq']);
  const parts = stdout.split(/^# configuration file (.*):\n/m).slice(1);
  const shown = Object.fromEntries(
    parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1]]] : [])),
  );
  expect(Object.values(shown)).toEqual(Object.values(files).map((content) => `${content}\n`));
  expect(Object.keys(shown).map((name) => name.replace('DIR/', ''))).toEqual(Object.keys(files));
});

test('-T names the files by the prefix that it was given', async (t) => {
  const dir = directoryWith(t, { 'sub/a.conf': 'events {}\ninclude b.conf;\n', 'sub/b.conf': 'http {}\n' });
  for (const args of [
    ['-p', `${dir}/sub`, '-c', 'a.conf'],
    ['-p', dir, '-c', 'sub/a.conf'],
  ]) {
    const { stdout } = await gw(dir, ['-Tq', ...args]);
    expect(stdout.match(/^# configuration file .*$/gm)).toEqual([
      '# configuration file DIR/sub/a.conf:',
      '# configuration file DIR/sub/b.conf:',
    ]);
  }
});

test('-T of a broken configuration dumps nothing', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': 'nonsense;\n' });
  expect(await gw(dir, ['-T'])).toMatchObject({ code: 1, stdout: '' });
});

test('a fault inside a secret does not show the secret', async (t) => {
  const conf = confWith('kv_pass redis://:topsecret@127.0.0.1:99999');
  const dir = directoryWith(t, { 'gateway.conf': conf });
  const { code, stderr } = await gw(dir, ['-t']);
  expect(code).toBe(1);
  expect(stderr).not.toContain('topsecret');
});
