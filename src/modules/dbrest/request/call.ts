import type { DbrestConfig } from '../directives/index.ts';
import { type OtherElement, unreadableBody } from '../fault/index.ts';
import { JSON_TYPE, type ReceivedBody } from './header-fields.ts';
import { readCsv } from './csv.ts';
import { readForm } from './form.ts';
import { type RequestHead, rowLimitOf, rowRange } from './head.ts';
import { scanJson } from './json-scan.ts';
import { isOperation } from './filter.ts';
import { GRAMMAR, isGrouping, parametersOf, parseReadQuery, type QuerySource, rangeOf } from './query.ts';
import type { ReadQuery } from './tree.ts';
import { parseWriteQuery } from './write.ts';

/** A GET, HEAD, QUERY or POST request for a function. */
export interface CallRequest {
  readonly kind: 'call';
  readonly head: RequestHead;
  readonly input: CallInput;
  /** `Prefer: params=single-object`. */
  readonly asObject: boolean;
  /** Filters, order and range of the result; offset and limit as in a read. */
  readonly query: ReadQuery;
}

/** A call whose body has not been read. */
export interface ParsedCall extends Pick<CallRequest, 'kind' | 'head' | 'query'> {
  /** The arguments in the query; absent for a POST. */
  readonly input: CallInput | undefined;
  /** The keys of a JSON body that are used; all of them if absent. */
  readonly columns: readonly string[] | undefined;
}

/** Parses the query of a call. Throws a `DbrestFault`. */
export function parseCall(head: RequestHead, source: QuerySource, { maxRows }: DbrestConfig): ParsedCall {
  const { args } = source;
  const most = rowLimitOf(maxRows, head.resource.name);
  if (head.method === 'POST') {
    const { rows, columns } = parseWriteQuery(args);
    const query = { ...rows, ...rowRange(rows, undefined, most) };
    return { kind: 'call', head, query, input: undefined, columns };
  }
  const { input, read } = parseCallQuery(args);
  const query = { ...read, ...rowRange(read, rangeOf(head, source), most) };
  return { kind: 'call', head, query, input, columns: undefined };
}

/** A call with its input, from the query or from the body. */
export function callWith({ kind, head, query }: ParsedCall, given: CallInput): CallRequest {
  const asObject = head.preferences.params === 'single-object';
  return { kind, head, input: asObject ? asJsonObject(given) : given, asObject, query };
}

/** Argument values as texts, by name. */
type TextArguments = ReadonlyMap<string, readonly string[]>;

/** The input of a function call. */
export type CallInput =
  | { readonly kind: 'texts'; readonly texts: TextArguments }
  | {
      readonly kind: 'json';
      readonly body: Buffer | readonly Buffer[];
      /** An array of objects; only the first one is used. */
      readonly isArray: boolean;
      /** The keys of the object, or of all objects of the array; absent for scalars, and when the objects differ. */
      readonly keys?: readonly string[];
      /** The first object that differs. */
      readonly differs?: OtherElement;
      /** The format of the original body. Members of rows from CSV are numbered (`1`, `2` …) in the order of `keys`. */
      readonly from: 'json' | 'form' | 'csv';
    }
  /** A body that can only be passed as a single argument. */
  | { readonly kind: 'whole'; readonly body: Buffer; readonly type: WholeType };

type WholeType = 'text' | 'xml' | 'bytea';

/** Larger forms are decoded in pieces, so that the event loop is not blocked. */
const LARGE_FORM_BYTES = 65_536;
const WHOLE_TYPES: ReadonlyMap<string, WholeType> = new Map([
  ['text/plain', 'text'],
  ['text/xml', 'xml'],
  ['application/octet-stream', 'bytea'],
]);

/**
 * Parses the query of a call by GET. A parameter is an argument unless its name belongs to the read grammar or its
 * value begins like a filter (PostgREST, "Functions as RPC"). Throws a `DbrestFault`.
 */
function parseCallQuery(args: string): { readonly input: CallInput; readonly read: ReadQuery } {
  const texts = new Map<string, string[]>();
  const read = parseReadQuery(args, (key, value) => {
    const isArgument = !GRAMMAR.test(key) && !isGrouping(key, value) && !isOperation(value);
    if (isArgument) addText(texts, key, value);
    return isArgument;
  });
  return { input: { kind: 'texts', texts }, read };
}

/**
 * Parses the body of a call by its media type; an empty body has no arguments. `columns`: the keys of a JSON body that
 * are used. Throws PGRST100 and PGRST102.
 */
export async function parseCallBody(
  received: ReceivedBody,
  columns: readonly string[] | undefined,
): Promise<CallInput> {
  const { type, bytes: body, turn } = received;
  const whole = WHOLE_TYPES.get(type);
  if (whole) return { kind: 'whole', body, type: whole };
  if (JSON_TYPE.test(type)) return parseJson(received, columns);
  switch (type) {
    case 'application/x-www-form-urlencoded':
      return parseForm(received);
    case 'text/csv': {
      const { json, names } = await readCsv(body, turn);
      return { kind: 'json', body: json, isArray: true, keys: names, from: 'csv' };
    }
    default:
      throw unreadableBody(type);
  }
}

async function parseJson(
  { bytes: body, turn }: ReceivedBody,
  columns: readonly string[] | undefined,
): Promise<CallInput> {
  if (body.length === 0) return { kind: 'json', body, isArray: false, keys: [], from: 'json' };
  const { kind, keys, differs } = await scanJson(body, columns ? 'any' : 'told', turn);
  const hasKeys = kind !== 'scalar' && !differs;
  const isArray = kind === 'array';
  return {
    kind: 'json',
    body,
    isArray,
    from: 'json',
    ...(hasKeys && { keys: columns ?? keys }),
    ...(differs && { differs }),
  };
}

/** Parses a form. In a large form each name has one value, the last one, even for a variadic argument. */
async function parseForm({ bytes: body, turn }: ReceivedBody): Promise<CallInput> {
  if (body.length > LARGE_FORM_BYTES) {
    const { json, names } = await readForm(body, turn);
    return { kind: 'json', body: json, isArray: false, keys: names, from: 'form' };
  }
  const texts = new Map<string, string[]>();
  for (const [key, value] of parametersOf(body.toString())) addText(texts, key, value);
  return { kind: 'texts', texts };
}

/** Converts text arguments to a JSON object. */
function asJsonObject(input: CallInput): CallInput {
  if (input.kind !== 'texts') return input;
  const members = Array.from(input.texts, ([name, texts]) => [name, texts.at(-1)] as const);
  const body = Buffer.from(JSON.stringify(Object.fromEntries(members)));
  return { kind: 'json', body, isArray: false, keys: [...input.texts.keys()], from: 'json' };
}

function addText(texts: Map<string, string[]>, key: string, value: string): void {
  const before = texts.get(key);
  if (before) before.push(value);
  else texts.set(key, [value]);
}
