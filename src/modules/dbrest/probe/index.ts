import type { LiveProblem, LiveScope } from '../../../contract/index.ts';
import {
  addressOf,
  type ConnectionTarget,
  type Host,
  loadPg,
  publicMessage,
} from '../../../postgres/index.ts';
import { unreachableReason } from '../../../system/index.ts';
import type { DbrestConfig, DbrestPass } from '../directives/index.ts';
import { SECURITY_SQL, type SecurityFacts, securityProblems } from './security.ts';
import { mayBecomeSql } from '../schema/index.ts';
import { openSession, type RunStep } from '../session/index.ts';
import { arrayLiteral } from '../sql/index.ts';
import { NotThereError, type StartedServer, startThere } from '../tools/index.ts';

/** The facts that a probe finds out about a database. */
interface DatabaseFacts {
  /** `server_version_num`, for example 150004. */
  readonly version: number;
  readonly login: RoleFacts;
  /** Absent if the role does not exist or none is configured. */
  readonly anon?: RoleFacts & { readonly granted: boolean };
  readonly schemas: readonly string[];
  /** Names in `dbrest_max_rows` that nothing in the schemas has. */
  readonly unknown: readonly string[];
  /** Tables without row-level security on which the anonymous role has privileges. */
  readonly open: readonly { readonly name: string; readonly writes: boolean }[];
  /** Foreign keys without an index: `api.orders (client_id)`. */
  readonly unindexed: readonly string[];
  /** Absent if the server is too old. */
  readonly security?: SecurityFacts;
}

/** Attributes of a role that override privileges or row-level security. */
interface RoleFacts {
  readonly superuser: boolean;
  readonly bypassesRowSecurity: boolean;
}

/** Returns one JSON text; PostgreSQL 10 or later. $1: anonymous role or null, $2: schemas, $3: tables and functions. */
const FACTS_SQL = `
with anon as (
  select r.oid, r.rolsuper, r.rolbypassrls from pg_catalog.pg_roles r where r.rolname = $1::text
), served as (
  select n.oid, n.nspname from pg_catalog.pg_namespace n where n.nspname = any($2::text[])
), tables as (
  select c.oid, c.relrowsecurity, s.oid as schema, format('%I.%I', s.nspname, c.relname) as name
  from served s
  join pg_catalog.pg_class c on c.relnamespace = s.oid and c.relkind in ('r', 'p') and not c.relispartition
  where not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
  )
), rights as (
  select t.name,
    has_table_privilege(a.oid, t.oid, 'select') or has_any_column_privilege(a.oid, t.oid, 'select') as reads,
    has_table_privilege(a.oid, t.oid, 'insert, update, delete')
      or has_any_column_privilege(a.oid, t.oid, 'insert, update') as writes
  from tables t cross join anon a
  where not t.relrowsecurity and has_schema_privilege(a.oid, t.schema, 'usage')
), foreign_keys as (
  -- Nothing can be embedded along a key to a table that the schemas do not show, by itself or in a view.
  select t.name, k.conrelid, k.conkey, (
    select string_agg(quote_ident(a.attname), ', ' order by p.position)
    from unnest(k.conkey) with ordinality p (number, position)
    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.number
  ) as columns
  from tables t
  join pg_catalog.pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
  where exists (select from served s join pg_catalog.pg_class c on c.relnamespace = s.oid where c.oid = k.confrelid)
    or exists (
      select from served s
      join pg_catalog.pg_class v on v.relnamespace = s.oid and v.relkind in ('v', 'm')
      join pg_catalog.pg_rewrite r on r.ev_class = v.oid
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = k.confrelid
    )
)
select json_build_object(
  'version', current_setting('server_version_num')::int,
  'login', (
    select json_build_object('superuser', r.rolsuper, 'bypassesRowSecurity', r.rolbypassrls)
    from pg_catalog.pg_roles r where r.rolname = session_user
  ),
  'anon', (
    select json_build_object(
      'superuser', a.rolsuper, 'bypassesRowSecurity', a.rolbypassrls,
      'granted', ${mayBecomeSql('a.oid')}
    ) from anon a
  ),
  'schemas', coalesce((select json_agg(s.nspname) from served s), '[]'),
  'unknown', coalesce((
    select json_agg(u.name) from unnest($3::text[]) u (name)
    where not exists (select from served s join pg_catalog.pg_class c on c.relnamespace = s.oid where c.relname = u.name)
      and not exists (select from served s join pg_catalog.pg_proc p on p.pronamespace = s.oid where p.proname = u.name)
  ), '[]'),
  'open', coalesce((
    select json_agg(json_build_object('name', r.name, 'writes', r.writes) order by r.name)
    from rights r where r.reads or r.writes
  ), '[]'),
  'unindexed', coalesce((
    select json_agg(format('%s (%s)', f.name, f.columns) order by f.name, f.columns)
    from foreign_keys f
    where not exists (
      select from pg_catalog.pg_index i
      where i.indrelid = f.conrelid and i.indisvalid and i.indpred is null
        and (i.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey
    )
  ), '[]')
)::text as facts`;

