import { isUtf8 } from 'node:buffer';
import { type Exchange, isLimitedAlike, MOST_WHOLE_BYTES } from '../../../http/index.ts';
import { type Turn, turnsFor } from '../event-loop.ts';
import {
  barredOverride,
  type BodyLimit,
  conditionFailed,
  conditionUnsupported,
  invalidBody,
  invalidPreferences,
  malformedIfMatch,
  otherOverride,
  unreadableEncoding,
  unreadableQuery,
} from '../fault/index.ts';
import { pairOf } from './media.ts';

/** The method of reads that have their parameters in the body, as a form (draft-ietf-httpbis-safe-method-w-body). */
export const QUERY = 'QUERY';

/** The media type of the body of a QUERY. */
export const QUERY_TYPE = 'application/x-www-form-urlencoded';

/**
 * The method of a request. Not every client can send a QUERY, so a POST with a header stands for it. A page of another
 * origin needs a preflight request to send that header. A misspelt method must not lead to a write. `limit_except` has
 * checked the POST alone, so it has to treat both methods alike. Throws DBREST115 and DBREST116.
 */
export function methodOf(x: Exchange): string {
  const { method } = x;
  if (method !== 'POST') return method;
  const override = x.header('x-http-method-override');
  if (override === undefined) return method;
  if (override !== QUERY) throw otherOverride(QUERY);
  if (!isLimitedAlike(x, QUERY)) throw barredOverride(QUERY);
  return QUERY;
}

/** Longest body of a QUERY. It is parsed at once, which takes some 2 ms, and 50 ms at worst; 5,000 uuids fit. */
const MOST_QUERY_BYTES = 262_144;

/**
 * The raw query of a request: that of its URL, followed by the body of a QUERY. Returns a promise only for a QUERY; it
 * resolves to `undefined` when the response has been sent or the client has gone. Rejects with PGRST102 for a body of
 * another type.
 */
export function argsOf(x: Exchange): string | Promise<string | undefined> {
  return methodOf(x) === QUERY ? receiveArgs(x) : x.args;
}

/** The limit on the body of a request that is read whole. */
export function bodyLimitOf(x: Exchange): BodyLimit {
  const configured = x.rules.maxBodyBytes || MOST_WHOLE_BYTES;
  const isQuery = x.method === QUERY || x.header('x-http-method-override') === QUERY;
  return isQuery && configured > MOST_QUERY_BYTES
    ? { of: 'query', bytes: MOST_QUERY_BYTES }
    : { of: 'client_max_body_size', bytes: configured };
}

async function receiveArgs(x: Exchange): Promise<string | undefined> {
  const received = await receiveBody(x, MOST_QUERY_BYTES);
  if (!received) return undefined;
  const { type, bytes } = received;
  if (bytes.length === 0) return x.args;
  if (x.header('content-type') === undefined || type !== QUERY_TYPE)
    throw unreadableQuery(x.header('content-type'), QUERY_TYPE);
  if (!isUtf8(bytes)) throw invalidBody('Empty or invalid form');
  const content = bytes.toString();
  return x.args === '' ? content : `${x.args}&${content}`;
}

