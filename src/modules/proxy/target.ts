import type { Build, LiteralTarget, PassTarget } from '../../contract/index.ts';
import {
  compileConnections,
  compileKnownTarget,
  compileNamedGroup,
  namesFixedSocket,
  type Provisioned,
  type Target,
} from '../../forwarding/index.ts';
import { type Exchange, HttpFault } from '../../http/index.ts';
import type { UpstreamAddress, UpstreamGroup } from '../../upstream/index.ts';
import type { ProxyConfig } from './config.ts';
import { parseTarget } from './directives/index.ts';

/** The URI that `proxy_pass` gives for one request. */
export interface PassUri {
  /** '' if `proxy_pass` has no URI. */
  readonly uri: string;
  /** The URI was computed from variables and is sent unchanged. */
  readonly isEvaluated: boolean;
}

/** The destination of one request. */
export interface HttpTarget extends Target {
  readonly scheme: 'http' | 'https';
  readonly proxyHost: string;
  readonly proxyPort: string;
  readonly pass: PassUri;
}

/** Determines the destination of a request. Returns a promise only if a name has to be resolved. */
type TargetOf = (x: Exchange) => HttpTarget | Promise<HttpTarget>;

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** Returns the address of a literal `proxy_pass`, by which upstream groups are found. */
export function addressOf({ host, port, scheme }: LiteralTarget): UpstreamAddress {
  return { host, ...(port !== undefined && { port }), defaultPort: DEFAULT_PORTS[scheme] };
}

/** Compiles the `proxy_pass` of one location. */
export function compileTarget(pass: PassTarget, config: ProxyConfig, tools: TargetTools): TargetOf {
  return pass.kind === 'literal'
    ? compileLiteral(pass, config, tools)
    : compileVariables(pass, config, tools);
}

interface TargetTools {
  readonly provisioned: Provisioned;
  readonly build: Build;
}

function compileLiteral(
  pass: LiteralTarget,
  config: ProxyConfig,
  { provisioned, build }: TargetTools,
): TargetOf {
  const group = provisioned.upstreams.find(addressOf(pass));
  if (!group) throw new Error(`upstream "${pass.host}" is unknown in this worker`);
  const isTls = pass.scheme === 'https';
  const target = {
    group,
    scheme: pass.scheme,
    ...hostTexts(pass),
    pass: { uri: pass.uri, isEvaluated: false },
  };
  return compileKnownTarget(target, isTls, { config, provisioned, build });
}

/** Returns `$proxy_host`, without a default port, and `$proxy_port` (nginx ngx_http_proxy_set_vars). */
function hostTexts({ host, port, scheme }: LiteralTarget): Pick<HttpTarget, 'proxyHost' | 'proxyPort'> {
  if (host.startsWith('unix:')) return { proxyHost: 'localhost', proxyPort: '' };
  const usual = DEFAULT_PORTS[scheme];
  const proxyHost = port === undefined || port === usual ? host : `${host}:${port}`;
  return { proxyHost, proxyPort: String(port ?? usual) };
}

function compileVariables(
  { value }: Extract<PassTarget, { kind: 'variables' }>,
  config: ProxyConfig,
  { provisioned, build }: TargetTools,
): TargetOf {
  const render = build.value(value);
  const connections = compileConnections({ config, provisioned, build });
  const naming = {
    value,
    directive: 'proxy_pass',
    allowHosts: config.allowHosts,
    isFixedSocket: namesFixedSocket(value),
  };
  const groupOf = compileNamedGroup(naming, { upstreams: provisioned.upstreams, build });
  return (x) => {
    const literal = parseTarget(render(x));
    if (typeof literal === 'string') throw new HttpFault(500, `${literal} in "proxy_pass"`);
    const make = (group: UpstreamGroup): HttpTarget => ({
      group,
      connections: connections(x, group, literal.scheme === 'https'),
      scheme: literal.scheme,
      ...hostTexts(literal),
      pass: { uri: literal.uri, isEvaluated: true },
    });
    const group = groupOf(addressOf(literal));
    return group instanceof Promise ? group.then(make) : make(group);
  };
}
