import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const CONF = `error_page 404 = @in; auth_basic_user_file users;
  server { location @in { return 200 in; } location / { auth_basic r; } location /slow { auth_basic r; auth_delay 100ms; }
  }`;
const users = (text: string) => ({ users: text });
const as = (credentials: string) => ({
  headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
});
const LEMON = '$2y$04$abcdefghijklmnopqrstuuHA31/CMHyYk2uLPPLvNEQZiWHP4HvLm';

const lines = [
  {
    who: undefined,
    line: /\[info\] \d+#\d+: \*\d+ no user\/password was provided for basic authentication, client: 127\.0\.0\.1, server: .*, request: "GET \/ HTTP\/1\.1"/,
  },
  { who: 'ann:lemon', line: /\[error\] \d+#\d+: \*\d+ user "ann": password mismatch, client: / },
  { who: 'bcr:lemon', line: /\[error\] \d+#\d+: \*\d+ user "bcr": password mismatch, client: / },
  {
    who: 'größe:lemon',
    line: /\[error\] \d+#\d+: \*\d+ user "größe" was not found in "\/.*\/users", client: /,
  },
  {
    who: 'odd:lemon',
    line: /\[error\] \d+#\d+: \*\d+ user "odd": the form of the stored password is unknown, client: /,
  },
  {
    who: 'des:lemon',
    line: /\[error\] \d+#\d+: \*\d+ user "des": the stored password is one of DES crypt, which is not taken: store it anew, with "gw hash-password", client: /,
  },
];
for (const { who, line } of lines) {
  test(`${who ?? 'a request without a password'} is refused and logged as fail2ban expects, without the password`, async (t) => {
    const gw = await load(t, CONF, users(`ann:{PLAIN}melon\nodd:melon\ndes:abSqRke2TAJmc\nbcr:${LEMON}\n`));
    await gw.expect(
      'GET /',
      { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } },
      who ? as(who) : {},
    );
    await gw.waitForLog(line);
    expect(gw.errorLog() + gw.accessLog()).not.toMatch(/[lm]emon|bGVtb24/);
  });
}

test('a change of the user file takes effect at once', async (t) => {
  const gw = await load(t, CONF, users('ann:{PLAIN}one'));
  await gw.expect('GET /', { status: 200 }, as('ann:one'));
  writeFileSync(join(gw.dir, 'users'), 'ann:{PLAIN}two\n');
  await gw.expect('GET /', { status: 401 }, as('ann:one'));
  await gw.expect('GET /', { status: 200 }, as('ann:two'));
  rmSync(join(gw.dir, 'users'));
  await gw.expect('GET /', { status: 403 }, as('ann:two'));
  await gw.waitForLog(/\[error\] .*open\(\) "\/.*\/users" failed \(2: No such file or directory\), client: /);
});

test('a user file that cannot be read gives 500', async (t) => {
  const gw = await load(t, CONF.replace('user_file users', 'user_file .'));
  await gw.expect('GET /', { status: 500 }, as('ann:one'));
  await gw.waitForLog(/\[crit\] .*open\(\) "\/.*" failed \(21: /);
});

test('auth_delay holds 401 back, and a client that leaves meanwhile does not delay a stop', async (t) => {
  const gw = await startGateway(t, CONF.replace('100ms', '60s'), { files: users('ann:{PLAIN}one') });
  await gw.expect('GET /slow', { status: 200 }, as('ann:one'));
  const waiting = await gw.connect();
  waiting.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await gw.waitForLog(/\[info\] .*delaying unauthorized request, client: /);
  expect(waiting.received()).toBe('');
  waiting.destroy();
  await gw.waitForAccessLog(/"GET \/slow.* 499 /);
  await gw.stop('SIGQUIT');
});

test('a delayed 401 is sent after the delay', async (t) => {
  const gw = await load(t, CONF, users('ann:{PLAIN}one'));
  await gw.expect('GET /slow', { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } });
});

/** The patterns of Debian's fail2ban: filter.d/nginx-http-auth.conf and nginx-limit-req.conf. */
const FAIL2BAN = [
  /^[\d/]+ [\d:]+ \[error\] \d+#\d+: \*\d+ user "ann": password mismatch, client: 127\.0\.0\.1, server: \S*, request: "\S+ \S+ HTTP\/\d+\.\d+", host: "\S+"(?:, referrer: "\S+")?\s*$/m,
  /^[\d/]+ [\d:]+ \[error\] \d+#\d+: \*\d+ limiting requests, excess: [\d.]+ by zone "one", client: 127\.0\.0\.1,/m,
];

test('fail2ban finds clients that guess passwords or exceed a limit', async (t) => {
  const gw = await load(
    t,
    `limit_req_zone $binary_remote_addr zone=one:10m rate=1r/m;
     server { location / { auth_basic r; auth_basic_user_file users; } location /often { limit_req zone=one; root .; } }`,
    users('ann:{PLAIN}melon'),
  );
  const { headers } = as('ann:lemon');
  await gw.expect('GET /', { status: 401 }, { headers: { ...headers, referer: 'http://a.example/x' } });
  await gw.fetch('/often');
  await gw.expect('GET /often', { status: 503 });
  for (const line of FAIL2BAN) await gw.waitForLog(line);
});

/** With so many rounds, a request without a password is served before the check ends. */
const SLOW = '$6$rounds=200000$salt$x';

test('passwords are checked while the worker serves, and checks beyond the queue get 503', async (t) => {
  const gw = await startGateway(t, `${CONF} server { server_name free; return 200 free; }`, {
    files: users(`sha:${SLOW}\n`),
  });
  const ended: string[] = [];
  const first = gw.fetch('/', as('sha:guess')).then(({ status }) => ended.push(`guess ${status}`));
  await gw.expect('GET /', { status: 200, body: 'free' }, { headers: { host: 'free' } });
  ended.push('free');
  const more = Array.from({ length: 65 }, (_, n) => gw.fetch('/', as(`sha:guess${n}`)));
  const { status, headers } = await Promise.race(more);
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  await first;
  expect(ended).toEqual(['free', 'guess 401']);
  await gw.stop();
  await Promise.allSettled(more);
});

test('SHA-crypt and MD5 passwords are accepted', async (t) => {
  const stored = {
    six: '$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1',
    one: '$1$abc$pmr/PCoqKpEGPu1M/mtZR/',
  };
  const lines = Object.entries(stored).map(([user, form]) => `${user}:${form}`);
  const gw = await load(t, CONF, users(lines.join('\n')));
  await gw.expect('GET /', { status: 200 }, as('six:Hello world!'));
  await gw.expect('GET /', { status: 401 }, as('six:Hello'));
  await gw.expect('GET /', { status: 200 }, as('one:lemon'));
  await gw.expect('GET /', { status: 401 }, as('one:Hello'));
});
