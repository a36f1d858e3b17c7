import { AT, defines, directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { listen } from '../listen.ts';
import { locationMatch, serverNames } from '../names.ts';
import { methods } from '../readers.ts';

const { flag, present } = readers;
const NO_ARGUMENTS = { ...present, syntax: '' };

/** The blocks, and which server a request comes to. */
export const structure = directivesFor<CoreConfig>()({
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
    roles: defines('named location', AT.location),
    source: 'nginx ngx_http_core_module#location',
  },
  limit_except: {
    contexts: ['location'],
    args: methods,
    opens: 'limit_except',
    summary: 'Takes the place of the location for all methods but these; GET includes HEAD.',
    source: 'nginx ngx_http_core_module#limit_except',
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
  merge_slashes: {
    contexts: ['http', 'server'],
    args: flag,
    into: 'mergeSlashes',
    default: true,
    summary: 'Takes several slashes in a row as one.',
    source: 'nginx ngx_http_core_module#merge_slashes',
  },
});
