import { printable, takesColor } from '../../grammar/index.ts';
import type { LocationView, ServerView } from '../../src/contract/index.ts';
import {
  combined,
  directives,
  effective,
  loadDbrestTools,
  MODULE_NAMES,
  type RestLocation,
  restLocations,
  routes,
  type VariableFacts,
  variables,
} from '../../src/tools/lookups.ts';
import { explain as account } from '../../src/pipeline.ts';
import { columns, fail, visible } from '../terminal.ts';
import { choosePlace, type ConfigOptions, loadConfig, type RestOptions } from '../load-config.ts';

/** Options of `gw explain`. */
export interface ExplainOptions extends ConfigOptions {
  readonly header?: readonly string[];
  readonly from: string;
  readonly data?: string;
  readonly live?: boolean;
  readonly json?: boolean;
}

/** `gw explain METHOD URL`. Exit code 0: a server receives the request; 1: none does; 2: the question is invalid. */
export async function explain(method: string, url: string, options: ExplainOptions): Promise<number> {
  const given = options.header ?? [];
  const headers = given.map(readHeader);
  const wrong = headers.findIndex((header) => header === undefined);
  if (wrong >= 0) return fail(`invalid header "${printable(given[wrong] ?? '')}"`, 2);
  const loaded = loadConfig(options);
  if (!loaded) return 2;
  const told = await account(loaded, {
    method,
    url,
    headers: headers.filter((header) => header !== undefined),
    from: options.from,
    live: options.live === true,
    ...(options.data !== undefined && { body: options.data }),
  });
  if (typeof told === 'string') return fail(told, 2);
  const text = options.json
    ? `${JSON.stringify(told.account, undefined, 2)}\n`
    : told.print({ color: takesColor(process.stdout) });
  process.stdout.write(text);
  return told.account.found ? 0 : 1;
}

function readHeader(text: string): readonly [string, string] | undefined {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

/** Options of `gw dump config` and `gw dump routes`. */
export interface DumpOptions extends ConfigOptions {
  readonly json?: boolean;
}

/**
 * `gw dump config`: prints the configuration as one text, or the directives that hold in each block. Exit code 1: it is
 * refused.
 */
export function dumpConfig({ json, ...options }: DumpOptions): number {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const { tree, bound, plan } = loaded;
  const { prefix, confFile } = plan.main;
  const files = tree.sources.map(({ name }) => name);
  if (json === true) writeJson({ file: confFile, prefix, files, main: effective(bound, tree) });
  else process.stdout.write(combined(tree));
  return 0;
}

/**
 * `gw dump routes`: prints the servers with their locations in the order of matching. Exit code 1: the configuration is
 * refused.
 */
export function dumpRoutes({ json, ...options }: DumpOptions): number {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const servers = routes(loaded.plan);
  if (json === true) writeJson(servers);
  else {
    const rows = servers.flatMap((server) => locationRows(server.root, server, 0));
    process.stdout.write(columns([['LISTEN', 'SERVER', 'LOCATION', 'ANSWERED BY', 'PLACE'], ...rows]));
  }
  return 0;
}

function locationRows(
  location: LocationView,
  server: ServerView,
  depth: number,
): readonly (readonly string[])[] {
  const { text, kind, answeredBy, internal, place, locations } = location;
  const listens = server.listens.map(({ address, isDefault }) => address + (isDefault ? ' (default)' : ''));
  const marks = internal ? ' (internal)' : '';
  const isServer = kind === 'server';
  // A server level with locations serves only requests that no location matches.
  const answer = answeredBy ?? (isServer && locations.length > 0 ? '' : 'files');
  return [
    [
      isServer ? listens.join(' ') : '',
      isServer ? visible(server.names.join(' ') || '""') : '',
      visible(`${'  '.repeat(Math.max(depth - 1, 0))}${text}`) + marks,
      answer,
      visible(place),
    ],
    ...locations.flatMap((inner) => locationRows(inner, server, depth + 1)),
  ];
}

function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** Options of `gw dump openapi`. */
export interface ApiOptions extends RestOptions {
  readonly role?: string;
  readonly schema?: string;
}

/**
 * `gw dump schema`: prints the schema of a location. Exit code 1: it cannot be read; 2: the location is ambiguous.
 */
export function printSchema(options: RestOptions): Promise<number> {
  return withPlace(options, async (place) => {
    const { dumpSchema } = await loadDbrestTools();
    return { document: await dumpSchema(place) };
  });
}

/** `gw dump openapi`: prints the OpenAPI document of a location. Exit codes as for `gw dump schema`. */
export function printApi({ role, schema, ...options }: ApiOptions): Promise<number> {
  return withPlace(options, async (place) => {
    const { describeApi } = await loadDbrestTools();
    return describeApi(place, { role, schema });
  });
}

async function withPlace(
  options: RestOptions,
  read: (place: RestLocation) => Promise<{ readonly document: unknown } | { readonly fault: string }>,
): Promise<number> {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const place = choosePlace(restLocations(loaded.plan), options.location);
  if (typeof place === 'string') return fail(place, 2);
  try {
    const printed = await read(place);
    if ('fault' in printed) return fail(printed.fault, 1);
    process.stdout.write(`${JSON.stringify(printed.document, undefined, 2)}\n`);
    return 0;
  } catch (error) {
    return fail((error as Error).message, 1);
  }
}

/** Options of the lists. */
export interface ListOptions {
  readonly json?: boolean;
  /** Restricts the list to one module. */
  readonly module?: string;
}

/** The kinds of lists. */
type Listing = 'modules' | 'directives' | 'variables';

/** `gw list-modules`, `list-directives`, `list-variables`: prints names with summaries, or all facts as JSON. */
export function list(what: Listing, { json, module }: ListOptions): number {
  const rows = LISTINGS[what]().filter((row) => module === undefined || row.module === module);
  if (rows.length === 0 && module !== undefined) {
    process.stderr.write(`gw: there is no module "${module}"\n`);
    return 2;
  }
  if (json === true) process.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
  else process.stdout.write(table(rows));
  return 0;
}

interface Row {
  readonly name: string;
  readonly module: string;
  readonly summary: string;
}

const LISTINGS: Readonly<Record<Listing, () => readonly Row[]>> = {
  modules,
  directives: () =>
    directives().map((facts) => ({
      ...facts,
      summary: facts.accepted === undefined ? facts.summary : `no effect: ${facts.accepted}`,
    })),
  variables: () => variables().map((facts: VariableFacts) => ({ ...facts, name: `$${facts.name}` })),
};

function modules(): readonly (Row & { directives: number; variables: number })[] {
  const [all, known] = [directives(), variables()];
  return MODULE_NAMES.map((name) => {
    const own = all.filter(({ module }) => module === name).length;
    const read = known.filter(({ module }) => module === name).length;
    const summary = `${own} directive${own === 1 ? '' : 's'}, ${read} variable${read === 1 ? '' : 's'}`;
    return { name, module: name, summary, directives: own, variables: read };
  });
}

function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}\n`).join('');
}
