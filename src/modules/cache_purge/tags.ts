import type { CacheStore } from '../../cache/index.ts';
import type { Build } from '../../contract/index.ts';
import {
  compileReadGate,
  type Exchange,
  type Handler,
  isRead,
  type KnowsHost,
  logContext,
  stateKey,
  writeRefusal,
} from '../../http/index.ts';
import type { Counters } from '../../zone/index.ts';
import { compileAllowlist, NOT_ALLOWED } from './allowlist.ts';
import type { CachePurgeConfig } from './directives.ts';
import { countTags, purgeTargets, TAG_BYTES, type Targets } from './targets.ts';

/** The resources of `cache_tags_purge`. */
export interface TagsScope {
  readonly targets: Targets;
  readonly metrics: Counters;
  readonly knowsHost: KnowsHost;
}

/** The result of a purge by `cache_tags_purge`. */
export interface TagPurge {
  readonly tag: string;
  readonly purged?: number;
  readonly error?: string;
}

export const LAST_PURGE = stateKey<TagPurge>('cache_tags_purge');

/** Compiles `cache_tags_purge`: GET shows the tags, DELETE removes the stored responses with one. */
export function compileTagsApi(
  config: CachePurgeConfig,
  { targets, metrics, knowsHost }: TagsScope,
  build: Build,
): Handler {
  const isAllowed = compileAllowlist(config, build);
  const gate = compileReadGate(build, knowsHost);
  return async (x) => {
    if (isRead(x)) {
      const refusal = gate(x);
      if (refusal !== undefined) return refuse(x, 403, { tag: '', error: refusal });
      return show(x, targets.stores, metrics);
    }
    if (x.method !== 'DELETE') {
      x.response.setHeader('Allow', 'GET, HEAD, DELETE');
      x.setState(LAST_PURGE, { tag: '', error: 'method_not_allowed' });
      return x.send(405, 'application/json', '{"error":"method_not_allowed"}');
    }
    const foreign = writeRefusal(x, knowsHost);
    if (foreign !== undefined) return refuse(x, 403, { tag: '', error: foreign });
    if (!isAllowed(x)) return refuse(x, 403, { tag: '', error: NOT_ALLOWED });
    const tag = tagIn(x.args);
    if (tag === undefined)
      return refuse(x, 400, {
        tag: '',
        error: `the query must be tag=NAME, with at most ${TAG_BYTES} bytes`,
      });
    const [purged = 0] = await purgeTargets(targets, [tag], logContext(x));
    x.setState(LAST_PURGE, { tag, purged });
    x.send(200, 'application/json', JSON.stringify({ tag, purged, physical_cache_invalidated: true }));
  };
}

async function show(x: Exchange, stores: readonly CacheStore[], metrics: Counters): Promise<void> {
  const counts = await countTags(stores);
  const tags = [...counts].map(([tag, uris]) => ({ tag, uris })).sort((a, b) => (a.tag < b.tag ? -1 : 1));
  x.send(200, 'application/json', JSON.stringify({ tags, capture_rejections: rejectionsIn(metrics) }));
}

/** Responses that were not stored because of their tags, by cache. */
function rejectionsIn(metrics: Counters): Readonly<Record<string, number>> {
  const family = metrics.read().find(({ name }) => name === 'gw_cache_not_stored_total');
  const rejected = (family?.samples ?? []).filter(({ labels }) => labels['reason'] === 'tags');
  return Object.fromEntries(rejected.map(({ labels, value }) => [labels['zone'] ?? '', value]));
}

function tagIn(args: string): string | undefined {
  const [, encoded = ''] = /^tag=([^&]*)$/.exec(args) ?? [];
  try {
    const tag = decodeURIComponent(encoded.replaceAll('+', ' '));
    return tag === '' || Buffer.byteLength(tag) > TAG_BYTES ? undefined : tag;
  } catch {
    return undefined;
  }
}

function refuse(x: Exchange, status: number, purge: TagPurge): void {
  x.setState(LAST_PURGE, purge);
  x.send(status, 'application/json', JSON.stringify({ status: 'error', error: purge.error }));
}
