import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';
import { perTier } from '../../harness/tier.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const USERS = 50;
const CALLS = perTier({ short: 600, long: 100_000 });

const FIXTURE = `
  create table notes (id serial primary key, owner text not null, text text, pages int);
  create table lines (id serial primary key, note int references notes on delete cascade, owner text not null, text text);
  create table members (name text primary key);
  create table rooms (id int primary key, name text);
  insert into rooms select i, 'room ' || i from generate_series(1, 20) i;
  create function who() returns text stable language sql as
    $$ select current_setting('request.jwt.claims', true)::json->>'sub' $$;
  alter table notes enable row level security;
  alter table lines enable row level security;
  alter table rooms enable row level security;
  create policy own on notes using (owner = who());
  create policy own on lines using (owner = who());
  create policy of_members on rooms using (exists (select from members m where m.name = who()));
  create view long_notes as select id, text from notes where pages > 5;
  -- Before PostgreSQL 15 the policies are those for the owner of the view.
  do $$ begin
    if current_setting('server_version_num')::int >= 150000 then
      execute 'alter view long_notes set (security_invoker = true)';
    else
      execute 'alter view long_notes owner to web_user';
    end if;
  end $$;
  grant all on all tables in schema public to web_user;
  grant all on all sequences in schema public to web_user;
`;
const READS = [
  '/notes?select=id,text,pages&order=id',
  '/notes?select=text,lines(text)&order=id',
  '/notes?select=count()',
  '/lines?select=text&order=id&limit=3',
  '/rooms?order=id',
  '/long_notes?order=id',
];

interface User {
  readonly gw: Gateway;
  /** How often responses had each state. */
  readonly seen: Map<string, number>;
  readonly name: string;
  readonly headers: Record<string, string>;
  /** A whole number below `below`, the same in each run. */
  next(below: number): number;
}

/** Writes rows that only this user sees. */
const WRITES: readonly ((
  user: User,
  n: number,
) => readonly [method: string, path: string, body?: unknown])[] = [
  ({ name }, n) => ['POST', '/notes', { owner: name, text: `note ${n}`, pages: n % 10 }],
  ({ name }, n) => ['PATCH', `/notes?owner=eq.${name}&pages=eq.${n % 10}`, { text: `changed ${n}` }],
  ({ name }, n) => ['PATCH', `/notes?owner=eq.${name}&pages=eq.3`, { pages: n % 10 }],
  (_user, n) => ['DELETE', `/notes?pages=eq.${n % 10}`],
  ({ name }, n) => ['POST', '/lines', { owner: name, text: `line ${n}` }],
  (_user, n) => ['DELETE', `/lines?text=like.*${n % 10}`],
  ({ name }) => ['POST', '/members?on_conflict=name', { name }],
  ({ name }) => ['DELETE', `/members?name=eq.${name}`],
];

/** Reads through the cache, once more, and without it; returns the differences. */
async function compare({ gw, headers, next, seen }: User): Promise<string> {
  const path = READS[next(READS.length)] as string;
  const kind = next(4);
  const asked = {
    ...headers,
    ...(kind === 1 && { accept: 'text/csv' }),
    ...(kind === 2 && { prefer: 'count=exact' }),
  };
  const shown: string[] = [];
  for (const location of ['/api', '/api', '/plain']) {
    const { status, headers: given, body } = await gw.fetch(`${location}${path}`, { headers: asked });
    shown.push(`${status} ${given.get('content-range')} ${body}`);
    const state = String(given.get('x-cache'));
    seen.set(state, (seen.get(state) ?? 0) + 1);
  }
  return new Set(shown).size === 1 ? '' : `${path}: ${shown.join(' or ')}`;
}

async function write(user: User): Promise<string> {
  const { gw, headers, next } = user;
  const [method, path, body] = (WRITES[next(WRITES.length)] as (typeof WRITES)[0])(user, next(1_000));
  const location = next(3) === 0 ? '/plain' : '/api';
  const { status } = await gw.fetch(`${location}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json', prefer: 'resolution=ignore-duplicates' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return status < 300 ? '' : `${method} ${path}: ${status}`;
}

test(
  `${USERS} users with row security of their own always read what they would read without the cache`,
  async (t) => {
    const db = await postgres(FIXTURE);
    const gw = await startGateway(
      t,
      (dir) => `
      proxy_cache_path ${dir}/cache keys_zone=rows:4m;
      add_header X-Cache $upstream_cache_status;
      dbrest_jwt_secret "${SECRET}";
      server {
        location /api/ { dbrest_pass ${db.dsn}; dbrest_cache rows; dbrest_cache_valid 1h; dbrest_cache_lock on; }
        location /plain/ { dbrest_pass ${db.dsn}; }
      }`,
      { workers: 2 },
    );
    const wrong = new Set<string>();
    const seen = new Map<string, number>();
    let calls = 0;
    const lane = async (_: unknown, index: number): Promise<void> => {
      let state = index + 1;
      const next = (below: number): number => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return (state >>> 8) % below;
      };
      const name = `user${index}`;
      const user = { gw, seen, name, headers: bearer(sign({ role: 'web_user', sub: name })), next };
      while (calls < CALLS) {
        calls += 1;
        const fault = next(20) === 0 ? await write(user) : await compare(user);
        if (fault !== '') wrong.add(fault);
      }
    };
    await Promise.all(Array.from({ length: USERS }, lane));
    expect([...wrong]).toEqual([]);
    expect(seen.get('HIT')).toBeGreaterThan(CALLS / 3);
  },
  perTier({ short: 60_000, long: 1_800_000 }),
);
