import type { Exchange } from './exchange.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994` (RFC 9110, 5.6.7). */
const FORMS = [
  /^[^, ]*, *(?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d)/i,
  /^[^, ]*, *(?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d)/i,
  /^[^, ]* +(?<month>[a-z]{3}) (?<day>[ \d]?\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})/i,
];

/**
 * Returns seconds since the epoch; `undefined` for an invalid date. Ignores time zones (nginx: ngx_parse_http_time).
 */
export function parseHttpDate(text: string): number | undefined {
  const fields = FORMS.map((form) => form.exec(text)?.groups).find(Boolean);
  if (!fields) return undefined;
  const [hour = 0, minute = 0, second = 0] = (fields['time'] as string).split(':').map(Number);
  const day = Number(fields['day']);
  const month = MONTHS.indexOf((fields['month'] as string).toLowerCase());
  const year = fullYear(fields['year'] as string);
  const date = new Date(Date.UTC(year, month, day, hour, minute, second));
  const isReal = month >= 0 && hour < 24 && minute < 60 && second < 60 && date.getUTCDate() === day;
  return isReal && day > 0 ? date.getTime() / 1000 : undefined;
}

function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}

/** The headers that identify one state of a resource. */
export interface Validators {
  /** Seconds since the epoch; NaN: unknown. */
  readonly modifiedSeconds: number;
  /** `Sun, 06 Nov 1994 08:49:37 GMT` */
  readonly lastModified: string;
  /** With its quotes; '' without one. */
  readonly etag: string;
}

/** Returns the validators that nginx gives a file. They are computed once for a file that is kept open. */
export function validatorsOf(modifiedSeconds: number, sizeBytes: number): Validators {
  return {
    modifiedSeconds,
    lastModified: new Date(modifiedSeconds * 1000).toUTCString(),
    etag: `"${modifiedSeconds.toString(16)}-${sizeBytes.toString(16)}"`,
  };
}

/** Evaluates the conditions of a request. 200: the request is served as if it had none. */
export type Conditions = (x: Exchange, validators: Omit<Validators, 'lastModified'>) => 200 | 304 | 412;

/** Makes request headers available to the code that needs them. */
export interface HeaderNeed {
  needHeader(lowerCaseName: string): void;
}

/** Compiles conditional requests, evaluated in nginx's order (ngx_http_not_modified_filter_module). */
export function compileConditions(rule: 'off' | 'exact' | 'before', build: HeaderNeed): Conditions {
  const names = ['if-unmodified-since', 'if-match', 'if-modified-since', 'if-none-match'] as const;
  for (const name of names) build.needHeader(name);
  return (x, { modifiedSeconds, etag }) => {
    if (x.request.headers.length === 0) return 200;
    const [unmodifiedSince, match, modifiedSince, noneMatch] = names.map((name) => x.header(name));
    if (unmodifiedSince !== undefined && !((parseHttpDate(unmodifiedSince) ?? -1) >= modifiedSeconds))
      return 412;
    if (match !== undefined && !matchesEntityTag(match, { etag, weak: false })) return 412;
    if (modifiedSince === undefined && noneMatch === undefined) return 200;
    if (modifiedSince !== undefined && isModified(modifiedSince, { modifiedSeconds, rule })) return 200;
    return noneMatch === undefined || matchesEntityTag(noneMatch, { etag, weak: true }) ? 304 : 200;
  };
}

interface Since {
  readonly modifiedSeconds: number;
  readonly rule: 'off' | 'exact' | 'before';
}

function isModified(since: string, { modifiedSeconds, rule }: Since): boolean {
  if (rule === 'off' || Number.isNaN(modifiedSeconds)) return true;
  const seconds = parseHttpDate(since) ?? -1;
  return rule === 'exact' ? seconds !== modifiedSeconds : seconds < modifiedSeconds;
}

interface Comparison {
  readonly etag: string;
  /** Weak comparison: `W/` does not count (RFC 9110, 8.8.3.2). */
  readonly weak: boolean;
}

/** Tells whether a list of entity tags contains this one. */
export function matchesEntityTag(list: string, { etag, weak }: Comparison): boolean {
  if (list === '*') return true;
  if (etag === '') return false;
  return list.split(',').some((item) => {
    const tag = item.trim();
    return tag === etag || (weak && tag === `W/${etag}`);
  });
}
