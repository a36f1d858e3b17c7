import type { CheckedModule, ModuleRule, Problem } from '../../../contract/index.ts';
import { type AddressedPooler, poolerAt } from '../../../postgres/index.ts';
import { mayCache } from '../../../cache/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { type ServedDatabase, servedDatabases } from './served.ts';

const NEON = 'ep-blue-sea-a1b2c3d4-pooler.eu-central-1.aws.neon.tech';
const RDS_PROXY = 'app.proxy-c0ffee.eu-central-1.rds.amazonaws.com';

const location = (host: string, directives: string): string => `location /api/ {
  dbrest_pass postgresql://authenticator@${host}/app?sslmode=verify-full;
  dbrest_schemas api;
  dbrest_anon_role anon;
  ${directives}
}`;

/** The locations whose connection string names a pooler that may give a session to others. */
function pooled(
  config: CheckedModule<DbrestConfig>,
): readonly { readonly served: ServedDatabase; readonly pooler: AddressedPooler }[] {
  return servedDatabases(config).flatMap((served) => {
    const { pass } = served.settings;
    const pooler = pass?.kind === 'server' ? poolerAt(pass.target) : undefined;
    return pooler && !pooler.keepsSessions ? [{ served, pooler }] : [];
  });
}

/** What relies on notifications in a location, and what is lost without them. */
const LISTENING: readonly {
  readonly field: 'listen' | 'live' | 'cache';
  readonly isOn: (settings: DbrestConfig) => boolean;
  readonly loss: string;
  readonly otherwise?: string;
}[] = [
  { field: 'listen', isOn: ({ listen = [] }) => listen.length > 0, loss: 'its streams get 503 (DBREST124)' },
  { field: 'live', isOn: ({ live }) => live, loss: 'its streams get 503 (DBREST124)' },
  {
    field: 'cache',
    isOn: (settings) => mayCache(settings) && settings.cacheListen,
    loss: 'nothing is stored',
    otherwise: ', or set "dbrest_cache_listen off"',
  },
];

const poolerNotifications: ModuleRule<DbrestConfig> = {
  id: 'GW629',
  slug: 'dbrest-pooler-notifications',
  severity: 'warning',
  summary: 'what relies on notifications, by way of a pooler that passes on none',
  why: 'Such a pooler gives a session to another client after each transaction: streams of "dbrest_listen" and "dbrest_live" get 503, and a cache that hears of writes stores nothing. A port alone does not tell how a pooler works, so this is only an info.',
  fix: 'Give the location a connection string of the server itself, or of a pooler that keeps sessions. Requests for rows may stay behind the pooler, in a location of their own.',
  bad: { text: location(NEON, 'dbrest_live on;') },
  good: { text: location(NEON.replace('-pooler', ''), 'dbrest_live on;') },
  *check(config): Iterable<Problem> {
    for (const { served, pooler } of pooled(config)) {
      for (const { field, isOn, loss, otherwise = '' } of LISTENING) {
        const [at] = isOn(served.settings) ? config.nodesIn(served.block, field) : [];
        if (at) yield unheard(at.name.value, { at, pooler, loss, otherwise });
      }
    }
  },
};

interface Unheard extends Pick<Problem, 'at'> {
  readonly pooler: AddressedPooler;
  readonly loss: string;
  readonly otherwise: string;
}

function unheard(directive: string, { at, pooler, loss, otherwise }: Unheard): Problem {
  if (pooler.certainty === 'name') {
    const message = `"${directive}" relies on notifications, which ${pooler.name} does not pass on: ${loss}`;
    return { at, message, hint: `connect to the server itself${otherwise}` };
  }
  const message = `"${directive}" relies on notifications, and ${pooler.name} is usually that of a pooler: unless it keeps sessions, ${loss}`;
  const hint = `connect to the server itself, let the pooler keep sessions (pool_mode session)${otherwise}`;
  return { at, severity: 'info', message, hint };
}

const poolerStatements: ModuleRule<DbrestConfig> = {
  id: 'GW630',
  slug: 'dbrest-pooler-statements',
  severity: 'warning',
  summary: 'prepared statements by way of a pooler that does not know them',
  why: 'A session does not know what was prepared in another one, so that each such statement takes one more round trip. Amazon RDS Proxy reserves a session for each client that prepares one. A port alone does not tell whether a pooler knows them, so this is only an info.',
  fix: 'Leave "dbrest_prepared_statements" at "auto", which prepares none behind a pooler.',
  bad: { text: location(RDS_PROXY, 'dbrest_prepared_statements on;') },
  good: { text: location(RDS_PROXY, 'dbrest_prepared_statements auto;') },
  *check(config): Iterable<Problem> {
    for (const { served, pooler } of pooled(config)) {
      if (served.settings.preparedStatements !== 'on' || pooler.knowsPreparedStatements) continue;
      const at = config.nodesIn(served.block, 'preparedStatements')[0] ?? served.node;
      const directive = '"dbrest_prepared_statements on"';
      if (pooler.certainty === 'name') {
        const message = `${directive} does not suit ${pooler.name}, which does not share prepared statements`;
        yield { at, message, hint: 'use "auto"' };
      } else {
        const message = `${directive} needs a pooler that knows prepared statements, and ${pooler.name} is usually that of a pooler`;
        const hint = 'PgBouncer needs 1.21 or newer with max_prepared_statements, or pool_mode session';
        yield { at, severity: 'info', message, hint };
      }
    }
  },
};

/** Rules about poolers in front of the database. */
export const POOLER_RULES: readonly ModuleRule<DbrestConfig>[] = [poolerNotifications, poolerStatements];
