import { createHash } from 'node:crypto';
import { type PlannedRead, valuesBelow, valuesRead } from '../plan/index.ts';
import type { RunPlan } from '../sql/index.ts';
import { type Relatives, relationName } from './relatives.ts';

/** Longest tag. */
const TAG_BYTES = 64;
/** Most tags of a response. */
const MOST_TAGS = 64;

/** The tag of a relation, `schema.name`; a digest where that is longer than a tag may be. */
export function tagOf(name: string): string {
  if (Buffer.byteLength(name) <= TAG_BYTES) return name;
  return `#${createHash('sha256').update(name).digest('base64url')}`;
}

/** Why a response is not stored. */
type Unstorable = 'tags' | 'function';

/**
 * The tags of a response: every relation that its plan reads, and `fn:schema.name` for functions. `function`: a function is called
 * that is volatile, or `dbrest_cache_rpc` is off.
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
