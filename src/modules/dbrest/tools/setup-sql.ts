import { quoteIdentifier } from '../sql/index.ts';

/** The names that a database is to be set up with, and how far. */
export interface SetupOrder {
  readonly authenticator: string;
  readonly anon: string;
  /** The role of those who have a token. */
  readonly user: string;
  readonly schema: string;
  /** `SCRAM-SHA-256$…`; absent: the password stays as it is. */
  readonly verifier?: string | undefined;
  /** Lets the roles use all tables of the schema, those to come included. */
  readonly grantsTables: boolean;
  readonly trigger: boolean;
}

/** What changes to the schema are told with: in a schema that nobody serves. */
export const TRIGGERS = { changed: 'gw_schema_changed', dropped: 'gw_schema_dropped' } as const;

const HEAD = `-- Roles, schema and announcements for gw's dbrest. It may run any number of times:
--   gw db setup | psql "$DATABASE_URL"
`;

/** The SQL that sets a database up, without a transaction around it; whoever runs it may create roles. */
export function setupSql(order: SetupOrder): string {
  const parts = [
    roles(order),
    schema(order),
    order.trigger ? TRIGGER_SQL : '',
    `notify pgrst, 'reload schema';\n`,
  ];
  return parts.filter(Boolean).join('\n');
}

/** The same for people: with a transaction, and a word on what it is. */
export function setupScript(order: SetupOrder): string {
  return `${HEAD}\nbegin;\n\n${setupSql(order)}\ncommit;\n`;
}

function roles({ authenticator, anon, user, verifier }: SetupOrder): string {
  const login = quoteIdentifier(authenticator);
  const password =
    verifier === undefined
      ? `-- Its password, where logins ask for one: \\password ${login}\n`
      : `alter role ${login} password ${literal(verifier)};\n`;
  return `-- Logs in and has no rights of its own: each request becomes one of the others.
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
-- Requests whose token says so.
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

function schema({ schema: name, anon, user, grantsTables }: SetupOrder): string {
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
    : `-- Rights on tables are yours to give, for example:
--   grant select on ${space}.todos to ${nobody};
--   grant select, insert, update, delete on ${space}.todos to ${somebody};
`;
  return `-- What is served: dbrest_schemas ${name};
create schema if not exists ${space};
grant usage on schema ${space} to ${nobody}, ${somebody};
${tables}`;
}

const TRIGGER_SQL = `-- Whoever changes a table or function tells the gateway, which reads the schema again. Takes a superuser.
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

function literal(text: string): string {
  // Escapes are told by their E: a backslash means the same under every setting of the server.
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

const MOST_BYTES = 63;

/** Why a name cannot be used, if so. */
export function nameFault(name: string): string | undefined {
  if (name === '' || Buffer.byteLength(name) > MOST_BYTES) return `expected 1 to ${MOST_BYTES} bytes`;
  if (/[\0\r\n]|\$gw\$/.test(name)) return 'it has characters that a script cannot hold';
  return /^pg_/i.test(name) || ['none', 'public'].includes(name)
    ? 'PostgreSQL keeps this name to itself'
    : undefined;
}
