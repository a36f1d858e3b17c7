import { type Caches, type CacheStore, mayCache } from '../../cache/index.ts';
import { constantText } from '../../config/index.ts';
import {
  type LocationFacts,
  moduleFor,
  openIssuerDocuments,
  openStatementLists,
  type TrialApi,
  TrialRefusal,
  type WorkerScope,
  type ZoneNeed,
} from '../../contract/index.ts';
import { issuerZone } from '../../issuer/index.ts';
import { OpenStreams } from '../../event-streams.ts';
import {
  connect,
  type ConnectionTarget,
  loadPg,
  type Pg,
  readDsn,
  targetName,
} from '../../postgres/index.ts';
import { PieceBuffers } from '../../bodies/index.ts';
import { type Authenticator, openAuthenticator } from './auth/index.ts';
import { Database, Listener } from './database/index.ts';
import { ConfigVersions, ToldFindings, compileVersioned, type VersionedResources } from './settings/index.ts';
import {
  type DbrestCacheConfig,
  type DbrestConfig,
  directives,
  type TokensConfig,
  type DbrestPass,
  identityOf,
  loginRoleOf,
} from './directives/index.ts';
import { DatabaseMetrics, tokenMetrics } from './metrics.ts';
import { hasPrograms, waysOut } from './postgres-programs.ts';
import { variables } from './variables.ts';
import { compileDbrest, type DbrestResources } from './location.ts';
import { mcpPath } from './request/index.ts';
import { openShare, type ShareKey } from './schema/index.ts';
import { openSession } from './session/index.ts';
import { KnownStatements } from './statement-runs.ts';
import { type StreamResources, openStreams, zonesOf } from './live/index.ts';

export type * as dbrestTools from './tools/index.ts';
export { hasPrograms } from './postgres-programs.ts';
export type { DbrestConfig } from './directives/index.ts';

/** Loads the functions behind `gw db` and `gw jwt`, which a serving process does not need. */
export const loadDbrestTools = (): Promise<typeof import('./tools/index.ts')> => import('./tools/index.ts');

/** One day. Timers of Node.js hold at most 24 days. */
const LONGEST_MS = 86_400_000;

/** The key under which the master provides the address of an embedded server to the workers. */
const providedKey = (dir: string): string => `dbrest:embedded:${dir}`;
/** The key of the state that the workers share for each database. */
const shareKey = (pass: DbrestPass): string =>
  `dbrest:share:${pass.kind === 'embedded' ? pass.dir : JSON.stringify(pass.target)}`;

