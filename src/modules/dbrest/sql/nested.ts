import { quoteIdentifier } from '../../../postgres/index.ts';
import type { InsertedRows, NestedInsert, WrittenColumn } from '../plan/index.ts';
import { type BoundValue, Parameters, qualifiedName, type Statement } from './statement.ts';

/** Rows of one table in a body, and where they are. */
interface RowsAt {
  readonly rows: InsertedRows;
  /** Their number among all, which names what is known of them during the transaction. */
  readonly index: number;
  readonly form: 'object' | 'array';
  /** The rows around them, and the member that they are in there. */
  readonly around?: { readonly at: RowsAt; readonly by: NestedInsert } | undefined;
  readonly below: readonly RowsAt[];
  /** Columns that other rows refer to, or that find the rows again. */
  readonly returned: readonly string[];
}

/** What the inserts of a body have made: the keys of its rows, in their order. */
const settingOf = ({ index }: RowsAt): string => `gw.rows${index}`;

function keysJson(at: RowsAt): string {
  return `coalesce(nullif(pg_catalog.current_setting('${settingOf(at)}', true), ''), '[]')::pg_catalog.json`;
}

/** A body with its rows in the order of their inserts: those that others refer to come before them. */
export class NestedRowsSql {
  readonly #root: RowsAt;
  readonly #body: BoundValue;
  readonly #ordered: readonly RowsAt[];

  constructor(
    rows: InsertedRows,
    {
      form,
      body,
      key,
    }: { readonly form: 'object' | 'array'; readonly body: BoundValue; readonly key: readonly string[] },
  ) {
    let count = 0;
    const place = (one: InsertedRows, more: Pick<RowsAt, 'form' | 'around' | 'returned'>): RowsAt => {
      const below: RowsAt[] = [];
      const ofOthers = one.nested
        .filter(({ isFirst }) => !isFirst)
        .flatMap(({ pairs }) => pairs.map(([here]) => here));
      const at = {
        rows: one,
        index: count,
        ...more,
        below,
        returned: [...new Set([...more.returned, ...ofOthers])],
      };
      count += 1;
      for (const by of one.nested) {
        const returned = by.isFirst ? by.pairs.map(([, there]) => there) : [];
        below.push(place(by, { form: by.form, around: { at, by }, returned }));
      }
      return at;
    };
    this.#root = place(rows, { form, around: undefined, returned: key });
    this.#body = body;
    this.#ordered = inOrder(this.#root);
  }