/** A database, with the role and the schemas that a location has there. */
interface ProbedDatabase {
  readonly target: ConnectionTarget;
  readonly anonRole: string | undefined;
  readonly schemas: readonly string[];
  /** Names of tables and functions that it should have. */
  readonly names: readonly string[];
}

const LEAST_VERSION = 120_000;

/** Queries a database over a connection of its own. On failure returns a printable reason; never rejects. */
async function queryDatabase(
  query: ProbedDatabase,
  timeoutMs: number,
): Promise<DatabaseFacts | { readonly reason: string }> {
  try {
    return await runQuery(query, timeoutMs);
  } catch (error) {
    return { reason: unreachableReason(error as Error) ?? publicMessage(error as Error, query.target) };
  }
}

/** The row as JSON, with null for an absent role. */
type FactsRow = Omit<DatabaseFacts, 'anon'> & { readonly anon: DatabaseFacts['anon'] | null };

async function runQuery(
  { target, anonRole, schemas, names }: ProbedDatabase,
  timeoutMs: number,
): Promise<DatabaseFacts> {
  const pg = await loadPg();
  const limited = { ...target, connectTimeoutMs: Math.min(target.connectTimeoutMs, timeoutMs) };
  const session = await openSession(pg, limited, { ended: () => undefined });
  // For the transaction only: a pooler gives the session to others.
  const settings = `select from (select pg_catalog.set_config('transaction_read_only', 'on', true),
    pg_catalog.set_config('statement_timeout', $1, true)) s`;
  try {
    const steps: RunStep[] = [
      { statement: { text: settings, values: [String(timeoutMs)] }, silent: true },
      {
        statement: {
          text: FACTS_SQL,
          values: [anonRole ?? null, arrayLiteral(schemas), arrayLiteral(names)],
        },
      },
    ];
    const [, row] = await session.run(steps, timeoutMs);
    const { anon, ...facts } = JSON.parse(row?.[0] ?? '{}') as FactsRow;
    const found = { ...facts, ...(anon && { anon }) };
    if (found.version < LEAST_VERSION) return found;
    const secured = { text: SECURITY_SQL, values: [anonRole ?? null, arrayLiteral(schemas)] };
    const [, security] = await session.run([...steps.slice(0, 1), { statement: secured }], timeoutMs);
    return { ...found, security: JSON.parse(security?.[0] ?? '{}') as SecurityFacts };
  } finally {
    await session.end();
  }
}

type Problem = LiveProblem<DbrestConfig>;

/** Most names in one message. */
const SHOWN = 3;

/** Thrown if a database cannot be asked, with the problem to report. */
class UnaskedError extends Error {
  readonly problem: Problem;

  constructor(problem: Omit<Problem, 'field'>) {
    super(problem.message);
    this.problem = { ...problem, field: 'pass' };
  }
}

function unreachable(reason: string, hosts: readonly Host[] = []): UnaskedError {
  const where = hosts.length === 0 ? '' : ` at ${hosts.map(hostText).join(', ')}`;
  const message = `the database${where} cannot be reached: ${reason}`;
  return new UnaskedError({ rule: 'database-unreachable', message });
}

function hostText(host: Host): string {
  const address = addressOf(host);
  return `${address.includes(':') ? `[${address}]` : address}:${host.port}`;
}

/** Returns how to reach the database. An embedded server is started for all locations if it is not running. */
async function targetOf(pass: DbrestPass, live: LiveScope): Promise<ConnectionTarget> {
  if (pass.kind === 'server') return pass.target;
  const { dir } = pass;
  const ask = (): Promise<StartedServer> => startThere(dir);
  try {
    return (await live.once(`dbrest embedded ${dir}`, ask, ({ stop }) => stop())).target;
  } catch (error) {
    if (!(error instanceof NotThereError)) throw unreachable((error as Error).message);
    const message = `the embedded database "${dir}" does not exist yet and was not checked`;
    const hint = 'starting the gateway creates it';
    throw new UnaskedError({ rule: 'dbrest-embedded-unasked', message, hint });
  }
}

