import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { error } from './cases.ts';

const BODY_BYTES = 20_000_000;
const FIXTURE = `
  create table big (id int, name text, note text);
  create table light (id int primary key);
  insert into light values (1);
  create table gates (id int);
  create function wait_at_gate() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock_shared(1); return new;
  end $$;
  create trigger wait after insert on gates for each row execute function wait_at_gate();
  grant all on all tables in schema public to anon;
`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `client_max_body_size 64m;
     server {
       location / { return 200 ok; }
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_timeout 60s; }
       location /small/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; client_max_body_size 1k; }
     }`,
  );
});

/** Rows, until the text is large enough. */
function rowsOf(row: (i: number) => string, between: string): { text: string; rows: number } {
  const rows: string[] = [];
  for (let bytes = 0; bytes < BODY_BYTES; bytes += (rows.at(-1)?.length ?? 0) + between.length)
    rows.push(row(rows.length));
  return { text: rows.join(between), rows: rows.length };
}

/** Sends a body in pieces, chunked; resolves with the status. */
function upload(path: string, type: string, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': type, 'transfer-encoding': 'chunked' };
    const upstream = request(
      { host: '127.0.0.1', port: gw.port, path, method: 'POST', headers },
      (message) => {
        message.resume().on('end', () => resolve(message.statusCode ?? 0));
      },
    );
    upstream.on('error', reject);
    for (let from = 0; from < body.length; from += 1_000_000)
      upstream.write(body.subarray(from, from + 1_000_000));
    upstream.end();
  });
}

/** The peak resident memory of the process with the workers. */
function peakBytes(): number {
  const status = readFileSync(`/proc/${gw.pid}/status`, 'latin1');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

const json = (i: number): string => `{"id":${i},"name":"name number ${i}","note":"\\"quoted\\", \\u00e4 €"}`;
/** `most`: the memory a body takes at most, as a multiple of its size. The JSON of the CSV is 1.7 times its text. */
const bodies: readonly [type: string, most: number, body: () => { text: string; rows: number }][] = [
  [
    'application/json',
    3,
    () => {
      const { text, rows } = rowsOf(json, ',');
      return { text: `[${text}]`, rows };
    },
  ],
  [
    'text/csv',
    4,
    () => {
      const { text, rows } = rowsOf((i) => `${i},name number ${i},"""quoted"", ä €"`, '\n');
      return { text: `id,name,note\n${text}`, rows };
    },
  ],
];
test.each(bodies)(
  'a large %s body arrives whole while other requests are served',
  async (type, most, make) => {
    const { text, rows } = make();
    await db.query('truncate big');
    await gw.fetch('/api/light');
    const before = peakBytes();
    let served = 0;
    const sent = upload('/api/big', type, Buffer.from(text)).finally(() => (served = -served));
    while (served >= 0) {
      await gw.expect('GET /', { status: 200 });
      await gw.expect('GET /api/light', { status: 200 });
      served += 1;
      if (served > 5) break;
    }
    expect(await sent).toBe(201);
    expect(served).not.toBe(0);
    const sql = `select count(*)::int as rows, min(note) as least, max(note) as most, max(name) filter (where id = 7) as name from big`;
    const note = '"quoted", ä €';
    expect(await db.query(sql)).toEqual([{ rows, least: note, most: note, name: 'name number 7' }]);
    expect(peakBytes() - before).toBeLessThan(most * Buffer.byteLength(text));
  },
);

test('a body beyond the limit is refused with an error of the API', async () => {
  const tooLarge = error('PGRST102', 'The request body is too large', {
    hint: '"client_max_body_size" allows 1024 bytes.',
  });
  const body = `[${'{"id":1},'.repeat(200)}{"id":1}]`;
  await gw.expect('POST /small/big', { status: 413, body: tooLarge }, { body });
  expect(await upload('/small/big', 'application/json', Buffer.from(body))).toBe(413);
});

test('an upload that ends early never reaches the database', async () => {
  await db.query('truncate big');
  for (const head of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
    const connection = await gw.connect();
    const piece = head.startsWith('T') ? '9\r\n[{"id":1}]' : '[{"id":1}]';
    connection.write(`POST /api/big HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${piece}`);
    connection.end();
    await connection.closed;
  }
  await gw.expect('GET /api/light', { status: 200 });
  expect(await db.query('select count(*)::int as n from big')).toEqual([{ n: 0 }]);
});

test('a client that leaves has its write undone, and the connection stays in use', async (t) => {
  const { default: pg } = await import('pg');
  const keeper = new pg.Client(db.adminDsn);
  await keeper.connect();
  t.onTestFinished(() => keeper.end());
  await keeper.query('select pg_advisory_lock(1)');
  const waiting = async (count: number): Promise<void> => {
    const sql = `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
    while ((await keeper.query(sql)).rowCount !== count) await sleep(5);
  };
  for (const prefer of ['return=minimal', 'handling=strict,max-affected=1']) {
    const connection = await gw.connect();
    connection.write(
      `POST /api/gates HTTP/1.1\r\nHost: x\r\nPrefer: ${prefer}\r\nContent-Length: 8\r\n\r\n{"id":1}`,
    );
    await waiting(1);
    connection.destroy();
    await waiting(0);
  }
  await keeper.query('select pg_advisory_unlock(1)');
  await gw.expect('POST /api/gates', { status: 201 }, { body: '{"id":2}' });
  expect(await db.query('select id from gates')).toEqual([{ id: 2 }]);
});
