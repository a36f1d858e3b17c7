import { invalidPreferences } from '../fault/index.ts';
import { pairOf } from './media.ts';

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
  /** Whatever PostgreSQL takes: it refuses the others itself. */
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

/** Every preference of PostgREST, and `timeout`, which it may get, in the order of `Preference-Applied`. */
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

/** The time that a client allows its request, in milliseconds; `undefined` if it says nothing about that. */
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

/** Drops what cannot be honoured. Throws PGRST122 if the client asked for strict handling. */
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
