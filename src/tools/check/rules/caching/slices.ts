import type { DirectiveNode } from '../../../../../grammar/index.ts';
import type { ComplexValue } from '../../../../config/index.ts';
import { configOf, nodesOf, passes, type Problem, type Rule } from '../../../../contract/index.ts';
import { mayCache } from '../../../../cache/index.ts';
import { asksForPieces } from '../../../../forwarding/index.ts';
import { cachedPasses, mayName } from './cached-passes.ts';

const example = (key: string): string => `proxy_cache_path /var/cache/gw keys_zone=pages:10m;
server {
  listen 127.0.0.1:80;
  location / {
    slice 1m;
    proxy_pass http://127.0.0.1:9000;
    proxy_cache pages;
    proxy_cache_key ${key};
    proxy_cache_valid 200 206 1h;
    proxy_set_header Range $slice_range;
  }
}`;

const sliceRange: Rule = {
  id: 'GW425',
  slug: 'slice-range',
  severity: 'warning',
  summary: '"slice" without "$slice_range" in "Range" and in the key',
  why: 'The upstream sends pieces only if "Range" requests them. Without "$slice_range" in the key, all pieces of a response have the same key, and clients get wrong bytes.',
  fix: 'Write "proxy_set_header Range $slice_range;", and add "$slice_range" to "proxy_cache_key" and 206 to "proxy_cache_valid".',
  bad: { in: 'http', text: example('$scheme$host$request_uri') },
  good: { in: 'http', text: example('$scheme$host$request_uri$slice_range') },
  *check(config): Iterable<Problem> {
    const keys = new Map(cachedPasses(config).map((pass) => [pass.block, pass.key]));
    const told = new Set<DirectiveNode>();
    for (const { block } of passes(config)) {
      const values = configOf(block.level, 'proxy');
      const [at] = nodesOf(block, 'core', 'sliceBytes');
      const { sliceBytes } = configOf(block.level, 'core');
      if (!at || sliceBytes === 0 || told.has(at)) continue;
      const key = keys.get(block);
      const finding = sliceFinding(
        { ...values, sliceBytes },
        key ? mayName(config, key.names, /^slice_range$/) : true,
      );
      if (!finding) continue;
      told.add(at);
      yield { at: (key && finding.isAboutKey && key.node) || at, ...finding.says };
    }
  },
};

type ProxyValues = ReturnType<typeof configOf<'proxy'>>;

interface SliceFinding {
  readonly isAboutKey?: boolean;
  readonly says: Pick<Problem, 'message' | 'hint'>;
}

function sliceFinding(
  values: ProxyValues & { readonly sliceBytes: number },
  isInKey: boolean,
): SliceFinding | undefined {
  if (!asksForPieces(rangeOf(values), values.sliceBytes)) {
    const message = '"slice" has no effect: pieces are not requested from the upstream';
    return { says: { message, hint: 'add "proxy_set_header Range $slice_range"' } };
  }
  if (!isInKey) {
    const message = 'all pieces of a response have the same key: it has no "$slice_range"';
    return { isAboutKey: true, says: { message, hint: 'add "$slice_range" to "proxy_cache_key"' } };
  }
  const { cacheValid } = values;
  const isNamed = cacheValid?.some(({ codes }) => codes === 'any' || codes.includes(206)) ?? true;
  if (isNamed || !mayCache(values)) return undefined;
  const message = 'pieces are not stored: "proxy_cache_valid" does not contain their status, 206';
  return { says: { message, hint: 'add 206 to "proxy_cache_valid"' } };
}

/** Rules about responses that are fetched in pieces. */
export const SLICE_RULES: readonly Rule[] = [sliceRange];

const rangeOf = ({ setHeaders = [] }: ProxyValues): ComplexValue | undefined =>
  setHeaders.find(({ name }) => name.toLowerCase() === 'range')?.value;
