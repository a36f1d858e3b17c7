import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `
    log_format default '$status|$arg_a|$http_x_a|$arg_none|$1';
    log_format json escape=json '{"uri":"$uri","a":"$http_x_a","none":"$arg_none"}';
    log_format none escape=none '$http_x_a|$arg_none';
    log_format long 'one ' 'two ' "$status";
    log_format secrets '$request|$request_uri|$args|$arg_key|$arg_token|$http_authorization|$http_cookie|$http_referer|$http_x_api_key|$cookie_session|$sent_http_set_cookie';
    access_log combined.log;
    server {
      location / { return 200 "body"; }
      location /404 { return 404; }
      location /default { access_log default.log default; return 200; }
      location ~ ^/captured/(.*)$ { access_log default.log default; return 200; }
      location /json { access_log json.log json; return 200; }
      location /none { access_log none.log none; return 200; }
      location /long { access_log long.log long; return 200; }
      location /secrets { add_header Set-Cookie session=topsecret; access_log secrets.log secrets; return 200; }
      location /two { access_log two-a.log long; access_log two-b.log long; return 200; }
      location /off { access_log off; return 200; }
      location /if { access_log if.log long if=$arg_log; return 200; }
      location /buffered { access_log buffered.log long buffer=1k flush=1h; return 200 "0123456789"; }
    }`,
  );
});

/** All lines of the log, once there are `count` of them. */
async function lines(name: string, count: number): Promise<string[]> {
  for (;;) {
    const found = gw.read(name).split('\n').slice(0, -1);
    if (found.length >= count) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('combined is nginx’s predefined format byte for byte', async () => {
  const headers = {
    referer: 'http://r/?a=1',
    'user-agent': 'agent "q"',
    authorization: 'Basic QWxhZGRpbjpvcGVu',
  };
  await gw.fetch('/x%20y?b=1', { headers });
  await gw.fetch('/404', { method: 'HEAD' });
  const [first = '', second = ''] = await lines('combined.log', 2);
  expect(first).toMatch(
    /^127\.0\.0\.1 - Aladdin \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET \/x%20y\?b=1 HTTP\/1\.1" 200 4 "http:\/\/r\/\?a=1" "agent \\x22q\\x22"$/,
  );
  expect(second).toMatch(/^127\.0\.0\.1 - - \[.*\] "HEAD \/404 HTTP\/1\.1" 404 0 "-" "-"$/);
});

const cases = [
  {
    it: 'escapes values as \\xXX and shows a missing value as -',
    path: '/default?a=%22',
    log: 'default.log',
    line: '200|%22|a\\x22b\\x5Cc\\x09d|-|-',
  },
  {
    it: 'can escape for JSON',
    path: '/json',
    log: 'json.log',
    line: '{"uri":"/json","a":"a\\"b\\\\c\\td","none":""}',
  },
  { it: 'can leave values as they are', path: '/none', log: 'none.log', line: 'a"b\\c\td|' },
  { it: 'joins the strings of a format', path: '/long', log: 'long.log', line: 'one two 200' },
];

for (const { it, path, log, line } of cases) {
  test(`a log format ${it}`, async () => {
    await gw.fetch(path, { headers: { 'x-a': 'a"b\\c\td' } });
    expect(await lines(log, 1)).toEqual([line]);
  });
}

test('a log format knows the captures of the location', async () => {
  await gw.fetch('/captured/me');
  await expect.poll(() => gw.read('default.log')).toContain('200|-|-|-|me\n');
});

test('secrets never reach a log', async () => {
  const headers = {
    authorization: 'Bearer topsecret',
    cookie: 'session=topsecret',
    'x-api-key': 'topsecret',
    referer: 'http://r/?token=topsecret&b=2',
  };
  await gw.fetch('/secrets?n=1&key=topsecret&token=topsecret&k%65y=topsecret', { headers });
  const [line = ''] = await lines('secrets.log', 1);
  expect(line).not.toContain('topsecret');
  expect(line).toContain('GET /secrets?n=1&key=***&token=***&k%65y=*** HTTP/1.1');
  expect(line).toContain('http://r/?token=***&b=2');
});

test('several logs of one level are all written', async () => {
  await gw.fetch('/two');
  expect(await lines('two-a.log', 1)).toEqual(['one two 200']);
  expect(await lines('two-b.log', 1)).toEqual(['one two 200']);
});

test('a log with if= skips requests whose condition is empty or 0', async () => {
  for (const query of ['', '?log=', '?log=0', '?log=1', '?log=00']) await gw.fetch(`/if${query}`);
  expect(await lines('if.log', 2)).toEqual(['one two 200', 'one two 200']);
});

test('access_log off and a log of the level itself replace the inherited log', async () => {
  const before = gw.read('combined.log');
  await gw.fetch('/off');
  await gw.fetch('/long');
  await gw.fetch('/last');
  await expect
    .poll(() => gw.read('combined.log').slice(before.length))
    .toMatch(/^.*"GET \/last HTTP\/1\.1".*\n$/);
});

test('a buffered log is written when its buffer is full, whole lines at a time', async () => {
  await gw.fetch('/buffered');
  expect(gw.read('buffered.log')).toBe('');
  for (let sent = 0; sent < 1024 / 'one two 200\n'.length + 1; sent++) await gw.fetch('/buffered');
  const [line] = await lines('buffered.log', 1);
  expect(line).toBe('one two 200');
  expect(gw.read('buffered.log')).toMatch(/\n$/);
});
