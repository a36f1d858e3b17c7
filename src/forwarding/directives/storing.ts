import { type ArgReader, directivesFor, readers, uses } from '../../config/index.ts';
import { cacheReaders } from '../../cache/index.ts';
import type { StoringConfig } from '../config.ts';
import type { StoredFileConfig } from '../stored-file.ts';

const { flag, integer, size, time } = readers;
const HSL = ['http', 'server', 'location'] as const;

/** Methods in nginx's list; GET and HEAD are always cached. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const;

/** Reads `…_store`. */
const storedFile: ArgReader<StoredFileConfig['store']> = readers.oneWord(
  'on | off | string',
  (word, scope) => (word.value === 'on' || word.value === 'off' ? word.value : scope.complexValue(word)),
);

const SHIFTS: Readonly<Record<string, number>> = { user: 6, group: 3, all: 0 };
const PERMISSIONS: Readonly<Record<string, number>> = { r: 4, w: 2, rw: 6 };

/** Reads `…_store_access`. The user may always read and write (nginx: ngx_conf_set_access_slot). */
const storeAccess: ArgReader<number> = readers.words(
  { syntax: 'users:permissions ...', min: 1, max: 3 },
  (words, { report }) => {
    let mode = 0o600;
    for (const { value, span } of words) {
      const [who = '', what = ''] = value.split(':');
      const [shift, permission] = [SHIFTS[who], PERMISSIONS[what]];
      if (shift === undefined || permission === undefined) {
        report.emerg(
          `invalid value "${value}"`,
          span,
          'expected user, group or all, and r, w or rw: "group:r"',
        );
        return undefined;
      }
      mode |= permission << shift;
    }
    return mode;
  },
);

/** The rows about stored responses, without the prefix of their protocol. */
export const storingRows = directivesFor<StoringConfig>()({
  cache: {
    contexts: HSL,
    args: { ...readers.value, syntax: 'zone | off' },
    into: 'cache',
    default: { parts: ['off'] },
    defaultText: 'off',
    summary: 'The cache that responses are stored in and served from.',
    roles: uses('response cache'),
    source: 'nginx',
  },
  cache_key: {
    contexts: HSL,
    args: readers.value,
    into: 'cacheKey',
    summary: 'The key of a response; two requests with the same key get the same response.',
    source: 'nginx',
  },
  cache_valid: {
    contexts: HSL,
    args: cacheReaders.valid,
    into: 'cacheValid',
    repeat: 'append',
    summary:
      'How long responses are fresh whose headers do not say it; without codes, those with status 200, 301 and 302.',
    source: 'nginx',
  },
  cache_methods: {
    contexts: HSL,
    args: readers.someOf(METHODS),
    into: 'cacheMethods',
    defaultText: 'GET HEAD',
    summary: 'Methods of the requests whose responses are stored; GET and HEAD always are.',
    source: 'nginx',
  },
  cache_min_uses: {
    contexts: HSL,
    args: integer(),
    into: 'cacheMinUses',
    default: 1,
    summary: 'Number of requests for a key that it takes until its response is stored.',
    source: 'nginx',
  },
  cache_bypass: {
    contexts: HSL,
    args: readers.values,
    into: 'cacheBypass',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the response is not taken from the cache.',
    source: 'nginx',
  },
  no_cache: {
    contexts: HSL,
    args: readers.values,
    into: 'noCache',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the response is not stored.',
    source: 'nginx',
  },
  cache_use_stale: {
    contexts: HSL,
    args: cacheReaders.staleConditions,
    into: 'cacheUseStale',
    repeat: 'append',
    defaultText: 'off',
    summary: 'When a stale response is served: after which failures, and while it is updated.',
    source: 'nginx',
  },
  cache_lock: {
    contexts: HSL,
    args: flag,
    into: 'cacheLock',
    default: false,
    summary: 'One request at a time fetches a response that is not in the cache; the others wait for it.',
    source: 'nginx',
  },
  cache_lock_timeout: {
    contexts: HSL,
    args: time,
    into: 'cacheLockTimeoutMs',
    default: 5_000,
    defaultText: '5s',
    summary:
      'Longest wait for the lock; after it a request is sent to the upstream, and its response is not stored.',
    source: 'nginx',
  },
  cache_lock_age: {
    contexts: HSL,
    args: time,
    into: 'cacheLockAgeMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'If the request with the lock is not done after this time, one more is sent.',
    source: 'nginx',
  },
  cache_background_update: {
    contexts: HSL,
    args: flag,
    into: 'cacheBackgroundUpdate',
    default: false,
    summary: 'A stale response is served at once, and updated by a request of its own.',
    source: 'nginx',
  },
  cache_revalidate: {
    contexts: HSL,
    args: flag,
    into: 'cacheRevalidate',
    default: false,
    summary: 'Asks with If-Modified-Since and If-None-Match whether a stale response is still right.',
    source: 'nginx',
  },
  cache_convert_head: {
    contexts: HSL,
    args: flag,
    into: 'cacheConvertHead',
    default: true,
    summary: 'HEAD is sent to the upstream as GET; with "off" the key has to contain $request_method.',
    source: 'nginx',
  },
  cache_max_range_offset: {
    contexts: HSL,
    args: size,
    into: 'cacheMaxRangeOffset',
    summary: 'Requests for a range from this byte on, or from the end, are passed on and not stored.',
    source: 'nginx',
  },
  cache_verify: {
    contexts: HSL,
    args: size,
    into: 'cacheVerifyBytes',
    default: 1_048_576,
    defaultText: '1m',
    summary:
      'Stored bodies up to this size are compared with their checksum before they are sent for the first time after a start; larger ones while they are sent.',
    source: 'gw',
  },
  cache_purge: {
    contexts: HSL,
    args: readers.values,
    into: 'cachePurge',
    repeat: 'append',
    summary:
      'If one of the values is neither empty nor 0, the request removes the response with its key, or with a "*" at the end of the key all that begin so: 204, or 404 if there was none. Access rules decide who may send it.',
    source: 'nginx',
  },
  store: {
    contexts: HSL,
    args: storedFile,
    into: 'store',
    default: 'off',
    summary:
      'Writes each response with status 200 to a GET to a file: with on the one that the URI stands for, else the one that is named.',
    source: 'nginx',
  },
  store_access: {
    contexts: HSL,
    args: storeAccess,
    into: 'storeAccess',
    default: 0o600,
    defaultText: 'user:rw',
    summary: 'Permissions of the files that responses are written to.',
    source: 'nginx',
  },
  force_ranges: {
    contexts: HSL,
    args: flag,
    into: 'forceRanges',
    default: false,
    summary:
      'Serves ranges even if the upstream did not send Accept-Ranges; of a response that is not stored one range, and the upstream sends the whole body.',
    source: 'nginx',
  },
});
