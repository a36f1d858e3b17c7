import type { DirectiveNode } from '../../../../grammar/index.ts';
import { type BlockView, serverOf } from '../../../config/index.ts';
import {
  ASKING_WHO,
  type CheckedModule,
  matchOf,
  type ModuleRule,
  type Problem,
} from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { batchPath, mcpPath } from '../request/index.ts';
import { idle } from './requests.ts';
import { servedDatabases, type ServedDatabase, servesFunctions } from './served.ts';

/** A service of a location besides requests for rows, functions and its description. */
interface Service {
  readonly directive: string;
  readonly field: 'batch' | 'mcp' | 'live' | 'listen';
  readonly isOn: (settings: DbrestConfig) => boolean;
  /** Returns why no request can reach the service of a location; absent if every location can have it. */
  readonly obstacle?: (served: ServedDatabase) => string | undefined;
}

const SERVICES: readonly Service[] = [
  { directive: 'dbrest_batch', field: 'batch', isOn: ({ batch }) => batch, obstacle: noPathBelow },
  { directive: 'dbrest_mcp', field: 'mcp', isOn: ({ mcp }) => mcp !== 'off', obstacle: noPathBelow },
  { directive: 'dbrest_live', field: 'live', isOn: ({ live }) => live, obstacle: noTables },
  { directive: 'dbrest_listen', field: 'listen', isOn: ({ listen = [] }) => listen.length > 0 },
];

/** Nothing is reported inside an `if`, because the kind of the location around it is not looked up. */
function noPathBelow({ block }: ServedDatabase): string | undefined {
  const match = matchOf(block);
  return !match || match.kind === 'prefix' ? undefined : 'only prefix locations have paths below them';
}

function noTables(served: ServedDatabase): string | undefined {
  return servesFunctions(served) ? 'the location only serves functions' : undefined;
}

const dbrestServiceIdle: ModuleRule<DbrestConfig> = {
  id: 'GW624',
  slug: 'dbrest-service-idle',
  severity: 'warning',
  summary: 'batches, tools or streams where no database is served',
  why: 'Only locations with "dbrest_pass" have them. The directive has no effect if the block contains none, or if each has a value of its own.',
  fix: 'Move it into the location that serves the database, or remove it.',
  bad: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }
location /files/ { dbrest_live on; }`,
  },
  good: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_live on; }
location /files/ { }`,
  },
  *check(config): Iterable<Problem> {
    for (const { directive, field } of SERVICES) yield* idle(config, directive, field);
  },
};

const dbrestServiceUnreachable: ModuleRule<DbrestConfig> = {
  id: 'GW625',
  slug: 'dbrest-service-unreachable',
  severity: 'warning',
  summary: 'batches, tools or streams that no request can reach',
  why: 'Batches and tools have paths below the location, which only prefix locations have. Rows can be followed only where tables are served, not where all paths call functions.',
  fix: 'Move it into the prefix location that serves the tables.',
  bad: {
    text: 'location = /todos { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_batch on; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_batch on; }',
  },
  *check(config): Iterable<Problem> {
    for (const service of SERVICES) yield* unreachable(config, service);
  },
};

function* unreachable(
  config: CheckedModule<DbrestConfig>,
  { directive, field, isOn, obstacle }: Service,
): Iterable<Problem> {
  if (!obstacle) return;
  const obstacles = new Map<DirectiveNode, (string | undefined)[]>();
  for (const served of servedDatabases(config)) {
    if (!isOn(served.settings)) continue;
    for (const node of config.nodesIn(served.block, field))
      obstacles.set(node, [...(obstacles.get(node) ?? []), obstacle(served)]);
  }
  for (const [at, [first, ...others]] of obstacles) {
    if (first === undefined || others.includes(undefined)) continue;
    yield { at, message: `"${directive}" has no effect: ${first}` };
  }
}

const dbrestListenOpen: ModuleRule<DbrestConfig> = {
  id: 'GW627',
  slug: 'dbrest-listen-open',
  severity: 'warning',
  summary: 'notifications that anyone can follow',
  why: 'Roles and policies do not apply to notifications: any client that can call the location gets their whole payload, whatever a trigger puts into it.',
  fix: 'Remove "dbrest_anon_role" from this location, so that a token is required, or restrict access: "allow …; deny all;".',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location = /news {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 100;
    dbrest_listen orders;
    limit_except GET { deny all; }
  }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 443;
  location = /news {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 100;
    dbrest_listen orders;
    allow 10.0.0.0/8;
    deny all;
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      const { listen = [], anonRole, jwtKeys } = settings;
      const needsToken = anonRole === undefined && jwtKeys !== undefined;
      if (listen.length === 0 || needsToken || !config.isOpen(block)) continue;
      yield {
        at: config.nodesIn(block, 'listen')[0] ?? node,
        message: `anyone can follow all notifications of ${listen.map((name) => `"${name}"`).join(', ')}`,
        hint: 'remove "dbrest_anon_role" here, or restrict access to the location',
      };
    }
  },
};

