import { ambiguousFunction, invalidJson, noFunction, noSet, unequalKeys } from '../fault/index.ts';
import {
  type CallInput,
  type CallRequest,
  type Media,
  only,
  type Preference,
  type Preferences,
} from '../request/index.ts';
import {
  type Argument,
  mayUse,
  mostSimilar,
  type RoleSettings,
  type Schema,
  type StoredFunction,
  type Table,
} from '../schema/index.ts';
import { baseOf } from './condition.ts';
import { isConstrained, mostRows, type RowForm, type RowShape, shapeOf, shownMedia, tailOf } from './form.ts';
import type { Context, ReadPlan } from './node.ts';
import { planRows } from './read.ts';

/** The function that a call resolves to. */
interface FoundFunction {
  readonly called: StoredFunction;
  /** The whole input is passed as the single argument. */
  readonly takesAll: boolean;
}

const LEAST_SIMILARITY = 0.75;
const LEAST_SIMILARITY_OF_ARGUMENTS = 0.33;
/** Bounds the cost of looking for similar names. */
const MOST_CANDIDATES = 5_000;
const JSON_TYPES: readonly string[] = ['json', 'jsonb'];

/**
 * Finds the overload whose arguments match the given names, else the one that takes the whole body. `asObject`: only a
 * function with a single JSON argument of any name. Throws PGRST102, PGRST202 and PGRST203.
 */
function findFunction(input: CallInput, asObject: boolean, context: Context): FoundFunction {
  const { known, schema, table: name } = context;
  const overloads = known.functions?.get(schema)?.get(name) ?? [];
  const callable = overloads.filter(({ isProcedure }) => !isProcedure);
  const given = namesOf(input);
  // The key "" of a JSON body is the single unnamed argument.
  const isNamed = given?.every((name) => name !== '') || isJson(input);
  const named = asObject || !given || !isNamed ? [] : callable.filter((one) => isFilledBy(one, given));
  const whole = callable.filter((one) => takesWhole(one, input, { asObject, known }));
  // A value without keys is passed as the single argument.
  const takesAll = named.length === 0 || (!hasKeys(input) && whole.length > 0);
  const fitting = takesAll ? whole : named;
  // Overloads that the role may not call are not ambiguous, and must not be disclosed.
  const usable = fitting.filter((one) => mayUse(context.role, one, known));
  if (usable.length > 1) throw ambiguousFunction(usable);
  const called = usable[0] ?? fitting[0];
  if (called) {
    if (takesAll && input.kind === 'json' && input.body.length === 0) throw invalidJson();
    return { called, takesAll };
  }
  if (input.kind === 'json' && input.differs) throw unequalKeys(input.differs, 'calls');
  throw noFunction(
    {
      schema,
      name,
      given: given ?? [],
      whole: input.kind === 'whole' ? input.type : undefined,
      isJson: isJson(input),
    },
    input.kind === 'whole' ? null : hintOf(given ?? [], overloads, context),
  );
}

/** Names of the given arguments; `undefined` when the input can only be a single argument or its objects differ. */
function namesOf(input: CallInput): readonly string[] | undefined {
  switch (input.kind) {
    case 'texts':
      return [...input.texts.keys()];
    case 'json':
      return input.keys ?? (input.isArray ? undefined : []);
    case 'whole':
      return undefined;
  }
}

function isJson(input: CallInput): boolean {
  return input.kind === 'json' && input.from === 'json';
}

function hasKeys(input: CallInput): boolean {
  return input.kind !== 'json' || input.keys !== undefined;
}

function isFilledBy({ arguments: list }: StoredFunction, given: readonly string[]): boolean {
  const isGiven = ({ name, required }: Argument): boolean => !required || given.includes(name);
  return list.every(isGiven) && given.every((name) => list.some((one) => one.name === name));
}

