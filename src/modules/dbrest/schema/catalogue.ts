import { createHash } from 'node:crypto';
import {
  type Catalogue,
  type CatalogueEntries,
  entriesOf,
  type SectionEntry,
  type CatalogueSection,
} from './entries.ts';
import {
  SETTINGS_SQL,
  type StoredSetting,
  type ForeignKey,
  type MediaHandler,
  type Representation,
  type RoleSettings,
  type RowFunction,
  type Schema,
  type StoredFunction,
  type Table,
  type TableName,
} from './schema.ts';
import type { Reading } from './share.ts';
import {
  accessOf,
  DISCOVERY_SQL,
  type Namespace,
  namespaceOf,
  shapeOf,
  type TypeShape,
} from './discovery.ts';
import { durationMs, FUNCTIONS_SQL, isolationOf, mediaHandlerOf, storedFunctionOf } from './functions.ts';
import {
  ANNOUNCING_SQL,
  basesOf,
  columnsWithFacts,
  followedOf,
  namesOf,
  type RelationDraft,
  relationDraftOf,
  type RelationDrafts,
  viewKey,
  WRITE_FACTS_SQL,
  writeFactsOf,
} from './relation-draft.ts';

/**
 * The section `inert`, appended to `CATALOGUE_SQL` and using its `relations`: object ids of relations that can be read
 * without running a user-defined or volatile function, so that a read cannot change settings of its session. Row
 * security, foreign tables and user-defined types other than enums count as such functions. `pg_depend` lists what a
 * view's rule uses of users; built-in objects (ids below 16384) appear in its parse tree only.
 */
const INERT_SQL = `
union all
select 'inert', to_json(c.oid::text)::text
from relations c
where c.oid not in (
  with recursive active(oid) as (
    select c.oid
    from relations c
    join pg_catalog.pg_class k on k.oid = c.oid
    where k.relkind = 'f' or k.relrowsecurity
      or exists (
        select from pg_catalog.pg_attribute a
        join pg_catalog.pg_type t on t.oid = a.atttypid
        left join pg_catalog.pg_type e on e.oid = t.typelem and t.typcategory = 'A'
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          and t.oid >= 16384 and coalesce(e.typtype, t.typtype) <> 'e')
      or k.relkind = 'v' and exists (
        select from pg_catalog.pg_rewrite r
        where r.ev_class = c.oid and (
          exists (
            select from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid
              and (
                d.refclassid in (
                  'pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_type'::regclass)
                or d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid
                  and d.refobjid not in (select oid from relations)))
          or exists (
            select from pg_catalog.regexp_matches(r.ev_action::text, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([1-9]\\d*)', 'g') called
            join pg_catalog.pg_proc p on p.oid = called[1]::oid
            where p.provolatile = 'v')))
    union
    select r.ev_class
    from active
    join pg_catalog.pg_depend d
      on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = active.oid
      and d.classid = 'pg_catalog.pg_rewrite'::regclass
    join pg_catalog.pg_rewrite r on r.oid = d.objid
    join pg_catalog.pg_class k on k.oid = r.ev_class and k.relkind = 'v'
  )
  select oid from active
)`;

/**
 * The section `inertWrites`: tables whose rows can be written without running a user-defined function, or a volatile
 * one that has an effect on the session. No such function may be in a trigger, a rule, a default, a generated column, a
 * check, an index or an operator class. Internal triggers of foreign keys run none, unless they change another table.
 * Before PostgreSQL 15 the functions of a generated column are among the dependencies of its table.
 */
