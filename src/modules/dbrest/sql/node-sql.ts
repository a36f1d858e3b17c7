import type { Cast, Embed, Output, ReadNode, Sort } from '../plan/index.ts';
import type { TableName } from '../schema/index.ts';
import type { Surroundings } from './condition.ts';
import { conditionSql } from './condition.ts';
import {
  asValue,
  embedJson,
  isAskedOften,
  isThereSql,
  joinSql,
  ownRows,
  rowTerms,
  testJoinSql,
} from './embed-sql.ts';
import { qualifiedName, quoteIdentifier } from './identifier.ts';
import type { Parameters } from './statement.ts';
import { valueSql } from './value-sql.ts';
import type { Named, Wanted, Writing } from './writing.ts';
import { placeSql } from './writing.ts';

const NULLS_SQL = { nullsfirst: ' nulls first', nullslast: ' nulls last' };

/** The rows of a node as a `select`, with everything that is embedded in them. */
export function nodeSql(node: ReadNode, wanted: Wanted, writing: Writing): string {
  const { relation, ties = [], bare, source = `${qualifiedName(node.table)} ${relation}` } = wanted;
  const { parameters } = writing;
  const named = nameEmbeds(node, wanted, writing);
  const outputs = bare && !node.grouped ? '1' : outputsSql(node, wanted, { named, writing });
  const joins = node.embeds.flatMap((embed) => {
    const name = nameOf(named, embed);
    const test = isAskedOften(embed) ? [testJoinSql(name, existing(embed, name, writing))] : [];
    return [...test, ...(name.joined ? [joinSql(embed, name, rowsOf(embed, name, writing))] : [])];
  });
  const isThere = (embed: Embed): string => {
    const name = nameOf(named, embed);
    return isThereSql(embed, name, () => existing(embed, name, writing));
  };
  const at: Surroundings = { relation, writing, isThere };
  const where = [
    ...ties,
    ...node.embeds.filter(({ inner, single }) => inner && !single).map(isThere),
    ...node.conditions.map((condition) => conditionSql(condition, at)),
  ];
  const order = bare ? [] : node.sorts.map((sort) => sortSql(sort, { relation, named, writing }));
  return [
    `select${outputs && ` ${outputs}`} from ${source}`,
    ...joins,
    ...(where.length > 0 ? [`where ${where.join(' and ')}`] : []),
    ...groupSql(node, named),
    ...(order.length > 0 ? [`order by ${order.join(', ')}`] : []),
    ...rangeSql(node, bare, parameters),
  ].join(' ');
}

type Names = ReadonlyMap<Embed, Named>;

function nameEmbeds(
  { embeds, grouped }: ReadNode,
  { relation, bare }: Pick<Wanted, 'relation' | 'bare'>,
  writing: Writing,
): Names {
  return new Map(
    embeds.map((embed) => {
      writing.aliases += 1;
      const number = writing.aliases;
      const decides = embed.single && (embed.inner || embed.used);
      const isShown = embed.shown > 0 && (bare === undefined || grouped);
      const joined = decides || (isShown && (grouped || !isLookedUp(embed)));
      return [embed, { parent: relation, rows: `r${number}`, join: `j${number}`, joined, grouped }];
    }),
  );
}

/**
 * Whether an embed is found, row by row, for the rows that are left at the end: faster than a join for pages of rows
 * (measured: 20 rows in two thirds of the time, the first 20 of 200,000 sorted rows in a seventh). A view has no index
 * of its own, so its one row is joined.
 */
function isLookedUp({ single, spread, by }: Embed): boolean {
  return !spread && (!single || ('pairs' in by && !by.target.isView));
}

function nameOf(named: Names, embed: Embed): Named {
  return named.get(embed) as Named;
}

function rowsOf(embed: Embed, name: Named, writing: Writing): string {
  return nodeSql(embed.node, ownRows(embed, name, writing), writing);
}

function existing(embed: Embed, name: Named, writing: Writing): string {
  return nodeSql(embed.node, { ...ownRows(embed, name, writing), bare: 'existing' }, writing);
}

