import type {
  Conflict,
  FoundWrite,
  PlannedWrite,
  ReadPlan,
  TouchedRows,
  WritePlan,
  Written,
  WrittenColumn,
} from '../plan/index.ts';
import type { Table } from '../schema/index.ts';
import { conditionSql } from './condition.ts';
import { existsSql, nodeSql } from './rows.ts';
import { formedStep } from './shape.ts';
import {
  type BoundValue,
  Parameters,
  qualifiedName,
  quoteIdentifier,
  ROWS,
  type RowSource,
  type Statement,
  type Step,
  type StatementDraft,
} from './statement.ts';
import type { Work } from './transaction.ts';

/** The statements of a write. */
export function writeWork(plan: PlannedWrite): Work {
  return {
    counts: [],
    main: mainStep(plan),
    behind: plan.counted ? [COUNT_UPDATES] : [],
    responds: true,
    // A question is no order: `explain (analyze)` would do what it explains.
    undone: plan.form.media.plan !== undefined,
    held: plan.held,
    readOnly: false,
    repeatable: false,
  };
}

function mainStep(plan: PlannedWrite): Step {
  const { request, write, rows, shows, form, counted } = plan;
  const parts = { body: request.body?.json ?? null, counted };
  switch (shows) {
    case 'nothing':
      return { statement: writeSql(write, parts), tally: true };
    case 'location':
      return { statement: locationSql(write, parts) };
    case 'rows': {
      const total =
        showsOthers(rows) && !isNothing(write) ? '(select pg_catalog.count(*) from w)' : undefined;
      const { features } = request.head;
      return formedStep(rows, form, { features, total, source: writeSource(plan, parts) });
    }
  }
}

/** Whether what is shown has another number of rows than what was written. */
function showsOthers({ grouped, embeds }: ReadPlan): boolean {
  return grouped || embeds.some(({ inner }) => inner);
}

/** The rows of a body as something to select from, and the value of a column in one of them. */
interface WrittenRows {
  readonly from: string;
  readonly value: (column: WrittenColumn) => string;
}

/** Alias of a row of the body. */
const WRITTEN = 'p';

/** Rows of a JSON body: PostgreSQL makes the values itself, so that they are exact. `first`: one row at most. */
function writtenRows(
  { form, columns, defaults }: Written,
  { parameters, body, first }: { parameters: Parameters; body: BoundValue; first: boolean },
): WrittenRows {
  const json = parameters.bind(body);
  const isArray = form === 'array';
  const list = columns
    .map(({ member, type, isText }) => `${quoteIdentifier(member)} ${isText ? 'pg_catalog.text' : type}`)
    .join(', ');
  const value = ({ member, type, isText }: WrittenColumn): string => {
    return `${WRITTEN}.${quoteIdentifier(member)}${isText ? `::${type}` : ''}`;
  };
  if (!defaults) {
    const rows = `pg_catalog.${isArray ? 'json_to_recordset' : 'json_to_record'}(${json}) as ${WRITTEN}(${list})`;
    return { from: first && isArray ? `(select * from ${rows} limit 1) ${WRITTEN}` : rows, value };
  }
  const elements = isArray
    ? `(select * from pg_catalog.json_array_elements(${json})${first ? ' limit 1' : ''}) e(j)`
    : `(select ${json}::pg_catalog.json) e(j)`;
  return {
    from: `${elements} cross join lateral pg_catalog.json_to_record(e.j) as ${WRITTEN}(${list})`,
    value(column) {
      const { defaultSql } = column.column;
      if (defaultSql === undefined) return value(column);
      const isMissing = `(e.j -> ${parameters.bind(column.member)}::pg_catalog.text) is null`;
      return `case when ${isMissing} then ${defaultSql} else ${value(column)} end`;
    },
  };
}

/** Columns of written rows that what is shown of them needs: a role need not be allowed to read the others. */
function returningSql(rows: ReadPlan): string {
  const names = neededColumns(rows);
  if (!names) return `${ROWS}.*`;
  // Something has to come back for each row.
  return names.size === 0 ? '1' : columnsSql([...names]);
}

