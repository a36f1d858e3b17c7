import type { CoreConfig } from '../../../contract/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import type { ServedDatabase } from './settings.ts';
import { servedDatabases } from './settings.ts';

/** `max_connections` of PostgreSQL as installed, less `superuser_reserved_connections`. */
const USUAL_CONNECTIONS = 97;

export const dbrestPool: Rule = {
  id: 'GW612',
  slug: 'dbrest-pool',
  severity: 'warning',
  summary: 'more connections than a database takes as installed',
  why: 'Each worker has its own pool: under load the database refuses the connections that are too many, for everybody who uses it.',
  fix: 'Set dbrest_pool_size so that workers × pool stays below max_connections, or raise that.',
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
  *check(config: CheckedConfig): Iterable<Problem> {
    const { workerProcesses } = config.main.config('core') as unknown as CoreConfig;
    // How many "auto" are is known on the machine that it runs on.
    if (workerProcesses === 'auto') return;
    for (const [{ node, block }, size] of pools(config)) {
      const connections = workerProcesses * size;
      if (connections <= USUAL_CONNECTIONS) continue;
      yield {
        at: block.from('dbrest').get('poolSize')?.nodes[0] ?? node,
        message: `workers × pool (${workerProcesses} × ${size} = ${connections}) is more than a PostgreSQL takes as installed (${USUAL_CONNECTIONS})`,
        hint: `set "dbrest_pool_size" to ${Math.max(1, Math.floor(USUAL_CONNECTIONS / workerProcesses))} or less, or raise max_connections`,
      };
    }
  },
};

/** The largest pool of each server: all its locations share one. */
function pools(config: CheckedConfig): ReadonlyMap<ServedDatabase, number> {
  const largest = new Map<string, ServedDatabase>();
  for (const served of servedDatabases(config)) {
    const { pass, poolSize } = served.settings;
    if (pass?.kind !== 'server') continue;
    const key = JSON.stringify(pass.target);
    if (poolSize > (largest.get(key)?.settings.poolSize ?? 0)) largest.set(key, served);
  }
  return new Map([...largest.values()].map((served) => [served, served.settings.poolSize]));
}
