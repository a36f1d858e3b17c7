import { directivesFor, type Rows, uses } from '../../config/index.ts';
import { forwardingDirectives, paramReader, passAddress } from '../../forwarding/index.ts';
import type { ScgiConfig } from './config.ts';

export const SCHEMES = { '': 'scgi', scgi: 'scgi' } as const;

const source = (name: string): string => `nginx ngx_http_scgi_module#${name}`;

const own = directivesFor<ScgiConfig>()({
  scgi_pass: {
    contexts: ['location', 'location if'],
    args: passAddress(SCHEMES, 0),
    into: 'pass',
    inherit: 'nameless',
    summary: 'Passes the request to an SCGI server: `[scgi://]host:port`, `unix:/path` or a group.',
    roles: uses('upstream', { behind: ['', 'scgi://'], until: ':' }),
    source: source('scgi_pass'),
  },
  scgi_param: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: paramReader,
    into: 'params',
    repeat: 'append',
    secret: 'named',
    summary: 'A parameter for the server. Like a header of the request, `HTTP_NAME` replaces it.',
    source: source('scgi_param'),
  },
});

/** nginx's SCGI module. */
export const directives: Rows<ScgiConfig> = {
  ...own,
  ...forwardingDirectives('scgi', {
    hide_header: 'Status and X-Accel-*',
    cache_key: '$scheme$host$request_uri',
  }),
};
