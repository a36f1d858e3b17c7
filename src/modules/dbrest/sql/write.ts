import { quoteIdentifier } from '../../../postgres/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import {
  type Conflict,
  elementsKey,
  type FoundWrite,
  isInert,
  type PlannedWrite,
  type ReadPlan,
  shownMedia,
  type TouchedRows,
  valuesRead,
  type WriteCondition,
  type WritePlan,
  type WrittenColumn,
} from '../plan/index.ts';
import type { Table } from '../schema/index.ts';
import { conditionSql, readSql } from './condition.ts';
import { NestedRowsSql } from './nested.ts';
import { existsSql, nodeSql } from './rows.ts';
import { type InsertPlan, keysReturned, mergedBy, mergeSql, othersSql } from './merge.ts';
import { hasVersionSql, versionSql } from './row-version.ts';
import { formedStep } from './shape.ts';
import {
  type BoundValue,
  hiddenName,
  Parameters,
  qualifiedName,
  ROWS,
  type RowSource,
  type Statement,
  type Step,
  type StatementDraft,
} from './statement.ts';
import type { Work } from './transaction.ts';
import { unfitElementsSql, type WrittenRows, writtenRows } from './written-rows.ts';

/** The statements of a write. */
export function writeWork(plan: PlannedWrite, { preRequest }: DbrestConfig): Work {
  const isQuiet = !preRequest && !shownMedia(plan.form.media).handler;
  const nested = nestedRows(plan);
  return {
    counts: [...matchedSteps(plan), ...elementSteps(plan), ...nestedSteps(nested)],
    main: mainStep(plan, nested),
    behind: [...(plan.counted ? [COUNT_UPDATES] : []), ...fittingSteps(plan)],
    responds: true,
    // `explain (analyze)` executes the statement, so its effects are rolled back.
    undone: plan.form.media.plan !== undefined,
    held: plan.held,
    readOnly: false,
    repeatable: false,
    contained: true,
    leaves: isQuiet ? leftBy(plan) : undefined,
  };
}

/** What a write leaves behind in the session, if it runs no user-defined function. */
function leftBy({ write, rows }: PlannedWrite): Work['leaves'] {
  const { inertWrites } = write.table;
  if (!inertWrites || !isInert(rows)) return undefined;
  if (
    write.kind === 'insert'
      ? write.nested || write.conflict?.action === 'merge'
      : !isInertChange(write, inertWrites)
  )
    return undefined;
  return inertWrites.sequences ? 'sequences' : 'nothing';
}

function isInertChange(
  { rows }: Exclude<WritePlan, { kind: 'insert' }>,
  { cascades }: NonNullable<Table['inertWrites']>,
): boolean {
  return !cascades && isInert(rows.node);
}

function partsOf({ request, counted, condition, version }: PlannedWrite): WriteParts {
  return { body: request.body?.json ?? null, counted, condition, version };
}

