import { directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { headerBuffers, keepaliveTimeout } from '../readers.ts';

const { integer, size, time } = readers;
const HSL = ['http', 'server', 'location'] as const;

/** Limits of requests and connections. */
export const requests = directivesFor<CoreConfig>()({
  large_client_header_buffers: {
    contexts: ['http', 'server'],
    args: headerBuffers,
    into: 'largeHeaderBuffers',
    default: { number: 4, sizeBytes: 8192 },
    defaultText: '4 8k',
    summary: 'Size limits of one line of the request head, and of the head in all.',
    source: 'nginx ngx_http_core_module#large_client_header_buffers',
  },
  client_max_body_size: {
    contexts: HSL,
    args: size,
    into: 'maxBodyBytes',
    default: 1_048_576,
    defaultText: '1m',
    summary: 'Largest request body; beyond it the answer is 413. 0 means no limit.',
    source: 'nginx ngx_http_core_module#client_max_body_size',
  },
  client_body_timeout: {
    contexts: HSL,
    args: time,
    into: 'bodyTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary:
      'Longest silence between two reads of a request body; the uWebSockets.js engine cuts after 10 s.',
    source: 'nginx ngx_http_core_module#client_body_timeout',
  },
  send_timeout: {
    contexts: HSL,
    args: time,
    into: 'sendTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'Longest silence between two writes to the client; the uWebSockets.js engine cuts after 10 s.',
    source: 'nginx ngx_http_core_module#send_timeout',
  },
  keepalive_timeout: {
    contexts: HSL,
    args: keepaliveTimeout,
    into: 'keepaliveTimeoutMs',
    default: 75_000,
    defaultText: '75s',
    summary:
      'How long an idle connection stays open; 0 closes after each answer. uWebSockets.js cuts after 10 s.',
    source: 'nginx ngx_http_core_module#keepalive_timeout',
  },
  keepalive_requests: {
    contexts: HSL,
    args: integer(),
    into: 'keepaliveRequests',
    default: 1000,
    summary:
      'Requests that one connection may carry. uWebSockets.js does not count them: only 0, which closes after each answer, has an effect.',
    source: 'nginx ngx_http_core_module#keepalive_requests',
  },
});
