import type { CommandAccess, PolicyAccess, RelationAccess } from '../../../contract/index.ts';
import { mayBecomeSql, type RelationKind, type TableName } from '../schema/index.ts';
import type { Statement } from '../sql/index.ts';
import type { Need } from './needs.ts';

/** The facts of the database about a role and the objects that it uses. */
export interface Access {
  /** Absent if there is no such role. */
  readonly role?: RoleAccess;
  /** The role that `dbrest_pass` logs in with. */
  readonly login: string;
  readonly relations: readonly FoundRelation[];
}

interface RoleAccess {
  readonly superuser: boolean;
  readonly bypassesRowSecurity: boolean;
  /** The login role may become it. */
  readonly reachable: boolean;
  /** It is one of PostgreSQL's own (`pg_read_all_data` …). */
  readonly predefined: boolean;
}

/** A relation, with facts that are not shown. */
export interface FoundRelation extends RelationAccess {
  readonly table: TableName;
  readonly relkind: RelationKind;
  readonly owner: string;
  /** The login role may become the owner, to whom row security does not apply. */
  readonly seesAll: boolean;
  /** The role has USAGE on the schema; through a view it needs none. */
  readonly usesSchema: boolean;
}

/** A table or function with a name, in any schema. */
export interface Namesake {
  readonly schema: string;
  readonly kind: 'table' | 'function' | 'procedure';
  /** Of a function: types of its arguments as printed by `format_type`, and all of them as text. */
  readonly types: readonly string[] | null;
  readonly arguments: string | null;
  readonly owner: string;
  readonly isDefiner: boolean;
  readonly usesSchema: boolean;
  readonly mayExecute: boolean;
}

/** Roles that trials may have. $1: the anonymous role or null; it is always served. */
export const ROLES_SQL = `
select coalesce(json_agg(json_build_object(
  'name', r.rolname, 'bypassesRowSecurity', r.rolsuper or r.rolbypassrls
) order by r.rolname is distinct from $1::text, r.rolname), '[]')::text
from pg_catalog.pg_roles r
where ${mayBecomeSql('r.oid')}
  and (r.rolname = $1::text or not r.rolsuper and r.rolname <> session_user and r.rolname !~ '^pg_')`;

/** Bounds the relations that one request may use through views. */
const MOST_RELATIONS = 60;

