import { applySchema, type SchemaItem, schemaScript, schemaStatus } from '../../src/cluster/index.ts';
import {
  type dbrestTools,
  loadDbrestTools,
  type RestLocation,
  restLocations,
} from '../../src/tools/lookups.ts';
import { choosePlace, loadConfig, type RestOptions } from '../load-config.ts';
import { columns, fail, visible } from '../terminal.ts';
import { readSecret } from './secrets.ts';

/** Options of all `gw db` commands. */
export interface DbOptions {
  readonly dsn?: string;
  readonly authenticator: string;
  readonly anon: string;
  readonly user: string;
  readonly schema: string;
  readonly json?: boolean;
  /** The database is the store of a cluster and is not used by dbrest. */
  readonly cluster?: boolean;
  readonly clusterRole: string;
}

/** Options of `gw db status`. */
export interface StatusOptions extends DbOptions, RestOptions {}

/** Options of `gw db setup`. */
export interface SetupOptions extends DbOptions, RestOptions {
  readonly apply?: boolean;
  readonly passwordFile?: string;
  readonly grantTables?: boolean;
  /** False with `--no-trigger`. */
  readonly trigger: boolean;
  readonly cache?: boolean;
  readonly watch?: readonly string[];
}

/** `gw db setup`: prints the SQL, or runs it and reports the changes. Exit code 1: it failed; 2: an option is wrong. */
export async function setup(given: SetupOptions, isGiven: IsGiven): Promise<number> {
  const tools = await loadDbrestTools();
  const options = given.config === undefined ? given : setupOfLocation(given, isGiven);
  if (typeof options === 'number') return options;
  const fault = nameFaultIn(options, tools);
  if (fault !== undefined) return fail(fault, 2);
  const verifier = await verifierFor(options, tools);
  if (verifier && 'fault' in verifier) return fail(verifier.fault, 2);
  if (options.cluster) return setupCluster(options, { role: options.clusterRole, ...verifier });
  const {
    authenticator,
    anon,
    user,
    schema,
    trigger,
    cache = false,
    grantTables: grantsTables = false,
  } = options;
  const watched = watchedTables(options, tools);
  if ('fault' in watched) return fail(watched.fault, 2);
  const order = { authenticator, anon, user, schema, trigger, cache, grantsTables, ...watched, ...verifier };
  if (options.apply !== true) {
    process.stdout.write(tools.setupScript(order));
    return 0;
  }
  return withDsn(options, async (dsn) => {
    const { before, after } = await tools.applySetup(dsn, order);
    showChanged(before, after, options);
    const isLacking = (item: dbrestTools.SetupItem): boolean => trigger || item.state !== 'missing';
    return after.every((item) => item.state === 'ok' || !isLacking(item)) ? 0 : 1;
  });
}

/** Tells whether an option stands on the command line, rather than having its default. */
type IsGiven = (name: string) => boolean;

/** Takes the roles and the schema from a location, unless options name them; a number is an exit code. */
function setupOfLocation(options: SetupOptions, isGiven: IsGiven): SetupOptions | number {
  const place = placeOf(options);
  if (typeof place === 'number') return place;
  const { pass, anonRole, schemas } = place;
  const login = pass.kind === 'server' ? pass.target.user : undefined;
  const [first = options.schema, ...others] = schemas;
  if (!isGiven('schema') && others.length > 0)
    process.stderr.write(
      `gw: only the first schema of the location is set up; for the others: ${others.map((one) => `--schema ${visible(one)}`).join(', ')}\n`,
    );
  return {
    ...options,
    // The login of the location is not that of a superuser, so a server has to be named.
    ...(pass.kind === 'embedded' && options.dsn === undefined && { dsn: `embedded:${pass.dir}` }),
    authenticator: isGiven('authenticator') ? options.authenticator : (login ?? options.authenticator),
    anon: isGiven('anon') ? options.anon : (anonRole ?? options.anon),
    schema: isGiven('schema') ? options.schema : first,
  };
}

type Served = RestLocation['config'] & { readonly pass: NonNullable<RestLocation['config']['pass']> };

/** Returns the settings of the location that is selected; a number is an exit code. */
function placeOf(options: RestOptions): Served | number {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const place = choosePlace(restLocations(loaded.plan), options.location);
  if (typeof place === 'string') return fail(place, 2);
  const { pass } = place.config;
  return pass ? { ...place.config, pass } : fail('the location serves no database', 2);
}

/** Does the same for the store of a cluster. */
async function setupCluster(
  options: SetupOptions,
  grantee: { readonly role: string; readonly verifier?: string },
): Promise<number> {
  if (options.apply !== true) {
    process.stdout.write(schemaScript(grantee));
    return 0;
  }
  return withDsn(options, async (dsn) => {
    const { before, after } = await applySchema(dsn, grantee);
    showChanged(before, after, options);
    return after.every(({ state }) => state === 'ok') ? 0 : 1;
  });
}

/**
 * `gw db status`: prints which parts of the setup a database has. Exit code 0: all; 1: some are missing, or the
 * database cannot be reached.
 */