/** Checks a location against its database. */
export async function probeDatabase(config: DbrestConfig, live: LiveScope): Promise<readonly Problem[]> {
  const { pass } = config;
  if (!pass) return [];
  try {
    return await probeTarget(config, await targetOf(pass, live), live);
  } catch (error) {
    if (error instanceof UnaskedError) return [error.problem];
    throw error;
  }
}

async function probeTarget(
  { pass, anonRole, schemas, maxRows }: DbrestConfig,
  target: ConnectionTarget,
  live: LiveScope,
): Promise<readonly Problem[]> {
  const names = maxRows?.named.map(([name]) => name) ?? [];
  const query = { target, anonRole, schemas, names };
  const found = await live.once(`dbrest ${JSON.stringify(query)}`, () =>
    queryDatabase(query, live.timeoutMs),
  );
  if ('reason' in found) throw unreachable(found.reason, pass?.kind === 'server' ? target.hosts : []);
  return [
    ...versionProblems(found),
    // gw logs in to the embedded database as its owner.
    ...(pass?.kind === 'server' ? loginProblems(found) : []),
    ...anonProblems(found, anonRole),
    ...schemaProblems(found, schemas),
    ...limitProblems(found),
    ...tableProblems(found),
    ...indexProblems(found),
    ...(found.security ? securityProblems(found.security, found.version) : []),
  ];
}

function* versionProblems({ version }: DatabaseFacts): Generator<Problem> {
  if (version >= LEAST_VERSION) return;
  const [major, least] = [version, LEAST_VERSION].map((number) => Math.floor(number / 10_000));
  const message = `the database is PostgreSQL ${major}, at least ${least} is needed`;
  yield { rule: 'dbrest-server-old', field: 'pass', message };
}

function* loginProblems({ login }: DatabaseFacts): Generator<Problem> {
  const what = unboundBy(login);
  if (what === undefined) return;
  yield {
    rule: 'dbrest-role-superuser',
    field: 'pass',
    message: `the role that "dbrest_pass" logs in with ${what}`,
    hint: 'log in as a role "authenticator noinherit" that was granted the roles of requests',
  };
}

function* anonProblems({ anon }: DatabaseFacts, role: string | undefined): Generator<Problem> {
  if (role === undefined) return;
  const field = 'anonRole';
  if (!anon) {
    const message = `the database has no role "${role}"`;
    yield { rule: 'dbrest-anon-missing', field, message, hint: `create role "${role}" nologin` };
    return;
  }
  const what = unboundBy(anon);
  if (what !== undefined)
    yield { rule: 'dbrest-role-superuser', field, message: `the anonymous role ${what}` };
  if (anon.granted) return;
  yield {
    rule: 'dbrest-anon-missing',
    field,
    message: `the role that "dbrest_pass" logs in with was not granted "${role}"`,
    hint: `grant "${role}" to it`,
  };
}

function unboundBy({ superuser, bypassesRowSecurity }: DatabaseFacts['login']): string | undefined {
  if (superuser) return 'is a superuser: neither privileges nor row security apply to it';
  return bypassesRowSecurity ? 'bypasses row security' : undefined;
}

function* schemaProblems({ schemas: found }: DatabaseFacts, schemas: readonly string[]): Generator<Problem> {
  for (const schema of schemas.filter((name) => !found.includes(name))) {
    const message = `the database has no schema "${schema}"`;
    yield { rule: 'dbrest-schema-missing', field: 'schemas', message };
  }
}

function* limitProblems({ unknown }: DatabaseFacts): Generator<Problem> {
  for (const name of unknown) {
    const message = `"dbrest_max_rows" has a limit for "${name}", which is not a table, view or function of the schemas`;
    yield { rule: 'dbrest-limit-unknown', field: 'maxRows', message };
  }
}

function* tableProblems({ open }: DatabaseFacts): Generator<Problem> {
  for (const writes of [true, false]) {
    const names = open.filter((table) => table.writes === writes).map(({ name }) => name);
    if (names.length === 0) continue;
    yield {
      rule: 'dbrest-table-open',
      field: 'pass',
      message: `the anonymous role may ${writes ? 'write' : 'read'} all rows of ${listed(names)}: no row security`,
      hint: 'alter table … enable row level security, or revoke the privilege',
    };
  }
}

function* indexProblems({ unindexed }: DatabaseFacts): Generator<Problem> {
  if (unindexed.length === 0) return;
  const message = `embedding along ${listed(unindexed)} is not supported by an index`;
  yield { rule: 'dbrest-embed-unindexed', field: 'pass', message };
}

function listed(names: readonly string[]): string {
  const more = names.length - SHOWN;
  const shown = names.slice(0, SHOWN).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}
