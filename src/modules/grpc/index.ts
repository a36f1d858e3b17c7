import { tlsSettings } from '../../client/index.ts';
import { moduleFor } from '../../contract/index.ts';
import {
  compileForwarding,
  type ExplainedLocation,
  explainForwarding,
  explainHttpRequest,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
  type Target,
  unconnected,
  type Unconnected,
  validateTls,
} from '../../forwarding/index.ts';
import type { GrpcConfig } from './config.ts';
import { directives } from './directives.ts';
import { compileGrpcErrors } from './grpc-errors.ts';
import { compileGrpc, streaming } from './grpc-protocol.ts';

/** nginx's gRPC module: passes calls to gRPC servers, as streams of shared connections. */
export const grpc = moduleFor<GrpcConfig>()<Provisioned>({
  name: 'grpc',
  summary: 'Forwards calls to gRPC servers.',
  directives,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  validate(config, report) {
    const { pass } = config;
    if (pass?.kind === 'variables' || pass?.scheme === 'grpcs') validateTls('grpc', config, report);
  },
  upstreams: ({ pass }) => (pass?.kind === 'literal' ? [{ ...pass.address, field: 'pass' }] : []),
  provision: (config, worker) =>
    provisionForwarding(config, worker, { protocol: 'h2', isHttp2: true, tls: tlsSettings(config) }),
  compile(own, provisioned, build) {
    if (!own.pass) return {};
    const config = streaming(own);
    const protocol = compileGrpc(own.pass, config, { provisioned, build });
    return {
      content: compileForwarding({ config, provisioned, protocol }, build),
      slashRedirect: true,
      ownErrors: compileGrpcErrors(build),
      ...stickyFilter(provisioned),
    };
  },
  explanation: {
    provision: (_config, scope) => unconnected(scope),
    explain(own, provisioned, build) {
      if (!own.pass) return {};
      const config = streaming(own);
      const protocol = compileGrpc(own.pass, config, { provisioned, build });
      const headOf = protocol.compileHead(false);
      const location: ExplainedLocation<Target> = {
        config,
        provisioned: provisioned as Unconnected,
        protocol,
        prefix: 'grpc',
        tell: (x, asked) => explainHttpRequest(headOf(x, asked)),
      };
      return { content: explainForwarding(location, build) };
    },
  },
  rules: () => import('./rules.ts'),
});
