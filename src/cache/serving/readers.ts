import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, readers } from '../../config/index.ts';

/** `proxy_cache_valid`. */
export interface CacheValidConfig {
  readonly codes: readonly number[] | 'any';
  readonly ms: number;
}

/** A condition of `proxy_cache_use_stale`. */
export type StaleCondition = (typeof STALE_CONDITIONS)[number];

const STALE_CONDITIONS = [
  'error',
  'timeout',
  'invalid_header',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
  'http_403',
  'http_404',
  'http_429',
  'updating',
  'off',
] as const;

/** `[code …] time` (nginx ngx_http_file_cache_valid_set_slot); `usual`: the codes if none is given. */
export const validFor = (usual: readonly number[]): ArgReader<CacheValidConfig> =>
  readers.words({ syntax: '[code ...] time', min: 1, max: Infinity }, (words, { report }) => {
    const timeWord = words.at(-1) as Word;
    const codes = words.slice(0, -1);
    const ms = readers.parseTimeMs(timeWord.value);
    if (ms === undefined) {
      report.emerg(
        `invalid time value "${timeWord.value}"`,
        timeWord.span,
        'expected a time such as 30s or 10m',
      );
      return undefined;
    }
    if (codes.length === 0) return { codes: usual, ms };
    const wrong = codes.find(({ value }) => value !== 'any' && !/^[1-5]\d\d$/.test(value));
    if (wrong) {
      report.emerg(`invalid status "${wrong.value}"`, wrong.span);
      return undefined;
    }
    const isAny = codes.some(({ value }) => value === 'any');
    return { codes: isAny ? 'any' : codes.map(({ value }) => Number(value)), ms };
  });

/** `proxy_cache_valid`. */
export const valid = validFor([200, 301, 302]);

/** `proxy_cache_use_stale` and similar directives. */
export const staleConditions: ArgReader<readonly StaleCondition[]> = readers.someOf(STALE_CONDITIONS);
