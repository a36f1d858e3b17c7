import { expect, test } from 'vitest';
import { ROWS, writeGateway } from './cases.ts';

const gateway = writeGateway();

test('1,000 simultaneous inserts lose no row and store none twice', async () => {
  const { gw, db } = gateway;
  const lanes = Array.from({ length: 20 }, async (_, lane) => {
    for (let i = 0; i < 50; i += 1) {
      const body = JSON.stringify({ a: lane * 50 + i, b: 'at once' });
      expect((await gw.fetch('/keep/keyless', { method: 'POST', body })).status).toBe(201);
    }
  });
  await Promise.all(lanes);
  const sql = `select count(*)::int as rows, count(distinct a)::int as numbers from keyless where b = 'at once'`;
  expect(await db.query(sql)).toEqual([{ rows: 1_000, numbers: 1_000 }]);
});

test('of simultaneous upserts of one key one inserts and the others merge', async () => {
  const { gw, db } = gateway;
  const headers = { prefer: `${ROWS},resolution=merge-duplicates` };
  for (let round = 0; round < 20; round += 1) {
    const id = 1_000 + round;
    const responses = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) =>
        gw.fetch('/keep/sensors', { method: 'POST', headers, body: JSON.stringify({ id, name }) }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 201]);
  }
  const [row] = await db.query('select count(*)::int as n from sensors where id >= 1000');
  expect(row).toEqual({ n: 20 });
});

test('of simultaneous inserts of one key one succeeds', async () => {
  const { gw } = gateway;
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const body = JSON.stringify({ id: 2_000, name: `n${i}` });
      return (await gw.fetch('/keep/sensors', { method: 'POST', body })).status;
    }),
  );
  expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
});

test('rows that change while they are looked up are looked up again', async () => {
  const { gw, db } = gateway;
  await db.query(`insert into seats (id, room, place) values (101, 'Q', 1), (102, 'Q', 2)`);
  const taken = await Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      const query = 'room=eq.Q&guest=is.null&order=place&limit=1&select=id';
      const init = { method: 'PATCH', headers: { prefer: ROWS }, body: JSON.stringify({ guest: `g${i}` }) };
      const { status, body } = await gw.fetch(`/keep/seats?${query}`, init);
      expect(status).toBe(200);
      return JSON.parse(body) as { id: number }[];
    }),
  );
  const ids = taken.flat().map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await db.query('select count(guest)::int as n from seats where room = $1', ['Q'])).toEqual([
    { n: ids.length },
  ]);
});
