import {
  elementsKey,
  type InsertPlan,
  type PlannedWrite,
  type UpdatePlan,
  type WrittenColumn,
} from '../plan/index.ts';
import { insertedRows } from './insert.ts';
import { nodeSql } from './rows.ts';
import { type BoundValue, Parameters, qualifiedName, ROWS, type Statement, type Step } from './statement.ts';
import { changedSql, keysSql } from './touched-rows.ts';
import { collatedSql, givenSql, writtenRows } from './written-rows.ts';

/** Counts the rows that the query finds, whatever their versions: with `If-Match` all of them have to be written. */
export function matchedSteps({ request, write, condition }: PlannedWrite): Step[] {
  if (write.kind === 'insert' || condition?.kind !== 'match') return [];
  const { node, key } = write.rows;
  const parameters = new Parameters();
  const writing = { parameters, aliases: 0 };
  if (write.kind === 'update' && write.by) {
    const { from, where } = changedSql(write, { body: request.body?.json ?? null }, writing);
    const text = `select pg_catalog.count(*)::pg_catalog.text from ${qualifiedName(write.table)} as ${ROWS}, ${from}${where}`;
    return [{ statement: { text, values: parameters.values } }];
  }
  const rows = key
    ? keysSql(node, key, writing)
    : nodeSql(node, { relation: ROWS, bare: 'counted' }, writing);
  const text = `select pg_catalog.count(*)::pg_catalog.text from (${rows}) t`;
  return [{ statement: { text, values: parameters.values } }];
}

/** Looks for elements of a body without a key of their own. */
export function elementSteps({ request, write }: PlannedWrite): Step[] {
  const by = elementsKey(write);
  if (!by || write.kind === 'delete') return [];
  return [{ statement: unfitElementsSql(write, by, request.body?.json ?? null) }];
}

/** For a PUT that may leave the row as it is: counts the rows of its body that have the key of the query. */
export function fittingSteps({ request, write, condition }: PlannedWrite): Step[] {
  if (request.head.method !== 'PUT' || write.kind !== 'insert' || !condition) return [];
  const parameters = new Parameters();
  const body = request.body?.json ?? null;
  const { from, where } = insertedRows(write, { parameters, body });
  const text = `select pg_catalog.count(*)::pg_catalog.text from ${from}${where}`;
  return [{ statement: { text, values: parameters.values } }];
}

/**
 * The statement that finds the first element of a body whose key another one before it has, and the first one with null in its
 * key; both count from 1 and are null if there is none.
 */
function unfitElementsSql(
  { form, table }: InsertPlan | UpdatePlan,
  by: readonly WrittenColumn[],
  body: BoundValue,
): Statement {
  const parameters = new Parameters();
  const { from } = writtenRows({ form, columns: by, defaults: false }, { parameters, body, first: false });
  const names = by.map((_, i) => `k${i + 1}`);
  const keys = by.map((key, i) => `${collatedSql(givenSql(key), key, table)} as ${names[i]}`).join(', ');
  const lacks = names.map((name) => `${name} is null`).join(' or ');
  const numbered = `select pg_catalog.row_number() over () as n, ${keys} from ${from}`;
  const counted = `select n, ${lacks} as lacks, pg_catalog.row_number() over (partition by ${names.join(', ')} order by n) as time from (${numbered}) e`;
  const first = (which: string): string => `(pg_catalog.min(n) filter (where ${which}))::pg_catalog.text`;
  return {
    text: `select ${first('time > 1 and not lacks')}, ${first('lacks')} from (${counted}) e`,
    values: parameters.values,
  };
}
