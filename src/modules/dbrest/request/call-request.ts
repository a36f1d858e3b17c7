import { unreadableBody } from '../fault/index.ts';
import type { JsonBody } from './json-body.ts';
import { scanJson } from './json-body.ts';
import { isOperator, QUANTIFIABLE, SEARCH_OPERATORS } from './operators.ts';
import { parametersOf, parseReadQuery } from './query.ts';
import type { ReadRequest } from './read-request.ts';

/** Texts by the name that each was given for. */
export type Texts = ReadonlyMap<string, readonly string[]>;

/** What a request gives to the function that it calls. */
export type CallInput =
  | { readonly kind: 'texts'; readonly texts: Texts }
  /** Of an array the first object counts. */
  | ({ readonly kind: 'json'; readonly body: Buffer } & JsonBody)
  /** Only ever the one argument of a function. */
  | { readonly kind: 'whole'; readonly body: Buffer; readonly type: WholeType };

export type WholeType = 'text' | 'xml' | 'bytea';

/** Parameters of the read grammar, at whatever level. */
const GRAMMAR = /^(?:select|columns|on_conflict)$|(?:^|\.)(?:order|limit|offset|and|or)$/;
const OPERATION = /^([a-z]+)(?:\.|\(([^)]*)\)\.)/;
const WHOLE_TYPES: ReadonlyMap<string, WholeType> = new Map([
  ['text/plain', 'text'],
  ['text/xml', 'xml'],
  ['application/octet-stream', 'bytea'],
]);

/**
 * The query of a call that has its arguments there: a parameter is one unless it belongs to the read grammar, and a value
 * that begins like a filter is one (PostgREST, "Functions as RPC"). Throws a `DbrestFault`.
 */
export function parseCallQuery(args: string): { readonly input: CallInput; readonly read: ReadRequest } {
  const texts = new Map<string, string[]>();
  const read = parseReadQuery(args, (key, value) => {
    const isArgument = !GRAMMAR.test(key) && !isOperation(value);
    if (isArgument) addText(texts, key, value);
    return isArgument;
  });
  return { input: { kind: 'texts', texts }, read };
}

/** The body of a call by its `Content-Type`; an empty one gives nothing. Throws PGRST100 and PGRST102. */
export function parseCallBody(body: Buffer, contentType = 'application/json'): CallInput {
  const type = contentType.replace(/\s*;.*$/s, '').toLowerCase();
  const whole = WHOLE_TYPES.get(type);
  if (whole) return { kind: 'whole', body, type: whole };
  switch (type) {
    case 'application/json':
      return { kind: 'json', body, ...(body.length === 0 ? { isArray: false, keys: [] } : scanJson(body)) };
    case 'application/x-www-form-urlencoded':
      return { kind: 'texts', texts: parseForm(body) };
    default:
      throw unreadableBody(type);
  }
}

/** Texts as the members of a JSON object. */
export function asJsonObject(input: CallInput): CallInput {
  if (input.kind !== 'texts') return input;
  const members = Array.from(input.texts, ([name, texts]) => [name, texts.at(-1)] as const);
  const body = Buffer.from(JSON.stringify(Object.fromEntries(members)));
  return { kind: 'json', body, isArray: false, keys: [...input.texts.keys()] };
}

function parseForm(body: Buffer): Texts {
  const texts = new Map<string, string[]>();
  for (const [key, value] of parametersOf(body.toString())) addText(texts, key, value);
  return texts;
}

function addText(texts: Map<string, string[]>, key: string, value: string): void {
  const before = texts.get(key);
  if (before) before.push(value);
  else texts.set(key, [value]);
}

function isOperation(value: string): boolean {
  if (value.startsWith('not.')) return true;
  const [, operator = '', modifier] = OPERATION.exec(value) ?? [];
  if (modifier === undefined) return isOperator(operator);
  return SEARCH_OPERATORS.has(operator) || (QUANTIFIABLE.has(operator) && /^(?:any|all)$/.test(modifier));
}