/** $1: the role, $2: needs as JSON. Views are followed to their tables, with the role that counts there. */
const ACCESS_SQL = `
with recursive needs as (
  select n.* from pg_catalog.json_to_recordset($2::json) as n(schema text, name text, command text, columns text[])
), touched(relid, actor, command, columns, direct) as (
  select c.oid, r.oid, n.command, n.columns, true
  from needs n
  join pg_catalog.pg_namespace s on s.nspname = n.schema
  join pg_catalog.pg_class c on c.relnamespace = s.oid and c.relname = n.name
  join pg_catalog.pg_roles r on r.rolname = $1::text
  union
  select b.base, case when v.reloptions && array['security_invoker=true', 'security_invoker=on', 'security_invoker=1']
    then t.actor else v.relowner end, case when b.siblings > 1 then 'SELECT' else t.command end, null::text[], false
  from touched t
  join pg_catalog.pg_class v on v.oid = t.relid and v.relkind = 'v'
  cross join lateral (
    select f.base, pg_catalog.count(*) over () as siblings
    from (
      select distinct d.refobjid as base
      from pg_catalog.pg_rewrite w
      join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.deptype = 'n' and d.refobjid <> w.ev_class
      where w.ev_class = v.oid
    ) f
  ) b
), relations as (
  select t.relid, t.actor, pg_catalog.bool_or(t.direct) as direct, json_agg(distinct jsonb_build_object(
    'command', t.command,
    'missing', case
      when pg_catalog.has_table_privilege(t.actor, t.relid, t.command) then '[]'::jsonb
      when t.command = 'DELETE' then 'null'
      when not pg_catalog.has_any_column_privilege(t.actor, t.relid, t.command) then 'null'
      else coalesce((
        select jsonb_agg(a.attname order by a.attnum)
        from pg_catalog.pg_attribute a
        where a.attrelid = t.relid and a.attnum > 0 and not a.attisdropped and a.attname = any(t.columns)
          and not pg_catalog.has_column_privilege(t.actor, t.relid, a.attnum, t.command)
      ), '[]')
    end
  )) as commands
  from touched t
  group by t.relid, t.actor
  limit ${MOST_RELATIONS}
)
select json_build_object(
  'login', session_user,
  'role', (
    select json_build_object('superuser', r.rolsuper, 'bypassesRowSecurity', r.rolbypassrls,
      'reachable', ${mayBecomeSql('r.oid')}, 'predefined', r.rolname ~ '^pg_')
    from pg_catalog.pg_roles r where r.rolname = $1::text
  ),
  'relations', coalesce((
    select json_agg(json_build_object(
      'table', json_build_object('schema', s.nspname, 'name', c.relname),
      'name', pg_catalog.format('%I.%I', s.nspname, c.relname),
      'relkind', c.relkind, 'direct', x.direct, 'commands', x.commands, 'role', r.rolname, 'owner', o.rolname,
      'usesSchema', not x.direct or pg_catalog.has_schema_privilege(x.actor, s.oid, 'usage'),
      'seesAll', not c.relforcerowsecurity and ${mayBecomeSql('c.relowner')},
      'secured', c.relrowsecurity,
      'bypassed', r.rolsuper or r.rolbypassrls
        or not c.relforcerowsecurity and pg_catalog.pg_has_role(x.actor, c.relowner, 'usage'),
      'policies', coalesce((
        select json_agg(json_build_object(
          'name', p.polname, 'isPermissive', p.polpermissive, 'letter', p.polcmd,
          'roles', case when 0 = any(p.polroles) then '["public"]'
            else (select json_agg(q.rolname order by q.rolname) from pg_catalog.pg_roles q where q.oid = any(p.polroles)) end,
          'using', pg_catalog.pg_get_expr(p.polqual, p.polrelid),
          'check', pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid),
          'isForRole', 0 = any(p.polroles) or exists (
            select from pg_catalog.unnest(p.polroles) q(oid) where pg_catalog.pg_has_role(x.actor, q.oid, 'usage'))
        ) order by p.polname)
        from pg_catalog.pg_policy p where p.polrelid = c.oid
      ), '[]')
    ) order by not x.direct, s.nspname, c.relname)
    from relations x
    join pg_catalog.pg_class c on c.oid = x.relid and c.relkind in ('r', 'p', 'v', 'm', 'f')
    join pg_catalog.pg_namespace s on s.oid = c.relnamespace
    join pg_catalog.pg_roles r on r.oid = x.actor
    join pg_catalog.pg_roles o on o.oid = c.relowner
  ), '[]')
)::text`;

/** The statement that reads what a role may do with what it needs. */
export function accessStatement(role: string, needs: readonly Need[]): Statement {
  return { text: ACCESS_SQL, values: [role, JSON.stringify(needs)] };
}

interface AccessRow {
  readonly login: string;
  readonly role: RoleAccess | null;
  readonly relations: readonly RelationRow[];
}

interface RelationRow extends Pick<FoundRelation, 'table' | 'relkind' | 'owner' | 'seesAll' | 'usesSchema'> {
  readonly name: string;
  readonly role: string;
  readonly direct: boolean;
  readonly commands: readonly {
    readonly command: CommandAccess['command'];
    readonly missing: readonly string[] | null;
  }[];
  readonly secured: boolean;
  readonly bypassed: boolean;
  readonly policies: readonly PolicyRow[];
}

