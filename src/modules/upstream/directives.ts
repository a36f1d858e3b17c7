import { defines, directivesFor, readers } from '../../config/index.ts';
import type { UpstreamConfig } from '../../contract/index.ts';
import { hash, keepalive, method, random, zone } from './readers.ts';
import { server } from './server.ts';

const UPSTREAM = ['upstream'] as const;
const BALANCING = { contexts: UPSTREAM, into: 'balancing', repeat: 'append', inherit: false } as const;

/** nginx's upstream modules. */
export const directives = directivesFor<UpstreamConfig>()({
  upstream: {
    contexts: ['http'],
    args: readers.text,
    opens: 'upstream',
    many: true,
    summary: 'Names a group of servers.',
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
      'A server of the group. A name is looked up when the configuration is loaded, and again until it is found; with "resolve" as long as it serves.',
    source: 'nginx ngx_http_upstream_module#server',
  },
  zone: {
    contexts: UPSTREAM,
    args: zone,
    many: true,
    accepted: 'the workers always share what they know of the servers',
    summary: 'Shared memory of the group; gw needs no size for it.',
    source: 'nginx ngx_http_upstream_module#zone',
  },
  least_conn: {
    ...BALANCING,
    args: method('least_conn'),
    summary: 'The server with the fewest requests at that moment, by weight.',
    source: 'nginx ngx_http_upstream_module#least_conn',
  },
  ip_hash: {
    ...BALANCING,
    args: method('ip_hash'),
    summary: 'The same server for the same client address (the first three octets of IPv4).',
    source: 'nginx ngx_http_upstream_module#ip_hash',
  },
  hash: {
    ...BALANCING,
    args: hash,
    summary: 'The same server for the same key; "consistent" (ketama) moves few keys when servers change.',
    source: 'nginx ngx_http_upstream_module#hash',
  },
  random: {
    ...BALANCING,
    args: random,
    summary: 'A random server by weight; "two": the less busy of two random ones.',
    source: 'nginx ngx_http_upstream_module#random',
  },
  keepalive: {
    contexts: UPSTREAM,
    args: keepalive,
    into: 'keepaliveConnections',
    inherit: false,
    summary: 'Idle connections to the servers of the group that each worker keeps.',
    source: 'nginx ngx_http_upstream_module#keepalive',
  },
  'keepalive_requests (upstream)': {
    contexts: UPSTREAM,
    args: readers.integer(),
    into: 'keepaliveRequests',
    default: 1000,
    summary: 'Requests on one kept connection.',
    source: 'nginx ngx_http_upstream_module#keepalive_requests',
  },
  'keepalive_time (upstream)': {
    contexts: UPSTREAM,
    args: readers.time,
    into: 'keepaliveTimeMs',
    default: 3_600_000,
    defaultText: '1h',
    summary: 'Longest life of a kept connection.',
    source: 'nginx ngx_http_upstream_module#keepalive_time',
  },
  'keepalive_timeout (upstream)': {
    contexts: UPSTREAM,
    args: readers.time,
    into: 'keepaliveTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Longest idle time of a kept connection.',
    source: 'nginx ngx_http_upstream_module#keepalive_timeout',
  },
});
