import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, type TestContext, test } from 'vitest';
import { type EventSource, openEvents } from '../../../harness/event-source.ts';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { postgres } from '../../../harness/postgres.ts';
import { perTier } from '../../../harness/tier.ts';
import { watchSql } from '../../../../src/modules/dbrest/tools/watch-sql.ts';
import { bearer, SECRET, sign } from '../../../harness/tokens.ts';

/** Rows that change hands: the owner of a row decides who may read it. */
const HANDS = `
  create table things (id int primary key, owner text, number int not null default 0);
  alter table things enable row level security;
  create policy own on things to web_user using (owner = current_setting('request.jwt.claims')::json->>'sub');
  grant select on things to web_user;
  ${watchSql([{ schema: 'public', name: 'things' }]).replace('set local', 'set')}
`;

const USERS = ['ann', 'bob', 'cid', 'dan', 'eve'];
const CLIENTS_PER_USER = perTier({ short: 2, long: 20 });
const WRITES = perTier({ short: 600, long: 30_000 });

/** The rows that a client knows from its events. Fails on a row of another user, and on the end of an unknown row. */
function rowsOf({ events }: EventSource, owner: string): Map<number, number> {
  const rows = new Map<number, number>();
  const known = new Set<number>();
  const take = (row: { id: number; owner: string; number: number }): void => {
    expect(row.owner).toBe(owner);
    rows.set(row.id, row.number);
    known.add(row.id);
  };
  for (const { event, data } of events) {
    if (event === 'snapshot') {
      rows.clear();
      for (const row of JSON.parse(data) as Parameters<typeof take>[0][]) take(row);
      continue;
    }
    const change = JSON.parse(data) as { key: { id: number }; row?: Parameters<typeof take>[0] };
    if (change.row) take(change.row);
    else {
      expect(known).toContain(change.key.id);
      rows.delete(change.key.id);
    }
  }
  return rows;
}

/** Writes at random from several connections: rows come, go, change and change hands. */
async function write(dsn: string, count: number): Promise<void> {
  const client = new pg.Client(dsn);
  await client.connect();
  for (let i = 0; i < count; i += 1) {
    const id = Math.floor(Math.random() * 60);
    const owner = USERS[Math.floor(Math.random() * USERS.length)];
    const statements = [
      [
        `insert into things values ($1, $2) on conflict (id) do update set owner = excluded.owner`,
        [id, owner],
      ],
      [`update things set number = number + 1 where id = $1`, [id]],
      [`delete from things where id = $1`, [id]],
      [`update things set owner = $2, number = number + 1 where id = $1`, [id, owner]],
    ] as const;
    const [sql, values] = statements[i % statements.length] as (typeof statements)[number];
    await client.query(sql, [...values]);
  }
  await client.end();
}

function serve(t: TestContext, dsn: string, more = ''): Promise<Gateway> {
  return startGateway(
    t,
    `server { location /api/ {
       dbrest_pass ${dsn}; dbrest_jwt_secret "${SECRET}"; dbrest_live on; dbrest_max_streams_per_client 20000; ${more}
     } }`,
    { workers: 2 },
  );
}

test('while rows change hands, each client knows its own rows in the end, and never one of others', async (t) => {
  const { dsn, adminDsn, query } = await postgres(HANDS);
  const gw = await serve(t, dsn);
  const open = async (owner: string) => {
    const token = bearer(sign({ role: 'web_user', sub: owner }));
    const source = await openEvents(t, `${gw.url}/api/things`, token);
    await source.until(1);
    return { owner, source };
  };
  const clients = await Promise.all(
    USERS.flatMap((owner) => Array.from({ length: CLIENTS_PER_USER }, () => open(owner))),
  );
  await Promise.all(Array.from({ length: 4 }, () => write(adminDsn, WRITES / 4)));
  for (const { owner, source } of clients) {
    await expect
      .poll(async () => {
        const rows = await query<{ id: number; number: number }>(
          `select id, number from things where owner = '${owner}' order by id`,
        );
        const known = [...rowsOf(source, owner)].sort(([one], [other]) => one - other);
        return JSON.stringify(known) === JSON.stringify(rows.map(({ id, number }) => [id, number]));
      })
      .toBe(true);
  }
}, 600_000);

/** Rooms with the same number of clients each, who follow the messages of their room. */
const CROWD = `
  create table talk (id bigint generated always as identity primary key, room int not null, sent_ms float8 not null);
  grant select on talk to anon;
  ${watchSql([{ schema: 'public', name: 'talk' }]).replace('set local', 'set')}
`;
const ROOMS = 100;
const CROWD_SIZE = perTier({ short: 300, long: 10_000 });
/** Where a process may open 20,000 files, one gateway keeps half of them for other things than clients. */
const GATEWAYS = perTier({ short: 1, long: 2 });
const CHANGES = perTier({ short: 500, long: 30_000 });
/** Changes of one transaction. */
const BURST = 100;
const BURSTS_PER_SECOND = 10;

/** Opens the clients, a hundred at a time, at the gateways in turn; each has its snapshot. */
async function gather(t: TestContext, gateways: readonly Gateway[]): Promise<readonly EventSource[]> {
  const clients: EventSource[] = [];
  for (let i = 0; i < CROWD_SIZE; i += 100) {
    const { url } = gateways[(i / 100) % gateways.length] as Gateway;
    const more = Array.from({ length: Math.min(100, CROWD_SIZE - i) }, (_, k) =>
      openEvents(t, `${url}/api/talk?room=eq.${(i + k) % ROOMS}&limit=0`),
    );
    clients.push(...(await Promise.all(more)));
  }
  await Promise.all(clients.map((client) => client.until(1)));
  return clients;
}

async function speak(dsn: string): Promise<void> {
  const admin = new pg.Client(dsn);
  await admin.connect();
  for (let sent = 0; sent < CHANGES; sent += BURST) {
    const startedMs = Date.now();
    await admin.query(
      `insert into talk (room, sent_ms) select i % ${ROOMS}, $1 from generate_series(1, ${BURST}) i`,
      [startedMs],
    );
    await sleep(Math.max(0, startedMs + 1_000 / BURSTS_PER_SECOND - Date.now()));
  }
  await admin.end();
}

test('a crowd of clients is told each change of what it follows once', async (t) => {
  const { dsn, adminDsn } = await postgres(CROWD);
  const gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, () => serve(t, dsn, 'dbrest_anon_role anon;')),
  );
  const clients = await gather(t, gateways);
  const delays: number[] = [];
  const note = ({ data }: { data: string }): void =>
    void delays.push(Date.now() - Number(/"sent_ms":(\d+)/.exec(data)?.[1]));
  for (const client of clients) client.heard = note;
  await speak(adminDsn);
  const perClient = CHANGES / ROOMS;
  await Promise.all(clients.map((client) => client.until(1 + perClient)));
  for (const { events } of clients) {
    const ids = new Set(
      events.slice(1).map(({ data }) => (JSON.parse(data) as { key: { id: number } }).key.id),
    );
    expect([events.length, ids.size]).toEqual([1 + perClient, perClient]);
  }
  delays.sort((one, other) => one - other);
  const at = (part: number) => delays[Math.floor((delays.length - 1) * part)];
  // Only printed, never asserted: it depends on the machine.
  console.info(`${delays.length} events; delay: half ${at(0.5)} ms, 99 % ${at(0.99)} ms, all ${at(1)} ms`);
}, 900_000);
