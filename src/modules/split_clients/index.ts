import { AT, defines, directivesFor } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Getter } from '../../http/index.ts';
import type { SplitConfig, SplitsConfig } from './config.ts';
import { murmurHash2 } from './murmur-hash2.ts';
import { readSplit } from './read-split.ts';

const directives = directivesFor<SplitsConfig>()({
  split_clients: {
    contexts: ['http'],
    words: { min: 2, max: 2 },
    data: (node, scope) => {
      const split = readSplit(node, scope);
      return split && [split];
    },
    into: 'splits',
    merge: (before, added) => [...before, ...added],
    syntax: 'string $variable { ... }',
    summary: 'A variable for A/B tests: its value follows the hash of a string.',
    roles: defines('variable', AT.secondVariable),
    source: 'nginx ngx_http_split_clients_module#split_clients',
  },
});

/** Variables for A/B tests (nginx ngx_http_split_clients_module): the same client has the same value as in nginx. */
export const splitClients = moduleFor<SplitsConfig>()({
  name: 'split_clients',
  directives,
  enabled: ({ splits }) => splits !== undefined,
  defines: ({ splits = [] }) =>
    Object.fromEntries(
      splits.map((each) => [
        each.variable,
        { summary: 'The value that `split_clients` gives.', compile: (build) => compileSplit(each, build) },
      ]),
    ),
  compile: () => ({}),
});

function compileSplit({ key, parts }: SplitConfig, build: Build): Getter {
  const render = build.value(key);
  return (x) => {
    const hash = murmurHash2(render(x));
    return parts.find(({ below }) => below === undefined || hash < below)?.value ?? '';
  };
}
