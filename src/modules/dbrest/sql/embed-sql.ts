import type { Embed, Output } from '../plan/index.ts';
import { qualifiedName, quoteIdentifier } from './identifier.ts';
import type { Named, Wanted, Writing } from './writing.ts';
import { placeSql, rowOf } from './writing.ts';

/** The column of a join that holds all rows of an embed. */
const ARRAY = 'a';

/** An embed as a join: one row with its outputs, or one row with an array of all its `rows`. */
export function joinSql(embed: Embed, { join }: Named, rows: string): string {
  if (!embed.single) return `left join lateral (select ${arrays(embed)} from (${rows}) t) ${join} on true`;
  return `${embed.inner ? 'join' : 'left join'} lateral (${rows}) ${join} on true`;
}

/** An embed as one JSON value, `null` or `[]` when it has no row. `rows` are asked for unless they are joined. */
export function embedJson(embed: Embed, named: Named, rows: (named: Named) => string): string {
  const { join, joined, grouped } = named;
  if (embed.single) {
    if (!joined) return `(select pg_catalog.row_to_json(t.*) from (${rows(named)}) t)`;
    return isByPlace(embed) ? objectOfPlaces(embed, named) : `pg_catalog.row_to_json(${join}.*)`;
  }
  const array = joined ? `${join}.${ARRAY}` : `(select pg_catalog.json_agg(t.*) from (${rows(named)}) t)`;
  return `coalesce(${array}, '[]')${grouped ? '::jsonb' : ''}`;
}

/** One output of a spread embed: a value, or an array of the values of all its rows. */
export function asValue(embed: Embed, place: number, { join, grouped }: Named): string {
  const value = `${join}.${placeSql(place)}`;
  const shown = embed.single ? value : `coalesce(${value}, '[]')`;
  return grouped && isJson({ kind: 'spread', embed, place, name: '' }) ? `${shown}::jsonb` : shown;
}

/** Whether an output is JSON that was made of rows; to be grouped by, it must become jsonb, which has an equality. */
function isJson(output: Output | undefined): boolean {
  if (output?.kind !== 'spread') return output?.kind === 'embed';
  return !output.embed.single || isJson(output.embed.node.outputs[output.place]);
}

/**
 * The test that an embed has a row. A row of nulls is one, so its fields must not be asked. Of many rows one is enough:
 * the planner can look for all of them at once, and the array is made only for the rows that are left at the end.
 */
export function isThereSql(embed: Embed, { join }: Named, existing: () => string): string {
  if (embed.single) return `${join}.* is distinct from null`;
  return isAskedOften(embed) ? `${join}t.there` : `exists (${existing()})`;
}

/** Whether several conditions test an embed of many rows: written out each time, embeds in embeds would grow without end. */
export function isAskedOften({ single, inner, tests }: Embed): boolean {
  return !single && tests + (inner ? 1 : 0) > 1;
}

/** That test as a join of one row; without `offset 0` the planner would write it out each time after all. */
export function testJoinSql({ join }: Named, existing: string): string {
  return `cross join lateral (select exists (${existing}) as there offset 0) ${join}t`;
}

/** Whether outputs are called by place: when they are shown one by one, or some of them are not shown. */
function isByPlace({ spread, node, shown }: Embed): boolean {
  return spread || node.outputs.length > shown;
}

/** What to group by instead of an embed's JSON, which has no equality: the row that it is made of. */
export function rowTerms(embed: Embed, { join }: Named): string[] {
  const places = isByPlace(embed) ? embed.node.outputs.map((_, place) => `${join}.${placeSql(place)}`) : [];
  return [`${join}.*`, ...places];
}

function arrays({ spread, shown }: Embed): string {
  if (!spread) return `pg_catalog.json_agg(t.*) as ${ARRAY}`;
  return Array.from({ length: shown }, (_, place) => {
    return `pg_catalog.json_agg(t.${placeSql(place)}) as ${placeSql(place)}`;
  }).join(', ');
}

function objectOfPlaces({ node, shown }: Embed, { join }: Named): string {
  const columns = node.outputs.slice(0, shown).map((output, place) => {
    const name = output.kind === 'all' ? '' : output.name;
    return `${join}.${placeSql(place)} as ${quoteIdentifier(name)}`;
  });
  const object = `(select pg_catalog.row_to_json(t.*) from (select ${columns.join(', ')}) t)`;
  return `case when ${join}.* is distinct from null then ${object} end`;
}

/** The rows of an embed that belong to one row of its parent. */
export function ownRows(embed: Embed, { parent, rows }: Named, writing: Writing): Wanted {
  const { node, by } = embed;
  const wanted: Wanted = { relation: rows, byPlace: isByPlace(embed) };
  if ('returnsSet' in by) {
    // A function that returns no set gives a row of nulls for "none".
    const ties = by.returnsSet ? [] : [`not (${rows}.* is null)`];
    return { ...wanted, source: `${qualifiedName(by)}(${rowOf(parent, writing)}) ${rows}`, ties };
  }
  const { junction, pairs } = by;
  if (!junction) return { ...wanted, ties: equalities(pairs, parent, rows) };
  writing.aliases += 1;
  const through = `m${writing.aliases}`;
  const on = equalities(junction.pairs, through, rows).join(' and ');
  const source = `${qualifiedName(node.table)} ${rows} join ${qualifiedName(junction.table)} ${through} on ${on}`;
  return { ...wanted, source, ties: equalities(pairs, parent, through) };
}

function equalities(pairs: readonly (readonly [string, string])[], from: string, to: string): string[] {
  return pairs.map(([here, there]) => `${to}.${quoteIdentifier(there)} = ${from}.${quoteIdentifier(here)}`);
}
