import {
  givenTwice,
  leftOutMember,
  nestedTooDeep,
  nestsNothing,
  noWrittenColumn,
  tooLarge,
  unequalNestedKeys,
} from '../fault/index.ts';
import { DEEPEST_ROWS, type NestedMembers, type NestedRows, type SelectedEmbed } from '../request/index.ts';
import type { Relationship, Table } from '../schema/index.ts';
import { findEmbedSource, isRelation } from './embed.ts';
import type { Context } from './node.ts';
import { type WrittenColumn, writtenColumn } from './written-columns.ts';

/** Rows of a related table in a member of the rows of an insert. */
export interface NestedInsert extends InsertedRows {
  /** The member. */
  readonly member: string;
  readonly form: 'object' | 'array';
  /** Columns of the outer rows, and the columns here that are equal to them. */
  readonly pairs: Relationship['pairs'];
  /** The outer rows refer to these rows, which are inserted first. Otherwise these rows refer to the outer ones. */
  readonly isReferenced: boolean;
}

/** Rows of one table, and the rows that are nested in them. */
export interface InsertedRows {
  readonly table: Table;
  /** The columns that the body gives. */
  readonly columns: readonly WrittenColumn[];
  /** Columns that a row lacks get their default instead of NULL. */
  readonly defaults: boolean;
  readonly nested: readonly NestedInsert[];
}

/** Most nested rows in one body, and most members that hold some. */
const MOST_ROWS = 10_000;
const MOST_MEMBERS = 20;

/** The number of nested rows of a body, and of the members that hold them. */
interface NestingCount {
  rows: number;
  members: number;
}

/** Rows in a body: their path and their members. */
interface BodyRows {
  readonly path: readonly string[];
  readonly keys: readonly string[];
  readonly members: NestedMembers;
}

/** Plans the rows of a body and those of related tables in it. Throws a `DbrestFault`. */
export function planNested(rows: BodyRows, table: Table, context: Context): InsertedRows {
  return planBodyRows(rows, table, { context, counted: { rows: 0, members: 0 } });
}

interface NestingScope {
  readonly context: Context;
  readonly counted: NestingCount;
}

function planBodyRows({ path, keys, members }: BodyRows, table: Table, scope: NestingScope): InsertedRows {
  const columns: WrittenColumn[] = [];
  const nested: NestedInsert[] = [];
  for (const key of keys) {
    const column = table.columns.get(key);
    const below = members.rows.get(key);
    if (column) columns.push(writtenColumn(column, { member: key }, scope.context));
    else if (below) nested.push(planMember({ path: [...path, key], below }, table, scope));
    else if (!isEmptyMember(key, { members, table, context: scope.context }))
      throw noWrittenColumn(table.name, key);
  }
  for (const { isReferenced, pairs, member } of nested) {
    const own = isReferenced ? pairs.map(([here]) => here) : [];
    const twice = columns.find(({ column }) => own.includes(column.name));
    if (twice) throw givenTwice(pathText(path, twice.column.name), pathText(path, member));
  }
  return { table, columns, defaults: false, nested };
}

/** A member of rows that holds rows. */
interface BodyMember {
  readonly path: readonly string[];
  readonly below: NestedRows;
}

function planMember({ path, below }: BodyMember, origin: Table, scope: NestingScope): NestedInsert {
  const { context, counted } = scope;
  const member = path.at(-1) as string;
  const shown = pathText(path);
  const { by, single, target: table } = findEmbedSource(embedOf(member), origin, context);
  if ('returnsSet' in by || by.junction || table.isView || origin.isView)
    throw nestsNothing(shown, 'Rows are nested by foreign keys between tables only.');
  if (path.length > DEEPEST_ROWS) throw nestedTooDeep(shown, DEEPEST_ROWS);
  if (single !== (below.form === 'object'))
    throw nestsNothing(shown, single ? 'One row is an object.' : 'Several rows are a list of objects.');
  if (below.differs) throw unequalNestedKeys(shown);
  counted.members += 1;
  counted.rows += below.rows;
  if (counted.members > MOST_MEMBERS)
    throw tooLarge(`at most ${MOST_MEMBERS} members with rows of other tables`);
  if (counted.rows > MOST_ROWS) throw tooLarge(`at most ${MOST_ROWS} rows of other tables`);
  const rows = planBodyRows({ path, keys: below.keys, members: below.nested }, table, scope);
  const { pairs, owns } = by;
  const filled = pairs.map(([, there]) => there);
  const twice = owns ? undefined : rows.columns.find(({ column }) => filled.includes(column.name));
  if (twice) throw givenTwice(pathText(path, twice.column.name), pathText(path.slice(0, -1)));
  return { ...rows, member, form: below.form, pairs, isReferenced: owns };
}

function embedOf(member: string): SelectedEmbed {
  const [target = '', hint] = member.split('!');
  return { kind: 'embed', target, ...(hint !== undefined && { hint }), spread: false, select: [] };
}

/** The context of a member of rows. */
interface MemberScope {
  readonly members: NestedMembers;
  readonly table: Table;
  readonly context: Context;
}

/** Returns whether a member of a relation has no row: it is null, or `columns` names it and no row has it. */
export function isEmptyMember(key: string, { members, table, context }: MemberScope): boolean {
  if (table.columns.has(key) || members.rows.has(key) || members.values.has(key)) return false;
  return isRelation(embedOf(key), table, context);
}

/** Throws DBREST109 if rows of a related table are in a member that `columns` does not name. */
export function checkLeftOut(columns: readonly string[], { members, table, context }: MemberScope): void {
  for (const [key, { rows }] of members.rows) {
    const isRead = rows === 0 || columns.includes(key) || table.columns.has(key);
    if (!isRead && isRelation(embedOf(key), table, context)) throw leftOutMember(key);
  }
}

function pathText(path: readonly string[], ...more: readonly string[]): string {
  return [...path, ...more].join('.');
}

/** The tables whose rows a write changes. */
export function writtenTables({
  table,
  nested,
}: {
  readonly table: Table;
  readonly nested?: InsertedRows;
}): readonly Table[] {
  return nested
    ? [table, ...nested.nested.flatMap((one) => writtenTables({ table: one.table, nested: one }))]
    : [table];
}