const INERT_WRITES_SQL = `
union all
select 'inertWrites', json_build_array(
  c.oid::text,
  exists (
    select from pg_catalog.pg_constraint f
    where f.confrelid = c.oid and f.contype = 'f' and (f.confdeltype not in ('a', 'r') or f.confupdtype not in ('a', 'r'))),
  exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attidentity <> '')
    or exists (select from pg_catalog.pg_attrdef d where d.adrelid = c.oid and d.adbin::text ~ ':funcid 1574 '))::text
from relations c
join pg_catalog.pg_class k on k.oid = c.oid
where k.relkind = 'r' and not k.relhasrules
  and not exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
  and not exists (select from pg_catalog.pg_inherits i where i.inhparent = c.oid)
  and not exists (
    select from (
      select 'pg_catalog.pg_attrdef'::regclass as class, d.oid as object from pg_catalog.pg_attrdef d where d.adrelid = c.oid
      union all
      select 'pg_catalog.pg_constraint'::regclass, n.oid from pg_catalog.pg_constraint n where n.conrelid = c.oid
      union all
      select 'pg_catalog.pg_class'::regclass, i.indexrelid from pg_catalog.pg_index i where i.indrelid = c.oid
      union all
      select 'pg_catalog.pg_class'::regclass, c.oid
    ) part
    join pg_catalog.pg_depend d on d.classid = part.class and d.objid = part.object
    where d.refobjid >= 16384 and d.refclassid in (
      'pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_opclass'::regclass))
  and not exists (
    select from (
      select d.adbin::text as tree from pg_catalog.pg_attrdef d where d.adrelid = c.oid
      union all
      select n.conbin::text from pg_catalog.pg_constraint n where n.conrelid = c.oid and n.contype = 'c'
    ) expression
    cross join pg_catalog.regexp_matches(expression.tree, ':(?:funcid|opfuncid) ([1-9]\\d*)', 'g') called
    join pg_catalog.pg_proc p on p.oid = called[1]::oid
    where p.provolatile = 'v'
      and p.proname not in ('nextval', 'gen_random_uuid', 'random', 'clock_timestamp', 'timeofday'))`;

/**
 * Returns rows of a section name and an entry: JSON, or for `viewTree` an object id, a blank and a parse tree. Works
 * with PostgreSQL 12 to 18. System schemas and partitions are omitted, so requests cannot name them; rows of a
 * partition that a function gives count as those of its partitioned table. Object ids are texts, column numbers are
 * numbers. One statement is one snapshot.
 */
