import { literal } from '../../../postgres/index.ts';
import { CHANGES_CHANNEL } from '../directives/index.ts';
import { CHANGES_TRIGGER } from '../schema/index.ts';

/** Changes of one transaction beyond this number are announced as one change of all rows of a table. */
const MOST_ROWS = 10_000;
/** The longest payload of `pg_notify`, in bytes. */
const MOST_BYTES = 7_999;

/** A table whose changes are to be announced. */
export interface WatchedTable {
  readonly schema: string;
  readonly name: string;
}

const NAME = String.raw`(?:"((?:[^"\0]|"")+)"|([^".\0]+))`;
const TABLE = new RegExp(`^(?:${NAME}\\.)?${NAME}$`);

/** Reads `schema.table` or `table`, quoted as in SQL where they need it; `undefined` if it is neither. */
export function tableOf(text: string, usualSchema: string): WatchedTable | undefined {
  const found = TABLE.exec(text);
  if (!found) return undefined;
  const [, quotedSchema, plainSchema, quotedName, plainName] = found;
  const unquoted = (quoted: string | undefined): string | undefined => quoted?.replaceAll('""', '"');
  return {
    schema: unquoted(quotedSchema) ?? plainSchema ?? usualSchema,
    name: unquoted(quotedName) ?? plainName ?? '',
  };
}

/**
 * The function that triggers run for each row: those of a statement do not see rows written to a partition. A payload
 * is `{"table":…,"op":…,"key":…}`; without a key it stands for all rows. It must not depend on the writer's rights.
 */
const TELL_SQL = `create schema if not exists gw;
create or replace function gw.tell_change() returns trigger language plpgsql set search_path to '' as $gw$
declare
  -- A row of a partition is one of the table that clients know.
  changed regclass := coalesce(pg_catalog.pg_partition_root(tg_relid), tg_relid);
  announced int := 1 + coalesce(nullif(pg_catalog.current_setting('gw.announced', true), ''), '0')::int;
  rows jsonb[];
  head text;
  payload text;
begin
  if tg_op = 'UPDATE' and old operator(pg_catalog.*=) new then
    return null;
  end if;
  select pg_catalog.format('{"table":%s,"op":"%s","key":', pg_catalog.to_json(n.nspname || '.' || c.relname), tg_op)
  into head
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.oid = changed;
  if tg_op = 'TRUNCATE' or announced > ${MOST_ROWS} then
    perform pg_catalog.pg_notify('${CHANGES_CHANNEL}', head || 'null}');
    return null;
  end if;
  perform pg_catalog.set_config('gw.announced', announced::text, true);
  if tg_op <> 'INSERT' then
    rows := array[pg_catalog.to_jsonb(old)];
  end if;
  if tg_op <> 'DELETE' then
    rows := rows || pg_catalog.to_jsonb(new);
  end if;
  -- The key of an update is mostly the same twice: equal payloads of a transaction are sent once.
  for i in 1 .. pg_catalog.array_length(rows, 1) loop
    select head || pg_catalog.jsonb_object_agg(c, rows[i] -> c)::text || '}' into payload from pg_catalog.unnest(tg_argv) c;
    perform pg_catalog.pg_notify(
      '${CHANGES_CHANNEL}', case when pg_catalog.octet_length(payload) > ${MOST_BYTES} then head || 'null}' else payload end);
  end loop;
  return null;
end
$gw$;
`;

/** Creates the triggers of a table, unless it has them for its present key. */
const WATCH_SQL = `create or replace function pg_temp.gw_watch(space text, relation text) returns void language plpgsql as $gw$
declare
  watched regclass := pg_catalog.format('%I.%I', space, relation)::regclass;
  columns text;
  arguments bytea;
begin
  select
    pg_catalog.string_agg(pg_catalog.quote_literal(a.attname), ', ' order by p.position),
    pg_catalog.string_agg(
      pg_catalog.convert_to(a.attname::text, pg_catalog.getdatabaseencoding()) || '\\x00'::bytea, ''::bytea order by p.position)
  into columns, arguments
  from pg_catalog.pg_constraint k
  cross join pg_catalog.unnest(k.conkey) with ordinality p (number, position)
  join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.number
  where k.conrelid = watched and k.contype = 'p';
  if columns is null then
    raise exception 'table % has no primary key', watched using hint = 'Changes are announced by the key of a row.';
  end if;
  if exists (
    select from pg_catalog.pg_trigger t
    where t.tgrelid = watched and t.tgname = '${CHANGES_TRIGGER}' and t.tgargs = arguments and t.tgenabled <> 'D'
  ) then
    return;
  end if;
  execute pg_catalog.format('drop trigger if exists ${CHANGES_TRIGGER} on %s', watched);
  execute pg_catalog.format('drop trigger if exists ${CHANGES_TRIGGER}_truncate on %s', watched);
  execute pg_catalog.format(
    'create trigger ${CHANGES_TRIGGER} after insert or update or delete on %s for each row execute function gw.tell_change(%s)',
    watched, columns);
  execute pg_catalog.format(
    'create trigger ${CHANGES_TRIGGER}_truncate after truncate on %s for each statement execute function gw.tell_change()', watched);
end
$gw$;
`;

/** The triggers that announce changes of rows (`dbrest_live`). */
export function watchSql(tables: readonly WatchedTable[]): string {
  const calls = tables.map(
    ({ schema, name }) => `  perform pg_temp.gw_watch(${literal(schema)}, ${literal(name)});`,
  );
  return `-- Announces changes of rows, so that clients can follow them (dbrest_live): table, operation and key, never the row. Each transaction
-- that writes takes one lock of the whole server while it commits.
set local client_min_messages = warning;
${TELL_SQL}${WATCH_SQL}do $gw$
begin
${calls.join('\n')}
end
$gw$;
`;
}
