import { ambiguousRelationship, noRelationship } from '../fault/index.ts';
import type { SelectedEmbed } from '../request/index.ts';
import type { Relationship, RowFunction, Table } from '../schema/index.ts';
import { mayUse, mostSimilar, relationshipsOf } from '../schema/index.ts';
import type { Context } from './context.ts';
import { rowFunctions } from './value.ts';

/** How an embed is reached. */
export interface Way {
  readonly target: Table;
  readonly by: Relationship | RowFunction;
  readonly single: boolean;
}

const LEAST_SIMILARITY = 0.33;

/**
 * The one relationship that an embed means (PostgREST, "Resource Embedding"): a computed one comes before those of
 * foreign keys. Throws PGRST200 when there is none, PGRST201 when there are several.
 */
export function findWay(item: SelectedEmbed, origin: Table, context: Context): Way {
  const computed = item.hint === undefined ? computedWay(item.target, origin, context) : undefined;
  if (computed) return computed;
  const all = relationshipsOf(origin, context.known);
  const fitting = nearest(all.filter((way) => fits(way, item)));
  const usable = fitting.length > 1 ? fitting.filter((way) => isUsable(way, context)) : fitting;
  if (usable.length > 1) throw ambiguousRelationship(item, origin, usable);
  const by = usable[0] ?? fitting[0];
  if (!by) throw noRelationship(item, origin, similarNames(item, origin, { all, context }));
  const single = by.cardinality === 'many-to-one' || by.cardinality === 'one-to-one';
  return { target: by.target, by, single };
}

/** What the role may not use is neither in its way nor told to it. */
function isUsable({ target, junction }: Relationship, { role, known }: Context): boolean {
  return mayUse(role, target, known) && (!junction || mayUse(role, junction.table, known));
}

/** Between rows of one table its own key comes before those of junctions, which need a hint. */
function nearest(ways: readonly Relationship[]): readonly Relationship[] {
  const direct = ways.filter(({ junction }) => !junction);
  return direct.length > 0 && ways.every(({ isSelf }) => isSelf) ? direct : ways;
}

function computedWay(name: string, origin: Table, context: Context): Way | undefined {
  for (const by of rowFunctions(origin, name, context)) {
    const target = by.returns && context.known.tables.get(by.returns.schema)?.get(by.returns.name);
    if (target) return { target, by, single: by.single };
  }
  return undefined;
}

function fits(way: Relationship, { target, hint }: SelectedEmbed): boolean {
  if (way.isSelf) return fitsSelf(way, target, hint);
  const isMeant = target === way.target.name || (!way.target.isView && isKey(way, target));
  return (
    isMeant && (hint === undefined || isKey(way, hint) || isFarColumn(way, hint) || isJunction(way, hint))
  );
}

/**
 * A table that refers to itself has each key in two directions: its name is the way to the many, the name of the
 * column or of the key the way to the one; the same name as a hint is the way to the many again.
 */
function fitsSelf(way: Relationship, target: string, hint: string | undefined): boolean {
  if (way.junction) {
    return (
      target === way.target.name && (hint === undefined || isJunction(way, hint) || isJunctionKey(way, hint))
    );
  }
  if (way.owns) return hint === undefined && target !== way.target.name && isKey(way, target);
  return (
    target === way.target.name && (hint === undefined || isFarColumn(way, hint) || way.constraint === hint)
  );
}

/** The name of the foreign key, or the origin's only column in it where there is at most one row at the other end. */
function isKey({ constraint, pairs, owns, cardinality, junction }: Relationship, name: string): boolean {
  if (junction) return false;
  const leadsToOne = owns || cardinality === 'one-to-one';
  return constraint === name || (leadsToOne && pairs.length === 1 && pairs[0]?.[0] === name);
}

function isFarColumn({ pairs, junction }: Relationship, name: string): boolean {
  return !junction && pairs.length === 1 && pairs[0]?.[1] === name;
}

function isJunction({ junction }: Relationship, name: string): boolean {
  return junction?.table.name === name;
}

/** Of a junction between rows of one table: the key, or its column, that points to those which are asked for. */
function isJunctionKey({ junction }: Relationship, name: string): boolean {
  if (!junction) return false;
  return junction.constraint === name || (junction.pairs.length === 1 && junction.pairs[0]?.[0] === name);
}

/** What was perhaps meant, of the names that the role may see: another origin when this one has no relationship at all. */
function similarNames(
  { target }: SelectedEmbed,
  origin: Table,
  { all, context }: { all: readonly Relationship[]; context: Context },
): { instead: string; of: string } | undefined {
  const { known, role } = context;
  const seen = (tables: readonly Table[]): string[] =>
    tables.filter((table) => mayUse(role, table, known)).map(({ name }) => name);
  const isOrigin = all.length === 0;
  const related = (table: Table): boolean => relationshipsOf(table, known).length > 0;
  const siblings = isOrigin
    ? [...(known.tables.get(origin.schema)?.values() ?? [])].slice(0, 1_000).filter(related)
    : [];
  const of = isOrigin ? origin.name : target;
  const names = isOrigin ? seen(siblings) : seen(all.map((way) => way.target));
  if (names.includes(of)) return undefined;
  const instead = mostSimilar(of, names, LEAST_SIMILARITY);
  return instead === undefined ? undefined : { instead, of };
}
