import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caches, CacheStore, OtherGateways } from '../../cache/index.ts';
import type { LogContext } from '../../log/index.ts';
import type { Purge } from '../../zone/index.ts';
import type { CachePurgeConfig, PurgeMatch } from './directives.ts';

/** Longest targets, in bytes of UTF-8: no key or tag is longer. */
const KEY_BYTES = 4_096;
export const TAG_BYTES = 64;

/** nginz's message. */
const NO_TARGET = 'each target must be a non-empty string';

/** nginz's name for the tags of all caches. */
const ALL_CACHES = 'default';

/** The caches of a location and the kind of its targets. */
export interface Targets {
  readonly stores: readonly CacheStore[];
  readonly kind: Purge['kind'];
  /** The gateways that repeat the purge. */
  readonly others?: OtherGateways | undefined;
}

const KEYS: Readonly<Record<PurgeMatch, Purge['kind']>> = { exact: 'key', prefix: 'prefix', tag: 'tag' };
const TAGS: Readonly<Record<PurgeMatch, Purge['kind']>> = { exact: 'tag', prefix: 'tag prefix', tag: 'tag' };

/** Tells whether a name means the tags of all caches; a cache with this name comes first. */
export function meansAll(zone: string, { tagsZone }: Pick<CachePurgeConfig, 'tagsZone'>): boolean {
  return zone === ALL_CACHES || zone === tagsZone;
}

/** Finds the caches of a zone. A missing cache was refused when the configuration was loaded. */
export function targetsOf(zone: string, { match }: CachePurgeConfig, caches: Caches): Targets {
  const store = caches.get(zone);
  return store ? { stores: [store], kind: KEYS[match] } : { stores: [...caches.values()], kind: TAGS[match] };
}

/** Reads the targets of a body; a text describes the fault. */
export function readTargets(
  body: Buffer,
  {
    kind,
    maxKeys,
    allowAll,
  }: { readonly kind: Purge['kind']; readonly maxKeys: number; readonly allowAll: boolean },
): readonly string[] | string {
  let parsed: unknown;
  try {
    // A target with a replacement character would name something else.
    if (!isUtf8(body)) return 'the body is not valid UTF-8';
    parsed = JSON.parse(body.toString());
  } catch {
    return 'the body is not valid JSON';
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return 'the body must be an object';
  const strange = Object.keys(parsed).find((name) => name !== 'targets');
  if (strange !== undefined) return `unknown field "${strange.slice(0, 64)}"`;
  const { targets } = parsed as { targets?: unknown };
  if (!Array.isArray(targets)) return "'targets' must be an array";
  if (targets.length > maxKeys) return `'targets' exceeds "cache_purge_max_keys" (${maxKeys})`;
  for (const target of targets as unknown[]) {
    const fault = faultOf(target, { kind, allowAll });
    if (fault !== undefined) return fault;
  }
  return targets as string[];
}

function faultOf(
  target: unknown,
  { kind, allowAll }: { readonly kind: Purge['kind']; readonly allowAll: boolean },
): string | undefined {
  if (typeof target !== 'string') return NO_TARGET;
  if (target === '') {
    if (!kind.endsWith('prefix')) return NO_TARGET;
    return allowAll ? undefined : 'an empty prefix needs "cache_purge_allow_all on"';
  }
  const most = kind.startsWith('tag') ? TAG_BYTES : KEY_BYTES;
  return Buffer.byteLength(target) > most ? 'target too long' : undefined;
}

/**
 * Removes the stored responses of targets. Resolves when no worker serves them any more, with the number for each
 * target. A response that several targets name counts for the first of them.
 */
export async function purgeTargets(
  { stores, kind, others }: Targets,
  texts: readonly string[],
  context: LogContext,
): Promise<readonly number[]> {
  if (texts.length === 0) return [];
  const distinct = [...new Set(texts)];
  void others?.tell(
    stores.map(({ name: zone }) => ({ zone, kind, texts: distinct })),
    context,
  );
  const perStore = await Promise.all(stores.map((store) => store.purgeAll({ kind, texts: distinct }, 'api')));
  const left = new Map(
    distinct.map((text, nth) => [text, perStore.reduce((sum, counts) => sum + (counts[nth] ?? 0), 0)]),
  );
  return texts.map((text) => {
    const count = left.get(text) ?? 0;
    left.delete(text);
    return count;
  });
}

/** Counts the stored responses of each tag. */
export async function countTags(stores: readonly CacheStore[]): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { index } of stores) {
    for (let cursor: number | undefined = 1; cursor !== undefined;) {
      const { entries, next } = index.entriesPart(cursor);
      for (const { tags } of entries) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
      cursor = next;
      // Other requests are served between the parts of a large index.
      if (next !== undefined) await nextTurn();
    }
  }
  return counts;
}
