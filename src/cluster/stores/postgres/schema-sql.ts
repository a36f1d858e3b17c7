import { literal, quoteIdentifier } from '../../../postgres/index.ts';
import { FUNCTIONS, MANY_ORIGINS } from './functions-sql.ts';

/** The version of the tables and functions. A gateway uses only those of its own version. */
export const SCHEMA_VERSION = 1;
/** SQLSTATEs of a database without the set-up, and of a role without the right to use it. */
export const MISSING: ReadonlySet<string> = new Set(['3F000', '42883']);
export const FORBIDDEN = '42501';
const HEAD = `-- The store of a cluster of gateways: tables, and functions that alone may use them. It may run any number of times:
--   gw db setup --cluster | psql "$DATABASE_URL"
`;

const TABLES = `-- Gateways that are newer have changed what is here.
do $gw$
declare
  found int := 0;
begin
  begin
    select gw_cluster.version() into found;
  exception when invalid_schema_name or undefined_function then null;
  end;
  if found > ${SCHEMA_VERSION} then
    raise exception 'the store is of version %, this gw sets up version ${SCHEMA_VERSION}', found;
  end if;
end
$gw$;

create schema if not exists gw_cluster;
-- The newest counter of each stream, and when it was first asked for. A transaction that adds entries locks the row, so
-- that counters are in the order of commits.
create table if not exists gw_cluster.streams (
  namespace text collate "C", stream text collate "C", counter bigint not null default 0,
  birth bigint not null default (extract(epoch from clock_timestamp()) * 1000),
  many_origins bigint not null default ${MANY_ORIGINS},
  primary key (namespace, stream)
);
-- "texts" is a list in JSON, all ASCII, so that databases of any encoding can store it; "stored_ms" is for keyed
-- streams.
create table if not exists gw_cluster.entries (
  namespace text collate "C", stream text collate "C", counter bigint, version text not null, origin text not null,
  incarnation text not null, sequence bigint not null, mac text not null, texts text not null, stored_ms bigint,
  primary key (namespace, stream, counter)
);
-- The last entry of each incarnation of a node. Two nodes may have the same name, but never the same incarnation.
create table if not exists gw_cluster.origins (
  namespace text collate "C", stream text collate "C", origin text collate "C", incarnation text collate "C",
  sequence bigint not null, counter bigint not null, used timestamptz not null default now(),
  primary key (namespace, stream, origin, incarnation)
);
-- The newest entry of each key of a keyed stream, by the SHA-256 of the key; "content" is the SHA-256 of its value,
-- null if the key is deleted.
create table if not exists gw_cluster.keys (
  namespace text collate "C", stream text collate "C", key_hash text collate "C", counter bigint not null,
  version text not null, origin text not null, incarnation text not null, sequence bigint not null, mac text not null,
  texts text not null, stored_ms bigint not null, content text, expires timestamptz,
  primary key (namespace, stream, key_hash)
);
create index if not exists keys_expires on gw_cluster.keys (namespace, stream, expires) where expires is not null;
-- Work that one node does for all.
create table if not exists gw_cluster.leases (
  namespace text collate "C", name text collate "C", owner text not null, until timestamptz not null,
  primary key (namespace, name)
);
create table if not exists gw_cluster.nodes (
  namespace text collate "C", node text collate "C", incarnation text not null, facts text not null,
  heard timestamptz not null,
  primary key (namespace, node)
);
-- The parameters of each stream, and the first node that has sent them.
create table if not exists gw_cluster.digests (
  namespace text collate "C", stream text collate "C", digest text not null, node text collate "C" not null,
  primary key (namespace, stream)
);
`;

const VERSION = `create or replace function gw_cluster.version() returns int language sql immutable as 'select ${SCHEMA_VERSION}';
`;

export interface Grantee {
  /** The role that gateways log in with. */
  readonly role: string;
  /** `SCRAM-SHA-256$…`; the password is unchanged if absent. */
  readonly verifier?: string | undefined;
}

function grants({ role, verifier }: Grantee): string {
  const name = quoteIdentifier(role);
  const password =
    verifier === undefined
      ? `-- Its password, where logins ask for one: \\password ${name}\n`
      : `alter role ${name} password ${literal(verifier)};\n`;
  return `-- The role of the gateways has the functions, and nothing else.
do $gw$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = ${literal(role)}) then
    create role ${name} login;
  end if;
end
$gw$;
${password}grant usage on schema gw_cluster to ${name};
revoke all on all functions in schema gw_cluster from public;
grant execute on all functions in schema gw_cluster to ${name};
`;
}

/** The SQL that makes a database the store of clusters, without a transaction. */
export function schemaSql(grantee: Grantee): string {
  return [TABLES, FUNCTIONS, VERSION, grants(grantee)].join('\n');
}

/** The same as a script, with a transaction and a comment at its head. */
export function schemaScript(grantee: Grantee): string {
  return `${HEAD}\nbegin;\nset local client_min_messages = warning;\n\n${schemaSql(grantee)}\ncommit;\n`;
}
