import { parseHttpDate } from '../../http/index.ts';
import type { EntryTimes } from './entry-head.ts';

/** Headers of a response that decide whether and how long it is stored. */
export type DecidingHeader = 'x-accel-expires' | 'expires' | 'cache-control' | 'set-cookie' | 'vary';

/** The rules of a location about the lifetime of responses. */
export interface LifetimeRules {
  ignores(header: DecidingHeader): boolean;
  /** Returns the lifetime in seconds for a status if the response states none; 0: it is not stored. */
  validFor(status: number): number;
}

/** The reason why a response is not stored. */
type Refusal = 'set-cookie' | 'vary' | 'headers' | 'no lifetime';

/** The verdict on a response: how long it may be served, and the request headers that it depends on. */
export interface Lifetime {
  readonly times: EntryTimes;
  readonly varies: readonly string[];
}

const LONGEST_VARY = 128;
/** Seconds; a larger number means "far in the future". */
const FAR = 315_360_000;
/** Seconds; the longest window after the end of a lifetime, which may lie far in the past. */
const LONGEST_WINDOW = 2 ** 31 - 1;

/** Decides whether a response may be stored, and for how long (nginx ngx_http_upstream_process_*). */
export function lifetimeOf(
  { status, headers }: { readonly status: number; readonly headers: readonly string[] },
  rules: LifetimeRules,
  nowMs: number,
): Lifetime | Refusal {
  const read = (name: DecidingHeader): readonly string[] =>
    rules.ignores(name) ? [] : valuesOf(headers, name);
  if (read('set-cookie').length > 0) return 'set-cookie';
  const vary = read('vary').join(',');
  if (vary.length > LONGEST_VARY || vary.split(',').some((name) => name.trim() === '*')) return 'vary';
  const control = readCacheControl(read('cache-control'));
  const accel = readAccelExpires(read('x-accel-expires')[0], nowMs);
  if (accel === 'never') return 'headers';
  const validMs = accel ?? byHeaders(control, read('expires')[0], nowMs);
  if (validMs === 'never') return 'headers';
  const seconds = validMs === undefined ? rules.validFor(status) : 0;
  const untilMs = validMs ?? nowMs + seconds * 1000;
  if (untilMs <= nowMs && validMs === undefined) return 'no lifetime';
  const errorSeconds = Math.max(control.staleWhileRevalidate, control.staleIfError);
  return {
    times: {
      storedMs: nowMs,
      validMs: untilMs,
      updatingMs: untilMs + control.staleWhileRevalidate * 1000,
      errorMs: untilMs + errorSeconds * 1000,
    },
    varies: namesOf(vary),
  };
}

/** Returns the names in a `Vary`, without repetitions, sorted. */
function namesOf(vary: string): readonly string[] {
  const names = vary.split(',').map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ''))].sort();
}

/** Reads `n` (seconds from now), `@n` (seconds since the epoch) or 0 (never). Other texts are ignored. */
function readAccelExpires(text: string | undefined, nowMs: number): number | 'never' | undefined {
  const [, at, digits] = /^(@?)(\d+)$/.exec(text ?? '') ?? [];
  if (digits === undefined) return undefined;
  const seconds = Number(digits);
  if (at === '@') return Math.min(seconds, nowMs / 1000 + FAR) * 1000;
  return seconds === 0 ? 'never' : nowMs + Math.min(seconds, FAR) * 1000;
}

interface CacheControl {
  readonly isForbidden: boolean;
  /** Seconds of `s-maxage`, or `max-age`. */
  readonly maxAge: number | undefined;
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
}

function readCacheControl(lines: readonly string[]): CacheControl {
  const text = lines.join(',').toLowerCase();
  const age = text.includes('s-maxage=') ? secondsBehind(text, 's-maxage=') : secondsBehind(text, 'max-age=');
  return {
    isForbidden: /no-cache|no-store|private/.test(text) || age === 0 || Number.isNaN(age),
    maxAge: age,
    staleWhileRevalidate: secondsBehind(text, 'stale-while-revalidate=', LONGEST_WINDOW) || 0,
    staleIfError: secondsBehind(text, 'stale-if-error=', LONGEST_WINDOW) || 0,
  };
}

/** Reads the seconds of a parameter. `undefined`: the text does not have it; NaN: it has no number. */
function secondsBehind(text: string, parameter: string, most = FAR): number | undefined {
  const at = text.indexOf(parameter);
  if (at < 0) return undefined;
  const [, digits = ''] = /^(\d+)(?=[,; ]|$)/.exec(text.slice(at + parameter.length)) ?? [];
  return digits === '' ? Number.NaN : Math.min(Number(digits), most);
}

function byHeaders(
  { isForbidden, maxAge }: CacheControl,
  expires: string | undefined,
  nowMs: number,
): number | 'never' | undefined {
  if (isForbidden) return 'never';
  if (maxAge !== undefined) return nowMs + maxAge * 1000;
  if (expires === undefined) return undefined;
  const seconds = parseHttpDate(expires);
  return seconds === undefined || seconds < Math.floor(nowMs / 1000) ? 'never' : (seconds + 1) * 1000;
}

/** Returns all values of a header. */
export function valuesOf(headers: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const given = headers[index] as string;
    if (given.length === name.length && given.toLowerCase() === name)
      values.push(headers[index + 1] as string);
  }
  return values;
}
