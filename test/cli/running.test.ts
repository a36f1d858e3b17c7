import { jwks, startIssuer } from '../modules/auth_jwt/issuer.ts';
import { SECRET } from '../harness/tokens.ts';
import { expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { oneGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const run = firstAsProgram();
const load = oneGateway({ workers: 2 });

const CONTROL = `shared_dict_zone zone=feature_flags:1m;
  server { location /runtime/ { control_api; } location /a { return 200 ok; } location /old { return 301 /a; } }`;

test('gw live and gw ready report by text and exit code', async (t) => {
  const gw = await load(t, CONTROL);
  const conf = ['-c', gw.conf];
  expect(await run(gw.dir, ['live', ...conf])).toEqual({
    code: 0,
    stdout: `OK: ${gw.url}/runtime/live\n`,
    stderr: '',
  });
  expect(await run(gw.dir, ['ready', ...conf])).toEqual({
    code: 0,
    stdout: `OK: ${gw.url}/runtime/ready\n`,
    stderr: '',
  });
  expect(await run(gw.dir, ['ready', '-q', ...conf])).toEqual({ code: 0, stdout: '', stderr: '' });
  for (const address of [gw.url, `${gw.url}/runtime`, gw.url.replace('http://', '')]) {
    expect((await run(gw.dir, ['ready', '--address', address])).stdout).toBe(`OK: ${gw.url}/runtime/ready\n`);
  }
});

test('gw ready reports what is missing, and gw live does not depend on it', async (t) => {
  const gw = await load(
    t,
    `server { location = /l { control_api live; } location = /r { control_api ready; } location /kv { kv_pass 127.0.0.1:1; } }`,
  );
  expect(await run(gw.dir, ['live', '-c', gw.conf])).toMatchObject({ code: 0, stdout: `OK: ${gw.url}/l\n` });
  expect(await run(gw.dir, ['ready', '-q', '-c', gw.conf])).toEqual({
    code: 1,
    stdout: '',
    stderr: `gw: not ready: ${gw.url}/r responds with 503\n  kv:127.0.0.1:1: not connected\n`,
  });
});

test('gw status shows the state of the gateway as text and as JSON', async (t) => {
  const gw = await load(t, CONTROL);
  for (let i = 0; i < 6; i++) await gw.fetch('/a');
  await gw.fetch('/old');
  await gw.fetch('/runtime/flag/set?name=new-look');
  const { code, stdout, stderr } = await run(gw.dir, ['status', '-c', gw.conf]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^gw \d+\.\d+\.\d+\S* · node \d+\.\d+\.\d+ · up \d+s\nconfiguration {2}loaded \d{4}-/,
  );
  expect(stdout).toMatch(/\nrequests {7}\d+ in all, \d+\.\d per second\n/);
  expect(stdout).toMatch(/\n {2}WORKER .*\n {2}1 .* MB .* ms .*0\n {2}2 /);
  expect(stdout).toMatch(/\n {2}127\.0\.0\.1:\d+ {2}\/a +6 +6 +0 +0 +0 /);
  expect(stdout).toMatch(/\n {2}127\.0\.0\.1:\d+ {2}\/old +1 +0 +1 +0 +0 /);
  expect(stdout).toMatch(/\n {2}new-look {2}on\n/);
  const json = await run(gw.dir, ['status', '--json', '-c', gw.conf]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    lastReload: { successful: true },
    workers: [{ id: '1', restarts: 0 }, { id: '2' }],
    connections: { writing: 1 },
    flags: { 'new-look': true },
    pools: [],
  });
});

test('gw status shows the requests that failed while a database was away', async (t) => {
  const gw = await load(
    t,
    `server { location = /metrics { control_api metrics; }
       location /rest/ { dbrest_pass postgresql://anon@127.0.0.1:1/gone; dbrest_anon_role anon; } }`,
  );
  for (const _ of [1, 2]) await gw.expect('GET /rest/items', { status: 503 });
  const { stdout } = await run(gw.dir, ['status', '-c', gw.conf]);
  expect(stdout).toMatch(/\n {2}DATABASE +MAX +AVAILABLE +WAITING +TIMEOUTS +UNREACHED\n/);
  expect(stdout).toMatch(/\n {2}127\.0\.0\.1:1\/gone +(\d+) +\1 +0 +0 +2\n/);
  const json = await run(gw.dir, ['status', '--json', '-c', gw.conf]);
  expect(JSON.parse(json.stdout)).toMatchObject({ pools: [{ database: '127.0.0.1:1/gone', unreached: 2 }] });
});

test.runIf(HAS_OPENSSL)('gw status shows when certificates end', async (t) => {
  const files = new Certificates();
  files.authority('ca');
  files.signed('a.test', 'ca', { days: 20 });
  const conf = `server { location = /metrics { control_api metrics; } }
    server { listen 127.0.0.1:${await freePort()} ssl; ssl_certificate a.crt; ssl_certificate_key a.key; }`;
  const gw = await load(t, conf, {
    'a.crt': files.read('a.test.crt'),
    'a.key': files.read('a.test.key'),
  });
  const { stdout } = await run(gw.dir, ['status', '-c', gw.conf]);
  expect(stdout).toMatch(
    /\ncertificates\n {2}CERTIFICATE +EXPIRES +FAILED ORDERS +NEXT ORDER +LAST FAULT\n {2}a\.crt +in 19d 23h +- +- +-\n/,
  );
});

test('gw status shows how old the keys of issuers are', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const gw = await load(
    t,
    `server { location /a { auth_jwt api; auth_jwt_key_request ${issuer.url}?secret=s3cret; echo x; }
       location = /m { control_api metrics; } }`,
  );
  const read = async () => (await run(gw.dir, ['status', '-c', gw.conf])).stdout;
  await expect.poll(read).toMatch(/\nissuers\n {2}ISSUER +KEYS OF\n {2}http:\S+\/jwks +\d s ago\n/);
  expect(await read()).not.toContain('s3cret');
});

