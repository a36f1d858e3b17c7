import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { literal, quoteIdentifier, type WireClient, type WireError } from '../../../postgres/index.ts';
import { CHANGES_TRIGGER } from '../schema/index.ts';
import type { DbrestPass } from '../directives/index.ts';
import { readPass, withClient } from './open-database.ts';
import { type WatchedTable, watchSql } from './watch-sql.ts';

const ITERATIONS = 4_096;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/**
 * The SCRAM verifier that PostgreSQL stores (RFC 5802, `scram-sha-256`), so that the password appears in no script and
 * no statement log. Only for ASCII, which RFC 4013 does not change.
 */
export async function scramVerifier(password: string, salt = randomBytes(SALT_BYTES)): Promise<string> {
  const salted = await promisify(pbkdf2)(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(hmac('Client Key')).digest();
  const keys = `${stored.toString('base64')}:${hmac('Server Key').toString('base64')}`;
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${keys}`;
}

/** The names for the set-up of a database, and its extent. */
interface SetupOptions {
  readonly authenticator: string;
  readonly anon: string;
  /** The role of requests with a token. */
  readonly user: string;
  readonly schema: string;
  /** `SCRAM-SHA-256$…`; the password is unchanged if absent. */
  readonly verifier?: string | undefined;
  /** Grants the roles access to all tables of the schema, including future ones. */
  readonly grantsTables: boolean;
  readonly trigger: boolean;
  /** Triggers on the tables of the schema announce writes to caches. */
  readonly cache?: boolean;
  /** Triggers on these tables announce changes of their rows. */
  readonly watched?: readonly WatchedTable[];
}

/** The event triggers that announce changes of the schema; their functions are in a schema that is not served. */
const TRIGGERS = { changed: 'gw_schema_changed', dropped: 'gw_schema_dropped' } as const;

const HEAD = `-- Roles, schema and notifications for gw's dbrest. It may run any number of times:
--   gw db setup | psql "$DATABASE_URL"
`;

/** The set-up SQL without a transaction. It needs a role that may create roles. */
function setupSql(options: SetupOptions): string {
  const parts = [
    roles(options),
    schema(options),
    options.trigger ? TRIGGER_SQL : '',
    options.cache ? cacheSql(options) : '',
    options.watched?.length ? watchSql(options.watched) : '',
    `notify pgrst, 'reload schema';\n`,
  ];
  return parts.filter(Boolean).join('\n');
}

/** The set-up SQL as a script, with a transaction and a comment. */
export function setupScript(options: SetupOptions): string {
  return `${HEAD}\nbegin;\n\n${setupSql(options)}\ncommit;\n`;
}

function roles({ authenticator, anon, user, verifier }: SetupOptions): string {
  const login = quoteIdentifier(authenticator);
  const password =
    verifier === undefined
      ? `-- Its password, where logins ask for one: \\password ${login}\n`
      : `alter role ${login} password ${literal(verifier)};\n`;
  return `-- The login role has no rights of its own: each request switches to one of the others.
do $gw$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = ${literal(authenticator)}) then
    create role ${login} login noinherit;
  elsif exists (
    select from pg_catalog.pg_roles where rolname = ${literal(authenticator)} and (rolinherit or not rolcanlogin)
  ) then
    alter role ${login} login noinherit;
  end if;
end
$gw$;
${password}
-- Requests without a token.
${role(anon, login)}
-- Requests with a token.
${role(user, login)}`;
}

function role(name: string, login: string): string {
  const quoted = quoteIdentifier(name);
  return `do $gw$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = ${literal(name)}) then
    create role ${quoted} nologin;
  end if;
  -- Since PostgreSQL 16 it is the grant that says whether rights are inherited.
  if pg_catalog.current_setting('server_version_num')::int >= 160000 then
    execute ${literal(`grant ${quoted} to ${login} with inherit false, set true`)};
  else
    grant ${quoted} to ${login};
  end if;
end
$gw$;
`;
}

function schema({ schema: name, anon, user, grantsTables }: SetupOptions): string {
  const [space, nobody, somebody] = [name, anon, user].map(quoteIdentifier);
  const grants = `grant select on all tables in schema ${space} to ${nobody};
grant select, insert, update, delete on all tables in schema ${space} to ${somebody};
grant usage, select on all sequences in schema ${space} to ${somebody};
alter default privileges in schema ${space} grant select on tables to ${nobody};
alter default privileges in schema ${space} grant select, insert, update, delete on tables to ${somebody};
alter default privileges in schema ${space} grant usage, select on sequences to ${somebody};
`;
  const tables = grantsTables
    ? grants
    : `-- Grant privileges on tables yourself, for example:
