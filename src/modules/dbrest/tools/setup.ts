import type { WireClient, WireError } from '../session/index.ts';
import { readPass, withClient } from './open-database.ts';
import { setupSql } from './setup-sql.ts';
import type { SetupOrder } from './setup-sql.ts';

/** One thing that a database needs for dbrest. */
export interface SetupItem {
  readonly what: string;
  readonly state: 'ok' | 'missing' | 'wrong';
  /** What is wrong, or what there is. */
  readonly detail?: string;
}

type Names = Pick<SetupOrder, 'authenticator' | 'anon' | 'user' | 'schema'>;

/** What a database has and lacks. Rejects with one line when it cannot be asked. */
export async function setupStatus(dsn: string, names: Names): Promise<readonly SetupItem[]> {
  return withClient(readPass(dsn), (client) => readItems(client, names));
}

/** Sets a database up in one transaction; gives what it has and lacks before and afterwards. Rejects with one line. */
export async function applySetup(
  dsn: string,
  order: SetupOrder,
): Promise<{ readonly before: readonly SetupItem[]; readonly after: readonly SetupItem[] }> {
  return withClient(readPass(dsn), async (client) => {
    const before = await readItems(client, order);
    try {
      // One simple query is one transaction.
      await client.query(setupSql(order));
    } catch (cause) {
      const { message, hint, code } = cause as WireError;
      const way = code === '42501' && /event trigger/.test(message) ? '; --no-trigger does without' : '';
      throw new Error(`nothing was changed: ${message}${way}${hint === undefined ? '' : ` (${hint})`}`, {
        cause,
      });
    }
    return { before, after: await readItems(client, order) };
  });
}

interface RoleFacts {
  readonly name: string;
  readonly login: boolean;
  readonly inherit: boolean;
  readonly super: boolean;
  readonly bypass: boolean;
}

interface Facts {
  readonly version: string;
  readonly versionNumber: number;
  readonly roles: readonly RoleFacts[];
  /** Roles that the login role may become, if it is there. */
  readonly becomes: readonly string[];
  readonly schema: boolean;
  /** Roles that may use the schema. */
  readonly users: readonly string[];
  readonly triggers: readonly { readonly name: string; readonly enabled: boolean }[];
}

/** $1 the login role, $2 the roles of requests, $3 the schema. */
const FACTS_SQL = `
select json_build_object(
  'version', current_setting('server_version'),
  'versionNumber', current_setting('server_version_num')::int,
  'roles', (
    select coalesce(json_agg(json_build_object('name', rolname, 'login', rolcanlogin, 'inherit', rolinherit,
      'super', rolsuper, 'bypass', rolbypassrls)), '[]')
    from pg_catalog.pg_roles where rolname = $1 or rolname = any($2)
  ),
  'becomes', (
    select coalesce(json_agg(r.rolname), '[]')
    from pg_catalog.pg_roles r, pg_catalog.pg_roles a
    where a.rolname = $1 and r.rolname = any($2) and pg_catalog.pg_has_role(a.oid, r.oid, 'member')
  ),
  'schema', exists (select from pg_catalog.pg_namespace where nspname = $3),
  'users', (
    select coalesce(json_agg(r.rolname), '[]')
    from pg_catalog.pg_roles r, pg_catalog.pg_namespace n
    where r.rolname = any($2) and n.nspname = $3 and pg_catalog.has_schema_privilege(r.oid, n.oid, 'usage')
  ),
  'triggers', (
    select coalesce(json_agg(json_build_object('name', t.evtname, 'enabled', t.evtenabled <> 'D') order by t.evtname), '[]')
    from pg_catalog.pg_event_trigger t
    join pg_catalog.pg_proc p on p.oid = t.evtfoid
    where t.evtevent in ('ddl_command_end', 'sql_drop')
      and p.prosrc ~* '(notify\\s+"?|pg_notify\\(\\s*'')(pgrst|gw)\\M'
  )
) as facts`;

const LEAST_VERSION = 120_000;

async function readItems(client: WireClient, names: Names): Promise<readonly SetupItem[]> {
  const roles = [names.anon, names.user];
  const { rows } = await client.query<{ facts: Facts }>(FACTS_SQL, [
    names.authenticator,
    roles,
    names.schema,
  ]);
  const facts = rows[0]?.facts as Facts;
  const isOld = facts.versionNumber < LEAST_VERSION;
  return [
    {
      what: 'server',
      state: isOld ? 'wrong' : 'ok',
      detail: `PostgreSQL ${facts.version}${isOld ? ', 12 is the oldest' : ''}`,
    },
    loginItem(names.authenticator, facts),
    ...roles.map((name) => roleItem(name, facts)),
    ...roles.map((name) =>
      presence(`"${names.authenticator}" may become "${name}"`, facts.becomes.includes(name)),
    ),
    presence(`schema "${names.schema}"`, facts.schema),
    ...roles.map((name) =>
      presence(`"${name}" may use schema "${names.schema}"`, facts.users.includes(name)),
    ),
    triggerItem(facts),
  ];
}

function presence(what: string, isThere: boolean): SetupItem {
  return { what, state: isThere ? 'ok' : 'missing' };
}

function loginItem(name: string, { roles }: Facts): SetupItem {
  const role = roles.find((each) => each.name === name);
  return judged(`role "${name}"`, role, (found) => [
    !found.login && 'cannot log in',
    found.inherit && 'inherits, so that it has the rights of all the others at once',
    found.super && 'is a superuser',
  ]);
}

function roleItem(name: string, { roles }: Facts): SetupItem {
  const role = roles.find((each) => each.name === name);
  return judged(`role "${name}"`, role, (found) => [
    found.super && 'is a superuser',
    !found.super && found.bypass && 'bypasses row security',
  ]);
}

function judged(
  what: string,
  role: RoleFacts | undefined,
  faultsOf: (role: RoleFacts) => readonly (string | false)[],
): SetupItem {
  if (!role) return { what, state: 'missing' };
  const faults = faultsOf(role).filter((fault) => fault !== false);
  return faults.length === 0 ? { what, state: 'ok' } : { what, state: 'wrong', detail: faults.join(', ') };
}

function triggerItem({ triggers }: Facts): SetupItem {
  const what = 'event trigger that announces changes';
  const active = triggers.filter(({ enabled }) => enabled).map(({ name }) => name);
  if (active.length > 0) return { what, state: 'ok', detail: active.join(', ') };
  return triggers.length === 0
    ? { what, state: 'missing' }
    : { what, state: 'wrong', detail: 'it is disabled' };
}