function takesWhole(
  { arguments: list }: StoredFunction,
  input: CallInput,
  { asObject, known }: { readonly asObject: boolean; readonly known: Schema },
): boolean {
  const [only] = list;
  if (!only || list.length > 1) return false;
  const type = baseOf(only.type, known);
  if (asObject) return input.kind !== 'whole' && JSON_TYPES.includes(type);
  return only.name === '' && wholeTypes(input).includes(type);
}

/** Types of a single argument that can take the whole input. */
function wholeTypes(input: CallInput): readonly string[] {
  if (input.kind === 'whole') return [input.type];
  return isJson(input) ? JSON_TYPES : [];
}

/** A hint among the functions that the role may call: other arguments, or a similar name. */
function hintOf(
  given: readonly string[],
  overloads: readonly StoredFunction[],
  { known, role, schema, table: name }: Context,
): string | null {
  const mine = overloads.filter((one) => mayUse(role, one, known));
  const perhaps = (what: string | undefined): string | null => {
    return what === undefined ? null : `Perhaps you meant to call the function ${schema}.${what}`;
  };
  if (mine.some(({ isProcedure }) => isProcedure)) {
    return `${schema}.${name} is a procedure, and only functions can be called`;
  }
  if (mine.length > 0) {
    const lists = mine.map(({ arguments: list }) => listed(list.map((one) => one.name)));
    const list = mostSimilar(listed(given), lists, LEAST_SIMILARITY_OF_ARGUMENTS);
    return perhaps(list && `${name}${list}`);
  }
  const siblings = [...(known.functions?.get(schema)?.values() ?? [])].slice(0, MOST_CANDIDATES);
  const names = siblings.flatMap((list) => {
    return list.find((one) => !one.isProcedure && mayUse(role, one, known))?.name ?? [];
  });
  return perhaps(mostSimilar(name, names, LEAST_SIMILARITY));
}

function listed(names: readonly string[]): string {
  return `(${names.toSorted().join(', ')})`;
}

/** A call resolved against the schema. */
export interface CallPlan {
  readonly called: StoredFunction;
  /** The arguments that are given; the others have defaults. */
  readonly given: readonly Argument[];
  readonly input: CallInput;
  /** The whole input is passed as the single argument. */
  readonly takesAll: boolean;
  /** The type of that argument; for a domain, the type under it. */
  readonly wholeType?: string;
  /** The result is shown as values instead of rows. */
  readonly showsValues: boolean;
  /** The result is a scalar of type `xml`, or of a domain over it. */
  readonly isXml: boolean;
}

/** A call before the media type is chosen. */
export interface FoundCall {
  readonly kind: 'call';
  readonly request: CallRequest;
  readonly call: CallPlan;
  /** The read of the result; a scalar is a row with one column named after the function. */
  readonly rows: ReadPlan;
}

/** Resolves the function and plans the read of its result. Throws a `DbrestFault`. */
export function findCall(request: CallRequest, context: Context): FoundCall {
  const { input, asObject, query } = request;
  const { called, takesAll } = findFunction(input, asObject, context);
  const rows = planRows(query, rowsOf(called, context.known), { ...context, isDerived: true });
  const [only] = called.arguments;
  const call = {
    called,
    given: takesAll ? called.arguments : called.arguments.filter(({ name }) => isGiven(input, name)),
    input,
    takesAll,
    ...(takesAll && only && { wholeType: baseOf(only.type, context.known) }),
    showsValues: isValue(called) && query.select.every(({ kind }) => kind === 'all'),
    isXml: called.returns.kind === 'scalar' && baseOf(called.returns.type, context.known) === 'xml',
  };
  return { kind: 'call', request, call, rows };
}

/** A complete plan of a call. */
export interface PlannedCall extends FoundCall {
  readonly form: RowForm;
  /** The preferences that are honoured. */
  readonly preferences: Preferences;
  readonly roleSettings: RoleSettings | undefined;
  readonly readOnly: boolean;
  /** The function returns nothing. */
  readonly isVoid: boolean;
  /** The result may not fit the request, so it is checked before the commit. */
  readonly held: boolean;
}

