import { createHash } from 'node:crypto';
import { type PlannedRead, valuesBelow, valuesRead } from '../plan/index.ts';
import type { RunPlan } from '../sql/index.ts';
import type { TableName } from '../schema/index.ts';

/** The name of a relation as tags and notifications spell it. */
export const relationName = ({ schema, name }: TableName): string => `${schema}.${name}`;

/**
 * One row, the JSON of two lists of pairs of relations. `reads`: a view and what it selects from, a table and what its
 * policies select from. `changes`: a write to the first may change rows that a read of the second shows: partitions and
 * inheritance in both directions, and foreign keys with an action.
 */
export const RELATIVES_SQL = `
with names as (
  select c.oid, n.nspname || '.' || c.relname as name
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'm', 'f')
), reads as (
  select r.ev_class as origin, d.refobjid as target
  from pg_catalog.pg_rewrite r
  join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
  where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> r.ev_class
  union
  select p.polrelid, d.refobjid
  from pg_catalog.pg_policy p
  join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
  where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> p.polrelid
), changes as (
  select inhrelid as origin, inhparent as target from pg_catalog.pg_inherits
  union
  select inhparent, inhrelid from pg_catalog.pg_inherits
  union
  select confrelid, conrelid
  from pg_catalog.pg_constraint
  where contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))
)
select json_build_object(
  'reads', (
    select coalesce(json_agg(json_build_array(o.name, t.name)), '[]')
    from reads e join names o on o.oid = e.origin join names t on t.oid = e.target),
  'changes', (
    select coalesce(json_agg(json_build_array(o.name, t.name)), '[]')
    from changes e join names o on o.oid = e.origin join names t on t.oid = e.target)
)::text`;

type Edges = ReadonlyMap<string, readonly string[]>;

/** The relations whose rows a read shows, and those whose rows a write changes. */
export class Relatives {
  readonly #reads: Edges;
  readonly #changes: Edges;

  /** Takes the JSON of `RELATIVES_SQL`. */
  constructor(json: string) {
    const { reads, changes } = JSON.parse(json) as Record<'reads' | 'changes', [string, string][]>;
    this.#reads = edgesOf(reads);
    this.#changes = edgesOf(changes);
  }

  /** The relation, and all that its rows depend on. */
  readBy(name: string): ReadonlySet<string> {
    return reachable([name], (at) => this.#reads.get(at));
  }

  /** The relation, the tables of a view, and all whose rows a write to them may change. */
  changedBy(name: string): ReadonlySet<string> {
    return reachable(this.readBy(name), (at) => this.#changes.get(at));
  }
}

function edgesOf(pairs: readonly [string, string][]): Edges {
  const edges = new Map<string, string[]>();
  for (const [from, to] of pairs) {
    const known = edges.get(from);
    if (known) known.push(to);
    else edges.set(from, [to]);
  }
  return edges;
}

function reachable(
  start: Iterable<string>,
  next: (name: string) => readonly string[] | undefined,
): ReadonlySet<string> {
  const found = new Set(start);
  // Names that are added are visited as well.
  for (const name of found) for (const other of next(name) ?? []) found.add(other);
  return found;
}

/** Longest tag. */
const TAG_BYTES = 64;
/** Most tags of a response. */
const MOST_TAGS = 64;

/** The tag of a relation, `schema.name`; a digest where that is longer than a tag may be. */
export function tagOf(name: string): string {
  if (Buffer.byteLength(name) <= TAG_BYTES) return name;
  return `#${createHash('sha256').update(name).digest('base64url')}`;
}

/** The reason why a response is not stored. */
type Unstorable = 'tags' | 'function';

/**
 * The tags of a response: every relation that its plan reads, and `fn:schema.name` for functions. `function`: a
 * function is called that is volatile, or `dbrest_cache_rpc` is off.
 */
export function tagsOf(
  plan: RunPlan,
  relatives: Relatives,
  { functions }: { readonly functions: boolean },
): readonly string[] | Unstorable {
  const reading = new Reading();
  if (plan.kind === 'read') reading.node(plan.rows);
  else if (plan.kind === 'call') {
    const { called } = plan.call;
    if (called.volatility === 'volatile') return 'function';
    reading.called(called);
    if (called.returns.kind === 'table') reading.node(plan.rows);
  } else return 'function';
  if (reading.functions.size > 0 && !functions) return 'function';
  const names = new Set([...reading.relations].flatMap((name) => [...relatives.readBy(name)]));
  const tags = [...names, ...[...reading.functions].map((name) => `fn:${name}`)].map(tagOf);
  return tags.length > MOST_TAGS ? 'tags' : tags;
}

/** Collects what a plan reads. */
class Reading {
  readonly relations = new Set<string>();
  readonly functions = new Set<string>();

  called(name: { readonly schema: string; readonly name: string }): void {
    this.functions.add(relationName(name));
  }

  node(rows: PlannedRead['rows']): void {
    const { table, embeds } = rows;
    if (table.name !== '') this.relations.add(relationName(table));
    const values = [...valuesRead(rows), ...valuesBelow(rows).map(({ value }) => value)];
    for (const { of } of values) if (of.kind === 'computed') this.called(of.call);
    for (const { by, node } of embeds) {
      if (!('target' in by)) this.called(by);
      else if (by.junction) this.relations.add(relationName(by.junction.table));
      this.node(node);
    }
  }
}
