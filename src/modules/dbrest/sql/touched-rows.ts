import { quoteIdentifier } from '../../../postgres/index.ts';
import {
  type TouchedRows,
  type UpdatePlan,
  type WriteCondition,
  elementsKey,
  type InsertPlan,
  type PlannedWrite,
  type WrittenColumn,
} from '../plan/index.ts';
import { conditionSql, hasVersionSql } from './condition.ts';
import { existsSql, nodeSql } from './rows.ts';
import {
  type BoundValue,
  ROWS,
  type StatementDraft,
  Parameters,
  qualifiedName,
  type Statement,
  type Step,
} from './statement.ts';
import { sameKeysSql, type WrittenRows, writtenRows, collatedSql, givenSql } from './written-rows.ts';
import { insertedRows } from './insert.ts';

/** The parameters of an update. */
interface UpdateParts {
  readonly body: BoundValue;
  readonly condition?: WriteCondition | undefined;
}

/** The `from` and `where` of an update: the rows of the body, and the rows that they change. */
export function changedSql(
  { by = [], columns, form, defaults, rows: touched }: UpdatePlan,
  { body, condition }: UpdateParts,
  writing: StatementDraft,
): WrittenRows & { readonly where: string } {
  const { parameters } = writing;
  const all = { form, columns: [...by, ...columns], defaults };
  const rows = writtenRows(all, { parameters, body, first: by.length === 0 });
  const { from, where } = touchedSql(touched, condition, writing);
  const keys = sameKeysSql(by);
  const isTheirs = keys && `${where === '' ? ' where ' : ' and '}${keys}`;
  return { ...rows, from: [rows.from, ...from].join(', '), where: `${where}${isTheirs}` };
}

/**
 * The rows that a write affects. With a limit their keys are selected first, and the conditions are repeated, because
 * another transaction may have changed the rows meanwhile.
 */
export function touchedSql(
  { node, key }: TouchedRows,
  condition: WriteCondition | undefined,
  writing: StatementDraft,
): { from: string[]; where: string } {
  // In a view over an outer join a part of the key may be null.
  const isSame = (node.table.bases?.length ?? 0) > 1 ? 'is not distinct from' : '=';
  const isThere = (embed: (typeof node.embeds)[number]): string => existsSql(embed, ROWS, writing);
  const conditions = [
    ...node.conditions.map((condition) => conditionSql(condition, { relation: ROWS, writing, isThere })),
    ...node.embeds.filter(({ inner }) => inner).map(isThere),
    ...hasVersionSql(condition, writing.parameters),
    ...(key ?? []).map((name) => `${ROWS}.${quoteIdentifier(name)} ${isSame} k.${quoteIdentifier(name)}`),
  ];
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
  return { from: key ? [`(${keysSql(node, key, writing)}) k`] : [], where };
}

function keysSql(node: TouchedRows['node'], key: readonly string[], writing: StatementDraft): string {
  const outputs = key.map((name) => {
    // `ctid` and `tableoid` are not in the schema.
    const column = node.table.columns.get(name) ?? { name, type: name };
    return {
      kind: 'value' as const,
      name,
      value: { of: { kind: 'column' as const, column }, path: [], type: column.type },
    };
  });
  return nodeSql({ ...node, outputs }, { relation: ROWS }, writing);
}

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

/** Looks for elements of a body whose key is repeated or has a null. */
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
 * The statement that finds the first element of a body with the key of another one before it, and the first one with
 * null in its key. Both are numbers from 1, or null without such an element.
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
