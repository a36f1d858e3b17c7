import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import { openClient, type Sent } from './client.ts';
import { DatabaseTraffic, type Traffic } from './database-traffic.ts';

const REQUESTS = 200;
/** Until statements are prepared. */
const WARM_UP = 60;

const FIXTURE = `
  create table items (id int primary key, name text not null);
  insert into items select i, 'item ' || i from generate_series(1, 1000) i;
  create table reviews (id int primary key, item int not null references items);
  insert into reviews select i, 1 + i / 5 from generate_series(0, 4999) i;
  create table orders (id bigint generated always as identity primary key, name text not null);
  create function double(n int) returns int immutable language sql as 'select n * 2';
  grant select on items, reviews to anon;
  grant select, insert, update, delete on orders to anon;`;

const CHANGE = { path: '/api/orders?id=eq.0', body: '{"name":"n"}' };

/** The most of each for one request, which is one write and one transaction, and sends no text of a statement. */
const cases: readonly (Sent & {
  readonly it: string;
  readonly statements: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
})[] = [
  // Settings and the read. Bytes: names of statements, which are digests of 18 characters, and values, without the text of a statement or of a type. The URI counts
  // in full, because `request.uri` has it.
  { it: 'a row by its key', path: '/api/items?id=eq.7', statements: 2, sentBytes: 253, receivedBytes: 110 },
  // Received: 30 bytes of JSON for each row, and one row for all of it.
  // The cost is known from the first of them.
  {
    it: 'a row by its key below a highest cost',
    path: '/guarded/items?id=eq.7',
    statements: 2,
    sentBytes: 260,
    receivedBytes: 110,
  },
  { it: '100 rows', path: '/api/items?limit=100', statements: 2, sentBytes: 258, receivedBytes: 3_100 },
  {
    it: '20 rows with 5 embedded in each',
    path: '/api/items?select=id,reviews(id)&limit=20',
    statements: 2,
    sentBytes: 278,
    receivedBytes: 1_850,
  },
  // With the method, path, headers, cookies and claims of the request, which triggers may read, one setting each.
  {
    it: 'an insert',
    ...CHANGE,
    path: '/api/orders',
    method: 'POST',
    statements: 4,
    sentBytes: 520,
    receivedBytes: 260,
  },
  { it: 'an update', ...CHANGE, method: 'PATCH', statements: 4, sentBytes: 530, receivedBytes: 260 },
  { it: 'a delete', path: CHANGE.path, method: 'DELETE', statements: 4, sentBytes: 450, receivedBytes: 260 },
  // With a reset of what a function may leave behind: cursors, settings, locks and channels.
  {
    it: 'a call',
    path: '/api/rpc/double',
    method: 'POST',
    body: '{"n":1}',
    statements: 6,
    sentBytes: 485,
    receivedBytes: 165,
  },
];

/**
 * Before PostgreSQL 14 the server reports `is_superuser` with each change of the role, though it stays the same. Up to three
 * times: in a reset, for the request and at the end of its transaction.
 */
const ROLE_REPORTS_BYTES = 3 * 22;

const file = wholeFile();
const traffic = new DatabaseTraffic();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  const dsn = await traffic.open(file, db);
  const served = `dbrest_pass ${dsn}; dbrest_anon_role anon;`;
  gw = await startGateway(
    file,
    `server { location /api/ { ${served} } location /guarded/ { ${served} dbrest_max_cost 1000; } }`,
  );
});

for (const { it, statements, sentBytes, receivedBytes, ...sent } of cases) {
  test(`${it} sends the database no more than it must`, async (t) => {
    const client = openClient(t, gw.port, 'HTTP/1.1');
    await client.send(sent, WARM_UP);
    const seen = await traffic.during(() => client.send(sent, REQUESTS));
    const reportsBytes = db.majorVersion < 14 ? ROLE_REPORTS_BYTES : 0;
    const most: Traffic = {
      // On a busy machine the run may last until an idle session of the pool ends.
      writes: 1 + 2 / REQUESTS,
      parses: 0,
      statements,
      syncs: 1,
      sentBytes,
      receivedBytes: receivedBytes + reportsBytes,
    };
    const excess = Object.entries(most).filter(
      ([field, bound]) => seen[field as keyof Traffic] > bound * REQUESTS,
    );
    expect(excess, `one of ${REQUESTS} requests: ${JSON.stringify(seen)}`).toEqual([]);
  });
}
