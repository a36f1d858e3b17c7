import { quoteIdentifier } from '../../../postgres/index.ts';
import type { TouchedRows, UpdatePlan, WriteCondition } from '../plan/index.ts';
import { conditionSql } from './condition.ts';
import { hasVersionSql } from './row-version.ts';
import { existsSql, nodeSql } from './rows.ts';
import { type BoundValue, ROWS, type StatementDraft } from './statement.ts';
import { sameKeysSql, type WrittenRows, writtenRows } from './written-rows.ts';

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

export function keysSql(node: TouchedRows['node'], key: readonly string[], writing: StatementDraft): string {
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
