import { ambiguousRelationship, noRelationship, notEmbedded, toManyAggregate } from '../fault/index.ts';
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
import { rowFunctions } from './value.ts';

/** An embed while the node around it is planned: its filters and its order may still need more of it. */
export interface EmbedDraft extends Embed {
  readonly item: SelectedEmbed;
  readonly node: ReadNode & { outputs: Output[] };
  used: boolean;
  tests: number;
  shown: number;
}

/** What an embed is called: in the response, and in filters, orders and limits. */
function nameOf({ alias, target }: SelectedEmbed): string {
  return alias ?? target;
}

/** The embed of a name; the name behind an alias counts where nothing else has it and `by` allows. */
export function embedNamed(
  embeds: readonly EmbedDraft[],
  name: string,
  by: 'shown name' | 'any name',
): EmbedDraft | undefined {
  const shown = embeds.find(({ item }) => nameOf(item) === name);
  return shown ?? (by === 'any name' ? embeds.find(({ item }) => item.target === name) : undefined);
}

/** How an embed is reached. */
interface EmbedSource {
  readonly target: Table;
  readonly by: Relationship | RowFunction;
  readonly single: boolean;
}

const LEAST_SIMILARITY = 0.33;

/**
 * The one relationship that an embed means (PostgREST, "Resource Embedding"): a computed one comes before those of
 * foreign keys. Throws PGRST200 when there is none, PGRST201 when there are several.
 */
export function findEmbedSource(item: SelectedEmbed, origin: Table, context: Context): EmbedSource {
  const computed = item.hint === undefined ? computedSource(item.target, origin, context) : undefined;
  if (computed) return computed;
  const all = relationshipsOf(origin, context.known);
  const fitting = nearest(all.filter((relationship) => fits(relationship, item)));
  const usable =
    fitting.length > 1 ? fitting.filter((relationship) => isUsable(relationship, context)) : fitting;
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
 * A table that refers to itself has each key in two directions: its name is the way to the many, the name of the
 * column or of the key the way to the one; the same name as a hint is the way to the many again.
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
  const names = isOrigin ? seen(siblings) : seen(all.map((relationship) => relationship.target));
  if (names.includes(of)) return undefined;
  const instead = mostSimilar(of, names, LEAST_SIMILARITY);
  return instead === undefined ? undefined : { instead, of };
}

/** An embed, and what the rows around it show of it. */
interface PlannedEmbed {
  readonly draft: EmbedDraft;
  readonly shows: readonly Output[];
}

/** An embed whose own rows are planned. Throws PGRST127 for aggregates in a spread of many. */
export function asEmbed(item: SelectedEmbed, source: EmbedSource, planned: ReadNode): PlannedEmbed {
  if (item.spread && !source.single && planned.grouped) throw toManyAggregate();
  // What a spread embed counts or sums up is a matter of the rows around it.
  const node = item.spread
    ? { ...planned, outputs: planned.outputs.map(withoutAggregate), grouped: false }
    : { ...planned, outputs: [...planned.outputs] };
  const draft: EmbedDraft = {
    item,
    node,
    by: source.by,
    single: source.single,
    spread: item.spread,
    inner: item.join === 'inner',
    used: false,
    tests: 0,
    shown: planned.outputs.length,
  };
  return { draft, shows: showsOf(draft, planned.outputs) };
}

function withoutAggregate(output: Output): Output {
  if (output.kind === 'all') return output;
  const { aggregate: _, aggregateCast: __, ...plain } = output;
  return plain;
}

/** Its JSON, or each output of a spread embed. */
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

/** The levels below each embed, their paths cut by its name. Throws PGRST108 for a name that nothing has. */
export function levelsBelow(
  levels: readonly LevelAt[],
  items: readonly SelectedEmbed[],
): Map<SelectedEmbed, LevelAt[]> {
  const below = new Map<SelectedEmbed, LevelAt[]>(items.map((item) => [item, []]));
  for (const level of levels) {
    const [name] = level.path;
    if (name === undefined) continue;
    const item = items.find((embed) => nameOf(embed) === name) ?? items.find(({ target }) => target === name);
    if (!item) throw notEmbedded(name);
    below.get(item)?.push({ ...level, path: level.path.slice(1) });
  }
  return below;
}
