import { type ExplainedLocation, explainForwarding, unconnected, type Unconnected } from './explanation.ts';
import type { ForwardingBuild } from './build.ts';
import type { ForwardingConfig } from './config.ts';
import type { Provisioned } from './connections.ts';
import { explainParams, type ParamConfig } from './params.ts';
import type { PassAddress } from './pass-address.ts';
import type { Protocol, Target } from './protocol.ts';

interface ParamsConfig extends ForwardingConfig {
  readonly pass?: PassAddress;
  readonly params?: readonly ParamConfig[];
}

type CompileProtocol<C, B> = (
  pass: PassAddress,
  config: C,
  tools: { readonly provisioned: Provisioned; readonly build: B },
) => Protocol<Target>;

/** Returns the explanation of a location whose requests are CGI parameters: the parameters, and the peer. */
export function addressExplanation<C extends ParamsConfig, B extends ForwardingBuild>(
  prefix: string,
  compileProtocol: CompileProtocol<C, B>,
) {
  return {
    provision: (_config: C, scope: Parameters<typeof unconnected>[0]): Provisioned => unconnected(scope),
    explain(config: C, provisioned: Provisioned, build: B) {
      const { pass, params = [], passRequestHeaders } = config;
      if (!pass) return {};
      const location: ExplainedLocation<Target> = {
        config,
        provisioned: provisioned as Unconnected,
        protocol: compileProtocol(pass, config, { provisioned, build }),
        prefix,
        tell: explainParams(params, passRequestHeaders, build),
      };
      return { content: explainForwarding(location, build) };
    },
  };
}
