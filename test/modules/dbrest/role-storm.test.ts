import type { SentResponse } from '../../harness/test-wire.ts';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';
import { inSeconds, SECRET, sign } from '../../harness/tokens.ts';
import { perTier } from '../../harness/tier.ts';

const FIXTURE = `
  create table notes (id int primary key, owner name);
  insert into notes select i, case when i % 2 = 0 then 'anon' else 'web_user' end from generate_series(1, 20) i;
  alter table notes enable row level security;
  create policy own on notes using (owner = current_user);
  create view whoami as select
    current_user as role,
    current_setting('request.jwt') as jwt,
    current_setting('request.jwt.claims')::json->>'n' as n,
    current_setting('request.headers')::json->>'x-call' as call,
    current_setting('timezone') as zone,
    current_setting('response.headers') as response;
  create view many as select i as id, current_user as role, repeat('y', 100) as pad from generate_series(1, 6000) i;
  create function leave_marks() returns int language plpgsql as $$ begin
    perform set_config('request.jwt', 'forged', false), set_config('request.jwt.claims', '{"n":"forged"}', false);
    perform set_config('timezone', 'Asia/Tokyo', true), set_config('response.headers', '[{"X-Forged":"1"}]', false);
    perform set_config('role', 'web_user', false);
    return 1;
  end $$;
  create view marks as select leave_marks() as done;
  grant select on all tables in schema public to anon, web_user;
`;

const CALLS = perTier({ short: 600, long: 6_000 });
const LANES = 48;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

/** The role and the token of a call. */
interface Call {
  readonly api: Direct;
  readonly n: string;
  readonly role: 'anon' | 'web_user';
  readonly token: string;
  /** The token is valid, so the database gets its claims. */
  readonly genuine: boolean;
}

const CALLERS: ((n: string) => Omit<Call, 'api' | 'n'>)[] = [
  (n) => ({ role: 'web_user', token: sign({ role: 'web_user', n }), genuine: true }),
  (n) => ({ role: 'anon', token: sign({ role: 'anon', n }), genuine: true }),
  () => ({ role: 'anon', token: '', genuine: false }),
  (n) => ({ role: 'anon', token: `${sign({ role: 'web_user', n })}x`, genuine: false }),
  (n) => ({ role: 'anon', token: sign({ role: 'web_user', n, exp: inSeconds(-100) }), genuine: false }),
];

function caller(api: Direct, n: string): Call {
  const kind = CALLERS[(Number(n) * 7_919) % CALLERS.length] as (typeof CALLERS)[0];
  return { api, n, ...kind(n) };
}

const headersOf = ({ token, n }: Call): Record<string, string> => ({
  'x-call': n,
  ...(token !== '' && { authorization: `Bearer ${token}` }),
});

/** The response if it is not the right one, else nothing; a lost connection counts as right. */
function unless(response: SentResponse, right: (body: string) => boolean): string | undefined {
  return response.status === 503 || right(response.body)
    ? undefined
    : `${response.status} ${response.body.slice(0, 300)}`;
}

const KINDS: ((call: Call) => Promise<string | undefined>)[] = [
  async (call) => {
    const { api, role, n, token, genuine } = call;
    const jwt = genuine ? token : '';
    const right = JSON.stringify([{ role, jwt, n: genuine ? n : null, call: n, response: '' }]);
    const response = await api.get('/api/whoami?select=role,jwt,n,call,response', headersOf(call));
    return unless(response, (body) => body === right);
  },
  async (call) => {
    const response = await call.api.get('/api/whoami?select=zone', headersOf(call));
    return unless(response, (body) => !body.includes('Tokyo') && !body.includes('Cairo'));
  },
  async (call) => {
    const response = await call.api.get('/api/notes?select=owner', {
      ...headersOf(call),
      prefer: 'count=exact',
    });
    return unless(response, (body) => {
      const owners = (JSON.parse(body) as { owner: string }[]).map(({ owner }) => owner);
      return owners.length === 10 && owners.every((owner) => owner === call.role);
    });
  },
  async (call) =>
    unless(await call.api.get('/api/notes?id=eq.x', headersOf(call)), (body) => body.includes('22P02')),
  async (call) => {
    const response = await call.api.get('/api/whoami?select=role', {
      ...headersOf(call),
      prefer: 'tx=rollback, timezone=Africa/Cairo',
    });
    return unless(response, (body) => body === `[{"role":"${call.role}"}]`);
  },
  async (call) =>
    unless(await call.api.get('/api/marks', headersOf(call)), (body) => body === '[{"done":1}]'),
  async (call) => {
    const { x, done } = call.api.start('GET /api/notes', headersOf(call));
    setImmediate(() => x.leave());
    await done;
    return undefined;
  },
  async (call) => {
    const { x, done } = call.api.start('GET /api/many', headersOf(call));
    await done;
    const foreign = call.role === 'anon' ? '"web_user"' : '"anon"';
    return x.sent?.body.includes(`"role":${foreign}`) ? 'rows of another role' : undefined;
  },
];

test('thousands of mixed requests on a connection that is often killed see nothing of each other', async () => {
  const api = await direct({ onTestFinished }, db.dsn, {
    jwtKeys: { kind: 'secret', secret: SECRET },
    txEnd: 'commit-allow-override',
    poolSize: 1,
    poolTimeoutMs: 60_000,
  });
  const foreign = new Set<string>();
  const sessions = `from pg_stat_activity where datname = current_database() and application_name = 'gw'`;
  let calls = 0;
  let ended = 0;
  const lane = async (): Promise<void> => {
    while (calls < CALLS) {
      const n = (calls += 1);
      if (n % 400 === 0) ended += (await db.query(`select pg_terminate_backend(pid) ${sessions}`)).length;
      const call = caller(api, String(n));
      const kind = KINDS[n % 40 === 0 ? 7 : (n * 104_729) % 7] as (typeof KINDS)[0];
      const seen = await kind(call);
      if (seen !== undefined) foreign.add(`${call.role}: ${seen}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect([...foreign]).toEqual([]);
  // At times there is no session to end.
  expect(ended).toBeGreaterThan(0);
  // The last cancelled query may take a moment to end, and the listener for schema changes to reconnect.
  await vi.waitFor(
    async () => expect(await db.query(`select state ${sessions} and state <> 'idle'`)).toEqual([]),
    { timeout: 10_000 },
  );
});
