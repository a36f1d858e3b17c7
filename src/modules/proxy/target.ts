import type { Build, LiteralTarget, PassTarget } from '../../contract/index.ts';
import {
  compileConnections,
  compileKnownTarget,
  type Provisioned,
  type Target,
} from '../../forwarding/index.ts';
import { type Exchange, HttpFault } from '../../http/index.ts';
import {
  HostPolicy,
  HostRefused,
  readRequestHost,
  type RequestHosts,
  ResolveFault,
  type UpstreamAddress,
  type UpstreamGroup,
} from '../../upstream/index.ts';
import type { ProxyConfig } from './config.ts';
import { parseTarget } from './directives/index.ts';

/** The URI that `proxy_pass` gives for one request. */
export interface PassUri {
  /** '' when there is none. */
  readonly uri: string;
  /** It was computed from variables and is sent as it is. */
  readonly isEvaluated: boolean;
}

/** The destination of one request. */
export interface HttpTarget extends Target {
  readonly scheme: 'http' | 'https';
  readonly proxyHost: string;
  readonly proxyPort: string;
  readonly pass: PassUri;
}

/** Determines the destination of a request; a promise only if a name has to be resolved. */
type TargetOf = (x: Exchange) => HttpTarget | Promise<HttpTarget>;

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** The host of a literal `proxy_pass` as upstream groups are looked up by. */
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

/** Gives `$proxy_host`, without the port if it is the default one, and `$proxy_port` (nginx ngx_http_proxy_set_vars). */
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
  const { resolver, resolverTimeoutMs } = build.core;
  const resolving = { resolver, timeoutMs: resolverTimeoutMs };
  const policy = HostPolicy.of(value, config.allowHosts, () => build.origins(value));
  const lookup: Omit<GroupLookup, 'isFixedSocket'> = {
    provisioned,
    hosts: provisioned.upstreams.hosts(resolving),
    ...(policy && {
      guard: { policy, hosts: provisioned.upstreams.hosts({ ...resolving, addresses: policy.addresses }) },
    }),
  };
  // A socket that stands in the configuration itself is not chosen by the request.
  const [first] = value.parts;
  const isFixedSocket = typeof first === 'string' && /^https?:\/\/unix:[^:]+:/i.test(first);
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
    const group = groupOf(literal, { ...lookup, isFixedSocket });
    return group instanceof Promise ? group.then(make, refuse) : make(group);
  };
}

interface GroupLookup {
  readonly provisioned: Provisioned;
  readonly hosts: RequestHosts;
  readonly isFixedSocket: boolean;
  /** Present if not every host may be named; `hosts` resolves names within the allowed addresses. */
  readonly guard?: { readonly policy: HostPolicy; readonly hosts: RequestHosts };
}

function groupOf(
  literal: LiteralTarget,
  { provisioned, hosts, isFixedSocket, guard }: GroupLookup,
): UpstreamGroup | Promise<UpstreamGroup> {
  const { upstreams } = provisioned;
  const isSocket = literal.host.startsWith('unix:');
  if (!isSocket || isFixedSocket) {
    const block = guard && !isSocket ? upstreams.block(literal) : upstreams.find(addressOf(literal));
    if (block) return block;
  }
  const named = readRequestHost(
    literal.port === undefined ? literal.host : `${literal.host}:${literal.port}`,
  );
  if (named instanceof ResolveFault) return refuse(named);
  try {
    const { host, port = DEFAULT_PORTS[literal.scheme] } = named;
    if (!guard) return hosts.group(host, port);
    if (!guard.policy.settles(named, port)) return guard.hosts.group(host, port);
    // A host that the configuration names elsewhere has a group already.
    return upstreams.find(addressOf(literal)) ?? hosts.group(host, port);
  } catch (error) {
    return refuse(error);
  }
}

function refuse(error: unknown): never {
  if (error instanceof HostRefused) throw new HttpFault(403, `${error.message} in "proxy_pass"`);
  throw error instanceof ResolveFault ? new HttpFault(502, error.message) : error;
}
