import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, type ComplexValue, constantText, readers } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Exchange, HeaderFilter } from '../../http/index.ts';
import { isGood } from './added.ts';

/** The expiry of a response, in seconds. */
type Expiry =
  | { readonly kind: 'off' | 'epoch' | 'max' }
  /** `daily`: this long after midnight, local time. */
  | Timed;

interface Timed {
  readonly kind: 'access' | 'modified' | 'daily';
  readonly seconds: number;
}

/** `expires [modified] time | epoch | max | off`; a text with variables is evaluated for each request. */
export type Expires =
  { readonly fixed: Expiry } | { readonly value: ComplexValue; readonly modified: boolean };

const DAY_SECONDS = 86_400;
const INVALID = '"expires" directive invalid value';

/** Parses one text. Returns a text that describes the fault, if any (nginx: ngx_http_parse_expires). */
export function parseExpiry(text: string, modified: boolean): Expiry | string {
  if (!modified && (text === 'epoch' || text === 'max' || text === 'off')) return { kind: text };
  const sign = /^[@+-]/.exec(text)?.[0] ?? '';
  if (sign === '@' && modified)
    return '"expires" directive daily time cannot be used with "modified" parameter';
  const ms = readers.parseTimeMs(text.slice(sign.length));
  if (ms === undefined || ms % 1000 !== 0) return INVALID;
  const seconds = ms / 1000;
  if (sign !== '@')
    return { kind: modified ? 'modified' : 'access', seconds: sign === '-' ? -seconds : seconds };
  if (seconds > DAY_SECONDS) return '"expires" directive daily time value must be less than 24 hours';
  return { kind: 'daily', seconds };
}

/** Reads the arguments of `expires`. */
export const expires: ArgReader<Expires> = readers.words(
  { syntax: '[modified] time | epoch | max | off', min: 1, max: 2 },
  (words, scope) => {
    const time = words.at(-1) as Word;
    const modified = words.length === 2;
    if (modified && words[0]?.value !== 'modified') {
      scope.report.emerg(INVALID, words[0]?.span, 'expected "modified"');
      return undefined;
    }
    const value = scope.complexValue(time);
    const text = constantText(value);
    if (text === undefined) return { value, modified };
    const expiry = parseExpiry(text, modified);
    if (typeof expiry !== 'string') return { fixed: expiry };
    scope.report.emerg(expiry, time.span, 'expected a time such as 30d, -1 or @4h, epoch, max or off');
    return undefined;
  },
);

/** Compiles the filter that sets `Expires` and `Cache-Control`; `undefined` if they are never set. */
export function compileExpires(config: Expires, build: Build): HeaderFilter | undefined {
  if ('fixed' in config) {
    const { fixed } = config;
    return fixed.kind === 'off' ? undefined : (x) => (isGood(x) ? setExpiry(x, fixed) : undefined);
  }
  const render = build.value(config.value);
  return (x) => {
    if (!isGood(x)) return;
    const expiry = parseExpiry(render(x), config.modified);
    if (typeof expiry !== 'string' && expiry.kind !== 'off') setExpiry(x, expiry);
  };
}

function setExpiry(x: Exchange, expiry: Exclude<Expiry, { kind: 'off' }>): void {
  const { date, cacheControl } = linesOf(x, expiry);
  x.response.replaceHeader('Expires', date);
  x.response.replaceHeader('Cache-Control', cacheControl);
}

/** The values of the two headers. */
interface Lines {
  readonly date: string;
  readonly cacheControl: string;
}

const EPOCH: Lines = { date: 'Thu, 01 Jan 1970 00:00:01 GMT', cacheControl: 'no-cache' };
const LATEST: Lines = { date: 'Thu, 31 Dec 2037 23:55:55 GMT', cacheControl: 'max-age=315360000' };

function linesOf(x: Exchange, expiry: Expiry): Lines {
  if (!('seconds' in expiry)) return expiry.kind === 'epoch' ? EPOCH : LATEST;
  const now = Math.floor(Date.now() / 1000);
  if (expiry.seconds === 0 && expiry.kind !== 'daily')
    return { date: httpDate(now), cacheControl: 'max-age=0' };
  const at = momentOf(expiry, now, x);
  const maxAge = at - now;
  const isPast = (expiry.kind !== 'daily' && expiry.seconds < 0) || maxAge < 0;
  return { date: httpDate(at), cacheControl: isPast ? 'no-cache' : `max-age=${maxAge}` };
}

function momentOf({ kind, seconds }: Timed, now: number, x: Exchange): number {
  if (kind === 'daily') return nextDaily(now, seconds);
  const modified = kind === 'modified' ? Date.parse(x.response.header('Last-Modified') ?? '') / 1000 : NaN;
  return seconds + (Number.isNaN(modified) ? now : modified);
}

/** Returns the next time at which the local clock shows this time of day (nginx: ngx_next_time). */
function nextDaily(now: number, seconds: number): number {
  const at = new Date(now * 1000);
  at.setHours(0, 0, seconds, 0);
  if (at.getTime() / 1000 <= now) at.setDate(at.getDate() + 1);
  return at.getTime() / 1000;
}

function httpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString();
}
