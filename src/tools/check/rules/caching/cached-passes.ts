import type { DirectiveNode } from '../../../../../grammar/index.ts';
import { type BlockView, type ComplexValue, oncePer } from '../../../../config/index.ts';
import {
  type CheckedConfig,
  configOf,
  headersSent,
  matchOf,
  nodesOf,
  targetOf,
  type Use,
} from '../../../../contract/index.ts';
import type { ForwardingConfig } from '../../../../forwarding/index.ts';
import { mayCache } from '../../../../cache/index.ts';

/** The prefixes of the directives of protocols whose responses may be stored. */
export const PREFIXES = ['proxy', 'fastcgi', 'uwsgi', 'scgi'] as const;

export type Prefix = (typeof PREFIXES)[number];

/** A `proxy_pass`, or a similar directive of another protocol, whose responses may be stored. */
export interface CachedPass extends Use {
  readonly prefix: Prefix;
  readonly values: ForwardingConfig;
  /** Returns the directives that set a field; none if it has its default. */
  nodes(field: keyof ForwardingConfig): readonly DirectiveNode[];
  /** The `proxy_cache` that applies. */
  readonly cacheNode: DirectiveNode;
  readonly key: CacheKey;
  /** The address that requests go to, as written. */
  readonly upstream: string;
  /** No variable decides where requests go. */
  readonly isLiteral: boolean;
}

/** The parts of a key. */
interface CacheKey {
  /** `undefined`: the default key. */
  readonly node: DirectiveNode | undefined;
  readonly value: ComplexValue;
  readonly names: ReadonlySet<string>;
}

/** The key of locations without `proxy_cache_key` or a similar directive. */
const defaultKey = (prefix: Prefix): ComplexValue => ({
  parts: [
    { variable: 'scheme' },
    { variable: prefix === 'proxy' ? 'proxy_host' : 'host' },
    { variable: 'request_uri' },
  ],
});

/** Returns every `proxy_pass` (or similar directive) with a cache, in file order. */
export const cachedPasses = oncePer((config: CheckedConfig): readonly CachedPass[] =>
  PREFIXES.flatMap((prefix) => config.uses(`${prefix}_pass`).flatMap((use) => cachedPass(use, prefix) ?? [])),
);

function cachedPass({ node, block }: Use, prefix: Prefix): CachedPass | undefined {
  const values = valuesIn(block, prefix);
  const nodes = (field: keyof ForwardingConfig): readonly DirectiveNode[] => nodesOf(block, prefix, field);
  const [cacheNode] = nodes('cache');
  const target = values.pass && (prefix === 'proxy' ? targetOf(block) : values.pass);
  if (!cacheNode || !target || !mayCache(values)) return undefined;
  const value = values.cacheKey ?? defaultKey(prefix);
  const [keyNode] = nodes('cacheKey');
  return {
    node,
    block,
    prefix,
    values,
    nodes,
    cacheNode,
    key: { node: keyNode, value, names: namesIn([value]) },
    upstream: node.args[0]?.value ?? '',
    isLiteral: target.kind === 'literal',
  };
}

/** Returns the config of a protocol in a block. */
export function valuesIn(
  block: BlockView,
  prefix: Prefix,
): ForwardingConfig & { readonly pass?: { kind: string } } {
  return configOf(block.level, prefix);
}

/** Returns the headers that the configuration sends with requests, by their names in lower case, with their values. */
export function sentHeaders({ block, prefix }: CachedPass): ReadonlyMap<string, SentHeader> {
  if (prefix === 'proxy') {
    const headers = [...headersSent(block)];
    return new Map(headers.map(([name, node]) => [name, { node, value: node.args[1]?.value ?? '' }]));
  }
  const params = block.effective(`${prefix}_param`);
  return new Map(
    params.flatMap((node) => {
      const [, name] = /^HTTP_(.+)$/.exec(node.args[0]?.value ?? '') ?? [];
      const header = name?.toLowerCase().replaceAll('_', '-');
      return header === undefined ? [] : [[header, { node, value: node.args[1]?.value ?? '' }] as const];
    }),
  );
}

interface SentHeader {
  readonly node: DirectiveNode;
  readonly value: string;
}

/** Stands for any capture of a regular expression in `namesIn`. */
const CAPTURE = '1';

/** Returns the names of the variables in some values, in lower case. */
export function namesIn(values: readonly ComplexValue[]): ReadonlySet<string> {
  const parts = values.flatMap((value) => value.parts);
  return new Set(
    parts.flatMap((part) =>
      typeof part === 'string' ? [] : 'variable' in part ? part.variable.toLowerCase() : CAPTURE,
    ),
  );
}

/**
 * Returns whether one of the variables is of a kind, or may be: the configuration's own variables and captures can hold
 * anything.
 */
export function mayName(config: CheckedConfig, names: ReadonlySet<string>, kind: RegExp): boolean {
  return [...names].some((name) => kind.test(name) || isOwn(config, name));
}

/** Returns whether the configuration defines a variable itself, so that its value may be anything. */
function isOwn({ bound }: CheckedConfig, name: string): boolean {
  return name === CAPTURE || bound.defined.has(name);
}

const STATIC = /\\\.\(?(?:\?:)?[\w|?.\\()[\]*+-]*\)?\$$/;

/** Returns whether a location only has files with certain extensions, which are the same for all clients. */
export function isForFiles({ block, prefix }: CachedPass): boolean {
  const match = matchOf(block);
  return prefix === 'proxy' && match?.kind === 'regex' && STATIC.test(match.regex.source);
}
