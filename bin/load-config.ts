import { formatFaults } from '../grammar/index.ts';
import type { RestLocation } from '../src/tools/lookups.ts';
import { load, type Loaded } from '../src/pipeline.ts';
import { chosenSource, tellChoice } from './chosen-config.ts';
import { visible } from './terminal.ts';

/** The configuration of a command; default: the one that a start would load. */
export interface ConfigOptions {
  readonly config?: string;
  readonly prefix?: string;
  readonly compat?: 'ignore' | 'skip';
}

/** A configuration that is not refused. */
type LoadedConfig = { readonly [K in 'plan' | 'tree' | 'bound']: NonNullable<Loaded[K]> } & {
  readonly name: string;
};

/** Loads a configuration and prints its faults; `undefined` if it is refused. */
export function loadConfig({ config, prefix, compat }: ConfigOptions): LoadedConfig | undefined {
  const source = chosenSource({ confFile: config, prefix });
  tellChoice(source, config);
  const name = config ?? source.name;
  const { plan, tree, bound, report } = load({ ...source, name, ...(compat && { compat }) });
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  return plan && tree && bound && { plan, tree, bound, name };
}

/** Options that select a location with a database. */
export interface RestOptions extends ConfigOptions {
  readonly location?: string;
}

/** Returns the selected location, or the reason why it is ambiguous. */
export function choosePlace(
  places: readonly RestLocation[],
  wanted: string | undefined,
): RestLocation | string {
  if (places.length === 0) return 'no location serves a database\n  "dbrest_pass" makes one do so';
  const found = places.filter(
    ({ text, path, place }) => wanted === undefined || [text, path, place].includes(wanted),
  );
  const [first, ...others] = found;
  if (first && others.length === 0) return first;
  const listed = (first ? found : places).map(
    ({ text, server, place }) => `\n  ${visible(`${text} of server "${server}" in ${place}`)}`,
  );
  const what = first
    ? 'several locations serve a database: choose one with --location, by its path or its place'
    : `no location "${wanted}" serves a database; these do:`;
  return what + listed.join('');
}