--   grant select on ${space}.todos to ${nobody};
--   grant select, insert, update, delete on ${space}.todos to ${somebody};
`;
  return `-- What is served: dbrest_schemas ${name};
create schema if not exists ${space};
grant usage on schema ${space} to ${nobody}, ${somebody};
${tables}`;
}

const TRIGGER_SQL = `-- Announces changes of tables and functions, so that the gateway reads the schema again. Needs a superuser.
create schema if not exists gw;
create or replace function gw.tell_changed() returns event_trigger language plpgsql set search_path to '' as $gw$
begin
  if exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() c where c.schema_name is distinct from 'pg_temp'
  ) then
    notify pgrst, 'reload schema';
  end if;
end
$gw$;
create or replace function gw.tell_dropped() returns event_trigger language plpgsql set search_path to '' as $gw$
begin
  if exists (select from pg_catalog.pg_event_trigger_dropped_objects() o where not o.is_temporary) then
    notify pgrst, 'reload schema';
  end if;
end
$gw$;
do $gw$
begin
  if not exists (select from pg_catalog.pg_event_trigger where evtname = '${TRIGGERS.changed}') then
    create event trigger ${TRIGGERS.changed} on ddl_command_end execute function gw.tell_changed();
  end if;
  if not exists (select from pg_catalog.pg_event_trigger where evtname = '${TRIGGERS.dropped}') then
    create event trigger ${TRIGGERS.dropped} on sql_drop execute function gw.tell_dropped();
  end if;
end
$gw$;
`;

/** The trigger on each table, and the channel, are those of `dbrest_cache`. */
const CACHE_TRIGGER = 'gw_cache';

function cacheSql({ schema: name }: SetupOptions): string {
  return `-- Announces writes, so that rows leave the caches of dbrest_cache. Run it again when there are new tables. Each transaction that
-- writes takes one lock of the whole server while it commits: not for tables with thousands of writes per second.
create schema if not exists gw;
create or replace function gw.tell_written() returns trigger language plpgsql set search_path to '' as $gw$
begin
  perform pg_catalog.pg_notify('${CACHE_TRIGGER}', tg_table_schema || '.' || tg_table_name);
  return null;
end
$gw$;
do $gw$
declare
  written regclass;
