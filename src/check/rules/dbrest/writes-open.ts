import type { LocationMatch } from '../../../contract/index.ts';
import { isOpen } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import type { ServedDatabase } from './settings.ts';
import { servedDatabases } from './settings.ts';

const WRITES = ['POST', 'PATCH', 'PUT', 'DELETE'];

export const dbrestWritesOpen: Rule = {
  id: 'GW610',
  slug: 'dbrest-writes-open',
  severity: 'warning',
  summary: 'tables that strangers may try to write to',
  why: 'Nothing but the privileges of the anonymous role stands between everybody and the rows: one grant too many, and they are gone.',
  fix: 'Say who may write: limit_except GET { allow …; deny all; }, or leave out dbrest_anon_role where tokens are needed anyway.',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_max_rows 100; }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 100;
    limit_except GET { allow 10.0.0.0/8; deny all; }
  }
}`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const served of servedDatabases(config)) {
      const { node, block, settings } = served;
      if (settings.anonRole === undefined || servesFunctions(served)) continue;
      const method = WRITES.find((name) => isOpen(config, block, name));
      if (method === undefined) continue;
      yield {
        at: node,
        message: `${method} of everybody reaches the database as the anonymous role`,
        hint: 'say who may write: limit_except GET { deny all; }',
      };
    }
  },
};

/** Functions are called by POST: whoever serves them alone means them to be called. */
function servesFunctions({ block, settings: { rpc } }: ServedDatabase): boolean {
  const match = block.args as LocationMatch | undefined;
  return rpc === 'on' || (rpc === 'auto' && match?.kind === 'prefix' && match.path.endsWith('/rpc/'));
}
