import {
  encodeLocation,
  isSafeHeaderValue,
  isValidQuery,
  normalizePath,
  type Exchange,
} from '../../../http/index.ts';
import { invalidItem, notABatch, tooManyItems, unreadableBody } from '../fault/index.ts';
import {
  type InnerRequest,
  JSON_TYPE,
  parsePreferences,
  QUERY,
  type ReceivedBody,
  scanJson,
  type KeptResponse,
} from '../request/index.ts';
import { isObject, parseJson } from '../../../json.ts';
import { type JsonSlice, OPEN_OBJECT, slicesOf } from '../json.ts';
import { inSlices } from '../event-loop.ts';
import { isUtf8 } from 'node:buffer';

/** Reads the items of a batch from its body. Throws PGRST102, DBREST110, DBREST111 and DBREST112. */
export async function readItems(
  { type, bytes, turn }: ReceivedBody,
  most: number,
): Promise<readonly InnerRequest[]> {
  if (!JSON_TYPE.test(type)) throw unreadableBody(type);
  const { kind } = await scanJson(bytes, 'any', turn);
  if (kind !== 'array') throw notABatch();
  return inSlices(itemsOf(bytes, most));
}

function* itemsOf(bytes: Buffer, most: number): Generator<undefined, readonly InnerRequest[]> {
  const items: InnerRequest[] = [];
  for (const slice of slicesOf(bytes)) {
    if (!slice) {
      yield undefined;
      continue;
    }
    if (items.length === most) throw tooManyItems(most);
    const number = items.length;
    const fail = (why: string): never => {
      throw invalidItem(why, number);
    };
    const members = yield* membersOf(slice.value, fail);
    items.push(itemOf(members, fail));
    yield undefined;
  }
  return items;
}

type Fail = (why: string) => never;

const MEMBERS = ['method', 'path', 'headers', 'body'] as const;
type Member = (typeof MEMBERS)[number];
/** The members by their names in quotes. A key with escapes could only hide its name, so it is not known. */
const BY_KEY = new Map<string, Member>(MEMBERS.map((name) => [`"${name}"`, name]));
const LONGEST_KEY_BYTES = 16;

type Members = ReadonlyMap<Member, Buffer>;

function* membersOf(item: Buffer, fail: Fail): Generator<undefined, Members> {
  const members = new Map<Member, Buffer>();
  if (item[0] !== OPEN_OBJECT)
    return fail('an item is an object with "path", and "method", "headers", "body"');
  for (const slice of slicesOf(item)) {
    if (slice) addMember(members, slice, fail);
    else yield undefined;
  }
  return members;
}

