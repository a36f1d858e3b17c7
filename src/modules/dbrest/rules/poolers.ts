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

/** The features of a location that rely on notifications, and the loss without them. */
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
  summary: 'a directive that needs notifications, with a pooler that does not forward them',
  why: 'Such a pooler gives a session to another client after each transaction, so notifications are lost: streams of "dbrest_listen" and "dbrest_live" get 503, and a cache that needs notifications of writes stores nothing. If only the port suggests a pooler, the finding is an info.',
  fix: 'Connect the location to the server itself, or to a pooler that keeps sessions. Requests for rows can use the pooler in a location of their own.',
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
    const message = `"${directive}" needs notifications, which ${pooler.name} does not forward: ${loss}`;
    return { at, message, hint: `connect to the server itself${otherwise}` };
  }
  const message = `"${directive}" needs notifications, but ${pooler.name} is usually the port of a pooler: unless it keeps sessions, ${loss}`;
  const hint = `connect to the server itself, make the pooler keep sessions (pool_mode session)${otherwise}`;
  return { at, severity: 'info', message, hint };
}

const poolerStatements: ModuleRule<DbrestConfig> = {
  id: 'GW630',
  slug: 'dbrest-pooler-statements',
  severity: 'warning',
  summary: 'prepared statements with a pooler that does not support them',
  why: 'A statement that was prepared in one session is unknown in others, so it often takes another round trip. Amazon RDS Proxy reserves a session for each client that prepares statements. If only the port suggests a pooler, the finding is an info.',
  fix: 'Leave "dbrest_prepared_statements" at "auto", which prepares no statements behind a pooler.',
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
        const message = `${directive} needs a pooler that supports prepared statements, and ${pooler.name} is usually the port of a pooler`;
        const hint = 'PgBouncer needs 1.21 or newer with max_prepared_statements, or pool_mode session';
        yield { at, severity: 'info', message, hint };
      }
    }
  },
};

/** Rules about poolers in front of the database. */
export const POOLER_RULES: readonly ModuleRule<DbrestConfig>[] = [poolerNotifications, poolerStatements];