  /** The inserts. Each gives the number of its rows and of those in the body. */
  get statements(): readonly Statement[] {
    return this.#ordered.map((at) => {
      const parameters = new Parameters();
      return { text: insertSql(at, { parameters, body: this.#body }), values: parameters.values };
    });
  }

  /** The number of rows of the body itself. */
  get count(): string {
    return `pg_catalog.json_array_length(${keysJson(this.#root)})`;
  }

  /** The text of a column of the first row of the body. */
  first(name: string): string {
    return `(${keysJson(this.#root)} -> 0 ->> ${textOf(this.#root.returned.indexOf(name))})`;
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

function inOrder(at: RowsAt): readonly RowsAt[] {
  const first = at.below.filter(({ around }) => around?.by.isFirst);
  const behind = at.below.filter(({ around }) => !around?.by.isFirst);
  return [...first.flatMap(inOrder), at, ...behind.flatMap(inOrder)];
}

/** Keys are numbered: a name may be longer than that of an output. */
function textOf(index: number): string {
  return `'k${index + 1}'`;
}

/** The value of a returned column in the JSON of a row's keys. */
function keyValue({ rows, returned }: RowsAt, name: string, json: string): string {
  const type = rows.table.columns.get(name)?.type ?? 'text';
  return `(${json} ->> ${textOf(returned.indexOf(name))})::${type}`;
}

interface Insertion {
  readonly parameters: Parameters;
  readonly body: BoundValue;
}

/** The rows of a body in one member as `e(j, n, around)`: their JSON, their number, and that of the row around them. */
function elementsSql({ form, around }: RowsAt, { parameters, body }: Insertion): string {
  if (!around) {
    const json = `${parameters.bind(body)}::pg_catalog.json`;
    if (form === 'object')
      return `select ${json} as j, 1::pg_catalog.int8 as n, 0::pg_catalog.int8 as around`;
    return `select b.j, b.n, 0::pg_catalog.int8 as around from pg_catalog.json_array_elements(${json}) with ordinality b(j, n)`;
  }
  const outer = elementsSql(around.at, { parameters, body });
  const member = `o.j -> ${parameters.bind(around.by.member)}::pg_catalog.text`;
  const kind = `pg_catalog.json_typeof(${member})`;
  if (form === 'object') {
    return `select ${member} as j, pg_catalog.row_number() over (order by o.n) as n, o.n as around from (${outer}) o where ${kind} = 'object'`;
  }
  const list = `pg_catalog.json_array_elements(case ${kind} when 'array' then ${member} else '[]' end) with ordinality b(j, n)`;
  return `select b.j, pg_catalog.row_number() over (order by o.n, b.n) as n, o.n as around from (${outer}) o cross join lateral ${list}`;
}

/** The columns of rows that come from others, with their values, and where those are. */
function referencesSql(
  at: RowsAt,
  insertion: Insertion,
): { readonly columns: readonly string[]; readonly values: readonly string[]; readonly joins: string } {
  const { around, below } = at;
  const columns: string[] = [];
  const values: string[] = [];
  let joins = '';
  if (around && !around.by.isFirst) {
    joins += ` join pg_catalog.json_array_elements(${keysJson(around.at)}) with ordinality a(j, n) on a.n = e.around`;
    for (const [there, here] of around.by.pairs) {
      columns.push(here);
      values.push(keyValue(around.at, there, 'a.j'));
    }
  }
  for (const one of below.filter(({ around: by }) => by?.by.isFirst)) {
    const keys = `k${one.index}`;
    joins += ` left join (${elementsSql(one, insertion)}) e${one.index} on e${one.index}.around = e.n`;
    joins += ` left join pg_catalog.json_array_elements(${keysJson(one)}) with ordinality ${keys}(j, n) on ${keys}.n = e${one.index}.n`;
    for (const [here, there] of one.around?.by.pairs ?? []) {
      columns.push(here);
      values.push(keyValue(one, there, `${keys}.j`));
    }
  }
  return { columns, values, joins };
}

/** PostgreSQL inserts rows in the order of the select, and returns them in that order. */
function insertSql(at: RowsAt, insertion: Insertion): string {
  const { rows, returned } = at;
  const elements = elementsSql(at, insertion);
  const { columns, values, joins } = referencesSql(at, insertion);
  const names = [...rows.columns.map(({ column }) => column.name), ...columns].map(quoteIdentifier);
  const given = [...rows.columns.map(givenValue), ...values];
  const read =
    rows.columns.length === 0
      ? ''
      : ` cross join lateral pg_catalog.json_to_record(e.j) as p(${listOf(rows.columns)})`;
  const list = names.length === 0 ? '' : ` (${names.join(', ')})`;
  const keys = returned.map((name, i) => `r.${quoteIdentifier(name)}::pg_catalog.text as k${i + 1}`);
  const insert = [
    `insert into ${qualifiedName(rows.table)} as r${list}`,
    `select${given.length === 0 ? '' : ` ${given.join(', ')}`} from e${read}${joins} order by e.n`,
    `returning ${keys.length === 0 ? '1 as k' : keys.join(', ')}`,
  ].join(' ');
  return [
    `with e as (${elements}), w as (${insert})`,
    `select pg_catalog.count(*)::pg_catalog.text, (select pg_catalog.count(*) from e)::pg_catalog.text,`,
    `pg_catalog.set_config('${settingOf(at)}', coalesce(pg_catalog.json_agg(pg_catalog.row_to_json(w.*)), '[]')::pg_catalog.text, true) from w`,
  ].join(' ');
}

function listOf(columns: readonly WrittenColumn[]): string {
  return columns.map(({ member, type }) => `${quoteIdentifier(member)} ${type}`).join(', ');
}

function givenValue({ member, through }: WrittenColumn): string {
  const value = `p.${quoteIdentifier(member)}`;
  return through ? `${qualifiedName(through)}(${value})` : value;
}
