import type { DbrestConfig } from '../directives/index.ts';
import { DbrestFault, timeoutTooLong } from '../fault/index.ts';
import {
  type CallRequest,
  preferredTimeMs,
  type ReadRequest,
  type Request,
  type RequestHead,
  type WriteRequest,
} from '../request/index.ts';
import type { MediaHandler, RoleSettings, Schema, SchemaCache } from '../schema/index.ts';
import { findCall, formCall, madeBy, type FoundCall, type PlannedCall } from './call.ts';
import {
  planDescription,
  type PlannedDescription,
  type PlannedOptions,
  planOptions,
  planRootOptions,
} from './describe.ts';
import { chooseForm, mediaHandlersOf } from './form.ts';
import { legacyWarning } from './embed.ts';
import type { Context } from './node.ts';
import { findRead, formRead, type FoundRead, type PlannedRead } from './read.ts';
import { versionColumn } from './condition.ts';
import { findWrite, formWrite, type FoundWrite, type PlannedWrite } from './write.ts';

export type { CallPlan, PlannedCall } from './call.ts';
export { baseOf, isByKey, versionColumn, type WriteCondition } from './condition.ts';
export type { PlannedDescription, PlannedOptions } from './describe.ts';
export { type RowForm, type RowShape, type RowTail, shownMedia } from './form.ts';
export {
  type Aggregation,
  type Cast,
  type Condition,
  type ConditionOn,
  type Embed,
  isInert,
  type Output,
  type ReadNode,
  type ReadPlan,
  type ReadTarget,
  type Sort,
  type Value,
  valuesAsked,
  valuesBelow,
  valuesRead,
} from './node.ts';
export { planRead, type PlannedRead } from './read.ts';
export type { Conflict, InsertPlan } from './insert.ts';
export { type InsertedRows, type NestedInsert, writtenTables } from './nested-insert.ts';
export {
  type DeletePlan,
  type TouchedRows,
  type UpdatePlan,
  elementsKey,
  type FoundWrite,
  type PlannedWrite,
  type WritePlan,
} from './write.ts';
export type { WrittenColumn, WrittenColumns } from './written-columns.ts';

/** A planned request: all its names have been found in the schema. */
export type Plan = (PlannedRead | PlannedWrite | PlannedCall | PlannedDescription | PlannedOptions) & {
  /** The header `Warning`. */
  readonly warning?: string;
};

/** Planned rows before the media type is chosen. */
interface FoundRows {
  readonly kind: 'rows';
  readonly found: FoundRead | FoundWrite | FoundCall;
  readonly handlers: readonly MediaHandler[];
  readonly roleSettings: RoleSettings | undefined;
  readonly warning: string | undefined;
}

type FoundNames = FoundRows | PlannedDescription | PlannedOptions;

/** Planning: it looks up the names of a request in the schema and chooses the form of the response. */
interface Planning {
  /**
   * Plans a request against the current schema. Returns a promise only while the schema is being loaded. Throws or
   * rejects with a `DbrestFault`.
   */
  readonly planOf: (request: Request, role: string) => Plan | Promise<Plan>;
  /** Plans a request against one version of the schema. Throws a `DbrestFault`. */
  readonly planIn: (known: Schema, request: Request, role: string) => Plan;
  /** The methods that a resource supports. The schema is not read again for an unknown one. Rejects as `planOf`. */
  readonly methodsOf: (head: RequestHead, role: string) => Promise<readonly string[]>;
}

export function compilePlan(config: DbrestConfig, schema: KnownSchema): Planning {
  const { maxRows, aggregates, legacyTargetNames, extraSearchPath, rowVersion } = config;
  const searchPaths = new Map(config.schemas.map((name) => [name, [name, ...extraSearchPath]] as const));

  const find = (request: Request, role: string, known: Schema): FoundNames => {
    if (request.kind === 'options') return planOptions(request, role, known);
    if (request.kind === 'describe') return planDescription(request, role, known);
    const { schema: name, resource } = request.head;
    const searchPath = searchPaths.get(name) ?? [];
    const asked = new Map<string, string>();
    const legacyTargets = legacyTargetNames ? asked : 'refused';
    const limits = { maxRows, aggregates, legacyTargets, rowVersion } as const;
    const context = { schema: name, table: resource.name, role, searchPath, known, ...limits };
    const found = findRows(request, context);
    const handlers = mediaHandlersOf(found.rows, context);
    const roleSettings = known.roleSettings?.get(role);
    return { kind: 'rows', found, handlers, roleSettings, warning: legacyWarning(asked) };
  };
  const form = (found: FoundNames): Plan => (found.kind === 'rows' ? formRows(found, config) : found);

  const planOf: Planning['planOf'] = (request, role) => {
    const isRoot = request.head.resource.kind === 'root';
    if (request.kind === 'options' && isRoot) return planRootOptions(request);
    const found = withSchema(schema, (known) => find(request, role, known));
    return found instanceof Promise ? found.then(form) : form(found);
  };
  return {
    planOf,
    planIn: (known, request, role) => form(find(request, role, known)),
    async methodsOf(head, role) {
      const request = { kind: 'options', head } as const;
      if (head.resource.kind === 'root') return planRootOptions(request).methods;
      return planOptions(request, role, await schema.current()).methods;
    },
  };
}