/** Columns of written rows by name. */
function columnsSql(names: readonly string[]): string {
  return names.map((name) => `${ROWS}.${quoteIdentifier(name)}`).join(', ');
}

/** `undefined`: all of them, or a row as a whole. */
function neededColumns({ outputs, sorts, embeds }: ReadPlan): Set<string> | undefined {
  const names = new Set<string>();
  const values = [
    ...outputs.flatMap((output) => (output.kind === 'value' ? [output.value] : [])),
    ...sorts.flatMap((sort) => (sort.kind === 'value' ? [sort.value] : [])),
  ];
  if (outputs.some(({ kind }) => kind === 'all')) return undefined;
  for (const { of } of values) {
    if (of.kind === 'computed') return undefined;
    names.add(of.column.name);
  }
  for (const { by } of embeds) {
    if (!('pairs' in by)) return undefined;
    for (const [here] of by.pairs) names.add(here);
  }
  return names;
}

/** What goes with a plan. */
interface WriteParts {
  /** JSON of the rows to write; of a delete nothing. */
  readonly body: BoundValue;
  /** Rows that are merged into others are counted: `COUNT_UPDATES` tells how many there were. */
  readonly counted: boolean;
}

/** Holds the number of merged rows until the end of the transaction. */
const UPDATED = 'gw.updated';
const UPDATES = `coalesce(nullif(pg_catalog.current_setting('${UPDATED}', true), ''), '0')`;
/** How many rows an upsert merged into others. */
const COUNT_UPDATES: Step = { statement: { text: `select ${UPDATES}`, values: [] } };

/** A write that shows nothing of its rows. */
function writeSql(plan: WritePlan, parts: WriteParts): Statement {
  const parameters = new Parameters();
  return { text: statementSql(plan, parts, { parameters }), values: parameters.values };
}

/** A write whose rows a read goes on with. */
function writeSource({ write, rows }: FoundWrite, parts: WriteParts): (parameters: Parameters) => RowSource {
  const rowType = qualifiedName(write.table);
  return (parameters) => {
    if (isNothing(write)) return { from: `(${nothingSql(write.table, '*')}) ${ROWS}` };
    const returning = returningSql(rows);
    const text = statementSql(write, parts, { parameters, returning });
    return { prefix: `with w as (${text}) `, from: `w ${ROWS}`, rowType };
  };
}

/** A write that gives the number of its rows, and of a single one the key. */
function locationSql(plan: WritePlan, parts: WriteParts): Statement {
  const parameters = new Parameters();
  const { primaryKey } = plan.table;
  const text = statementSql(plan, parts, { parameters, returning: columnsSql(primaryKey) });
  const key = primaryKey.map((name) => `pg_catalog.max(${ROWS}.${quoteIdentifier(name)}::pg_catalog.text)`);
  const shown = ['pg_catalog.count(*)::pg_catalog.text', ...key].join(', ');
  return { text: `with w as (${text}) select ${shown} from w ${ROWS}`, values: parameters.values };
}

interface ReturningOptions {
  readonly parameters: Parameters;
  readonly returning?: string;
}

function statementSql(
  plan: WritePlan,
  parts: WriteParts,
  { parameters, returning }: ReturningOptions,
): string {
  const behind = returning === undefined ? '' : ` returning ${returning}`;
  const writing: StatementDraft = { parameters, aliases: 0 };
  switch (plan.kind) {
    case 'insert':
      return `${insertSql(plan, parts, parameters)}${behind}`;
    case 'update':
      return isNothing(plan) ? nothingSql(plan.table, '1') : `${updateSql(plan, parts, writing)}${behind}`;
    case 'delete':
      return `${deleteSql(plan, writing)}${behind}`;
  }
}

/** Nothing of a row would change. */
function isNothing(plan: WritePlan): boolean {
  return plan.kind === 'update' && plan.columns.length === 0;
}

function nothingSql(table: Table, shown: '*' | '1'): string {
  return `select ${shown} from ${qualifiedName(table)} where false`;
}

type InsertPlan = WritePlan & { kind: 'insert' };

