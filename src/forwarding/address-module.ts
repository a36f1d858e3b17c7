import { mayCache } from '../cache/index.ts';
import type { TlsConfig } from '../client/index.ts';
import { constantText } from '../config/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import { explainParams, type ParamConfig } from './cgi-params.ts';
import type { ForwardingConfig } from './config.ts';
import type { Provisioned } from './connections.ts';
import { type ExplainedLocation, explainForwarding, unconnected, type Unconnected } from './explanation.ts';
import type { PassAddress } from './pass-address.ts';
import type { Protocol, Target } from './protocol.ts';
import { type Report, validateForwarding } from './validate.ts';

/** A location that forwards requests to an address: `fastcgi_pass` and similar directives. */
interface AddressConfig extends ForwardingConfig {
  readonly pass?: PassAddress;
}

/** Returns the members that modules of such locations share. `prefix` is that of their directives. */
export function addressModule<C extends AddressConfig>(prefix: string) {
  return {
    content: 'pass' as const,
    validate: (config: C, report: Report): void => validateForwarding(prefix, config, report),
    upstreams: ({ pass }: C) =>
      pass?.kind === 'literal' ? [{ ...pass.address, field: 'pass' as const }] : [],
    uses(config: C) {
      const name = mayCache(config) ? constantText(config.cache) : undefined;
      return name === undefined ? [] : [{ kind: 'cache' as const, name, field: 'cache' as const }];
    },
  };
}

/** Compiles the name that certificates of a location's peers must have: `…_ssl_name`, or the address's host. */
export function compileTlsName<X>(
  { sslName }: Pick<TlsConfig, 'sslName'>,
  build: { value(value: TlsConfig['sslName']): (x: X) => string },
): (x: X, target: { readonly group: { readonly name: string } }) => string {
  if (sslName.parts.length === 0) return (_x, { group }) => group.name;
  return build.value(sslName);
}

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
