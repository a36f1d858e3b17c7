import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { startPeer } from '../harness/peer.ts';
import { perTier } from '../harness/tier.ts';
import { type Change, installation, upgraded } from './installed.ts';
import { startSupervised } from './processes.ts';
import { IS_ROOT } from './rights.ts';

const LIMIT_MS = 600_000;
const JSON_TYPE = { 'Content-Type': 'application/json' };

const confOf = (ports: readonly number[]): string => `
  shared_dict_zone zone=feature_flags:64k;
  feature_flag $by_user by_user key=$arg_user;
  upstream app { server 127.0.0.1:${ports[0]}; dynamic_upstreams_managed; }
  upstream sessions {
    ${ports.map((port) => `server 127.0.0.1:${port};`).join(' ')}
    sticky learn create=$upstream_cookie_app lookup=$cookie_app zone=sessions:32k;
  }
  server {
    location /runtime/ { control_api; }
    location = /flag { return 200 $by_user; }
    location = /members { dynamic_upstreams_api; dynamic_upstreams_target app; }
    location = /events { worker_events_api; worker_events_zone bus; worker_events_channel c; }
    location /sessions { proxy_pass http://sessions; }
    location / { proxy_pass http://app; }
  }`;

/** Changes what a later upgrade needs, and returns what has to be there after each. */
async function writeState(gw: Gateway, added: number): Promise<() => Promise<void>> {
  const write = async (method: string, path: string, body: unknown): Promise<void> => {
    const response = await gw.fetch(path, { method, body: JSON.stringify(body), headers: JSON_TYPE });
    expect(response.status).toBe(200);
  };
  await gw.expect('GET /runtime/flag/set?name=by_user&enabled=1&ttl_s=0', { status: 200 });
  await gw.expect('GET /runtime/flag/set?name=other&enabled=1&pct=25', { status: 200 });
  await write('PATCH', '/members', { add: [{ address: `127.0.0.1:${added}`, weight: 7 }] });
  for (let n = 1; n <= 1_010; n += 1) await write('POST', '/events', { type: 't', payload: `event ${n}` });
  const { body: peer } = await gw.fetch('/sessions?new=mine');
  const flags = (await gw.fetch('/runtime/flags')).body.replace(/"ttl_s":"?\d+"?/g, '');
  return async () => {
    await gw.expect('GET /flag?user=1', { body: '1' });
    expect((await gw.fetch('/runtime/flags')).body.replace(/"ttl_s":"?\d+"?/g, '')).toBe(flags);
    const { peers, generation } = JSON.parse((await gw.fetch('/members')).body) as Record<string, unknown>;
    expect(generation).toBe(1);
    expect(peers).toContainEqual(expect.objectContaining({ address: `127.0.0.1:${added}`, weight: 7 }));
    for (let n = 0; n < 6; n += 1)
      await gw.expect('GET /sessions', { body: peer }, { headers: { Cookie: 'app=mine' } });
  };
}

test(
  'an upgrade carries over dictionaries, flags, members, events and sessions',
  { timeout: LIMIT_MS },
  async (t) => {
    const { program, install } = installation(t);
    const peers = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        startPeer(t, name, ({ url = '' }, response) => {
          const session = /[?&]new=(\w+)/.exec(url)?.[1];
          if (session !== undefined) response.setHeader('Set-Cookie', `app=${session}`);
          response.end(name);
        }),
      ),
    );
    const gw = await startSupervised(t, confOf(peers.map(({ port }) => port)), {
      program,
      workers: 2,
      // The state goes to a process that has given up root.
      main: IS_ROOT ? 'user nobody;' : '',
    });
    const isThere = await writeState(gw, peers[1]?.port as number);
    await isThere();
    install();
    expect(await upgraded(gw)).toMatchObject({ isDone: true });
    await isThere();
    // Clients go on with the numbers that they know.
    const { oldest_generation, newest_generation, events } = JSON.parse(
      (await gw.fetch('/events?since=1008')).body,
    ) as Record<string, unknown>;
    expect({ oldest_generation, newest_generation }).toEqual({
      oldest_generation: 11,
      newest_generation: 1_010,
    });
    expect(events).toMatchObject([
      { generation: 1_009, channel: 'c', type: 't', payload: 'event 1009' },
      { generation: 1_010, channel: 'c', type: 't', payload: 'event 1010' },
    ]);
    expect(gw.errorLog()).not.toContain('was not carried over');
  },
);

const NEXT_PART = /nextPart\(\) \{/;

/** Running programs whose state cannot be carried over whole, and the reason that the new one logs. */
const faulty: readonly { readonly it: string; readonly change: Change; readonly says: RegExp }[] = [
  {
    it: 'another version with another kind',
    change: [/kind: kind\d*\.name/, 'kind: "novel"'],
    says: /this program does not know the kind "novel"/,
  },
  {
    it: 'malformed entries',
    change: [/\(value\), ttlMs\]/, '(value).slice(0, 0), ttlMs]'],
    says: /zone "feature_flags": an entry is malformed/,
  },
  { it: 'no JSON', change: [NEXT_PART, '$& return "{secret";'], says: /carried over: it is malformed$/m },
  {
    it: 'no end',
    change: [NEXT_PART, '$& return `[${" ".repeat(4194000)}]`;'],
    says: /it (?:has more than 64 MiB|takes longer than 5 s)/,
  },
  {
    it: 'no answer',
    change: [/message\.type === "carry"/, 'false'],
    says: /the supervisor does not answer/,
  },
];

test('an upgrade goes on without a state that is faulty', { timeout: LIMIT_MS }, async (t) => {
  const { program, install } = installation(t);
  const conf = `shared_dict_zone zone=feature_flags:64k; server { location / { control_api; } }`;
  const gw = await startSupervised(t, conf, { program });
  const cases = faulty.slice(0, perTier({ short: 3, long: faulty.length }));
  for (const [index, { change }] of cases.entries()) {
    // Each program gives its state to the next one.
    install(change);
    const from = gw.errorLog().length;
    expect(await upgraded(gw)).toMatchObject({ isDone: true });
    const before = cases[index - 1];
    if (before) expect(gw.errorLog().slice(from)).toMatch(before.says);
    await gw.expect('GET /flag/set?name=a&enabled=1', { status: 200 });
  }
  const from = gw.errorLog().length;
  install();
  expect(await upgraded(gw)).toMatchObject({ isDone: true });
  expect(gw.errorLog().slice(from)).toMatch(cases.at(-1)?.says as RegExp);
  expect(gw.errorLog()).not.toContain('secret');
});