export const CATALOGUE_SQL = `
with recursive privileges(role, of) as (
  select r.oid, r.oid from pg_catalog.pg_roles r where pg_catalog.pg_has_role(r.oid, 'member')
  union
  select p.role, m.roleid
  from privileges p
  join pg_catalog.pg_auth_members m on m.member = p.of and pg_catalog.pg_has_role(p.of, m.roleid, 'usage')
),
relations as (
  select c.oid, c.relname, n.nspname, c.relkind, c.reltype, c.relacl, c.relowner, c.relispartition
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not c.relispartition and n.nspname <> 'information_schema' and n.nspname !~ '^pg_(catalog|toast|temp_|toast_temp_)'
),
attributes as (
  select a.attrelid, json_agg(json_build_array(
    a.attnum, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), d.description) order by a.attnum) as columns
  from pg_catalog.pg_attribute a
  join relations c on c.oid = a.attrelid
  left join pg_catalog.pg_description d
    on d.classoid = 'pg_catalog.pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum
  where a.attnum > 0 and not a.attisdropped
  group by a.attrelid
),
grants as (
  select lists.oid, json_agg(distinct e.grantee::text) as grantees
  from (
    select c.oid, coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)) as list from relations c
    union all
    select a.attrelid, a.attacl from pg_catalog.pg_attribute a
    join relations c on c.oid = a.attrelid where a.attacl is not null
  ) lists
  cross join lateral pg_catalog.aclexplode(lists.list) e
  group by lists.oid
),
keys as (
  select k.conrelid, json_agg(json_build_array(k.contype, k.conkey) order by k.contype, k.conname) as keys
  from pg_catalog.pg_constraint k
  where k.contype in ('p', 'u')
  group by k.conrelid
)
select 'table', json_build_array(
  c.oid::text, c.nspname, c.relname, c.relkind, coalesce(a.columns, '[]'), coalesce(k.keys, '[]'),
  coalesce(g.grantees, '[]'), d.description)::text
from relations c
left join attributes a on a.attrelid = c.oid
left join grants g on g.oid = c.oid
left join keys k on k.conrelid = c.oid
left join pg_catalog.pg_description d
  on d.classoid = 'pg_catalog.pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
union all
select 'viewTree', c.oid || ' ' || r.ev_action::text
from relations c
join pg_catalog.pg_rewrite r on r.ev_class = c.oid and r.ev_type = '1'
where c.relkind in ('v', 'm')
union all
(
  select 'foreignKey', json_build_array(f.conname, f.conrelid::text, f.confrelid::text, f.conkey, f.confkey)::text
  from pg_catalog.pg_constraint f
  join relations c on c.oid = f.conrelid
  where f.contype = 'f' and f.conparentid = 0
  order by f.conname, f.oid
)
union all
(
  select 'rowFunction', json_build_array(
    argument.oid::text, n.nspname, p.proname, pg_catalog.format_type(p.prorettype, null), p.proretset, p.prorows,
    (
      select c.oid::text
      from pg_catalog.pg_type t
      join relations c on c.oid = coalesce(pg_catalog.pg_partition_root(t.typrelid), t.typrelid)
      where t.oid = p.prorettype
    ))::text
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  join relations argument on argument.reltype = p.proargtypes[0]
  where p.prokind = 'f' and p.pronargs > 0 and p.pronargs - p.pronargdefaults <= 1
  order by p.oid
)
union all ${FUNCTIONS_SQL}
union all
(
  select 'type', json_build_array(
    n.nspname, t.typname, pg_catalog.format_type(t.oid, null), pg_catalog.format_type(nullif(t.typbasetype, 0), null),
    t.oid::text, equality.schema)::text
  from pg_catalog.pg_type t
  join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  left join pg_catalog.pg_class c on c.oid = t.typrelid
  left join lateral (
    select s.nspname as schema
    from pg_catalog.pg_opclass o
    join pg_catalog.pg_am m on m.oid = o.opcmethod and m.amname in ('btree', 'hash')
    join pg_catalog.pg_amop a on a.amopfamily = o.opcfamily and a.amoplefttype = t.oid and a.amoprighttype = t.oid
      and a.amopstrategy = case m.amname when 'btree' then 3 else 1 end
    join pg_catalog.pg_operator e on e.oid = a.amopopr and e.oprname = '='
    join pg_catalog.pg_namespace s on s.oid = e.oprnamespace and s.nspname <> 'pg_catalog'
    where o.opcintype = t.oid and o.opcdefault
    order by m.amname
    limit 1
  ) equality on true
  where (t.typtype in ('d', 'e', 'r', 'm') or (t.typtype = 'b' and t.typcategory <> 'A') or c.relkind = 'c')
    and n.nspname not in ('pg_catalog', 'information_schema')
  order by t.oid
)
union all
select 'representation', json_build_array(
  pg_catalog.format_type(d.oid, null),
  case when k.castsource = d.oid then 'shown' when k.castsource = 'pg_catalog.json'::pg_catalog.regtype then 'written' else 'read' end,
  n.nspname, p.proname)::text
from pg_catalog.pg_cast k
join pg_catalog.pg_proc p on p.oid = k.castfunc and p.pronargs = 1
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
join pg_catalog.pg_type d on d.typtype = 'd' and (
  (k.castsource = d.oid and k.casttarget = 'pg_catalog.json'::pg_catalog.regtype)
  or (k.casttarget = d.oid and k.castsource in ('pg_catalog.json'::pg_catalog.regtype, 'pg_catalog.text'::pg_catalog.regtype)))
union all
select distinct 'textSearchConfig', to_json(c.cfgname)::text
from pg_catalog.pg_ts_config c
union all
select 'role', json_build_array(
  r.rolname, r.rolsuper, (select json_agg(p.of::text) from privileges p where p.role = r.oid),
  (
    select json_agg(json_build_array(s.name, pg_catalog.substr(c, pg_catalog.strpos(c, '=') + 1)) order by s.name)
    from pg_catalog.pg_roles o, pg_catalog.unnest(o.rolconfig) c
    join pg_catalog.pg_settings s on pg_catalog.lower(s.name) = pg_catalog.lower(pg_catalog.split_part(c, '=', 1))
    where o.oid = r.oid and s.context = 'user' and s.name ~ '^[A-Za-z_][A-Za-z0-9_.]*$'
      and s.name not in ('role', 'search_path', 'transaction_isolation', 'transaction_read_only', 'transaction_deferrable')
      and (s.name = 'default_transaction_isolation' or s.name not like 'default_transaction_%')
  ))::text
from pg_catalog.pg_roles r
where pg_catalog.pg_has_role(r.oid, 'member')
${WRITE_FACTS_SQL}
${DISCOVERY_SQL}
${INERT_SQL}
${INERT_WRITES_SQL}
${ANNOUNCING_SQL}
${SETTINGS_SQL}`;

/** The grantee PUBLIC in access control lists. */
const EVERYBODY = '0';

