import { noFunction, noTable } from '../fault/index.ts';
import { type DescribeRequest, only, type OptionsRequest, type Preferences } from '../request/index.ts';
import { mayUse, type RoleSettings, type Schema, type StoredFunction, type Table } from '../schema/index.ts';

/** A description of the API, as far as a role may use it. */
export interface PlannedDescription {
  readonly kind: 'describe';
  readonly request: DescribeRequest;
  readonly role: string;
  readonly known: Schema;
  /** Those that it honours. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
}

export function planDescription(request: DescribeRequest, role: string, known: Schema): PlannedDescription {
  const preferences = only(request.head.preferences, ['handling', 'tx', 'timeZone']);
  return {
    kind: 'describe',
    request,
    role,
    known,
    preferences,
    roleSettings: known.roleSettings?.get(role),
  };
}

/** The methods that a resource has by its nature. */
export interface PlannedOptions {
  readonly kind: 'options';
  readonly request: OptionsRequest;
  readonly methods: readonly string[];
}

const READABLE = ['OPTIONS', 'GET', 'HEAD'];

/** Of the root, which needs no schema. */
export function planRootOptions(request: OptionsRequest): PlannedOptions {
  return { kind: 'options', request, methods: READABLE };
}

/**
 * Of a table or function. What the role has no privilege on is not there: no response differs from that for a name which
 * nobody has. Throws PGRST202 and PGRST205.
 */
export function planOptions(request: OptionsRequest, role: string, known: Schema): PlannedOptions {
  const { resource, schema } = request.head;
  const { kind, name } = resource;
  const methods = kind === 'function' ? callMethods : tableMethods;
  return { kind: 'options', request, methods: methods({ schema, name }, role, known) };
}

interface ResourceName {
  readonly schema: string;
  readonly name: string;
}

/** What GET could not run is not offered for it. */
function callMethods({ schema, name }: ResourceName, role: string, known: Schema): readonly string[] {
  const overloads: readonly StoredFunction[] = known.functions?.get(schema)?.get(name) ?? [];
  const callable = overloads.filter((one) => !one.isProcedure && mayUse(role, one, known));
  if (callable.length === 0) throw noFunction({ schema, name, given: [], isJson: false }, null);
  return callable.every(({ volatility }) => volatility === 'volatile')
    ? ['OPTIONS', 'POST']
    : [...READABLE, 'POST'];
}

/** In PostgREST's order. */
function tableMethods({ schema, name }: ResourceName, role: string, known: Schema): readonly string[] {
  const table: Table | undefined = known.tables.get(schema)?.get(name);
  if (!table || !mayUse(role, table, known)) throw noTable(schema, name, undefined);
  const { access, primaryKey } = table;
  const { insertable = false, updatable = false, deletable = false } = access ?? {};
  const writes: readonly (readonly [method: string, isAllowed: boolean])[] = [
    ['POST', insertable],
    ['PUT', insertable && updatable && primaryKey.length > 0],
    ['PATCH', updatable],
    ['DELETE', deletable],
  ];
  return [...READABLE, ...writes.flatMap(([method, isAllowed]) => (isAllowed ? [method] : []))];
}