test('gw status shows the counts of quotas', async (t) => {
  const gw = await load(
    t,
    `quota_zone $arg_k zone=daily:1m limit=2/month;
     server { location /a { quota zone=daily; echo x; } location = /m { control_api metrics; } }`,
  );
  for (let nth = 0; nth < 3; nth += 1) await gw.fetch('/a?k=x');
  const { stdout } = await run(gw.dir, ['status', '-c', gw.conf]);
  expect(stdout).toMatch(/\nquotas\n {2}QUOTA +PASSED +REFUSED +FAILED\n {2}daily +2 +1 +0\n/);
  const json = await run(gw.dir, ['status', '--json', '-c', gw.conf]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    quotas: [{ zone: 'daily', passed: 2, refused: 1, failed: 0 }],
  });
});

test('a server with another name is reached by its name, on every address', async (t) => {
  const gw = await load(
    t,
    `server { server_name first; return 404; }
     server { server_name *.wild ops.test; location = /up { control_api ready; } }`,
  );
  expect((await run(gw.dir, ['ready', '-c', gw.conf])).stdout).toBe(`OK: ${gw.url}/up\n`);
});

test('a gateway on a Unix socket is reached there', async (t) => {
  const gw = await load(t, `server { } server { listen unix:gw.sock; location = /up { control_api live; } }`);
  const { code, stdout } = await run(gw.dir, ['live', '-c', gw.conf]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'OK: unix:gw.sock:/up\n' });
});

const faults: readonly { it: string; args: readonly string[]; stderr: RegExp; code?: number }[] = [
  {
    it: 'no location serves the endpoint',
    args: ['ready', '-c', 'without.conf'],
    stderr:
      /^gw: no location of without\.conf serves "ready"\n {2}add "location = \/ready \{ control_api ready; \}", or name a gateway with --address\n$/,
  },
  {
    it: 'the configuration is wrong',
    args: ['status', '-c', 'wrong.conf'],
    stderr: /unknown directive "retrun"/,
  },
  {
    it: 'there is no configuration',
    args: ['live', '-c', 'missing.conf'],
    stderr: /open\(\) "DIR\/missing\.conf" failed/,
  },
  {
    it: 'no server listens',
    args: ['status', '-c', 'good.conf'],
    stderr: /^gw: http:\/\/127\.0\.0\.1:\d+\/m does not respond: .*ECONNREFUSED/,
  },
  {
    it: 'no server is ready',
    args: ['ready', '-q', '-c', 'good.conf'],
    stderr: /^gw: not ready: http:\/\/.*\/r does not respond: /,
  },
  {
    it: 'the address is invalid',
    args: ['live', '--address', 'https://a'],
    stderr: /^gw: invalid address "https:\/\/a"\n {2}expected http/,
  },
  { it: 'an option is unknown', args: ['live', '--nope'], stderr: /unknown option "--nope"/, code: 2 },
];

const runFaulty = firstAsProgram();
for (const { it, args, stderr, code = 1 } of faults) {
  test(`gw ${args[0]} ends with ${code} when ${it}`, async (t) => {
    const port = await freePort();
    const server = (content: string) => `http { server { listen 127.0.0.1:${port}; ${content} } }\n`;
    const dir = directoryWith(t, {
      'without.conf': server('return 200;'),
      'wrong.conf': server('retrun 200;'),
      'good.conf': server('location = /r { control_api ready; } location = /m { control_api metrics; }'),
    });
    const said = await runFaulty(dir, args);
    expect(said.stderr).toMatch(stderr);
    expect(said).toMatchObject({ code, stdout: '' });
  });
}
