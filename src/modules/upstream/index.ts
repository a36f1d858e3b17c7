import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, defines, directivesFor, readers, type ReadScope } from '../../config/index.ts';
import { moduleFor, type StickyKey, type UpstreamConfig } from '../../contract/index.ts';
import type { Balancing, MeasuredTime } from '../../upstream/index.ts';
import { server } from './server.ts';
import { sticky } from './sticky.ts';
import { families, variables } from './variables.ts';

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

/** The criteria by which `random two` chooses a peer. */
const SECOND_CHOICES: ReadonlyMap<string, 'least_conn' | MeasuredTime> = new Map([
  ['least_conn', 'least_conn'],
  ['least_time=header', 'header'],
  ['least_time=last_byte', 'last_byte'],
] as const);

/** `random [two [least_conn | least_time=header|last_byte]]`. */
const random: ArgReader<Balancing> = readers.words(
  { syntax: '[two [least_conn | least_time=header|last_byte]]', min: 0, max: 2 },
  ([two, way], scope) => {
    if (!two) return { kind: 'random' };
    if (two.value !== 'two') return refuse(two, scope);
    const choice = SECOND_CHOICES.get(way?.value ?? 'least_conn');
    return choice ? { kind: 'random', two: choice } : refuse(way ?? two, scope);
  },
);

/** `least_time header|last_byte [inflight]`. */
const leastTime: ArgReader<Balancing> = readers.words(
  { syntax: 'header | last_byte [inflight]', min: 1, max: 2 },
  ([time, inflight], scope) => {
    const by = time?.value;
    if (by !== 'header' && by !== 'last_byte') return refuse(time as Word, scope);
    if (inflight && inflight.value !== 'inflight') return refuse(inflight, scope);
    return { kind: 'least_time', by, inflight: inflight !== undefined };
  },
);

/** `keepalive connections [local]`; 0 keeps none (nginx 1.29.7 and later). */
const keepalive: ArgReader<number> = readers.words(
  { syntax: 'connections [local]', min: 1, max: 2 },
  ([connections, local], scope) => {
    const { value, span } = connections as Word;
    const isNumber = /^\d{1,9}$/.test(value);
    if (!isNumber) scope.report.emerg(`invalid value "${value}" in "keepalive" directive`, span);
    if (local && local.value !== 'local') return refuse(local, scope);
    return isNumber ? Number(value) : undefined;
  },
);

/** Reads the name of the cookie or header that binds requests to peers. */
function keyName(from: StickyKey['from']): ArgReader<StickyKey> {
  return readers.words({ syntax: 'name', min: 1, max: 1 }, ([name], { report }) => {
    const { value, span } = name as Word;
    if (/^[!#$%&'*+.^_`|~\w-]+$/.test(value)) return { from, name: value };
    report.emerg(`invalid ${from} name "${value}"`, span);
    return undefined;
  });
}

/** nginx needs eight pages of memory for the peers. */
const MIN_ZONE_BYTES = 8 * 4096;

/** `zone name [size]`. Only the size has an effect; it is 0 by default. */
const zone: ArgReader<number> = readers.words(
  { syntax: 'name [size]', min: 1, max: 2 },
  ([name, size], { report }) => {
    const { value, span } = name as Word;
    const bytes = size && readers.parseSize(size.value);
    if (value === '') report.emerg(`invalid zone name "${value}"`, span);
    else if (size && bytes === undefined) report.emerg(`invalid zone size "${size.value}"`, size.span);
    else if (bytes !== undefined && bytes < MIN_ZONE_BYTES)
      report.emerg(`zone "${value}" is too small`, span);
    else return bytes ?? 0;
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
    into: 'zoneBytes',
    inherit: false,
    summary:
      'Shared memory of the group. The workers always share what they know of the servers; the size bounds the number of peers of a managed group, at 512 bytes each.',
    source: 'nginx ngx_http_upstream_module#zone',
  },
  dynamic_upstreams_managed: {
    contexts: UPSTREAM,
    args: readers.present,
    into: 'managed',
    inherit: false,
    summary:
      'The peers of the group may be changed while it serves: by dynamic_upstreams_api, and by a source. There is room for 256 peers, or for what the size of "zone" says.',
    source: 'gw',
  },
  least_conn: {
    ...BALANCING,
    args: method('least_conn'),
    summary: 'Selects the server with the fewest active requests, by weight.',
    source: 'nginx ngx_http_upstream_module#least_conn',
  },
  least_time: {
    ...BALANCING,
    args: leastTime,
    summary:
      'Selects the server with the lowest average time to the head of a response or to its last byte, times its active requests, by weight; "inflight" counts requests that have no response yet.',
    source: 'nginx ngx_http_upstream_module#least_time',
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
    summary: 'Selects a random server by weight; with "two", the less busy or the faster of two random ones.',
    source: 'nginx ngx_http_upstream_module#random',
  },
  sticky: {
    contexts: UPSTREAM,
    args: sticky,
    into: 'sticky',
    inherit: false,
    summary:
      'Binds a session to one server: by a cookie that names the server, by a route in the request, or by sessions learnt from responses. A server that cannot serve is replaced by another.',
    source: 'nginx ngx_http_upstream_module#sticky',
  },
  upstream_balancer_sticky_cookie: {
    contexts: UPSTREAM,
    args: keyName('cookie'),
    into: 'stickyKey',
    inherit: false,
    summary:
      'Binds requests by a cookie: `peer:ADDRESS` names the server, any other value is hashed (CRC32) over the weights of the servers that can serve.',
    source: 'gw',
  },
  upstream_balancer_sticky_header: {
    contexts: UPSTREAM,
    args: keyName('header'),
    into: 'stickyKey',
    inherit: false,
    summary: 'Binds requests by a header, as upstream_balancer_sticky_cookie does by a cookie.',
    source: 'gw',
  },
  upstream_balancer_fallback: {
    contexts: UPSTREAM,
    args: readers.oneOf('next', 'off'),
    into: 'stickyFallback',
    default: 'next',
    inherit: false,
    summary:
      'What happens to a request whose server cannot serve it or that names none: another server, or 502.',
    source: 'gw',
  },
  upstream_balancer_issue_cookie: {
    contexts: UPSTREAM,
    args: readers.flag,
    into: 'stickyIssuesCookie',
    default: false,
    inherit: false,
    summary: 'Sets the cookie for clients without one, and for those whose server has gone.',
    source: 'gw',
  },
  upstream_balancer_cookie_attrs: {
    contexts: UPSTREAM,
    args: readers.text,
    into: 'stickyCookieAttributes',
    default: 'Path=/; HttpOnly; SameSite=Lax',
    inherit: false,
    summary: 'The attributes of an issued cookie.',
    source: 'gw',
  },
  keepalive: {
    contexts: UPSTREAM,
    args: keepalive,
    into: 'keepaliveConnections',
    inherit: false,
    summary: 'Maximum number of idle connections to the servers of the group, per worker; 0 keeps none.',
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
  summary: 'Groups of servers: balancing, failover, sticky sessions.',
  directives,
  variables,
  families,
  enabled: () => false,
  compile: () => ({}),
  rules: () => import('./rules.ts'),
});
