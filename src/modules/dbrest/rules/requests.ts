import type { CheckedModule, ModuleRule, Problem } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { servedDatabases } from './served.ts';

/** What is said of a directive that holds in no location with a database. */
export function* idle(
  config: CheckedModule<DbrestConfig>,
  directive: string,
  field: keyof DbrestConfig,
): Iterable<Problem> {
  const holding = new Set(servedDatabases(config).flatMap(({ block }) => config.nodesIn(block, field)));
  for (const { node } of config.uses(directive)) {
    if (holding.has(node)) continue;
    yield {
      at: node,
      message: `"${directive}" has no effect: it holds in no location with "dbrest_pass"`,
    };
  }
}

const dbrestMaxCostIdle: ModuleRule<DbrestConfig> = {
  id: 'GW622',
  slug: 'dbrest-max-cost-idle',
  severity: 'warning',
  summary: 'a maximum cost that no request is compared with',
  why: 'Only locations with "dbrest_pass" estimate what requests cost. Where none of them is inside the block, or each has a limit of its own, the directive guards nothing.',
  fix: 'Move it into the location that serves the database, or remove it.',
  bad: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }
location /files/ { dbrest_max_cost 10000; }`,
  },
  good: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_max_cost 10000; }
location /files/ { }`,
  },
  check: (config) => idle(config, 'dbrest_max_cost', 'maxCost'),
};

const dbrestRowVersionIdle: ModuleRule<DbrestConfig> = {
  id: 'GW623',
  slug: 'dbrest-row-version-idle',
  severity: 'warning',
  summary: 'versions of rows where no rows are served',
  why: 'Only locations with "dbrest_pass" compare versions of rows. Where none of them is inside the block, or each has a column of its own, the directive protects nothing.',
  fix: 'Move it into the location that serves the database, or remove it.',
  bad: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }
location /files/ { dbrest_row_version xmin; }`,
  },
  good: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_row_version xmin; }
location /files/ { }`,
  },
  check: (config) => idle(config, 'dbrest_row_version', 'rowVersion'),
};

/** Rules about what requests may do. */
export const REQUEST_RULES: readonly ModuleRule<DbrestConfig>[] = [dbrestMaxCostIdle, dbrestRowVersionIdle];
