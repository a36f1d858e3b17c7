import type { DirectiveNode } from '../../../../../grammar/index.ts';
import type { BlockView } from '../../../../config/index.ts';
import { type CheckedConfig, nodesOf, type Problem, type Rule } from '../../../../contract/index.ts';
import { type CacheValidConfig, mayCache } from '../../../../cache/index.ts';
import { cachedPasses, type Prefix, PREFIXES, valuesIn } from './cached-passes.ts';

const CACHE = 'proxy_cache_path /var/cache/gw keys_zone=pages:10m;';
const server = (text: string): string => `${CACHE}
server {
  listen 127.0.0.1:80;
  location / {
    proxy_pass http://127.0.0.1:9000;
${text}
  }
}`;

const cacheNoLifetime: Rule = {
  id: 'GW421',
  slug: 'cache-no-lifetime',
  severity: 'info',
  summary: 'only responses that say how long they are fresh are stored',
  why: 'Without "proxy_cache_valid", a response without "Cache-Control: max-age", "Expires" or "X-Accel-Expires" is not stored.',
  fix: 'Say how long responses are fresh: "proxy_cache_valid 10m;".',
  bad: { in: 'http', text: server('    proxy_cache pages;') },
  good: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { cacheNode, values, prefix } of cachedPasses(config)) {
      if (values.cacheValid || told.has(cacheNode)) continue;
      told.add(cacheNode);
      yield {
        at: cacheNode,
        message: `"${cacheNode.name.value}" without "${prefix}_cache_valid" stores only what the upstream gives a lifetime`,
      };
    }
  },
};

/** Directives, without their prefix, that have an effect only where responses are stored. */
const OF_CACHES = [
  'cache_valid',
  'cache_key',
  'cache_methods',
  'cache_min_uses',
  'cache_bypass',
  'no_cache',
  'cache_use_stale',
  'cache_lock',
  'cache_lock_timeout',
  'cache_lock_age',
  'cache_background_update',
  'cache_revalidate',
  'cache_convert_head',
  'cache_max_range_offset',
  'cache_verify',
  'cache_purge',
] as const;

const cacheNotUsed: Rule = {
  id: 'GW422',
  slug: 'cache-not-used',
  severity: 'warning',
  summary: 'directives about a cache where nothing is stored',
  why: 'Without "proxy_cache" no response is stored: its lifetime and key have no effect, and every request goes to the upstream.',
  fix: 'Add "proxy_cache" with the name of a zone, or take the directives out.',
  bad: { in: 'http', text: server('    proxy_cache_valid 10m;') },
  good: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    for (const prefix of PREFIXES) yield* unused(config, prefix);
  },
};

function* unused(config: CheckedConfig, prefix: Prefix): Generator<Problem> {
  const directives = [
    ...OF_CACHES.map((name) => `${prefix}_${name}`),
    ...(prefix === 'proxy' ? OF_TAGS : []),
  ];
  for (const block of config.blocksWith(...directives)) {
    if (!isForwarding(block, prefix) || mayBeUsed(block, prefix)) continue;
    const [first, ...others] = block.own(...directives);
    if (!first || (isAboutTags(first) && mayBeUsedByAny(block))) continue;
    yield {
      at: first,
      message: `"${first.name.value}" has no effect: no "${prefix}_cache" holds here`,
      related: others.map(({ span }) => ({ span, label: 'nor has this' })),
      // What holds for a whole site may wait for a location that needs it.
      ...(block.context !== 'location' && { severity: 'info' as const }),
    };
  }
}

/** Tags are of responses in any protocol. */
const OF_TAGS: readonly string[] = ['cache_tags', 'cache_tag_header'];
const isAboutTags = ({ name }: DirectiveNode): boolean => OF_TAGS.includes(name.value);
const mayBeUsedByAny = (block: BlockView): boolean => PREFIXES.some((prefix) => mayBeUsed(block, prefix));

/** Settings in a block without requests to an upstream belong to a file that others include. */
function isForwarding(block: BlockView, prefix: Prefix): boolean {
  const isHere = valuesIn(block, prefix).pass !== undefined;
  return isHere || block.inner.some((inner) => isForwarding(inner, prefix));
}

/** The block, or one inside it, has a cache, or says that it has none. */
function mayBeUsed(block: BlockView, prefix: Prefix): boolean {
  const saysOff = nodesOf(block, prefix, 'cache').length > 0;
  const values = valuesIn(block, prefix);
  return saysOff || mayCache(values) || block.inner.some((inner) => mayBeUsed(inner, prefix));
}

