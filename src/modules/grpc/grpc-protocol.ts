import type { Build } from '../../contract/index.ts';
import {
  compileAddress,
  compileHttp2Head,
  compileTlsName,
  type ForwardingConfig,
  type PassAddress,
  passedTarget,
  plainForwarding,
  type Protocol,
  type Provisioned,
  type Target,
} from '../../forwarding/index.ts';
import type { GrpcConfig } from './config.ts';
import { SCHEMES } from './directives.ts';

/** Headers that nginx hides, besides `X-Accel-…` (ngx_http_grpc_hide_headers). */
const HIDDEN: readonly string[] = ['Date', 'Server'];

/** Returns the rules for passing requests on: messages go both ways as they come, and nothing is stored. */
export function streaming(config: GrpcConfig): GrpcConfig & ForwardingConfig {
  return {
    ...plainForwarding(config),
    passRequestHeaders: true,
    passRequestBody: true,
    requestBuffering: false,
    buffering: false,
  };
}

/** Compiles the gRPC protocol of a `grpc_pass`: HTTP/2 whose responses end with trailers. */
export function compileGrpc(
  pass: PassAddress,
  config: GrpcConfig & ForwardingConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const location = {
    config,
    provisioned,
    directive: 'grpc_pass',
    schemes: SCHEMES,
    defaultPort: 0,
    tlsScheme: 'grpcs',
  };
  const head = { authorityOf: (_x: unknown, { group }: Target) => authorityOf(group.name), fields: TRAILERS };
  return {
    targetOf: compileAddress(pass, location, build),
    uriOf: passedTarget,
    compileHead: () => compileHttp2Head(config, head, build),
    takesUnknownLength: true,
    range: undefined,
    defaultKey: () => '',
    hiddenHeaders: HIDDEN,
    rewrites: new Map(),
    passesTrailers: true,
    tls: { nameOf: compileTlsName(config, build), sendsName: config.sslServerName },
  };
}

/** Servers refuse clients that cannot read trailers (gRPC over HTTP/2, "Requests"). */
const TRAILERS = [['te', 'trailers']] as const;

/** Returns the `:authority`, which is `localhost` for a Unix socket (nginx). */
function authorityOf(name: string): string {
  return name.startsWith('unix:') ? 'localhost' : name;
}
