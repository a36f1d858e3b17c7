import { expect, test } from 'vitest';
import { sign } from '../../../harness/tokens.ts';
import { error, ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();
const MERGE = `${ROWS},resolution=merge-duplicates`;
const IGNORE = `${ROWS},resolution=ignore-duplicates`;
const ANN = { authorization: `Bearer ${sign({ role: 'web_user', sub: 'ann' })}` };
const READER = { authorization: `Bearer ${sign({ role: 'anon' })}` };
const RATINGS = [
  { id: 1, rating: 3 },
  { id: 3, rating: 4 },
];

const partial: readonly WriteCase[] = [
  {
    it: 'changes rows that have it',
    call: 'POST suppliers?order=id',
    body: RATINGS,
    prefer: MERGE,
    expected: {
      status: 200,
      json: [
        { id: 1, name: 'Steel Co', rating: 3 },
        { id: 3, name: 'Nobody', rating: 4 },
      ],
    },
  },
  {
    it: 'changes rows without showing them',
    call: 'POST suppliers',
    body: RATINGS,
    prefer: 'resolution=merge-duplicates,count=exact',
    expected: { status: 200, body: '', headers: { 'content-range': '*/2' } },
  },
  {
    it: 'changes one row, and gives its location',
    call: 'POST suppliers',
    body: RATINGS[0],
    prefer: 'return=headers-only,resolution=merge-duplicates',
    expected: { status: 200, location: '/try/suppliers?id=eq.1' },
  },
  {
    it: 'shows what it is asked for',
    call: 'POST suppliers?select=rating,products(name)&order=id',
    body: RATINGS,
    prefer: MERGE,
    expected: {
      status: 200,
      json: [
        { rating: 3, products: [{ name: 'Hammer' }, { name: 'Saw' }] },
        { rating: 4, products: [] },
      ],
    },
  },
  {
    it: 'counts its rows',
    call: 'POST suppliers?select=count()',
    body: RATINGS,
    prefer: MERGE,
    expected: { status: 200, json: [{ count: 2 }] },
  },
  {
    it: 'with only its key changes nothing but is there',
    call: 'POST suppliers?select=id',
    body: [{ id: 2 }],
    prefer: MERGE,
    expected: { status: 200, json: [{ id: 2 }] },
  },
  {
    it: 'takes a unique key that is not the primary one',
    call: 'POST products?on_conflict=name&select=id,tags',
    body: [{ name: 'Saw', tags: ['sharp'] }],
    prefer: MERGE,
    expected: { status: 200, json: [{ id: 2, tags: ['sharp'] }] },
  },
  {
    it: 'gives what an element lacks its default',
    call: 'POST products?columns=id,tags&select=id,tags&order=id',
    body: [{ id: 1, tags: ['heavy'] }, { id: 2 }],
    prefer: `${MERGE},missing=default`,
    expected: {
      status: 200,
      json: [
        { id: 1, tags: ['heavy'] },
        { id: 2, tags: [] },
      ],
    },
  },
  {
    it: 'is refused as PostgreSQL does where a row is new',
    call: 'POST suppliers',
    body: [...RATINGS, { id: 99, rating: 1 }],
    prefer: MERGE,
    expected: {
      status: 400,
      body: error(
        '23502',
        'null value in column "name" of relation "suppliers" violates not-null constraint',
        'Failing row contains (99, null, 1).',
      ),
    },
  },
  {
    it: 'is refused where it comes twice',
    call: 'POST suppliers',
    body: [...RATINGS, { id: 1, rating: 5 }],
    prefer: MERGE,
    expected: {
      status: 400,
      body: /"code":"DBREST106",.*"Element 3 has the same key \(id\) as one before it\."/,
    },
  },
  {
    it: 'is refused by columns that are no key',
    call: 'POST suppliers?on_conflict=rating',
    body: RATINGS,
    prefer: MERGE,
    expected: { status: 400, body: /"code":"42P10"/ },
  },
  {
    it: 'is refused without the privilege to insert',
    call: 'POST suppliers',
    body: RATINGS,
    headers: READER,
    prefer: MERGE,
    expected: { status: 403, body: /"code":"42501"/ },
  },
  {
    it: 'changes rows of its role only',
    call: 'POST accounts',
    body: [{ id: 1, balance: 5 }],
    headers: ANN,
    prefer: MERGE,
    expected: { status: 200, json: [{ id: 1, owner: 'ann', balance: 5 }] },
  },
  {
    it: 'finds no row that its role does not see',
    call: 'POST accounts',
    body: [{ id: 2, balance: 5 }],
    headers: ANN,
    prefer: MERGE,
    expected: { status: 401, body: /"code":"42501"/ },
  },
  {
    it: 'is inserted where a trigger completes it',
    call: 'POST plots?order=id',
    body: [
      { id: 1, size: 11 },
      { id: 2, size: 12 },
    ],
    prefer: MERGE,
    expected: {
      status: 201,
      json: [
        { id: 1, code: 'a', size: 11 },
        { id: 2, code: 'p2', size: 12 },
      ],
    },
  },
];
testWrites('an upsert that lacks a column which must not be null', gateway, partial);

const stay = (id: number, during: string) => ({ id, during });
const excluded: readonly WriteCase[] = [
  {
    it: 'ignores duplicates by its columns',
    call: 'POST stays?on_conflict=during&select=id',
    body: [stay(3, '[2,3)'), stay(4, '[5,7)')],
    prefer: IGNORE,
    expected: { status: 201, json: [{ id: 4 }] },
  },
  {
    it: 'ignores duplicates of any other constraint too',
    call: 'POST stays?on_conflict=*&select=id',
    body: [stay(1, '[20,21)'), stay(3, '[2,3)'), stay(4, '[5,7)')],
    prefer: IGNORE,
    expected: { status: 201, json: [{ id: 4 }] },
  },
  {
    it: 'does not ignore those of other constraints',
    call: 'POST stays?on_conflict=during',
    body: stay(1, '[20,21)'),
    prefer: IGNORE,
    expected: { status: 409, body: /"code":"23505"/ },
  },
  {
    it: 'refuses what the primary key does not ignore',
    call: 'POST stays',
    body: stay(3, '[2,3)'),
    prefer: IGNORE,
    expected: { status: 400, body: /"code":"23P01"/ },
  },
  {
    it: 'merges no rows',
    call: 'POST stays?on_conflict=during',
    body: stay(3, '[2,3)'),
    prefer: MERGE,
    expected: { status: 400, body: /"code":"DBREST108",.*exclusion constraint \\"apart\\"/ },
  },
  {
    it: 'merges no rows by any constraint',
    call: 'POST stays?on_conflict=*',
    body: stay(3, '[2,3)'),
    prefer: MERGE,
    expected: { status: 400, body: /"code":"DBREST108"/ },
  },
];
testWrites('an exclusion constraint', gateway, excluded);

test('simultaneous upserts that lack a column all merge, and lose nothing', async () => {
  const { gw, db } = gateway;
  const send = (id: number): Promise<number> =>
    gw
      .fetch('/keep/suppliers', {
        method: 'POST',
        headers: { prefer: 'resolution=merge-duplicates' },
        body: JSON.stringify([{ id, rating: 7 }]),
      })
      .then(({ status }) => status);
  for (let round = 0; round < 10; round += 1) {
    const id = 1_000 + round;
    // One is inserted whole at the same time: each of the others finds it, or is refused.
    const whole = db.query(`insert into suppliers (id, name) values (${id}, 'whole')`);
    const statuses = await Promise.all(Array.from({ length: 6 }, () => send(id)));
    await whole;
    expect(statuses.filter((status) => status !== 200 && status !== 400)).toEqual([]);
    const rating = statuses.includes(200) ? 7 : null;
    expect(await db.query(`select name, rating from suppliers where id = ${id}`)).toEqual([
      { name: 'whole', rating },
    ]);
    expect(await send(id)).toBe(200);
  }
});
