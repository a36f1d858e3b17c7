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
  summary: 'only responses with a lifetime of their own are stored',
  why: 'Without "proxy_cache_valid", a response without "Cache-Control: max-age", "Expires" or "X-Accel-Expires" is not stored.',
  fix: 'Set a lifetime: "proxy_cache_valid 10m;".',
  bad: { in: 'http', text: server('    proxy_cache pages;') },
  good: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { cacheNode, values, prefix } of cachedPasses(config)) {
      if (values.cacheValid || told.has(cacheNode)) continue;
      told.add(cacheNode);
      yield {
        at: cacheNode,
        message: `"${cacheNode.name.value}" without "${prefix}_cache_valid" stores only responses with a lifetime of their own`,
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
  summary: 'directives about a cache without "proxy_cache"',
  why: 'Without "proxy_cache", no response is stored: directives about lifetimes and keys have no effect, and all requests go to the upstream.',
  fix: 'Add "proxy_cache" with the name of a zone, or remove the directives.',
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
      message: `"${first.name.value}" has no effect: there is no "${prefix}_cache" here`,
      related: others.map(({ span }) => ({ span, label: 'has no effect, either' })),
      // A directive for a whole site may be meant for a location that is added later.
      ...(block.context !== 'location' && { severity: 'info' as const }),
    };
  }
}

/** Tags are for responses of any protocol. */
const OF_TAGS: readonly string[] = ['cache_tags', 'cache_tag_header'];
const isAboutTags = ({ name }: DirectiveNode): boolean => OF_TAGS.includes(name.value);
const mayBeUsedByAny = (block: BlockView): boolean => PREFIXES.some((prefix) => mayBeUsed(block, prefix));

/** Settings in a block without requests to an upstream belong to a file that others include. */
function isForwarding(block: BlockView, prefix: Prefix): boolean {
  const isHere = valuesIn(block, prefix).pass !== undefined;
  return isHere || block.inner.some((inner) => isForwarding(inner, prefix));
}

/** The block or a block inside it has a cache, or turns it off. */
function mayBeUsed(block: BlockView, prefix: Prefix): boolean {
  const saysOff = nodesOf(block, prefix, 'cache').length > 0;
  const values = valuesIn(block, prefix);
  return saysOff || mayCache(values) || block.inner.some((inner) => mayBeUsed(inner, prefix));
}

const cacheBackgroundUpdate: Rule = {
  id: 'GW424',
  slug: 'cache-background-update',
  severity: 'warning',
  summary: 'stale responses are updated in the background, but may not be served',
  why: 'Without "updating" in "proxy_cache_use_stale", a client waits for the upstream when a response has expired, unless the response has "stale-while-revalidate".',
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
      const condition = isDeaf ? '' : ' for responses without "stale-while-revalidate"';
      yield {
        at,
        message: `"${prefix}_cache_background_update" needs "${prefix}_cache_use_stale updating"${condition}`,
        // The upstream may allow it in each response.
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
  summary: '"proxy_cache" or "proxy_store" without buffering',
  why: 'Without buffering, a response is passed on as it arrives and is stored neither in a cache nor as a file, so all requests go to the upstream.',
  fix: 'Remove "proxy_buffering off" if responses should be stored, or "proxy_cache" if they are streams.',
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
          message: `"${at.name.value} off" makes "${store.name.value}" ineffective: responses are stored only if they are buffered`,
          related: [{ span: store.span, label: 'has no effect' }],
        };
      }
  },
};

/** The longest time for which a stored error does little harm. */
const MAX_ERROR_MS = 600_000;
const ERRORS = [500, 502, 503, 504] as const;

const cacheErrors: Rule = {
  id: 'GW427',
  slug: 'cache-errors',
  severity: 'warning',
  summary: 'errors of the upstream are stored as long as its pages',
  why: '"any" in "proxy_cache_valid" includes errors: after one 502 during a restart of the upstream, all clients get it until its lifetime ends.',
  fix: 'Write statuses, or none: "proxy_cache_valid 1d" applies to 200, 301 and 302. For all others, write "any 1m".',
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
        hint: `add "${prefix}_cache_valid any 1m" after a line for the pages`,
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
