import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  Displaced,
  openSession,
  type Row,
  type RunStep,
  type Session,
} from '../../../src/modules/dbrest/session/index.ts';
import { readDsn } from '../../../src/postgres/index.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { perTier } from '../../harness/tier.ts';
import { scrape } from '../control/scrapes.ts';
import { throughProxy } from './database-proxy.ts';
import { SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create function pass_gate() returns int stable language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(5); return 1; end $$;
  create table doors (id int primary key, gated boolean not null, size int not null);
  insert into doors select i, i = 1, case i when 3 then 300000 else 3 end from generate_series(1, 10) i;
  create view rooms as
    select id, current_user as role, repeat('x', size) as text, case when gated then pass_gate() end as passed from doors;
  create function nap(i int) returns int stable language plpgsql
    as $$ begin if i % 40 = 0 then perform pg_sleep(0.08); end if; return i; end $$;
  create view naps as
    select i as id, current_user as role, current_setting('request.headers')::json->>'x-call' as call, nap(i) as nap
    from generate_series(1, 100) i;
  create table sizes as select 1 as width;
  create table ledger (n text, role name default current_user, call text default current_setting('request.headers')::json->>'x-call');
  create function sometimes_slow() returns trigger language plpgsql
    as $$ begin if new.n like '%77' then perform pg_sleep(0.08); end if; return new; end $$;
  create trigger t before insert on ledger for each row execute function sometimes_slow();
  grant select on rooms, naps to anon, web_user;
  grant select on sizes to authenticator;
  grant insert on ledger to anon, web_user;
`;
const KEYS = 5;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const serve = (poolSize: number, dsn = db.dsn): Promise<Gateway> =>
  startGateway(
    { onTestFinished },
    `dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; dbrest_pool_size ${poolSize};
     server {
       location /api/ { dbrest_pass ${dsn}; }
       location /hasty/ { dbrest_pass ${dsn}; dbrest_timeout 40ms; }
       location /alone/ { dbrest_pass ${dsn}; dbrest_pipelining off; }
       location = /metrics { control_api metrics; }
     }`,
  );

/** Runs a request until its statement is known to be short. */
async function learn(gw: Gateway, path: string): Promise<void> {
  const before = await counted(gw, 'pipeline_depth_count');
  await expect
    .poll(async () => {
      await gw.expect(`GET ${path}`, { status: 200 });
      return counted(gw, 'pipeline_depth_count');
    })
    .toBeGreaterThan(before);
}

async function counted(gw: Gateway, metric: string, label = ''): Promise<number> {
  for (const [series, value] of await scrape(gw)) {
    if (series.startsWith(`gw_dbrest_${metric}{`) && series.includes(label)) return value;
  }
  return NaN;
}

const displaced = (gw: Gateway): Promise<number> => counted(gw, 'repeats_total', 'reason="displaced"');

/** No request passes the gate while it is closed. */
async function closeGate(): Promise<() => Promise<unknown>> {
  const keeper = new pg.Client(db.adminDsn);
  await keeper.connect();
  await keeper.query(`select pg_advisory_lock(${KEYS})`);
  onTestFinished(() => keeper.end());
  return () => keeper.query(`select pg_advisory_unlock(${KEYS})`);
}

test('requests that come together share writes to the database', async () => {
  const gw = await serve(1);
  const path = '/api/rooms?select=role&id=eq.2';
  const clients = Array.from({ length: 32 }, () => connect(gw.port, '127.0.0.1'));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  const round = async (): Promise<number> => {
    await learn(gw, path);
    const [batches, flushes] = [await counted(gw, 'batches_total'), await counted(gw, 'flushes_total')];
    const responses = clients.map(async (client) => {
      client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      return String(await once(client, 'data'));
    });
    for (const response of await Promise.all(responses)) expect(response).toContain('[{"role":"anon"}]');
    expect(await counted(gw, 'batches_total')).toBe(batches + 32);
    return (await counted(gw, 'flushes_total')) - flushes;
  };
  await expect.poll(round).toBeLessThan(32);
  for (const client of clients) client.destroy();
});

test('who waits behind a statement that takes long this time is served without it', async () => {
  const gw = await serve(2);
  for (const id of [2, 3]) await learn(gw, `/api/rooms?select=id,passed&id=eq.${id}`);
  const open = await closeGate();
  let isOpen = false;
  const gated = gw.fetch('/api/rooms?select=id,passed&id=eq.1').then((response) => {
    expect(isOpen).toBe(true);
    return response;
  });
  const others = Array.from({ length: 6 }, () => gw.fetch('/api/rooms?select=id,passed&id=eq.2'));
  for (const { body } of await Promise.all(others)) expect(body).toBe('[{"id":2,"passed":null}]');
  isOpen = true;
  await open();
  expect(await gated).toMatchObject({ status: 200, body: '[{"id":1,"passed":1}]' });
});

/** The second word of a cancel request (PostgreSQL documentation, "Message Formats"). */
const CANCEL = 80_877_102;

/** A data source name that delays cancel requests. */
function slowToCancel(delayMs: number): Promise<string> {
  return throughProxy(db, (bytes, { upstream }) => {
    const isCancel = bytes.length === 16 && bytes.readInt32BE(4) === CANCEL;
    setTimeout(() => upstream.write(bytes), isCancel ? delayMs : 0);
  });
}

interface SharedSession {
  readonly session: Session;
  /** Runs a statement in a batch that shares the session. */
  readonly run: (text: string) => Promise<unknown>;
}

async function openOne(dsn = db.dsn): Promise<Session> {
  const target = readDsn(dsn);
  if ('fault' in target) throw new Error(target.fault.message);
  const session = await openSession(pg, target, { ended: () => undefined });
  onTestFinished(() => session.end());
  return session;
}

async function slowlyCancelled(delayMs: number): Promise<SharedSession> {
  const session = await openOne(await slowToCancel(delayMs));
  const run = (text: string): Promise<unknown> => {
    const shared = { client: { aborted: false } };
    return session.run([{ statement: { text, values: [] } }], 10_000, { shared });
  };
  return { session, run };
}

test('a batch that is hit by the cancel request for the one before is displaced', async () => {
  const { session, run } = await slowlyCancelled(300);
  const batches = [run(`select 1 from pg_sleep(0.2)`), run(`select 2 from pg_sleep(10)`), run('select 3')];
  const outcomes = Promise.allSettled(batches);
  await sleep(50);
  session.cancel();
  expect(await outcomes).toEqual([
    { status: 'fulfilled', value: [['1']] },
    { status: 'rejected', reason: expect.any(Displaced) },
    { status: 'fulfilled', value: [['3']] },
  ]);
});

test('a sink that is full when its batch has ended does not keep the session from others', async () => {
  const session = await openOne();
  const sink = {
    begin: () => undefined,
    columns: () => undefined,
    row: () => new Promise<void>(() => undefined),
  };
  await session.run([{ statement: { text: `select 'row'`, values: [] }, sink }], 10_000);
  expect(session.stalledMs).toBe(0);
  expect(await session.run([{ statement: { text: 'select 1', values: [] } }], 10_000)).toEqual([['1']]);
});

test('a batch that cannot be written leaves nothing behind in the write that others share', async () => {
  const session = await openOne();
  const run = (text: string, values: string[] = []): Promise<unknown> => {
    const before = { statement: { text: `select 'before ' || $1`, values: [text] } };
    return session.run([before, { statement: { text, values } }], 10_000, {
      shared: { client: { aborted: false } },
    });
  };
  // Not a string at run time: an error while a batch is written must not affect other batches.
  const unwritable: string[] = JSON.parse('[7]');
  for (let round = 0; round < 3; round += 1) {
    const one = run('select 1');
    const failed = run('select $1::text', unwritable);
    const two = run('select 2');
    await expect(failed).rejects.toThrow(TypeError);
    expect(await one).toEqual([['before select 1'], ['1']]);
    expect(await two).toEqual([['before select 2'], ['2']]);
    expect(await run('select $1::text', ['x'])).toEqual([['before select $1::text'], ['x']]);
  }
});

test('a batch that waited for a change of its table, and is being cancelled for that, is displaced', async () => {
  const { session, run } = await slowlyCancelled(300);
  await run('table sizes');
  const owner = new pg.Client(db.adminDsn);
  await owner.connect();
  onTestFinished(() => owner.end());
  await owner.query('begin; alter table sizes add column depth int');
  const outcomes = Promise.allSettled([run('table sizes'), run('select 3')]);
  await expect.poll(() => db.query(`select from pg_locks where not granted`)).toHaveLength(1);
  // The second of two checks that find it late cancels it.
  for (let checks = 0; checks < 2; checks++) session.check(performance.now() + 1_000);
  await owner.query('commit');
  expect(await outcomes).toEqual([
    { status: 'rejected', reason: expect.any(Displaced) },
    { status: 'fulfilled', value: [['3']] },
  ]);
});

test('a batch whose rows have come does not depend on what the one before it prepared', async () => {
  const { session } = await slowlyCancelled(0);
  const ending: RunStep = { statement: { text: `select 'end'`, values: [] } };
  const rows: Row[] = [];
  const sink = { begin: () => undefined, columns: () => undefined, row: (row: Row) => void rows.push(row) };
  const run = (step: RunStep): Promise<unknown> =>
    session.run([step, ending], 10_000, { shared: { client: { aborted: false } } });
  const outcomes = await Promise.allSettled([
    run({ statement: { text: 'select 1 / $1::int', values: ['0'] } }),
    run({ statement: { text: 'select 2', values: [] }, sink }),
    run({ statement: { text: 'select 3', values: [] }, sink }),
  ]);
  expect(outcomes.slice(1).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(rows).toEqual([['2'], ['3']]);
  expect(session.broken).toBe(false);
});

test('a statement that takes the room of all others does not take away those of its own batch', async () => {
  const { run, session } = await slowlyCancelled(0);
  const texts = [`select 'a'`, `select '${'x'.repeat(1_100_000)}'`, `select 'b'`];
  const steps = texts.map((text) => ({ statement: { text, values: [] } }));
  await run(`select 'a'`);
  const [, , last] = await session.run(steps, 10_000);
  expect(last).toEqual(['b']);
  // The last of them, and this one.
  expect(await run('select count(*) from pg_prepared_statements')).toEqual([['2']]);
});

test('a result that is large this time is read again by a session of its own', async () => {
  const gw = await serve(2);
  const before = await displaced(gw);
  // On a busy machine the statement may just have counted as long, and then it has a session of its own.
  await expect
    .poll(async () => {
      await learn(gw, '/api/rooms?select=text&id=eq.2');
      const { status, body } = await gw.fetch('/api/rooms?select=text&id=eq.3');
      expect([status, body.length]).toEqual([200, 300_013]);
      return displaced(gw);
    })
    .toBe(before + 1);
});

test('dbrest_pipelining off gives each request a session to itself', async () => {
  const gw = await serve(2);
  await learn(gw, '/api/rooms?select=role&id=eq.2');
  const before = await counted(gw, 'pipeline_depth_count');
  for (let index = 0; index < 5; index++)
    await gw.expect('GET /alone/rooms?select=role&id=eq.2', { status: 200 });
  expect(await counted(gw, 'pipeline_depth_count')).toBe(before);
});

const CALLS = perTier({ short: 500, long: 20_000 });
const LANES = 32;
const ROLES = ['anon', 'web_user'] as const;

/** One call of the storm. */
interface Call {
  readonly gw: Gateway;
  readonly n: number;
  readonly headers: Record<string, string>;
  readonly role: string;
}

/** Returns what a call saw that it should not have. */
type Kind = (call: Call) => Promise<string>;

const written = new Map<string, { readonly role: string; readonly status: number }>();

async function read({ gw, headers }: Call, path: string, right: unknown): Promise<string> {
  const { status, body } = await gw.fetch(path, { headers });
  // A connection may be lost twice.
  return status === 503 || body === JSON.stringify(right) ? '' : `${path}: ${status} ${body}`;
}

const insert =
  (ending: string): Kind =>
  async ({ gw, n, headers, role }) => {
    const key = `${n}-${ending}`;
    const { status, body } = await gw.fetch('/api/ledger', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ n: key }),
    });
    written.set(key, { role, status });
    return status === 201 || status === 503 ? '' : `POST ${key}: ${status} ${body}`;
  };

const KINDS: readonly Kind[] = [
  (call) => {
    const id = 4 + (call.n % 5);
    return read(call, `/api/rooms?select=id,role&id=eq.${id}`, [{ id, role: call.role }]);
  },
  (call) => {
    const id = 1 + (call.n % 100);
    return read(call, `/api/naps?id=eq.${id}`, [{ id, role: call.role, call: String(call.n), nap: id }]);
  },
  insert('1'),
  insert('77'),
  async ({ gw, headers }) => {
    const { status } = await gw.fetch('/api/naps?id=eq.x', { headers });
    return status === 400 || status === 503 ? '' : `a fault: ${status}`;
  },
  async ({ gw, n }) => {
    const client = connect(gw.port, '127.0.0.1', () => {
      client.write(`GET /api/naps?id=eq.${1 + (n % 100)} HTTP/1.1\r\nHost: a\r\n\r\n`);
      setImmediate(() => client.destroy());
    });
    await new Promise((resolve) => client.once('close', resolve));
    return '';
  },
  async ({ gw, n, headers }) => {
    const { status, body } = await gw.fetch(`/hasty/naps?select=nap&id=eq.${n % 2 === 0 ? 40 : 41}`, {
      headers,
    });
    const isRight = n % 2 === 0 ? status === 504 || status === 500 : body === '[{"nap":41}]';
    return isRight || status === 503 ? '' : `hasty: ${status} ${body}`;
  },
];

test(
  'a storm of short and long, of reads, writes, faults, aborts and ended sessions mixes up nothing',
  async () => {
    const gw = await serve(3);
    const sessions = `from pg_stat_activity where datname = current_database() and application_name = 'gw'`;
    const tokens = { anon: '', web_user: sign({ role: 'web_user' }) };
    const wrong = new Set<string>();
    let calls = 0;
    const lane = async (): Promise<void> => {
      while (calls < CALLS) {
        const n = (calls += 1);
        if (n % 250 === 0)
          await db.query(`select pg_terminate_backend(pid) ${sessions} order by random() limit 1`);
        const role = ROLES[(n * 31) % 7 < 3 ? 0 : 1] as (typeof ROLES)[0];
        const headers = {
          'x-call': String(n),
          ...(tokens[role] !== '' && { authorization: `Bearer ${tokens[role]}` }),
        };
        const seen = await (KINDS[(n * 104_729) % KINDS.length] as Kind)({ gw, n, headers, role });
        if (seen !== '') wrong.add(seen);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    expect([...wrong]).toEqual([]);

    const rows = await db.query(
      `select n, role, call, count(*)::int as times from ledger group by n, role, call`,
    );
    const kept = new Map(rows.map((row) => [row['n'] as string, row]));
    expect(rows.filter(({ times }) => times !== 1)).toEqual([]);
    for (const [key, { role, status }] of written) {
      const row = kept.get(key);
      if (status === 201) expect(row).toMatchObject({ role, call: key.split('-')[0] });
      else if (row) expect(row['role']).toBe(role);
    }
    // Whether some of a few calls are displaced is chance.
    expect(await displaced(gw)).toBeGreaterThan(perTier({ short: -1, long: 0 }));
    const busy = `select state ${sessions} and state <> 'idle'`;
    await expect.poll(() => db.query(busy)).toEqual([]);
  },
  perTier({ short: 30_000, long: 600_000 }),
);