function findRows(request: ReadRequest | WriteRequest | CallRequest, context: Context): FoundRows['found'] {
  switch (request.kind) {
    case 'read':
      return findRead(request, context);
    case 'write':
      return findWrite(request, context);
    case 'call':
      return findCall(request, context);
  }
}

function formRows(rows: FoundRows, config: DbrestConfig): Plan {
  const plan = boundedPlan(formFound(rows, config), config.timeoutMs);
  return rows.warning === undefined ? plan : { ...plan, warning: rows.warning };
}

/** Keeps the time that the client prefers if the request may take that long. Throws PGRST129 if it must be kept. */
function boundedPlan<P extends PlannedRead | PlannedWrite | PlannedCall>(plan: P, usualMs: number): P {
  const { timeout = 0, ...others } = plan.preferences;
  const preferredMs = preferredTimeMs(plan.preferences);
  if (preferredMs === undefined) return plan;
  const ownMs = plan.kind === 'call' ? plan.call.called.timeoutMs : undefined;
  const mostMs = ownMs ?? Math.min(usualMs, plan.roleSettings?.timeoutMs ?? Infinity);
  // 0: the function itself sets no limit.
  if (mostMs === 0 || preferredMs <= mostMs) return plan;
  if (others.handling === 'strict') throw timeoutTooLong(timeout, mostMs);
  return { ...plan, preferences: others };
}

function formFound(
  { found, handlers, roleSettings }: FoundRows,
  config: DbrestConfig,
): PlannedRead | PlannedWrite | PlannedCall {
  const { rows } = found;
  const { head } = found.request;
  const made = found.kind === 'call' ? madeBy(found.call) : { mediaType: undefined, lacksXml: false };
  const isShown = found.kind !== 'write' || head.preferences.return === 'representation';
  const media = chooseForm(head, { rows, handlers, isShown, ...made }, config.plan);
  switch (found.kind) {
    case 'read':
      return formRead(found, media, { roleSettings, version: versionColumn(rows.table, config) });
    case 'write':
      return formWrite(found, media, { roleSettings, version: versionColumn(found.write.table, config) });
    case 'call':
      return formCall(found, media, roleSettings);
  }
}

/** The source of the schema. */
type KnownSchema = Pick<SchemaCache, 'current' | 'newerThan'>;

/** Plans against the cached schema, and again against a newer one if planning fails. */
function withSchema<T>(schema: KnownSchema, plan: (known: Schema) => T): T | Promise<T> {
  const attempt = (known: Schema): T | Promise<T> => {
    try {
      return plan(known);
    } catch (error) {
      return planAgain(schema, plan, { known, error });
    }
  };
  const current = schema.current();
  return current instanceof Promise ? current.then(attempt) : attempt(current);
}

/** Two reads may have begun too early to contain a name: the one in progress, and the next one, which is joined. */
const MOST_READS = 3;
/** Codes of unknown columns, types, relationships, functions and tables, which may be newer than the last read. */
const MISSES: ReadonlySet<string> = new Set(['42703', '42704', 'PGRST200', 'PGRST202', 'PGRST205']);

/** Plans against newer schemas, until one has been read since this call. */
async function planAgain<T>(
  schema: KnownSchema,
  plan: (known: Schema) => T,
  failed: { readonly known: Schema; readonly error: unknown },
): Promise<T> {
  const failedMs = Date.now();
  let { known, error } = failed;
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const waits = error instanceof DbrestFault && MISSES.has(error.code);
    const fresh = await schema.newerThan(known, { waits });
    if (!fresh) break;
    try {
      return plan(fresh);
    } catch (again) {
      error = again;
    }
    if ((fresh.beganMs ?? Infinity) > failedMs) break;
    known = fresh;
  }
  throw error;
}
