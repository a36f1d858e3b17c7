import type { LocationFacts, TrialDescription, TrialResource } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { functionPath } from '../request/index.ts';
import type { Schema, StoredFunction, Table } from '../schema/index.ts';
import type { Allowed } from './roles.ts';

const MOST_RESOURCES = 500;
const MOST_FIELDS = 60;

interface Described {
  readonly roles: readonly Allowed[];
  readonly known: Schema;
  readonly config: Pick<DbrestConfig, 'schemas' | 'rpc'>;
  readonly location: LocationFacts;
}

/** What can be tried: all tables and functions of the exposed schemas, those that no role may use too. */
export function describeApi({ roles, known, config, location }: Described): TrialDescription {
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
