import { beforeAll, expect, test } from 'vitest';
import { faultInSearch } from '../../../src/modules/dbrest/request/search-query.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { perTier } from '../../harness/tier.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(`
    create function is_refused(query text) returns boolean language plpgsql as $$
    begin perform to_tsquery('simple', query); return false;
    exception when syntax_error then return true; when others then return false; end $$`);
});

/** Queries that the database refuses as a syntax error. */
async function refusedOf(queries: readonly string[]): Promise<readonly string[]> {
  const list = queries.map((query) => `('${query.replaceAll("'", "''")}')`).join(', ');
  const sql = `select query from (values ${list}) v (query) where is_refused(query)`;
  return (await db.query<{ query: string }>(sql)).map(({ query }) => query);
}

const isFaulty = (query: string): boolean => faultInSearch(query) !== undefined;

/** Queries, each behind a bar; a broken bar stands for a bar in one. */
const QUERIES = String.raw`
 |a|a b|a & b|a&b|a ¦ !b|!!a|!|a !b|a & !|(a)|()|(|)|a)|(a|a <-> b|a<->b|a <2> b|a <x> b|a <|a <->|<-> a|a<b
|a:*|a:ab|a:x|:a|a:|a:*b|a : b|a::|'a b'|'a|''|''''|'a''b' & c|'a'b|a'b|a ' b|'a':*|'a\'b'|'\
|\|a\|\\|\ |a\ b|\& & a|a\\|é & ü|日本 & a|😀\😀`
  .split('|')
  .map((query) => query.replaceAll('¦', '|'));

test('what to_tsquery takes is taken, and what it refuses is refused', async () => {
  expect(QUERIES.filter(isFaulty)).toEqual(await refusedOf(QUERIES));
});

test('random queries are refused where to_tsquery refuses them', async () => {
  const pieces = [..."ab &|!():*'\\<>-é\n", '<->', '<3>'];
  let seed = 1;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const queryOf = (): string =>
    Array.from({ length: 1 + next(7) }, () => pieces[next(pieces.length)]).join('');
  const queries = [...new Set(Array.from({ length: perTier({ short: 3_000, long: 60_000 }) }, queryOf))];
  expect(queries.filter(isFaulty)).toEqual(await refusedOf(queries));
});