/** The test that an embed of rows that nothing is joined to has a row. */
export function existsSql(embed: Embed, parent: string, writing: Writing): string {
  writing.aliases += 1;
  const rows = `r${writing.aliases}`;
  const named = { parent, rows, join: `j${writing.aliases}`, joined: false, grouped: false };
  return `exists (${existing(embed, named, writing)})`;
}

interface Shape {
  readonly named: Names;
  readonly writing: Writing;
}

function outputsSql(node: ReadNode, { relation, byPlace = false }: Wanted, shape: Shape): string {
  return node.outputs
    .map((output, place) => {
      if (output.kind === 'all') return `${relation}.*`;
      const value = outputSql(output, { relation, grouped: node.grouped }, shape);
      if (byPlace) return `${value} as ${placeSql(place)}`;
      return isPlain(output) ? value : `${value} as ${quoteIdentifier(output.name)}`;
    })
    .join(', ');
}

/** A column under its own name: PostgreSQL calls it so by itself. */
function isPlain(output: Output): boolean {
  if (output.kind !== 'value' || output.cast !== undefined || output.aggregate || output.through)
    return false;
  const { of, path } = output.value;
  return of.kind === 'column' && path.length === 0 && of.column.name === output.name;
}

function outputSql(
  output: Exclude<Output, { kind: 'all' }>,
  { relation, grouped }: { relation: string; grouped: boolean },
  { named, writing }: Shape,
): string {
  if (output.kind === 'rows') {
    return grouped ? casted('pg_catalog.count(*)', output.aggregateCast) : 'true';
  }
  const value =
    output.kind === 'value'
      ? represented(valueSql(output.value, relation, writing), output.through)
      : output.kind === 'embed'
        ? embedJson(output.embed, nameOf(named, output.embed), (name) => rowsOf(output.embed, name, writing))
        : asValue(output.embed, output.place, nameOf(named, output.embed));
  const shown = casted(value, output.cast);
  return output.aggregate ? casted(`pg_catalog.${output.aggregate}(${shown})`, output.aggregateCast) : shown;
}

function represented(value: string, through: TableName | undefined): string {
  return through ? `${qualifiedName(through)}(${value})` : value;
}

function casted(value: string, type: Cast | undefined): string {
  if (type === undefined) return value;
  return `${value}::${typeof type === 'string' ? type : `${qualifiedName(type)}${type.isArray ? '[]' : ''}`}`;
}

function groupSql({ grouped, outputs }: ReadNode, named: Names): string[] {
  if (!grouped) return [];
  const terms = outputs.flatMap((output, place) => {
    if (output.kind === 'all' || output.aggregate) return [];
    if (output.kind !== 'embed' || !output.embed.single) return [String(place + 1)];
    return rowTerms(output.embed, nameOf(named, output.embed));
  });
  return terms.length === 0 ? [] : [`group by ${terms.join(', ')}`];
}

interface Sorting {
  readonly relation: string;
  readonly named: Names;
  readonly writing: Writing;
}

function sortSql(sort: Sort, sorting: Sorting): string {
  const value = sortedBy(sort, sorting);
  const { direction, nulls } = sort;
  return `${value}${direction ? ` ${direction}` : ''}${nulls ? NULLS_SQL[nulls] : ''}`;
}

function sortedBy(sort: Sort, { relation, named, writing }: Sorting): string {
  switch (sort.kind) {
    case 'value':
      return valueSql(sort.value, relation, writing);
    case 'output':
      return String(sort.place + 1);
    case 'related':
      return `${nameOf(named, sort.embed).join}.${placeSql(sort.place)}`;
  }
}

/** One row within a range is there when there is any, but for a range of nothing or one that starts later. */
function rangeSql({ limit, offset }: ReadNode, bare: Wanted['bare'], parameters: Parameters): string[] {
  if (bare === 'counted' || (bare === 'existing' && limit !== 0 && offset === 0)) return [];
  return [
    ...(limit === undefined ? [] : [`limit ${parameters.bind(String(limit))}`]),
    ...(offset > 0 ? [`offset ${parameters.bind(String(offset))}`] : []),
  ];
}
