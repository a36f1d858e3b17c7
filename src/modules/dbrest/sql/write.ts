import { quoteIdentifier } from '../../../postgres/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import {
  type DeletePlan,
  type FoundWrite,
  isInert,
  type PlannedWrite,
  shownMedia,
  type UpdatePlan,
  type WritePlan,
} from '../plan/index.ts';
import type { Table } from '../schema/index.ts';
import {
  COUNT_UPDATES,
  type InsertParts,
  insertSql,
  keysReturned,
  mergedBy,
  mergeSql,
  othersSql,
} from './insert.ts';
import { nestedRows, type NestedRowsSql, nestedStep, nestedSteps } from './nested-insert.ts';
import { columnsSql, returningSql, shownColumns, showsOthers } from './written-rows.ts';
import { versionSql } from './condition.ts';
import { formedStep } from './shape.ts';
import {
  hiddenName,
  Parameters,
  qualifiedName,
  ROWS,
  type RowSource,
  type Statement,
  type Step,
  type StatementDraft,
} from './statement.ts';
import { changedSql, touchedSql, elementSteps, fittingSteps, matchedSteps } from './touched-rows.ts';
import type { Work } from './transaction.ts';

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

/** The state that a write leaves in the session, if it runs no user-defined function. */
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
  { rows }: UpdatePlan | DeletePlan,
  { cascades }: NonNullable<Table['inertWrites']>,
): boolean {
  return !cascades && isInert(rows.node);
}

function partsOf({ request, counted, condition, version }: PlannedWrite): WriteParts {
  return { body: request.body?.json ?? null, counted, condition, version };
}

function mainStep(plan: PlannedWrite, nested: NestedRowsSql | undefined): Step {
  if (nested) return nestedStep(plan, nested);
  const { request, write, rows, shows, form } = plan;
  const parts = partsOf(plan);
  switch (shows) {
    case 'nothing':
      return mergedBy(write)
        ? { statement: partialUpsertSql(write, parts) }
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

/** The columns of the key that the response needs. For a row that existed, the client knows the key. */
function keyShown({ request, key }: PlannedWrite): PlannedWrite['key'] {
  return request.head.method === 'POST' ? key : [];
}

/** The result of a `locationSql` that changes nothing. */
const NO_ROWS: Statement = { text: `select '0'`, values: [] };

/** The parameters of a write. */
interface WriteParts extends InsertParts {
  /** The column with the versions that are returned. */
  readonly version: string | undefined;
}

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
    const shown = shownColumns(rows, write.table);
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

/** The statement of a partial upsert whose rows are not shown. It returns their number. */
function partialUpsertSql(plan: WritePlan, parts: WriteParts): Statement {
  const parameters = new Parameters();
  const returning = keysReturned(plan).join(', ');
  const text = statementSql(plan, parts, { parameters, returning });
  const others = othersSql(plan, parts, { parameters, updated: 'w' });
  return {
    text: `with w as (${text})${others} select pg_catalog.count(*)::pg_catalog.text from w`,
    values: parameters.values,
  };
}

function updateSql(plan: UpdatePlan, { body, condition }: WriteParts, writing: StatementDraft): string {
  const { table, columns } = plan;
  const { from, where, value } = changedSql(plan, { body, condition }, writing);
  const set = columns
    .map((written) => `${quoteIdentifier(written.column.name)} = ${value(written)}`)
    .join(', ');
  return `update ${qualifiedName(table)} as ${ROWS} set ${set} from ${from}${where}`;
}

function deleteSql({ table, rows }: DeletePlan, { condition }: WriteParts, writing: StatementDraft): string {
  const { from, where } = touchedSql(rows, condition, writing);
  const using = from.length > 0 ? ` using ${from.join(', ')}` : '';
  return `delete from ${qualifiedName(table)} as ${ROWS}${using}${where}`;
}