/** The services that split a request of a client, with their paths. */
const SPLITTING = [
  { field: 'mcp', part: 'call of a tool', pathOf: mcpPath },
  { field: 'batch', part: 'item of a batch', pathOf: batchPath },
] as const;

const dbrestServiceRules: ModuleRule<DbrestConfig> = {
  id: 'GW631',
  slug: 'dbrest-service-rules',
  severity: 'info',
  summary: 'rules on methods and paths that also apply to tools and batches',
  why: 'A call of a tool or an item of a batch is served only if a request with its method and path would be; otherwise it gets 403 (DBREST114). A rule on a path does not prevent reading its table through a related one.',
  fix: 'Make sure that the rules are meant for tools and batches, too; protect tables with grants and row security.',
  bad: {
    text: `location /api/ {
  dbrest_pass embedded;
  dbrest_schemas api;
  dbrest_anon_role anon;
  dbrest_mcp on;
}
location /api/salaries { deny all; }`,
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_mcp on; }',
  },
  *check(config): Iterable<Problem> {
    for (const { block, settings } of servedDatabases(config)) {
      const match = matchOf(block);
      if (match?.kind !== 'prefix') continue;
      for (const { field, part, pathOf } of SPLITTING) {
        const path = pathOf(match, settings);
        const [at] = config.nodesIn(block, field);
        const guards = path === undefined ? [] : guardsBeside(block, path);
        if (!at || guards.length === 0) continue;
        const names = guards.map(({ name }) => name).join(', ');
        yield {
          at,
          message: `each ${part} is also subject to ${names}`,
          hint: 'what is refused gets 403 (DBREST114); only grants and row security protect a table on every path',
          related: guards.map(({ node }) => ({ span: node.name.span, label: 'refuses' })),
        };
      }
    }
  },
};

interface Guard {
  readonly name: string;
  /** The directive that refuses. */
  readonly node: DirectiveNode;
}

/** A condition that may differ for the request that a service makes: a method, a path or a query. */
const OWN_CONDITION =
  /\$\{?(?:request_method|(?:document_|request_)?uri|args|arg_\w+|query_string|is_args)\b/;

/**
 * The `limit_except` of a location, the locations below its path, and the `if` of these and of the server that refuse
 * requests, without the service's.
 */
function guardsBeside(block: BlockView, servicePath: string): readonly Guard[] {
  const prefix = pathOf(block);
  const server = serverOf(block);
  if (prefix === undefined || !server) return [];
  const limits = block.inner.filter(({ context }) => context === 'limit_except');
  const locations = locationsIn(server).filter((other) => {
    const path = other === block ? undefined : pathOf(other);
    return path?.startsWith(prefix) === true && path !== servicePath;
  });
  const ifs = [server, block, ...locations].flatMap(({ inner }) => inner.filter(isOwnCondition));
  return [
    ...[...limits, ...locations].flatMap((guarding) =>
      guardIn(guarding, guarding.own('deny', ...ASKING_WHO, 'internal').filter(isOn)),
    ),
    ...ifs.flatMap((guarding) => guardIn(guarding, guarding.own('return').filter(refuses))),
  ];
}

function guardIn(guarding: BlockView, [node]: readonly DirectiveNode[]): readonly Guard[] {
  return node ? [{ name: nameOf(guarding), node }] : [];
}

function isOwnCondition({ context, node }: BlockView): boolean {
  if (context !== 'location if' && context !== 'server if') return false;
  return node?.args.some(({ value }) => OWN_CONDITION.test(value)) === true;
}

/** Tells whether a `return` refuses: 444 closes the connection. */
function refuses({ args }: DirectiveNode): boolean {
  return /^[45]\d\d$/.test(args[0]?.value ?? '');
}

/** The path that every path of a location begins with; `undefined` for locations that have none. */
function pathOf(block: BlockView): string | undefined {
  const match = matchOf(block);
  return match?.kind === 'prefix' || match?.kind === 'exact' ? match.path : undefined;
}

function locationsIn(block: BlockView): readonly BlockView[] {
  const locations = block.inner.filter(({ context }) => context === 'location');
  return locations.flatMap((inner) => [inner, ...locationsIn(inner)]);
}

function isOn({ args }: DirectiveNode): boolean {
  return args[0]?.value !== 'off';
}

function nameOf({ node }: BlockView): string {
  return `"${[node?.name, ...(node?.args ?? [])].map((word) => word?.value).join(' ')}"`;
}

/** Rules about batches, tools and streams. */
export const SERVICE_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestServiceIdle,
  dbrestServiceUnreachable,
  dbrestListenOpen,
  dbrestServiceRules,
];
