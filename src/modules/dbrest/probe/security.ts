import type { LiveProblem } from '../../../contract/index.ts';
import { quoteIdentifier } from '../../../postgres/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { mayBecomeSql } from '../schema/index.ts';

/** The facts that a probe finds out about the rows and functions that requests reach. */
export interface SecurityFacts {
  /** Views and materialized views that show rows of a table with row security to a role that its policies apply to. */
  readonly unsecured: readonly UnsecuredView[];
  readonly recursive: readonly RecursivePolicy[];
  readonly overloads: readonly Overload[];
}

interface UnsecuredView {
  readonly name: string;
  readonly kind: 'v' | 'm';
  readonly role: string;
  readonly tables: readonly string[];
}

/** A policy whose condition leads back to its own table. */
interface RecursivePolicy {
  readonly table: string;
  readonly policy: string;
  readonly role: string;
}

interface Overload {
  readonly schema: string;
  readonly name: string;
  readonly signature: string;
  /** Names of its arguments; the last ones have defaults. */
  readonly arguments: readonly string[];
  readonly defaults: number;
}

/** Longest chain of views and policies that is followed. */
const MOST_STEPS = 8;

/**
 * Returns one JSON text. $1 is the anonymous role or null, $2 the served schemas. The roles that requests may have are
 * that one and, unless a superuser logs in, those that the login role may become.
 */
export const SECURITY_SQL = `
with recursive exposed as (
  select r.oid, r.rolname from pg_catalog.pg_roles r
  where not r.rolsuper and not r.rolbypassrls and (r.rolname = $1::text
    or r.rolname <> session_user and r.rolname !~ '^pg_' and ${mayBecomeSql('r.oid')}
      and not (select l.rolsuper from pg_catalog.pg_roles l where l.rolname = session_user))
), served as (
  select n.oid from pg_catalog.pg_namespace n where n.nspname = any($2::text[])
), ways(view, role, relid, actor, stored, step) as (
  select c.oid, e.oid, c.oid, e.oid, false, 0
  from served s
  join pg_catalog.pg_class c on c.relnamespace = s.oid and c.relkind in ('v', 'm')
  join exposed e on has_schema_privilege(e.oid, s.oid, 'usage')
    and (has_table_privilege(e.oid, c.oid, 'select') or has_any_column_privilege(e.oid, c.oid, 'select'))
  union
  select w.view, w.role, d.refobjid, case when v.relkind = 'v'
      and v.reloptions && array['security_invoker=true', 'security_invoker=on', 'security_invoker=1'] then w.actor else v.relowner end,
    w.stored or v.relkind = 'm', w.step + 1
  from ways w
  join pg_catalog.pg_class v on v.oid = w.relid and v.relkind in ('v', 'm')
  join pg_catalog.pg_rewrite r on r.ev_class = v.oid
  join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
    and d.refclassid = 'pg_catalog.pg_class'::regclass and d.deptype = 'n' and d.refobjid <> v.oid
  where w.step < ${MOST_STEPS}
), unsecured as (
  select w.view, w.role, t.oid as relid
  from ways w
  join pg_catalog.pg_class t on t.oid = w.relid and t.relkind in ('r', 'p') and t.relrowsecurity
  join pg_catalog.pg_roles a on a.oid = w.actor
  where not (not t.relforcerowsecurity and pg_has_role(w.role, t.relowner, 'usage'))
    and (w.stored or w.actor <> w.role and (a.rolsuper or a.rolbypassrls
      or not t.relforcerowsecurity and pg_has_role(w.actor, t.relowner, 'usage')))
), reading as (
  select p.oid, p.polname, p.polrelid, p.polqual, e.oid as role
  from pg_catalog.pg_policy p
  join pg_catalog.pg_class t on t.oid = p.polrelid and t.relrowsecurity
  join exposed e on (0 = any(p.polroles) or exists (
      select from unnest(p.polroles) q(oid) where pg_has_role(e.oid, q.oid, 'usage')))
    and not (not t.relforcerowsecurity and pg_has_role(e.oid, t.relowner, 'usage'))
  where p.polcmd in ('*', 'r')
), leads as (
  -- Dependencies do not tell whether the policy of a table reads it again; the tables of its subqueries do.
  select distinct r.polname, r.role, r.polrelid as relid, q.tables[1]::oid as next
  from reading r
  cross join lateral regexp_matches(r.polqual::text, ':rtekind 0 :relid (\\d+)', 'g') q(tables)
), circles(first, role, polname, relid, next, step) as (
  select l.relid, l.role, l.polname, l.relid, l.next, 1 from leads l
  union
  select c.first, c.role, c.polname, l.relid, l.next, c.step + 1
  from circles c join leads l on l.role = c.role and l.relid = c.next
  where c.next <> c.first and c.step < ${MOST_STEPS}
), overloads as (
  select n.nspname, p.proname, p.oid, p.pronargdefaults, coalesce((
    select json_agg(coalesce(a.name, '') order by a.number)
    from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes, p.proargnames)
      with ordinality as a(type, mode, name, number)
    where a.type is not null and coalesce(a.mode, 'i') in ('i', 'b', 'v')
  ), '[]') as names
  from served s
  join pg_catalog.pg_namespace n on n.oid = s.oid
  join pg_catalog.pg_proc p on p.pronamespace = s.oid and p.prokind = 'f'
  where exists (select from exposed e where has_function_privilege(e.oid, p.oid, 'execute'))
    and exists (select from pg_catalog.pg_proc o where o.pronamespace = s.oid and o.proname = p.proname and o.oid <> p.oid)
)
select json_build_object(
  'unsecured', coalesce((
    select json_agg(u.fact order by u.view) from (
      select x.view::regclass::text as view, json_build_object(
        'name', format('%I.%I', n.nspname, c.relname), 'kind', c.relkind,
        'role', min(r.rolname), 'tables', json_agg(distinct x.relid::regclass::text)) as fact
      from unsecured x
      join pg_catalog.pg_class c on c.oid = x.view
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_roles r on r.oid = x.role
      group by x.view, n.nspname, c.relname, c.relkind
    ) u
  ), '[]'),
  'recursive', coalesce((
    select json_agg(json_build_object('table', y.name, 'policy', y.polname, 'role', y.role) order by y.name, y.polname) from (
      select format('%I.%I', n.nspname, t.relname) as name, z.polname, min(r.rolname) as role
      from circles z
      join pg_catalog.pg_class t on t.oid = z.first
      join served s on s.oid = t.relnamespace
      join pg_catalog.pg_namespace n on n.oid = t.relnamespace
      join pg_catalog.pg_roles r on r.oid = z.role
      where z.next = z.first and has_any_column_privilege(z.role, z.first, 'select')
      group by n.nspname, t.relname, z.polname
    ) y
  ), '[]'),
  'overloads', coalesce((
    select json_agg(json_build_object('schema', o.nspname, 'name', o.proname, 'signature', o.oid::regprocedure::text,
      'arguments', o.names, 'defaults', o.pronargdefaults) order by o.nspname, o.proname, o.oid)
    from overloads o
  ), '[]')
)::text as facts`;

