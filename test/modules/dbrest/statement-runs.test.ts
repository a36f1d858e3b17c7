import { expect, test } from 'vitest';
import { KnownStatements, type StatementRuns } from '../../../src/modules/dbrest/statement-runs.ts';

/** Runs `count` different statements once; each takes so long. */
function runOthers(known: KnownStatements, { count, ms }: { count: number; ms: number }): void {
  const of = known.at('db', '/');
  for (let n = 0; n < count; n += 1) of(`select "other ${ms} ${n}"`, 'anon').add(ms, false);
}

const callsOf = (known: KnownStatements, sql: string): number | undefined =>
  known.read().statements.find((one) => one.sql === sql)?.calls;

test('of a full list, the statement leaves that took the least time in total', () => {
  const known = new KnownStatements();
  const of = known.at('db', '/');
  const often = of('select often', 'anon');
  for (let n = 0; n < 10; n += 1) often.add(1, false);
  of('select slow', 'anon').add(9, true);
  runOthers(known, { count: 1_000, ms: 5 });
  expect(known.read().statements).toHaveLength(200);
  expect(callsOf(known, 'select often')).toBe(10);
  expect(callsOf(known, 'select slow')).toBe(1);
  expect(known.read().left).toEqual({ statements: 802, calls: 802, totalMs: 802 * 5 });
});

test('a statement that has left returns with its counts when it runs again', () => {
  const known = new KnownStatements();
  const mine = known.at('db', '/')('select mine', 'anon');
  mine.add(1, false);
  runOthers(known, { count: 200, ms: 5 });
  expect(callsOf(known, 'select mine')).toBeUndefined();
  mine.add(1, false);
  expect(callsOf(known, 'select mine')).toBe(2);
});

test('what one plan has counted while another one listed the statement is added to it', () => {
  const known = new KnownStatements();
  const of = known.at('db', '/');
  const [one, other] = [of('select mine', 'anon'), of('select mine', 'web_user')];
  for (const runs of [one, other, other] satisfies StatementRuns[]) {
    runs.add(2, runs === other);
    runs.addRows(3);
  }
  expect(known.read().statements).toEqual([
    {
      database: 'db',
      location: '/',
      sql: 'select mine',
      role: undefined,
      calls: 3,
      errors: 2,
      rows: 9,
      totalMs: 6,
      maxMs: 2,
    },
  ]);
  expect(of('select mine', 'anon')).toBe(one);
});

test('the same text is another statement at another location or in another database', () => {
  const known = new KnownStatements();
  for (const [database, location] of [
    ['a', '/'],
    ['a', '/b'],
    ['b', '/'],
  ] as const)
    known.at(database, location)('select 1', 'anon').add(1, false);
  expect(known.read().statements.map(({ database, location }) => `${database}${location}`)).toEqual([
    'a/',
    'a/b',
    'b/',
  ]);
});

test('long statements are kept and shown in part, and a value that is cut stays hidden', () => {
  const known = new KnownStatements();
  const of = known.at('db', '/');
  const start = `select '${'x'.repeat(4_070)}', 'planted value`;
  for (const end of ["' from one", "' from other"])
    of(`${start}${'y'.repeat(100)}${end}`, 'anon').add(1, false);
  of(`select ${'"column", '.repeat(1_000)}`, 'anon').add(1, false);
  const [cut, long] = known.read().statements;
  expect(cut).toMatchObject({ calls: 2, sql: 'select ?, ?' });
  expect(Buffer.byteLength(long?.sql ?? '')).toBe(2_048);
});