/** The number of rows that the query finds, whatever their versions. */
function matchedSteps({ request, write, condition }: PlannedWrite): Step[] {
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

/** What is wrong with the keys of the elements of a body. */
function elementSteps({ request, write }: PlannedWrite): Step[] {
  const by = elementsKey(write);
  if (!by || write.kind === 'delete') return [];
  return [{ statement: unfitElementsSql(write.form, by, request.body?.json ?? null) }];
}

/** For a PUT that may leave the row as it is: whether its body has the key of the query. */
function fittingSteps({ request, write, condition }: PlannedWrite): Step[] {
  if (request.head.method !== 'PUT' || write.kind !== 'insert' || !condition) return [];
  const parameters = new Parameters();
  const body = request.body?.json ?? null;
  const { from, where } = insertedRows(write, { parameters, body });
  const text = `select pg_catalog.count(*)::pg_catalog.text from ${from}${where}`;
  return [{ statement: { text, values: parameters.values } }];
}

function nestedRows({ request, write, key }: PlannedWrite): NestedRowsSql | undefined {
  if (write.kind !== 'insert' || !write.nested) return undefined;
  const body = request.body?.json ?? null;
  return new NestedRowsSql(write.nested, { form: write.form, body, key: key.map(({ name }) => name) });
}

/** The inserts of rows with rows of other tables in them. */
function nestedSteps(nested: NestedRowsSql | undefined): Step[] {
  return (nested?.statements ?? []).map((statement) => ({ statement }));
}

/** The rows that have been inserted with others in them: a later statement sees both. */
function nestedStep(plan: PlannedWrite, nested: NestedRowsSql): Step {
  const { request, write, rows, shows, form } = plan;
  const number = `${nested.count}::pg_catalog.text`;
  switch (shows) {
    case 'nothing':
      return { statement: { text: `select ${number}`, values: [] } };
    case 'location': {
      const key = plan.key.map(({ name }) => nested.first(name));
      return { statement: { text: `select ${[number, ...key].join(', ')}`, values: [] } };
    }
    case 'rows': {
      const names = neededColumns(rows) ?? write.table.columns.keys();
      const shown = columnsSql([...names]) || '1';
      const select = nested.rowsSql(shown, ROWS, write.table.primaryKey);
      const source: RowSource = {
        prefix: `with w as materialized (${select}) `,
        from: `w ${ROWS}`,
        rowType: qualifiedName(write.table),
      };
      const total = showsOthers(rows) ? '(select pg_catalog.count(*) from w)' : undefined;
      const { features } = request.head;
      return formedStep(rows, form, { features, total, source: () => source });
    }
  }
}

function mainStep(plan: PlannedWrite, nested: NestedRowsSql | undefined): Step {
  if (nested) return nestedStep(plan, nested);
  const { request, write, rows, shows, form } = plan;
  const parts = partsOf(plan);
  switch (shows) {
    case 'nothing':
      return mergedBy(write)
        ? { statement: mergedSql(write, parts) }
        : { statement: writeSql(write, parts), tally: true };
    case 'location':
      return { statement: isNothing(write) ? NO_ROWS : locationSql(plan, parts) };
    case 'rows': {
      const total =
        showsOthers(rows) && !isNothing(write) ? '(select pg_catalog.count(*) from w)' : undefined;
      const { features } = request.head;
      return formedStep(rows, form, { features, total, source: writeSource(plan, parts) });
    }
  }
}

/** Of a row that was there the client knows the key. */
function keyShown({ request, key }: PlannedWrite): PlannedWrite['key'] {
  return request.head.method === 'POST' ? key : [];
}

/** The result of a `locationSql` that changes nothing. */
const NO_ROWS: Statement = { text: `select '0'`, values: [] };

/** Returns whether the number of shown rows differs from that of written rows. */
function showsOthers({ grouped, embeds }: ReadPlan): boolean {
  return grouped || embeds.some(({ inner }) => inner);
}

/** The columns of `returning` that the response needs; the role may lack the privilege to read others. */
function returningSql(rows: ReadPlan): string {
  const names = neededColumns(rows);
  if (!names) return `${ROWS}.*`;
  // Each row must return something.
  return names.size === 0 ? '1' : columnsSql([...names]);
}

/** The columns of the written rows by name. */
function columnsSql(names: readonly string[]): string {
  return names.map((name) => `${ROWS}.${quoteIdentifier(name)}`).join(', ');
}

/** The needed columns; `undefined` if the whole row is needed. */
function neededColumns(rows: ReadPlan): Set<string> | undefined {
  const names = new Set<string>();
  const { outputs, embeds } = rows;
  if (outputs.some(({ kind }) => kind === 'all')) return undefined;
  for (const { of } of valuesRead(rows)) {
    if (of.kind === 'computed') return undefined;
    names.add(of.column.name);
  }
  for (const { by } of embeds) {
    if (!('pairs' in by)) return undefined;
    for (const [here] of by.pairs) names.add(here);
  }
  return names;
}

/** The parameters of a write. */
interface WriteParts {
  /** The JSON of the rows; null for a delete. */
  readonly body: BoundValue;
  /** Merged rows are counted for `COUNT_UPDATES`. */
  readonly counted: boolean;
  readonly condition: WriteCondition | undefined;
  /** The column with the versions that are returned. */
  readonly version: string | undefined;
}

/** The setting that counts merged rows during the transaction. */
const UPDATED = 'gw.updated';
const UPDATES = `coalesce(nullif(pg_catalog.current_setting('${UPDATED}', true), ''), '0')`;
/** Returns the number of rows that an upsert merged, and counts from 0 again: another one may follow in its transaction. */
const COUNT_UPDATES: Step = {
  statement: {
    text: `select n, pg_catalog.set_config('${UPDATED}', '', true) from (select ${UPDATES} as n offset 0) u`,
    values: [],
  },
};

/** The statement of a write whose rows are not shown. */
function writeSql(plan: WritePlan, parts: WriteParts): Statement {
  const parameters = new Parameters();
  return { text: statementSql(plan, parts, { parameters }), values: parameters.values };
}

/** A write as the source of the read that shows its rows. */
function writeSource({ write, rows }: FoundWrite, parts: WriteParts): (parameters: Parameters) => RowSource {
  const rowType = qualifiedName(write.table);
  return (parameters) => {
    if (isNothing(write)) return { from: `(${nothingSql(write.table, '*')}) ${ROWS}`, rowType };
    const returning = returningSql(rows);
    const { version } = parts;
    const hidden = [...versionsReturned(version), ...keysReturned(write)];
    if (hidden.length === 0) {
      const text = statementSql(write, parts, { parameters, returning });
      return { prefix: `with w as (${text}) `, from: `w ${ROWS}`, rowType };
    }
    const names = neededColumns(rows) ?? write.table.columns.keys();
    const shown = columnsSql([...names]) || '1';
    const text = statementSql(write, parts, { parameters, returning: [returning, ...hidden].join(', ') });
    const others = othersSql(write, parts, { parameters, updated: 'x' });
    return {
      prefix: `with x as (${text})${others}, w as (select ${shown} from x ${ROWS}) `,
      from: `w ${ROWS}`,
      rowType,
      ...(version !== undefined && { version: `(select pg_catalog.max(x.${VERSION}) from x)` }),
    };
  };
}

/** The statement of a write that returns the number of rows and, for a single one, its key and version. */
function locationSql(plan: PlannedWrite, parts: WriteParts): Statement {
  const parameters = new Parameters();
  const { version } = parts;
  const key = keyShown(plan);
  const versions = versionsReturned(version);
  const keys = key.map(({ name }) => columnsSql([name]));
  const returning = [...keys, ...versions, ...keysReturned(plan.write)].join(', ');
  const text = statementSql(plan.write, parts, { parameters, returning });
  const others = othersSql(plan.write, parts, { parameters, updated: 'w' });
  const values = key.map(({ name, through }) => {
    const value = `${ROWS}.${quoteIdentifier(name)}`;
    return `pg_catalog.max(${through ? `${qualifiedName(through)}(${value}) #>> '{}'` : `${value}::pg_catalog.text`})`;
  });
  const shown = [
    'pg_catalog.count(*)::pg_catalog.text',
    ...values,
    ...versions.map(() => `pg_catalog.max(${ROWS}.${VERSION})`),
  ].join(', ');
  return { text: `with w as (${text})${others} select ${shown} from w ${ROWS}`, values: parameters.values };
}

const VERSION = hiddenName('version');

function versionsReturned(version: string | undefined): readonly string[] {
  return version === undefined ? [] : [`${versionSql(version)} as ${VERSION}`];
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
      return `${(mergedBy(plan) ? mergeSql : insertSql)(plan, parts, parameters)}${behind}`;
    case 'update':
      return isNothing(plan) ? nothingSql(plan.table, '1') : `${updateSql(plan, parts, writing)}${behind}`;
    case 'delete':
      return `${deleteSql(plan, parts, writing)}${behind}`;
  }
}

