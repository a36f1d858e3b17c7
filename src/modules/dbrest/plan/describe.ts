import { noFunction, noTable } from '../fault/index.ts';
import {
  type DescribeRequest,
  only,
  type OptionsRequest,
  type Preferences,
  QUERY,
} from '../request/index.ts';
import { mayUse, type RoleSettings, type Schema, type StoredFunction, type Table } from '../schema/index.ts';

/** The plan of an OpenAPI description for a role. */
export interface PlannedDescription {
  readonly kind: 'describe';
  readonly request: DescribeRequest;
  readonly role: string;
  readonly known: Schema;
  /** The preferences that are honoured. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
}

/** Plans a description. */
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

/** The methods that a resource supports. */
export interface PlannedOptions {
  readonly kind: 'options';
  readonly request: OptionsRequest;
  readonly methods: readonly string[];
}

const READABLE = ['OPTIONS', 'GET', 'HEAD'];
/** The methods that read tables and functions. */
const READS = [...READABLE, QUERY];

/** The methods of the root, which does not depend on the schema. */
export function planRootOptions(request: OptionsRequest): PlannedOptions {
  return { kind: 'options', request, methods: READABLE };
}

/**
 * The methods of a table or function. A resource on which the role has no privilege is treated as unknown, so the
 * response does not disclose it. Throws PGRST202 and PGRST205.
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

/** GET is listed only if some overload is not volatile. */
function callMethods({ schema, name }: ResourceName, role: string, known: Schema): readonly string[] {
  const overloads: readonly StoredFunction[] = known.functions?.get(schema)?.get(name) ?? [];
  const callable = overloads.filter((one) => !one.isProcedure && mayUse(role, one, known));
  if (callable.length === 0) throw noFunction({ schema, name, given: [], isJson: false }, null);
  return callable.every(({ volatility }) => volatility === 'volatile')
    ? ['OPTIONS', 'POST']
    : [...READS, 'POST'];
}

/** The methods of a table, in PostgREST's order. */
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
  return [...READS, ...writes.flatMap(([method, isAllowed]) => (isAllowed ? [method] : []))];
}