begin
  for written in
    select c.oid from pg_catalog.pg_class c
    where c.relnamespace = ${literal(quoteIdentifier(name))}::regnamespace and c.relkind in ('r', 'p')
      and not exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and t.tgname = '${CACHE_TRIGGER}')
  loop
    execute pg_catalog.format(
      'create trigger ${CACHE_TRIGGER} after insert or update or delete or truncate on %s
         for each statement execute function gw.tell_written()', written);
  end loop;
end
$gw$;
`;
}

const MOST_BYTES = 63;

/** Returns why a name cannot be used, or `undefined`. */
export function nameFault(name: string): string | undefined {
  if (name === '' || Buffer.byteLength(name) > MOST_BYTES) return `expected 1 to ${MOST_BYTES} bytes`;
  if (/[\0\r\n]|\$gw\$/.test(name)) return 'it has characters that a script cannot contain';
  return /^pg_/i.test(name) || ['none', 'public'].includes(name)
    ? 'PostgreSQL reserves this name'
    : undefined;
}

/** One requirement of dbrest and its state in a database. */
export interface SetupItem {
  readonly what: string;
  readonly state: 'ok' | 'missing' | 'wrong';
  /** The fault, or what was found. */
  readonly detail?: string;
}

interface SetupNames extends Pick<SetupOptions, 'authenticator' | 'schema' | 'cache' | 'watched'> {
  readonly anon?: string | undefined;
  readonly user?: string | undefined;
}

/** The names for which a database is judged. Nothing is reported about a role that is absent. */
export interface StatusNames extends Omit<SetupNames, 'schema'> {
  readonly schemas: readonly string[];
}

/** Checks the requirements of dbrest. Rejects with a message of one line if the database cannot be queried. */
export async function setupStatus(
  pass: DbrestPass,
  { schemas, ...names }: StatusNames,
): Promise<readonly SetupItem[]> {
  return withClient(pass, async (client) => {
    const items = new Map<string, SetupItem>();
    for (const schema of schemas)
      for (const item of await readItems(client, { ...names, schema })) items.set(item.what, item);
    return [...items.values()];
  });
}

/** Sets a database up in one transaction; returns requirements before and after. Rejects with a one-line message. */
export async function applySetup(
  dsn: string,
  options: SetupOptions,
): Promise<{ readonly before: readonly SetupItem[]; readonly after: readonly SetupItem[] }> {
  return withClient(readPass(dsn), async (client) => {
    const before = await readItems(client, options);
    try {
      // A simple query is one transaction.
      await client.query(setupSql(options));
    } catch (cause) {
      const { message, hint, code } = cause as WireError;
      const ofTrigger = message.includes('event trigger');
      const remedy = ofTrigger ? '; --no-trigger omits it' : '; let --dsn name a superuser';
      const way = code === '42501' ? remedy : '';
      throw new Error(`nothing was changed: ${message}${way}${hint === undefined ? '' : ` (${hint})`}`, {
        cause,
      });
    }
    return { before, after: await readItems(client, options) };
  });
}

interface RoleFacts {
  readonly name: string;
  readonly login: boolean;
  readonly inherit: boolean;
  readonly super: boolean;
  readonly bypass: boolean;
}

interface DatabaseState {
  readonly version: string;
  readonly versionNumber: number;
  readonly roles: readonly RoleFacts[];
  /** Roles that the login role may become. */
  readonly becomes: readonly string[];
  readonly schema: boolean;
  /** Roles that have the privilege USAGE on the schema. */
  readonly users: readonly string[];
  readonly triggers: readonly { readonly name: string; readonly enabled: boolean }[];
  /** The tables of the schema, and those among them that announce writes. */
  readonly tables: number;
  readonly announcing: number;
  /** The tables whose rows can be followed, `schema.name`. */
  readonly watched: readonly string[];
}

/** $1 is the login role, $2 the roles of requests, $3 the schema. */
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
  'tables', (
    select count(*) from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $3 and c.relkind in ('r', 'p')
  ),
  'announcing', (
    select count(*) from pg_catalog.pg_trigger t
    join pg_catalog.pg_class c on c.oid = t.tgrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $3 and t.tgname = '${CACHE_TRIGGER}' and t.tgenabled <> 'D'
  ),
  'watched', (
    select coalesce(json_agg(distinct n.nspname || '.' || c.relname), '[]')
    from pg_catalog.pg_trigger t
    join pg_catalog.pg_class c on c.oid = t.tgrelid and not c.relispartition
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where t.tgname = '${CHANGES_TRIGGER}' and t.tgenabled <> 'D'
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

async function readItems(client: WireClient, names: SetupNames): Promise<readonly SetupItem[]> {
  const roles = [names.anon, names.user].filter((name) => name !== undefined);
  const { rows } = await client.query<{ facts: DatabaseState }>(FACTS_SQL, [
    names.authenticator,
    roles,
    names.schema,
  ]);
  const facts = rows[0]?.facts as DatabaseState;
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
    ...announcingItem(names, facts),
    ...watchedItems(names, facts),
  ];
}

function presence(what: string, isThere: boolean): SetupItem {
  return { what, state: isThere ? 'ok' : 'missing' };
}

function loginItem(name: string, { roles }: DatabaseState): SetupItem {
  const role = roles.find((each) => each.name === name);
  return judged(`role "${name}"`, role, (found) => [
    !found.login && 'cannot log in',
    found.inherit && 'inherits, so that it has the rights of all the other roles',
    found.super && 'is a superuser',
  ]);
}

function roleItem(name: string, { roles }: DatabaseState): SetupItem {
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

function triggerItem({ triggers }: DatabaseState): SetupItem {
  const what = 'event trigger that announces changes';
  const active = triggers.filter(({ enabled }) => enabled).map(({ name }) => name);
  if (active.length > 0) return { what, state: 'ok', detail: active.join(', ') };
  return triggers.length === 0
    ? { what, state: 'missing' }
    : { what, state: 'wrong', detail: 'it is disabled' };
}

/** All tables need these triggers only if one of them has them, or they are wanted. */
function announcingItem({ cache }: SetupNames, { tables, announcing }: DatabaseState): readonly SetupItem[] {
  if (announcing === 0 && cache !== true) return [];
  const isWhole = announcing === tables;
  const detail = `${announcing} of ${tables}`;
  return [{ what: 'tables that announce writes to caches', state: isWhole ? 'ok' : 'missing', detail }];
}

/** The tables that are watched, and those that are to be. */
function watchedItems({ watched = [] }: SetupNames, facts: DatabaseState): readonly SetupItem[] {
  const names = new Set([...watched.map(({ schema: space, name }) => `${space}.${name}`), ...facts.watched]);
  return [...names].map((name) =>
    presence(`changes of rows of "${name}" are announced`, facts.watched.includes(name)),
  );
}
