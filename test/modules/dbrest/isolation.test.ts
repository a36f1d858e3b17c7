import pg from 'pg';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

/** `conflicting` fails `times` times. It counts by the random numbers of a session, which a rollback does not reset. */
const FIXTURE = `
  create role careful;
  create role repeating;
  create role casual;
  grant careful, repeating, casual to authenticator;
  alter role careful set default_transaction_isolation = 'SERIALIZABLE';
  alter role repeating set default_transaction_isolation = 'repeatable read';
  alter role casual set default_transaction_isolation = 'read committed';
  create table items (id int primary key, name text);
  insert into items values (1, 'a');
  create view level as select current_setting('transaction_isolation') as level, current_user as role;
  create function level_of_role() returns text language sql as $$ select current_setting('transaction_isolation') $$;
  create function level_of_function() returns text language sql set default_transaction_isolation = 'repeatable read'
    as $$ select current_setting('transaction_isolation') $$;
  create function relaxed() returns text stable language sql set default_transaction_isolation = 'read committed'
    as $$ select current_setting('transaction_isolation') $$;
  create function keep_level() returns text language sql
    as $$ select set_config('app.kept', current_setting('transaction_isolation'), false) $$;
  create table draws as select nth, random() as drawn from (select setseed(0.5)) seeded, generate_series(0, 5) nth;
  create function begin_draws() returns void volatile language sql as $$ select setseed(0.5) $$;
  create function conflicting(times int, code text) returns int stable language plpgsql as $$
    begin
      if random() <> (select drawn from draws where nth = times) then
        raise 'made up' using errcode = code;
      end if;
      return times;
    end $$;
  create function conflicting_with_effects() returns int volatile language sql as $$ select conflicting(1, '40001') $$;
  grant all on all tables in schema public to anon, careful, repeating, casual;
`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}";
       dbrest_pool_size 1; dbrest_tx_end commit-allow-override; } }`,
  );
});
beforeEach(async () => {
  // Behind a volatile function the session is reset, which frees its locks; the read that succeeds ends that.
  await gw.fetch('/api/rpc/level_of_role', { method: 'POST' });
  await gw.fetch('/api/level');
});

const as = (role: string): Record<string, string> => (role === 'anon' ? {} : bearer(sign({ role })));
const JSON_TYPE = { 'content-type': 'application/json' };

const levels: [role: string, request: string, level: string][] = [
  ['anon', 'GET level?select=level', 'read committed'],
  ['careful', 'GET level?select=level', 'serializable'],
  ['repeating', 'GET level?select=level', 'repeatable read'],
  ['casual', 'GET level?select=level', 'read committed'],
  ['careful', 'POST rpc/level_of_role', 'serializable'],
  ['anon', 'POST rpc/level_of_function', 'repeatable read'],
  ['careful', 'POST rpc/level_of_function', 'repeatable read'],
  ['careful', 'GET rpc/relaxed', 'read committed'],
  ['anon', 'GET level?select=level', 'read committed'],
];
for (const [role, request, level] of levels) {
  test(`${request} runs as ${role} at the level ${level}, on whatever session`, async () => {
    const [method = '', path = ''] = request.split(' ');
    // Behind a request that leaves settings, the session is reset in front of the statements.
    for (const before of ['GET level', 'POST rpc/keep_level', 'GET items?id=eq.x']) {
      const [how = '', what = ''] = before.split(' ');
      await gw.fetch(`/api/${what}`, { method: how, headers: as('careful') });
      const { status, body } = await gw.fetch(`/api/${path}`, { method, headers: as(role) });
      expect([status, body]).toEqual([200, expect.stringContaining(`"${level}"`)]);
    }
  });
}

test('a transaction that is undone, or held until its result is checked, has the level too', async () => {
  const headers = { ...as('careful'), prefer: 'tx=rollback' };
  expect((await gw.fetch('/api/level?select=level', { headers })).body).toBe('[{"level":"serializable"}]');
  const single = { ...as('careful'), accept: 'application/vnd.pgrst.object+json' };
  const { body } = await gw.fetch('/api/rpc/level_of_role', { method: 'POST', headers: single });
  expect(body).toBe('"serializable"');
});

test('requests of several roles on a shared connection each have their own level', async () => {
  const seen = new Set<string>();
  const lane = async (role: string): Promise<void> => {
    for (let i = 0; i < 60; i += 1) seen.add((await gw.fetch('/api/level', { headers: as(role) })).body);
  };
  await Promise.all(['anon', 'careful', 'repeating', 'casual'].map(lane));
  expect([...seen].toSorted()).toEqual([
    '[{"level":"read committed","role":"anon"}]',
    '[{"level":"read committed","role":"casual"}]',
    '[{"level":"repeatable read","role":"repeating"}]',
    '[{"level":"serializable","role":"careful"}]',
  ]);
});

/** A request while another transaction has changed the row and not yet committed; gives the response after that. */
async function whileChanged(role: string): Promise<{ status: number; body: string }> {
  const other = new pg.Client(db.adminDsn);
  await other.connect();
  try {
    await other.query(`begin; update items set name = 'theirs' where id = 1`);
    const writing = gw.fetch('/api/items?id=eq.1', {
      method: 'PATCH',
      headers: { ...as(role), ...JSON_TYPE },
      body: '{"name":"ours"}',
    });
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await db.query(waits)).length === 0);
    await other.query('commit');
    return await writing;
  } finally {
    await other.end();
  }
}

test('a write that conflicts with another transaction gets 409, and changes nothing', async () => {
  const { status, body } = await whileChanged('repeating');
  expect([status, JSON.parse(body)]).toMatchObject([409, { code: '40001' }]);
  expect(await db.query('select name from items')).toEqual([{ name: 'theirs' }]);
});

test('at the usual level the same write waits for the other transaction', async () => {
  expect((await whileChanged('casual')).status).toBe(204);
  expect(await db.query('select name from items')).toEqual([{ name: 'ours' }]);
});

const conflicts: [times: number, code: string, status: number, body: string][] = [
  [1, '40001', 200, '1'],
  [3, '40001', 200, '3'],
  [2, '40P01', 200, '2'],
  [4, '40001', 409, '"40001"'],
  [1, '40002', 500, '"40002"'],
];
for (const [times, code, status, body] of conflicts) {
  test(`a read that fails ${times} times with ${code} gets ${status}`, async () => {
    await gw.expect('POST /api/rpc/begin_draws', { status: 204 });
    const response = await gw.fetch(`/api/rpc/conflicting?times=${times}&code=${code}`);
    expect([response.status, response.body]).toEqual([status, expect.stringContaining(body)]);
  });
}

test('a call that may have effects is not repeated', async () => {
  await gw.expect('POST /api/rpc/begin_draws', { status: 204 });
  const { status } = await gw.fetch('/api/rpc/conflicting_with_effects', { method: 'POST' });
  expect(status).toBe(409);
});
