import {
  ambiguousRelationship,
  noRelationship,
  notEmbedded,
  spreadGroups,
  targetHasAlias,
  toManyAggregate,
} from '../fault/index.ts';
import type { SelectedEmbed } from '../request/index.ts';
import {
  mayUse,
  mostSimilar,
  type Relationship,
  relationshipsOf,
  type RowFunction,
  type Table,
} from '../schema/index.ts';
import type { Context, Embed, LevelAt, Output, ReadNode } from './node.ts';
import { namesAggregate, rowFunctions } from './value.ts';

/** An embed during planning: filters and orders of the node around it may still add outputs and tests. */
export interface EmbedDraft extends Embed {
  readonly item: SelectedEmbed;
  readonly node: ReadNode & { readonly outputs: Output[]; readonly embeds: Embed[] };
  /** All embeds of its select, also those that nothing needs yet. */
  readonly below: readonly EmbedDraft[];
  used: boolean;
  tests: number;
  shown: number;
}

/** The name of an embed in the response, and in filters, orders and limits. */
function nameOf({ alias, target }: SelectedEmbed): string {
  return alias ?? target;
}

/** Finds an embed by the name that it has in the response. */
export function embedNamed(embeds: readonly EmbedDraft[], name: string): EmbedDraft | undefined {
  return embeds.find(({ item }) => nameOf(item) === name);
}

/**
 * Finds what a filter, order or limit names: by the name in the response or, after all of these, by the target of an
 * embed with an alias. Throws PGRST108 without such an embed, or if such targets are not allowed.
 */
export function addressed<T>(
  embeds: readonly T[],
  name: string,
  { itemOf, context }: { readonly itemOf: (embed: T) => SelectedEmbed; readonly context: Context },
): T {
  const shown = embeds.find((embed) => nameOf(itemOf(embed)) === name);
  if (shown) return shown;
  const legacy = embeds.find((embed) => itemOf(embed).target === name);
  if (!legacy) throw notEmbedded(name, namesAggregate(name));
  const alias = nameOf(itemOf(legacy));
  if (context.legacyTargets === 'refused') throw targetHasAlias(name, alias);
  context.legacyTargets?.set(name, alias);
  return legacy;
}

const MOST_WARNED = 5;

/** The header `Warning` (RFC 7234, 5.5) of a request that names embeds by their targets; `undefined` for others. */
export function legacyWarning(targets: ReadonlyMap<string, string>): string | undefined {
  if (targets.size === 0) return undefined;
  const changes = Array.from(targets, (pair) => pair.map(encodeURIComponent).join(' to ')).slice(
    0,
    MOST_WARNED,
  );
  return `299 gw "An embedded relation with an alias is named by it in filters, orders and limits: ${changes.join(', ')}"`;
}

/** The table and the relationship of an embed. */
export interface EmbedSource {
  readonly target: Table;
  readonly by: Relationship | RowFunction;
  readonly single: boolean;
}

const LEAST_SIMILARITY = 0.33;

/**
 * Finds the relationship of an embed (PostgREST, "Resource Embedding"); computed relationships take precedence over
 * foreign keys. Throws PGRST200 without a relationship, PGRST201 if it is ambiguous.
 */
export function findEmbedSource(item: SelectedEmbed, origin: Table, context: Context): EmbedSource {
  const computed = item.hint === undefined ? computedSource(item.target, origin, context) : undefined;
  if (computed) return computed;
  const all = relationshipsOf(origin, context.known);
  const fitting = nearest(all.filter((relationship) => fits(relationship, item)));
  const usable =
    fitting.length > 1 ? fitting.filter((relationship) => isUsable(relationship, context)) : fitting;
  const by = usable.length > 1 ? meantByAlias(item, usable) : (usable[0] ?? fitting[0]);
  if (!by && usable.length > 1) throw ambiguousRelationship(item, origin, usable);
  if (!by) throw noRelationship(item, origin, similarNames(item, origin, { all, context }));
  const single = by.cardinality === 'many-to-one' || by.cardinality === 'one-to-one';
  return { target: by.target, by, single };
}

/** Returns whether an embed has a relationship, which may be ambiguous. */
export function isRelation(item: SelectedEmbed, origin: Table, context: Context): boolean {
  if (item.hint === undefined && computedSource(item.target, origin, context)) return true;
  return relationshipsOf(origin, context.known).some((relationship) => fits(relationship, item));
}

/**
 * Chooses among several relationships by the alias: `owner:users(…)` follows the key in the column `owner` or
 * `owner_id`, unless a hint says otherwise.
 */
function meantByAlias(
  { alias, hint }: SelectedEmbed,
  relationships: readonly Relationship[],
): Relationship | undefined {
  if (alias === undefined || hint !== undefined) return undefined;
  const meant = relationships.filter(({ owns, pairs }) => {
    const [column] = pairs.length === 1 ? (pairs[0] ?? []) : [];
    return owns && (column === alias || column === `${alias}_id`);
  });
  return meant.length === 1 ? meant[0] : undefined;
}

/** Relationships that the role may not use are not ambiguous, and must not be disclosed. */
function isUsable({ target, junction }: Relationship, { role, known }: Context): boolean {
  return mayUse(role, target, known) && (!junction || mayUse(role, junction.table, known));
}

/** For self-relationships the table's own key takes precedence over junctions, which need a hint. */
function nearest(relationships: readonly Relationship[]): readonly Relationship[] {
  const direct = relationships.filter(({ junction }) => !junction);
  return direct.length > 0 && relationships.every(({ isSelf }) => isSelf) ? direct : relationships;
}

