import {
  type ConfigTree,
  type DirectiveNode,
  type LoadOptions,
  loadTree,
  Report,
} from '../../grammar/index.ts';

const KNOWN = new Set(
  [
    'events',
    'http',
    'server',
    'location',
    'listen',
    'server_name',
    'return',
    'root',
    'index',
    'add_header',
  ].concat('include', 'if', 'set'),
);

const BLOCKS = new Set(['events', 'http', 'server', 'location', 'if']);

export interface Loaded {
  readonly tree: ConfigTree | undefined;
  readonly report: Report;
}

/** Loads a text as `gw.conf`, with a small set of known directives. */
export function loadText(text: string, options: Partial<LoadOptions> = {}): Loaded {
  const report = new Report();
  const knownDirective = (name: string): boolean => KNOWN.has(name);
  const opensBlock = (name: string): boolean => BLOCKS.has(name);
  const known = { knownDirective, opensBlock };
  const tree = loadTree({ file: 'gw.conf', env: {}, ...known, ...options, text, report });
  return { tree, report };
}

export type Plain = readonly (string | readonly Plain[])[];

/** Directives as arrays of their words, with the block, if there is one, as the last element. */
export function plain(nodes: readonly DirectiveNode[]): Plain[] {
  return nodes.map(({ name, args, block }) => [
    name.value,
    ...args.map((word) => word.value),
    ...(block ? [plain(block)] : []),
  ]);
}