export async function status(options: StatusOptions, isGiven: IsGiven): Promise<number> {
  const tools = await loadDbrestTools();
  const fault = nameFaultIn(options, tools);
  if (fault !== undefined) return fail(fault, 2);
  const told = (items: readonly Item[]): number => {
    show(items, options);
    return items.every(({ state }) => state === 'ok') ? 0 : 1;
  };
  if (options.config !== undefined) return statusOfLocation(options, isGiven, told);
  return withDsn(options, async (dsn) => {
    if (options.cluster) return told(await schemaStatus(dsn, options.clusterRole));
    return told(await tools.setupStatus(tools.readPass(dsn), { ...options, schemas: [options.schema] }));
  });
}

/** Takes the database, the roles and the schemas from a location, unless options name them. */
async function statusOfLocation(
  options: StatusOptions,
  isGiven: IsGiven,
  told: (items: readonly Item[]) => number,
): Promise<number> {
  const tools = await loadDbrestTools();
  const place = placeOf(options);
  if (typeof place === 'number') return place;
  const { pass: served, anonRole, schemas } = place;
  const login = served.kind === 'server' ? served.target.user : undefined;
  const names = {
    authenticator: isGiven('authenticator') ? options.authenticator : (login ?? options.authenticator),
    anon: isGiven('anon') ? options.anon : anonRole,
    // The configuration does not name the roles of tokens.
    user: isGiven('user') ? options.user : undefined,
    schemas: isGiven('schema') ? [options.schema] : schemas,
  };
  try {
    const pass = options.dsn === undefined ? served : tools.readPass(options.dsn);
    return told(await tools.setupStatus(pass, names));
  } catch (error) {
    return fail(visible((error as Error).message), 1);
  }
}

type Tools = typeof dbrestTools;

function nameFaultIn(
  { authenticator, anon, user, schema, clusterRole }: DbOptions,
  { nameFault }: Tools,
): string | undefined {
  const roleFault = nameFault(clusterRole);
  if (roleFault !== undefined) return `invalid --cluster-role "${visible(clusterRole)}"\n  ${roleFault}`;
  for (const [option, name] of Object.entries({ authenticator, anon, user, schema })) {
    // The schema "public" may be served although its name is reserved.
    const fault = option === 'schema' && name === 'public' ? undefined : nameFault(name);
    if (fault !== undefined) return `invalid --${option} "${visible(name)}"\n  ${fault}`;
  }
  const roles = [authenticator, anon, user];
  return new Set(roles).size < roles.length ? 'the three roles must have different names' : undefined;
}

/** Returns the tables of `--watch`; a table without a schema is in the schema of `--schema`. */
function watchedTables(
  { watch = [], schema: usual }: SetupOptions,
  { nameFault, tableOf }: Tools,
): { readonly watched: readonly dbrestTools.WatchedTable[] } | { readonly fault: string } {
  const watched = watch.map((text) => tableOf(text, usual));
  for (const [i, table] of watched.entries()) {
    const fault = table
      ? (nameFault(table.name) ?? (table.schema === 'public' ? undefined : nameFault(table.schema)))
      : 'expected schema.table';
    if (fault !== undefined) return { fault: `invalid --watch "${visible(watch[i] ?? '')}"\n  ${fault}` };
  }
  return { watched: watched.filter((table) => table !== undefined) };
}

async function verifierFor(
  { passwordFile }: SetupOptions,
  { scramVerifier }: Tools,
): Promise<{ readonly verifier: string } | { readonly fault: string } | undefined> {
  if (passwordFile === undefined) return undefined;
  const read = await readSecret({ secretFile: passwordFile }, '');
  if ('fault' in read) return read;
  if (!/^[\x20-\x7e]+$/.test(read.secret))
    return { fault: 'the password has other characters than those of ASCII' };
  return { verifier: await scramVerifier(read.secret) };
}

async function withDsn({ dsn }: DbOptions, use: (dsn: string) => Promise<number>): Promise<number> {
  const given = dsn ?? process.env['DATABASE_URL'];
  if (given === undefined) return fail('no database is named; set DATABASE_URL, or use --dsn', 2);
  try {
    return await use(given);
  } catch (error) {
    return fail(visible((error as Error).message), 1);
  }
}

type Item = dbrestTools.SetupItem | SchemaItem;
type PrintedItem = Item & { readonly changed?: boolean };

function showChanged(before: readonly Item[], after: readonly Item[], options: DbOptions): void {
  const items = after.map((item) => {
    const was = before.find(({ what }) => what === item.what)?.state;
    return { ...item, changed: was !== item.state };
  });
  show(items, options);
}

function show(items: readonly PrintedItem[], { json }: DbOptions): void {
  if (json === true) {
    process.stdout.write(`${JSON.stringify(items, undefined, 2)}\n`);
    return;
  }
  const rows = items.map(({ what, state, detail = '', changed = false }) => [
    changed && state === 'ok' ? 'done' : state,
    visible(what),
    visible(detail),
  ]);
  process.stdout.write(columns(rows));
}