function insertSql(plan: InsertPlan, { body, counted }: WriteParts, parameters: Parameters): string {
  const { table, columns, form, keyValues = [], conflict } = plan;
  const into = `insert into ${qualifiedName(table)} as ${ROWS}`;
  const behind = conflict ? conflictSql(conflict, columns, counted) : '';
  if (columns.length === 0) {
    if (form === 'object') return `${into} default values${behind}`;
    return `${into} select from pg_catalog.json_array_elements(${parameters.bind(body)})${behind}`;
  }
  const rows = writtenRows(plan, { parameters, body, first: false });
  const list = columns.map(({ column }) => quoteIdentifier(column.name)).join(', ');
  const values = columns.map(rows.value).join(', ');
  const matches = keyValues.map(([column, value]) => `${rows.value(column)} = ${parameters.bind(value)}`);
  const where = matches.length > 0 ? ` where ${matches.join(' and ')}` : '';
  return `${into} (${list}) select ${values} from ${rows.from}${where}${behind}`;
}

function conflictSql(
  { columns, predicate, action }: Conflict,
  written: readonly WrittenColumn[],
  counted: boolean,
): string {
  const partial = predicate === undefined ? '' : ` where ${predicate}`;
  const on = ` on conflict (${columns.map(quoteIdentifier).join(', ')})${partial} do`;
  if (action === 'ignore' || written.length === 0) return `${on} nothing`;
  const names = written.map(({ column }) => quoteIdentifier(column.name));
  const set = names.map((name) => `${name} = excluded.${name}`).join(', ');
  const one = `pg_catalog.set_config('${UPDATED}', (${UPDATES}::integer + 1)::text, true)`;
  return `${on} update set ${set}${counted ? ` where ${one} is not null` : ''}`;
}

function updateSql(
  plan: WritePlan & { kind: 'update' },
  { body }: WriteParts,
  writing: StatementDraft,
): string {
  const { table, columns } = plan;
  const { parameters } = writing;
  const rows = writtenRows(plan, { parameters, body, first: true });
  const set = columns
    .map((written) => `${quoteIdentifier(written.column.name)} = ${rows.value(written)}`)
    .join(', ');
  const { from, where } = touchedSql(plan.rows, writing);
  const sources = [rows.from, ...from].join(', ');
  return `update ${qualifiedName(table)} as ${ROWS} set ${set} from ${sources}${where}`;
}

function deleteSql({ table, rows }: WritePlan & { kind: 'delete' }, writing: StatementDraft): string {
  const { from, where } = touchedSql(rows, writing);
  const using = from.length > 0 ? ` using ${from.join(', ')}` : '';
  return `delete from ${qualifiedName(table)} as ${ROWS}${using}${where}`;
}

/**
 * Which rows a write touches. With a bound they are looked up first, by their key; the conditions are then asked once more,
 * of the rows as they are when their turn comes: another transaction may have changed them.
 */
function touchedSql({ node, key }: TouchedRows, writing: StatementDraft): { from: string[]; where: string } {
  const isThere = (embed: (typeof node.embeds)[number]): string => existsSql(embed, ROWS, writing);
  const conditions = [
    ...node.conditions.map((condition) => conditionSql(condition, { relation: ROWS, writing, isThere })),
    ...node.embeds.filter(({ inner }) => inner).map(isThere),
    ...(key ?? []).map((name) => `${ROWS}.${quoteIdentifier(name)} = k.${quoteIdentifier(name)}`),
  ];
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
  return { from: key ? [`(${keysSql(node, key, writing)}) k`] : [], where };
}

function keysSql(node: TouchedRows['node'], key: readonly string[], writing: StatementDraft): string {
  const outputs = key.map((name) => {
    // Where PostgreSQL keeps a row is no column that the schema knows.
    const column = node.table.columns.get(name) ?? { name, type: name };
    return {
      kind: 'value' as const,
      name,
      value: { of: { kind: 'column' as const, column }, path: [], type: column.type },
    };
  });
  return nodeSql({ ...node, outputs }, { relation: ROWS }, writing);
}
