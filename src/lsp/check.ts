import { dirname, join } from 'node:path';
import { placeOf, readFileBytes } from '../../grammar/index.ts';
import type { ReadFile } from '../../grammar/index.ts';
import { check, load } from '../pipeline.ts';
import type { Finding } from '../pipeline.ts';
import type { Context } from '../config/index.ts';
import type { Root } from './walk.ts';

/** What is written around a piece of configuration, so that it can be checked alone. */
const AROUND: Readonly<Record<Context, readonly string[]>> = {
  main: [],
  check: ['check'],
  events: ['events'],
  http: ['http'],
  upstream: ['http', 'upstream around'],
  server: ['http', 'server'],
  location: ['http', 'server', 'location /'],
  limit_except: ['http', 'server', 'location /', 'limit_except GET'],
  'server if': ['http', 'server', 'if ($uri)'],
  'location if': ['http', 'server', 'location /', 'if ($uri)'],
};

/** Rules about what the rest of a configuration has: of a piece alone they would say that everything is missing. */
const NEEDS_THE_REST: ReadonlySet<string> = new Set([
  'bad-reference',
  'unknown-variable',
  'missing-resolver',
  'named-location-unused',
  'flag-unused',
]);

/** One configuration to check. */
export interface CheckJob {
  readonly root: Root;
  readonly prefix: string;
  /** The texts that the editor has open, by path. */
  readonly opened: ReadonlyMap<string, string>;
}

/** Everything that is wrong with a configuration as it stands in the editor. */
export async function checkRoot({ root, prefix, opened }: CheckJob): Promise<readonly Finding[]> {
  const { path, place } = root;
  const readFile: ReadFile = (file, maxBytes) => opened.get(file) ?? readFileBytes(file, maxBytes);
  if (place === 'main') {
    const text = opened.get(path);
    return check(load({ confFile: path, name: path, prefix, text, readFile }, { advise: true }));
  }
  if (place === 'data' || place === 'unknown') return [];
  const confFile = join(dirname(path), 'around.conf');
  const text = wrapped(path, place);
  const found = await check(load({ confFile, name: confFile, prefix, text, readFile }, { advise: true }));
  return found.filter(
    ({ span, slug }) => span !== undefined && placeOf(span).file === path && !NEEDS_THE_REST.has(slug),
  );
}

function wrapped(path: string, context: Context): string {
  const openers = AROUND[context];
  const include = `include "${path.replace(/["\\]/g, '\\$&')}";`;
  return `${openers.map((opener) => `${opener} { `).join('')}${include}${' }'.repeat(openers.length)}`;
}