/** The `dbrest` module: tables, views and functions of PostgreSQL as a REST API. */
export const dbrest = moduleFor<DbrestConfig>()<VersionedResources>({
  name: 'dbrest',
  summary: 'A REST API over PostgreSQL.',
  directives,
  variables,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  zones: (config) => [...zonesOf(config), ...keyZones(config)],
  toolsPath: (config, match) =>
    match?.kind === 'prefix' ? mcpPath({ kind: 'prefix', path: match.path }, config) : undefined,
  uses(config) {
    const name = mayCache(config) ? constantText(config.cache) : undefined;
    return name === undefined ? [] : [{ kind: 'cache', name, field: 'cache' }];
  },

  validate(config, report, { verifiesTokens }) {
    const { timeoutMs, poolTimeoutMs, poolLifetimeMs, anonRole, jwtKeys, root = [], schemas } = config;
    const limits = { timeoutMs, poolTimeoutMs };
    for (const name of ['timeoutMs', 'poolTimeoutMs'] as const) {
      if (limits[name] < 1 || limits[name] > LONGEST_MS) report.on(name, 'must be between 1ms and 1d');
    }
    const [schema] = root.length > 1 ? root : [];
    if (schema !== undefined && !schemas.includes(schema))
      report.on('root', `is in schema "${schema}", which is not one of "dbrest_schemas"`);
    if (config.pass?.kind === 'embedded' && !hasPrograms())
      report.on('pass', 'needs PostgreSQL, which is not on this machine', waysOut());
    if (poolLifetimeMs < 1_000 || poolLifetimeMs > LONGEST_MS)
      report.on('poolLifetimeMs', 'must be between 1s and 1d');
    if (verifiesTokens && jwtKeys)
      report.on('jwtKeys', 'stands beside "auth_jwt", which verifies the tokens', 'remove one of them');
    // With settings of the database, the file alone does not decide.
    if (anonRole === undefined && !jwtKeys && !config.databaseSettings && !verifiesTokens) {
      const without = 'neither "dbrest_jwt_secret" nor "dbrest_anon_role" is set';
      report.warn('pass', `runs every request as the role that it logs in with: ${without}`, {
        rule: 'dbrest-no-auth',
      });
    }
  },

  async probe(config, live) {
    const { probeDatabase } = await import('./probe/index.ts');
    return probeDatabase(config, live);
  },

  async prepare(configs, master) {
    for (const { pass } of configs) {
      if (!pass) continue;
      const key = shareKey(pass);
      master.provide(
        key,
        master.share(key, openShare, () => undefined),
      );
    }
    const dirs = new Map(
      configs.flatMap(({ pass, embeddedInit }) =>
        pass?.kind === 'embedded' ? [[pass.dir, embeddedInit] as const] : [],
      ),
    );
    if (dirs.size === 0) return;
    if (master.isUpgrade) throw new Error('an embedded database ends with its program: restart needed');
    const { runEmbeddedInit, startEmbeddedPostgres } = await import('./embedded/index.ts');
    for (const [dir, initFile] of dirs) {
      const starting = master.share(
        providedKey(dir),
        () => startEmbeddedPostgres({ dataDir: dir, log: master.log, servedBy: master.account }),
        // A start that fails, or is broken off, rejects below and leaves nothing to stop.
        async (server) => (await server.catch(() => undefined))?.stop(),
      );
      const { dsn } = await starting;
      if (initFile !== undefined) await runEmbeddedInit({ dsn, dataDir: dir, file: initFile });
      master.provide(providedKey(dir), dsn);
    }
  },

  async provision({ pass, poolSize: size, poolLifetimeMs: maxAgeMs, ...config }, worker) {
    // The driver is loaded here because the master imports every module but connects to no database.
    const pg = await loadPg();
    const target = connectionTarget(pass as DbrestPass, worker);
    const database = openDatabase(pg, { pass: pass as DbrestPass, target }, worker);
    worker.addCheck(`dbrest:${targetName(target)}`, () => database.fault());
    worker.own(database.claim({ size, maxAgeMs }), (release) => release());
    database.enter(worker.retiring);
    const authenticate = authenticating(pass as DbrestPass, worker);
    const { channels } = database;
    const streams = openStreams(
      config,
      { pass: pass as DbrestPass, name: targetName(target), channels },
      worker,
    );
    const file = { pass: pass as DbrestPass, poolSize: size, poolLifetimeMs: maxAgeMs, ...config };
    const statements = openStatements(worker);
    return {
      database,
      statementsAt: (location) => statements.at(targetName(target), location),
      authenticator: authenticate(config),
      offerTrials: (location, configNow) => {
        if (!location.nameless) worker.addTrials(trialsOf({ configNow, location, database, target }));
      },
      streams,
      versions: config.databaseSettings
        ? openVersions(file, { database, target, streams, authenticate }, worker)
        : undefined,
      ...openCaching(config, database, worker),
    };
  },

  compile(config, resources, build) {
    const { versions } = resources;
    return versions
      ? compileVersioned(config, { ...resources, versions }, build)
      : compileDbrest(config, resources, build);
  },
  explanation: {
    async provision(config, scope) {
      const explanation = await import('./explain/index.ts');
      return explanation.provision(config, scope);
    },
    explain(_config, { explain }, build) {
      return explain ? { content: explain(build) } : {};
    },
  },
  rules: () => import('./rules/index.ts'),
});

/** The database of a location; locations of one worker share it. */
function openDatabase(
  pg: Pg,
  { pass, target }: { readonly pass: DbrestPass; readonly target: ConnectionTarget },
  worker: WorkerScope,
): Database {
  const name = targetName(target);
  return worker.share(
    `dbrest:${JSON.stringify(target)}`,
    () =>
      new Database({
        name: `"${name}"`,
        identity: identityOf(pass),
        open: (events) => openSession(pg, target, events),
        listen: (hearing) => new Listener((makeReady) => connect(pg, target, makeReady), hearing),
        log: worker.log,
        share: worker.provided(shareKey(pass)) as ShareKey,
        workerId: worker.workerId,
        metrics: new DatabaseMetrics(worker.metrics, name),
      }),
    (opened) => opened.close(),
  );
}

/** The statements of this worker, which status pages show. */
function openStatements(worker: WorkerScope): KnownStatements {
  const lists = openStatementLists(worker);
  const { known } = worker.share(
    'dbrest: statements',
    () => {
      const opened = new KnownStatements();
      return { known: opened, end: lists.add(() => opened.read()) };
    },
    ({ end }) => end(),
  );
  return known;
}

type Authenticate = (config: TokensConfig) => Authenticator;

