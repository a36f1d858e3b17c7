import { cacheReaders, type UpstreamCacheConfig } from '../../../cache/index.ts';
import { directivesFor, readers, uses } from '../../../config/index.ts';

/** `dbrest_cache*` of one location. */
export interface DbrestCacheConfig extends UpstreamCacheConfig {
  /** Claims that tell the owners of tokens apart; absent: all but those that change with each token. */
  readonly cacheClaims?: readonly string[];
  /** Request headers that responses depend on. */
  readonly cacheVary?: readonly string[];
  /** Responses are stored although a function runs before each request. */
  readonly cachePreRequest: boolean;
  /** Responses of stable and immutable functions are stored as well. */
  readonly cacheRpc: boolean;
  /** Writes of other clients are announced (`NOTIFY gw_cache`); while no worker listens, nothing is stored or served. */
  readonly cacheListen: boolean;
}

const EVERYWHERE = ['http', 'server', 'location'] as const;
const { flag, integer, time } = readers;
const names = readers.words<readonly string[]>({ syntax: 'name ...', min: 1, max: Infinity }, (words) =>
  words.map(({ value }) => value),
);

/** Which responses are stored, for whom, and for how long. */
const storing = directivesFor<DbrestCacheConfig>()({
  dbrest_cache: {
    contexts: EVERYWHERE,
    args: { ...readers.value, syntax: 'zone | off' },
    into: 'cache',
    default: { parts: ['off'] },
    defaultText: 'off',
    summary:
      'The cache (proxy_cache_path) that rows are stored in and served from, for GET and HEAD of tables and views. Writes through gw, and those that NOTIFY gw_cache announces, remove what they change.',
    roles: uses('response cache'),
    source: 'gw',
  },
  dbrest_cache_key: {
    contexts: EVERYWHERE,
    args: readers.value,
    into: 'cacheKey',
    summary:
      'What tells requests of one role and one set of claims apart. Default: path, query, schema, media type, Range and the preferences that count.',
    source: 'gw',
  },
  dbrest_cache_valid: {
    contexts: EVERYWHERE,
    args: cacheReaders.validFor([200, 206]),
    into: 'cacheValid',
    repeat: 'append',
    summary:
      'How long responses are fresh that do not say it themselves (response.headers: Cache-Control, X-Accel-Expires); without codes, those with status 200 and 206. Without the directive, only those that say it are stored.',
    source: 'gw',
  },
  dbrest_cache_bypass: {
    contexts: EVERYWHERE,
    args: readers.values,
    into: 'cacheBypass',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the response is not taken from the cache.',
    source: 'gw',
  },
  dbrest_cache_no_cache: {
    contexts: EVERYWHERE,
    args: readers.values,
    into: 'noCache',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the response is not stored.',
    source: 'gw',
  },
  dbrest_cache_min_uses: {
    contexts: EVERYWHERE,
    args: integer(),
    into: 'cacheMinUses',
    default: 1,
    summary: 'Number of requests for a key that it takes until its response is stored.',
    source: 'gw',
  },
  dbrest_cache_claims: {
    contexts: EVERYWHERE,
    args: names,
    into: 'cacheClaims',
    defaultText: 'all but exp, iat, nbf and jti',
    summary:
      'Claims of a token that responses depend on besides its role: tokens that agree in them share responses. Row security must read no other claim.',
    source: 'gw',
  },
  dbrest_cache_vary: {
    contexts: EVERYWHERE,
    args: names,
    into: 'cacheVary',
    summary: 'Request headers that policies, views or functions read, so that responses depend on them.',
    source: 'gw',
  },
  dbrest_cache_pre_request: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cachePreRequest',
    default: false,
    summary:
      'Whether responses are stored where dbrest_pre_request names a function. It does not run for responses from the cache.',
    source: 'gw',
  },
  dbrest_cache_rpc: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cacheRpc',
    default: false,
    summary:
      'Whether responses of stable and immutable functions are stored, and rows with computed columns. They have the tag "fn:schema.name"; what the functions read is not known.',
    source: 'gw',
  },
  dbrest_cache_listen: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cacheListen',
    default: true,
    defaultText: 'on',
    summary:
      'Whether writes of other clients are heard (NOTIFY gw_cache, see gw db setup --cache). While the listening connection is down nothing is stored or served. "off": such writes show when responses expire.',
    source: 'gw',
  },
});

/** Expired responses, and the lock while a response is fetched. */
const fetching = directivesFor<DbrestCacheConfig>()({
  dbrest_cache_use_stale: {
    contexts: EVERYWHERE,
    args: cacheReaders.staleConditions,
    into: 'cacheUseStale',
    repeat: 'append',
    defaultText: 'off',
    summary:
      'When an expired response is served: after which statuses ("error" is 503, "timeout" is 504), and while it is updated.',
    source: 'gw',
  },
  dbrest_cache_lock: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cacheLock',
    default: false,
    summary:
      'One request at a time asks the database for a response that is not in the cache; the others wait.',
    source: 'gw',
  },
  dbrest_cache_lock_timeout: {
    contexts: EVERYWHERE,
    args: time,
    into: 'cacheLockTimeoutMs',
    default: 5_000,
    defaultText: '5s',
    summary:
      'Longest wait for the lock; after it a request asks the database, and its response is not stored.',
    source: 'gw',
  },
  dbrest_cache_lock_age: {
    contexts: EVERYWHERE,
    args: time,
    into: 'cacheLockAgeMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'If the request with the lock is not done after this time, one more asks the database.',
    source: 'gw',
  },
  dbrest_cache_background_update: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cacheBackgroundUpdate',
    default: false,
    summary: 'An expired response is served at once, and updated by a request of its own.',
    source: 'gw',
  },
});

/** The rows of all `dbrest_cache*` directives. */
export const cacheDirectives = { ...storing, ...fetching };

/** Conditional requests: entity tags and the versions of rows. */
export interface ConditionsConfig {
  readonly etag: boolean;
  /** The column with the version of a row. */
  readonly rowVersion?: string;
}

/** PostgreSQL cuts longer names off. */
const LONGEST_NAME = 63;

const column = readers.oneWord<string>('column | xmin', ({ value, span }, { directive, report }) => {
  if (value !== '' && !value.includes('\0') && Buffer.byteLength(value) <= LONGEST_NAME) return value;
  report.emerg(`invalid column "${value}" in "${directive}" directive`, span);
  return undefined;
});

/** The rows of `dbrest_etag` and `dbrest_row_version`. */
export const conditionsDirectives = directivesFor<ConditionsConfig>()({
  dbrest_etag: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'etag',
    default: true,
    defaultText: 'on',
    summary:
      'Whether reads of tables, views and functions (GET and HEAD) have an ETag of their bytes, and respond with 304 where "If-None-Match" names it. Streamed responses, which are larger than 256 KB, have none.',
    source: 'gw',
  },
  dbrest_row_version: {
    contexts: EVERYWHERE,
    args: column,
    into: 'rowVersion',
    summary:
      'The column that changes with each change of its row, or "xmin", which PostgreSQL keeps itself: the ETag of a single row begins with it, and "If-Match" lets PATCH, PUT and DELETE change rows of these versions alone (412 otherwise).',
    source: 'gw',
  },
});