/** Returns whether an update would change no column. */
function isNothing(plan: WritePlan): boolean {
  return plan.kind === 'update' && plan.columns.length === 0;
}

function nothingSql(table: Table, shown: '*' | '1'): string {
  return `select ${shown} from ${qualifiedName(table)} where false`;
}

function insertSql(plan: InsertPlan, parts: WriteParts, parameters: Parameters): string {
  const { table, columns, form, conflict } = plan;
  const { body } = parts;
  const into = `insert into ${qualifiedName(table)} as ${ROWS}`;
  if (columns.length === 0) {
    const behind = conflict ? conflictSql(conflict, columns, { parts, parameters }) : '';
    if (form === 'object') return `${into} default values${behind}`;
    return `${into} select from pg_catalog.json_array_elements(${parameters.bind(body)})${behind}`;
  }
  const list = columns.map(({ column }) => quoteIdentifier(column.name)).join(', ');
  const { from, value, where } = insertedRows(plan, { parameters, body });
  const values = columns.map(value).join(', ');
  const behind = conflict ? conflictSql(conflict, columns, { parts, parameters }) : '';
  return `${into} (${list}) select ${values} from ${from}${where}${behind}`;
}

/** The rows of a body that are inserted: for PUT, those with the key of the query. */
function insertedRows(
  plan: InsertPlan,
  { parameters, body }: { parameters: Parameters; body: BoundValue },
): WrittenRows & { readonly where: string } {
  const { keyValues = [] } = plan;
  const rows = writtenRows(plan, { parameters, body, first: false });
  const matches = keyValues.map(
    ({ column, value, read }) => `${rows.value(column)} = ${readSql(parameters.bind(value), read)}`,
  );
  return { ...rows, where: matches.length > 0 ? ` where ${matches.join(' and ')}` : '' };
}

