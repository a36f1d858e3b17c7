import { isObject, parseJson } from '../../../json.ts';
import { slicesOf } from '../json.ts';
import { isUtf8 } from 'node:buffer';
import type { Exchange } from '../../../http/index.ts';

/** A message of JSON-RPC 2.0. */
export type Message =
  | { readonly kind: 'request'; readonly id: Buffer; readonly method: string; readonly params: Params }
  /** A notification, or a response to a request that gw has not sent: neither gets a response. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'invalid'; readonly why: string };

/** The parameters of a request by their names, as they were sent: parsed numbers would lose digits. */
export type Params = ReadonlyMap<string, Buffer>;

/** JSON in pieces. */
export type Json = readonly (string | Buffer)[];

const LONGEST_ID = 256;

/** Reads a message from valid JSON. `whole`: the same, parsed. */
export function messageOf(json: Buffer, whole: unknown): Message {
  if (Array.isArray(whole)) return { kind: 'invalid', why: 'messages are sent one by one' };
  if (!isObject(whole) || whole['jsonrpc'] !== '2.0')
    return { kind: 'invalid', why: 'a message is an object with "jsonrpc": "2.0"' };
  const { method, id, params } = whole;
  if (method === undefined && ('result' in whole || 'error' in whole)) return { kind: 'silent' };
  if (typeof method !== 'string') return { kind: 'invalid', why: '"method" is a string' };
  if (id === undefined) return { kind: 'silent' };
  const members = membersOf(json);
  const own = members.get('id');
  const isId = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id));
  if (!own || !isId || own.length > LONGEST_ID) {
    return { kind: 'invalid', why: `"id" is a text or a whole number of at most ${LONGEST_ID} bytes` };
  }
  if (params !== undefined && !isObject(params)) return { kind: 'invalid', why: '"params" is an object' };
  const given = members.get('params');
  return { kind: 'request', id: own, method, params: given ? membersOf(given) : new Map() };
}

/** The members of an object; the last one of a name counts, as in `JSON.parse`. */
export function membersOf(json: Buffer): Params {
  const members = new Map<string, Buffer>();
  for (const slice of slicesOf(json)) {
    if (slice) members.set(JSON.parse(slice.key.toString()) as string, slice.value);
  }
  return members;
}

/** Codes of errors (JSON-RPC 2.0, 5.1). */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const NO_METHOD = -32_601;
export const INVALID_PARAMS = -32_602;

/** An error that is a response of its own. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const NO_ID = Buffer.from('null');

export function errorMessage({ code, message }: RpcError, id: Buffer = NO_ID): Buffer {
  return framed(id, 'error', [JSON.stringify({ code, message })]);
}

/** A response with a result. */
export function resultMessage(id: Buffer, result: Json): Buffer {
  return framed(id, 'result', result);
}

function framed(id: Buffer, member: 'error' | 'result', json: Json): Buffer {
  const pieces = ['{"jsonrpc":"2.0","id":', id, `,"${member}":`, ...json, '}'];
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

/** A result that is a JSON object; clients of older revisions read the text. */
export function immediateResult(json: string | Buffer): Json {
  const text = JSON.stringify(json.toString());
  return ['{"content":[{"type":"text","text":', text, '}],"structuredContent":', json, ',"isError":false}'];
}

/** A failure, for the model to read. */
export function failedResult(text: string): Json {
  return ['{"content":[{"type":"text","text":', JSON.stringify(text), '}],"isError":true}'];
}

/** The result of a call from the response of the database. `member`: the name of its body. */
export function resultOf(x: Exchange, body: Buffer, member: 'rows' | 'result'): Json {
  if (x.status >= 400 || x.status === 0) return failedResult(body.toString());
  if (body.length === 0) return immediateResult(countJson(x, member));
  const isJson = isUtf8(body) && parseJson(body.toString()) !== undefined;
  const json = isJson ? body : Buffer.from(JSON.stringify(body.toString()));
  return immediateResult(Buffer.concat([Buffer.from(`{"${member}":`), json, Buffer.from('}')]));
}

/** The body of a write without rows has their number; that of a function without a result has null. */
function countJson({ response }: Exchange, member: 'rows' | 'result'): string {
  const [, total] = /\/(\d+)$/.exec(response.header('content-range') ?? '') ?? [];
  return member === 'rows' && total !== undefined ? `{"affected":${total}}` : `{"${member}":null}`;
}