const HONOURED: readonly Preference[] = ['params', 'count', 'tx', 'handling', 'timeZone', 'timeout'];
const STRICT: readonly Preference[] = [...HONOURED, 'maxAffected'];

/** Completes the plan of a call for a media type. Throws PGRST128. */
export function formCall(
  { kind, request, call, rows }: FoundCall,
  chosen: Media,
  roleSettings: RoleSettings | undefined,
): PlannedCall {
  const { method, preferences: asked } = request.head;
  const preferences = only(asked, asked.handling === 'strict' ? STRICT : HONOURED);
  const { count, maxAffected } = preferences;
  const { called } = call;
  if (maxAffected !== undefined && !called.returnsSet) throw noSet();
  const media = asItIs(chosen, call);
  const shown = shownMedia(media);
  const shape = callShape(called, shown, rows);
  const total = !media.plan && (count === 'exact' || count === 'estimated');
  const tail = tailOf(media, shape, { total, response: true });
  const form = { media, shape, most: mostRows(shown, shape, request.head.isBodyless), tail };
  const readOnly = method !== 'POST' || called.volatility !== 'volatile';
  const isVoid = called.returns.kind === 'void' && media.format !== 'plan';
  const isJudged = isConstrained(media) || maxAffected !== undefined || (total && rows.offset > 0);
  const held = !readOnly && isJudged;
  return { kind, request, call, rows, form, preferences, roleSettings, readOnly, isVoid, held };
}

/** The media type that the result of a call has by itself, and whether it cannot be XML. */
export function madeBy({ called, showsValues, isXml }: CallPlan): {
  readonly mediaType: string | undefined;
  readonly lacksXml: boolean;
} {
  const mediaType = showsValues ? called.mediaType : undefined;
  return { mediaType, lacksXml: called.returns.kind === 'scalar' && !isXml };
}

/** An XML value is sent as it is instead of being wrapped in more XML. */
function asItIs(media: Media, { showsValues, isXml }: CallPlan): Media {
  return showsValues && isXml && media.format === 'xml' ? { ...media, format: 'text' } : media;
}

/** A function that returns no set yields one value instead of an array. */
function callShape({ returnsSet }: StoredFunction, shown: Media, { limit }: ReadPlan): RowShape {
  const shape = shapeOf(shown, limit);
  return !returnsSet && (shape === 'whole' || shape === 'rows') && shown.format !== 'geojson'
    ? 'first'
    : shape;
}

function isGiven(input: CallInput, name: string): boolean {
  return input.kind === 'texts'
    ? input.texts.has(name)
    : input.kind === 'json' && input.keys?.includes(name) === true;
}

function isValue({ returns: { kind } }: StoredFunction): boolean {
  return kind === 'scalar' || kind === 'void';
}

const tables = new WeakMap<StoredFunction, Table>();

/** The result of a function as a table. Cached, because relationships are cached by table. */
function rowsOf(called: StoredFunction, known: Schema): Table {
  const table = tables.get(called) ?? tableOf(called, known);
  tables.set(called, table);
  return table;
}

function tableOf({ schema, name, returns }: StoredFunction, known: Schema): Table {
  // With an empty schema, facts about a real table of that name do not apply.
  const ownRows = { schema: '', name, primaryKey: [], grantees: [], bases: [] };
  switch (returns.kind) {
    case 'table': {
      const table = known.tables.get(returns.table.schema)?.get(returns.table.name) as Table;
      // Relationships are only followed within the schema of the function.
      return table.schema === schema ? table : { ...table, bases: [] };
    }
    case 'columns':
      return { ...ownRows, columns: new Map(returns.columns.map((column) => [column.name, column])) };
    case 'scalar':
    case 'void': {
      const type = returns.kind === 'scalar' ? returns.type : 'void';
      return { ...ownRows, columns: new Map([[name, { name, type }]]) };
    }
  }
}
