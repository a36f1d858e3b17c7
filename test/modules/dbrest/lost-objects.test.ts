import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';

const POOL = 4;
const WORD = `create function word() returns text volatile language plpgsql as $$ begin return 'new'; end $$`;
const FIXTURE = `
  create type status as enum ('new', 'old');
  create function held(s text) returns boolean stable language plpgsql
    as $$ declare x status; begin x := s; perform pg_advisory_xact_lock_shared(1); return x = 'new'; end $$;
  -- A lock on a table is when a session hears what others have dropped.
  create table passed ();
  create function at_gate() returns text stable language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(1); perform from passed; return ''; end $$;
  grant select on passed to anon;
  create sequence calls;
  create sequence numbers;
  ${WORD};
  create function word_behind_gate() returns text stable language plpgsql
    as $$ begin return (select at_gate() || word()); end $$;
  create function note_word() returns text volatile language plpgsql
    as $$ begin perform nextval('calls'); return (select at_gate() || word()); end $$;
  create function number_behind_gate() returns text stable language plpgsql
    as $$ begin return (select at_gate() || coalesce(pg_sequence_last_value('numbers'::regclass), 0)); end $$;
  create function says_so() returns int stable language plpgsql
    as $$ begin raise exception 'cache lookup failed for type 1' using errcode = 'XX000'; end $$;
  grant usage on sequence calls, numbers to anon;
`;
const REPLACED_ENUM = `begin; alter type status rename to former; create type status as enum ('new', 'old'); drop type former; commit`;

async function open(): Promise<{ db: TestDatabase; api: Direct; gate: pg.Client }> {
  const db = await postgres(FIXTURE);
  const gate = new pg.Client(db.adminDsn);
  await gate.connect();
  onTestFinished(() => gate.end());
  return { db, api: await direct({ onTestFinished }, db.dsn, { poolSize: POOL }), gate };
}

/** Keeps requests waiting inside their functions until all of them are there and `change` is done. */
async function behindGate<T>(
  { db, gate }: { db: TestDatabase; gate: pg.Client },
  { requests, change }: { requests: () => Promise<T>[]; change?: string },
): Promise<T[]> {
  await gate.query('select pg_advisory_lock(1)');
  const running = requests();
  await expect
    .poll(() => db.query(`select from pg_locks where locktype = 'advisory' and not granted`), { interval: 5 })
    .toHaveLength(running.length);
  if (change !== undefined) await db.query(change);
  await gate.query('select pg_advisory_unlock(1)');
  return Promise.all(running);
}

test('types that are replaced one soon after the other fail no read', async () => {
  const t = await open();
  for (let round = 0; round < 5; round += 1) {
    const requests = (): ReturnType<Direct['get']>[] =>
      Array.from({ length: POOL }, () => t.api.get('/api/rpc/held?s=new'));
    // Now all sessions of the pool know the type that is about to go.
    for (const response of await behindGate(t, { requests }))
      expect(response).toMatchObject({ status: 200, body: 'true' });
    await t.db.query(REPLACED_ENUM);
    expect(await t.api.get('/api/rpc/held?s=new')).toMatchObject({ status: 200, body: 'true' });
  }
});

const replaced: [request: string, change: string, body: string][] = [
  ['rpc/word_behind_gate', `drop function word(); ${WORD.replace("'new'", "'newer'")}`, '"newer"'],
  [
    'rpc/number_behind_gate',
    'drop sequence numbers; create sequence numbers; grant usage on sequence numbers to anon',
    '"0"',
  ],
];
test.each(replaced)(
  '%s is read again when "%s" took what it was about to use',
  async (...[request, change, body]) => {
    const t = await open();
    const requests = (): ReturnType<Direct['get']>[] => [t.api.get(`/api/${request}`)];
    expect(await behindGate(t, { requests, change })).toMatchObject([{ status: 200, body }]);
  },
);

test('a function with effects that lost what it uses is not run again, and may be called again', async () => {
  const t = await open();
  const call = async () => {
    const { x, done } = t.api.start('POST /api/rpc/note_word', {}, '');
    await done;
    return x.sent;
  };
  const change = `drop function word(); ${WORD}`;
  const [refused] = await behindGate(t, { requests: () => [call()], change });
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect(JSON.parse(refused?.body ?? '{}')).toMatchObject({
    code: 'XX000',
    message: expect.stringMatching(/^cache lookup failed for function \d+$/) as string,
    hint: 'Something was replaced in the database meanwhile, and the request was rolled back: send it again.',
  });
  expect(await t.db.query('select last_value::int as n from calls')).toEqual([{ n: 1 }]);
  expect(await call()).toMatchObject({ status: 200, body: '"new"' });
});

test('what a function says of its own accord is no change of the database', async () => {
  const { api } = await open();
  expect(await api.get('/api/rpc/says_so')).toMatchObject({
    status: 500,
    body: expect.stringContaining('"hint":null') as string,
  });
});
