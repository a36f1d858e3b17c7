import { invalidPreferences } from '../fault/index.ts';

export type CountKind = 'exact' | 'planned' | 'estimated';
export type TransactionEnd = 'commit' | 'rollback';

/** What `Prefer` asks for, as far as it concerns a read (RFC 7240). */
export interface Preferences {
  readonly count?: CountKind;
  readonly tx?: TransactionEnd;
  readonly handling?: 'strict' | 'lenient';
  readonly timeZone?: string;
  /** As given, and not understood. */
  readonly unknown: readonly string[];
}

const NONE: Preferences = { unknown: [] };

/** Every preference that PostgREST knows; those of writes change no read, and are no mistake in one. */
const VALUES: ReadonlyMap<string, RegExp> = new Map([
  ['count', /^(exact|planned|estimated)$/],
  ['tx', /^(commit|rollback)$/],
  ['handling', /^(strict|lenient)$/],
  ['timezone', /^.+$/],
  ['max-affected', /^\d{1,15}$/],
  ['return', /^(minimal|headers-only|representation)$/],
  ['resolution', /^(merge|ignore)-duplicates$/],
  ['missing', /^(default|null)$/],
  ['params', /^single-object$/],
]);

/** The `Prefer` headers, joined; the first of several values counts. */
export function parsePreferences(header: string | undefined): Preferences {
  if (header === undefined) return NONE;
  const found = new Map<string, string>();
  const unknown: string[] = [];
  for (const preference of header.split(',').map((piece) => piece.trim())) {
    const [name = '', value = ''] = preference.split(/\s*=\s*(.*)/s);
    if (!VALUES.get(name)?.test(value)) unknown.push(preference);
    else if (!found.has(name)) found.set(name, value);
  }
  const known = { count: found.get('count'), tx: found.get('tx'), handling: found.get('handling') };
  const given = Object.entries({ ...known, timeZone: found.get('timezone') }).filter(([, value]) => value);
  return { ...(Object.fromEntries(given) as Omit<Preferences, 'unknown'>), unknown: unknown.filter(Boolean) };
}

/** Leaves out what cannot be honoured. Throws PGRST122 when the client wants to know of that. */
export function honoured(
  preferences: Preferences,
  can: { readonly timeZones: ReadonlySet<string> | undefined; readonly tx: boolean },
): Preferences {
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
export function appliedPreferences({ count, tx, handling, timeZone }: Preferences): string | undefined {
  const applied = [
    count && `count=${count}`,
    tx && `tx=${tx}`,
    handling && `handling=${handling}`,
    timeZone !== undefined && `timezone=${timeZone}`,
  ].filter(Boolean);
  return applied.length === 0 ? undefined : applied.join(', ');
}
