import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, defines, directivesFor, readers, type ReadScope } from '../../config/index.ts';
import { moduleFor, type UpstreamConfig } from '../../contract/index.ts';
import type { Balancing } from '../../upstream/index.ts';
import { server } from './server.ts';

const NO_ARGUMENTS = { syntax: '', min: 0, max: 0 };

/** Reads `least_conn` and `ip_hash`. */
function method(kind: 'least_conn' | 'ip_hash'): ArgReader<Balancing> {
  return readers.words(NO_ARGUMENTS, () => ({ kind }));
}

/** `hash key [consistent]`. */
const hash: ArgReader<Balancing> = readers.words(
  { syntax: 'key [consistent]', min: 1, max: 2 },
  ([key, consistent], scope) => {
    if (consistent && consistent.value !== 'consistent') return refuse(consistent, scope);
    return { kind: 'hash', key: scope.complexValue(key as Word), consistent: consistent !== undefined };
  },
);

/** `random [two [least_conn]]`. */
const random: ArgReader<Balancing> = readers.words(
  { syntax: '[two [least_conn]]', min: 0, max: 2 },
  ([two, way], scope) => {
    if (two && two.value !== 'two') return refuse(two, scope);
    if (way && way.value !== 'least_conn') return refuse(way, scope);
    return { kind: 'random', two: two !== undefined };
  },
);

/** `keepalive connections [local]`. */
const keepalive: ArgReader<number> = readers.words(
  { syntax: 'connections [local]', min: 1, max: 2 },
  ([connections, local], scope) => {
    const { value, span } = connections as Word;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (number === 0) scope.report.emerg(`invalid value "${value}" in "keepalive" directive`, span);
    if (local && local.value !== 'local') return refuse(local, scope);
    return number === 0 ? undefined : number;
  },
);

/** nginx needs eight pages of memory for the peers. */
const MIN_ZONE_BYTES = 8 * 4096;

/** `zone name [size]`: checked as in nginx, without effect. */
const zone: ArgReader<string> = readers.words(
  { syntax: 'name [size]', min: 1, max: 2 },
  ([name, size], { report }) => {
    const { value, span } = name as Word;
    const bytes = size && readers.parseSize(size.value);
    if (value === '') report.emerg(`invalid zone name "${value}"`, span);
    else if (size && bytes === undefined) report.emerg(`invalid zone size "${size.value}"`, size.span);
    else if (bytes !== undefined && bytes < MIN_ZONE_BYTES)
      report.emerg(`zone "${value}" is too small`, span);
    else return value;
    return undefined;
  },
);

function refuse(word: Word, { report }: ReadScope): undefined {
  report.emerg(`invalid parameter "${word.value}"`, word.span);
  return undefined;
}

const UPSTREAM = ['upstream'] as const;
const BALANCING = { contexts: UPSTREAM, into: 'balancing', repeat: 'append', inherit: false } as const;

/** nginx's upstream modules. */
const directives = directivesFor<UpstreamConfig>()({
  upstream: {
    contexts: ['http'],
    args: readers.text,
    opens: 'upstream',
    many: true,
    summary: 'Defines a group of servers.',
    roles: defines('upstream'),
    source: 'nginx ngx_http_upstream_module#upstream',
  },
  'server (upstream)': {
    contexts: UPSTREAM,
    args: server,
    into: 'servers',
    repeat: 'append',
    inherit: false,
    summary:
      'A server of the group. A name is resolved when the configuration is loaded, and repeatedly until that succeeds; with "resolve", repeatedly while the configuration is active.',
    source: 'nginx ngx_http_upstream_module#server',
  },
  zone: {
    contexts: UPSTREAM,
    args: zone,
    many: true,
    accepted: 'the workers always share what they know of the servers',
    summary: 'Shared memory of the group; gw needs no size.',
    source: 'nginx ngx_http_upstream_module#zone',
  },
  least_conn: {
    ...BALANCING,
    args: method('least_conn'),
    summary: 'Selects the server with the fewest active requests, by weight.',
    source: 'nginx ngx_http_upstream_module#least_conn',
  },
  ip_hash: {
    ...BALANCING,
    args: method('ip_hash'),
    summary: 'Selects the same server for the same client address (the first three octets of IPv4).',
    source: 'nginx ngx_http_upstream_module#ip_hash',
  },
  hash: {
    ...BALANCING,
    args: hash,
    summary:
      'Selects the same server for the same key; with "consistent" (ketama) few keys move if servers change.',
    source: 'nginx ngx_http_upstream_module#hash',
  },
  random: {
    ...BALANCING,
    args: random,
    summary: 'Selects a random server by weight; with "two", the less busy of two random ones.',
    source: 'nginx ngx_http_upstream_module#random',
  },
  keepalive: {
    contexts: UPSTREAM,
    args: keepalive,
    into: 'keepaliveConnections',
    inherit: false,
    summary: 'Maximum number of idle connections to the servers of the group, per worker.',
    source: 'nginx ngx_http_upstream_module#keepalive',
  },
  'keepalive_requests (upstream)': {
    contexts: UPSTREAM,
    args: readers.integer(),
    into: 'keepaliveRequests',
    default: 1000,
    summary: 'Maximum number of requests on one kept connection.',
    source: 'nginx ngx_http_upstream_module#keepalive_requests',
  },
  'keepalive_time (upstream)': {
    contexts: UPSTREAM,
    args: readers.time,
    into: 'keepaliveTimeMs',
    default: 3_600_000,
    defaultText: '1h',
    summary: 'Maximum age of a kept connection.',
    source: 'nginx ngx_http_upstream_module#keepalive_time',
  },
  'keepalive_timeout (upstream)': {
    contexts: UPSTREAM,
    args: readers.time,
    into: 'keepaliveTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Maximum idle time of a kept connection.',
    source: 'nginx ngx_http_upstream_module#keepalive_timeout',
  },
});

/** Named groups of servers. The plan builds the groups; other modules send requests to them. */
export const upstream = moduleFor<UpstreamConfig>()({
  name: 'upstream',
  directives,
  enabled: () => false,
  compile: () => ({}),
  rules: () => import('./rules.ts'),
});