interface PolicyRow extends Pick<PolicyAccess, 'name' | 'isPermissive' | 'roles'> {
  readonly letter: '*' | 'r' | 'a' | 'w' | 'd';
  readonly using: string | null;
  readonly check: string | null;
  readonly isForRole: boolean;
}

/** Reads the row of `accessStatement`. */
export function readAccess(json: string): Access {
  const { login, role, relations } = JSON.parse(json) as AccessRow;
  return { login, ...(role && { role }), relations: relations.map(relationOf) };
}

const KINDS: Readonly<Record<RelationKind, RelationAccess['kind']>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
};

function relationOf(row: RelationRow): FoundRelation {
  const { table, relkind, name, role, owner, seesAll, usesSchema, direct, secured, bypassed } = row;
  const commands = row.commands.map(({ command, missing }) => ({
    command,
    isAllowed: missing?.length === 0,
    ...(missing && missing.length > 0 && { missingColumns: missing }),
  }));
  return {
    table,
    relkind,
    owner,
    seesAll,
    usesSchema,
    name,
    kind: KINDS[relkind],
    role,
    isDirect: direct,
    commands,
    rowSecurity: secured ? (bypassed ? 'bypassed' : 'applies') : 'off',
    policies: row.policies.map((policy) => policyOf(policy, commands)),
  };
}

const COMMANDS = { '*': 'ALL', r: 'SELECT', a: 'INSERT', w: 'UPDATE', d: 'DELETE' } as const;

function policyOf(
  { name, isPermissive, letter, roles, using, check, isForRole }: PolicyRow,
  commands: readonly CommandAccess[],
): PolicyAccess {
  const command = COMMANDS[letter];
  return {
    name,
    isPermissive,
    command,
    roles,
    ...(using !== null && { using }),
    ...(check !== null && { check }),
    applies: isForRole && (command === 'ALL' || commands.some((one) => one.command === command)),
  };
}

const MOST_NAMESAKES = 20;

/** $1: the name, $2: the role. */
const NAMESAKES_SQL = `
select coalesce(json_agg(f.fact), '[]')::text
from (
  select json_build_object('schema', s.nspname, 'kind', 'table', 'types', null, 'arguments', null,
    'owner', o.rolname, 'isDefiner', false, 'mayExecute', false,
    'usesSchema', pg_catalog.has_schema_privilege(r.oid, s.oid, 'usage')) as fact
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace s on s.oid = c.relnamespace
  join pg_catalog.pg_roles o on o.oid = c.relowner
  join pg_catalog.pg_roles r on r.rolname = $2::text
  where c.relname = $1::text and c.relkind in ('r', 'p', 'v', 'm', 'f') and s.nspname !~ '^pg_' and s.nspname <> 'information_schema'
  union all
  select json_build_object('schema', s.nspname,
    'kind', case when p.prokind = 'p' then 'procedure' else 'function' end,
    'types', coalesce((select json_agg(pg_catalog.format_type(t.oid, null) order by t.n)
      from pg_catalog.unnest(p.proargtypes) with ordinality t(oid, n)), '[]'),
    'arguments', pg_catalog.pg_get_function_arguments(p.oid),
    'owner', o.rolname, 'isDefiner', p.prosecdef,
    'mayExecute', pg_catalog.has_function_privilege(r.oid, p.oid, 'execute'),
    'usesSchema', pg_catalog.has_schema_privilege(r.oid, s.oid, 'usage'))
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace s on s.oid = p.pronamespace
  join pg_catalog.pg_roles o on o.oid = p.proowner
  join pg_catalog.pg_roles r on r.rolname = $2::text
  where p.proname = $1::text and p.prokind in ('f', 'p') and s.nspname !~ '^pg_' and s.nspname <> 'information_schema'
  limit ${MOST_NAMESAKES}
) f`;

/** The statement that finds tables and functions with a name, in all schemas. */
export function namesakesStatement(name: string, role: string): Statement {
  return { text: NAMESAKES_SQL, values: [name, role] };
}
