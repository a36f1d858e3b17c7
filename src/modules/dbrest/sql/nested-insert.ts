import { quoteIdentifier } from '../../../postgres/index.ts';
import type { InsertedRows, NestedInsert, PlannedWrite, WrittenColumn } from '../plan/index.ts';
import { shownColumns, showsOthers, defaultedSql, givenSql, writtenAlias } from './written-rows.ts';
import { formedStep } from './shape.ts';
import {
  type BoundValue,
  Parameters,
  qualifiedName,
  ROWS,
  type RowSource,
  type Statement,
  type Step,
} from './statement.ts';

/** The inserts of a write with rows of other tables; `undefined` for every other write. */
export function nestedRows({ request, write, key }: PlannedWrite): NestedRowsSql | undefined {
  if (write.kind !== 'insert' || !write.nested) return undefined;
  const body = request.body?.json ?? null;
  return new NestedRowsSql(write.nested, { form: write.form, body, key: key.map(({ name }) => name) });
}

/** The inserts. They come before the main statement, which reads their rows. */
export function nestedSteps(nested: NestedRowsSql | undefined): Step[] {
  return (nested?.statements ?? []).map((statement) => ({ statement }));
}

/** The main statement: it reads the inserted rows, so that those of other tables are seen as well. */
export function nestedStep(plan: PlannedWrite, nested: NestedRowsSql): Step {
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
      const shown = shownColumns(rows, write.table);
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

/** The insert of the rows of one table that a body has in one member. */
interface TableInsert {
  readonly rows: InsertedRows;
  /** Its number among all, which is part of the name of its setting. */
  readonly index: number;
  readonly form: 'object' | 'array';
  /** The insert of the outer rows, and the member of these rows there; absent for the rows of the body itself. */
  readonly outer?: { readonly insert: TableInsert; readonly by: NestedInsert } | undefined;
  readonly inner: readonly TableInsert[];
  /** Columns that other rows refer to, and those of the key by which the inserted rows are read. */
  readonly returned: readonly string[];
}

/** The setting that holds the returned columns of the inserted rows, in their order, during the transaction. */
const settingOf = ({ index }: TableInsert): string => `gw.rows${index}`;

function keysJson(insert: TableInsert): string {
  return `coalesce(nullif(pg_catalog.current_setting('${settingOf(insert)}', true), ''), '[]')::pg_catalog.json`;
}

/** The inserts of a body in their order: rows are inserted before those that refer to them. */
export class NestedRowsSql {
  readonly #root: TableInsert;
  readonly #body: BoundValue;
  readonly #ordered: readonly TableInsert[];

  constructor(
    rows: InsertedRows,
    {
      form,
      body,
      key,
    }: { readonly form: 'object' | 'array'; readonly body: BoundValue; readonly key: readonly string[] },
  ) {
    let count = 0;
    const place = (
      one: InsertedRows,
      more: Pick<TableInsert, 'form' | 'outer' | 'returned'>,
    ): TableInsert => {
      const inner: TableInsert[] = [];
      const ofOthers = one.nested
        .filter(({ isReferenced }) => !isReferenced)
        .flatMap(({ pairs }) => pairs.map(([here]) => here));
      const returned = [...new Set([...more.returned, ...ofOthers])];
      const insert = { rows: one, index: count, ...more, inner, returned };
      count += 1;
      for (const by of one.nested) {
        const referenced = by.isReferenced ? by.pairs.map(([, there]) => there) : [];
        inner.push(place(by, { form: by.form, outer: { insert, by }, returned: referenced }));
      }
      return insert;
    };
    this.#root = place(rows, { form, outer: undefined, returned: key });
    this.#body = body;
    this.#ordered = inOrder(this.#root);
  }

  /** The inserts. Each returns the number of inserted rows and that of the rows in the body. */
  get statements(): readonly Statement[] {
    return this.#ordered.map((insert) => {
      const parameters = new Parameters();
      return { text: insertSql(insert, { parameters, body: this.#body }), values: parameters.values };
    });
  }

  /** The number of rows of the body itself. */
  get count(): string {
    return `pg_catalog.json_array_length(${keysJson(this.#root)})`;
  }

  /** The text of a column of the first row of the body. */
  first(name: string): string {
    return `(${keysJson(this.#root)} -> 0 ->> ${keyText(this.#root.returned.indexOf(name))})`;
  }

  /** The select of columns of the rows of the body, in their order. */
  rowsSql(shown: string, relation: string, key: readonly string[]): string {
    const table = qualifiedName(this.#root.rows.table);
    const keys = `pg_catalog.json_array_elements(${keysJson(this.#root)}) with ordinality k(j, n)`;
    const isIt = key
      .map((name) => `${relation}.${quoteIdentifier(name)} = ${this.#keyOf(name)}`)
      .join(' and ');
    return `select ${shown} from ${keys} join ${table} ${relation} on ${isIt} order by k.n`;
  }

  #keyOf(name: string): string {
    return keyValue(this.#root, name, 'k.j');
  }
}

function inOrder(insert: TableInsert): readonly TableInsert[] {
  const before = insert.inner.filter(({ outer }) => outer?.by.isReferenced);
  const behind = insert.inner.filter(({ outer }) => !outer?.by.isReferenced);
  return [...before.flatMap(inOrder), insert, ...behind.flatMap(inOrder)];
}

/** A returned column in the JSON of the setting. It is numbered, because PostgreSQL would cut a long name. */
function keyText(index: number): string {
  return `'k${index + 1}'`;
}

/** The value of a returned column of a row, from the JSON of the setting. */
function keyValue({ rows, returned }: TableInsert, name: string, json: string): string {
  const type = rows.table.columns.get(name)?.type ?? 'text';
  return `(${json} ->> ${keyText(returned.indexOf(name))})::${type}`;
}

/** The statement of an insert while it is built. */
interface StatementParts {
  readonly parameters: Parameters;
  readonly body: BoundValue;
}

/** The rows of a member as `e(j, n, outer_n)`: their JSON, their number, and the number of their outer row. */
function elementsSql({ form, outer }: TableInsert, { parameters, body }: StatementParts): string {
  if (!outer) {
    const json = `${parameters.bind(body)}::pg_catalog.json`;
    if (form === 'object')
      return `select ${json} as j, 1::pg_catalog.int8 as n, 0::pg_catalog.int8 as outer_n`;
    return `select b.j, b.n, 0::pg_catalog.int8 as outer_n from pg_catalog.json_array_elements(${json}) with ordinality b(j, n)`;
  }
  const outerRows = elementsSql(outer.insert, { parameters, body });
  const member = `o.j -> ${parameters.bind(outer.by.member)}::pg_catalog.text`;
  const kind = `pg_catalog.json_typeof(${member})`;
  if (form === 'object') {
    return `select ${member} as j, pg_catalog.row_number() over (order by o.n) as n, o.n as outer_n from (${outerRows}) o where ${kind} = 'object'`;
  }
  const list = `pg_catalog.json_array_elements(case ${kind} when 'array' then ${member} else '[]' end) with ordinality b(j, n)`;
  return `select b.j, pg_catalog.row_number() over (order by o.n, b.n) as n, o.n as outer_n from (${outerRows}) o cross join lateral ${list}`;
}

/** The columns whose values come from other rows, these values, and the joins with them. */
function referencesSql(
  insert: TableInsert,
  parts: StatementParts,
): { readonly columns: readonly string[]; readonly values: readonly string[]; readonly joins: string } {
  const { outer, inner } = insert;
  const columns: string[] = [];
  const values: string[] = [];
  let joins = '';
  if (outer && !outer.by.isReferenced) {
    joins += ` join pg_catalog.json_array_elements(${keysJson(outer.insert)}) with ordinality a(j, n) on a.n = e.outer_n`;
    for (const [there, here] of outer.by.pairs) {
      columns.push(here);
      values.push(keyValue(outer.insert, there, 'a.j'));
    }
  }
  for (const one of inner.filter(({ outer: own }) => own?.by.isReferenced)) {
    const keys = `k${one.index}`;
    joins += ` left join (${elementsSql(one, parts)}) e${one.index} on e${one.index}.outer_n = e.n`;
    joins += ` left join pg_catalog.json_array_elements(${keysJson(one)}) with ordinality ${keys}(j, n) on ${keys}.n = e${one.index}.n`;
    for (const [here, there] of one.outer?.by.pairs ?? []) {
      columns.push(here);
      values.push(keyValue(one, there, `${keys}.j`));
    }
  }
  return { columns, values, joins };
}

/** PostgreSQL inserts rows in the order of the select, and returns them in that order. */
function insertSql(insert: TableInsert, parts: StatementParts): string {
  const { rows, returned } = insert;
  const { columns, values, joins } = referencesSql(insert, parts);
  const names = [...rows.columns.map(({ column }) => column.name), ...columns].map(quoteIdentifier);
  const valueOf = rows.defaults
    ? (column: WrittenColumn) => defaultedSql(column, parts.parameters)
    : givenSql;
  const given = [...rows.columns.map(valueOf), ...values];
  // Needed even if no column is read: PostgreSQL refuses elements that are not objects.
  const alias = rows.columns.length === 0 ? 'p(none pg_catalog.text)' : writtenAlias(rows.columns);
  const read = ` cross join lateral pg_catalog.json_to_record(e.j) as ${alias}`;
  const list = names.length === 0 ? '' : ` (${names.join(', ')})`;
  const keys = returned.map((name, i) => `r.${quoteIdentifier(name)}::pg_catalog.text as k${i + 1}`);
  const statement = [
    `insert into ${qualifiedName(rows.table)} as r${list}`,
    `select${given.length === 0 ? '' : ` ${given.join(', ')}`} from e${read}${joins} order by e.n`,
    `returning ${keys.length === 0 ? '1 as k' : keys.join(', ')}`,
  ].join(' ');
  return [
    `with e as (${elementsSql(insert, parts)}), w as (${statement})`,
    `select pg_catalog.count(*)::pg_catalog.text, (select pg_catalog.count(*) from e)::pg_catalog.text,`,
    `pg_catalog.set_config('${settingOf(insert)}', coalesce(pg_catalog.json_agg(pg_catalog.row_to_json(w.*)), '[]')::pg_catalog.text, true) from w`,
  ].join(' ');
}