function computedSource(name: string, origin: Table, context: Context): EmbedSource | undefined {
  for (const by of rowFunctions(origin, name, context)) {
    const target = by.returns && context.known.tables.get(by.returns.schema)?.get(by.returns.name);
    if (target) return { target, by, single: by.single };
  }
  return undefined;
}

function fits(relationship: Relationship, { target, hint }: SelectedEmbed): boolean {
  if (relationship.isSelf) return fitsSelf(relationship, target, hint);
  const isMeant =
    target === relationship.target.name || (!relationship.target.isView && isKey(relationship, target));
  return (
    isMeant &&
    (hint === undefined ||
      isKey(relationship, hint) ||
      isFarColumn(relationship, hint) ||
      isJunction(relationship, hint))
  );
}

/**
 * A self-referencing key works in both directions: the name of the table selects the to-many side, the name of the
 * column or the key the to-one side. The name of the key as a hint selects the to-many side.
 */
function fitsSelf(relationship: Relationship, target: string, hint: string | undefined): boolean {
  if (relationship.junction) {
    return (
      target === relationship.target.name &&
      (hint === undefined || isJunction(relationship, hint) || isJunctionKey(relationship, hint))
    );
  }
  if (relationship.owns)
    return hint === undefined && target !== relationship.target.name && isKey(relationship, target);
  return (
    target === relationship.target.name &&
    (hint === undefined || isFarColumn(relationship, hint) || relationship.constraint === hint)
  );
}

/**
 * Returns whether a name is that of the foreign key, or of the origin's only column in it where the other side has at
 * most one row.
 */
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

/**
 * Returns whether a name is that of the key, or of its column, by which a junction of a self-relationship points to the
 * target.
 */
function isJunctionKey({ junction }: Relationship, name: string): boolean {
  if (!junction) return false;
  return junction.constraint === name || (junction.pairs.length === 1 && junction.pairs[0]?.[0] === name);
}

/** A similar name among those that the role may see; that of another origin if this one has no relationships. */
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
  const names = isOrigin ? seen(siblings) : seen(all.map((relationship) => relationship.target));
  if (names.includes(of)) return undefined;
  const instead = mostSimilar(of, names, LEAST_SIMILARITY);
  return instead === undefined ? undefined : { instead, of };
}

/** A planned node with all embeds of its select. */
export interface PlannedNode {
  readonly node: ReadNode;
  readonly embeds: readonly EmbedDraft[];
  /** An aggregate is selected, or rows are filtered or ordered by one. */
  readonly isAggregated: boolean;
}

/** A planned embed and the outputs that it adds to the node around it. */
interface PlannedEmbed {
  readonly draft: EmbedDraft;
  readonly shows: readonly Output[];
}

/** Makes a node an embed. Throws PGRST127 for aggregates in a to-many spread or, in filters and orders, any spread. */
export function asEmbed(item: SelectedEmbed, source: EmbedSource, planned: PlannedNode): PlannedEmbed {
  const { node: rows, embeds, isAggregated } = planned;
  const { spread } = item;
  if (spread && !source.single && isAggregated) throw toManyAggregate();
  if (spread && isOrderedByGroup(rows)) throw spreadGroups();
  // Aggregates of a spread embed are computed over the rows around it.
  const outputs = spread ? rows.outputs.map(withoutAggregate) : [...rows.outputs];
  const grouped = rows.grouped && !(spread && source.single);
  const draft: EmbedDraft = {
    item,
    node: { ...rows, outputs, embeds: [...rows.embeds], grouped },
    below: embeds,
    by: source.by,
    single: source.single,
    spread,
    inner: item.join === 'inner',
    used: false,
    tests: 0,
    shown: outputs.length,
  };
  return { draft, shows: showsOf(draft, rows.outputs) };
}

function isOrderedByGroup({ having, sorts }: ReadNode): boolean {
  return having.length > 0 || sorts.some((sort) => sort.kind === 'aggregation' && !sort.embed);
}

function withoutAggregate(output: Output): Output {
  if (output.kind === 'all') return output;
  const { aggregate: _, aggregateCast: __, ...plain } = output;
  return plain;
}

/** The outputs that an embed adds: its JSON, or each output of a spread. */
function showsOf(embed: EmbedDraft, outputs: readonly Output[]): Output[] {
  if (!embed.spread) return embed.shown === 0 ? [] : [{ kind: 'embed', embed, name: nameOf(embed.item) }];
  return outputs.map((output, index): Output => {
    if (output.kind === 'all') throw new Error('a spread embed names its columns');
    const { name, aggregate, aggregateCast } = output;
    return {
      kind: 'spread',
      embed,
      index,
      name,
      ...(aggregate && { aggregate }),
      ...(aggregateCast !== undefined && { aggregateCast }),
    };
  });
}

/** The levels below each embed, with paths relative to it. Throws as `addressed` does. */
export function levelsBelow(
  levels: readonly LevelAt[],
  items: readonly SelectedEmbed[],
  context: Context,
): Map<SelectedEmbed, LevelAt[]> {
  const below = new Map<SelectedEmbed, LevelAt[]>(items.map((item) => [item, []]));
  for (const level of levels) {
    const [name] = level.path;
    if (name === undefined) continue;
    const item = addressed(items, name, { itemOf: (embed) => embed, context });
    below.get(item)?.push({ ...level, path: level.path.slice(1) });
  }
  return below;
}