/** Builds the schema from a catalogue in small steps. */
export function* schemaOf({ catalogue, reads, beganMs, state }: Reading): Generator<undefined, Schema> {
  const draft = new SchemaDraft();
  for (const entry of entriesOf(catalogue)) {
    draft.add(entry);
    yield;
  }
  for (const relation of draft.relations.values()) {
    draft.addTable(relation);
    yield;
  }
  return {
    ...draft.schema,
    reads,
    beganMs,
    ...(state !== undefined && { state }),
    digest: digestOf(catalogue),
  };
}

/** Two catalogues with the same digest have the same entries. */
function digestOf(catalogue: Catalogue): string {
  const copy = Buffer.from(new Uint8Array(catalogue));
  return createHash('sha1').update(copy).digest('base64url');
}

/** Collects the entries of a catalogue; tables come before the entries that refer to them. */
class SchemaDraft {
  readonly relations = new Map<string, RelationDraft>();
  readonly #tables = new Map<string, Map<string, Table>>();
  readonly #foreignKeys: ForeignKey[] = [];
  readonly #functions = new Map<string, Map<string, StoredFunction[]>>();
  readonly #mediaHandlers: MediaHandler[] = [];
  readonly #types: TableName[] = [];
  readonly #typeIds = new Set<string>();
  readonly #domains = new Map<string, string>();
  readonly #equalities = new Map<string, string>();
  readonly #representations = new Map<string, Representation>();
  readonly #textSearchConfigs = new Set<string>();
  readonly #roles = new Map<string, ReadonlySet<string> | 'all'>();
  readonly #roleSettings = new Map<string, RoleSettings>();
  readonly #shapes = new Map<string, TypeShape>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #settings: StoredSetting[] = [];

  /** Adds an entry, by its section. */
  readonly #take: { readonly [S in CatalogueSection]: (entry: CatalogueEntries[S]) => void } = {
    table: (entry) => void this.relations.set(entry[0], relationDraftOf(entry)),
    view: ([id, columns]) => void (this.#relation(id).shown = columns),
    foreignKey: (entry) => void this.#foreignKeys.push(...foreignKeyOf(entry, this.relations)),
    rowFunction: (entry) =>
      void this.relations.get(entry[0])?.functions.push(rowFunctionOf(entry, this.relations)),
    function: (entry) => this.#addFunction(storedFunctionOf(entry, this.relations)),
    mediaHandler: (entry) => void this.#mediaHandlers.push(mediaHandlerOf(entry, this.relations)),
    type: (entry) => this.#addType(entry),
    representation: (entry) => this.#addRepresentation(entry),
    textSearchConfig: (entry) => void this.#textSearchConfigs.add(entry),
    role: (entry) => this.#addRole(entry),
    writing: (entry) => this.#addFacts(entry),
    access: (entry) => this.#addAccess(entry),
    shape: (entry) => void this.#shapes.set(entry[0], shapeOf(entry)),
    inert: (entry) => void (this.#relation(entry).isInert = true),
    announcing: (entry) => void (this.#relation(entry).announces = true),
    inertWrites: ([id, cascades, sequences]) =>
      void (this.#relation(id).inertWrites = { cascades, sequences }),
    setting: ([name, value]) => void this.#settings.push({ name, value }),
    namespace: (entry) => void this.#namespaces.set(entry[0], namespaceOf(entry)),
  };

  add([section, entry]: SectionEntry): void {
    (this.#take[section] as (entry: SectionEntry[1]) => void)(entry);
  }

  #relation(id: string): RelationDraft {
    return this.relations.get(id) as RelationDraft;
  }

  #addFacts(entry: CatalogueEntries['writing']): void {
    const relation = this.#relation(entry[0]);
    relation.facts = writeFactsOf(entry, relation.columnNames);
  }

  #addAccess(entry: CatalogueEntries['access']): void {
    const relation = this.#relation(entry[0]);
    relation.access = accessOf(entry, relation.columnNames);
  }

  #addType([schema, name, formatted, of, id, equality]: CatalogueEntries['type']): void {
    this.#types.push({ schema, name });
    this.#typeIds.add(id);
    if (of !== null) this.#domains.set(formatted, of);
    if (equality !== null) this.#equalities.set(formatted, equality);
  }

