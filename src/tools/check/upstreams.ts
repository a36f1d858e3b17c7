import { type BlockView, oncePer } from '../../config/index.ts';
import type { CheckedConfig } from '../../contract/index.ts';

/** The `upstream` block with a name. */
export function upstreamNamed(config: CheckedConfig, name: string): BlockView | undefined {
  return upstreams(config).get(name.toLowerCase());
}

/** The `upstream` blocks by their names in lower case. */
export const upstreams = oncePer(
  (config: CheckedConfig): ReadonlyMap<string, BlockView> =>
    new Map(
      config
        .blocks('upstream')
        .flatMap((block) => (typeof block.args === 'string' ? [[block.args.toLowerCase(), block]] : [])),
    ),
);
