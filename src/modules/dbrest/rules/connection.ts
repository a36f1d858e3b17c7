import { groupBy, isLocal } from '../../../config/index.ts';
import { type CheckedModule, configOf, type ModuleRule, type Problem } from '../../../contract/index.ts';
import { type ServedDatabase, servedDatabases } from './served.ts';
import type { DbrestConfig } from '../directives/index.ts';

const dbrestPlainRemote: ModuleRule<DbrestConfig> = {
  id: 'GW609',
  slug: 'dbrest-plain-remote',
  severity: 'warning',
  summary: 'a database on another machine whose certificate is not verified',
  why: 'Without "verify-full", any certificate is accepted, so anyone on the network path can read the traffic, including the password.',
  fix: 'Add "sslmode=verify-full", and "sslrootcert" with the authority of the certificate.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@db.example.com/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@db.example.com/app?sslmode=verify-full; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, settings } of servedDatabases(config)) {
      if (settings.pass?.kind !== 'server') continue;
      const { hosts, sslMode } = settings.pass.target;
      const isHere = hosts.every(({ host, address = host }) => address.startsWith('/') || isLocal(address));
      if (isHere || sslMode === 'verify-full') continue;
      yield {
        at: node,
        message: `"dbrest_pass" reaches another machine with "sslmode=${sslMode}": the server is not authenticated`,
        hint: 'add sslmode=verify-full',
      };
    }
  },
};

/** The default of `max_connections` less `superuser_reserved_connections`. */
const USUAL_CONNECTIONS = 97;

const dbrestPool: ModuleRule<DbrestConfig> = {
  id: 'GW612',
  slug: 'dbrest-pool',
  severity: 'warning',
  summary: 'more connections than the default limit of PostgreSQL',
  why: 'Each worker has its own pool. Under load, the database refuses further connections, also those of other clients.',
  fix: 'Set "dbrest_pool_size" so that workers × pool stays below "max_connections", or raise that limit.',
  bad: {
    in: 'main',
    text: `worker_processes 16;
http { server { listen 127.0.0.1:8080;
  location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }
} }`,
  },
  good: {
    in: 'main',
    text: `worker_processes 16;
http { dbrest_pool_size 4; server { listen 127.0.0.1:8080;
  location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }
} }`,
  },
  *check(config): Iterable<Problem> {
    const { workerProcesses } = configOf(config.main.level, 'core');
    // The number of workers for "auto" depends on the machine.
    if (workerProcesses === 'auto') return;
    for (const [{ node, block }, size] of pools(config)) {
      const connections = workerProcesses * size;
      if (connections <= USUAL_CONNECTIONS) continue;
      yield {
        at: config.nodesIn(block, 'poolSize')[0] ?? node,
        message: `workers × pool (${workerProcesses} × ${size} = ${connections}) exceeds the default limit of PostgreSQL (${USUAL_CONNECTIONS})`,
        hint: `set "dbrest_pool_size" to ${Math.max(1, Math.floor(USUAL_CONNECTIONS / workerProcesses))} or less, or raise max_connections`,
      };
    }
  },
};

/** The largest pool of each server; its locations share one pool. */
function pools(config: CheckedModule<DbrestConfig>): ReadonlyMap<ServedDatabase, number> {
  const servers = sharedPools(config).filter(([{ settings }]) => settings.pass?.kind === 'server');
  return new Map(servers.map(([served]) => [served, served.settings.poolSize]));
}

/** The locations of each database, those with the largest pool first: it counts for all of them. */
function sharedPools(
  config: CheckedModule<DbrestConfig>,
): readonly (readonly [ServedDatabase, ...ServedDatabase[]])[] {
  const databases = groupBy(servedDatabases(config), ({ settings }) => JSON.stringify(settings.pass));
  return [...databases.values()].map(
    (locations) =>
      locations.toSorted((a, b) => b.settings.poolSize - a.settings.poolSize) as [
        ServedDatabase,
        ...ServedDatabase[],
      ],
  );
}