function addMember(members: Map<Member, Buffer>, { key, value }: JsonSlice, fail: Fail): void {
  const name = key.length <= LONGEST_KEY_BYTES ? BY_KEY.get(key.toString()) : undefined;
  if (name === undefined) return fail('an item has no members but "method", "path", "headers" and "body"');
  if (members.has(name)) return fail(`"${name}" is given twice`);
  members.set(name, value);
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', QUERY, 'POST', 'PUT', 'PATCH', 'DELETE']);
const WITH_BODY: ReadonlySet<string> = new Set([QUERY, 'POST', 'PUT', 'PATCH']);

function itemOf(members: Members, fail: Fail): InnerRequest {
  const method = textOf('method', members, { fail, most: 16 }) ?? 'GET';
  if (!METHODS.has(method)) fail(`"method" is one of ${[...METHODS].join(', ')}`);
  const target = textOf('path', members, { fail, most: LONGEST_PATH }) ?? fail('"path" is missing');
  const headers = headersOf(members.get('headers'), fail);
  const content = members.get('body');
  if (content && !WITH_BODY.has(method)) fail(`${method} has no body`);
  const body = bodyOf(content, headers.get('content-type') ?? 'application/json', fail);
  return { method, ...targetOf(target, fail), headers: [...headers].flat(), body };
}

/** Most bytes of a path with its query as JSON. */
const LONGEST_PATH = 16_384;
const LONGEST_HEADERS = 16_384;

interface TextLimits {
  readonly fail: Fail;
  readonly most: number;
}

/** A member that is a string; `undefined` if it is absent. */
function textOf(name: 'method' | 'path', members: Members, { fail, most }: TextLimits): string | undefined {
  const json = members.get(name);
  if (!json) return undefined;
  if (json.length > most) return fail(`"${name}" has at most ${most} bytes`);
  const value: unknown = JSON.parse(json.toString());
  return typeof value === 'string' ? value : fail(`"${name}" is a string`);
}

/** A path below the location, read as the engines read the target of a request. */
function targetOf(target: string, fail: Fail): Pick<InnerRequest, 'path' | 'rawPath' | 'args'> {
  const [rawPath = '', args = ''] = encodeLocation(target).split(/\?(.*)/s);
  const path = rawPath.startsWith('/') ? normalizePath(rawPath, true) : undefined;
  if (path === undefined) return fail('"path" is no path below the location, such as "/items?id=eq.1"');
  if (!isValidQuery(args)) return fail('"path" has a malformed query');
  return { path, rawPath, args };
}

/** The headers that an item may have. All others are those of the batch. */
const OF_ITEMS: ReadonlySet<string> = new Set([
  'accept',
  'accept-profile',
  'content-profile',
  'content-type',
  'prefer',
  'range',
  'range-unit',
]);

/** The headers of an item by their names in lower case. */
function headersOf(json: Buffer | undefined, fail: Fail): ReadonlyMap<string, string> {
  const byName = new Map<string, string>();
  if (!json) return byName;
  if (json.length > LONGEST_HEADERS) fail(`"headers" have at most ${LONGEST_HEADERS} bytes`);
  const value: unknown = JSON.parse(json.toString());
  if (!isObject(value)) return fail('"headers" is an object of strings');
  for (const [given, text] of Object.entries(value)) {
    const name = given.toLowerCase();
    if (!OF_ITEMS.has(name)) fail(`an item has no headers but ${[...OF_ITEMS].join(', ')}`);
    if (typeof text !== 'string' || !isSafeHeaderValue(text)) return fail(`the header "${name}" is no text`);
    if (byName.has(name)) fail(`the header "${name}" is given twice`);
    byName.set(name, text);
  }
  if (parsePreferences(byName.get('prefer')).tx !== undefined)
    fail('"tx" is a preference of the whole batch');
  if (/\btext\/event-stream\b/i.test(byName.get('accept') ?? '')) fail('a batch has no streams of events');
  return byName;
}

/** JSON as it was sent; a text for every other media type. */
function bodyOf(json: Buffer | undefined, type: string, fail: Fail): Buffer {
  if (!json) return NOTHING;
  if (JSON_TYPE.test((type.split(';', 1)[0] as string).trim().toLowerCase())) return json;
  const value: unknown = JSON.parse(json.toString());
  return typeof value === 'string' ? Buffer.from(value) : fail('a body that is not JSON is a string');
}

const NOTHING = Buffer.alloc(0);

/** The response of an item. */
export interface ItemResponse {
  readonly x: Exchange;
  readonly response: KeptResponse;
  /** The database has written its JSON; that of functions and media handlers may be anything. */
  readonly isOwnJson: boolean;
}

const OPEN = Buffer.from('[');
const BETWEEN = Buffer.from(',\n');
const CLOSE = Buffer.from(']');

/** The responses of a batch as JSON. Bodies are copied as they are, so that numbers keep their digits. */
export function responsesJson(items: readonly ItemResponse[]): readonly Buffer[] {
  return [OPEN, ...items.flatMap((item, i) => [...(i > 0 ? [BETWEEN] : []), ...itemJson(item)]), CLOSE];
}

function itemJson({ x, response, isOwnJson }: ItemResponse): readonly Buffer[] {
  const { status } = x;
  const head = `{"status":${status},"headers":${JSON.stringify(responseHeaders(x))}`;
  const { body } = response;
  if (body.length === 0) return [Buffer.from(`${head}}`)];
  if (isJsonType(x.response.type) && (isOwnJson || isJson(body)))
    return [Buffer.from(`${head},"body":`), body, Buffer.from('}')];
  const isText = isUtf8(body);
  const text = JSON.stringify(body.toString(isText ? 'utf8' : 'base64'));
  return [Buffer.from(`${head},"body":${text}${isText ? '' : ',"encoding":"base64"'}}`)];
}

/** A header that is given several times is an array. */
function responseHeaders({ response }: Exchange): Readonly<Record<string, string | string[]>> {
  const { headers = [], type } = response;
  const byName = new Map<string, string[]>();
  const add = (name: string, value: string): void => {
    const lower = name.toLowerCase();
    const before = byName.get(lower);
    if (before) before.push(value);
    else byName.set(lower, [value]);
  };
  if (type !== '') add('content-type', type);
  for (let i = 0; i + 1 < headers.length; i += 2) add(headers[i] as string, headers[i + 1] as string);
  return Object.fromEntries(
    Array.from(byName, ([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}

function isJsonType(type: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type);
}

function isJson(body: Buffer): boolean {
  return isUtf8(body) && parseJson(body.toString()) !== undefined;
}
