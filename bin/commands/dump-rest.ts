import { dbrestTools, restPlaces } from '../../src/lookups.ts';
import type { RestPlace } from '../../src/lookups.ts';
import { loadConfig } from '../load-config.ts';
import type { ConfigOptions } from '../load-config.ts';
import { visible } from '../terminal-text.ts';

/** Which of the locations that serve a database. */
export interface RestOptions extends ConfigOptions {
  readonly location?: string;
}

/** Options of `gw dump openapi`. */
export interface ApiOptions extends RestOptions {
  readonly role?: string;
  readonly schema?: string;
}

/** `gw dump schema`: what a location knows of its database. 1: it cannot be read, 2: which location is not clear. */
export function printSchema(options: RestOptions): Promise<number> {
  return withPlace(options, async (place) => ({ document: await dbrestTools.dumpSchema(place) }));
}

/** `gw dump openapi`: what the root of a location answers. Ends as `gw dump schema` does. */
export function printApi({ role, schema, ...options }: ApiOptions): Promise<number> {
  return withPlace(options, (place) => dbrestTools.describeApi(place, { role, schema }));
}

async function withPlace(
  options: RestOptions,
  read: (place: RestPlace) => Promise<{ readonly document: unknown } | { readonly fault: string }>,
): Promise<number> {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const place = choosePlace(restPlaces(loaded.plan), options.location);
  if (typeof place === 'string') return fail(place, 2);
  try {
    const answer = await read(place);
    if ('fault' in answer) return fail(answer.fault, 1);
    process.stdout.write(`${JSON.stringify(answer.document, undefined, 2)}\n`);
    return 0;
  } catch (error) {
    return fail((error as Error).message, 1);
  }
}

/** The one that is meant, or why that is not clear. */
function choosePlace(places: readonly RestPlace[], wanted: string | undefined): RestPlace | string {
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

function fail(message: string, code: number): number {
  process.stderr.write(`gw: ${message}\n`);
  return code;
}
