import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { oneGateway, startGateway, type Gateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';

/** Each of these would take minutes on a long run of `a` in a backtracking engine. */
const linear = ['(a+)+$', '(a|aa)+$', '(?:a|b|ab)*\\.php$', '([a-z]+)*$', '(?<n>a{1,8})+$', '(?i)(A+)+$'];
/** V8's linear engine declines these. */
const counted = [
  '([a-z]{2,20}-?){1,10}$',
  '(?!x)(a+)+$',
  '(?:(?=a)a+)+$',
  '(a)(a|aa)+\\1$',
  '(?!api/)(\\w+\\.?)+/end$',
];
const cases = [...linear, ...counted].flatMap((pattern) => [
  { pattern, modifier: '~', status: linear.includes(pattern) ? 200 : 500 },
  { pattern, modifier: '~*', status: linear.includes(pattern) ? 200 : 500 },
]);
const numbered = cases
  .filter(({ pattern, modifier }) => modifier === '~' || !pattern.includes('\\1'))
  .map((example, place) => ({ ...example, place, pattern: `^/${place}/${example.pattern}` }));

let gw: Gateway;
beforeAll(async () => {
  const locations = numbered.map(
    ({ modifier, pattern }) => `location ${modifier} "${pattern}" { return 200 regex; }`,
  );
  gw = await startGateway(
    { onTestFinished: afterAll },
    `server { location / { return 200 prefix; } ${locations.join(' ')} }`,
  );
});

for (const { modifier, pattern, place, status } of numbered) {
  test(`the location ${modifier} ${pattern} cannot hang a worker`, async () => {
    const from = gw.errorLog().length;
    await gw.expect(`GET /${place}/${'a'.repeat(60)}!`, { status });
    await gw.expect(`GET /${place}/${'a'.repeat(3_000)}!`, { status });
    if (status === 500)
      await gw.waitForLog(/\[error\].*pcre2_match\(\) failed: -47 on "\/\d+\/a+(?:…|!)" using/, from);
  });
}

const load = oneGateway();

const places = [
  {
    it: 'a server name',
    server: 'server_name "~PATTERN"; return 200; } server { server_name b; return 200;',
  },
  { it: 'an if', server: 'location / { if ($arg_a ~ "PATTERN") { return 204; } return 200; }' },
  { it: 'a map', http: 'map $arg_a $m { "~PATTERN" 1; }', server: 'return 200 $m;' },
  { it: 'a rewrite', server: 'rewrite "PATTERN" /b; return 200;' },
  { it: 'a referer', server: 'valid_referers "~PATTERN"; if ($invalid_referer) { return 403; } return 200;' },
  {
    it: 'a browser without gzip',
    server: 'gzip on; gzip_min_length 1; gzip_disable "PATTERN"; root .; index text;',
  },
  { it: 'a redirect of an upstream', server: `proxy_redirect "~PATTERN" /; location / { proxy_pass UP; }` },
  { it: 'a cookie of an upstream', server: `proxy_cookie_path "~PATTERN" /; location / { proxy_pass UP; }` },
  { it: 'flags of a cookie', server: `proxy_cookie_flags "~PATTERN" secure; location / { proxy_pass UP; }` },
];
const endless = `${'a'.repeat(60)}-`;
const UPSTREAM = `location /up/ {
  add_header Set-Cookie "${endless}=b; path=${endless}" always;
  add_header Location ${endless} always;
  return 200;
}`;

test.for(places)(
  'the pattern of $it is given up, and the worker goes on',
  async ({ http = '', server }, t) => {
    const port = await freePort();
    const conf = `${http} server { ${server} } server { listen 127.0.0.1:${port}; ${UPSTREAM} }`;
    const own = await load(
      t,
      conf.replaceAll('PATTERN', '^/?(?:(?=a)a+)+$').replaceAll('UP', `http://127.0.0.1:${port}/up/`),
      { text: 'text' },
    );
    const headers = {
      host: endless,
      referer: `http://${endless}`,
      'user-agent': endless,
      'accept-encoding': 'gzip',
    };
    await own.fetch(`/?a=${endless}`, { headers });
    await own.fetch(`/${endless}?a=${endless}`, { headers });
    const [line] = await own.waitForLog(/.*pcre2_match\(\) failed: -47 on "\/?a+-" using.*/);
    expect(line).toContain('[error]');
  },
);

test.runIf(HAS_OPENSSL)(
  'the pattern of a server name is given up in a handshake, and the worker goes on',
  async (t) => {
    const certificates = new Certificates();
    certificates.authority('ca');
    const port = await freePort();
    const tls = `listen 127.0.0.1:${port} ssl; ssl_certificate ${certificates.path('ca.crt')}; ssl_certificate_key ${certificates.path('ca.key')};`;
    const own = await load(
      t,
      `server { ${tls} server_name "~^(?:(?=a)a+)+$"; return 200; } server { ${tls} server_name b; return 200; }`,
    );
    const client = connect({ port, host: '127.0.0.1', servername: endless, rejectUnauthorized: false });
    const failed = new Promise((resolve) => client.once('error', resolve));
    await own.waitForLog(/pcre2_match\(\) failed: -47 on "a+-" using "[^"]+" while SSL handshaking/);
    await expect(failed).resolves.toBeInstanceOf(Error);
  },
);
