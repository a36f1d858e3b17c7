import { type dbrestTools, loadDbrestTools, restLocations } from '../../src/tools/lookups.ts';
import { failureText, readText, visible } from '../terminal.ts';
import { choosePlace, loadConfig, type RestOptions } from '../load-config.ts';

/** Options that select the types. */
export interface TypesSourceOptions extends RestOptions {
  readonly schema?: readonly string[];
  readonly role?: string;
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

type Tools = typeof dbrestTools;

/** A source of types: a database, a location or a running gateway. */
export interface TypesSource {
  /** Reads the types. Rejects with a message of one line, for example if the database cannot be reached. */
  read(): Promise<{ readonly types: dbrestTools.ApiTypes } | { readonly fault: string }>;
  /** The interval at which to look for changes that are not announced. */
  readonly intervalMs: number;
  /** Calls `use`, and calls `changed` for each change that is announced while it runs. */
  watch(changed: () => void, use: () => Promise<number>): Promise<number>;
}

/** A database announces most changes, and reading its catalogue is costly; a gateway has the types in memory. */
const DATABASE_INTERVAL_MS = 60_000;
const GATEWAY_INTERVAL_MS = 5_000;

/** A source that cannot be used: the message, and the exit code. */
interface Refusal {
  readonly refused: string;
  readonly code: number;
}

/** Returns the source of a command line. Faults of a configuration are printed, and give an empty message. */
export async function openSource(
  dsn: string | undefined,
  options: TypesSourceOptions,
): Promise<TypesSource | Refusal> {
  const { url, config, role, location } = options;
  const sources = [dsn, url, config].filter((given) => given !== undefined);
  if (sources.length > 1) return wrong('name one of a database, --config and --url');
  const tools = await loadDbrestTools();
  if (url !== undefined) {
    if (role !== undefined) return wrong('--role is for databases: a gateway knows it from the token');
    return gatewaySource(url, options, tools);
  }
  if (options.token !== undefined || options.tokenFile !== undefined)
    return wrong('--token and --token-file are for --url');
  if (dsn === undefined) return locationSource(options, tools);
  if (location !== undefined) return wrong('--location is for configurations');
  return databaseSource(dsn, options, tools);
}

/** Reports that changes are not announced, but found after the interval. */
function sayDeaf(reason: string): void {
  process.stderr.write(
    `gw: changes of the database are not heard, so it is read each minute: ${visible(reason)}\n`,
  );
}

function wrong(refused: string): Refusal {
  return { refused, code: 2 };
}

function databaseSource(dsn: string, options: TypesSourceOptions, tools: Tools): TypesSource | Refusal {
  const { schema, role } = options;
  const schemas = schema ? [...new Set(schema)] : ['public'];
  try {
    const pass = tools.readPass(dsn);
    return {
      read: () => tools.describeDatabase(pass, { schemas, role }),
      intervalMs: DATABASE_INTERVAL_MS,
      watch: (changed, use) => tools.whileListening(pass, { changed, deaf: sayDeaf }, use),
    };
  } catch (error) {
    return wrong((error as Error).message);
  }
}

function locationSource(options: TypesSourceOptions, tools: Tools): TypesSource | Refusal {
  const loaded = loadConfig(options);
  if (!loaded) return { refused: '', code: 1 };
  const place = choosePlace(restLocations(loaded.plan), options.location);
  if (typeof place === 'string') return wrong(place);
  const { pass, schemas: served, nestedInsert: nests } = place.config;
  const { schema, role } = options;
  const schemas = [...new Set(schema ?? served)];
  const other = schemas.find((name) => !served.includes(name));
  if (other !== undefined) return { refused: notServed(other, served), code: 1 };
  if (!pass) return wrong('the location serves no database');
  return {
    read: () => tools.describeDatabase(pass, { schemas, role, nests }),
    intervalMs: DATABASE_INTERVAL_MS,
    watch: (changed, use) => tools.whileListening(pass, { changed, deaf: sayDeaf }, use),
  };
}

function notServed(schema: string, served: readonly string[]): string {
  return `schema "${visible(schema)}" is not served, expected ${visible(served.join(', '))}`;
}

function gatewaySource(
  text: string,
  { token, tokenFile, schema, location }: TypesSourceOptions,
  tools: Tools,
): TypesSource | Refusal {
  if (location !== undefined) return wrong('--location is for configurations: the URL names the location');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    return wrong('invalid --url\n  expected http://host:port/path/');
  if (url.username !== '' || url.password !== '')
    return wrong('invalid --url\n  it must not contain a password; --token-file takes a token');
  const read = tokenFile === undefined ? undefined : readText(tokenFile);
  if (tokenFile !== undefined && !read) return { refused: '', code: 1 };
  const bearer = token ?? read?.text.trim() ?? (process.env['GW_TOKEN'] || undefined);
  // The error of a header that cannot be sent would show it.
  if (bearer !== undefined && !/^[\x21-\x7e]+$/.test(bearer))
    return wrong('the token has characters that no token has');
  return {
    async read() {
      const all = tools.readApiTypes(await fetchTypes(url, bearer, tools.TYPES_MEDIA));
      if (!all) throw new Error(`${shownUrl(url)} does not describe types`);
      const { schemas } = all;
      const names = schemas.map(({ name }) => name);
      const other = schema?.find((name) => !names.includes(name));
      if (other !== undefined) return { fault: notServed(other, names) };
      return { types: tools.onlySchemas(all, schema ?? names) };
    },
    intervalMs: GATEWAY_INTERVAL_MS,
    // A gateway does not announce changes; it is asked again after the interval.
    watch: (_changed, use) => use(),
  };
}

const TIMEOUT_MS = 30_000;
/** Longest response, enough for the types of some 50,000 tables. */
const MOST_BYTES = 128 * 1024 * 1024;

async function fetchTypes(url: URL, token: string | undefined, accept: string): Promise<string> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, {
    headers: { accept, ...authorization },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(sayUnreachable(url));
  const body = await bodyOf(response, url);
  if (response.status !== 200) {
    const reason = reasonIn(body);
    const hint =
      response.status === 404 && reason === ''
        ? '; name the location, such as http://127.0.0.1:8080/rest/v1/'
        : '';
    throw new Error(`${shownUrl(url)} responds ${response.status}${reason}${hint}`);
  }
  return body;
}

async function bodyOf({ body }: Response, url: URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > MOST_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    sayUnreachable(url)(error as Error);
  }
  if (size > MOST_BYTES) throw new Error(`${shownUrl(url)} responds with more than ${MOST_BYTES} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns the URL without its query, which may hold a secret. */
function shownUrl({ origin, pathname }: URL): string {
  return origin + visible(pathname);
}

function sayUnreachable(url: URL): (error: Error) => never {
  return (error) => {
    const { cause = error } = error as { cause?: unknown };
    const { message, code = '' } = cause as NodeJS.ErrnoException;
    throw new Error(`${shownUrl(url)} does not respond: ${visible(message || code || failureText(error))}`, {
      cause,
    });
  };
}

/** Returns the message of a fault, if the body is one. */
function reasonIn(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? `: ${visible(message)}` : '';
  } catch {
    return '';
  }
}
