import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  directivesFor,
  readers,
  type ReadScope,
  type Rows,
  uses,
} from '../../config/index.ts';
import { type NextCondition, passAddress, tryingDirectives } from '../../forwarding/index.ts';
import type { MemcachedConfig, MemcachedPass } from './config.ts';

export const SCHEMES = { '': 'memcached' } as const;

const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_memcached_module#${name}`;
const address = passAddress(SCHEMES, 0);

/** The address. The configuration has to `set` the key. */
const pass: ArgReader<MemcachedPass> = readers.oneWord('address', (word: Word, scope: ReadScope) => {
  const read = address.read([word], scope);
  const key = scope.complexValue({ ...word, value: '$memcached_key' });
  return read && { address: read, key };
});

/** nginx's words for the conditions of other protocols. */
const CONDITIONS: Readonly<Record<string, NextCondition>> = {
  invalid_response: 'invalid_header',
  not_found: 'http_404',
};
const names = readers.someOf(['error', 'timeout', 'invalid_response', 'not_found', 'off']);
const conditions: ArgReader<readonly NextCondition[]> = {
  ...names,
  read: (words, scope) =>
    names.read(words, scope)?.map((name) => CONDITIONS[name] ?? (name as NextCondition)),
};

const own = directivesFor<MemcachedConfig>()({
  memcached_pass: {
    contexts: ['location', 'location if'],
    args: pass,
    into: 'pass',
    inherit: 'nameless',
    summary: 'Responds with the value of `$memcached_key` in memcached, or with 404.',
    roles: uses('upstream', { until: ':' }),
    source: source('memcached_pass'),
  },
  memcached_gzip_flag: {
    contexts: HSL,
    args: readers.integer({ min: 1 }),
    into: 'gzipFlag',
    default: 0,
    defaultText: 'none',
    summary: 'Values that were stored with this flag are sent with `Content-Encoding: gzip`.',
    source: source('memcached_gzip_flag'),
  },
});

const trying = tryingDirectives('memcached');

/** nginx's memcached module. */
export const directives: Rows<MemcachedConfig> = {
  ...own,
  ...trying,
  memcached_next_upstream: {
    contexts: HSL,
    args: conditions,
    into: 'nextUpstream',
    repeat: 'append',
    defaultText: 'error timeout',
    summary: 'In which cases the key is asked for at the next server of the group.',
    source: source('memcached_next_upstream'),
  },
};
