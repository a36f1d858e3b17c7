import { isObject, parseJson } from '../../../json.ts';
import type { Matching } from './directives.ts';
import { isNetwork } from './matching.ts';

/** A fault in the form of NGINX Plus. */
export class KeyvalFault extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The zone that a body is for. */
interface Zone {
  readonly matching: Matching;
  /** 0: entries do not expire, and cannot have a lifetime of their own. */
  readonly timeoutMs: number;
}

interface Pair {
  readonly key: string;
  readonly value: string;
  /** Absent: the timeout of the zone. */
  readonly expireMs?: number;
}

/** As long as keys of a dictionary can be. */
const LONGEST_KEY_BYTES = 65_535;
const LONGEST_EXPIRE_MS = 999_999_999_999_999;

/** Reads the body of a POST: `{"key":"value"}`, or `{"key":{"value":"text","expire":milliseconds}}`. */
export function readPairs(text: string, zone: Zone): readonly Pair[] {
  return membersOf(text, zone).map(([key, given]) => {
    const { value, expireMs } = readValue(given, zone);
    if (value === undefined) throw malformed(`the value of key "${key}" must be a text`);
    return { key, value, ...(expireMs !== undefined && { expireMs }) };
  });
}

/** Reads the body of a PATCH. `null` deletes the key; without a value, the lifetime changes only. */
export function readPatch(
  text: string,
  zone: Zone,
): {
  readonly key: string;
  readonly value: string | null | undefined;
  readonly expireMs: number | undefined;
} {
  const [first, second] = membersOf(text, zone);
  const [key, given] = first as readonly [string, unknown];
  if (second) throw malformed('only one key can be updated');
  if (given === null) return { key, value: null, expireMs: undefined };
  const { value, expireMs } = readValue(given, zone);
  if (value === undefined && expireMs === undefined)
    throw malformed(`the value of key "${key}" must be a text`);
  return { key, value, expireMs };
}

function membersOf(text: string, { matching }: Zone): readonly (readonly [string, unknown])[] {
  const body = parseJson(text);
  if (body === undefined) throw new KeyvalFault(415, 'JsonError', 'json error');
  if (!isObject(body)) throw malformed('invalid JSON: an object is expected');
  const members = Object.entries(body);
  if (members.length === 0) throw malformed('key required');
  for (const [key] of members) {
    const isRight = key !== '' && Buffer.byteLength(key) <= LONGEST_KEY_BYTES;
    if (!isRight || (matching === 'ip' && !isNetwork(key))) throw malformed('invalid key format');
  }
  return members;
}

function readValue(given: unknown, { timeoutMs }: Zone): { value?: string; expireMs?: number } {
  if (!isObject(given)) return textOf(given);
  const { value, expire } = given;
  if (expire === undefined) return textOf(value);
  if (timeoutMs === 0) throw malformed('key timeout is not allowed: the zone has no timeout');
  if (typeof expire !== 'number' || !Number.isInteger(expire) || expire <= 0 || expire > LONGEST_EXPIRE_MS)
    throw malformed('"expire" must be a number of milliseconds');
  if (value !== undefined && textOf(value).value === undefined) throw malformed('invalid value');
  return { ...textOf(value), expireMs: expire };
}

/** NGINX Plus takes a number as its text. */
function textOf(value: unknown): { value?: string } {
  return typeof value === 'string' || typeof value === 'number' ? { value: String(value) } : {};
}

function malformed(message: string): KeyvalFault {
  return new KeyvalFault(400, 'KeyvalFormatError', message);
}
