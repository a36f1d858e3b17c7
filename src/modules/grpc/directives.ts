import { directivesFor, type Rows, uses } from '../../config/index.ts';
import {
  headerRule,
  passAddress,
  shownHeadersDirectives,
  tlsDirectives,
  tryingDirectives,
} from '../../forwarding/index.ts';
import type { GrpcConfig } from './config.ts';

/** The schemes of addresses; the second one is encrypted. */
export const SCHEMES = { '': 'grpc', grpc: 'grpc', grpcs: 'grpcs' } as const;

const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_grpc_module#${name}`;

const own = directivesFor<GrpcConfig>()({
  grpc_pass: {
    contexts: ['location', 'location if'],
    args: passAddress(SCHEMES, 0),
    into: 'pass',
    inherit: 'nameless',
    summary: 'Passes the request to a gRPC server: `[grpc:// | grpcs://]host:port`, `unix:/path` or a group.',
    roles: uses('upstream', { behind: ['', 'grpc://', 'grpcs://'], until: ':' }),
    source: source('grpc_pass'),
  },
  grpc_set_header: {
    contexts: HSL,
    args: headerRule,
    into: 'setHeaders',
    repeat: 'append',
    secret: 'named',
    defaultText: 'Content-Length $content_length',
    summary: 'Sets a header of the request to the server; with an empty value the header is not sent.',
    source: source('grpc_set_header'),
  },
});

/** nginx's gRPC module. */
export const directives: Rows<GrpcConfig> = {
  ...own,
  ...tryingDirectives('grpc'),
  ...shownHeadersDirectives('grpc', { hide_header: 'Date, Server and X-Accel-*' }),
  ...tlsDirectives('grpc', { ssl_name: 'the host in "grpc_pass"' }),
};