const cacheBackgroundUpdate: Rule = {
  id: 'GW424',
  slug: 'cache-background-update',
  severity: 'warning',
  summary: 'responses are to be updated in the background, but no stale one may be served meanwhile',
  why: 'Without "updating" in "proxy_cache_use_stale" a client waits for the upstream when a response has expired, unless the response itself came with "stale-while-revalidate".',
  fix: 'Add "updating" to "proxy_cache_use_stale", or make sure that the upstream sends "stale-while-revalidate".',
  bad: {
    in: 'http',
    text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;\n    proxy_cache_background_update on;'),
  },
  good: {
    in: 'http',
    text: server(
      '    proxy_cache pages;\n    proxy_cache_valid 10m;\n    proxy_cache_background_update on;\n    proxy_cache_use_stale updating;',
    ),
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { values, nodes, prefix } of cachedPasses(config)) {
      const [at] = nodes('cacheBackgroundUpdate');
      const conditions = values.cacheUseStale?.flat() ?? [];
      const isMeant = conditions.includes('updating') && !conditions.includes('off');
      if (!at || !values.cacheBackgroundUpdate || isMeant || told.has(at)) continue;
      told.add(at);
      const isDeaf = values.ignoreHeaders?.flat().some((name) => name.toLowerCase() === 'cache-control');
      const condition = isDeaf ? '' : ' where a response has no "stale-while-revalidate"';
      yield {
        at,
        message: `"${prefix}_cache_background_update" needs "${prefix}_cache_use_stale updating"${condition}`,
        // The upstream may say for each response that it serves while it is updated.
        ...(!isDeaf && { severity: 'info' as const }),
        hint: `add "updating" to "${prefix}_cache_use_stale"`,
      };
    }
  },
};

const cacheUnbuffered: Rule = {
  id: 'GW426',
  slug: 'cache-unbuffered',
  severity: 'warning',
  summary: 'responses are to be stored, but not buffered',
  why: 'A response that is not buffered is passed on as it comes, and stored neither in a cache nor as a file: every request goes to the upstream.',
  fix: 'Take "proxy_buffering off" out where responses are to be stored, or "proxy_cache" where they are streams.',
  bad: {
    in: 'http',
    text: `${CACHE}
server {
  listen 127.0.0.1:80;
  location /events/ {
    proxy_pass http://127.0.0.1:9000;
    proxy_buffering off;
    proxy_cache pages;
    proxy_cache_valid 10m;
  }
}`,
  },
  good: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const prefix of PREFIXES)
      for (const { block } of config.uses(`${prefix}_pass`)) {
        const values = valuesIn(block, prefix);
        const [at] = nodesOf(block, prefix, 'buffering');
        const [store] = nodesOf(block, prefix, mayCache(values) ? 'cache' : 'store');
        const isStored = mayCache(values) || values.store !== 'off';
        if (!at || !store || !isStored || values.buffering || told.has(at)) continue;
        told.add(at);
        yield {
          at,
          message: `"${at.name.value} off" leaves "${store.name.value}" without effect: a response that is not buffered is not stored`,
          related: [{ span: store.span, label: 'this stores nothing' }],
        };
      }
  },
};

/** The longest time for which an error that is stored does little harm. */
const MAX_ERROR_MS = 600_000;
const ERRORS = [500, 502, 503, 504] as const;

const cacheErrors: Rule = {
  id: 'GW427',
  slug: 'cache-errors',
  severity: 'warning',
  summary: 'errors of the upstream are stored for as long as its pages',
  why: '"any" in "proxy_cache_valid" means errors, too: one 502 during a restart of the upstream is what all clients get until its time is over.',
  fix: 'Name the statuses, or leave them out: "proxy_cache_valid 1d" is for 200, 301 and 302. For the rest say "any 1m".',
  bad: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid any 1d;') },
  good: {
    in: 'http',
    text: server('    proxy_cache pages;\n    proxy_cache_valid 1d;\n    proxy_cache_valid any 1m;'),
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { values, nodes, prefix } of cachedPasses(config)) {
      const rules = values.cacheValid ?? [];
      const index = rules.findIndex(({ codes }) => codes === 'any');
      const stored = ERRORS.filter((status) => storingRule(rules, status) === index);
      const at = nodes('cacheValid')[index];
      if (!at || stored.length === 0 || (rules[index]?.ms ?? 0) <= MAX_ERROR_MS || told.has(at)) continue;
      told.add(at);
      yield {
        at,
        message: `"any" stores errors such as ${stored[0]} for ${at.args.at(-1)?.value}, too`,
        hint: `say "${prefix}_cache_valid any 1m" behind a line for the pages`,
      };
    }
  },
};

/** The first line of `proxy_cache_valid` for a status. */
function storingRule(rules: readonly CacheValidConfig[], status: number): number {
  return rules.findIndex(({ codes }) => codes === 'any' || codes.includes(status));
}

/** Rules about where and how long responses are stored. */
export const CACHE_USE_RULES: readonly Rule[] = [
  cacheNoLifetime,
  cacheNotUsed,
  cacheBackgroundUpdate,
  cacheUnbuffered,
  cacheErrors,
];