/** Opens the keys of configurations. */
function authenticating(pass: DbrestPass, worker: WorkerScope): Authenticate {
  const loginRole = loginRoleOf(pass);
  const metrics = tokenMetrics(worker.metrics);
  return ({ jwtKeys, anonRole, jwtRolePath: rolePath, jwtAudience: audience, jwtInvalid: invalid }) => {
    const documents =
      jwtKeys?.kind === 'url' ? openIssuerDocuments({ keysUrl: jwtKeys.url }, worker) : undefined;
    return openAuthenticator(jwtKeys, {
      anonRole,
      rolePath,
      audience,
      invalid,
      loginRole,
      metrics,
      documents,
    });
  };
}

/** The shared memory of keys at a URL. */
function keyZones({ jwtKeys }: TokensConfig): readonly ZoneNeed<DbrestConfig>[] {
  return jwtKeys?.kind === 'url' ? [{ zone: issuerZone({ keysUrl: jwtKeys.url }), field: 'jwtKeys' }] : [];
}

interface VersionedParts {
  readonly database: Database;
  readonly target: ConnectionTarget;
  readonly streams: StreamResources | undefined;
  readonly authenticate: Authenticate;
}

/** `dbrest_config`: follows the settings in the database, which are read from now on. */
function openVersions(
  file: DbrestConfig,
  { database, target, streams, authenticate }: VersionedParts,
  worker: WorkerScope,
): ConfigVersions {
  const told = worker.share(
    `dbrest: settings of ${JSON.stringify(target)}`,
    () => new ToldFindings(worker.log, `"${targetName(target)}"`),
    () => undefined,
  );
  const versions = new ConfigVersions({
    file,
    schema: database.schema,
    open: async (config, retiring) => ({
      config,
      authenticator: authenticate(config),
      streams: streams && { ...streams, open: new OpenStreams(retiring) },
    }),
    // All workers find the same.
    tell: (settings, findings) => worker.isFirst && told.tell(settings, findings),
    log: worker.log,
  });
  worker.own(
    database.followSettings((schema) => versions.adopt(schema)),
    (end) => end(),
  );
  worker.retiring.addEventListener('abort', () => versions.retire(), { once: true });
  // Requests get the fault, if there is one.
  Promise.resolve(versions.current()).catch(() => undefined);
  return versions;
}

/** Opens the resources of the cache of a location. */
function openCaching(
  config: DbrestCacheConfig,
  { caches }: Database,
  worker: WorkerScope,
): Pick<DbrestResources, 'caches' | 'buffers'> {
  for (const store of storesOf(config, worker.caches))
    worker.own(caches.add(store, config.cacheListen), (release) => release());
  const buffers = worker.share(
    'dbrest: cache buffers',
    () => new PieceBuffers(),
    () => undefined,
  );
  return { caches: worker.caches, buffers };
}

/** The caches that a location may use. */
function storesOf(config: DbrestCacheConfig, caches: Caches): readonly CacheStore[] {
  if (!mayCache(config)) return [];
  const name = constantText(config.cache);
  const one = name === undefined ? undefined : caches.get(name);
  return name === undefined ? [...caches.values()] : one ? [one] : [];
}

/** Trials of a location. Their code is loaded for the first one. */
function trialsOf({
  configNow,
  ...given
}: {
  readonly configNow: () => DbrestConfig | Promise<DbrestConfig>;
  readonly location: LocationFacts;
  readonly database: Database;
  readonly target: ConnectionTarget;
}): TrialApi {
  const { location } = given;
  let opened: { readonly config: DbrestConfig; readonly trials: Promise<TrialApi> } | undefined;
  const open = async (): Promise<TrialApi> => {
    const config = await Promise.resolve(configNow()).catch(refuseTrial);
    if (opened?.config !== config) {
      const trials = import('./explain/index.ts').then(({ openTrials }) => openTrials({ ...given, config }));
      opened = { config, trials };
    }
    return opened.trials;
  };
  return {
    location,
    describe: async () => (await open()).describe(),
    run: async (request, origin) => (await open()).run(request, origin),
  };
}

function refuseTrial(): never {
  throw new TrialRefusal(503, 'the database cannot be read, whose settings decide what is served');
}

function connectionTarget(pass: DbrestPass, worker: WorkerScope): ConnectionTarget {
  if (pass.kind === 'server') return pass.target;
  const read = readDsn(String(worker.provided(providedKey(pass.dir))));
  if ('fault' in read) throw new Error(`the embedded database has no usable address: ${read.fault.message}`);
  return read;
}