type Problem = LiveProblem<DbrestConfig>;

/** Most findings of one kind. */
const MOST_FINDINGS = 10;
/** The first version with `security_invoker`. */
const INVOKER_VERSION = 150_000;

export function* securityProblems(facts: SecurityFacts, version: number): Generator<Problem> {
  for (const view of facts.unsecured.slice(0, MOST_FINDINGS)) yield viewProblem(view, version);
  for (const policy of facts.recursive.slice(0, MOST_FINDINGS)) yield policyProblem(policy);
  yield* [...overloadProblems(facts.overloads)].slice(0, MOST_FINDINGS);
}

function viewProblem({ name, kind, role, tables }: UnsecuredView, version: number): Problem {
  const what = kind === 'v' ? 'view' : 'materialized view';
  const revoked = `revoke select on ${name} from ${quoteIdentifier(role)}`;
  const invoked = `alter view ${name} set (security_invoker = true)`;
  return {
    rule: 'dbrest-view-unsecured',
    field: 'pass',
    message: `the ${what} ${name} shows "${role}" rows of ${tables.join(', ')} regardless of their policies`,
    hint: kind === 'v' && version >= INVOKER_VERSION ? invoked : revoked,
  };
}

function policyProblem({ table, policy, role }: RecursivePolicy): Problem {
  return {
    rule: 'dbrest-policy-recursive',
    field: 'pass',
    message: `the policy "${policy}" of ${table} reads the same table again: each request of "${role}" for it fails (42P17)`,
    hint: `move its subquery to a function: create function … security definer, then alter policy ${quoteIdentifier(policy)} on ${table} using (…)`,
  };
}

/** Reports functions if another one takes every set of argument names that they take. */
function* overloadProblems(overloads: readonly Overload[]): Generator<Problem> {
  const named = overloads.filter((one) => one.arguments.every((name) => name !== ''));
  for (const [i, one] of named.entries()) {
    const other = named.find((two, j) => {
      const isPair = i !== j && one.schema === two.schema && one.name === two.name;
      // Of two that take the same, one finding is enough.
      return isPair && takesAll(two, one) && !(j < i && takesAll(one, two));
    });
    if (!other) continue;
    yield {
      rule: 'dbrest-overload-ambiguous',
      field: 'pass',
      message: `no request can call ${one.signature}: ${other.signature} accepts the same argument names (PGRST203)`,
      hint: `alter function ${one.signature} rename to …`,
    };
  }
}

/** Returns whether a function takes every set of names that another one takes. */
function takesAll(one: Overload, other: Overload): boolean {
  const required = one.arguments.slice(0, one.arguments.length - one.defaults);
  const others = other.arguments.slice(0, other.arguments.length - other.defaults);
  return (
    required.every((name) => others.includes(name)) &&
    other.arguments.every((name) => one.arguments.includes(name))
  );
}
