import { resolve } from 'node:path';
import { formatFaults } from '../grammar/index.ts';
import { load } from '../src/pipeline.ts';
import type { Loaded } from '../src/pipeline.ts';
import { sourceOf } from './source.ts';

/** Which configuration a command is about; without a name the one that a start would read. */
export interface ConfigOptions {
  readonly config?: string;
  readonly prefix?: string;
}

/** A configuration that nothing refuses. */
export type LoadedConfig = { readonly [K in 'plan' | 'tree' | 'bound']: NonNullable<Loaded[K]> } & {
  readonly name: string;
};

/** Loads a configuration and says what is wrong with it; `undefined` when that refuses it. */
export function loadConfig({ config, prefix }: ConfigOptions): LoadedConfig | undefined {
  const source = sourceOf({
    ...(config !== undefined && { confFile: resolve(config) }),
    ...(prefix !== undefined && { prefix }),
  });
  const name = config ?? source.name;
  const { plan, tree, bound, report } = load({ ...source, name });
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  return plan && tree && bound && { plan, tree, bound, name };
}