/** The statement of such an upsert whose rows are not shown: their number. */
function mergedSql(plan: WritePlan, parts: WriteParts): Statement {
  const parameters = new Parameters();
  const returning = keysReturned(plan).join(', ');
  const text = statementSql(plan, parts, { parameters, returning });
  const others = othersSql(plan, parts, { parameters, updated: 'w' });
  return {
    text: `with w as (${text})${others} select pg_catalog.count(*)::pg_catalog.text from w`,
    values: parameters.values,
  };
}

function conflictSql(
  { columns, predicate, constraint, action }: Conflict,
  written: readonly WrittenColumn[],
  { parts, parameters }: { readonly parts: WriteParts; readonly parameters: Parameters },
): string {
  const partial = predicate === undefined ? '' : ` where ${predicate}`;
  const target =
    constraint === undefined
      ? `(${columns.map(quoteIdentifier).join(', ')})${partial} `
      : `on constraint ${quoteIdentifier(constraint)} `;
  const on = ` on conflict ${columns.length === 0 ? '' : target}do`;
  if (action === 'ignore' || written.length === 0) return `${on} nothing`;
  const names = written.map(({ column }) => quoteIdentifier(column.name));
  const set = names.map((name) => `${name} = excluded.${name}`).join(', ');
  const one = `pg_catalog.set_config('${UPDATED}', (${UPDATES}::integer + 1)::text, true)`;
  const [held] = hasVersionSql(parts.condition, parameters);
  if (!parts.counted) return `${on} update set ${set}`;
  // Only rows that are updated are counted.
  const where = held === undefined ? `${one} is not null` : `case when ${held} then ${one} is not null end`;
  return `${on} update set ${set} where ${where}`;
}

function updateSql(
  plan: WritePlan & { kind: 'update' },
  { body, condition }: WriteParts,
  writing: StatementDraft,
): string {
  const { table, columns } = plan;
  const { from, where, value } = changedSql(plan, { body, condition }, writing);
  const set = columns
    .map((written) => `${quoteIdentifier(written.column.name)} = ${value(written)}`)
    .join(', ');
  return `update ${qualifiedName(table)} as ${ROWS} set ${set} from ${from}${where}`;
}

/** The rows of the body that an update is from, and which rows they change. */
function changedSql(
  { by = [], columns, form, defaults, rows: touched }: WritePlan & { kind: 'update' },
  { body, condition }: Pick<WriteParts, 'body'> & Partial<Pick<WriteParts, 'condition'>>,
  writing: StatementDraft,
): WrittenRows & { readonly where: string } {
  const { parameters } = writing;
  const all = { form, columns: [...by, ...columns], defaults };
  const rows = writtenRows(all, { parameters, body, first: by.length === 0 });
  const { from, where } = touchedSql(touched, condition, writing);
  const keys = by
    .map((key) => `${ROWS}.${quoteIdentifier(key.column.name)} = ${rows.given(key)}`)
    .join(' and ');
  const isTheirs = keys && `${where === '' ? ' where ' : ' and '}${keys}`;
  return { ...rows, from: [rows.from, ...from].join(', '), where: `${where}${isTheirs}` };
}

function deleteSql(
  { table, rows }: WritePlan & { kind: 'delete' },
  { condition }: WriteParts,
  writing: StatementDraft,
): string {
  const { from, where } = touchedSql(rows, condition, writing);
  const using = from.length > 0 ? ` using ${from.join(', ')}` : '';
  return `delete from ${qualifiedName(table)} as ${ROWS}${using}${where}`;
}

/**
 * The rows that a write affects. With a limit their keys are selected first, and the conditions are repeated, because
 * another transaction may have changed the rows meanwhile.
 */
function touchedSql(
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
