import { directivesFor, readers } from '../../config/index.ts';
import type { CoreConfig } from '../../contract/index.ts';
import { ACCEPTED } from './accepted.ts';
import { CONNECTIONS } from './connection-directives.ts';
import { listen } from './listen.ts';
import { locationMatch, serverNames } from './names.ts';
import { errorLog, errorPage, readTypes, workerCount } from './readers.ts';
import { REQUESTS } from './request-directives.ts';

const { flag, integer, oneOf, present, text, time } = readers;
const HSL = ['http', 'server', 'location'] as const;
const NO_ARGUMENTS = { ...present, syntax: '' };

/** nginx's core and http core directives. */
export const directives = directivesFor<CoreConfig>()({
  events: {
    contexts: ['main'],
    args: NO_ARGUMENTS,
    opens: 'events',
    summary: 'Connection processing; required by nginx, optional here.',
    source: 'nginx ngx_core_module#events',
  },
  http: {
    contexts: ['main'],
    args: NO_ARGUMENTS,
    opens: 'http',
    summary: 'Everything about HTTP.',
    source: 'nginx ngx_http_core_module#http',
  },
  server: {
    contexts: ['http'],
    args: NO_ARGUMENTS,
    opens: 'server',
    many: true,
    summary: 'A virtual server.',
    source: 'nginx ngx_http_core_module#server',
  },
  location: {
    contexts: ['server', 'location'],
    args: locationMatch,
    opens: 'location',
    many: true,
    summary: 'Configuration for the request URIs that match.',
    source: 'nginx ngx_http_core_module#location',
  },
  daemon: {
    contexts: ['main'],
    args: flag,
    into: 'daemon',
    default: false,
    summary: 'Runs in the background; unlike nginx, gw stays in the foreground unless told otherwise.',
    source: 'nginx ngx_core_module#daemon',
  },
  master_process: {
    contexts: ['main'],
    args: flag,
    into: 'masterProcess',
    default: true,
    summary:
      'Starts the supervisor that restarts a process which died; off leaves that to systemd or a container.',
    source: 'nginx ngx_core_module#master_process',
  },
  worker_processes: {
    contexts: ['main'],
    args: workerCount,
    into: 'workerProcesses',
    default: 1,
    summary: 'Worker threads; auto starts one per available core.',
    source: 'nginx ngx_core_module#worker_processes',
  },
  worker_shutdown_timeout: {
    contexts: ['main'],
    args: time,
    into: 'shutdownTimeoutMs',
    default: 30_000,
    defaultText: '30s',
    summary: 'Longest graceful stop of a worker; connections that are open then are closed.',
    source: 'nginx ngx_core_module#worker_shutdown_timeout',
  },
  shutdown_delay: {
    contexts: ['main'],
    args: time,
    into: 'shutdownDelayMs',
    default: 0,
    defaultText: '0s',
    summary: 'How long a graceful stop goes on to serve while the readiness probe already answers 503.',
    source: 'gw',
  },
  metrics_max_series: {
    contexts: ['main'],
    args: integer({ min: 100, max: 100_000 }),
    into: 'metricsMaxSeries',
    default: 2000,
    summary:
      'Label sets that metrics may have in all; what comes later is counted as `other`. Changes with a restart.',
    source: 'gw',
  },
  pid: {
    contexts: ['main'],
    args: text,
    into: 'pidFile',
    default: 'gw.pid',
    summary: 'File with the id of the process that takes signals, relative to the prefix.',
    source: 'nginx ngx_core_module#pid',
  },
  error_log: {
    contexts: ['main', 'http', 'server', 'location'],
    args: errorLog,
    into: 'errorLogs',
    repeat: 'append',
    defaultText: 'logs/error.log error where that directory exists, else stderr',
    summary: 'Where errors are logged, and from which level on.',
    source: 'nginx ngx_core_module#error_log',
  },
  listen: {
    contexts: ['server'],
    args: listen,
    into: 'listens',
    repeat: 'append',
    inherit: false,
    defaultText: '*:80 as root, else *:8000',
    summary: 'Address and port, or Unix socket, on which the server accepts requests.',
    source: 'nginx ngx_http_core_module#listen',
  },
  server_name: {
    contexts: ['server'],
    args: serverNames,
    into: 'serverNames',
    repeat: 'append',
    inherit: false,
    defaultText: '""',
    summary: 'Names of the virtual server: exact, wildcard or regular expression.',
    source: 'nginx ngx_http_core_module#server_name',
  },
  default_type: {
    contexts: HSL,
    args: text,
    into: 'defaultType',
    default: 'text/plain',
    summary: 'Content type of answers that have no other.',
    source: 'nginx ngx_http_core_module#default_type',
  },
  types: {
    contexts: HSL,
    data: readTypes,
    into: 'types',
    merge: (before, added) => ({ ...before, ...added }),
    syntax: '{ type extension ...; }',
    default: { html: 'text/html', gif: 'image/gif', jpg: 'image/jpeg' },
    defaultText: 'text/html html; image/gif gif; image/jpeg jpg;',
    summary: 'Content types by file name extension.',
    source: 'nginx ngx_http_core_module#types',
  },
  server_tokens: {
    contexts: HSL,
    args: oneOf('on', 'off', 'build'),
    into: 'serverTokens',
    default: 'on',
    summary: 'Whether the version shows in the Server header and on built-in pages.',
    source: 'nginx ngx_http_core_module#server_tokens',
  },
  error_page: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: errorPage,
    into: 'errorPages',
    repeat: 'append',
    summary: 'The page to serve for a status: a URI, a named location or a URL.',
    source: 'nginx ngx_http_core_module#error_page',
  },
  internal: {
    contexts: ['location'],
    args: present,
    into: 'internal',
    summary: 'Serves internal redirects only; a request from outside gets 404.',
    source: 'nginx ngx_http_core_module#internal',
  },
  absolute_redirect: {
    contexts: HSL,
    args: flag,
    into: 'absoluteRedirect',
    default: true,
    summary: 'Whether redirects that gw makes name scheme, host and port.',
    source: 'nginx ngx_http_core_module#absolute_redirect',
  },
  ...REQUESTS,
  ...CONNECTIONS,
  ...ACCEPTED,
});