/** The complete body of a request. */
export interface ReceivedBody {
  /** Media type in lower case, without parameters. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly turn: Turn;
}

/** Media types of JSON bodies. */
export const JSON_TYPE = /^application\/(?:json|vnd\.(?:pgrst|dbrest)\.(?:object|array)(?:\+json)?)$/;

/**
 * Receives the body of a request, of at most `mostBytes`. Without a `Content-Type` it is JSON. Returns `undefined` when
 * the body was too large or too slow and the response has been sent, or the client has gone. Throws PGRST102 (415) for
 * a compressed body: its decompressed size would be unbounded.
 */
export async function receiveBody(x: Exchange, mostBytes?: number): Promise<ReceivedBody | undefined> {
  const encoding = x.header('content-encoding') ?? '';
  if (!/^(?:identity)?$/i.test(encoding.trim())) throw unreadableEncoding(encoding);
  const [type = ''] = (x.header('content-type') ?? '').split(';', 1).map((name) => name.trim().toLowerCase());
  const bytes = await x.readBody(mostBytes);
  return bytes && { type: type === '' ? 'application/json' : type, bytes, turn: turnsFor(x) };
}

/** Returns whether a request depends on the present state of its resource. */
export function hasCondition(x: Exchange): boolean {
  return x.header('if-match') !== undefined || x.header('if-none-match') !== undefined;
}

/** Returns whether a response needs no body: a HEAD does not need one to compare tags. */
export function isBodyless(x: Exchange): boolean {
  return x.method === 'HEAD' && !hasCondition(x);
}

/** The condition of a write: its rows exist, its rows have one of these versions, or its row does not exist. */
export type Precondition =
  | { readonly kind: 'present' }
  | { readonly kind: 'match'; readonly versions: readonly string[] }
  | { readonly kind: 'absent' };

/**
 * The condition of a write. One that cannot be checked must not be ignored, so it is refused (RFC 9110, 13.1). Throws
 * DBREST101, DBREST103 and DBREST104.
 */
export function preconditionOf(x: Exchange): Precondition | undefined {
  const match = x.header('if-match');
  const noneMatch = x.header('if-none-match');
  if (match === undefined && noneMatch === undefined) return undefined;
  if (noneMatch !== undefined) {
    if (x.method !== 'PUT' || noneMatch.trim() !== '*') throw conditionUnsupported('If-None-Match');
    if (match !== undefined) throw conditionFailed('No row is both there and not there.');
    return { kind: 'absent' };
  }
  if (match === undefined || x.method === 'POST') throw conditionUnsupported('If-Match');
  const tags = parseIfMatch(match);
  return tags === '*' ? { kind: 'present' } : { kind: 'match', versions: tags.map(versionIn) };
}

/** More tags in one header are refused. */
const MOST_TAGS = 100;
/** An entity tag and the comma behind it. Bytes above 0x7f are allowed (RFC 9110, 8.8.3), and empty elements, too. */
const TAG = /[\t ]*(?:(W\/)?"([!#-~\x80-\uffff]*)"[\t ]*)?(?:,|$)/y;

/** The strong tags of an `If-Match` header, without their quotes, or `*`: weak ones never match. Throws DBREST103. */
export function parseIfMatch(header: string): '*' | readonly string[] {
  if (header.trim() === '*') return '*';
  const strong: string[] = [];
  let found = 0;
  TAG.lastIndex = 0;
  while (TAG.lastIndex < header.length) {
    const [, weak, opaque] = TAG.exec(header) ?? [];
    // A failed match resets the index to 0.
    if (TAG.lastIndex === 0) throw malformedIfMatch();
    if (opaque === undefined) continue;
    found += 1;
    if (weak === undefined) strong.push(opaque);
  }
  if (found === 0 || found > MOST_TAGS) throw malformedIfMatch();
  return strong;
}

/** The digest of a representation behind the version of its row. */
const DIGEST = /-[0-9a-f]{40}$/;
/** Longer versions are not put into a tag. */
const LONGEST_VERSION = 256;

/** The version of a row as part of an entity tag; `undefined` if it is too long for a header. */
export function taggedVersion(version: string): string | undefined {
  const encoded = version.length > LONGEST_VERSION ? version : encodeURIComponent(version);
  return encoded.length > LONGEST_VERSION ? undefined : encoded;
}

/** The version that an entity tag names: all of it, or what precedes the digest. */
export function versionIn(tag: string): string {
  const encoded = tag.replace(DIGEST, '');
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

export type CountKind = 'exact' | 'planned' | 'estimated';
type TransactionEnd = 'commit' | 'rollback';

/** The preferences of a `Prefer` header (RFC 7240). */
export interface Preferences {
  readonly resolution?: 'merge-duplicates' | 'ignore-duplicates';
  readonly missing?: 'default' | 'null';
  readonly return?: 'minimal' | 'headers-only' | 'representation';
  readonly params?: 'single-object';
  readonly count?: CountKind;
  readonly tx?: TransactionEnd;
  readonly handling?: 'strict' | 'lenient';
  /** Any text: PostgreSQL refuses unknown time zones itself. */
  readonly timeZone?: string;
  readonly maxAffected?: number;
  /** In seconds, to the millisecond. */
  readonly timeout?: number;
  /** Preferences that are not understood, as sent. */
  readonly unknown: readonly string[];
}

export type Preference = Exclude<keyof Preferences, 'unknown'>;

/** No preferences. */
export const NO_PREFERENCES: Preferences = { unknown: [] };

/** The preferences of PostgREST and `timeout`, in the order of `Preference-Applied`. */
const PREFERENCES: readonly (readonly [name: string, preference: Preference, values: RegExp])[] = [
  ['resolution', 'resolution', /^(merge|ignore)-duplicates$/],
  ['missing', 'missing', /^(default|null)$/],
  ['return', 'return', /^(minimal|headers-only|representation)$/],
  ['params', 'params', /^single-object$/],
  ['count', 'count', /^(exact|planned|estimated)$/],
  ['tx', 'tx', /^(commit|rollback)$/],
  ['handling', 'handling', /^(strict|lenient)$/],
  ['timezone', 'timeZone', /^.+$/],
  ['max-affected', 'maxAffected', /^\d{1,15}$/],
  ['timeout', 'timeout', /^(?=.*[1-9])\d{1,9}(?:\.\d{1,3})?$/],
];
const NUMBERS: ReadonlySet<Preference> = new Set(['maxAffected', 'timeout']);
const BY_NAME = new Map(PREFERENCES.map((row) => [row[0], row] as const));

/** Parses the joined `Prefer` headers; the first of several values wins. */
export function parsePreferences(header: string | undefined): Preferences {
  if (header === undefined) return NO_PREFERENCES;
  const found: Partial<Record<Preference, string | number>> = {};
  const unknown: string[] = [];
  for (const text of header.split(',').map((piece) => piece.trim())) {
    const [name, value] = pairOf(text);
    const [, preference, values] = BY_NAME.get(name) ?? [];
    if (!preference || !values?.test(value)) unknown.push(text);
    else found[preference] ??= NUMBERS.has(preference) ? Number(value) : value;
  }
  return { ...(found as Omit<Preferences, 'unknown'>), unknown: unknown.filter(Boolean) };
}

/** The time that a client allows its request, in milliseconds; `undefined` without this preference. */
export function preferredTimeMs({ timeout }: Preferences): number | undefined {
  return timeout === undefined ? undefined : Math.round(timeout * 1000);
}

/** Keeps only the preferences that an operation honours; the others are ignored without a fault. */
export function only(preferences: Preferences, honours: readonly Preference[]): Preferences {
  if (preferences === NO_PREFERENCES) return NO_PREFERENCES;
  const kept = honours.flatMap((name) => {
    const value = preferences[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...(Object.fromEntries(kept) as Omit<Preferences, 'unknown'>), unknown: preferences.unknown };
}

/** Drops preferences that cannot be honoured. Throws PGRST122 if the client asked for strict handling. */
export function honoured(preferences: Preferences, mayChooseEnd: boolean): Preferences {
  if (preferences === NO_PREFERENCES) return NO_PREFERENCES;
  const { tx, ...others } = preferences;
  const { handling, unknown } = others;
  if (handling === 'strict' && unknown.length > 0) throw invalidPreferences(unknown);
  return tx === undefined || mayChooseEnd ? preferences : others;
}

/** The value of `Preference-Applied`; `undefined` if no preference was applied. */
export function appliedPreferences(preferences: Preferences): string | undefined {
  if (preferences === NO_PREFERENCES) return undefined;
  const applied = PREFERENCES.flatMap(([name, preference]) => {
    const value = preferences[preference];
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return applied.length === 0 ? undefined : applied.join(', ');
}
