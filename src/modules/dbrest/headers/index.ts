import {
  invalidPreferences,
  lowerAboveUpper,
  malformedRange,
  offsetBeyond,
  schemaNotExposed,
} from '../fault/index.ts';
import { pairOf } from './media.ts';

export {
  acceptedMedia,
  chooseMedia,
  type Accepted,
  contentType,
  customMedia,
  isAsked,
  type Media,
  type PlanQuestion,
  type RowHandler,
} from './media.ts';

/** uWebSockets.js takes bytes above 0x7f for blanks, and drops them at both ends of a header's value. */
const DROPPED = /^[^!-\x7f]+|[^!-\x7f]+$/gu;

/** The schema that a profile header names, else the first of the allowlist. Throws PGRST106. */
export function chooseSchema(profile: string | undefined, exposed: readonly string[]): string {
  if (profile === undefined) return exposed[0] as string;
  if (exposed.includes(profile)) return profile;
  const [meant, ...others] = exposed.filter((name) => name.replace(DROPPED, '') === profile);
  if (meant === undefined || others.length > 0) throw schemaNotExposed(profile, exposed);
  return meant;
}

/** Which rows are wanted; without a limit all from the offset on. */
export interface RowRange {
  readonly offset: number;
  readonly limit?: number;
}

/** The rows that the query, the `Range` header and `dbrest_max_rows` have in common. Throws PGRST100 and PGRST103. */
export function rowRange(
  query: { readonly offset: number; readonly limit?: number },
  header: string | undefined,
  maxRows: number | undefined,
): RowRange {
  const { first, end } = header === undefined ? { first: 0, end: Infinity } : parseRange(header);
  const offset = Math.max(first, query.offset);
  const ends = Math.min(end, query.offset + (query.limit ?? Infinity));
  if (ends < offset || (ends === offset && query.limit !== 0)) throw lowerAboveUpper();
  const limit = Math.min(ends - offset, maxRows ?? Infinity);
  return limit === Infinity ? { offset } : { offset, limit };
}

/** `Content-Range`: `first-last/total`, `*` for what there is none of or is not known. */
export function contentRange({ offset }: RowRange, rows: number, total: number | undefined): string {
  const range = rows === 0 ? '*' : `${offset}-${offset + rows - 1}`;
  return `${range}/${total ?? '*'}`;
}

/** 206 when rows are missing from a counted answer. Throws PGRST103 when it starts behind the last one. */
export function rangeStatus({ offset }: RowRange, rows: number, total: number | undefined): 200 | 206 {
  if (total === undefined) return 200;
  if (offset > total) throw offsetBeyond(offset, total);
  return rows < total ? 206 : 200;
}

/** `0-9` or `10-`, with or without the unit in front. */
function parseRange(header: string): { first: number; end: number } {
  const [, first, last] = /^(?:items=)?(\d{1,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (first === undefined) throw malformedRange(header);
  const end = last ? Number(last) + 1 : Infinity;
  if (end <= Number(first)) throw lowerAboveUpper();
  return { first: Number(first), end };
}

export type CountKind = 'exact' | 'planned' | 'estimated';
type TransactionEnd = 'commit' | 'rollback';

/** What `Prefer` asks for (RFC 7240). */
export interface Preferences {
  readonly resolution?: 'merge-duplicates' | 'ignore-duplicates';
  readonly missing?: 'default' | 'null';
  readonly return?: 'minimal' | 'headers-only' | 'representation';
  readonly params?: 'single-object';
  readonly count?: CountKind;
  readonly tx?: TransactionEnd;
  readonly handling?: 'strict' | 'lenient';
  readonly timeZone?: string;
  readonly maxAffected?: number;
  /** As given, and not understood. */
  readonly unknown: readonly string[];
}

export type Preference = Exclude<keyof Preferences, 'unknown'>;

const NONE: Preferences = { unknown: [] };

/** Every preference that PostgREST knows, as written and in the order in which `Preference-Applied` tells of them. */
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
];
const BY_NAME = new Map(PREFERENCES.map((row) => [row[0], row] as const));

/** The `Prefer` headers, joined; the first of several values counts. */
export function parsePreferences(header: string | undefined): Preferences {
  if (header === undefined) return NONE;
  const found: Partial<Record<Preference, string | number>> = {};
  const unknown: string[] = [];
  for (const text of header.split(',').map((piece) => piece.trim())) {
    const [name, value] = pairOf(text);
    const [, preference, values] = BY_NAME.get(name) ?? [];
    if (!preference || !values?.test(value)) unknown.push(text);
    else found[preference] ??= preference === 'maxAffected' ? Number(value) : value;
  }
  return { ...(found as Omit<Preferences, 'unknown'>), unknown: unknown.filter(Boolean) };
}

/** Those that an operation honours; the others change nothing in it, and are no mistake. */
export function only(preferences: Preferences, honours: readonly Preference[]): Preferences {
  if (preferences === NONE) return NONE;
  const kept = honours.flatMap((name) => {
    const value = preferences[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...(Object.fromEntries(kept) as Omit<Preferences, 'unknown'>), unknown: preferences.unknown };
}

/** Leaves out what cannot be honoured. Throws PGRST122 when the client wants to know of that. */
export function honoured(
  preferences: Preferences,
  can: { readonly timeZones: ReadonlySet<string> | undefined; readonly tx: boolean },
): Preferences {
  if (preferences === NONE) return NONE;
  const { timeZone, tx, ...rest } = preferences;
  const zone = timeZone !== undefined && can.timeZones?.has(timeZone) ? timeZone : undefined;
  const unknown =
    timeZone === undefined || zone !== undefined
      ? preferences.unknown
      : [...preferences.unknown, `timezone=${timeZone}`];
  if (preferences.handling === 'strict' && unknown.length > 0) throw invalidPreferences(unknown);
  return {
    ...rest,
    unknown,
    ...(zone !== undefined && { timeZone: zone }),
    ...(can.tx && tx !== undefined && { tx }),
  };
}

/** The value of `Preference-Applied`; `undefined` when nothing was. */
export function appliedPreferences(preferences: Preferences): string | undefined {
  if (preferences === NONE) return undefined;
  const applied = PREFERENCES.flatMap(([name, preference]) => {
    const value = preferences[preference];
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return applied.length === 0 ? undefined : applied.join(', ');
}
