import { Agent, request } from 'node:http';
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { perTier } from '../../harness/tier.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `shared_dict_zone zone=feature_flags:64k;
     shared_dict_zone zone=mine:64k;
     feature_flag $by_user  by_user key=$arg_user;
     feature_flag $by_both  by_both key=$arg_user/$arg_shop;
     feature_flag $By_peer  by_peer;
     feature_flag $fixed    fixed key=always-the-same;
     feature_flag $by_flag  by_flag key=$fixed;
     feature_flag $odd      "odd name/ü" key=$arg_user;
     log_format flags '$uri by_user=$by_user;';
     access_log flags.log flags;
     server {
       location /runtime/  { access_log off; control_api; }
       location = /user    { return 200 $by_user; }
       location = /both    { return 200 $by_both; }
       location = /peer    { return 200 $by_peer; }
       location = /fixed   { return 200 "$fixed$by_flag"; }
       location = /odd     { return 200 $odd; }
       location = /header  { add_header X-New $by_user; return 204; }
       location = /moved   { return 302 /v$by_user; }
       location = /logged  { return 204; }
       location = /set     { set $by_user over; return 200 $by_user; }
       location = /copy    { set $copy "<$by_user>"; return 200 $copy; }
       location = /mine    { control_flags_zone mine; return 200 $by_user; }
       location /nested/   { location /nested/deep { return 200 $by_user; } }
     }
     server { server_name two; set $early $by_user; location / { return 200 $early; } }`,
    { workers: 2 },
  );
});

const set = (name: string, settings = '') =>
  gw.expect(`GET /runtime/flag/set?name=${name}${settings}`, { status: 200 });
const bodyOf = async (path: string) => (await gw.fetch(path)).body;

test('a flag that was never set is off', async () => {
  await gw.fetch('/runtime/flag/unset?name=by_user');
  expect(await bodyOf('/user?user=a')).toBe('0');
});

const settings = [
  { it: 'on', settings: '', value: '1' },
  { it: 'off', settings: '&enabled=0', value: '0' },
  { it: 'on for 0 %', settings: '&rollout_pct=0', value: '0' },
  { it: 'off at any rollout', settings: '&enabled=off&rollout_pct=100', value: '0' },
];
for (const { it, settings: given, value } of settings) {
  test(`a flag that is ${it} is ${value} wherever a variable can be`, async () => {
    await set('by_user', given);
    expect(await bodyOf('/user?user=a')).toBe(value);
    expect(await bodyOf('/nested/deep?user=a')).toBe(value);
    expect(await bodyOf('/copy?user=a')).toBe(`<${value}>`);
    expect((await gw.fetch('/header?user=a')).headers.get('x-new')).toBe(value);
    expect((await gw.fetch('/moved?user=a')).headers.get('location')).toMatch(new RegExp(`/v${value}$`));
    const { body } = await gw.fetch('/?user=a', { headers: { host: 'two' } });
    expect(body).toBe(value);
    const before = gw.read('flags.log').length;
    await gw.fetch('/logged?user=a');
    await expect.poll(() => gw.read('flags.log').slice(before)).toContain(`/logged by_user=${value};\n`);
  });
}

test('set replaces the value of a flag for the request', async () => {
  expect(await bodyOf('/set')).toBe('over');
});

test('the dictionary of the location is used', async () => {
  await set('by_user', '&enabled=0');
  await set('by_user', '&dict=mine');
  expect([await bodyOf('/user'), await bodyOf('/mine')]).toEqual(['0', '1']);
});

test('a flag that has expired is off', async () => {
  await set('by_user', '&ttl_s=1');
  expect(await bodyOf('/user')).toBe('1');
  await expect.poll(() => bodyOf('/user'), { timeout: 10_000 }).toBe('0');
  await gw.expect('GET /runtime/flag?name=by_user', {
    json: { status: 'error', message: 'flag not found: by_user' },
  });
});

test('a flag may have any name', async () => {
  await set('odd%20name/%C3%BC');
  expect(await bodyOf('/odd')).toBe('1');
});

test('the key of one flag may be another flag', async () => {
  await set('fixed', '&enabled=0');
  await set('by_flag');
  expect(await bodyOf('/fixed')).toBe('01');
});

test('the address of the client is the default key', async () => {
  // FNV-1a of 127.0.0.1, modulo 100.
  const place = Number(fnv1a('127.0.0.1') % 100n);
  await set('by_peer', `&rollout_pct=${place}`);
  expect(await bodyOf('/peer')).toBe('0');
  await set('by_peer', `&rollout_pct=${place + 1}`);
  expect(await bodyOf('/peer')).toBe('1');
});

const USERS = perTier({ short: 1_500, long: 10_000 });

test(`a rollout of 25 % is on for 25 % of ${USERS} users, always the same ones, and growing it turns no user off`, async () => {
  const users = Array.from({ length: USERS }, (_, n) => `user-${n}`);
  await set('by_both', '&rollout_pct=25');
  const quarter = await readAll(users);
  const share = quarter.filter((value) => value === '1').length / users.length;
  expect(share).toBeGreaterThan(0.23);
  expect(share).toBeLessThan(0.27);
  expect(quarter).toEqual(users.map((user) => (fnv1a(`${user}/s`) % 100n < 25n ? '1' : '0')));
  expect(await readAll(users)).toEqual(quarter);
  await set('by_both', '&rollout_pct=60');
  const more = await readAll(users);
  expect(users.filter((_, n) => quarter[n] === '1' && more[n] === '0')).toEqual([]);
});

/** The response to each user, over connections that reach both workers. */
async function readAll(users: readonly string[]): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const one = (user: string) =>
    new Promise<string>((resolve, reject) => {
      const path = `/both?user=${user}&shop=s`;
      const call = request({ port: gw.port, host: '127.0.0.1', path, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve(text));
      });
      call.on('error', reject).end();
    });
  const values = await Promise.all(users.map(one));
  agent.destroy();
  return values;
}

/** FNV-1a as its authors define it. */
function fnv1a(text: string): bigint {
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  return hash;
}
