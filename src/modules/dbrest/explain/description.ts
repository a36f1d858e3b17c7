import {
  type LocationFacts,
  type TrialDescription,
  type TrialResource,
  TrialRefusal,
} from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { functionPath, type RequestHead } from '../request/index.ts';
import type { Schema, StoredFunction, Table } from '../schema/index.ts';
import type { Statement } from '../sql/index.ts';
import { ROLES_SQL } from './access.ts';

const MOST_RESOURCES = 500;
const MOST_FIELDS = 60;

interface DescribedApi {
  readonly roles: readonly Allowed[];
  readonly known: Schema;
  readonly config: Pick<DbrestConfig, 'schemas' | 'rpc'>;
  readonly location: LocationFacts;
}

/** The objects that can be tried: all tables and functions of the exposed schemas, also those that no role may use. */
export function describeApi({ roles, known, config, location }: DescribedApi): TrialDescription {
  const calls = functionPath(location, config.rpc);
  const resources = config.schemas.flatMap((schema, i) => {
    const profile = i === 0 ? {} : { profile: schema };
    const tables = calls === '/' ? [] : [...(known.tables.get(schema)?.values() ?? [])];
    const functions = calls === undefined ? [] : [...(known.functions?.get(schema)?.values() ?? [])];
    return [
      ...tables.filter(({ access }) => access?.isPartition !== true).map((table) => tableOf(table, profile)),
      ...functions.flatMap((overloads) => functionOf(overloads, { profile, calls: calls ?? '/' })),
    ];
  });
  const order = (one: TrialResource): string => `${one.kind === 'table' ? 0 : 1} ${one.name}`;
  const sorted = resources.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
  return { roles, resources: sorted.slice(0, MOST_RESOURCES), isCut: sorted.length > MOST_RESOURCES };
}

type Profile = Pick<TrialResource, 'profile'>;

function tableOf(
  { name, comment = '', columns, primaryKey, access }: Table,
  profile: Profile,
): TrialResource {
  const { insertable = false, updatable = false, deletable = false } = access ?? {};
  const methods = ['GET', ...(insertable ? ['POST'] : []), ...(updatable ? ['PATCH'] : [])];
  return {
    name,
    kind: 'table',
    ...profile,
    path: `/${encodeURIComponent(name)}`,
    summary: firstLine(comment),
    methods: [...methods, ...(deletable ? ['DELETE'] : [])],
    fields: [...columns.values()].slice(0, MOST_FIELDS).map((column) => ({
      name: column.name,
      type: column.type,
      isKey: primaryKey.includes(column.name),
      isRequired: column.isNotNull === true && column.defaultSql === undefined && !column.identity,
    })),
  };
}

/** The first of several functions with one name stands for all. */
function functionOf(
  overloads: readonly StoredFunction[],
  { profile, calls }: { readonly profile: Profile; readonly calls: '/rpc/' | '/' },
): readonly TrialResource[] {
  const called = overloads.filter(({ isProcedure }) => !isProcedure);
  const [first] = called;
  if (!first) return [];
  const isReadable = called.some(({ volatility }) => volatility !== 'volatile');
  return [
    {
      name: first.name,
      kind: 'function',
      ...profile,
      path: `${calls}${encodeURIComponent(first.name)}`,
      summary: firstLine(first.comment ?? ''),
      methods: isReadable ? ['GET', 'POST'] : ['POST'],
      fields: first.arguments.slice(0, MOST_FIELDS).map(({ name, type, required }) => ({
        name,
        type,
        isKey: false,
        isRequired: required,
      })),
    },
  ];
}

function firstLine(comment: string): string {
  return comment.split('\n', 1)[0] ?? '';
}

/** A role that trials may have. */
export type Allowed = TrialDescription['roles'][number];

/** The statement that lists the roles that trials may have. */
export function rolesStatement(anonRole: string | undefined): Statement {
  return { text: ROLES_SQL, values: [anonRole ?? null] };
}

/** Refuses a role that requests cannot have, or should not be tried with. Throws a `TrialRefusal` (403). */
export function checkRole(role: string, allowed: readonly Allowed[]): void {
  if (allowed.some(({ name }) => name === role)) return;
  throw new TrialRefusal(
    403,
    'the role cannot be tried: the login role may not become it, or it is the login role, a superuser or one of PostgreSQL itself',
  );
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'reads rows of the database',
  HEAD: 'reads rows of the database',
  QUERY: 'reads rows of the database',
  POST: 'inserts rows into the database',
  PUT: 'puts a row into the database',
  PATCH: 'changes rows of the database',
  DELETE: 'deletes rows of the database',
};

/** The effect of a request, as a phrase without a subject. */
export function doesOf({ resource, method, kind }: RequestHead): string {
  if (kind === 'options') return 'lists the allowed methods';
  if (resource.kind === 'root') return 'describes the API of the database';
  return resource.kind === 'function'
    ? 'calls a function of the database'
    : (VERBS[method] ?? 'queries the database');
}