const dbrestPoolOverridden: ModuleRule<DbrestConfig> = {
  id: 'GW619',
  slug: 'dbrest-pool-overridden',
  severity: 'warning',
  summary: 'a pool size that has no effect because of a larger one',
  why: 'Locations with the same database share one pool of the largest size.',
  fix: 'Set "dbrest_pool_size" for all locations of a database, preferably one level up. A location that must not use all connections needs a login of its own or "limit_conn".',
  bad: {
    text: `location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; dbrest_pool_size 8; }
location /reports/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas reports; dbrest_anon_role anon; dbrest_pool_size 2; }`,
  },
  good: {
    text: `dbrest_pool_size 8;
location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }
location /reports/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas reports; dbrest_anon_role anon; }`,
  },
  *check(config): Iterable<Problem> {
    for (const [largest, ...others] of sharedPools(config)) {
      const most = largest.settings.poolSize;
      for (const { node, block, settings } of others) {
        if (settings.poolSize === most) continue;
        const own = config.uses('dbrest_pool_size').find((use) => use.block === block)?.node;
        yield {
          // An inherited number may count for another database.
          at: own ?? node,
          message: `"dbrest_pool_size ${settings.poolSize}" has no effect: another location gives this database a pool of ${most}`,
          related: [{ span: largest.node.name.span, label: `has ${most} connections` }],
        };
      }
    }
  },
};

const LONGEST_TIMEOUT_MS = 5 * 60_000;

const dbrestNoTimeout: ModuleRule<DbrestConfig> = {
  id: 'GW613',
  slug: 'dbrest-no-timeout',
  severity: 'info',
  summary: 'a statement timeout so long that it has no effect',
  why: 'A request keeps its connection and its locks for that long: a few slow requests can use up the pool and block all others.',
  fix: 'Set "dbrest_timeout" to the time that clients wait. Give long jobs a location of their own.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_timeout 1h; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_timeout 15s; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('dbrest_timeout')) {
      if (config.configIn(block).timeoutMs <= LONGEST_TIMEOUT_MS) continue;
      yield {
        at: node,
        message: `"dbrest_timeout ${node.args[0]?.value}" lets one request hold a connection for that long`,
      };
    }
  },
};

const dbrestDsn: ModuleRule<DbrestConfig> = {
  id: 'GW616',
  slug: 'dbrest-dsn',
  severity: 'error',
  summary: 'a connection string that cannot be read',
  why: 'The configuration does not load.',
  fix: 'Write keywords as for libpq ("host=… dbname=…"), or a URI ("postgresql://user@host/dbname").',
  bad: {
    text: 'location /api/ { dbrest_pass "host=localhost prot=5432"; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass "host=localhost port=5432"; dbrest_schemas api; dbrest_anon_role anon; }',
  },
};

const dbrestServerOld: ModuleRule<DbrestConfig> = {
  id: 'GW654',
  slug: 'dbrest-server-old',
  severity: 'error',
  live: true,
  summary: 'a PostgreSQL that is too old',
  why: 'It does not support the statements that gw sends.',
  fix: 'Use PostgreSQL 12 or later.',
  bad: {
    text: `# select version(): PostgreSQL 11
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# select version(): PostgreSQL 16
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

const dbrestEmbedUnindexed: ModuleRule<DbrestConfig> = {
  id: 'GW655',
  slug: 'dbrest-embed-unindexed',
  severity: 'info',
  live: true,
  summary: 'a foreign key that no index supports',
  why: 'A request that embeds rows by this key reads the whole table once for each row.',
  fix: 'Create an index on the columns of the foreign key.',
  bad: {
    text: `# orders.client_id references clients, without an index
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# create index on api.orders (client_id)
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

const databaseUnreachable: ModuleRule<DbrestConfig> = {
  id: 'GW656',
  slug: 'database-unreachable',
  severity: 'error',
  live: true,
  summary: 'a database that cannot be reached',
  why: 'The gateway starts, but the location responds with 503 until the database is available.',
  fix: 'Check that the database runs, that address and login are right, and that pg_hba.conf allows the gateway.',
  bad: {
    text: `# nothing listens there
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# PostgreSQL listens there
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

const dbrestEmbeddedUnasked: ModuleRule<DbrestConfig> = {
  id: 'GW661',
  slug: 'dbrest-embedded-unasked',
  severity: 'info',
  live: true,
  summary: 'an embedded database that does not exist yet, and so was not checked',
  why: 'Faults that only the database shows, such as missing schemas or tables without row security, were not looked for.',
  fix: 'Start the gateway once, which creates the database, and check again.',
  bad: {
    text: `# the gateway has not been started yet
location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# the gateway has been started
location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

/** Rules about connections to the database. */
export const CONNECTION_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestPlainRemote,
  dbrestPool,
  dbrestPoolOverridden,
  dbrestNoTimeout,
  dbrestDsn,
  dbrestServerOld,
  dbrestEmbedUnindexed,
  databaseUnreachable,
  dbrestEmbeddedUnasked,
];
