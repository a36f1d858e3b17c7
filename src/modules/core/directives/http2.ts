import { directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';

const { flag, integer, size } = readers;
const HS = ['http', 'server'] as const;

/** The largest window of HTTP/2 (RFC 9113, 6.9.1). */
const LARGEST_WINDOW = 2 ** 31 - 1;

/** Directives about HTTP/2 to clients. */
export const http2 = directivesFor<CoreConfig>()({
  http2: {
    contexts: HS,
    args: flag,
    into: 'http2',
    default: false,
    summary:
      'Serves HTTP/2: with TLS to clients that choose it in the handshake (ALPN), without TLS to clients that begin with it (prior knowledge), as the default server of the port says. The node engine serves such ports.',
    source: 'nginx ngx_http_v2_module#http2',
  },
  http2_max_concurrent_streams: {
    contexts: HS,
    args: integer({ min: 1 }),
    into: 'http2MaxStreams',
    default: 128,
    summary: 'Maximum number of concurrent requests on one HTTP/2 connection.',
    source: 'nginx ngx_http_v2_module#http2_max_concurrent_streams',
  },
  http2_body_preread_size: {
    contexts: HS,
    args: size,
    into: 'http2PrereadBytes',
    default: 65_536,
    defaultText: '64k',
    summary: `How much of a request body a client may send before gw reads it, at most ${LARGEST_WINDOW} bytes; gw also uses it as the window of a body that is being read, but not less than 256k.`,
    source: 'nginx ngx_http_v2_module#http2_body_preread_size',
  },
});