  #addRepresentation([domain, use, schema, name]: CatalogueEntries['representation']): void {
    const known = this.#representations.get(domain);
    this.#representations.set(domain, { ...known, [use]: { schema, name } });
  }

  /** Adds a table after all relations have been read, because a view may refer to any of them. */
  addTable(relation: RelationDraft): void {
    const { schema, name } = relation.name;
    const siblings = this.#tables.get(schema) ?? new Map<string, Table>();
    this.#tables.set(schema, siblings.set(name, tableOf(relation, this.relations)));
  }

  #addRole([role, isSuperuser, privilegesOf, settings]: CatalogueEntries['role']): void {
    if (settings) this.#roleSettings.set(role, roleSettingsOf(settings));
    this.#roles.set(role, isSuperuser ? 'all' : new Set([EVERYBODY, ...privilegesOf]));
  }

  #addFunction(called: StoredFunction): void {
    const siblings = this.#functions.get(called.schema) ?? new Map<string, StoredFunction[]>();
    this.#functions.set(called.schema, siblings);
    siblings.set(called.name, [...(siblings.get(called.name) ?? []), called]);
  }

  get schema(): Schema {
    return {
      tables: this.#tables,
      foreignKeys: this.#foreignKeys,
      functions: this.#functions,
      mediaHandlers: this.#mediaHandlers,
      types: this.#types,
      typeIds: this.#typeIds,
      domains: this.#domains,
      equalities: this.#equalities,
      representations: this.#representations,
      textSearchConfigs: this.#textSearchConfigs,
      roles: this.#roles,
      roleSettings: this.#roleSettings,
      shapes: this.#shapes,
      namespaces: this.#namespaces,
      settings: this.#settings,
    };
  }
}

/** Settings of a role that are not set by name. */
const APPLIED_APART: ReadonlySet<string> = new Set(['statement_timeout', 'default_transaction_isolation']);

function roleSettingsOf(settings: readonly (readonly [name: string, value: string])[]): RoleSettings {
  const valueOf = (wanted: string): string | null => settings.find(([name]) => name === wanted)?.[1] ?? null;
  const others = settings.filter(([name]) => !APPLIED_APART.has(name));
  const timeout = valueOf('statement_timeout');
  const timeoutMs = timeout === null ? undefined : durationMs(timeout);
  const isolation = isolationOf(valueOf('default_transaction_isolation'));
  return {
    names: others.map(([name]) => name),
    values: others.map(([, value]) => value),
    // 0 means no timeout.
    ...(timeoutMs && { timeoutMs }),
    ...(isolation && { isolation }),
  };
}

function rowFunctionOf(
  [, schema, name, type, returnsSet, rows, returned]: CatalogueEntries['rowFunction'],
  relations: RelationDrafts,
): RowFunction {
  const returns = returned === null ? undefined : relations.get(returned)?.name;
  const single = !returnsSet || rows === 1;
  return { schema, name, type, returnsSet, single, ...(returns && { returns }) };
}

function tableOf(relation: RelationDraft, relations: RelationDrafts): Table {
  const { id, name, kind, primaryKey, uniques, grantees, comment, functions, shown, facts } = relation;
  const { access, isInert, inertWrites } = relation;
  const bases = shown ? basesOf(relation, relations) : [{ base: id }];
  const followed = followedOf(relation, bases, relations);
  return {
    ...name,
    columns: columnsWithFacts(relation, relations),
    primaryKey: primaryKey ?? (shown && viewKey(bases, relations)) ?? [],
    uniques,
    grantees,
    ...(comment !== null && { comment }),
    isView: kind === 'v' || kind === 'm',
    kind,
    ...(facts && { uniqueIndexes: facts.uniqueIndexes, exclusions: facts.exclusions }),
    ...(facts?.completesRows && { completesRows: true }),
    bases,
    functions,
    ...(access && { access }),
    ...(isInert && { isInert }),
    ...(inertWrites && { inertWrites }),
    ...(followed && { followed }),
  };
}

function foreignKeyOf(
  [name, table, target, columns, targetColumns]: CatalogueEntries['foreignKey'],
  relations: RelationDrafts,
): ForeignKey[] {
  const from = relations.get(table);
  const to = relations.get(target);
  if (!from || !to) return [];
  const here = namesOf(columns, from.columnNames);
  const there = namesOf(targetColumns, to.columnNames);
  const own = new Set(here);
  const keys = from.primaryKey ? [from.primaryKey, ...from.uniques] : from.uniques;
  const unique = keys.some((key) => key.length === own.size && key.every((column) => own.has(column)));
  const pairs = here.map((column, i) => [column, there[i] ?? ''] as const);
  return [{ name, table, target, pairs, unique }];
}
